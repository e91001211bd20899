//! Class 2 with explicit flow control: numbers and credit (ISO 8073 6.16), in the normal format.
//!
//! The network loses nothing and keeps the order, so numbers only go up, and credit is never taken
//! back (6.16.3).

/// One more than the largest number.
const MODULUS: u64 = 128;

/// A grant to be sent in an AK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Grant {
    /// YR-TU-NR.
    pub(super) next: u32,
    /// CDT.
    pub(super) credit: u16,
}

/// Both directions of a connection. Numbers are counted on without wrapping.
#[derive(Clone, Debug)]
pub(super) struct Credit {
    /// DTs sent so far.
    sent: u64,
    /// DTs the peer has acknowledged.
    acknowledged: u64,
    /// DTs that may be sent in all.
    allowed: u64,
    /// DTs received so far.
    received: u64,
    /// DTs that the peer may send in all.
    granted: u64,
    /// DTs granted ahead.
    window: u64,
}

impl Credit {
    /// At the opening: what the peer's CR or CC granted, and what this side's did.
    pub(super) const fn new(by_peer: u8, here: u8) -> Self {
        let (allowed, window) = (by_peer as u64, here as u64);
        Self { sent: 0, acknowledged: 0, allowed, received: 0, granted: window, window }
    }

    /// Whether a DT may be sent.
    pub(super) const fn is_open(&self) -> bool {
        self.sent < self.allowed
    }

    /// The number of the DT that is sent now.
    pub(super) const fn send(&mut self) -> u32 {
        let number = self.sent % MODULUS;
        self.sent += 1;
        number as u32
    }

    /// A DT came in; whether it is the next one, and within what was granted.
    pub(super) const fn receive(&mut self, number: u32) -> bool {
        let fits = number as u64 == self.received % MODULUS && self.received < self.granted;
        self.received += fits as u64;
        fits
    }

    /// What to grant once half of what was granted is used up.
    pub(super) const fn grant(&mut self) -> Option<Grant> {
        if self.granted - self.received > self.window / 2 {
            return None;
        }
        self.granted = self.received + self.window;
        Some(Grant { next: (self.received % MODULUS) as u32, credit: self.window as u16 })
    }

    /// An AK came in; whether it says what it may.
    pub(super) fn take(&mut self, next: u32, credit: u16) -> bool {
        let behind = (self.sent + MODULUS - u64::from(next)) % MODULUS;
        let Some(acknowledged) = self.sent.checked_sub(behind) else { return false };
        let allowed = acknowledged + u64::from(credit);
        let fits = acknowledged >= self.acknowledged && allowed >= self.allowed;
        if fits {
            self.acknowledged = acknowledged;
            self.allowed = allowed;
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap_and_credit_goes_on() {
        let (mut one, mut other) = (Credit::new(3, 3), Credit::new(3, 3));
        let mut grants = 0;
        for sequence in 0..1_000_u32 {
            assert!(one.is_open(), "DT {sequence}");
            let number = one.send();
            assert_eq!(number, sequence % 128);
            assert!(other.receive(number));
            if let Some(Grant { next, credit }) = other.grant() {
                assert!(one.take(next, credit), "DT {sequence}");
                grants += 1;
            }
        }
        // A window of 3 is renewed once no more than 3 / 2 = 1 of it is left: after each second DT.
        assert_eq!(grants, 500);
    }

    #[test]
    fn what_was_not_granted_or_is_out_of_turn_does_not_fit() {
        let mut credit = Credit::new(2, 1);
        assert!(!credit.receive(1), "the first DT has number 0");
        assert!(credit.receive(0));
        assert!(!credit.receive(1), "one DT was granted");
        credit.send();
        credit.send();
        assert!(!credit.is_open());
        assert!(!credit.take(3, 1), "DT 2 was never sent");
        assert!(!credit.take(1, 0), "credit is not taken back");
        assert!(credit.take(1, 2) && credit.is_open());
        assert!(!credit.take(0, 15), "what was acknowledged stays so");
    }
}

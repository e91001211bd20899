//! Class 2 with explicit flow control: numbers and credit (ISO 8073 6.16), in the normal format.
//!
//! The network neither loses nor reorders, so numbers only increase, and credit is never reduced
//! (6.16.3).

/// Modulus of the sequence numbers.
const MODULUS: u64 = 128;

/// Grant to be sent in an AK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Grant {
    /// YR-TU-NR.
    pub(super) next: u32,
    /// CDT.
    pub(super) credit: u16,
}

/// Both directions of a connection. Counts do not wrap.
#[derive(Clone, Debug)]
pub(super) struct Credit {
    /// Number of DTs sent.
    sent: u64,
    /// Number of DTs that the peer has acknowledged.
    acknowledged: u64,
    /// Number of DTs permitted since the opening.
    allowed: u64,
    /// Number of DTs received.
    received: u64,
    /// Number of DTs granted to the peer since the opening.
    granted: u64,
    /// Number of DTs granted ahead.
    window: u64,
}

impl Credit {
    /// Initial state, from the credit in the peer's CR or CC and in this side's own.
    pub(super) const fn new(by_peer: u8, here: u8) -> Self {
        let (allowed, window) = (by_peer as u64, here as u64);
        Self { sent: 0, acknowledged: 0, allowed, received: 0, granted: window, window }
    }

    /// Returns true if a DT may be sent.
    pub(super) const fn is_open(&self) -> bool {
        self.sent < self.allowed
    }

    /// Takes the number of the next DT to be sent.
    pub(super) const fn send(&mut self) -> u32 {
        let number = self.sent % MODULUS;
        self.sent += 1;
        number as u32
    }

    /// Records a DT; returns true if it is the next one and within the credit.
    pub(super) const fn receive(&mut self, number: u32) -> bool {
        let fits = number as u64 == self.received % MODULUS && self.received < self.granted;
        self.received += fits as u64;
        fits
    }

    /// Next grant, once half of the credit is used up.
    pub(super) const fn grant(&mut self) -> Option<Grant> {
        if self.granted - self.received > self.window / 2 {
            return None;
        }
        self.granted = self.received + self.window;
        Some(Grant { next: (self.received % MODULUS) as u32, credit: self.window as u16 })
    }

    /// Applies an AK; returns true if its values are permitted.
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
        // A window of 3 is renewed once at most 3 / 2 = 1 of it is left: after every second DT.
        assert_eq!(grants, 500);
    }

    #[test]
    fn dts_and_aks_outside_the_window_are_rejected() {
        let mut credit = Credit::new(2, 1);
        assert!(!credit.receive(1), "the first DT has number 0");
        assert!(credit.receive(0));
        assert!(!credit.receive(1), "one DT was granted");
        credit.send();
        credit.send();
        assert!(!credit.is_open());
        assert!(!credit.take(3, 1), "DT 2 was never sent");
        assert!(!credit.take(1, 0), "credit is not reduced");
        assert!(credit.take(1, 2) && credit.is_open());
        assert!(!credit.take(0, 15), "acknowledgements are not revoked");
    }
}

//! Flow control by the receiver: the AKs sent (ISO 8073 12.2.3.8).
//!
//! AKs may be reordered and lost. Subsequence numbers order those with the same YR-TU-NR. After
//! credit was reduced or set to zero, an AK that opens the window again is repeated until the peer
//! is known to have received it: by a flow control confirmation, or by a DT that the window
//! permits.

use wire::tp::FlowControlConfirmation;

/// AKs sent. Window edges are unwrapped: DTs since the connection opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grants {
    /// YR-TU-NR, subsequence number and CDT of the latest AK.
    lower: u64,
    subsequence: u16,
    credit: u32,
    /// Highest upper edge sent.
    highest: u64,
    /// KUWE, the lowest upper edge that the peer must have received; `None` while credit was never
    /// reduced.
    known: Option<u64>,
    /// KUWE is relevant until the lower edge exceeds this.
    until: u64,
    /// Number of transmissions of the latest AK.
    transmissions: u32,
}

impl Grants {
    /// State after a CR or CC.
    pub(super) const fn new(credit: u32) -> Self {
        let highest = credit as u64;
        let known = if credit == 0 { Some(0) } else { None };
        Self { lower: 0, subsequence: 0, credit, highest, known, until: 0, transmissions: 0 }
    }

    /// Records an AK with these values, and returns its subsequence number (12.2.3.8.2).
    pub(super) fn send(&mut self, lower: u64, credit: u32) -> u16 {
        if lower > self.lower {
            self.subsequence = 0;
        } else if credit < self.credit {
            self.subsequence = self.subsequence.saturating_add(1);
        }
        let same = lower == self.lower && credit == self.credit;
        self.transmissions = if same { self.transmissions.saturating_add(1) } else { 1 };
        let upper = lower + u64::from(credit);
        let previous = self.lower + u64::from(self.credit);
        if upper < previous || credit == 0 {
            self.known = Some(lower);
            self.until = self.until.max(self.highest);
        } else if lower > self.until {
            self.known = None;
        }
        self.highest = self.highest.max(upper);
        (self.lower, self.credit) = (lower, credit);
        self.subsequence
    }

    /// Returns true if the window is open and the peer may not have received this: the AK is to be
    /// repeated every T1, up to `most` times (12.2.3.8.3, 12.2.3.8.4).
    pub(super) fn in_doubt(&self, most: u32) -> bool {
        let unknown = self.known.is_some_and(|known| known <= self.lower);
        unknown && self.credit > 0 && self.transmissions < most
    }

    /// Applies a flow control confirmation; one that is not for the latest AK has no effect.
    pub(super) fn confirmed(&mut self, confirmation: &FlowControlConfirmation, modulus: u32) {
        let lower = (self.lower % u64::from(modulus)) as u32;
        if confirmation.lower_window_edge == lower && confirmation.subsequence == self.subsequence {
            let upper = self.lower + u64::from(confirmation.credit);
            self.known = self.known.map(|known| known.max(upper));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn confirmation(lower: u32, subsequence: u16, credit: u16) -> FlowControlConfirmation {
        FlowControlConfirmation { lower_window_edge: lower, subsequence, credit }
    }

    #[test]
    fn subsequence_numbers_count_reductions_of_each_number() {
        let mut grants = Grants::new(8);
        // 12.2.3.8.2, paragraph by paragraph: equal or more credit keeps the number, less adds one.
        let sent = [(0, 8), (0, 9), (0, 5), (0, 5), (0, 7), (0, 2), (3, 2), (3, 1)]
            .map(|(lower, credit)| grants.send(lower, credit));
        assert_eq!(sent, [0, 0, 1, 1, 1, 2, 0, 1]);
    }

    #[test]
    fn an_ordinary_window_is_never_in_doubt() {
        let mut grants = Grants::new(4);
        for number in 1..100 {
            grants.send(number, 4);
            assert!(!grants.in_doubt(8));
        }
        // Less credit with a higher number leaves the upper edge where it was: no reduction.
        grants.send(101, 2);
        assert!(!grants.in_doubt(8));
    }

    #[test]
    fn a_reopened_window_is_in_doubt_until_a_dt_arrives() {
        let mut grants = Grants::new(1);
        grants.send(1, 0);
        assert!(!grants.in_doubt(8), "the window is still closed");
        grants.send(1, 1);
        assert!(grants.in_doubt(8));
        // 12.2.3.8.3 b: the DT at the lower edge arrived, so the peer had received the AK.
        grants.send(2, 1);
        assert!(!grants.in_doubt(8));
    }

    #[test]
    fn a_confirmation_of_the_latest_ak_ends_the_doubt() {
        let mut grants = Grants::new(8);
        // 6 left at number 2, then none, then 5.
        let sent = [6, 0, 5].map(|credit| grants.send(2, credit));
        assert_eq!(sent, [0, 1, 1]);
        for stale in [confirmation(1, 1, 5), confirmation(2, 0, 5), confirmation(2, 1, 0)] {
            grants.confirmed(&stale, 128);
            assert!(grants.in_doubt(8), "{stale:?} has no effect");
        }
        grants.confirmed(&confirmation(2, 1, 5), 128);
        assert!(!grants.in_doubt(8));
    }

    #[test]
    fn after_a_reduction_doubt_lasts_up_to_the_old_upper_edge() {
        let mut grants = Grants::new(8);
        grants.send(0, 2);
        assert!(grants.in_doubt(8), "the peer may still hold the edge of 8");
        grants.send(2, 4);
        assert!(grants.in_doubt(8));
        grants.send(9, 4);
        assert!(!grants.in_doubt(8), "the lower edge exceeds 8");
    }

    #[test]
    fn an_ak_in_doubt_is_repeated_a_limited_number_of_times() {
        let mut grants = Grants::new(1);
        grants.send(1, 0);
        let mut sent = 0;
        loop {
            grants.send(1, 1);
            sent += 1;
            if !grants.in_doubt(8) {
                break;
            }
        }
        assert_eq!(sent, 8, "N transmissions");
    }
}

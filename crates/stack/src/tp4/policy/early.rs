//! Detection of a loss before T1 expires (ISO 8073 12.2.1.1.4, 12.2.1.2 j, 12.2.3.6).
//!
//! T1 is an upper bound on the wait for an acknowledgement, so a DT may be retransmitted before. An
//! AK that repeats the one before may arrive at any time; a receiver that keeps DTs out of sequence
//! sends one for each such DT. [`REPEATS`] of them in a row distinguish a loss from reordering; TCP
//! uses the same number (RFC 5681, section 3.2). If a receiver sends none, nothing is lost: T1 runs
//! as usual. A DT is retransmitted early once; if that copy is lost too, T1 detects it. Early
//! retransmissions count among the N transmissions, and are sent only within the window.

/// Number of repeated AKs that indicate a loss.
const REPEATS: u8 = 3;

/// Number of AKs in a row that repeated the one before, while DTs were outstanding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::tp4) struct Repeats(u8);

impl Repeats {
    /// Records an AK, which `repeats` the one before or not; returns true if it is the one that
    /// indicates a loss.
    pub(in crate::tp4) const fn heard(&mut self, repeats: bool) -> bool {
        self.0 = if repeats { self.0.saturating_add(1) } else { 0 };
        self.0 == REPEATS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_third_repetition_indicates_a_loss() {
        let mut repeats = Repeats::default();
        let told = [false, true, true, false, true, true, true, true, true]
            .map(|repeated| repeats.heard(repeated));
        assert_eq!(told, [false, false, false, false, false, false, true, false, false]);
    }
}

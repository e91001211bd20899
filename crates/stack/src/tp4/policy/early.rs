//! Learning of a loss before T1 runs out (ISO 8073 12.2.1.1.4, 12.2.1.2 j, 12.2.3.6).
//!
//! T1 is a bound on the wait for an acknowledgement, so that a DT may be sent again before. An AK that
//! says what the one before it said may come at any time; a receiver that keeps what is out of sequence
//! sends one for each such DT. So many of them in a row are told apart from DTs that overtook each other,
//! which TCP does by the same number (RFC 5681, section 3.2). A receiver that sends none loses nothing: T1
//! runs as ever. A DT is sent early once; where that is lost as well T1 tells. What is sent early counts
//! among the N transmissions, and goes only where the window lets it.

/// So many AKs that repeat one tell of a loss.
const REPEATS: u8 = 3;

/// How many AKs in a row have said what the one before them said, while DTs were outstanding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::tp4) struct Repeats(u8);

impl Repeats {
    /// An AK came in that `repeats` the one before it, or does not; whether it is the one that tells of a
    /// loss.
    pub(in crate::tp4) const fn heard(&mut self, repeats: bool) -> bool {
        self.0 = if repeats { self.0.saturating_add(1) } else { 0 };
        self.0 == REPEATS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_repetition_tells_and_no_other() {
        let mut repeats = Repeats::default();
        let told = [false, true, true, false, true, true, true, true, true]
            .map(|repeated| repeats.heard(repeated));
        assert_eq!(told, [false, false, false, false, false, false, true, false, false]);
    }
}

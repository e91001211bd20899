//! Acknowledgement of DTs in sequence by a receiver (ISO 8073 12.2.3.6; RFC 1008 8.1).

/// Policy for sending an AK for DTs that arrived in sequence. None waits longer than A_L. A DT that
/// is out of sequence, a duplicate, or the last of a window is always acknowledged at once. With
/// selective acknowledgement, DTs out of sequence that show no other loss than those before them
/// wait like DTs in sequence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Acknowledgement {
    /// At once for each DT.
    Each,
    /// After [`super::super::Params::acknowledge_every`] DTs, or A_L.
    Withhold,
    /// After A_L, regardless of the number of DTs.
    Delay,
    /// On request of the sender (request of acknowledgement, 1995 edition), or after A_L. If the
    /// peer does not support the option, like [`Acknowledgement::Withhold`].
    OnRequest,
}

/// Decision for DTs not covered by an AK yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::tp4) enum When {
    Now,
    /// At the expiry of A_L.
    Later,
}

impl Acknowledgement {
    /// Decision when `pending` DTs are not acknowledged; `requested` is true if the latest of them
    /// requests it.
    pub(in crate::tp4) const fn when(self, every: u16, pending: u16, requested: bool) -> When {
        let now = match self {
            Self::Each => true,
            Self::Withhold => pending >= every,
            Self::Delay => false,
            Self::OnRequest => requested,
        };
        if now { When::Now } else { When::Later }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_policy_says_when() {
        let whens = |policy: Acknowledgement| {
            [(1, false), (2, false), (3, false), (1, true)]
                .map(|(pending, requested)| policy.when(3, pending, requested) == When::Now)
        };
        assert_eq!(whens(Acknowledgement::Each), [true; 4]);
        assert_eq!(whens(Acknowledgement::Withhold), [false, false, true, false]);
        assert_eq!(whens(Acknowledgement::Delay), [false; 4]);
        assert_eq!(whens(Acknowledgement::OnRequest), [false, false, false, true]);
    }
}

//! When a receiver acknowledges the DTs it has in sequence (ISO 8073 12.2.3.6; RFC 1008 8.1).

/// When an AK is sent for DTs that arrived in sequence. None waits longer than A_L, and a DT that is
/// out of sequence, a duplicate, or the last of a window is always acknowledged at once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Acknowledgement {
    /// At once for each DT.
    Each,
    /// After so many DTs as [`super::super::Params::acknowledge_every`] says, or A_L.
    Withhold,
    /// After A_L, however many have come.
    Delay,
    /// When the sender asks for it (request of acknowledgement, 1995 edition), or after A_L. Where the
    /// peer does not know the option, as [`Acknowledgement::Withhold`].
    OnRequest,
}

/// What to do about DTs that no AK has covered yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::tp4) enum When {
    Now,
    /// When A_L runs out.
    Later,
}

impl Acknowledgement {
    /// What to do when so many DTs are not acknowledged, `requested` by the latest of them or not.
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

//! What is sent again when T1 runs out (ISO 8073 12.2.1.2 note 2: a local choice; RFC 1008 8.3), and what
//! before that.

/// Which DTs are sent again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Retransmission {
    /// The first DT that is not acknowledged (RFC 1008 advises it on a LAN).
    First,
    /// All that are outstanding.
    All,
    /// Selective through resequencing: the first, and, whenever the AK that follows stops at a DT that
    /// was sent before T1 ran out, that one at once. The receiver keeps what lies between, so each DT
    /// that was lost is sent again, and no other.
    Selective,
    /// The same, and not only after T1: also where several AKs in a row say what the one before them
    /// said while DTs are outstanding.
    Early,
}

impl Retransmission {
    /// How many of the outstanding DTs are sent again when T1 runs out.
    pub(in crate::tp4) const fn at_time_out(self, outstanding: usize) -> usize {
        match self {
            Self::First | Self::Selective | Self::Early => 1,
            Self::All => outstanding,
        }
    }

    /// Whether the DT an AK stops at is sent again at once. `recovering` DTs beyond it were sent before
    /// T1 ran out; it was itself sent `transmissions` times.
    pub(in crate::tp4) const fn upon_ak(self, recovering: usize, transmissions: u32) -> bool {
        match self {
            Self::First | Self::All => false,
            Self::Selective | Self::Early => recovering > 0 && transmissions == 1,
        }
    }

    /// Whether the first DT that is not acknowledged, sent `transmissions` times, is sent again before T1
    /// runs out, where AKs tell that it was lost.
    pub(in crate::tp4) const fn before_t1(self, transmissions: u32) -> bool {
        match self {
            Self::First | Self::All | Self::Selective => false,
            Self::Early => transmissions == 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_policy_sends_what_it_says() {
        let all = [
            Retransmission::First,
            Retransmission::All,
            Retransmission::Selective,
            Retransmission::Early,
        ];
        assert_eq!(all.map(|policy| policy.at_time_out(7)), [1, 7, 1, 1]);
        assert_eq!(all.map(|policy| policy.upon_ak(3, 1)), [false, false, true, true]);
        assert_eq!(all.map(|policy| policy.upon_ak(3, 2)), [false; 4], "not twice for one loss");
        assert_eq!(all.map(|policy| policy.upon_ak(0, 1)), [false; 4], "nothing was lost");
        assert_eq!(all.map(|policy| policy.before_t1(1)), [false, false, false, true]);
        assert_eq!(all.map(|policy| policy.before_t1(2)), [false; 4], "the second time it is T1's");
    }
}

//! Retransmission when T1 expires (ISO 8073 12.2.1.2 note 2: a local choice; RFC 1008 8.3), and
//! before.

/// Selection of the DTs to be retransmitted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Retransmission {
    /// The first unacknowledged DT (advised by RFC 1008 for a LAN).
    First,
    /// All outstanding DTs.
    All,
    /// Selective, using resequencing: the first, and, whenever the following AK stops at a DT that
    /// was sent before T1 expired, that one at once. The receiver keeps the DTs between, so only
    /// lost DTs are retransmitted.
    Selective,
    /// Like [`Retransmission::Selective`], but also before T1: after several AKs in a row that
    /// repeat the one before while DTs are outstanding.
    Early,
    /// Those that selective acknowledgement (1995 edition) shows to be missing, before T1. If the peer does
    /// not support the option, like [`Retransmission::Early`].
    Missing,
}

impl Retransmission {
    /// Number of outstanding DTs retransmitted when T1 expires.
    pub(in crate::tp4) const fn at_time_out(self, outstanding: usize) -> usize {
        match self {
            Self::First | Self::Selective | Self::Early | Self::Missing => 1,
            Self::All => outstanding,
        }
    }

    /// Returns true if the DT at which an AK stops is retransmitted at once. `recovering` DTs
    /// beyond it were sent before T1 expired; it was itself sent `transmissions` times.
    pub(in crate::tp4) const fn upon_ak(self, recovering: usize, transmissions: u32) -> bool {
        match self {
            Self::First | Self::All | Self::Missing => false,
            Self::Selective | Self::Early => recovering > 0 && transmissions == 1,
        }
    }

    /// Returns true if the first unacknowledged DT, sent `transmissions` times, is retransmitted
    /// before T1 expires when AKs indicate its loss.
    pub(in crate::tp4) const fn before_t1(self, transmissions: u32) -> bool {
        match self {
            Self::First | Self::All | Self::Selective | Self::Missing => false,
            Self::Early => transmissions == 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_policy_selects_its_dts() {
        let all = [
            Retransmission::First,
            Retransmission::All,
            Retransmission::Selective,
            Retransmission::Early,
            Retransmission::Missing,
        ];
        assert_eq!(all.map(|policy| policy.at_time_out(7)), [1, 7, 1, 1, 1]);
        assert_eq!(all.map(|policy| policy.upon_ak(3, 1)), [false, false, true, true, false]);
        assert_eq!(all.map(|policy| policy.upon_ak(3, 2)), [false; 5], "not twice for one loss");
        assert_eq!(all.map(|policy| policy.upon_ak(0, 1)), [false; 5], "nothing was lost");
        assert_eq!(all.map(|policy| policy.before_t1(1)), [false, false, false, true, false]);
        assert_eq!(all.map(|policy| policy.before_t1(2)), [false; 5], "the second time T1 applies");
    }
}

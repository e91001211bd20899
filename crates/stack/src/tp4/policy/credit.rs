//! Credit that a receiver grants its peer (ISO 8073 6.16, 12.2.3.6; RFC 1008 8.2).
//!
//! Left out: optimistic credit, beyond the available buffers, which RFC 1008 advises against.

/// Policy for opening the receive window again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Credit {
    /// A fixed window: opened again as soon as a DT in sequence was delivered to the user.
    Automatic,
    /// Owned buffers: opened when the user returns the buffer.
    ByUser,
    /// Taut (RFC 1008 8.2.1, "pessimistic"): one DT at a time. Its AK closes the window, and
    /// another opens it when the user returns the buffer.
    Taut,
}

impl Credit {
    /// Number of buffers, for the installation's `window`.
    pub(in crate::tp4) const fn buffers(self, window: u16) -> u32 {
        match self {
            Self::Automatic | Self::ByUser => window as u32,
            Self::Taut => 1,
        }
    }

    /// Returns true if the user holds buffers and returns them.
    #[must_use]
    pub const fn is_by_user(self) -> bool {
        match self {
            Self::Automatic => false,
            Self::ByUser | Self::Taut => true,
        }
    }

    /// Returns true if `ungranted` of `buffers` buffers justify an AK of their own: half the
    /// window, so that the peer is neither stopped nor sent an AK for each buffer.
    pub(in crate::tp4) const fn worth_telling(ungranted: u32, buffers: u32) -> bool {
        let half = buffers / 2;
        ungranted >= if half == 0 { 1 } else { half }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taut_receiver_has_one_buffer_and_others_their_window() {
        let all = [Credit::Automatic, Credit::ByUser, Credit::Taut];
        assert_eq!(all.map(|credit| credit.buffers(15)), [15, 15, 1]);
        assert_eq!(all.map(Credit::is_by_user), [false, true, true]);
    }

    #[test]
    fn half_a_window_is_worth_telling() {
        let worth = |ungranted, buffers| Credit::worth_telling(ungranted, buffers);
        assert!(!worth(6, 15) && worth(7, 15) && worth(1, 1) && !worth(0, 1));
    }
}

//! Handshake of a TCP connection: the segments that open it, and the time until each end answered.

use wire::time::Instant;

/// Segment that opens a stream. The answer to a retransmitted segment may be to either copy, so no
/// delay is measured (RFC 6298, 3, after Karn).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Opening {
    Unseen,
    Once(Instant),
    Again,
}

impl Opening {
    /// Records that it was sent at `at`.
    pub(super) const fn sent(self, at: Instant) -> Self {
        match self {
            Self::Unseen => Self::Once(at),
            Self::Once(_) | Self::Again => Self::Again,
        }
    }

    /// Nanoseconds from it to `at`, if it was sent once.
    pub(super) const fn nanos_to(self, at: Instant) -> Option<u64> {
        match self {
            Self::Once(since) => Some(at.nanos_since(since)),
            Self::Unseen | Self::Again => None,
        }
    }
}

/// Handshake of a stream: nanoseconds until the callee answered, then until the caller did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handshake([u32; 2]);

impl Handshake {
    /// Half that was not seen.
    const UNSEEN: u32 = u32::MAX;
    /// Half that is too long; its duration is aside.
    const LONG: u32 = u32::MAX - 1;

    pub(super) const NONE: Self = Self([Self::UNSEEN; 2]);

    /// Nanoseconds of both halves; none if not seen. `long` are those that are long.
    pub(super) fn nanos(self, [long_callee, long_caller]: &[u64; 2]) -> [Option<u64>; 2] {
        let of = |half, long| match half {
            Self::UNSEEN => None,
            Self::LONG => Some(long),
            nanos => Some(nanos as u64),
        };
        let [callee, caller] = self.0;
        [of(callee, *long_callee), of(caller, *long_caller)]
    }

    /// True if the caller's half was seen.
    pub(super) const fn has_caller(self) -> bool {
        let [_, caller] = self.0;
        caller != Self::UNSEEN
    }

    /// Sets a half, the callee's or the caller's; returns true if it is long.
    pub(super) fn set(&mut self, half: usize, nanos: Option<u64>) -> bool {
        let short = nanos.map(|nanos| u32::try_from(nanos).unwrap_or(Self::LONG));
        let kept = short.map_or(Self::UNSEEN, |nanos| nanos.min(Self::LONG));
        self.0[half] = kept;
        kept == Self::LONG
    }
}

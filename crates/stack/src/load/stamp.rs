//! Stamp at the start of every message: flow, sequence number, and the time at which the message
//! was due.
//!
//! ```text
//!   octet 0  flow 2   kind 2   sequence 4   planned 8      every message
//!   octet 16 lag 4                                         messages of 20 octets and more
//! ```
//!
//! All fields are big-endian. The kind is 0 for a message, FFFF for a reply, and otherwise the
//! requested length of the reply in octets. A lag of FFFFFFFF is unknown.

use super::FlowId;
use arrayvec::ArrayVec;
use core::time::Duration;
use wire::time::{Instant, nanos};

/// Length of the shortest message: a stamp without lag.
pub const LEAST_OCTETS: usize = 16;
/// Length of a stamp with lag, used in every message that has room for it.
pub(super) const STAMP_OCTETS: usize = 20;

/// Lag field of a stamp with unknown lag.
const NO_LAG: u32 = u32::MAX;

/// Kind of a message: request, reply, or neither.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum StampKind {
    /// Message without a reply.
    Message,
    /// Request for a reply.
    Request {
        /// Length of the reply in octets.
        reply_octets: u16,
    },
    /// Reply to a request.
    Reply,
}

/// Stamp: first octets of a message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Stamp {
    /// Flow of the message.
    pub flow: FlowId,
    /// Kind of the message.
    pub kind: StampKind,
    /// Sequence number in the flow, from 0.
    pub sequence: u32,
    /// Time at which the message was due, on the sender's clock.
    pub planned: Instant,
    /// Time from then to its handover to the service; `None` if the message has no room for it, or
    /// if it is 4.29 s or more.
    pub lag: Option<Duration>,
}

impl Stamp {
    /// Time of handover to the service, on the sender's clock, if the lag is known.
    #[must_use]
    pub fn sent(&self) -> Option<Instant> {
        self.lag.map(|lag| self.planned + lag)
    }

    /// Encodes the stamp of a message of this length.
    #[must_use]
    pub fn encode(&self, message_octets: usize) -> ArrayVec<u8, STAMP_OCTETS> {
        let kind = match self.kind {
            StampKind::Message => 0,
            StampKind::Request { reply_octets } => reply_octets.clamp(LEAST_OCTETS as u16, 0xFFFE),
            StampKind::Reply => 0xFFFF,
        };
        let lag = self.lag.and_then(|lag| u32::try_from(nanos(lag)).ok()).unwrap_or(NO_LAG);
        let first = u64::from(self.flow.0) << 48 | u64::from(kind) << 32 | u64::from(self.sequence);
        let mut octets = [0; STAMP_OCTETS];
        let (head, planned_and_lag) = octets.split_at_mut(8);
        head.copy_from_slice(&first.to_be_bytes());
        let (planned, last) = planned_and_lag.split_at_mut(8);
        planned.copy_from_slice(&self.planned.as_nanos().to_be_bytes());
        last.copy_from_slice(&lag.to_be_bytes());
        let mut stamp = ArrayVec::from(octets);
        stamp.truncate(stamp_octets(message_octets));
        stamp
    }

    /// Decodes the stamp from the first 20 octets of a message, or all of a shorter one; `None` if
    /// it is too short.
    #[must_use]
    pub fn decode(octets: &[u8]) -> Option<Self> {
        let (flow, rest) = octets.split_first_chunk::<2>()?;
        let (kind, rest) = rest.split_first_chunk::<2>()?;
        let (sequence, rest) = rest.split_first_chunk::<4>()?;
        let (planned, rest) = rest.split_first_chunk::<8>()?;
        let lag = rest.first_chunk::<4>().map_or(NO_LAG, |lag| u32::from_be_bytes(*lag));
        Some(Self {
            flow: FlowId(u16::from_be_bytes(*flow)),
            kind: match u16::from_be_bytes(*kind) {
                0 => StampKind::Message,
                0xFFFF => StampKind::Reply,
                reply_octets => StampKind::Request { reply_octets },
            },
            sequence: u32::from_be_bytes(*sequence),
            planned: Instant::from_nanos(u64::from_be_bytes(*planned)),
            lag: (lag != NO_LAG).then(|| Duration::from_nanos(u64::from(lag))),
        })
    }
}

/// Length of the stamp in a message of this length.
pub(super) const fn stamp_octets(message_octets: usize) -> usize {
    if message_octets < STAMP_OCTETS { LEAST_OCTETS } else { STAMP_OCTETS }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(kind: StampKind) -> Stamp {
        Stamp {
            flow: FlowId(7),
            kind,
            sequence: 0x0102_0304,
            planned: Instant::from_nanos(1 << 60),
            lag: Some(Duration::from_nanos(1_500)),
        }
    }

    #[test]
    fn a_stamp_reads_as_it_was_written() {
        for kind in [StampKind::Message, StampKind::Request { reply_octets: 200 }, StampKind::Reply]
        {
            let stamp = stamp(kind);
            assert_eq!(Stamp::decode(&stamp.encode(STAMP_OCTETS)), Some(stamp));
            let short = stamp.encode(STAMP_OCTETS - 1);
            assert_eq!(short.len(), LEAST_OCTETS);
            assert_eq!(Stamp::decode(&short), Some(Stamp { lag: None, ..stamp }));
        }
        assert_eq!(Stamp::decode(&[0; LEAST_OCTETS - 1]), None);
    }

    #[test]
    fn a_lag_too_long_for_its_field_is_unknown() {
        // The field has 32 bits of nanoseconds, and all ones are no lag.
        for (lag, read) in [(0xFFFF_FFFE, true), (0xFFFF_FFFF, false), (0x1_0000_0000, false)] {
            let lag = Some(Duration::from_nanos(lag));
            let stamp = Stamp { lag, ..stamp(StampKind::Message) };
            let decoded = Stamp::decode(&stamp.encode(100)).and_then(|stamp| stamp.lag);
            assert_eq!(decoded, lag.filter(|_| read));
        }
    }
}

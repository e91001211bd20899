//! What every message begins with, so that its receiver knows which one it is and how old.

use super::FlowId;
use core::time::Duration;
use wire::time::{Instant, nanos};

/// Octets of a stamp: the shortest message there is.
pub const STAMP_OCTETS: usize = 20;

/// Whether a message wants an answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum StampKind {
    /// No answer is wanted.
    Message,
    /// A reply of so many octets is wanted.
    Request {
        /// Octets of the reply.
        reply_octets: u16,
    },
    /// The answer.
    Reply,
}

/// The first octets of a message: flow 2, kind 2, sequence 4, planned 8, lag 4, all big-endian.
///
/// The kind field is 0 for a message, FFFF for a reply, and else the octets of the reply wanted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Stamp {
    /// The flow it belongs to.
    pub flow: FlowId,
    /// Whether it wants an answer.
    pub kind: StampKind,
    /// Its place in the flow, from 0.
    pub sequence: u32,
    /// When it had been due, on the sender's clock.
    pub planned: Instant,
    /// How much later it was handed to the service; saturates at 4.29 s.
    pub lag: Duration,
}

impl Stamp {
    /// When it was handed to the service, on the sender's clock.
    #[must_use]
    pub fn sent(&self) -> Instant {
        self.planned + self.lag
    }

    /// As octets.
    #[must_use]
    pub fn encode(&self) -> [u8; STAMP_OCTETS] {
        let kind = match self.kind {
            StampKind::Message => 0,
            StampKind::Request { reply_octets } => reply_octets.clamp(STAMP_OCTETS as u16, 0xFFFE),
            StampKind::Reply => 0xFFFF,
        };
        let lag = u32::try_from(nanos(self.lag)).unwrap_or(u32::MAX);
        let first = u64::from(self.flow.0) << 48 | u64::from(kind) << 32 | u64::from(self.sequence);
        let mut octets = [0; STAMP_OCTETS];
        let (head, planned_and_lag) = octets.split_at_mut(8);
        head.copy_from_slice(&first.to_be_bytes());
        let (planned, last) = planned_and_lag.split_at_mut(8);
        planned.copy_from_slice(&self.planned.as_nanos().to_be_bytes());
        last.copy_from_slice(&lag.to_be_bytes());
        octets
    }

    /// From the first octets of a message; `None` where there are too few.
    #[must_use]
    pub fn decode(octets: &[u8]) -> Option<Self> {
        let (flow, rest) = octets.split_first_chunk::<2>()?;
        let (kind, rest) = rest.split_first_chunk::<2>()?;
        let (sequence, rest) = rest.split_first_chunk::<4>()?;
        let (planned, rest) = rest.split_first_chunk::<8>()?;
        let lag = rest.first_chunk::<4>()?;
        Some(Self {
            flow: FlowId(u16::from_be_bytes(*flow)),
            kind: match u16::from_be_bytes(*kind) {
                0 => StampKind::Message,
                0xFFFF => StampKind::Reply,
                reply_octets => StampKind::Request { reply_octets },
            },
            sequence: u32::from_be_bytes(*sequence),
            planned: Instant::from_nanos(u64::from_be_bytes(*planned)),
            lag: Duration::from_nanos(u64::from(u32::from_be_bytes(*lag))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_reads_as_it_was_written() {
        for kind in [StampKind::Message, StampKind::Request { reply_octets: 200 }, StampKind::Reply]
        {
            let stamp = Stamp {
                flow: FlowId(7),
                kind,
                sequence: 0x0102_0304,
                planned: Instant::from_nanos(1 << 60),
                lag: Duration::from_nanos(1_500),
            };
            assert_eq!(Stamp::decode(&stamp.encode()), Some(stamp));
        }
        assert_eq!(Stamp::decode(&[0; STAMP_OCTETS - 1]), None);
    }
}

//! Receiving end of flows: checks every message octet by octet and answers requests.

use super::sender::{lsdu, tsdu};
use super::stamp::{STAMP_OCTETS, stamp_octets};
use super::{LEAST_OCTETS, Stamp, StampKind, content};
use bytes::Bytes;
use wire::packet::Packet;

/// Result of checking a received message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The message is complete and unaltered.
    Whole {
        /// Stamp of the message.
        stamp: Stamp,
        /// Length in octets.
        octets: usize,
    },
    /// The message is damaged.
    Damaged {
        /// Description of the damage.
        reason: &'static str,
    },
}

/// Checker of messages that arrive in pieces; stores no more than the stamp.
#[derive(Clone, Debug, Default)]
pub struct Sink {
    stamp: [u8; STAMP_OCTETS],
    octets: usize,
    damaged: bool,
}

impl Sink {
    /// Checks the next piece; returns the result of the message that ends with it, if one does.
    pub fn take(&mut self, piece: &[u8], end: bool) -> Option<Outcome> {
        let missing = STAMP_OCTETS.saturating_sub(self.octets);
        let (stamp, rest) = piece.split_at(missing.min(piece.len()));
        let kept = self.octets.min(STAMP_OCTETS);
        self.stamp[kept..kept + stamp.len()].copy_from_slice(stamp);
        if !rest.is_empty() {
            let place = self.octets + stamp.len();
            let sequence = Stamp::decode(&self.stamp).map_or(0, |stamp| stamp.sequence);
            self.damaged |= !content::matches(sequence, place, rest);
        }
        self.octets += piece.len();
        if !end {
            return None;
        }
        let whole = core::mem::take(self);
        Some(whole.judge())
    }

    /// Result of a message whose last piece has arrived.
    fn judge(&self) -> Outcome {
        let head = &self.stamp[..self.octets.min(STAMP_OCTETS)];
        if head.len() < LEAST_OCTETS {
            return Outcome::Damaged { reason: "no stamp" };
        }
        let (stamp, content) = head.split_at(stamp_octets(self.octets));
        match Stamp::decode(stamp) {
            Some(found)
                if !self.damaged && content::matches(found.sequence, stamp.len(), content) =>
            {
                Outcome::Whole { stamp: found, octets: self.octets }
            }
            _ => Outcome::Damaged { reason: "content differs" },
        }
    }

    /// Checks a message that arrived in one packet.
    #[must_use]
    pub fn whole(packet: &Packet) -> Outcome {
        let mut sink = Self::default();
        let head = sink.take(packet.head(), false);
        let whole = head.or_else(|| sink.take(packet.payload(), true));
        whole.unwrap_or(Outcome::Damaged { reason: "no stamp" })
    }

    /// Length of the reply to a request, in octets; `None` for other messages.
    #[must_use]
    pub fn reply_octets(request: &Stamp) -> Option<usize> {
        reply(request).map(|(_, octets)| octets)
    }

    /// Reply to a request, as a TSDU.
    #[must_use]
    pub fn reply_tsdu(request: &Stamp) -> Option<Bytes> {
        reply(request).map(|(stamp, octets)| tsdu(&stamp, octets))
    }

    /// Reply to a request, as an LSDU.
    #[must_use]
    pub fn reply_lsdu(request: &Stamp) -> Option<Packet> {
        reply(request).map(|(stamp, octets)| lsdu(&stamp, octets))
    }
}

/// Stamp and length of the reply. It carries the stamp of its request, from which the requester
/// gets the due time.
fn reply(request: &Stamp) -> Option<(Stamp, usize)> {
    match request.kind {
        StampKind::Request { reply_octets } => {
            let stamp = Stamp { kind: StampKind::Reply, ..*request };
            Some((stamp, usize::from(reply_octets)))
        }
        StampKind::Message | StampKind::Reply => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::FlowId;
    use core::time::Duration;
    use wire::time::Instant;

    fn stamp(sequence: u32, kind: StampKind) -> Stamp {
        let planned = Instant::from_nanos(5);
        Stamp { flow: FlowId(1), kind, sequence, planned, lag: Some(Duration::from_nanos(2)) }
    }

    #[test]
    fn a_message_is_whole_in_pieces_of_any_size() {
        let sent = stamp(9, StampKind::Message);
        let message = tsdu(&sent, 10_000);
        for cut in [1, 7, 19, 20, 21, 1_000, 9_999, 10_000] {
            let mut sink = Sink::default();
            let mut pieces = message.chunks(cut).peekable();
            let mut outcome = None;
            while let Some(piece) = pieces.next() {
                assert_eq!(outcome, None);
                outcome = sink.take(piece, pieces.peek().is_none());
            }
            assert_eq!(outcome, Some(Outcome::Whole { stamp: sent, octets: 10_000 }), "{cut}");
        }
        let packet = lsdu(&sent, 900);
        assert_eq!(Sink::whole(&packet), Outcome::Whole { stamp: sent, octets: 900 });
    }

    #[test]
    fn a_message_of_sixteen_octets_is_whole_and_has_no_lag() {
        let sent = stamp(9, StampKind::Message);
        for octets in 16..24 {
            let message = tsdu(&sent, octets);
            assert_eq!(message.len(), octets);
            let lag = sent.lag.filter(|_| octets >= 20);
            for cut in 1..octets {
                let mut sink = Sink::default();
                assert_eq!(sink.take(&message[..cut], false), None);
                let whole = Outcome::Whole { stamp: Stamp { lag, ..sent }, octets };
                assert_eq!(sink.take(&message[cut..], true), Some(whole), "{octets} {cut}");
            }
            let mut damaged = message.to_vec();
            damaged[octets - 1] ^= 1;
            let is_content = octets != 16 && octets != 20;
            let reason = Outcome::Damaged { reason: "content differs" };
            assert_eq!(Sink::default().take(&damaged, true) == Some(reason), is_content);
        }
        let short = &tsdu(&sent, 16)[..15];
        assert_eq!(
            Sink::default().take(short, true),
            Some(Outcome::Damaged { reason: "no stamp" })
        );
    }

    #[test]
    fn damage_does_not_affect_the_next_message() {
        let message = tsdu(&stamp(9, StampKind::Message), 100);
        let mut sink = Sink::default();
        let mut damaged = message.to_vec();
        damaged[50] ^= 0x10;
        assert_eq!(sink.take(&damaged, true), Some(Outcome::Damaged { reason: "content differs" }));
        assert_eq!(sink.take(&message[..10], true), Some(Outcome::Damaged { reason: "no stamp" }));
        assert!(matches!(sink.take(&message, true), Some(Outcome::Whole { .. })));
    }

    #[test]
    fn a_reply_has_the_requested_length() {
        let request = stamp(4, StampKind::Request { reply_octets: 300 });
        let reply = Sink::reply_tsdu(&request).unwrap();
        assert_eq!(reply.len(), 300);
        let answer = Stamp::decode(&reply).unwrap();
        assert_eq!((answer.kind, answer.planned), (StampKind::Reply, request.planned));
        assert_eq!(Sink::reply_tsdu(&answer), None);
    }
}

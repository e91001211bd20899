//! PTP: messages that belong together, and the grandmaster of each domain.
//!
//! Definitions:
//! - The time of a Sync is its origin with the corrections, of its Follow_Up if it has two steps.
//! - A request (Pdelay_Req, Delay_Req) is answered by the first response to its port with its
//!   sequenceId, and lost if the port sends the next request before. The delay of the link to the peer
//!   is the time from Pdelay_Req to Pdelay_Resp at the tap, less the time that the peer took by its
//!   stamps and corrections, by two. Bias: it is the delay from the tap to the peer; near the requester
//!   that of the link, near the peer about nothing.
//! - The grandmaster of a domain is the one of its Announce messages. Another one takes its place if it
//!   is better by the fields of Announce in their order (IEEE 1588, 9.3.4), or if the one before was not
//!   announced for three of its intervals.

use super::clock::Stamp;
use crate::lru_slab::Handle;
use std::collections::BTreeMap;
use wire::ptp::{Announce, Clock, Kind, Pdu, Port};
use wire::time::Instant;

/// Maximum number of ports of clocks.
const PORTS: usize = 4_096;
/// Intervals without an Announce, or a Sync, after which its sender counts as lost (802.1AS, 10.7.3).
const INTERVALS: u64 = 3;
/// Logarithms of intervals that are believed: 1/256 s to 64 s.
const LOG_INTERVALS: core::ops::RangeInclusive<i8> = -8..=6;

/// Time that a message allows until the next, by its interval; none if it has none.
pub(super) fn allowed_ns(pdu: &Pdu) -> Option<u64> {
    let has_interval = matches!(pdu.kind, Kind::Sync | Kind::FollowUp | Kind::Announce);
    if !has_interval || !LOG_INTERVALS.contains(&pdu.log_interval) {
        return None;
    }
    let shift = u32::from(pdu.log_interval.unsigned_abs());
    let second = 1_000_000_000_u64;
    let interval = if pdu.log_interval < 0 { second >> shift } else { second << shift };
    Some(interval * INTERVALS)
}

/// Identity of a port in a domain.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct PortKey {
    domain: u8,
    port: Port,
}

/// Message that another one completes.
#[derive(Clone, Copy, Debug)]
struct Open {
    sequence: u16,
    at: Instant,
    stream: Handle,
    correction_ns: i64,
}

/// Answer of which the second part has not come.
#[derive(Clone, Copy, Debug)]
struct Half {
    sequence: u16,
    from: Port,
    stream: Handle,
    round_trip_ns: u64,
    /// Time of receipt that the peer states.
    received_ns: u64,
    correction_ns: i64,
}

/// Messages of a port that others complete.
#[derive(Clone, Default, Debug)]
struct OfPort {
    sync: Option<Open>,
    /// Of Pdelay_Req and Delay_Req.
    requests: [Option<Open>; 2],
    half: Option<Half>,
}

/// Grandmaster of a domain.
#[derive(Clone, Copy, Debug)]
struct Master {
    announce: Announce,
    at: Instant,
    allowed_ns: u64,
}

/// Effect of a message on a stream.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Effect {
    /// Time and corrections of a Sync that passed the tap at this time.
    Sync { at: Instant, stamp: Stamp, correction_ns: i64 },
    /// Answer to a request, this long after it.
    Answer { round_trip_ns: u64 },
    /// Delay of a link.
    PeerDelay { nanos: i64 },
    /// A request stays without an answer.
    Lost,
    /// Announce; the grandmaster of the domain is another one from it on.
    Announce { announce: Announce, is_change: bool },
}

/// Ports and domains followed.
#[derive(Clone, Default, Debug)]
pub(super) struct Ports {
    known: BTreeMap<PortKey, OfPort>,
    masters: BTreeMap<[u8; 2], Master>,
}

impl Ports {
    /// Adds a message of this stream, and calls `each` for its effects on streams. Returns false if its
    /// port is one more than is followed.
    pub(super) fn add(
        &mut self,
        at: Instant,
        pdu: &Pdu,
        stream: Handle,
        mut each: impl FnMut(Handle, Effect),
    ) -> bool {
        let correction_ns = pdu.correction_ns();
        let open = Open { sequence: pdu.sequence, at, stream, correction_ns };
        match pdu.kind {
            Kind::Sync if pdu.is_two_step() => {
                let Some(port) = self.port(pdu, pdu.port) else { return false };
                port.sync = Some(open);
            }
            Kind::Sync => sync(&open, pdu, &mut each),
            Kind::FollowUp => {
                let Some(port) = self.port(pdu, pdu.port) else { return false };
                let sync = port.sync.take_if(|it| it.sequence == pdu.sequence);
                sync.iter().for_each(|open| self::sync(open, pdu, &mut each));
            }
            Kind::PeerDelayRequest | Kind::DelayRequest => {
                let Some(port) = self.port(pdu, pdu.port) else { return false };
                let [peer, other] = &mut port.requests;
                let place = if pdu.kind == Kind::PeerDelayRequest { peer } else { other };
                if let Some(before) = place.replace(open) {
                    each(before.stream, Effect::Lost);
                }
            }
            Kind::PeerDelayResponse | Kind::DelayResponse | Kind::PeerDelayFollowUp => {
                let Some(requesting) = pdu.requesting else { return true };
                let Some(port) = self.port(pdu, requesting) else { return false };
                port.answer(at, pdu, &mut each);
            }
            Kind::Announce => {
                let Some(announce) = pdu.announce else { return true };
                let is_change = self.announce(at, pdu, announce);
                each(stream, Effect::Announce { announce, is_change });
            }
            Kind::Other => {}
        }
        true
    }

    /// A port, new if need be and if there is room.
    fn port(&mut self, pdu: &Pdu, port: Port) -> Option<&mut OfPort> {
        let key = PortKey { domain: pdu.domain, port };
        if self.known.len() == PORTS && !self.known.contains_key(&key) {
            return None;
        }
        Some(self.known.entry(key).or_default())
    }

    /// Adds an Announce. Returns true if the grandmaster of the domain is another one from it on.
    fn announce(&mut self, at: Instant, pdu: &Pdu, announce: Announce) -> bool {
        let key = [pdu.major_sdo, pdu.domain];
        let allowed_ns = allowed_ns(pdu).unwrap_or(INTERVALS * 2_000_000_000);
        let now = Master { announce, at, allowed_ns };
        let Some(known) = self.masters.get_mut(&key) else {
            self.masters.insert(key, now);
            return false;
        };
        if known.announce.grandmaster == announce.grandmaster {
            *known = now;
            return false;
        }
        let is_better = quality(&announce) < quality(&known.announce);
        let is_lost = at.as_nanos().saturating_sub(known.at.as_nanos()) > known.allowed_ns;
        if is_better || is_lost {
            *known = now;
        }
        is_better || is_lost
    }
}

/// Fields by which grandmasters are compared, the lesser better.
fn quality(of: &Announce) -> (u8, u8, u8, u16, u8, Clock) {
    (of.priority_1, of.class, of.accuracy, of.variance, of.priority_2, of.grandmaster)
}

/// Time of a Sync, which `pdu` states: itself, or its Follow_Up.
fn sync(open: &Open, pdu: &Pdu, each: &mut impl FnMut(Handle, Effect)) {
    let Some(origin) = pdu.time_ns else { return };
    let own = if pdu.kind == Kind::Sync { 0 } else { open.correction_ns };
    let correction_ns = pdu.correction_ns().saturating_add(own);
    let stamp = Stamp { nanos: origin.saturating_add_signed(correction_ns), is_short: false };
    each(open.stream, Effect::Sync { at: open.at, stamp, correction_ns });
}

impl OfPort {
    /// Adds an answer to a request of the port.
    fn answer(&mut self, at: Instant, pdu: &Pdu, each: &mut impl FnMut(Handle, Effect)) {
        if pdu.kind == Kind::PeerDelayFollowUp {
            let fits = |it: &mut Half| it.sequence == pdu.sequence && it.from == pdu.port;
            let (Some(half), Some(sent_ns)) = (self.half.take_if(fits), pdu.time_ns) else {
                return;
            };
            let turnaround = i128::from(sent_ns) - i128::from(half.received_ns);
            let corrections = i128::from(half.correction_ns) + i128::from(pdu.correction_ns());
            let nanos = (i128::from(half.round_trip_ns) - turnaround - corrections) / 2;
            if let Ok(nanos) = i64::try_from(nanos) {
                each(half.stream, Effect::PeerDelay { nanos });
            }
            return;
        }
        let [peer, other] = &mut self.requests;
        let is_peer = pdu.kind == Kind::PeerDelayResponse;
        let place = if is_peer { peer } else { other };
        let Some(open) = place.take_if(|it| it.sequence == pdu.sequence) else { return };
        let round_trip_ns = at.as_nanos().saturating_sub(open.at.as_nanos());
        each(open.stream, Effect::Answer { round_trip_ns });
        if !is_peer {
            return;
        }
        let correction_ns = pdu.correction_ns();
        if pdu.is_two_step() {
            let Some(received_ns) = pdu.time_ns else { return };
            let (sequence, from, stream) = (pdu.sequence, pdu.port, open.stream);
            self.half =
                Some(Half { sequence, from, stream, round_trip_ns, received_ns, correction_ns });
        } else {
            // One step: the peer adds the time that it took to the correction.
            let twice = i128::from(round_trip_ns) - i128::from(correction_ns);
            if let Ok(nanos) = i64::try_from(twice / 2) {
                each(open.stream, Effect::PeerDelay { nanos });
            }
        }
    }
}

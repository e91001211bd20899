//! Acknowledgement delays of class 4 as seen at the tap.
//!
//! Definition: from the first time a DT is seen to the first AK that covers it (ISO 8073 6.10,
//! 12.2.3: YR-TU-NR is the number expected next). Both are seen at the tap, so the delay is that of
//! the path from the tap to the receiver, of the receiver, and of the path back.
//!
//! Bias: a DT that was lost before the tap counts from its first copy that reached the tap. If a DT
//! was retransmitted, the delay still runs from the first copy, and so includes the retransmission
//! time. An AK that covers several DTs gives a delay for each.
//!
//! Left out: connections whose CC was not seen, because DTs and AKs carry only the receiver's
//! reference; ED and EA; classes below 4.

use crate::host::Address;
use crate::oddity::Oddities;
use crate::reassembly::{Reassembly, Whole};
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use wire::addr::Mac;
use wire::dissect::{Link, Nsdu, levels};
use wire::time::Instant;
use wire::tp::{self, Checksum, Connect, Format, Pdu, Raw, Reference};

/// Limit of unacknowledged DTs on one direction; later ones are not measured.
const MAXIMUM_WAITING: usize = 1_024;
/// Silence after which a connection may be evicted.
const SILENCE: Duration = Duration::from_secs(300);

/// Acknowledgement delay of a DT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delay {
    /// Time of the AK.
    pub at: Instant,
    /// Delay since the DT.
    pub span: Duration,
    /// Station that sent the DT.
    pub source: Mac,
    /// Station that sent the AK.
    pub destination: Mac,
}

/// Reference, its owner, and the peer that uses it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key {
    owner: Address,
    peer: Address,
    reference: Reference,
}

/// Unacknowledged DTs sent to one side of a connection.
#[derive(Clone, Debug)]
struct Receiver {
    /// Key of the other side.
    twin: Key,
    format: Format,
    /// Number expected next, by its last AK.
    next: u32,
    /// Numbers of unacknowledged DTs, and the time at which each was first seen.
    waiting: VecDeque<(u32, Instant)>,
    last_heard: Instant,
}

/// Acknowledgement delays of all class 4 connections on a network.
#[derive(Clone, Debug)]
pub struct Acknowledgements {
    receivers: BTreeMap<Key, Receiver>,
    reassembly: Reassembly,
    maximum_connections: usize,
}

impl Acknowledgements {
    /// Follows up to this number of connections; connections beyond it are not measured.
    #[must_use]
    pub fn new(maximum_connections: usize) -> Self {
        let reassembly = Reassembly::default();
        Self { receivers: BTreeMap::new(), reassembly, maximum_connections }
    }

    /// Processes a frame of which `octets` were captured; calls `found` for each delay that it
    /// ends.
    pub fn observe(
        &mut self,
        at: Instant,
        link: Link,
        octets: &[u8],
        original_octets: usize,
        mut found: impl FnMut(Delay),
    ) {
        let Ok(nsdu) = levels(link, octets, original_octets).nsdu else { return };
        let Some(segment) = nsdu.segment else { return self.nsdu(at, &nsdu, &mut found) };
        // Oddities are counted by the meter; here they only give no delay.
        let mut oddities = Oddities::default();
        if let Some(whole) = self.reassembly.take(at, &nsdu, segment, &mut oddities) {
            let Whole { octets, missing_octets } = &whole;
            let missing_octets = *missing_octets;
            self.nsdu(at, &Nsdu { octets, missing_octets, segment: None, ..nsdu }, &mut found);
        }
    }

    fn nsdu(&mut self, at: Instant, nsdu: &Nsdu<'_>, found: &mut impl FnMut(Delay)) {
        for raw in tp::tpdus(nsdu.octets).map_while(Result::ok) {
            self.tpdu(at, nsdu, &raw, found);
        }
    }

    fn tpdu(&mut self, at: Instant, nsdu: &Nsdu<'_>, raw: &Raw<'_>, found: &mut impl FnMut(Delay)) {
        let from = Address::Station { mac: nsdu.source, nsap: nsdu.source_nsap };
        let to = Address::Station { mac: nsdu.destination, nsap: nsdu.destination_nsap };
        let reference = raw.destination_reference().unwrap_or_default();
        let key = Key { owner: to, peer: from, reference };
        let format = self.receivers.get(&key).map(|receiver| receiver.format);
        let Ok(pdu) = Pdu::decode(raw, format) else { return };
        if nsdu.missing_octets == 0 && raw.checksum(pdu.parameters(), &[]) == Checksum::Bad {
            return;
        }
        match pdu {
            Pdu::Cc(cc) => self.confirm(at, key, &cc),
            Pdu::Dt(dt) => {
                let Some(receiver) = self.receivers.get_mut(&key) else { return };
                receiver.last_heard = at;
                receiver.sent(dt.number, at);
            }
            Pdu::Ak(ak) => {
                let Some(twin) = self.receivers.get(&key).map(|receiver| receiver.twin) else {
                    return;
                };
                let Some(receiver) = self.receivers.get_mut(&twin) else { return };
                receiver.last_heard = at;
                receiver.acknowledged(ak.next, |since| {
                    let (source, destination) = (nsdu.destination, nsdu.source);
                    found(Delay { at, span: at.since(since), source, destination });
                });
            }
            Pdu::Dr(_) | Pdu::Dc(_) => {
                if let Some(receiver) = self.receivers.remove(&key) {
                    self.receivers.remove(&receiver.twin);
                }
            }
            Pdu::Cr(_) | Pdu::Ed(_) | Pdu::Ea(_) | Pdu::Rj(_) | Pdu::Er(_) => {}
        }
    }

    /// Records both references from a CC: `key` is the requester's side.
    fn confirm(&mut self, at: Instant, key: Key, cc: &Connect<'_>) {
        let is_named = key.reference != Reference(0) && cc.source_reference != Reference(0);
        if !is_named || cc.class.class != 4 {
            return;
        }
        let twin = Key { owner: key.peer, peer: key.owner, reference: cc.source_reference };
        // A retransmitted CC changes nothing.
        if self.receivers.get(&key).is_some_and(|receiver| receiver.twin == twin) {
            return;
        }
        if self.receivers.len() >= 2 * self.maximum_connections {
            self.evict_silent(at.saturating_sub(SILENCE));
        }
        if self.receivers.len() + 2 > 2 * self.maximum_connections {
            return;
        }
        // Reuse of a reference ends the connection that had it.
        for reused in [key, twin] {
            if let Some(receiver) = self.receivers.remove(&reused) {
                self.receivers.remove(&receiver.twin);
            }
        }
        let format = cc.class.format();
        let receiver =
            |twin| Receiver { twin, format, next: 0, waiting: VecDeque::new(), last_heard: at };
        self.receivers.insert(key, receiver(twin));
        self.receivers.insert(twin, receiver(key));
    }

    /// Evicts the connections to which neither side sent anything since `oldest`.
    fn evict_silent(&mut self, oldest: Instant) {
        // If only one side sends data, the other is sent AKs alone.
        let is_heard = |receiver: &Receiver| receiver.last_heard >= oldest;
        let heard: BTreeSet<Key> = self
            .receivers
            .iter()
            .filter(|(_, receiver)| is_heard(receiver))
            .flat_map(|(key, receiver)| [*key, receiver.twin])
            .collect();
        self.receivers.retain(|key, _| heard.contains(key));
    }
}

impl Receiver {
    /// Distance of `number` ahead of `from`; none if it is half the modulus or more.
    const fn ahead(&self, from: u32, number: u32) -> Option<u32> {
        let modulus = self.format.modulus();
        let ahead = number.wrapping_sub(from) & (modulus - 1);
        if ahead < modulus / 2 { Some(ahead) } else { None }
    }

    fn sent(&mut self, number: u32, at: Instant) {
        let is_known = self.waiting.iter().any(|(waiting, _)| *waiting == number);
        // Below the acknowledged number: a late copy.
        let is_old = self.ahead(self.next, number).is_none();
        if !is_known && !is_old && self.waiting.len() < MAXIMUM_WAITING {
            self.waiting.push_back((number, at));
        }
    }

    fn acknowledged(&mut self, next: u32, mut covered: impl FnMut(Instant)) {
        // Below the last acknowledgement: an AK that was overtaken.
        if self.ahead(self.next, next).is_none() {
            return;
        }
        self.next = next;
        let waiting = core::mem::take(&mut self.waiting);
        for (number, since) in waiting {
            // From `next` on, DTs are not acknowledged yet.
            if self.ahead(next, number).is_some() {
                self.waiting.push_back((number, since));
            } else {
                covered(since);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: u8 = 1;
    const B: u8 = 2;

    /// LLC UI frame with the inactive network layer between two stations.
    fn frame(from: u8, to: u8, tpdu: &[u8]) -> Vec<u8> {
        let mut octets = vec![2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from];
        octets.extend(u16::try_from(4 + tpdu.len()).unwrap().to_be_bytes());
        octets.extend([0xFE, 0xFE, 0x03, 0x00]);
        octets.extend(tpdu);
        octets
    }

    /// CC from B (reference 0x0b0b) to A (reference 0x0a0a): class 4.
    fn confirm() -> Vec<u8> {
        frame(B, A, &[6, 0xD0, 0x0A, 0x0A, 0x0B, 0x0B, 0x40])
    }

    fn data(number: u8) -> Vec<u8> {
        frame(A, B, &[4, 0xF0, 0x0B, 0x0B, 0x80 | number, 0x55])
    }

    fn acknowledge(next: u8) -> Vec<u8> {
        frame(B, A, &[4, 0x6F, 0x0A, 0x0A, next])
    }

    /// Delays, in milliseconds, of frames at these milliseconds.
    fn delays(frames: &[(u64, Vec<u8>)]) -> Vec<u64> {
        let mut acknowledgements = Acknowledgements::new(4);
        let mut delays = Vec::new();
        for (millis, octets) in frames {
            let at = Instant::from_nanos(millis * 1_000_000);
            acknowledgements.observe(at, Link::Ethernet, octets, octets.len(), |delay| {
                assert_eq!(delay.at, at);
                assert_eq!((delay.source.0[5], delay.destination.0[5]), (A, B));
                delays.push(u64::try_from(delay.span.as_millis()).unwrap());
            });
        }
        delays
    }

    #[test]
    fn an_ak_ends_the_wait_of_every_dt_before_its_number() {
        let frames = [
            (0, confirm()),
            (10, data(0)),
            (12, data(1)),
            (15, data(2)),
            // Covers 0 and 1: 20 - 10 and 20 - 12.
            (20, acknowledge(2)),
            (21, acknowledge(3)),
        ];
        assert_eq!(delays(&frames), [10, 8, 6]);
    }

    #[test]
    fn a_retransmitted_dt_counts_from_its_first_copy_only() {
        let frames = [
            (0, confirm()),
            (10, data(0)),
            (60, data(0)),
            (70, acknowledge(1)),
            (71, data(0)),
            (72, acknowledge(1)),
            (80, data(1)),
            // Overtaken by the AK before it: it covers nothing.
            (81, acknowledge(0)),
            (85, acknowledge(2)),
        ];
        assert_eq!(delays(&frames), [60, 5]);
    }

    #[test]
    fn numbers_wrap() {
        let mut frames = vec![(0, confirm())];
        for number in 0..300_u64 {
            let wrapped = u8::try_from(number % 128).unwrap();
            frames.push((10 * number, data(wrapped)));
            frames.push((10 * number + 3, acknowledge((wrapped + 1) % 128)));
        }
        assert_eq!(delays(&frames), [3; 300]);
    }

    #[test]
    fn a_connection_whose_cc_was_not_seen_gives_no_delay() {
        assert_eq!(delays(&[(10, data(0)), (20, acknowledge(1))]), []);
    }

    #[test]
    fn a_dr_invalidates_the_reference() {
        let disconnect = frame(B, A, &[6, 0x80, 0x0A, 0x0A, 0x0B, 0x0B, 0x80]);
        let frames =
            [(0, confirm()), (1, data(0)), (2, disconnect), (3, data(1)), (4, acknowledge(2))];
        assert_eq!(delays(&frames), []);
    }

    #[test]
    fn other_classes_and_zero_references_give_no_delay() {
        let exchange = |cc: [u8; 7]| {
            [(0, frame(B, A, &cc)), (1, data(0)), (5, acknowledge(1)), (6, acknowledge(2))]
        };
        assert_eq!(delays(&exchange([6, 0xD0, 0x0A, 0x0A, 0x0B, 0x0B, 0x40])), [4]);
        assert_eq!(delays(&exchange([6, 0xD0, 0x0A, 0x0A, 0x0B, 0x0B, 0x20])), []);
        // From B, which has no reference yet: DTs to reference 0 are of no connection.
        let nameless = frame(B, A, &[6, 0xD0, 0x0A, 0x0A, 0, 0, 0x40]);
        let dt = frame(A, B, &[4, 0xF0, 0, 0, 0x80, 0x55]);
        assert_eq!(delays(&[(0, nameless), (1, dt), (5, acknowledge(1))]), []);
    }

    #[test]
    fn a_retransmitted_cc_keeps_the_pending_dts() {
        let retransmitted = [(0, confirm()), (10, data(0)), (12, confirm()), (15, acknowledge(1))];
        assert_eq!(delays(&retransmitted), [5]);
        let other = frame(B, A, &[6, 0xD0, 0x0A, 0x0A, 0x0C, 0x0C, 0x40]);
        let anew = [(0, confirm()), (10, data(0)), (12, other), (15, acknowledge(1))];
        assert_eq!(delays(&anew), []);
    }

    #[test]
    fn damaged_dts_give_no_delay_and_cut_dts_do() {
        // With a checksum of zeros, which is wrong for this DT.
        let damaged = frame(A, B, &[8, 0xF0, 0x0B, 0x0B, 0x80, 0xC3, 2, 0, 0, 0x55]);
        let found = |octets: &[u8]| {
            let mut acknowledgements = Acknowledgements::new(4);
            let mut found = 0;
            for (octets, length) in [
                (&confirm()[..], confirm().len()),
                (octets, damaged.len()),
                (&acknowledge(1), acknowledge(1).len()),
            ] {
                let link = Link::Ethernet;
                acknowledgements.observe(Instant::ZERO, link, octets, length, |_| found += 1);
            }
            found
        };
        assert_eq!(found(&damaged), 0);
        // Without the user data the checksum cannot be verified.
        assert_eq!(found(&damaged[..damaged.len() - 1]), 1);
    }

    #[test]
    fn half_the_modulus_ahead_is_behind() {
        // 7-bit numbers: 64 is as far ahead of 0 as behind it. If it counted as ahead, the AK of 64
        // would leave the DT pending, and the AK of 65 would end its delay.
        let frames = [(0, confirm()), (10, data(64)), (20, acknowledge(64)), (21, acknowledge(65))];
        assert_eq!(delays(&frames), []);
        assert_eq!(delays(&[(0, confirm()), (10, data(62)), (20, acknowledge(63))]), [10]);
    }

    #[test]
    fn a_direction_has_1024_pending_dts_at_most() {
        let mut frames = vec![(0, frame(B, A, &[6, 0xD0, 0x0A, 0x0A, 0x0B, 0x0B, 0x42]))];
        for number in 0..1_100_u64 {
            let [.., high, low] = number.to_be_bytes();
            frames.push((1, frame(A, B, &[7, 0xF0, 0x0B, 0x0B, 0x80, 0, high, low, 0x55])));
        }
        // 1,100 = 0x044C is expected next.
        frames.push((3, frame(B, A, &[9, 0x60, 0x0A, 0x0A, 0, 0, 0x04, 0x4C, 0, 15])));
        assert_eq!(delays(&frames), [2; 1_024]);
    }

    #[test]
    fn silent_connections_are_evicted_at_the_limit() {
        let mut acknowledgements = Acknowledgements::new(4);
        let mut found = 0;
        let mut pass = |seconds: u64, octets: &[u8]| {
            let (at, before) = (Instant::from_nanos(seconds * 1_000_000_000), found);
            let link = Link::Ethernet;
            acknowledgements.observe(at, link, octets, octets.len(), |_| found += 1);
            found - before
        };
        let open = |n: u8| frame(B, A, &[6, 0xD0, 0x0A, n, 0x0B, n, 0x40]);
        let dt = |n: u8, number: u8| frame(A, B, &[4, 0xF0, 0x0B, n, 0x80 | number, 0x55]);
        let ack = |n: u8, next: u8| frame(B, A, &[4, 0x6F, 0x0A, n, next]);
        for n in 1..=4 {
            pass(0, &open(n));
            pass(1, &dt(n, 0));
            assert_eq!(pass(2, &ack(n, 1)), 1, "connection {n}");
        }
        pass(3, &open(5));
        pass(4, &dt(5, 0));
        assert_eq!(pass(4, &ack(5, 1)), 0, "there is no room for a fifth");
        // Only A sends on the first, last at 200 s; the fourth was used last at 2 s, more than 300
        // s before.
        pass(200, &dt(1, 1));
        pass(302, &dt(4, 1));
        pass(302, &open(5));
        pass(302, &dt(5, 0));
        assert_eq!(pass(302, &ack(5, 1)), 0, "all were heard within 300 s");
        pass(303, &open(5));
        pass(303, &dt(5, 0));
        assert_eq!(pass(303, &ack(5, 1)), 1, "two were silent for 301 s");
        assert_eq!(pass(303, &ack(1, 2)), 1, "the first goes on");
        pass(303, &dt(2, 1));
        assert_eq!(pass(303, &ack(2, 2)), 0, "the second is evicted");
    }

    #[test]
    fn silent_connections_are_kept_while_there_is_room() {
        let open = |n: u8| frame(B, A, &[6, 0xD0, 0x0A, n, 0x0B, n, 0x40]);
        let hour = 3_600_000;
        let mut frames: Vec<(u64, Vec<u8>)> = (1..=3).map(|n| (0, open(n))).collect();
        frames.push((0, frame(A, B, &[4, 0xF0, 0x0B, 1, 0x80, 0x55])));
        // The fourth of four.
        frames.push((hour, open(4)));
        frames.push((hour, frame(B, A, &[4, 0x6F, 0x0A, 1, 1])));
        assert_eq!(delays(&frames), [hour]);
    }

    #[test]
    fn memory_is_bounded_for_any_input() {
        let mut acknowledgements = Acknowledgements::new(4);
        for reference in 1..1_000_u16 {
            let [high, low] = reference.to_be_bytes();
            let octets = frame(B, A, &[6, 0xD0, high, low, 0x0B, 0x0B, 0x40]);
            acknowledgements.observe(Instant::ZERO, Link::Ethernet, &octets, octets.len(), |_| {});
            for number in 0..64 {
                let octets = data(number);
                let length = octets.len();
                acknowledgements.observe(Instant::ZERO, Link::Ethernet, &octets, length, |_| {});
            }
        }
        assert!(acknowledgements.receivers.len() <= 8);
    }
}

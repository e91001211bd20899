//! Output queue of an entity.
//!
//! Nearly all outputs are DTs, AKs and user data. Each of these is built in place in a ring and
//! moved out as a whole; all others wait in a separate queue.

use super::ring::Ring;
use super::service::{Note, Nsdu};
use super::transmit_handle::AwaitedTpdu;
use crate::machine::Output;
use crate::messaging::Priority;
use crate::transport::service::{Address, Endpoint, Indication};
use bytes::Bytes;
use core::num::NonZeroU32;
use std::collections::VecDeque;
use wire::packet::Packet;
use wire::tp::{Reference, ShortHeader, tpdus};

/// Output of an entity.
pub(super) type Said = Output<Nsdu, Indication, Note>;

/// Octets of header that fit in front of a packet's payload without a copy, leaving room for the
/// lower layers.
const JOINED_OCTETS: usize = 48;

/// Queued output. Outputs with owned contents are stored separately, so that the others are cheap
/// to write.
#[derive(Clone, Debug, Default)]
struct Queued {
    what: What,
    /// Short TPDU, ready to be sent; or user data for the user.
    packet: Option<Packet>,
    /// Priority of the connection of a TPDU.
    priority: Priority,
}

#[derive(Clone, Copy, Debug, Default)]
enum What {
    /// First of [`OutputQueue::others`].
    #[default]
    Other,
    /// TPDU with a short header.
    Short { peer: Address, timed: Option<TimedData> },
    /// User data of one DT for the user.
    Data { endpoint: Endpoint, end: bool },
}

/// DT on which T1 depends: the slot of its connection plus one, and its number.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimedData {
    slot: NonZeroU32,
    number: u32,
}

impl TimedData {
    /// Creates the value for the connection in `slot`.
    #[inline]
    pub(super) fn new(slot: u32, number: u32) -> Option<Self> {
        NonZeroU32::MIN.checked_add(slot).map(|slot| Self { slot, number })
    }
}

/// Output stored separately, with the connection slot and TPDU of a dependent timer.
#[derive(Clone, Debug)]
struct Other {
    said: Said,
    timed: Option<(u32, AwaitedTpdu)>,
}

/// Queue of an entity's outputs.
#[derive(Clone, Debug, Default)]
pub(super) struct OutputQueue {
    waiting: Ring<Queued>,
    /// Separate outputs, in the order of their places in `waiting`.
    others: VecDeque<Other>,
    /// Slot and TPDU of the output polled last, if a timer depends on it.
    timed: Option<(u32, AwaitedTpdu)>,
    /// Priority of the next outputs.
    priority: Priority,
    /// Priority of the output polled last.
    polled: Priority,
}

impl OutputQueue {
    /// Sets the priority of the following outputs to that of their connection.
    pub(super) const fn speak_for(&mut self, priority: Priority) {
        self.priority = priority;
    }

    /// Priority of the output polled last.
    pub(super) const fn polled_priority(&self) -> Priority {
        self.polled
    }

    /// Queues an indication to the user.
    pub(super) fn deliver(&mut self, indication: Indication) {
        self.other(Output::Deliver(indication));
    }

    /// Queues the user data of one DT for the user.
    #[inline]
    pub(super) fn deliver_data(&mut self, endpoint: Endpoint, octets: Bytes, end: bool) {
        let place = self.waiting.append();
        place.what = What::Data { endpoint, end };
        place.packet = Some(Packet::new(octets));
    }

    /// Queues a note for observers.
    pub(super) fn note(&mut self, note: Note) {
        self.other(Output::Note(note));
    }

    /// Queues a TPDU with a short header.
    #[inline(always)]
    pub(super) fn send_short(
        &mut self,
        peer: Address,
        header: ShortHeader,
        timed: Option<TimedData>,
        data: Bytes,
    ) {
        let place = self.waiting.append();
        place.what = What::Short { peer, timed };
        place.priority = self.priority;
        place.packet = Some(Packet::headed(header.octets(), header.len(), data));
    }

    /// Queues any other TPDU.
    pub(super) fn send(&mut self, peer: Address, packet: Packet) {
        self.other(Output::Send(Nsdu { peer, packet }));
    }

    /// Makes a timer of the connection in `slot` depend on the last output.
    pub(super) fn wait_for_last(&mut self, slot: u32, of: AwaitedTpdu) {
        if let Some(Queued { what: What::Other, .. }) = self.waiting.last_mut()
            && let Some(other) = self.others.back_mut()
        {
            other.timed = Some((slot, of));
        }
    }

    /// Takes the slot and TPDU of the last popped output, if a timer depends on it.
    pub(super) const fn take_timed(&mut self) -> Option<(u32, AwaitedTpdu)> {
        self.timed.take()
    }

    /// Joins the last TPDU to the NSDU of the one before it, if this is permitted (6.4.2) and the
    /// NSDU does not exceed `nsdu_octets`. Returns true if they were joined.
    pub(super) fn join_last(&mut self, nsdu_octets: usize) -> bool {
        let joined = self.tpdus_from_last(0).and_then(|last| {
            let before = self.tpdus_from_last(1)?;
            joined(&before, &last, nsdu_octets)
        });
        let Some(nsdu) = joined else { return false };
        for _ in 0..2 {
            if let Some(place) = self.waiting.take_last() {
                place.packet = None;
                if matches!(place.what, What::Other) {
                    self.others.pop_back();
                }
            }
        }
        self.other(Output::Send(nsdu));
        true
    }

    /// Takes the first output. It is moved as a whole, by a call of its own; if it were inlined, it
    /// would be moved in pieces.
    #[inline(never)]
    pub(super) fn pop(&mut self) -> Option<Said> {
        let place = self.waiting.take_first()?;
        self.polled = place.priority;
        match place.what {
            What::Short { peer, timed } => {
                self.timed = timed.map(|it| (it.slot.get() - 1, AwaitedTpdu::Data(it.number)));
                let packet = place.packet.take()?;
                Some(Output::Send(Nsdu { peer, packet }))
            }
            What::Data { endpoint, end } => {
                self.timed = None;
                let octets = place.packet.take()?.take_payload();
                Some(Output::Deliver(Indication::Data { endpoint, octets, end }))
            }
            What::Other => {
                let Other { said, timed } = self.others.pop_front()?;
                self.timed = timed;
                Some(said)
            }
        }
    }

    fn other(&mut self, said: Said) {
        let place = self.waiting.append();
        (place.what, place.priority) = (What::Other, self.priority);
        self.others.push_back(Other { said, timed: None });
    }

    /// TPDUs of the `nth` last output, counted from 0, if others may be joined to them.
    fn tpdus_from_last(&self, nth: usize) -> Option<Tpdus<'_>> {
        let place = self.waiting.get(self.waiting.len().checked_sub(nth + 1)?)?;
        match place.what {
            What::Short { peer, .. } => {
                Some(Tpdus { peer, priority: place.priority, packet: place.packet.as_ref()? })
            }
            // TPDUs that may carry user data have a timer and come last.
            What::Other => match self.others.iter().rev().nth(self.others_after(nth))? {
                Other { said: Output::Send(Nsdu { peer, packet }), timed: None } => {
                    Some(Tpdus { peer: *peer, priority: place.priority, packet })
                }
                Other { said: Output::Send(_) | Output::Deliver(_) | Output::Note(_), .. } => None,
            },
            What::Data { .. } => None,
        }
    }

    /// Number of separate outputs among the last `nth`.
    fn others_after(&self, nth: usize) -> usize {
        let places = (1..=nth).filter_map(|back| self.waiting.get(self.waiting.len() - back));
        places.filter(|place| matches!(place.what, What::Other)).count()
    }
}

/// TPDUs in one NSDU: their headers, and the user data of the last.
struct Tpdus<'a> {
    peer: Address,
    priority: Priority,
    packet: &'a Packet,
}

/// Joins two outputs into one NSDU: any number of TPDUs without user data, each of another
/// connection with the same priority, then at most one that may carry user data. `None` if this is
/// not permitted or does not fit.
fn joined(before: &Tpdus<'_>, last: &Tpdus<'_>, nsdu_octets: usize) -> Option<Nsdu> {
    let (peer, first, nothing) = (before.peer, before.packet.head(), before.packet.payload());
    let (other, head, data) = (last.peer, last.packet.head(), last.packet.payload());
    let octets = first.len() + head.len();
    let bare = nothing.is_empty() && !head.is_empty();
    let is_apart = peer != other || before.priority != last.priority;
    if is_apart || !bare || octets > JOINED_OCTETS || octets + data.len() > nsdu_octets {
        return None;
    }
    let added = tpdus(head).next()?.ok()?;
    let to: Option<Reference> = added.destination_reference();
    for raw in tpdus(first) {
        let raw = raw.ok()?;
        let same = raw.destination_reference() == to && !added.kind.may_carry_data();
        if raw.kind.may_carry_data() || same {
            return None;
        }
    }
    let mut packet = Packet::new(data.clone());
    packet.prepend(head);
    packet.prepend(first);
    Some(Nsdu { peer, packet })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::addr::Mac;

    /// Queues these TPDUs, joining each to the one before if possible; returns the number of NSDUs.
    fn nsdus(tpdus: &[(u32, &[u8], usize)], nsdu_octets: usize) -> usize {
        let mut output_queue = OutputQueue::default();
        for (station, head, data_octets) in tpdus {
            let mut packet = Packet::new(Bytes::from(vec![7; *data_octets]));
            packet.prepend(head);
            output_queue.send(Address::Station(Mac::local(*station)), packet);
            output_queue.join_last(nsdu_octets);
        }
        let before: usize = tpdus.iter().map(|(_, head, data)| head.len() + data).sum();
        let sent: Vec<_> = std::iter::from_fn(|| output_queue.pop()).collect();
        let octets = sent.iter().map(|said| match said {
            Output::Send(nsdu) => nsdu.packet.len(),
            other => panic!("{other:?}"),
        });
        assert_eq!(octets.sum::<usize>(), before, "no octet is lost or duplicated");
        sent.len()
    }

    /// AK in the normal format to this reference.
    const fn ak(to: u8) -> [u8; 5] {
        [4, 0x68, 0, to, 0]
    }

    /// DT in the normal format to this reference.
    const fn dt(to: u8) -> [u8; 5] {
        [4, 0xF0, 0, to, 0x80]
    }

    #[test]
    fn tpdus_are_joined_as_the_standard_allows() {
        // ISO 8073 6.4.2: TPDUs without user data, each of another connection, then one that may
        // have some.
        assert_eq!(nsdus(&[(1, &ak(1), 0), (1, &dt(1), 9)], 100), 1);
        assert_eq!(nsdus(&[(1, &ak(1), 0), (1, &ak(2), 0), (1, &ak(3), 0)], 100), 1);
        assert_eq!(nsdus(&[(1, &ak(1), 0), (1, &ak(2), 0), (1, &ak(1), 0)], 100), 2);
        assert_eq!(nsdus(&[(1, &dt(1), 0), (1, &ak(2), 0)], 100), 2, "a DT comes last");
        assert_eq!(nsdus(&[(1, &ak(1), 0), (2, &ak(2), 0)], 100), 2, "two stations");
        assert_eq!(nsdus(&[(1, &[], 9), (1, &ak(2), 0)], 100), 2, "a CC is contiguous");
    }

    #[test]
    fn what_is_joined_fits_the_nsdu_and_the_room_for_headers() {
        assert_eq!(nsdus(&[(1, &ak(1), 0), (1, &dt(1), 90)], 100), 1);
        assert_eq!(nsdus(&[(1, &ak(1), 0), (1, &dt(1), 91)], 100), 2);
        // An AK of 43 octets with a parameter of 36: 43 + 5 = 48.
        let mut long = [0; 43];
        long[..7].copy_from_slice(&[42, 0x68, 0, 1, 0, 0x3F, 36]);
        assert_eq!(nsdus(&[(1, &long, 0), (1, &dt(2), 9)], 100), 1);
        let mut longer = [0; 44];
        longer[..7].copy_from_slice(&[43, 0x68, 0, 1, 0, 0x3F, 37]);
        assert_eq!(nsdus(&[(1, &longer, 0), (1, &dt(2), 9)], 100), 2);
    }

    #[test]
    fn what_waits_takes_a_cache_line_and_a_half() {
        assert!(size_of::<Queued>() <= 96, "{} octets", size_of::<Queued>());
    }
}

//! What an entity has to say, until it is polled.
//!
//! Nearly all of it is DTs, AKs and user data. Each of these waits in one cache line, and becomes a packet
//! with room for the headers of the layers below only when it is polled; all else waits in a box.

use super::service::{Address, Endpoint, Indication, Note, Nsdu};
use super::ticket::Timed;
use crate::machine::Output;
use bytes::Bytes;
use core::num::NonZeroU32;
use std::collections::VecDeque;
use wire::packet::Packet;
use wire::tp::{Pdu, Reference, seal, tpdus};

/// What an entity says.
pub(super) type Said = Output<Nsdu, Indication, Note>;

/// The longest header that waits without a box. An AK in the extended format with its checksum has 14 octets.
const SHORT_OCTETS: usize = 16;

/// Octets of header that may stand in front of a packet's payload without a copy, so that the layers
/// below find room for theirs.
const JOINED_OCTETS: usize = 48;

/// The header of a DT, or of an AK that says no more than number and credit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    /// The header is at the end.
    octets: [u8; SHORT_OCTETS],
    length: u8,
}

impl Header {
    /// The header of `pdu`, whose last parameter is the checksum if it is `sealed` over `data`.
    ///
    /// # Panics
    /// Where it is longer than 16 octets.
    #[inline]
    pub(super) fn new(pdu: &Pdu<'_>, sealed: bool, data: &[u8]) -> Self {
        let mut octets = [0; SHORT_OCTETS];
        let length = pdu.header_octets();
        let header = &mut octets[SHORT_OCTETS - length..];
        pdu.encode_header(&mut &mut *header);
        if sealed {
            seal(header, length - 2, data);
        }
        Self { octets, length: length as u8 }
    }

    fn octets(&self) -> &[u8] {
        &self.octets[SHORT_OCTETS - usize::from(self.length)..]
    }
}

#[derive(Clone, Debug)]
enum Waiting {
    Short {
        peer: Address,
        header: Header,
        timed: Option<TimedData>,
        data: Bytes,
    },
    Data {
        endpoint: Endpoint,
        octets: Bytes,
        end: bool,
    },
    Other(Box<Said>),
    /// A TPDU other than a DT for which a timer waits, and the slot of its connection.
    Timed(Box<(Said, u32, Timed)>),
}

/// A DT for which T1 waits: the slot of its connection plus one, and its number.
#[derive(Clone, Copy, Debug)]
struct TimedData {
    slot: NonZeroU32,
    number: u32,
}

/// The queue of an entity's outputs.
#[derive(Clone, Debug, Default)]
pub(super) struct Outbox {
    waiting: VecDeque<Waiting>,
    /// What was polled last, if a timer waits for it.
    timed: Option<(u32, Timed)>,
}

impl Outbox {
    /// Tells the user.
    pub(super) fn deliver(&mut self, indication: Indication) {
        self.other(Output::Deliver(indication));
    }

    /// Hands the user data of one DT to the user.
    pub(super) fn deliver_data(&mut self, endpoint: Endpoint, octets: Bytes, end: bool) {
        self.waiting.push_back(Waiting::Data { endpoint, octets, end });
    }

    /// Tells whoever watches.
    pub(super) fn note(&mut self, note: Note) {
        self.other(Output::Note(note));
    }

    /// Sends a TPDU with a short header.
    pub(super) fn send_short(&mut self, peer: Address, header: Header, data: Bytes) {
        self.waiting.push_back(Waiting::Short { peer, header, timed: None, data });
    }

    /// Sends any other TPDU.
    pub(super) fn send(&mut self, peer: Address, packet: Packet) {
        self.other(Output::Send(Nsdu { peer, packet }));
    }

    /// Says that a timer of the connection in `slot` waits for what was said last.
    pub(super) fn wait_for_last(&mut self, slot: u32, of: Timed) {
        match (self.waiting.back_mut(), of) {
            (Some(Waiting::Short { timed, .. }), Timed::Data(number)) => {
                *timed = NonZeroU32::MIN.checked_add(slot).map(|slot| TimedData { slot, number });
            }
            (Some(Waiting::Other(_)), _) => {
                if let Some(Waiting::Other(said)) = self.waiting.pop_back() {
                    self.waiting.push_back(Waiting::Timed(Box::new((*said, slot, of))));
                }
            }
            _ => {}
        }
    }

    /// The slot of the connection of which a timer waits for what was popped last; told once.
    pub(super) const fn take_timed(&mut self) -> Option<(u32, Timed)> {
        self.timed.take()
    }

    /// Lets the TPDU said last share the NSDU of the one before it, where that is allowed (6.4.2) and the
    /// NSDU grows to no more than `nsdu_octets`; whether it does.
    pub(super) fn join_last(&mut self, nsdu_octets: usize) -> bool {
        let joined = match self.waiting.make_contiguous() {
            [.., before, last] => joined(before, last, nsdu_octets),
            _ => None,
        };
        let Some(nsdu) = joined else { return false };
        self.waiting.truncate(self.waiting.len() - 2);
        self.other(Output::Send(nsdu));
        true
    }

    /// What was said first.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Said> {
        let waiting = self.waiting.pop_front()?;
        self.timed = waiting.timed();
        Some(match waiting {
            Waiting::Short { peer, header, data, .. } => {
                let packet = Packet::headed(header.octets, usize::from(header.length), data);
                Output::Send(Nsdu { peer, packet })
            }
            Waiting::Data { endpoint, octets, end } => {
                Output::Deliver(Indication::Data { endpoint, octets, end })
            }
            Waiting::Other(said) => *said,
            Waiting::Timed(timed) => timed.0,
        })
    }

    fn other(&mut self, said: Said) {
        self.waiting.push_back(Waiting::Other(Box::new(said)));
    }
}

impl Waiting {
    /// Header, user data and receiver of what is to be sent.
    fn parts(&self) -> Option<(Address, &[u8], &Bytes)> {
        match self {
            Self::Short { peer, header, data, .. } => Some((*peer, header.octets(), data)),
            Self::Other(said) => match &**said {
                Output::Send(nsdu) => Some((nsdu.peer, nsdu.packet.head(), nsdu.packet.payload())),
                Output::Deliver(_) | Output::Note(_) => None,
            },
            // They may carry user data, and so come last.
            Self::Data { .. } | Self::Timed(_) => None,
        }
    }

    /// The connection of which a timer waits for it.
    #[inline]
    fn timed(&self) -> Option<(u32, Timed)> {
        match self {
            Self::Short { timed: Some(TimedData { slot, number }), .. } => {
                Some((slot.get() - 1, Timed::Data(*number)))
            }
            Self::Timed(timed) => Some((timed.1, timed.2)),
            Self::Short { .. } | Self::Data { .. } | Self::Other(_) => None,
        }
    }
}

/// Both as one NSDU: any number of TPDUs without user data, each of another connection, then at most one
/// that may carry some. `None` where that is not allowed or they do not fit.
fn joined(before: &Waiting, last: &Waiting, nsdu_octets: usize) -> Option<Nsdu> {
    let ((peer, first, nothing), (other, head, data)) = (before.parts()?, last.parts()?);
    let octets = first.len() + head.len();
    let bare = nothing.is_empty() && !head.is_empty();
    if peer != other || !bare || octets > JOINED_OCTETS || octets + data.len() > nsdu_octets {
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

    /// Says these TPDUs, each joined to the one before where that may be; how many NSDUs they fill.
    fn nsdus(tpdus: &[(u32, &[u8], usize)], nsdu_octets: usize) -> usize {
        let mut outbox = Outbox::default();
        for (station, head, data_octets) in tpdus {
            let mut packet = Packet::new(Bytes::from(vec![7; *data_octets]));
            packet.prepend(head);
            outbox.send(Address::Station(Mac::local(*station)), packet);
            outbox.join_last(nsdu_octets);
        }
        let before: usize = tpdus.iter().map(|(_, head, data)| head.len() + data).sum();
        let sent: Vec<_> = std::iter::from_fn(|| outbox.pop()).collect();
        let octets = sent.iter().map(|said| match said {
            Output::Send(nsdu) => nsdu.packet.len(),
            other => panic!("{other:?}"),
        });
        assert_eq!(octets.sum::<usize>(), before, "nothing is lost and nothing is said twice");
        sent.len()
    }

    /// An AK in the normal format to this reference.
    const fn ak(to: u8) -> [u8; 5] {
        [4, 0x68, 0, to, 0]
    }

    /// A DT in the normal format to this reference.
    const fn dt(to: u8) -> [u8; 5] {
        [4, 0xF0, 0, to, 0x80]
    }

    #[test]
    fn tpdus_are_joined_as_the_standard_allows() {
        // ISO 8073 6.4.2: those without user data, each of another connection, then one that may have some.
        assert_eq!(nsdus(&[(1, &ak(1), 0), (1, &dt(1), 9)], 100), 1);
        assert_eq!(nsdus(&[(1, &ak(1), 0), (1, &ak(2), 0), (1, &ak(3), 0)], 100), 1);
        assert_eq!(nsdus(&[(1, &ak(1), 0), (1, &ak(2), 0), (1, &ak(1), 0)], 100), 2);
        assert_eq!(nsdus(&[(1, &dt(1), 0), (1, &ak(2), 0)], 100), 2, "a DT comes last");
        assert_eq!(nsdus(&[(1, &ak(1), 0), (2, &ak(2), 0)], 100), 2, "two stations");
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
    fn what_waits_takes_one_cache_line() {
        assert!(size_of::<Waiting>() <= 64, "{} octets", size_of::<Waiting>());
    }
}

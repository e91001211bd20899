//! Transport connections on the network, followed by their references.
//!
//! A connection begins with its CR, identified by the sender's reference; the CC adds the other
//! reference and the format of numbers. A DR or DC ends it; its references stay frozen until a CR
//! reuses them. If the beginning was not seen, the first DT, ED, AK or EA reveals one side of the
//! connection only (those TPDUs carry the receiver's reference alone), and its numbers count from
//! there. The clock is that of the frames.
//!
//! Bias: the two sides of a connection found under way are followed separately until a CC, so an AK
//! does not close holes among its DTs. A CR that was delayed past the end of its connection counts
//! as a new connection.
//!
//! A connection of class 0 or 1 is found by its network connection, because its DTs carry no
//! reference. It may be found under way with both its sides, and ends with its TCP connection. In
//! classes 2 to 4 references count, over any network.
//!
//! Left out: the numbers of class 1, and reassignment (classes 1 and 3), which moves a connection
//! to another network connection.

mod acknowledgement;
pub(crate) mod apart;
mod beginning;
mod changes;
pub(crate) mod connection;
pub(crate) mod counter_store;
mod data;
mod delays;
mod direction;
mod ending;
mod outstanding;
mod pair_counters;
mod replies;
mod report;
pub(crate) mod side;
mod sink;
pub(crate) mod table;
pub(crate) mod transfer;
mod tsdu;
mod waiting;

pub use connection::State;
pub use direction::{Direction, Numbers};
pub(crate) use ending::NetworkEnd;
pub use report::Connection as Known;
pub(crate) use sink::{Results, Sink};
pub(crate) use table::Party;

use crate::fast::RecentSides;
use crate::host::Hosts;
use crate::lru_slab::Place;
use crate::measure::{Traffic, Waits};
use crate::observation::{Observation, Placed, Step, Tpdu};
use crate::oddity::Class;
use connection::{Connection, End};
use core::ops::Range;
use core::time::Duration;
use counter_store::CounterStore;
use side::{Side, other};
use std::collections::VecDeque;
use table::{Found, Key, Removed, Table};
use transfer::{DtFields, Sent};
use tsdu::Open;
use wire::read::Malformed;
use wire::time::{Instant, nanos};
use wire::tp::{self, Checksum, Format, Kind, Pdu, Raw, Reference};

/// Evicted connections kept until they are taken.
const MAXIMUM_EVICTED: usize = 4_096;

/// Passage of a TPDU: time, sender and receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Passage {
    /// Time.
    pub(crate) at: Instant,
    /// Sender.
    pub(crate) from: Party,
    /// Receiver.
    pub(crate) to: Party,
}

/// NSDU, or contents of a TPKT.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nsdu<'a> {
    /// Sender.
    pub(crate) from: Party,
    /// Receiver.
    pub(crate) to: Party,
    /// First octets.
    pub(crate) octets: &'a [u8],
    /// Octets behind them that are not available.
    pub(crate) missing_octets: usize,
    /// True if the capture cut these.
    pub(crate) is_cut: bool,
}

/// Reason for which a TPDU does not count at the transport level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Discarded {
    /// It cannot be decoded.
    Malformed(Malformed),
    /// Its checksum is wrong: a receiver discards it (ISO 8073 6.17).
    BadChecksum,
}

/// Table of connections with their hosts and counters.
#[derive(Clone, Debug)]
pub(crate) struct Tracker {
    pub(crate) table: Table,
    pub(crate) recent: RecentSides,
    pub(crate) hosts: Hosts,
    pub(crate) sides: CounterStore,
    /// Number of the last connection.
    serial: u32,
    /// Evicted connections that have not been taken.
    evicted: VecDeque<Evicted>,
}

/// Evicted connection.
#[derive(Clone, Debug)]
struct Evicted {
    known: Known,
    /// Ends of the stream that identified it, if any.
    stream: Option<[Party; 2]>,
}

impl Tracker {
    /// Follows up to `maximum` connections, each until it was silent for `silence`.
    pub(crate) fn new(maximum: usize, silence: Duration, hosts: Hosts, seed: u64) -> Self {
        let (table, evicted) = (Table::new(maximum, nanos(silence), seed), VecDeque::new());
        let none = hosts.counts.sizes();
        let (recent, sides) = (RecentSides::new(&none), CounterStore::new(none));
        Self { table, recent, hosts, sides, serial: 0, evicted }
    }

    /// Number of connections followed.
    pub(crate) const fn connections(&self) -> usize {
        self.table.count()
    }

    /// Reports of all connections, in the order of their places, as of `now`; `carried` returns the
    /// TCP delays that the stream between two ends did not hand over yet.
    pub(crate) fn known(
        &self,
        now: Instant,
        carried: impl Fn(&[Party; 2]) -> Option<[Waits; 2]>,
    ) -> impl Iterator<Item = Known> {
        self.known_in(self.places(), now, carried)
    }

    /// Places of all connections.
    pub(crate) fn places(&self) -> Range<Place> {
        self.table.slab.places()
    }

    /// Reports of the connections in some places.
    pub(crate) fn known_in(
        &self,
        places: Range<Place>,
        now: Instant,
        carried: impl Fn(&[Party; 2]) -> Option<[Waits; 2]>,
    ) -> impl Iterator<Item = Known> {
        let spell_out = self.spelling_out(now, carried);
        self.table.slab.iter_in(places).map(spell_out)
    }

    /// Ends measuring at `now`: counts the windows that are still closed.
    pub(crate) fn finish(&self, now: Instant, sink: &mut Sink<'_>) {
        for (_, connection, _) in self.table.slab.iter() {
            connection.closed_for(now).for_each(|closed| sink.closed_window(closed));
        }
    }

    /// Takes the oldest evicted connection.
    #[inline]
    pub(crate) fn take_evicted(&mut self) -> Option<Known> {
        self.evicted.pop_front().map(|evicted| evicted.known)
    }

    /// True if a connection was evicted and not taken yet.
    #[inline]
    pub(crate) fn has_evicted(&self) -> bool {
        !self.evicted.is_empty()
    }

    /// Ends of the stream of the oldest evicted connection, if it has one.
    pub(crate) fn evicted_stream(&self) -> Option<[Party; 2]> {
        self.evicted.front()?.stream
    }

    /// Ends of the stream that identifies a connection, if any.
    fn stream_of(&self, connection: &Connection) -> Option<[Party; 2]> {
        let party = |side: usize| {
            let End { host, port } = connection.senders[side].end();
            Party { address: *self.hosts.address(host), port }
        };
        connection.is_by_network().then(|| [0, 1].map(party))
    }

    /// Counts all pending batches; `all` receives those of the network.
    pub(crate) fn settle(&mut self, all: &mut Traffic) {
        self.recent.settle(&mut self.hosts.counts, all, &mut self.sides);
    }

    /// Counts the pending TPDUs of a second that is over, for the busiest second.
    pub(crate) fn end_second(&mut self, all: &mut Traffic) {
        self.recent.end_second(&mut self.hosts.counts, all, &mut self.sides);
    }

    /// Adds all pending batches to `all`, a copy of the network's counts, and keeps them pending.
    pub(crate) fn add_pending_to(&self, all: &mut Traffic) {
        let (hosts, sides) = (&mut self.hosts.counts.none(), &mut self.sides.empty());
        self.recent.add_pending_to(hosts, all, sides);
    }

    /// Counts the TPDUs of an NSDU.
    pub(crate) fn tpdus(&mut self, at: Instant, nsdu: Nsdu<'_>, sink: &mut Sink<'_>) {
        let Nsdu { from, to, octets, missing_octets, is_cut } = nsdu;
        let passage = Passage { at, from, to };
        // Missing octets belong to the last TPDU, if it may reach to the end of the NSDU.
        let mut unaccounted_octets = missing_octets;
        for raw in tp::tpdus(octets) {
            let raw = match raw {
                Ok(raw) => raw,
                Err(complaint)
                    if missing_octets > 0 && (is_cut || !is_certain(octets, complaint)) =>
                {
                    break;
                }
                Err(complaint) => {
                    sink.oddities.count(Class::Malformed, complaint.field);
                    break;
                }
            };
            let missing = if raw.kind.may_carry_data() { unaccounted_octets } else { 0 };
            unaccounted_octets -= missing;
            match self.tpdu(passage, &raw, missing, sink) {
                Ok(()) => {}
                Err(Discarded::Malformed(complaint)) => {
                    sink.oddities.count(Class::Malformed, complaint.field);
                }
                Err(Discarded::BadChecksum) => {
                    sink.oddities.count(Class::Transport, "bad checksum")
                }
            }
        }
        if is_cut && missing_octets > 0 {
            let is_header = unaccounted_octets > 0;
            let what = if is_header { "TPDU header" } else { "user data" };
            sink.oddities.add(Class::Truncated, what, u64::from(is_header || sink.has_data));
        }
    }

    /// Counts a TPDU of which the last `missing_octets` of user data are not available.
    ///
    /// # Errors
    /// Returns the reason for which it does not count at the transport level.
    fn tpdu(
        &mut self,
        passage: Passage,
        raw: &Raw<'_>,
        missing_octets: usize,
        sink: &mut Sink<'_>,
    ) -> Result<(), Discarded> {
        self.give_up_silent(passage.at, sink);
        // Zero in a DT of class 0, whose connection is identified by TCP.
        let reference = raw.destination_reference().unwrap_or_default();
        let key = Key { owner: &passage.to, peer: &passage.from, reference };
        let found = self.table.find(&key, &self.hosts);
        let format = found.and_then(|(place, _)| self.table.get(place).format);
        let (mut raw, mut decoded) = (*raw, Pdu::decode(raw, format));
        if let Err(fault) = decoded
            && let Some(bare) = without_parameters(&raw, fault, &passage)
        {
            (raw, decoded) = (bare, Pdu::decode(&bare, format));
        }
        let pdu = decoded.as_ref().map_err(|fault| Discarded::Malformed(*fault))?;
        if missing_octets == 0 && raw.checksum(pdu.parameters(), &[]) == Checksum::Bad {
            return Err(Discarded::BadChecksum);
        }
        let data_octets = (raw.data().len() + missing_octets) as u64;
        let plain = Tpdu::plain(raw.kind, raw.header_octets as u64, data_octets);
        let mut tpdu = Tpdu { at: passage.at, ..plain };
        let from = match pdu {
            Pdu::Cr(cr) => self.request(passage, cr, raw.octets, &mut tpdu, sink),
            Pdu::Cc(cc) => self.confirm(passage, cc, found, &mut tpdu, sink),
            Pdu::Dr(dr) => self.disconnect(passage, dr, found, &mut tpdu, sink),
            Pdu::Dc(dc) => self.confirm_disconnect(passage, dc, found, &mut tpdu),
            Pdu::Rj(_) | Pdu::Er(_) => self.hear(passage, raw.kind, found),
            Pdu::Dt(_) | Pdu::Ed(_) | Pdu::Ak(_) | Pdu::Ea(_) => {
                let found = found.or_else(|| self.adopt(&passage, reference, pdu, sink));
                self.flow(passage.at, pdu, found, &mut tpdu, sink)
            }
        };
        tpdu.unassigned = from.is_none();
        self.count(passage, from, &tpdu, sink);
        if let Some((place, side)) = from {
            sink.witness(|| Observation::Placed(placed(self.table.get(place).serial, side, pdu)));
        }
        Ok(())
    }

    /// Counts a TPDU for its connection, its hosts and the network.
    fn count(&mut self, passage: Passage, from: Option<Found>, tpdu: &Tpdu, sink: &mut Sink<'_>) {
        if let Some(from) = from {
            return self.count_known(passage.at, from, tpdu, sink);
        }
        sink.oddities.count(Class::Unassigned, tpdu.kind.name());
        let ends = [passage.from, passage.to].map(|party| self.hosts.number(party.address));
        let places = sink.measures.traffic.sizes.places(tpdu);
        self.hosts.counts.observe(ends, tpdu, places);
        sink.measures.traffic.sized(tpdu, places);
        sink.witness(|| Observation::Tpdu(*tpdu));
    }

    /// Counts a TPDU that one side of a connection sent.
    #[inline]
    pub(crate) fn count_known(
        &mut self,
        at: Instant,
        (place, side): Found,
        tpdu: &Tpdu,
        sink: &mut Sink<'_>,
    ) {
        self.table.slab.touch(place, at);
        let connection = self.table.get(place);
        connection.count(side, tpdu);
        let ends = [side, other(side)].map(|side| Some(connection.senders[side].end().host));
        // All size classes have the same bounds.
        let places = sink.measures.traffic.sizes.places(tpdu);
        self.sides.count((place, side), tpdu, places);
        self.hosts.counts.observe(ends, tpdu, places);
        sink.measures.traffic.sized(tpdu, places);
        sink.witness(|| Observation::Tpdu(*tpdu));
    }

    /// Records that octets between two ends were missed.
    pub(crate) fn interrupt(&mut self, passage: Passage) {
        let Passage { from, to, .. } = passage;
        let key = Key { owner: &to, peer: &from, reference: Reference(0) };
        if let Some((place, receiver)) = self.table.find(&key, &self.hosts) {
            self.table.get(place).senders[other(receiver)].open = Open::BROKEN;
        }
    }

    /// Evicts the connections that were silent for too long.
    #[inline]
    pub(crate) fn give_up_silent(&mut self, at: Instant, sink: &mut Sink<'_>) {
        if self.table.slab.may_have_expired(at) {
            self.evict_silent(at, sink);
        }
    }

    #[cold]
    pub(crate) fn evict_silent(&mut self, at: Instant, sink: &mut Sink<'_>) {
        while let Some((removed, heard)) = self.table.expire(at, &self.hosts) {
            if !removed.connection.state.is_over() {
                sink.oddities.count(Class::Transport, "connection fell silent");
                sink.step(Step::Silent);
            }
            self.evict(removed, heard, sink);
        }
    }

    fn evict(&mut self, removed: Removed, last: Instant, sink: &mut Sink<'_>) {
        let Removed { place, mut connection } = removed;
        // Pending batches count for the connection that leaves this place, before another takes it.
        self.settle(&mut sink.measures.traffic);
        let kept = self.sides.take(place);
        connection.closed_for(last).for_each(|closed| sink.closed_window(closed));
        transfer::end_association(&mut connection, last, sink);
        self.keep_delays(&connection, last);
        if self.evicted.len() >= MAXIMUM_EVICTED {
            self.evicted.pop_front();
        }
        let stream = self.stream_of(&connection);
        let known = Known::of(&connection, (last, last), &self.hosts, &kept);
        self.evicted.push_back(Evicted { known, stream });
    }

    fn insert(&mut self, mut connection: Connection, at: Instant, sink: &mut Sink<'_>) -> Place {
        self.serial = self.serial.wrapping_add(1);
        connection.serial = self.serial;
        connection.passes_tsdus = sink.tsdus.is_some();
        let is_full = self.table.slab.is_full();
        let (place, evicted) = self.table.insert(connection, at, &self.hosts);
        for (nth, evicted) in evicted.into_iter().enumerate() {
            if nth == 0 && is_full && !evicted.connection.state.is_over() {
                sink.oddities.count(Class::Meter, "connection forgotten for want of room");
            }
            self.evict(evicted, at, sink);
        }
        place
    }

    fn hear(&mut self, passage: Passage, kind: Kind, found: Option<Found>) -> Option<Found> {
        let (place, receiver) = found?;
        self.table.slab.touch(place, passage.at);
        self.table.get(place).is_erroneous |= kind == Kind::Er;
        Some((place, other(receiver)))
    }

    /// Processes a TPDU of data transfer to the side `found`; returns the side that sent it.
    fn flow(
        &mut self,
        at: Instant,
        pdu: &Pdu<'_>,
        found: Option<Found>,
        tpdu: &mut Tpdu,
        sink: &mut Sink<'_>,
    ) -> Option<Found> {
        let (place, receiver) = found?;
        let connection = self.table.get(place);
        let format = *connection.format.get_or_insert(transfer::numbering(pdu)?);
        let side = other(receiver);
        match pdu {
            Pdu::Dt(dt) => {
                let part = DtFields {
                    number: dt.number,
                    ends: dt.end_of_tsdu,
                    octets: dt.data,
                    data_octets: tpdu.data_octets,
                };
                transfer::data(connection, Sent { at, side, format }, part, tpdu, sink);
            }
            Pdu::Ak(ak) => {
                transfer::acknowledge(connection, Sent { at, side, format }, ak.into(), tpdu, sink);
            }
            Pdu::Ed(ed) => {
                let rare = connection.apart().rare(side);
                tpdu.retransmitted = transfer::repeats(&mut rare.expedited, ed.number, format);
            }
            Pdu::Ea(ea) => {
                let rare = connection.apart().rare(side);
                let last = &mut rare.expedited_acknowledged;
                tpdu.retransmitted = transfer::repeats(last, ea.number, format);
            }
            Pdu::Cr(_) | Pdu::Cc(_) | Pdu::Dr(_) | Pdu::Dc(_) | Pdu::Rj(_) | Pdu::Er(_) => {}
        }
        Some((place, side))
    }
}

/// Place of a TPDU that this side of a connection sent.
fn placed(connection: u32, side: Side, pdu: &Pdu<'_>) -> Placed {
    let numbered = |format: Format, number| (Some((format, number)), None);
    let (number, credit) = match pdu {
        Pdu::Cr(open) | Pdu::Cc(open) => (None, Some(u16::from(open.credit))),
        Pdu::Dt(dt) => numbered(dt.format, dt.number),
        Pdu::Ed(ed) => numbered(ed.format, ed.number),
        Pdu::Ea(ea) => numbered(ea.format, ea.number),
        Pdu::Ak(ak) | Pdu::Rj(ak) => (Some((ak.format, ak.next)), Some(ak.credit)),
        Pdu::Dr(_) | Pdu::Dc(_) | Pdu::Er(_) => (None, None),
    };
    let number = number.filter(|(format, _)| *format != Format::Class0);
    let modulus = number.map_or(1, |(format, _)| format.modulus());
    Placed { connection, side, number: number.map(|(_, number)| number), modulus, credit }
}

/// True if a TPDU is malformed whatever follows the octets that are there: its length indicator is
/// none (ISO 8073 13.2.1), or no TPDU has its code.
fn is_certain(octets: &[u8], complaint: Malformed) -> bool {
    let octet = octets.get(complaint.offset);
    match complaint.field {
        "length indicator" => octet.is_none_or(|indicator| matches!(indicator, 0 | 1 | 255)),
        _ => octet.is_some(),
    }
}

/// Reads a TPDU that failed to decode as one without parameters, if that may help. RDP puts text
/// and requests in place of the parameters of CR and CC. So over TCP a CR or CC with invalid
/// parameters is read as one without, and those octets as its user data.
fn without_parameters<'a>(raw: &Raw<'a>, fault: Malformed, passage: &Passage) -> Option<Raw<'a>> {
    let may_help = matches!(raw.kind, Kind::Cr | Kind::Cc)
        && passage.from.port != 0
        && fault.field.starts_with("parameter");
    may_help.then_some(Raw { header_octets: 7, ..*raw })
}

//! Who talks with whom: every transport connection on the network, followed by its references.
//!
//! A connection begins with its CR, known by the sender's reference; the CC adds the other
//! reference and the format of numbers. A DR or DC ends it; its references stay frozen until a CR
//! uses them anew. Where the beginning was not seen, the first DT, ED, AK or EA makes a connection
//! known from one side only (the receiver's reference is all those TPDUs carry), and its numbers
//! count from there. The clock is that of the frames.
//!
//! Bias: the two sides of a connection found under way are followed apart until a CC, so an AK does
//! not close holes among its DTs. A CR that was delayed past the end of its connection is a new
//! one.
//!
//! A connection of class 0 or 1 is found by its network connection, since its DTs name nothing else;
//! it may be found under way with both its sides, and ends with its TCP connection. In classes 2 to 4
//! references count, over whatever network.
//!
//! Left out: the numbers of class 1, and reassignment (classes 1 and 3), which puts a connection on
//! another network connection.

mod acknowledgement;
mod both;
mod connection;
mod data;
mod delays;
mod direction;
mod ending;
mod plain;
mod remembered;
mod replies;
mod report;
mod sides;
mod sink;
mod table;
mod transfer;
mod tsdu;
mod waiting;

pub use connection::State;
pub(crate) use delays::Carried;
pub use direction::{Direction, Numbers};
pub(crate) use ending::NetworkEnd;
pub(crate) use plain::{Plain, Recalled};
pub use report::Connection as Known;
pub(crate) use sink::Sink;
pub(crate) use table::Party;

use crate::host::Hosts;
use crate::measure::Traffic;
use crate::oddity::Class;
use crate::sight::{Between, Sight, Step, Tpdu};
use crate::slab::Place;
use crate::user;
use connection::{Connection, End, other};
use core::time::Duration;
use remembered::{Remembered, Tally};
use sides::Sides;
use std::collections::VecDeque;
use table::{Found, Key, Removed, Table};
use transfer::Part;
use wire::read::Malformed;
use wire::time::{Instant, nanos};
use wire::tp::{Checksum, Connect, Format, Kind, Pdu, Raw, Reference};

/// Forgotten connections kept for whoever takes them.
const MAXIMUM_FORGOTTEN: usize = 4_096;

/// When a TPDU passed, from whom to whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Passage {
    /// When.
    pub(crate) at: Instant,
    /// Who sent it.
    pub(crate) from: Party,
    /// Whom it was sent to.
    pub(crate) to: Party,
}

/// Why a TPDU does not count at the transport level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Discarded {
    /// It cannot be read.
    Malformed(Malformed),
    /// Its checksum does not come out: whoever receives it throws it away (ISO 8073 6.17).
    BadChecksum,
}

/// All connections.
#[derive(Clone, Debug)]
pub(crate) struct Tracker {
    table: Table,
    remembered: Remembered,
    hosts: Hosts,
    sides: Sides,
    silence_nanos: u64,
    /// The number of the last connection.
    serial: u32,
    /// Connections that had to be forgotten and have not been taken.
    forgotten: VecDeque<Forgotten>,
}

/// A connection that had to be forgotten.
#[derive(Clone, Debug)]
struct Forgotten {
    known: Known,
    /// The ends of the stream that named it, where one did.
    stream: Option<[Party; 2]>,
}

impl Tracker {
    /// Follows up to `maximum` connections, each until nothing was heard of it for `silence`.
    pub(crate) fn new(maximum: usize, silence: Duration, hosts: Hosts, seed: u64) -> Self {
        let (table, forgotten) = (Table::new(maximum, seed), VecDeque::new());
        let none = hosts.counts.sizes();
        let (remembered, sides) = (Remembered::new(&none), Sides::new(none));
        let silence_nanos = nanos(silence);
        Self { table, remembered, hosts, sides, silence_nanos, serial: 0, forgotten }
    }

    /// How many connections are known.
    pub(crate) const fn connections(&self) -> usize {
        self.table.count()
    }

    /// Each connection that is known, in the order of their places, as it is at `now`; `carried` tells what the
    /// stream between two ends did not hand over yet.
    pub(crate) fn known(
        &self,
        now: Instant,
        carried: impl Fn(&[Party; 2]) -> Option<Carried>,
    ) -> impl Iterator<Item = Known> {
        let spell_out = self.spelling_out(now, carried);
        self.table.slab.iter().map(spell_out)
    }

    /// Nothing comes after `now`: counts the windows that are closed until then.
    pub(crate) fn finish(&self, now: Instant, sink: &mut Sink<'_>) {
        for (_, connection, _) in self.table.slab.iter() {
            connection.closed_for(now).for_each(|closed| sink.closed_window(closed));
        }
    }

    /// Each connection that was heard or came to a state since, or whose window is closed, as it is at
    /// `now`; likewise.
    pub(crate) fn active(
        &self,
        since: Instant,
        now: Instant,
        carried: impl Fn(&[Party; 2]) -> Option<Carried> + Clone,
    ) -> impl Iterator<Item = Known> {
        let of_stream = carried.clone();
        let is_active = move |connection: &Connection, heard: Instant| {
            let stream = || self.stream_of(connection).and_then(|ends| of_stream(&ends));
            heard >= since
                || stream().is_some_and(|carried| carried.heard >= since)
                || connection.history().into_iter().flatten().any(|at| at >= since)
                || connection.senders.iter().any(|end| end.closed_since().is_some())
        };
        let spell_out = self.spelling_out(now, carried);
        self.table
            .slab
            .iter()
            .filter(move |(_, connection, heard)| is_active(connection, *heard))
            .map(spell_out)
    }

    /// The connection forgotten first that was not taken yet.
    #[inline]
    pub(crate) fn take_forgotten(&mut self) -> Option<Known> {
        if self.forgotten.is_empty() {
            return None;
        }
        self.forgotten.pop_front().map(|forgotten| forgotten.known)
    }

    /// Whether any connection was forgotten and not taken yet, and of the first the ends of the stream that named it.
    #[inline]
    pub(crate) fn forgotten_stream(&self) -> Option<[Party; 2]> {
        if self.forgotten.is_empty() { None } else { self.forgotten.front()?.stream }
    }

    /// The ends of the stream that names a connection, where one does.
    fn stream_of(&self, connection: &Connection) -> Option<[Party; 2]> {
        let party = |side: usize| {
            let End { host, port } = connection.senders[side].end();
            Party { address: *self.hosts.address(host), port }
        };
        connection.is_by_network().then(|| [0, 1].map(party))
    }

    /// Counts all TPDUs that were added up and not counted yet, `all` being those of the network.
    pub(crate) fn settle(&mut self, all: &mut Traffic) {
        let tally = Tally { hosts: &mut self.hosts.counts, all, sides: &mut self.sides };
        self.remembered.settle(tally);
    }

    /// Counts all TPDUs that were added up and not counted yet into a count of those of the network that goes
    /// elsewhere.
    pub(crate) fn tell(&self, all: &mut Traffic) {
        let (hosts, sides) = (&mut self.hosts.counts.none(), &mut self.sides.nobody());
        self.remembered.tell(Tally { hosts, all, sides });
    }

    /// Takes notice of a TPDU of which the last `missing_octets` of user data are not at hand, and
    /// counts it.
    ///
    /// # Errors
    /// Says why it does not count at the transport level.
    pub(crate) fn observe(
        &mut self,
        passage: Passage,
        raw: &Raw<'_>,
        missing_octets: usize,
        sink: &mut Sink<'_>,
    ) -> Result<(), Discarded> {
        self.expire(passage.at, sink);
        // None in a DT of class 0, whose connection TCP tells.
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
            Pdu::Cr(cr) => self.request(passage, cr, raw.octets, (&mut tpdu, sink)),
            Pdu::Cc(cc) => self.confirm(passage, cc, found, (&mut tpdu, sink)),
            Pdu::Dr(dr) => self.disconnect(passage, dr, found, (&mut tpdu, sink)),
            Pdu::Dc(dc) => self.confirm_disconnect(passage, dc, found, &mut tpdu),
            Pdu::Rj(_) | Pdu::Er(_) => self.hear(passage, raw.kind, found),
            Pdu::Dt(_) | Pdu::Ed(_) | Pdu::Ak(_) | Pdu::Ea(_) => {
                let found = found.or_else(|| self.adopt((&passage, reference), pdu, sink));
                self.flow(passage.at, pdu, found, (&mut tpdu, sink))
            }
        };
        tpdu.unassigned = from.is_none();
        self.count(passage, from, &tpdu, sink);
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
        sink.witness(|| Sight::Tpdu(*tpdu));
    }

    /// Counts a TPDU that one side of a connection sent.
    #[inline]
    fn count_known(&mut self, at: Instant, (place, side): Found, tpdu: &Tpdu, sink: &mut Sink<'_>) {
        self.table.slab.touch(place, at);
        let connection = self.table.get(place);
        connection.senders[side].count(tpdu);
        let ends = [side, other(side)].map(|side| Some(connection.senders[side].end().host));
        // All have the same bounds.
        let places = sink.measures.traffic.sizes.places(tpdu);
        self.sides.count((place, side), tpdu, places);
        self.hosts.counts.observe(ends, tpdu, places);
        sink.measures.traffic.sized(tpdu, places);
        sink.witness(|| Sight::Tpdu(*tpdu));
    }

    /// Takes notice that octets between two ends went by that were not seen.
    pub(crate) fn interrupt(&mut self, passage: Passage) {
        let Passage { from, to, .. } = passage;
        let key = Key { owner: &to, peer: &from, reference: Reference(0) };
        if let Some((place, receiver)) = self.table.find(&key, &self.hosts) {
            self.table.get(place).senders[other(receiver)].data.interrupt();
        }
    }

    #[inline]
    fn expire(&mut self, at: Instant, sink: &mut Sink<'_>) {
        let before = at.earlier_by(self.silence_nanos);
        if self.table.slab.may_have_expired(before) {
            self.expire_before(before, sink);
        }
    }

    #[cold]
    fn expire_before(&mut self, before: Instant, sink: &mut Sink<'_>) {
        while let Some((removed, heard)) = self.table.expire(before, &self.hosts) {
            if !removed.connection.state.is_over() {
                sink.oddities.count(Class::Transport, "connection fell silent");
                sink.step(Step::Silent);
            }
            self.forget(&removed, heard, sink);
        }
    }

    fn forget(&mut self, removed: &Removed, last: Instant, sink: &mut Sink<'_>) {
        let Removed { place, connection } = removed;
        // What was added up for it counts where it stood, before another counts there.
        self.settle(&mut sink.measures.traffic);
        let kept = self.sides.take(*place);
        connection.closed_for(last).for_each(|closed| sink.closed_window(closed));
        self.keep_delays(connection, last);
        if self.forgotten.len() >= MAXIMUM_FORGOTTEN {
            self.forgotten.pop_front();
        }
        let stream = self.stream_of(connection);
        let known = Known::of(connection, (last, last), &self.hosts, kept);
        self.forgotten.push_back(Forgotten { known, stream });
    }

    fn insert(&mut self, mut connection: Connection, at: Instant, sink: &mut Sink<'_>) -> Place {
        self.serial = self.serial.wrapping_add(1);
        connection.serial = self.serial;
        let is_full = self.table.slab.is_full();
        let (place, forgotten) = self.table.insert(connection, at, &self.hosts);
        for (nth, forgotten) in forgotten.iter().enumerate() {
            if nth == 0 && is_full && !forgotten.connection.state.is_over() {
                sink.oddities.count(Class::Meter, "connection forgotten for want of room");
            }
            self.forget(forgotten, at, sink);
        }
        place
    }

    /// The ends of a passage under their numbers; none where there is no room for another host.
    fn ends(&mut self, from: Party, to: Party, sink: &mut Sink<'_>) -> Option<[End; 2]> {
        let mut end = |party: Party| {
            let host = self.hosts.number(party.address)?;
            Some(End { host, port: party.port })
        };
        let ends = end(from).zip(end(to)).map(|(from, to)| [from, to]);
        if ends.is_none() {
            sink.oddities.count(Class::Meter, "no room for a host");
        }
        ends
    }

    fn request(
        &mut self,
        passage: Passage,
        cr: &Connect<'_>,
        octets: &[u8],
        (tpdu, sink): (&mut Tpdu, &mut Sink<'_>),
    ) -> Option<Found> {
        let Passage { at, from, to } = passage;
        // Class 0 and 1 need no reference, and TCP tells their connections apart.
        if cr.source_reference == Reference(0) && from.port == 0 {
            return None;
        }
        let key = Key { owner: &from, peer: &to, reference: cr.source_reference };
        if let Some((place, 0)) = self.table.find(&key, &self.hosts)
            && !self.table.get(place).state.is_over()
        {
            tpdu.retransmitted = true;
            return Some((place, 0));
        }
        let [from, to] = self.ends(from, to, sink)?;
        let mut request = Connection::requested(from, to, cr.source_reference, cr.credit, at);
        if cr.class.class < 2 && from.port != 0 {
            request.format = Some(Format::Class0);
        }
        request.recognise(user::of_connect(cr, octets));
        tpdu.step = Some(Step::Requested);
        Some((self.insert(request, at, sink), 0))
    }

    fn confirm(
        &mut self,
        passage: Passage,
        cc: &Connect<'_>,
        found: Option<Found>,
        (tpdu, sink): (&mut Tpdu, &mut Sink<'_>),
    ) -> Option<Found> {
        let Passage { at, from, to } = passage;
        let is_named =
            cc.destination_reference != Reference(0) && cc.source_reference != Reference(0);
        if !is_named && from.port == 0 {
            return None;
        }
        // Some stations answer to another reference; TCP still tells which connection they mean.
        let by_network = Key { owner: &to, peer: &from, reference: Reference(0) };
        let found = found.or_else(|| {
            let is_by_network = from.port != 0 && cc.class.class < 2;
            is_by_network.then(|| self.table.find(&by_network, &self.hosts)).flatten()
        });
        let known = found.filter(|(place, requester)| {
            let connection = self.table.get(*place);
            let confirmer = connection.senders[other(*requester)].reference;
            let is_told = confirmer != Reference(0) || connection.is_by_network();
            *requester == 0 && (connection.state == State::Opening || is_told)
        });
        if let Some((place, _)) = known {
            let connection = self.table.get(place);
            if connection.state == State::Opening {
                return self.establish(place, at, cc, (tpdu, sink));
            }
            if connection.senders[1].reference == cc.source_reference {
                tpdu.retransmitted = true;
                return Some((place, 1));
            }
        }
        // The CR was not seen; or the same requester's reference comes with another confirmer's: the
        // end of the one connection and the CR of the next were not seen.
        sink.oddities.count(Class::Transport, "CC without CR");
        let [from, to] = self.ends(from, to, sink)?;
        let mut requester = Connection::adopted(from, to, cc.destination_reference, at);
        requester.senders.swap(0, 1);
        let place = self.insert(requester, at, sink);
        self.establish(place, at, cc, (tpdu, sink))
    }

    /// A CC confirms the connection in this place.
    fn establish(
        &mut self,
        place: Place,
        at: Instant,
        cc: &Connect<'_>,
        (tpdu, sink): (&mut Tpdu, &mut Sink<'_>),
    ) -> Option<Found> {
        self.table.unbind(place, 0, &self.hosts);
        self.table.unbind(place, 1, &self.hosts);
        let connection = self.table.get(place);
        let set_up = connection.confirm(at, cc.source_reference, cc.credit, cc.class);
        connection.recognise(user::of_connect(cc, &[]));
        for _ in connection.closed_for(at) {
            sink.witness(|| Sight::WindowClosed);
        }
        if let Some(set_up) = set_up {
            sink.span(Between::SetUp, set_up);
        }
        for side in [0, 1] {
            for forgotten in self.table.bind(place, side, &self.hosts) {
                self.forget(&forgotten, at, sink);
            }
        }
        tpdu.step = Some(Step::Established);
        Some((place, 1))
    }

    fn hear(&mut self, passage: Passage, kind: Kind, found: Option<Found>) -> Option<Found> {
        let (place, receiver) = found?;
        self.table.slab.touch(place, passage.at);
        self.table.get(place).is_erroneous |= kind == Kind::Er;
        Some((place, other(receiver)))
    }

    /// Makes a connection known by a TPDU that is not its first.
    fn adopt(
        &mut self,
        (passage, reference): (&Passage, Reference),
        pdu: &Pdu<'_>,
        sink: &mut Sink<'_>,
    ) -> Option<Found> {
        let format = transfer::numbering(pdu)?;
        // Without a reference only TCP tells connections apart.
        let is_by_network = format == Format::Class0 && passage.to.port != 0;
        if reference == Reference(0) && !is_by_network {
            return None;
        }
        let [from, to] = self.ends(passage.from, passage.to, sink)?;
        sink.oddities.count(Class::Transport, "connection found under way");
        sink.step(Step::Adopted);
        let mut connection = Connection::adopted(from, to, reference, passage.at);
        if is_by_network {
            connection.format = Some(Format::Class0);
        }
        Some((self.insert(connection, passage.at, sink), 1))
    }

    /// Takes notice of a TPDU of data transfer to the side that was found; gives the side it is from.
    fn flow(
        &mut self,
        at: Instant,
        pdu: &Pdu<'_>,
        found: Option<Found>,
        (tpdu, sink): (&mut Tpdu, &mut Sink<'_>),
    ) -> Option<Found> {
        let (place, receiver) = found?;
        let connection = self.table.get(place);
        let format = *connection.format.get_or_insert(transfer::numbering(pdu)?);
        let side = other(receiver);
        match pdu {
            Pdu::Dt(dt) => {
                let part = Part {
                    number: dt.number,
                    ends: dt.end_of_tsdu,
                    octets: dt.data,
                    data_octets: tpdu.data_octets,
                };
                transfer::data(connection, (at, side, format), part, (tpdu, sink));
            }
            Pdu::Ak(ak) => {
                transfer::acknowledge(connection, (at, side, format), ak.into(), (tpdu, sink));
            }
            Pdu::Ed(ed) => {
                let rare = connection.senders[side].rare.get_or_insert_default();
                tpdu.retransmitted = transfer::again(&mut rare.expedited, ed.number, format);
            }
            Pdu::Ea(ea) => {
                let rare = connection.senders[side].rare.get_or_insert_default();
                let last = &mut rare.expedited_acknowledged;
                tpdu.retransmitted = transfer::again(last, ea.number, format);
            }
            Pdu::Cr(_) | Pdu::Cc(_) | Pdu::Dr(_) | Pdu::Dc(_) | Pdu::Rj(_) | Pdu::Er(_) => {}
        }
        Some((place, side))
    }
}

/// A TPDU that could not be read as one without parameters, where that may help. RDP puts texts and
/// requests where the parameters of CR and CC are to be, so over TCP one whose parameters cannot be
/// read is one without, and what stands there its user data.
fn without_parameters<'a>(raw: &Raw<'a>, fault: Malformed, passage: &Passage) -> Option<Raw<'a>> {
    let may_help = matches!(raw.kind, Kind::Cr | Kind::Cc)
        && passage.from.port != 0
        && fault.field.starts_with("parameter");
    may_help.then_some(Raw { header_octets: 7, ..*raw })
}

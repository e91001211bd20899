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
//! Left out: classes 0 and 1, whose DTs name no connection.

mod acknowledgement;
mod connection;
mod data;
mod table;
mod tsdu;

pub use connection::{Address, State};

use crate::oddity::{Class, Oddities};
use crate::sight::{Step, Tpdu};
use connection::{Connection, Sender, Side, other};
use core::time::Duration;
use data::Arrival;
use table::{Key, Place, Table};
use tsdu::{Finished, Stretch};
use wire::read::Malformed;
use wire::time::Instant;
use wire::tp::{
    Acknowledgement, Checksum, Connect, Data, Disconnect, DisconnectConfirm, Format, Kind,
    Parameter, Pdu, Raw, Reference,
};

/// DR reason 128 + 2: connection negotiation failed (ISO 8073 13.5.3).
const NEGOTIATION_FAILED: u8 = 130;

/// When a TPDU passed, from whom to whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passage {
    /// When.
    pub at: Instant,
    /// Who sent it.
    pub from: Address,
    /// Whom it was sent to.
    pub to: Address,
}

/// What a TPDU meant to its connection.
#[derive(Clone, Copy, Debug, Default)]
struct Meaning {
    retransmitted: bool,
    finished: Finished,
    step: Option<Step>,
}

/// Why a TPDU does not count at the transport level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Discarded {
    /// It cannot be read.
    Malformed(Malformed),
    /// Its checksum does not come out: whoever receives it throws it away (ISO 8073 6.17).
    BadChecksum,
}

/// All connections.
#[derive(Clone, Debug)]
pub struct Tracker {
    table: Table,
    silence: Duration,
}

impl Tracker {
    /// Follows up to `maximum` connections, each until nothing was heard of it for `silence`.
    #[must_use]
    pub fn new(maximum: usize, silence: Duration, seed: u64) -> Self {
        Self { table: Table::new(maximum, seed), silence }
    }

    /// How many connections are known.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.table.count()
    }

    /// Takes notice of a TPDU of which the last `missing_octets` of user data were not captured.
    ///
    /// # Errors
    /// Says why it does not count at the transport level.
    pub fn observe(
        &mut self,
        passage: Passage,
        raw: &Raw<'_>,
        missing_octets: usize,
        oddities: &mut Oddities,
    ) -> Result<Tpdu, Discarded> {
        self.expire(passage.at, oddities);
        let reference = raw.destination_reference().unwrap_or_default();
        let key = Key { owner: passage.to, peer: passage.from, reference };
        let found = self.table.find(&key);
        let format = found.and_then(|(place, _)| self.table.get(place).format);
        let pdu = Pdu::decode(raw, format).map_err(Discarded::Malformed)?;
        if missing_octets == 0 && raw.checksum(pdu.parameters(), &[]) == Checksum::Bad {
            return Err(Discarded::BadChecksum);
        }
        let data_octets = (raw.data().len() + missing_octets) as u64;
        let meaning = match pdu {
            Pdu::Cr(cr) => self.request(passage, &cr, oddities),
            Pdu::Cc(cc) => self.confirm(passage, &cc, found, oddities),
            Pdu::Dr(dr) => self.disconnect(passage, &dr, found, oddities),
            Pdu::Dc(dc) => self.confirm_disconnect(passage, &dc, found, oddities),
            Pdu::Rj(_) | Pdu::Er(_) => self.hear(passage, raw.kind, found, oddities),
            Pdu::Dt(_) | Pdu::Ed(_) | Pdu::Ak(_) | Pdu::Ea(_) => {
                let found = found.or_else(|| self.adopt(key, &pdu, passage.at, oddities));
                self.flow(passage.at, &pdu, data_octets, found, oddities)
            }
        };
        Ok(Tpdu {
            kind: raw.kind,
            header_octets: raw.header_octets as u64,
            data_octets,
            retransmitted: meaning.retransmitted,
            finished_tsdus: meaning.finished.tsdus,
            finished_tsdu_octets: meaning.finished.octets,
            step: meaning.step,
        })
    }

    fn expire(&mut self, at: Instant, oddities: &mut Oddities) {
        while let Some(state) = self.table.expire(at.saturating_sub(self.silence)) {
            if !state.is_over() {
                oddities.count(Class::Transport, "connection fell silent");
            }
        }
    }

    fn insert(&mut self, connection: Connection, oddities: &mut Oddities) -> Place {
        let (place, forgotten) = self.table.insert(connection);
        if forgotten.is_some_and(|state| !state.is_over()) {
            oddities.count(Class::Meter, "connection forgotten for want of room");
        }
        place
    }

    fn request(&mut self, passage: Passage, cr: &Connect<'_>, oddities: &mut Oddities) -> Meaning {
        let Passage { at, from, to } = passage;
        if cr.source_reference == Reference(0) {
            return unassigned(Kind::Cr, oddities);
        }
        let found = self.table.find(&Key { owner: from, peer: to, reference: cr.source_reference });
        if let Some((place, 0)) = found
            && !self.table.get(place).state.is_over()
        {
            self.table.touch(place, at);
            return Meaning { retransmitted: true, ..Meaning::default() };
        }
        let request = Connection::requested(from, to, cr.source_reference, cr.credit, at);
        self.insert(request, oddities);
        Meaning { step: Some(Step::Requested), ..Meaning::default() }
    }

    fn confirm(
        &mut self,
        passage: Passage,
        cc: &Connect<'_>,
        found: Option<(Place, Side)>,
        oddities: &mut Oddities,
    ) -> Meaning {
        let Passage { at, from, to } = passage;
        if cc.destination_reference == Reference(0) || cc.source_reference == Reference(0) {
            return unassigned(Kind::Cc, oddities);
        }
        let known = found.filter(|(place, requester)| {
            let connection = self.table.get(*place);
            let confirmer = connection.senders[other(*requester)].reference;
            *requester == 0 && (connection.state == State::Opening || confirmer.is_some())
        });
        let Some((place, _)) = known else {
            oddities.count(Class::Transport, "CC without CR");
            let requester = Connection::adopted(from, to, cc.destination_reference, at);
            return self.establish(swapped(requester), cc, oddities);
        };
        let connection = self.table.get(place);
        let confirmer = connection.senders[1].reference;
        if connection.state == State::Opening {
            connection.confirm(cc.source_reference, cc.credit, cc.class);
            self.table.bind(place, 1);
            self.table.touch(place, at);
            return Meaning { step: Some(Step::Established), ..Meaning::default() };
        }
        if confirmer == Some(cc.source_reference) {
            self.table.touch(place, at);
            return Meaning { retransmitted: true, ..Meaning::default() };
        }
        // The same requester's reference with another confirmer's: the end of the one connection
        // and the CR of the next were not seen.
        oddities.count(Class::Transport, "CC without CR");
        let requester = Connection::adopted(from, to, cc.destination_reference, at);
        self.establish(swapped(requester), cc, oddities)
    }

    /// Adds a connection of which the CC is the first that is seen.
    fn establish(
        &mut self,
        mut connection: Connection,
        cc: &Connect<'_>,
        oddities: &mut Oddities,
    ) -> Meaning {
        connection.confirm(cc.source_reference, cc.credit, cc.class);
        self.insert(connection, oddities);
        Meaning { step: Some(Step::Established), ..Meaning::default() }
    }

    fn disconnect(
        &mut self,
        passage: Passage,
        dr: &Disconnect<'_>,
        found: Option<(Place, Side)>,
        oddities: &mut Oddities,
    ) -> Meaning {
        let by_sender = self.by_sender(passage, dr.source_reference);
        let mut meaning: Option<Meaning> = None;
        for (place, side) in halves(found, by_sender) {
            self.table.touch(place, passage.at);
            let connection = self.table.get(place);
            let was_opening = connection.state == State::Opening;
            let sender = &mut connection.senders[side];
            let retransmitted = core::mem::replace(&mut sender.disconnect_requested, true);
            let step = match (retransmitted, connection.state.is_over()) {
                (true, _) | (_, true) => None,
                _ if dr.reason == NEGOTIATION_FAILED => Some(Step::NotAgreed),
                _ if was_opening && side == 1 => Some(Step::Refused),
                _ => Some(Step::Ended),
            };
            connection.state = connection.state.max(State::Closing);
            meaning.get_or_insert(Meaning { retransmitted, step, ..Meaning::default() });
        }
        meaning.unwrap_or_else(|| unassigned(Kind::Dr, oddities))
    }

    fn confirm_disconnect(
        &mut self,
        passage: Passage,
        dc: &DisconnectConfirm<'_>,
        found: Option<(Place, Side)>,
        oddities: &mut Oddities,
    ) -> Meaning {
        let by_sender = self.by_sender(passage, dc.source_reference);
        let mut meaning: Option<Meaning> = None;
        for (place, side) in halves(found, by_sender) {
            self.table.touch(place, passage.at);
            let connection = self.table.get(place);
            connection.state = State::Closed;
            let sender = &mut connection.senders[side];
            let retransmitted = core::mem::replace(&mut sender.disconnect_confirmed, true);
            meaning.get_or_insert(Meaning { retransmitted, ..Meaning::default() });
        }
        meaning.unwrap_or_else(|| unassigned(Kind::Dc, oddities))
    }

    /// The connection in which the sender of a TPDU goes by this reference, and its side.
    fn by_sender(&self, passage: Passage, reference: Reference) -> Option<(Place, Side)> {
        self.table.find(&Key { owner: passage.from, peer: passage.to, reference })
    }

    fn hear(
        &mut self,
        passage: Passage,
        kind: Kind,
        found: Option<(Place, Side)>,
        oddities: &mut Oddities,
    ) -> Meaning {
        let Some((place, _)) = found else { return unassigned(kind, oddities) };
        self.table.touch(place, passage.at);
        Meaning::default()
    }

    /// Makes a connection known by a TPDU that is not its first.
    fn adopt(
        &mut self,
        key: Key,
        pdu: &Pdu<'_>,
        at: Instant,
        oddities: &mut Oddities,
    ) -> Option<(Place, Side)> {
        if key.reference == Reference(0) || numbering(pdu).is_none() {
            return None;
        }
        oddities.count(Class::Transport, "connection found under way");
        let connection = Connection::adopted(key.peer, key.owner, key.reference, at);
        Some((self.insert(connection, oddities), 1))
    }

    /// Takes notice of a TPDU of data transfer; `receiver` is the side it is sent to.
    fn flow(
        &mut self,
        at: Instant,
        pdu: &Pdu<'_>,
        data_octets: u64,
        found: Option<(Place, Side)>,
        oddities: &mut Oddities,
    ) -> Meaning {
        let (Some((place, receiver)), Some(format)) = (found, numbering(pdu)) else {
            return unassigned(pdu.kind(), oddities);
        };
        self.table.touch(place, at);
        let connection = self.table.get(place);
        let format = *connection.format.get_or_insert(format);
        let is_over = connection.state.is_over();
        let [first, second] = &mut connection.senders;
        let (sender, peer) = if receiver == 0 { (second, first) } else { (first, second) };
        match pdu {
            Pdu::Dt(dt) => {
                let arrival =
                    sender.data.arrive(format, dt.number, Stretch::of(data_octets, dt.end_of_tsdu));
                note_data(dt, arrival, data_octets, is_over, oddities);
                let Arrival { retransmitted, finished, .. } = arrival;
                Meaning { retransmitted, finished, step: None }
            }
            Pdu::Ak(ak) => acknowledge(ak, format, sender, peer, oddities),
            Pdu::Ed(ed) => again(&mut sender.expedited, ed.number, format),
            Pdu::Ea(ea) => again(&mut sender.expedited_acknowledged, ea.number, format),
            Pdu::Cr(_) | Pdu::Cc(_) | Pdu::Dr(_) | Pdu::Dc(_) | Pdu::Rj(_) | Pdu::Er(_) => {
                Meaning::default()
            }
        }
    }
}

/// Where a DR or DC belongs: to one connection, or to both halves of one found under way. With
/// each the side that sent it.
fn halves(
    by_receiver: Option<(Place, Side)>,
    by_sender: Option<(Place, Side)>,
) -> impl Iterator<Item = (Place, Side)> {
    let first = by_receiver.map(|(place, receiver)| (place, other(receiver)));
    let second = by_sender.filter(|(place, _)| first.is_none_or(|(other, _)| other != *place));
    first.into_iter().chain(second)
}

/// The same connection with its sides changed over.
fn swapped(mut connection: Connection) -> Connection {
    connection.senders.swap(0, 1);
    connection
}

/// Counts a TPDU that belongs to no connection; it counts as sent for the first time.
fn unassigned(kind: Kind, oddities: &mut Oddities) -> Meaning {
    oddities.count(Class::Unassigned, kind.name());
    Meaning::default()
}

/// How a TPDU of data transfer writes its number; none in class 0 and 1, which name no connection.
fn numbering(pdu: &Pdu<'_>) -> Option<Format> {
    let format = match pdu {
        Pdu::Dt(dt) => dt.format,
        Pdu::Ed(ed) => ed.format,
        Pdu::Ak(ak) | Pdu::Rj(ak) => ak.format,
        Pdu::Ea(ea) => ea.format,
        Pdu::Cr(_) | Pdu::Cc(_) | Pdu::Dr(_) | Pdu::Dc(_) | Pdu::Er(_) => return None,
    };
    Some(format).filter(|format| *format != Format::Class0)
}

fn note_data(
    dt: &Data<'_>,
    arrival: Arrival,
    data_octets: u64,
    is_over: bool,
    oddities: &mut Oddities,
) {
    let odd = [
        (arrival.out_of_window, "DT out of window"),
        (is_over && !arrival.retransmitted, "new DT after the end"),
        (data_octets == 0 && !dt.end_of_tsdu, "DT without data"),
    ];
    odd.into_iter().filter(|(is_so, _)| *is_so).for_each(|(_, name)| {
        oddities.count(Class::Transport, name);
    });
    note_gaps(arrival, oddities);
}

fn note_gaps(arrival: Arrival, oddities: &mut Oddities) {
    oddities.add(Class::Transport, "DT never seen", arrival.unseen);
    oddities.add(Class::Transport, "TSDU not wholly seen", arrival.finished.incomplete);
}

fn acknowledge(
    ak: &Acknowledgement<'_>,
    format: Format,
    sender: &mut Sender,
    peer: &mut Sender,
    oddities: &mut Oddities,
) -> Meaning {
    let subsequence = ak.parameters.iter().find_map(|parameter| match parameter {
        Parameter::Subsequence(number) => Some(number),
        _ => None,
    });
    let subsequence = subsequence.unwrap_or(0);
    let retransmitted = sender.acknowledgements.arrive(format, ak.next, ak.credit, subsequence);
    let closed = peer.data.acknowledged(format, ak.next);
    note_gaps(closed, oddities);
    Meaning { retransmitted, finished: closed.finished, step: None }
}

/// EDs and EAs go one at a time (ISO 8073 6.11), so only the last can come again.
fn again(last: &mut Option<u32>, number: u32, format: Format) -> Meaning {
    let behind = last.map(|last| last.wrapping_sub(number) & (format.modulus() - 1));
    let retransmitted = behind.is_some_and(|behind| behind < format.modulus() / 2);
    if !retransmitted {
        *last = Some(number);
    }
    Meaning { retransmitted, ..Meaning::default() }
}

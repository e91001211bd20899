//! TPDUs of data transfer: the effect of a DT, AK, ED or EA on its connection.

use super::apart::{Apart, Numbered, Turn};
use super::connection::Connection;
use super::data::Arrival;
use super::outstanding::Within;
use super::replies::{Found, Span};
use super::side::{Side, other};
use super::tsdu::{Open, Stretch};
use super::{Results, Sink};
use crate::follow::Follower as _;
use crate::follow::association::{self, SidePart};
use crate::observation::{DelayKind, Observation, Role, Tpdu};
use crate::oddity::{Class, Oddities};
use crate::tsdu::{Part, Piece};
use crate::user::{self, User};
use wire::time::Instant;
use wire::tp::{Acknowledgement, Format, Parameter, Pdu};

/// TSDUs of a connection that are examined to recognise the application.
const LOOKED_AT: u8 = 8;

/// Fields of a DT. Passed by value, so that they need not be in memory.
#[derive(Clone, Copy)]
pub(crate) struct DtFields<'a> {
    pub(crate) number: u32,
    /// True if it ends its TSDU.
    pub(crate) ends: bool,
    /// User data, as far as available.
    pub(crate) octets: &'a [u8],
    /// Octets of user data, unavailable ones included.
    pub(crate) data_octets: u64,
}

impl<'a> DtFields<'a> {
    /// Fields of a DT of class 0: the octet of its number, and its user data.
    #[inline]
    pub(crate) const fn of_class_0(number: u8, octets: &'a [u8], missing_octets: usize) -> Self {
        Self {
            number: (number & 0x7F) as u32,
            ends: number & 0x80 != 0,
            octets,
            data_octets: (octets.len() + missing_octets) as u64,
        }
    }
}

/// Fields of an AK. Passed by value, as a DT.
#[derive(Clone, Copy)]
pub(crate) struct AkFields {
    pub(crate) next: u32,
    pub(crate) credit: u16,
    /// Subsequence number, 0 if it has none.
    pub(crate) subsequence: u16,
    /// True if it has a flow control confirmation.
    pub(crate) confirms: bool,
}

impl From<&Acknowledgement<'_>> for AkFields {
    fn from(ak: &Acknowledgement<'_>) -> Self {
        let (mut subsequence, mut confirms) = (0, false);
        for parameter in ak.parameters.iter() {
            match parameter {
                Parameter::Subsequence(number) => subsequence = number,
                Parameter::FlowControlConfirmation(_) => confirms = true,
                _ => {}
            }
        }
        Self { next: ak.next, credit: ak.credit, subsequence, confirms }
    }
}

/// Passage of a DT or AK of a connection.
#[derive(Clone, Copy)]
pub(crate) struct Sent {
    pub(crate) at: Instant,
    /// Side that sent it.
    pub(crate) side: Side,
    /// Format of its number.
    pub(crate) format: Format,
}

/// Processes a DT that this side sent.
#[inline]
pub(crate) fn data(
    connection: &mut Connection,
    sent: Sent,
    part: DtFields<'_>,
    tpdu: &mut Tpdu,
    sink: &mut Sink<'_>,
) {
    let Sent { at, side, format } = sent;
    let (is_over, has_flow_control) = (connection.state.is_over(), connection.has_flow_control());
    let DtFields { number, ends, .. } = part;
    let stretch = Stretch::of(tpdu.data_octets, ends);
    let is_broken = connection.senders[side].open == Open::BROKEN;
    let (arrival, expected) = match format {
        // Its network service neither loses nor reorders.
        Format::Class0 => {
            let number = if connection.is_start_seen(side) { 0 } else { number };
            let finished = connection.sender(side).open.absorb(stretch);
            (Arrival { finished, ..Arrival::default() }, [number; 2])
        }
        Format::Normal | Format::Extended => {
            let (apart, open) = connection.apart_and_open();
            let Apart { numbered, rare, .. } = apart;
            let data = &mut numbered[side].data;
            let before = data.expected(format, number);
            let [first, second] = open;
            let open = if side == 0 { first } else { second };
            let rare = &mut rare[side];
            let arrival = data.arrive(format, number, stretch, open, move || {
                &mut rare.get_or_insert_default().beyond
            });
            (arrival, [before, data.expected(format, number)])
        }
    };
    note_data(&arrival, is_over, sink.oddities);
    if format == Format::Class0 && number != 0 {
        sink.oddities.count(Class::Transport, "class 0 DT with a number");
    }
    tpdu.retransmitted = arrival.retransmitted;
    tpdu.finished_tsdus = arrival.finished.tsdus;
    tpdu.finished_octets = arrival.finished.octets;
    tpdu.empty_part = tpdu.data_octets == 0 && !ends;
    tpdu.into_closed_window = has_flow_control
        && connection.apart().of(other(side)).acknowledgements.is_beyond(format, number);
    if !arrival.retransmitted {
        let is_empty = tpdu.empty_part;
        let is_followed = passed(connection, sent, has_flow_control, part, is_empty, sink);
        let DtFields { octets, data_octets: length, .. } = part;
        let piece = Piece { at, ends, octets, length };
        let part = Part { format, number, expected, is_broken, piece };
        if is_followed {
            follow(connection, SidePart { side, part }, sink);
        }
        if connection.passes_tsdus {
            pass_up(connection, side, &part, sink);
        }
    }
}

/// Passes a DT of a connection to its association.
// Always inline: what is known of a common DT eliminates much of it.
#[inline(always)]
fn follow(connection: &mut Connection, part: SidePart<'_>, sink: &mut Sink<'_>) {
    let association = connection.replies.as_mut().and_then(|replies| replies.association.take());
    let Some(mut association) = association else { return };
    let replied = &mut |side, nanos| {
        connection.reply(side, Some(nanos));
    };
    association.observe(part.part.piece.at, part, &mut association::Above { sink, replied });
    connection.replies.get_or_insert_default().association = Some(association);
}

/// Ends the association of a connection that is over.
pub(super) fn end_association(connection: &mut Connection, at: Instant, sink: &mut Sink<'_>) {
    let replies = connection.replies.as_mut();
    if let Some(association) = replies.and_then(|replies| replies.association.as_mut()) {
        association.expire(at, &mut association::Above { sink, replied: &mut |_, _| {} });
    }
}

/// Passes a DT of a connection to its TSDU, unless its application is not wanted.
fn pass_up(connection: &mut Connection, side: Side, part: &Part<'_>, sink: &mut Sink<'_>) {
    let Some(tsdus) = &mut sink.tsdus else { return };
    let may_be = connection.user == User::Unknown && connection.looked_at < LOOKED_AT;
    connection.passes_tsdus = may_be || tsdus.wants(connection.user);
    if connection.passes_tsdus {
        tsdus.take_in(connection.serial, side, part);
    } else {
        tsdus.forget(connection.serial);
    }
}

/// Processes a common DT: the next expected one, within its credit, of a connection that is not over,
/// and empty only in class 0. Returns the octets of the TSDU if the DT ends it. Returns the outer none,
/// without effect, for any other DT.
// Always inline: where the format is known, much of it is eliminated.
#[inline(always)]
pub(crate) fn data_in_turn(
    connection: &mut Connection,
    sent: Sent,
    part: DtFields<'_>,
    results: &mut impl Results,
) -> Option<Option<u64>> {
    let DtFields { number, ends, octets, data_octets } = part;
    let Sent { at, side, format } = sent;
    let is_over = connection.state.is_over();
    // Receivers of class 0 grant no credit.
    let has_flow_control = format != Format::Class0 && connection.has_flow_control();
    let is_empty = data_octets == 0 && !ends;
    let is_odd = is_over
        || connection.passes_tsdus
        || if format == Format::Class0 { number != 0 } else { is_empty };
    if is_odd {
        return None;
    }
    let finished = if format == Format::Class0 {
        connection.sender(side).open.go_on(data_octets, ends)?
    } else {
        let (apart, [first, second]) = connection.apart_and_open();
        let peer = apart.of(other(side));
        if has_flow_control && peer.acknowledgements.is_beyond(format, number) {
            return None;
        }
        let open = if side == 0 { first } else { second };
        apart.of(side).data.arrive_in_turn(format, number, open, data_octets, ends)?
    };
    if passed(connection, sent, has_flow_control, part, is_empty, results) {
        let place = InOrder { number, format, ends };
        follow_in_turn(connection, at, side, place, octets, data_octets, &mut results.sink());
    }
    Some(finished)
}

/// Place of a common DT in its direction, in one word.
#[derive(Clone, Copy)]
struct InOrder {
    number: u32,
    format: Format,
    ends: bool,
}

/// Passes a common DT of a connection to its association.
// Cold and with all in registers: most connections have none, and should not pay for it.
#[cold]
#[inline(never)]
fn follow_in_turn(
    connection: &mut Connection,
    at: Instant,
    side: Side,
    place: InOrder,
    octets: &[u8],
    length: u64,
    sink: &mut Sink<'_>,
) {
    let InOrder { number, format, ends } = place;
    // All numbers below it were seen.
    let expected = [number, (number + 1) & (format.modulus() - 1)];
    let piece = Piece { at, ends, octets, length };
    let part = Part { format, number, expected, is_broken: false, piece };
    follow(connection, SidePart { side, part }, sink);
}

/// Updates delays and pairing after a DT that this side sent for the first time. `is_acknowledged`
/// is true if an AK will follow. Returns true if the DT belongs to an association that is followed.
// Always inline: where the format is known, much of it is eliminated.
#[inline(always)]
fn passed(
    connection: &mut Connection,
    sent: Sent,
    is_acknowledged: bool,
    part: DtFields<'_>,
    is_empty: bool,
    results: &mut impl Results,
) -> bool {
    let Sent { at, side, format } = sent;
    let DtFields { number, ends, octets, .. } = part;
    if is_acknowledged {
        let Apart { numbered: [first, second], rare, .. } = connection.apart();
        let Numbered { waiting, .. } = if side == 0 { first } else { second };
        let rare = &mut rare[side];
        waiting.sent(format, number, at, move || &mut rare.get_or_insert_default().waiting);
    }
    if is_empty {
        return false;
    }
    let sender = connection.sender(side);
    let within = sender.within;
    let begins = within == Within::Nothing;
    if ends {
        sender.within = Within::Nothing;
    } else if begins {
        sender.within = Within::Unkeyed;
    }
    // Whether there is a key depends on the application.
    if begins && connection.looked_at < LOOKED_AT {
        connection.looked_at += 1;
        connection.recognise(user::of_data(octets));
    }
    match connection.exchange(Span { at, side, octets, begins, ends, within }) {
        Found::Nothing => {}
        Found::Reply(nanos) => results.span(DelayKind::Response, nanos),
        Found::Ambiguous => results.ambiguous_response(),
        Found::Followed => return true,
    }
    false
}

#[inline]
fn note_data(arrival: &Arrival, is_over: bool, oddities: &mut Oddities) {
    if arrival.out_of_window {
        oddities.count(Class::Transport, "DT out of window");
    }
    if is_over && !arrival.retransmitted {
        oddities.count(Class::Transport, "new DT after the end");
    }
    note_gaps(arrival, oddities);
}

#[inline]
fn note_gaps(arrival: &Arrival, oddities: &mut Oddities) {
    oddities.add(Class::Transport, "DT never seen", arrival.unseen);
    oddities.add(Class::Transport, "TSDU not wholly seen", arrival.finished.incomplete);
}

/// Processes an AK that this side sent.
pub(crate) fn acknowledge(
    connection: &mut Connection,
    sent: Sent,
    ak: AkFields,
    tpdu: &mut Tpdu,
    sink: &mut Sink<'_>,
) {
    let role = judge(connection, sent, ak, sink);
    close_holes(connection, sent, ak.next, role, tpdu, sink);
}

/// Processes an AK of this side: returns its role, and ends the delays of the DTs that it covers.
// Always inline: the fast path calls it for most AKs.
#[inline(always)]
pub(crate) fn judge(
    connection: &mut Connection,
    sent: Sent,
    ak: AkFields,
    results: &mut impl Results,
) -> Role {
    let Sent { at, side, format } = sent;
    // Once a connection is over, a closed window no longer matters.
    let has_windows = connection.has_flow_control() && !connection.state.is_over();
    let apart = connection.apart();
    let Apart { numbered: [first, second], rare, .. } = &mut *apart;
    let (sender, peer) = if side == 0 { (first, second) } else { (second, first) };
    let role =
        sender.acknowledgements.arrive(format, ak.next, ak.credit, ak.subsequence, ak.confirms);
    if role == Role::Acknowledging {
        let Numbered { waiting, delays, .. } = &mut *peer;
        let more = rare[other(side)].as_mut().map(|rare| &mut rare.waiting);
        waiting.acknowledged(format, ak.next, at, more, |span| {
            delays.note(span);
            results.span(DelayKind::Acknowledgement, span);
        });
    }
    if has_windows && matches!(role, Role::Acknowledging | Role::Crediting) {
        let is_closed = sender.acknowledgements.grant().is_some_and(|grant| grant.credit == 0);
        match apart.window(other(side), at, is_closed) {
            Some(Turn::Opened(closed)) => results.span(DelayKind::ClosedWindow, closed),
            Some(Turn::Closed) => results.witness(|| Observation::WindowClosed),
            None => {}
        }
    }
    role
}

/// Gives up holes that an AK of this side closes; `next` is the number expected next.
pub(crate) fn close_holes(
    connection: &mut Connection,
    sent: Sent,
    next: u32,
    role: Role,
    tpdu: &mut Tpdu,
    sink: &mut Sink<'_>,
) {
    let Sent { side, format, .. } = sent;
    let (apart, open) = connection.apart_and_open();
    let Apart { numbered, rare, .. } = apart;
    let sender = other(side);
    let beyond = rare[sender].as_mut().map(|rare| &mut rare.beyond);
    let [first, second] = open;
    let open = if sender == 0 { first } else { second };
    let closed = numbered[sender].data.acknowledged(format, next, open, beyond);
    note_gaps(&closed, sink.oddities);
    tpdu.role = Some(role);
    tpdu.retransmitted = matches!(role, Role::Confirming | Role::KeepingAlive);
    tpdu.finished_tsdus = closed.finished.tsdus;
    tpdu.finished_octets = closed.finished.octets;
}

/// True if an ED or EA repeats the last one. Only the last can be retransmitted, because one is
/// sent at a time (ISO 8073 6.11).
pub(super) fn repeats(last: &mut Option<u32>, number: u32, format: Format) -> bool {
    let behind = last.map(|last| last.wrapping_sub(number) & (format.modulus() - 1));
    let retransmitted = behind.is_some_and(|behind| behind < format.modulus() / 2);
    if !retransmitted {
        *last = Some(number);
    }
    retransmitted
}

/// Format of the number of a TPDU of data transfer; none for TPDUs of other phases.
pub(super) const fn numbering(pdu: &Pdu<'_>) -> Option<Format> {
    match pdu {
        Pdu::Dt(dt) => Some(dt.format),
        Pdu::Ed(ed) => Some(ed.format),
        Pdu::Ak(ak) | Pdu::Rj(ak) => Some(ak.format),
        Pdu::Ea(ea) => Some(ea.format),
        Pdu::Cr(_) | Pdu::Cc(_) | Pdu::Dr(_) | Pdu::Dc(_) | Pdu::Er(_) => None,
    }
}

//! TPDUs of data transfer: what a DT, an AK, an ED or an EA means to its connection.

use super::Sink;
use super::connection::{Connection, Sender, Side, Turn, other};
use super::data::Arrival;
use super::replies::{Found, Span, Within};
use super::tsdu::Stretch;
use crate::oddity::{Class, Oddities};
use crate::sight::{Between, Role, Sight, Tpdu};
use crate::user;
use wire::time::Instant;
use wire::tp::{Acknowledgement, Format, Parameter, Pdu};

/// TSDUs of a connection that are looked at for who is above.
const LOOKED_AT: u8 = 8;

/// What a DT says and carries. It goes by value, so that it need not lie in memory.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) number: u32,
    /// Whether it ends its TSDU.
    pub(super) ends: bool,
    /// Its user data, as far as it is at hand.
    pub(super) octets: &'a [u8],
    /// Octets of its user data, those that are not at hand among them.
    pub(super) data_octets: u64,
}

/// What an AK says. It goes by value, as a DT does.
#[derive(Clone, Copy)]
pub(super) struct Told {
    pub(super) next: u32,
    pub(super) credit: u16,
    /// Its subsequence number, 0 where it has none, and whether it confirms one.
    pub(super) more: (u16, bool),
}

impl From<&Acknowledgement<'_>> for Told {
    fn from(ak: &Acknowledgement<'_>) -> Self {
        let mut more = (0, false);
        for parameter in ak.parameters.iter() {
            match parameter {
                Parameter::Subsequence(number) => more.0 = number,
                Parameter::FlowControlConfirmation(_) => more.1 = true,
                _ => {}
            }
        }
        Self { next: ak.next, credit: ak.credit, more }
    }
}

/// A DT that this side sent.
#[inline]
pub(super) fn data(
    connection: &mut Connection,
    (at, side, format): (Instant, Side, Format),
    part: Part<'_>,
    (tpdu, sink): (&mut Tpdu, &mut Sink<'_>),
) {
    let (is_over, has_flow_control) = (connection.state.is_over(), connection.has_flow_control());
    let [first, second] = &mut connection.senders;
    let (sender, peer) = if side == 0 { (first, second) } else { (second, first) };
    let Part { number, ends, .. } = part;
    let stretch = Stretch::of(tpdu.data_octets, ends);
    let arrival = match format {
        Format::Class0 => sender.data.in_order(stretch),
        Format::Normal | Format::Extended => {
            let Sender { data, rare, .. } = &mut *sender;
            data.arrive(format, number, stretch, || &mut rare.get_or_insert_default().beyond)
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
    tpdu.into_closed_window = has_flow_control && peer.acknowledgements.is_beyond(format, number);
    if !arrival.retransmitted {
        let is_empty = tpdu.empty_part;
        let format = has_flow_control.then_some(format);
        passed(connection, (at, side, format), part, (is_empty, sink));
    }
}

/// A DT as most are: the next one, not empty, within its credit, and of a connection that is not over. Tells the
/// octets of the TSDU that it ends, where it does. None where it is another; nothing has happened then.
// Always: where the format is known, much of it falls away.
#[inline(always)]
pub(super) fn data_in_turn(
    connection: &mut Connection,
    (at, side, format): (Instant, Side, Format),
    part: Part<'_>,
    sink: &mut Sink<'_>,
) -> Option<Option<u64>> {
    let Part { number, ends, data_octets, .. } = part;
    let is_over = connection.state.is_over();
    // Receivers of class 0 tell no credit.
    let has_flow_control = format != Format::Class0 && connection.has_flow_control();
    let [first, second] = &mut connection.senders;
    let (sender, peer) = if side == 0 { (first, second) } else { (second, first) };
    let is_odd = is_over
        || data_octets == 0 && !ends
        || format == Format::Class0 && number != 0
        || has_flow_control && peer.acknowledgements.is_beyond(format, number);
    if is_odd {
        return None;
    }
    let finished = sender.data.arrive_in_turn(format, number, (data_octets, ends))?;
    passed(connection, (at, side, has_flow_control.then_some(format)), part, (false, sink));
    Some(finished)
}

/// A DT that this side sent for the first time: who waits for what from now on. The format is that of numbers
/// that will be acknowledged.
// Always: where the format is known, much of it falls away.
#[inline(always)]
fn passed(
    connection: &mut Connection,
    (at, side, format): (Instant, Side, Option<Format>),
    part: Part<'_>,
    (is_empty, sink): (bool, &mut Sink<'_>),
) {
    let Part { number, ends, octets, .. } = part;
    let sender = &mut connection.senders[side];
    if let Some(format) = format {
        let Sender { waiting, rare, .. } = &mut *sender;
        waiting.sent(format, (number, at), move || &mut rare.get_or_insert_default().waiting);
    }
    if is_empty {
        return;
    }
    let within = sender.within;
    let begins = within == Within::Nothing;
    if ends {
        sender.within = Within::Nothing;
    } else if begins {
        sender.within = Within::Unkeyed;
    }
    // The user tells whether there is a key.
    if begins && connection.looked_at < LOOKED_AT {
        connection.looked_at += 1;
        connection.recognise(user::of_data(octets));
    }
    match connection.exchange(Span { at, side, octets, begins, ends, within }) {
        Found::Nothing => {}
        Found::Reply(nanos) => sink.span(Between::Response, nanos),
        Found::Ambiguous => sink.ambiguous_response(),
    }
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

/// An AK that this side sent.
pub(super) fn acknowledge(
    connection: &mut Connection,
    of: (Instant, Side, Format),
    ak: Told,
    (tpdu, sink): (&mut Tpdu, &mut Sink<'_>),
) {
    let role = told(connection, of, ak, sink);
    close_holes(connection, of, (ak.next, role), (tpdu, sink));
}

/// What an AK of this side is for, and who waits no longer.
// Always: as most AKs are judged where they are read.
#[inline(always)]
pub(super) fn told(
    connection: &mut Connection,
    (at, side, format): (Instant, Side, Format),
    ak: Told,
    sink: &mut Sink<'_>,
) -> Role {
    // Once a connection is over nobody waits for credit.
    let has_windows = connection.has_flow_control() && !connection.state.is_over();
    let [first, second] = &mut connection.senders;
    let (sender, peer) = if side == 0 { (first, second) } else { (second, first) };
    let role = sender.acknowledgements.arrive(format, ak.next, ak.credit, ak.more);
    if role == Role::Acknowledging {
        let Sender { waiting, rare, delays, .. } = &mut *peer;
        let more = rare.as_mut().map(|rare| &mut rare.waiting);
        waiting.acknowledged(format, (ak.next, at), more, |span| {
            delays.note(span);
            sink.span(Between::Acknowledgement, span);
        });
    }
    if has_windows && matches!(role, Role::Acknowledging | Role::Crediting) {
        let is_closed = sender.acknowledgements.grant().is_some_and(|grant| grant.credit == 0);
        match peer.window(at, is_closed) {
            Some(Turn::Opened(closed)) => sink.span(Between::ClosedWindow, closed),
            Some(Turn::Closed) => sink.witness(|| Sight::WindowClosed),
            None => {}
        }
    }
    role
}

/// What an AK of this side tells of DTs that were never seen, `next` being the one expected.
pub(super) fn close_holes(
    connection: &mut Connection,
    (_, side, format): (Instant, Side, Format),
    (next, role): (u32, Role),
    (tpdu, sink): (&mut Tpdu, &mut Sink<'_>),
) {
    let Sender { data, rare, .. } = &mut connection.senders[other(side)];
    let closed = data.acknowledged(format, next, rare.as_mut().map(|rare| &mut rare.beyond));
    note_gaps(&closed, sink.oddities);
    tpdu.role = Some(role);
    tpdu.retransmitted = matches!(role, Role::Confirming | Role::KeepingAlive);
    tpdu.finished_tsdus = closed.finished.tsdus;
    tpdu.finished_octets = closed.finished.octets;
}

/// EDs and EAs go one at a time (ISO 8073 6.11), so only the last can come again.
/// Whether this one did.
pub(super) fn again(last: &mut Option<u32>, number: u32, format: Format) -> bool {
    let behind = last.map(|last| last.wrapping_sub(number) & (format.modulus() - 1));
    let retransmitted = behind.is_some_and(|behind| behind < format.modulus() / 2);
    if !retransmitted {
        *last = Some(number);
    }
    retransmitted
}

/// How a TPDU of data transfer writes its number; nothing for one that is of another phase.
pub(super) const fn numbering(pdu: &Pdu<'_>) -> Option<Format> {
    match pdu {
        Pdu::Dt(dt) => Some(dt.format),
        Pdu::Ed(ed) => Some(ed.format),
        Pdu::Ak(ak) | Pdu::Rj(ak) => Some(ak.format),
        Pdu::Ea(ea) => Some(ea.format),
        Pdu::Cr(_) | Pdu::Cc(_) | Pdu::Dr(_) | Pdu::Dc(_) | Pdu::Er(_) => None,
    }
}

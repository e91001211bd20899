//! TPDUs of data transfer: what a DT, an AK, an ED or an EA means to its connection.

use super::connection::{Connection, Sender, Side};
use super::data::Arrival;
use super::tsdu::Stretch;
use super::{Meaning, Sink};
use crate::oddity::{Class, Oddities};
use crate::sight::{Between, Role};
use crate::user;
use wire::time::Instant;
use wire::tp::{Acknowledgement, Data, Format, Parameter};

/// TSDUs of a connection that are looked at for who is above.
const LOOKED_AT: u8 = 8;

/// A DT that this side sent.
pub(super) fn data(
    connection: &mut Connection,
    (at, side, format): (Instant, Side, Format),
    dt: &Data<'_>,
    data_octets: u64,
    sink: &mut Sink<'_>,
) -> Meaning {
    let (is_over, has_flow_control) = (connection.state.is_over(), connection.has_flow_control());
    let [first, second] = &mut connection.senders;
    let (sender, peer) = if side == 0 { (first, second) } else { (second, first) };
    let stretch = Stretch::of(data_octets, dt.end_of_tsdu);
    let arrival = match format {
        Format::Class0 => sender.data.in_order(stretch),
        Format::Normal | Format::Extended => sender.data.arrive(format, dt.number, stretch),
    };
    note_data(arrival, is_over, sink.oddities);
    if format == Format::Class0 && dt.number != 0 {
        sink.oddities.count(Class::Transport, "class 0 DT with a number");
    }
    let Arrival { retransmitted, finished, .. } = arrival;
    let into_closed_window = has_flow_control && peer.acknowledgements.is_beyond(format, dt.number);
    let meaning = Meaning { retransmitted, into_closed_window, finished, ..Meaning::default() };
    if retransmitted {
        return meaning;
    }
    if has_flow_control {
        let Sender { waiting, rare, .. } = &mut *sender;
        waiting.sent(format, (dt.number, at), move || &mut rare.get_or_insert_default().waiting);
    }
    let is_empty_part = data_octets == 0 && !dt.end_of_tsdu;
    let begins = !sender.is_within_tsdu && !is_empty_part;
    if !is_empty_part {
        sender.is_within_tsdu = !dt.end_of_tsdu;
        if let Some(span) =
            connection.turns.pass(&mut connection.asked, (at, side), begins, dt.end_of_tsdu)
        {
            sink.span(Between::Response, span);
        }
    }
    if begins && connection.looked_at < LOOKED_AT {
        connection.looked_at += 1;
        connection.recognise(user::of_data(dt.data));
    }
    meaning
}

fn note_data(arrival: Arrival, is_over: bool, oddities: &mut Oddities) {
    if arrival.out_of_window {
        oddities.count(Class::Transport, "DT out of window");
    }
    if is_over && !arrival.retransmitted {
        oddities.count(Class::Transport, "new DT after the end");
    }
    note_gaps(arrival, oddities);
}

fn note_gaps(arrival: Arrival, oddities: &mut Oddities) {
    oddities.add(Class::Transport, "DT never seen", arrival.unseen);
    oddities.add(Class::Transport, "TSDU not wholly seen", arrival.finished.incomplete);
}

/// An AK that this side sent.
pub(super) fn acknowledge(
    connection: &mut Connection,
    (at, side, format): (Instant, Side, Format),
    ak: &Acknowledgement<'_>,
    sink: &mut Sink<'_>,
) -> Meaning {
    let has_flow_control = connection.has_flow_control();
    let [first, second] = &mut connection.senders;
    let (sender, peer) = if side == 0 { (first, second) } else { (second, first) };
    let mut told = (0, false);
    for parameter in ak.parameters.iter() {
        match parameter {
            Parameter::Subsequence(number) => told.0 = number,
            Parameter::FlowControlConfirmation(_) => told.1 = true,
            _ => {}
        }
    }
    let role = sender.acknowledgements.arrive(format, ak.next, ak.credit, told);
    if role == Role::Acknowledging {
        let Sender { waiting, rare, delays, .. } = &mut *peer;
        let more = rare.as_mut().map(|rare| &mut rare.waiting);
        waiting.acknowledged(format, (ak.next, at), more, |span| {
            delays.note(span);
            sink.span(Between::Acknowledgement, span);
        });
    }
    if has_flow_control && matches!(role, Role::Acknowledging | Role::Crediting) {
        let is_closed = sender.acknowledgements.grant().is_some_and(|grant| grant.credit == 0);
        if let Some(closed) = peer.window(at, is_closed) {
            sink.span(Between::ClosedWindow, closed);
        }
    }
    let closed = peer.data.acknowledged(format, ak.next);
    note_gaps(closed, sink.oddities);
    Meaning {
        retransmitted: matches!(role, Role::Confirming | Role::KeepingAlive),
        role: Some(role),
        finished: closed.finished,
        ..Meaning::default()
    }
}

/// EDs and EAs go one at a time (ISO 8073 6.11), so only the last can come again.
pub(super) fn again(last: &mut Option<u32>, number: u32, format: Format) -> Meaning {
    let behind = last.map(|last| last.wrapping_sub(number) & (format.modulus() - 1));
    let retransmitted = behind.is_some_and(|behind| behind < format.modulus() / 2);
    if !retransmitted {
        *last = Some(number);
    }
    Meaning { retransmitted, ..Meaning::default() }
}

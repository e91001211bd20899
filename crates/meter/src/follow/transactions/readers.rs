//! PDUs of each protocol as messages: where one ends, and which part it has in a transaction.

use super::message::{Front, Message, NUMBERED, OTHER, Role, Sender};
use wire::iec104::Format;
use wire::{ads, dnp3, enip, fins, iec104, modbus};

/// Common address of all stations.
const ALL: u16 = 0xFFFF;
/// Pair of unconnected messages of EtherNet/IP: their replies have the service of the message within.
const UNCONNECTED: u16 = 0;
/// Pair of connected ones.
const CONNECTED: u16 = 1;

/// Front of octets of which a header needs that many; `pdu_octets` reads it, and `may_begin` is true
/// of the front of one.
fn front(
    octets: &[u8],
    header_octets: usize,
    may_begin: bool,
    pdu_octets: impl FnOnce() -> Option<usize>,
) -> Front {
    if octets.len() < header_octets {
        return if may_begin { Front::Short } else { Front::Foreign };
    }
    pdu_octets().map_or(Front::Foreign, Front::Pdu)
}

/// True if the octets, as far as there are any, are those of `first`.
fn begins_with(octets: &[u8], first: &[u8]) -> bool {
    octets.iter().zip(first).all(|(octet, expected)| octet == expected)
}

pub(super) fn front_of_modbus(octets: &[u8]) -> Front {
    // Fields that are not there yet are valid ones: those of the shortest PDU.
    let mut head = [0, 0, 0, 0, 0, 2, 0];
    head.iter_mut().zip(octets).for_each(|(field, octet)| *field = *octet);
    let header = modbus::Header::decode(&head).ok();
    front(octets, head.len(), header.is_some(), || header.map(|header| header.adu_octets))
}

pub(super) fn read_modbus<'a>(
    octets: &'a [u8],
    sender: Sender,
    each: &mut dyn FnMut(Message<'a>),
) -> bool {
    let Ok(pdu) = modbus::Pdu::decode(octets) else { return false };
    let function = pdu.function.into();
    each(Message {
        role: if sender == Sender::Client { Role::Request } else { Role::Reply },
        identifier: pdu.transaction.into(),
        unit: pdu.unit.into(),
        pair_unit: pdu.unit.into(),
        pair: function,
        function,
        is_exception: pdu.is_exception,
        subject: Some(pdu.subject()),
        content: octets,
    });
    true
}

pub(super) fn front_of_dnp3(octets: &[u8]) -> Front {
    front(octets, dnp3::HEADER_OCTETS, begins_with(octets, &[0x05, 0x64]), || {
        dnp3::Header::decode(octets).ok().map(|header| header.frame_octets)
    })
}

pub(super) fn read_dnp3<'a>(
    octets: &'a [u8],
    _: Sender,
    each: &mut dyn FnMut(Message<'a>),
) -> bool {
    let Ok(fragment) = dnp3::Fragment::decode(octets) else { return false };
    let Some(it) = fragment.filter(|it| it.is_first) else {
        // A frame without data is one of the link alone.
        let has_data = dnp3::Header::decode(octets).is_ok_and(|header| header.has_data());
        if has_data {
            each(Message::CONTINUATION);
        }
        return true;
    };
    let (role, master, outstation) = match (it.is_request(), it.is_response()) {
        (true, _) => (Role::Request, it.header.source, it.header.destination),
        (_, true) => (Role::Reply, it.header.destination, it.header.source),
        _ => return true,
    };
    each(Message {
        role,
        identifier: u32::from(master) << 4 | u32::from(it.sequence),
        unit: outstation.into(),
        pair_unit: outstation.into(),
        // A response has a function of its own.
        pair: 0,
        function: it.function.into(),
        is_exception: it.has_failed(),
        subject: Some(it.data),
        // The transport octet counts on where a request is sent again.
        content: it.data,
    });
    true
}

pub(super) fn front_of_iec104(octets: &[u8]) -> Front {
    front(octets, iec104::HEADER_OCTETS, begins_with(octets, &[iec104::START]), || {
        iec104::Pdu::decode(octets).ok().map(|pdu| pdu.octets)
    })
}

pub(super) fn read_iec104<'a>(
    octets: &'a [u8],
    sender: Sender,
    each: &mut dyn FnMut(Message<'a>),
) -> bool {
    let Ok(pdu) = iec104::Pdu::decode(octets) else { return false };
    let (own, other) = if sender == Sender::Client { (0, 1) } else { (1, 0) };
    let link = |role, function, identifier| Message {
        role,
        identifier,
        unit: 0,
        pair_unit: 0,
        pair: function,
        function,
        is_exception: false,
        subject: None,
        content: &[],
    };
    let acknowledged = |receive: u16| link(Role::Acknowledgement, NUMBERED + other, receive.into());
    match pdu.format {
        Format::S { receive } => each(acknowledged(receive)),
        Format::U(code @ (0x07 | 0x13 | 0x43)) => {
            each(link(Role::Request, OTHER | u16::from(code), own.into()));
        }
        Format::U(code) => {
            let activation = match code {
                0x0B => 0x07,
                0x23 => 0x13,
                0x83 => 0x43,
                _ => return false,
            };
            each(link(Role::Reply, OTHER | activation, other.into()));
        }
        Format::I { send, receive } => {
            each(acknowledged(receive));
            each(link(Role::Request, NUMBERED + own, send.into()));
            if let Some(message) = pdu.asdu.and_then(|asdu| command(&asdu, sender, octets)) {
                each(message);
            }
        }
    }
    true
}

/// Command of the client, or its confirmation.
fn command<'a>(asdu: &iec104::Asdu, sender: Sender, octets: &'a [u8]) -> Option<Message<'a>> {
    // A station that does not know a command returns it with one of the causes 44 to 47.
    let (role, is_deactivation) = match (sender, asdu.cause) {
        (Sender::Client, 6) => (Role::Request, false),
        (Sender::Client, 8) => (Role::Request, true),
        (Sender::Server, 7 | 44..=47) => (Role::Reply, false),
        (Sender::Server, 9) => (Role::Reply, true),
        _ => return None,
    };
    let function = asdu.kind.into();
    // Those of the system may be to all stations, each of which replies with its own address.
    let pair_unit = if (100..=105).contains(&asdu.kind) { ALL } else { asdu.common_address };
    Some(Message {
        role,
        identifier: asdu.object | u32::from(is_deactivation) << 24,
        unit: asdu.common_address.into(),
        pair_unit: pair_unit.into(),
        pair: function,
        function,
        is_exception: asdu.is_negative || asdu.cause >= 44,
        subject: octets.get(iec104::HEADER_OCTETS..),
        content: octets.get(iec104::HEADER_OCTETS..).unwrap_or_default(),
    })
}

pub(super) fn front_of_enip(octets: &[u8]) -> Front {
    let may_begin = octets.get(1).is_none_or(|high| *high == 0);
    front(octets, enip::HEADER_OCTETS, may_begin, || {
        enip::Header::decode(octets).ok().map(|header| header.octets)
    })
}

pub(super) fn read_enip<'a>(
    octets: &'a [u8],
    sender: Sender,
    each: &mut dyn FnMut(Message<'a>),
) -> bool {
    let Ok(enip::Pdu { header, message }) = enip::Pdu::decode(octets) else { return false };
    let [first, second] = [header.context.first_chunk(), header.context.last_chunk()]
        .map(|half| half.map_or(0, |half| u32::from_le_bytes(*half)));
    let context = first ^ second.rotate_left(16);
    let Some(message) = message else {
        // Without a reply: nothing, and the end of a session. A connected message without its head is
        // one that is cut.
        if matches!(header.command, 0 | 0x66 | 0x6F | 0x70 | 0x72) {
            return true;
        }
        let function = OTHER | header.command;
        each(Message {
            role: if sender == Sender::Client { Role::Request } else { Role::Reply },
            identifier: context,
            unit: 0,
            pair_unit: 0,
            pair: function,
            function,
            is_exception: header.status != 0,
            subject: None,
            content: octets,
        });
        return true;
    };
    let function = message.service.into();
    each(Message {
        role: if message.is_reply { Role::Reply } else { Role::Request },
        identifier: message.sequence.map_or(context, u32::from),
        unit: 0,
        pair_unit: 0,
        pair: if message.sequence.is_some() { CONNECTED } else { UNCONNECTED },
        function,
        is_exception: header.status != 0 || message.status().is_some_and(|status| status != 0),
        subject: Some(message.data),
        content: octets,
    });
    true
}

pub(super) fn front_of_ads(octets: &[u8]) -> Front {
    front(octets, ads::HEADER_OCTETS, begins_with(octets, &[0, 0]), || {
        ads::Pdu::decode(octets).ok().map(|pdu| pdu.octets)
    })
}

pub(super) fn read_ads<'a>(octets: &'a [u8], _: Sender, each: &mut dyn FnMut(Message<'a>)) -> bool {
    let Ok(pdu) = ads::Pdu::decode(octets) else { return false };
    // Notifications have no response.
    if pdu.command == 8 {
        return true;
    }
    let (role, port) = match pdu.is_response {
        false => (Role::Request, pdu.target_port),
        true => (Role::Reply, pdu.source_port),
    };
    each(Message {
        role,
        identifier: pdu.invoke,
        unit: port.into(),
        pair_unit: port.into(),
        pair: pdu.command,
        function: pdu.command,
        is_exception: pdu.has_failed(),
        subject: Some(pdu.subject()),
        content: octets,
    });
    true
}

pub(super) fn front_of_fins(octets: &[u8]) -> Front {
    front(octets, fins::HEADER_OCTETS, begins_with(octets, b"FINS"), || {
        fins::Pdu::decode(octets).ok().map(|pdu| pdu.octets)
    })
}

pub(super) fn read_fins<'a>(
    octets: &'a [u8],
    _: Sender,
    each: &mut dyn FnMut(Message<'a>),
) -> bool {
    let Ok(pdu) = fins::Pdu::decode(octets) else { return false };
    if let Some(frame) = pdu.frame {
        fins_frame(&frame, octets, each);
    }
    true
}

pub(super) fn read_fins_frame<'a>(
    octets: &'a [u8],
    _: Sender,
    each: &mut dyn FnMut(Message<'a>),
) -> bool {
    let frame = fins::Frame::decode(octets);
    if let Ok(frame) = &frame {
        fins_frame(frame, octets, each);
    }
    frame.is_ok()
}

fn fins_frame<'a>(frame: &fins::Frame<'a>, octets: &'a [u8], each: &mut dyn FnMut(Message<'a>)) {
    if !frame.is_response && !frame.is_answered {
        return;
    }
    let [receiver, node] = frame.nodes;
    let (role, unit) =
        if frame.is_response { (Role::Reply, node) } else { (Role::Request, receiver) };
    each(Message {
        role,
        identifier: frame.service.into(),
        unit: unit.into(),
        // A controller may name itself by node 0.
        pair_unit: 0,
        pair: frame.command,
        function: frame.command,
        is_exception: frame.end_code().is_some_and(|code| code != 0),
        subject: Some(frame.data),
        content: octets,
    });
}

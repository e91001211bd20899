//! The TPDUs a connection sends, as packets.

use super::window::Retained;
use bytes::{BufMut, Bytes};
use wire::packet::Packet;
use wire::tp::{
    Acknowledgement, Data, Disconnect, DisconnectConfirm, Format, Kind, Parameter, ParameterBuffer,
    Parameters, Pdu, Reference, seal,
};

/// A DT in front of its user data, which is shared and not copied.
pub(super) fn dt_packet(
    (format, destination_reference): (Format, Reference),
    checksum: bool,
    number: u32,
    retained: &Retained,
) -> Packet {
    const CHECKSUM: [u8; 4] = [0xC3, 2, 0, 0];
    let pdu = Pdu::Dt(Data {
        format,
        destination_reference,
        number,
        end_of_tsdu: retained.end_of_tsdu,
        acknowledgement_requested: false,
        parameters: Parameters::none(Kind::Dt),
        data: &[],
    });
    let mut room = [0; 12];
    let mut rest = &mut room[..];
    pdu.encode_header(&mut rest);
    if checksum {
        rest.put_slice(&CHECKSUM);
    }
    let length = 12 - rest.len();
    let header = &mut room[..length];
    if checksum {
        header[0] += CHECKSUM.len() as u8;
        seal(header, length - 2, &retained.data);
    }
    let mut packet = Packet::new(retained.data.clone());
    packet.prepend(&room[..length]);
    packet
}

/// A TPDU without user data whose last parameter is the checksum, if it has one.
fn header_packet(pdu: &Pdu<'_>, checksum: bool) -> Packet {
    let mut room = [0; 64];
    let mut rest = &mut room[..];
    pdu.encode_header(&mut rest);
    let length = 64 - rest.len();
    let header = &mut room[..length];
    if checksum {
        seal(header, length - 2, &[]);
    }
    let mut packet = Packet::new(Bytes::new());
    packet.prepend(&room[..length]);
    packet
}

fn checksum_parameter(checksum: bool) -> ParameterBuffer {
    let mut buffer = ParameterBuffer::new();
    if checksum {
        buffer.push(&Parameter::Checksum([0, 0])).expect("an empty buffer has room");
    }
    buffer
}

/// A DR without user data.
pub(super) fn dr_packet(
    destination_reference: Reference,
    source_reference: Reference,
    reason: u8,
    checksum: bool,
) -> Packet {
    let buffer = checksum_parameter(checksum);
    let parameters = buffer.parameters(Kind::Dr);
    let pdu = Pdu::Dr(Disconnect {
        destination_reference,
        source_reference,
        reason,
        parameters,
        data: &[],
    });
    header_packet(&pdu, checksum)
}

/// A DC.
pub(super) fn dc_packet(
    destination_reference: Reference,
    source_reference: Reference,
    checksum: bool,
) -> Packet {
    let buffer = checksum_parameter(checksum);
    let parameters = buffer.parameters(Kind::Dc);
    let dc = DisconnectConfirm { destination_reference, source_reference, parameters };
    header_packet(&Pdu::Dc(dc), checksum)
}

/// An AK.
pub(super) fn ak_packet(
    (format, destination_reference): (Format, Reference),
    checksum: bool,
    next: u32,
    credit: u16,
) -> Packet {
    let buffer = checksum_parameter(checksum);
    let parameters = buffer.parameters(Kind::Ak);
    let ak = Acknowledgement { format, destination_reference, next, credit, parameters };
    header_packet(&Pdu::Ak(ak), checksum)
}

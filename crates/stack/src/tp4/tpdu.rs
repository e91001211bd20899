//! Encoding of the TPDUs that a connection sends.

use super::window::Segment;
use bytes::Bytes;
use wire::packet::Packet;
use wire::tp::{
    Acknowledgement, Data, Disconnect, DisconnectConfirm, Expedited, ExpeditedAcknowledgement,
    FlowControlConfirmation, Format, Kind, Parameter, ParameterBuffer, Parameters, Pdu, Reference,
    Rejected, ShortHeader, seal,
};

/// Properties that the TPDUs of a connection share.
#[derive(Clone, Copy)]
pub(super) struct Form {
    pub(super) format: Format,
    pub(super) destination_reference: Reference,
    /// True if they carry a checksum.
    pub(super) checksum: bool,
}

/// Parameters with at most the checksum.
const fn only_checksum(kind: Kind, checksum: bool) -> Parameters<'static> {
    if checksum { Parameters::checksum_to_seal(kind) } else { Parameters::none(kind) }
}

/// Header of a DT.
#[inline(always)]
pub(super) fn dt_header(
    form: Form,
    segment: Segment,
    data: &[u8],
    acknowledgement_requested: bool,
) -> ShortHeader {
    let Form { format, destination_reference, checksum } = form;
    let pdu = Pdu::Dt(Data {
        format,
        destination_reference,
        number: segment.number,
        end_of_tsdu: segment.end_of_tsdu,
        acknowledgement_requested,
        parameters: only_checksum(Kind::Dt, checksum),
        data: &[],
    });
    ShortHeader::new(&pdu, data).expect("a DT header has at most 12 octets")
}

/// Header of an AK without subsequence number, confirmation and blocks; `None` for any other AK.
pub(super) fn ak_header(form: Form, window: &Window<'_>) -> Option<ShortHeader> {
    let Form { format, destination_reference, checksum } = form;
    // 12.2.3.8.2: a subsequence number of zero is omitted.
    let Window { next, subsequence: 0, credit, confirmation: None, blocks: [] } = *window else {
        return None;
    };
    let parameters = only_checksum(Kind::Ak, checksum);
    let ak = Acknowledgement { format, destination_reference, next, credit, parameters };
    ShortHeader::new(&Pdu::Ak(ak), &[])
}

/// Octets of the longest header that is written here: an AK with the most blocks.
const LONGEST_HEADER: usize = 192;

/// TPDU without user data whose last parameter is the checksum, if it has one.
fn header_packet(pdu: &Pdu<'_>, checksum: bool) -> Packet {
    packet(pdu, checksum, &Bytes::new())
}

/// Header whose last parameter is the checksum, if it has one, in front of `data`.
fn packet(pdu: &Pdu<'_>, checksum: bool, data: &Bytes) -> Packet {
    let mut room = [0; LONGEST_HEADER];
    let mut rest = &mut room[..];
    pdu.encode_header(&mut rest);
    let length = LONGEST_HEADER - rest.len();
    let header = &mut room[..length];
    if checksum {
        seal(header, length - 2, data);
    }
    let mut packet = Packet::new(data.clone());
    packet.prepend(&room[..length]);
    packet
}

/// DR without user data.
pub(super) fn dr_packet(
    destination_reference: Reference,
    source_reference: Reference,
    reason: u8,
    checksum: bool,
) -> Packet {
    let parameters = only_checksum(Kind::Dr, checksum);
    let pdu = Pdu::Dr(Disconnect {
        destination_reference,
        source_reference,
        reason,
        parameters,
        data: &[],
    });
    header_packet(&pdu, checksum)
}

/// DC.
pub(super) fn dc_packet(
    destination_reference: Reference,
    source_reference: Reference,
    checksum: bool,
) -> Packet {
    let parameters = only_checksum(Kind::Dc, checksum);
    let dc = DisconnectConfirm { destination_reference, source_reference, parameters };
    header_packet(&Pdu::Dc(dc), checksum)
}

/// Contents of an AK.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window<'a> {
    pub(super) next: u32,
    pub(super) subsequence: u16,
    pub(super) credit: u16,
    pub(super) confirmation: Option<FlowControlConfirmation>,
    /// Blocks of a selective acknowledgement; empty without a gap.
    pub(super) blocks: &'a [u8],
}

/// AK.
pub(super) fn ak_packet(form: Form, window: &Window<'_>) -> Packet {
    let Form { format, destination_reference, checksum } = form;
    let mut buffer = ParameterBuffer::new();
    let mut put = |parameter: &Parameter<'_>| {
        buffer
            .push(parameter)
            .expect("three short parameters and the most blocks fit into a header");
    };
    // 12.2.3.8.2: a subsequence number of zero is omitted.
    if window.subsequence > 0 {
        put(&Parameter::Subsequence(window.subsequence));
    }
    if let Some(confirmation) = window.confirmation {
        put(&Parameter::FlowControlConfirmation(confirmation));
    }
    if !window.blocks.is_empty() {
        put(&Parameter::SelectiveAcknowledgement(window.blocks));
    }
    if checksum {
        put(&Parameter::Checksum([0, 0]));
    }
    let parameters = buffer.parameters(Kind::Ak);
    let Window { next, credit, .. } = *window;
    let ak = Acknowledgement { format, destination_reference, next, credit, parameters };
    header_packet(&Pdu::Ak(ak), checksum)
}

/// ED.
pub(super) fn ed_packet(form: Form, number: u32, data: &Bytes) -> Packet {
    let Form { format, destination_reference, checksum } = form;
    let parameters = only_checksum(Kind::Ed, checksum);
    let ed = Expedited { format, destination_reference, number, parameters, data: &[] };
    packet(&Pdu::Ed(ed), checksum, data)
}

/// EA.
pub(super) fn ea_packet(form: Form, number: u32) -> Packet {
    let Form { format, destination_reference, checksum } = form;
    let parameters = only_checksum(Kind::Ea, checksum);
    let ea = ExpeditedAcknowledgement { format, destination_reference, number, parameters };
    header_packet(&Pdu::Ea(ea), checksum)
}

/// Maximum octets of a rejected TPDU that an ER repeats.
const REJECTED_OCTETS: usize = 32;

/// ER that repeats `rejected`, the TPDU up to the octet in error, as far as it has room.
pub(super) fn er_packet(
    destination_reference: Reference,
    checksum: bool,
    cause: u8,
    rejected: &[u8],
) -> Packet {
    let mut buffer = ParameterBuffer::new();
    let rejected = rejected.get(..REJECTED_OCTETS).unwrap_or(rejected);
    buffer.push(&Parameter::InvalidTpdu(rejected)).expect("an empty buffer has room");
    if checksum {
        buffer.push(&Parameter::Checksum([0, 0])).expect("there is room after 32 octets");
    }
    let parameters = buffer.parameters(Kind::Er);
    header_packet(&Pdu::Er(Rejected { destination_reference, cause, parameters }), checksum)
}

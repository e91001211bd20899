//! decode(encode(pdu)) == pdu, for PDUs of every protocol.

use arrayvec::ArrayVec;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use wire::addr::{Mac, Nsap, Sap};
use wire::{clnp, es_is, goose, ipv4, ipv6, is_is, llc, mac, snap, tcp, tp};

fn octets(most: usize) -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..=most)
}

fn tags() -> impl Strategy<Value = Vec<mac::Tag>> {
    let tag = (select(&[0x8100_u16, 0x88A8][..]), any::<u16>());
    vec(tag.prop_map(|(protocol, control)| mac::Tag { protocol, control }), 0..=2)
}

fn control() -> impl Strategy<Value = llc::Control> {
    use llc::Control::{
        Ac0, Ac1, Disc, Dm, Frmr, Information, Sabme, Supervisory, Test, Ua, Ui, Unknown, Xid,
    };
    prop_oneof![
        select(&[Ui, Xid, Test, Ac0, Ac1, Sabme, Disc, Ua, Dm, Frmr, Unknown(0x2F)][..]),
        (0..128_u8, 0..128_u8).prop_map(|(send, receive)| Information { send, receive }),
        (select(&[1_u8, 5, 9][..]), 0..128_u8)
            .prop_map(|(function, receive)| Supervisory { function, receive }),
    ]
}

fn nsap() -> impl Strategy<Value = Nsap> {
    octets(20).prop_map(|octets| Nsap::new(&octets).unwrap())
}

fn segmentation() -> impl Strategy<Value = Option<clnp::Segmentation>> {
    option::of(any::<[u16; 3]>().prop_map(|[identifier, offset, total_octets]| {
        clnp::Segmentation { identifier, offset, total_octets }
    }))
}

fn format() -> impl Strategy<Value = tp::Format> {
    select(&[tp::Format::Normal, tp::Format::Extended][..])
}

/// Parameters by code and value, valid or not.
fn parameters() -> impl Strategy<Value = tp::ParameterBuffer> {
    vec((any::<u8>(), octets(9)), 0..5).prop_map(|parameters| {
        let mut buffer = tp::ParameterBuffer::new();
        for (code, octets) in &parameters {
            buffer.push(&tp::Parameter::Unknown { code: *code, octets }).unwrap();
        }
        buffer
    })
}

/// Failing cases are printed in full, so no files are kept. `PROPTEST_CASES` raises the number of
/// cases.
fn cases(least: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig { failure_persistence: None, cases: config.cases.max(least), ..config }
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn frames_survive(
        stations in any::<[[u8; 6]; 2]>(),
        tags in tags(),
        ethernet_type in option::of(1_536..0x8100_u16),
        data in octets(60),
        padding in octets(50),
    ) {
        let [destination, source] = stations.map(Mac);
        let tags: ArrayVec<_, 2> = tags.into_iter().collect();
        let length = u16::try_from(data.len()).unwrap();
        let (kind, padding) = match ethernet_type {
            Some(number) => (mac::Kind::Type(number), &[][..]),
            None => (mac::Kind::Length(length), &padding[..]),
        };
        let pdu = mac::Pdu { destination, source, tags, kind, data: &data, padding };
        let mut octets = Vec::new();
        pdu.encode(&mut octets);
        prop_assert_eq!(octets.len(), pdu.header_octets() + data.len() + padding.len());
        prop_assert_eq!(mac::Pdu::decode(&octets), Ok(pdu));
    }

    #[test]
    fn llc_pdus_survive(
        (dsap, ssap) in any::<(u8, u8)>(),
        (is_response, poll_final) in any::<(bool, bool)>(),
        control in control(),
        information in octets(40),
    ) {
        let (destination, source) = (Sap(dsap), Sap(ssap & 0xFE));
        let pdu = llc::Pdu {
            destination, source, is_response, control, poll_final, information: &information,
        };
        let mut octets = Vec::new();
        pdu.encode(&mut octets);
        prop_assert_eq!(octets.len(), pdu.header_octets() + information.len());
        prop_assert_eq!(llc::Pdu::decode(&octets), Ok(pdu));
    }

    #[test]
    fn snap_pdus_survive(
        (organization, protocol) in any::<([u8; 3], u16)>(),
        data in octets(9),
    ) {
        let pdu = snap::Pdu { organization, protocol, data: &data };
        let mut octets = Vec::new();
        pdu.encode(&mut octets);
        prop_assert_eq!(snap::Pdu::decode(&octets), Ok(pdu));
    }

    #[test]
    fn ip_packets_survive(
        (service, identification, lifetime, protocol) in any::<(u8, u16, u8, u8)>(),
        (reserved, dont_fragment, more_fragments) in any::<(bool, bool, bool)>(),
        (offset, flow) in (0..0x2000_u16, 0..0x0010_0000_u32),
        ends in any::<[u128; 2]>(),
        words in 0..=10_usize,
        data in octets(40),
    ) {
        let options = vec![1; words * 4];
        let [source, destination] = ends.map(|end| (end as u32).into());
        let total_octets = (ipv4::HEADER_OCTETS + options.len() + data.len()) as u16;
        let pdu = ipv4::Pdu {
            service, total_octets, identification, reserved, dont_fragment, more_fragments, offset,
            lifetime, protocol, checksum: identification, source, destination,
            options: &options, data: &data,
        };
        let mut octets = Vec::new();
        pdu.encode(&mut octets);
        prop_assert_eq!(octets.len(), usize::from(total_octets));
        prop_assert_eq!(ipv4::Pdu::decode(&octets), Ok(pdu));
        let [source, destination] = ends.map(Into::into);
        let pdu = ipv6::Pdu {
            class: service, flow, payload_octets: data.len() as u16, next_header: protocol,
            hop_limit: lifetime, source, destination, data: &data,
        };
        octets.clear();
        pdu.encode(&mut octets);
        prop_assert_eq!(ipv6::Pdu::decode(&octets), Ok(pdu));
    }

    #[test]
    fn tcp_segments_survive(
        [source_port, destination_port, window, checksum, urgent] in any::<[u16; 5]>(),
        [sequence, acknowledgement] in any::<[u32; 2]>(),
        (flags, reserved, words) in (any::<u8>(), 0..16_u8, 0..=10_usize),
        data in octets(40),
    ) {
        let options = vec![1; words * 4];
        let pdu = tcp::Pdu {
            source_port, destination_port, sequence, acknowledgement, reserved,
            flags: tcp::Flags(flags), window, checksum, urgent, options: &options, data: &data,
        };
        let mut octets = Vec::new();
        pdu.encode(&mut octets);
        prop_assert_eq!(octets.len(), pdu.header_octets() + data.len());
        prop_assert_eq!(tcp::Pdu::decode(&octets), Ok(pdu));
    }

    #[test]
    fn routing_pdus_survive(
        [version, reserved, indicator, areas] in any::<[u8; 4]>(),
        (code, holding_time, checksum) in (0..32_u8, any::<u16>(), any::<[u8; 2]>()),
        rest in octets(40),
    ) {
        let mut octets = vec![0x82, 9 + rest.len() as u8, version, reserved, code];
        octets.extend(holding_time.to_be_bytes());
        octets.extend(checksum);
        octets.extend(&rest);
        let pdu = es_is::Pdu::decode(&octets).unwrap();
        let mut again = Vec::new();
        pdu.encode(&mut again);
        prop_assert_eq!(&again, &octets);
        let mut octets = vec![0x83, indicator.max(8), version, 0, code, 1, reserved, areas];
        octets.extend(&rest);
        let pdu = is_is::Pdu::decode(&octets).unwrap();
        again.clear();
        pdu.encode(&mut again);
        prop_assert_eq!(again, octets);
    }

    #[test]
    fn goose_pdus_survive(
        (appid, reserved) in any::<(u16, [u16; 2])>(),
        [time_allowed_to_live_ms, state_number, sequence_number] in any::<[u32; 3]>(),
        [configuration_revision, entries] in any::<[u32; 2]>(),
        [is_simulated, needs_commissioning] in any::<[bool; 2]>(),
        (names, identifier) in (octets(129), option::of(octets(65))),
        (time, data) in (any::<[u8; 8]>(), octets(300)),
    ) {
        let pdu = goose::Pdu {
            appid,
            reserved,
            control_block: &names,
            time_allowed_to_live_ms,
            data_set: &names,
            identifier: identifier.as_deref(),
            time: goose::UtcTime(time),
            state_number,
            sequence_number,
            is_simulated,
            configuration_revision,
            needs_commissioning,
            entries,
            data: &data,
        };
        let octets = pdu.encode();
        prop_assert_eq!(goose::Pdu::decode(&octets), Ok(pdu));
    }

    #[test]
    fn clnp_pdus_survive_and_their_checksums_too(
        (lifetime, more_segments, error_report) in any::<(u8, bool, bool)>(),
        kind in select(&[clnp::Kind::Data, clnp::Kind::Error, clnp::Kind::Other(0x1F)][..]),
        (destination, source) in (nsap(), nsap()),
        segmentation in segmentation(),
        (options, data) in (octets(60), octets(60)),
    ) {
        let mut pdu = clnp::Pdu {
            version: clnp::VERSION,
            lifetime,
            segmentation_permitted: segmentation.is_some(),
            more_segments,
            error_report,
            kind,
            segment_octets: 0,
            checksum: [0, 0],
            destination,
            source,
            segmentation,
            options: &options,
            data: &data,
            header_octets: 0,
        };
        pdu.header_octets = pdu.encoded_header_octets();
        pdu.segment_octets = u16::try_from(pdu.header_octets + data.len()).unwrap();
        let mut octets = Vec::new();
        pdu.encode(&mut octets);
        prop_assert_eq!(clnp::Pdu::decode(&octets), Ok(pdu));
        clnp::seal(&mut octets[..pdu.header_octets]);
        let sealed = clnp::Pdu::decode(&octets).unwrap();
        prop_assert_eq!(sealed.verify(&octets), clnp::Checksum::Good);
        prop_assert!(!sealed.checksum.contains(&0));
    }

    #[test]
    fn tpdus_that_open_and_close_survive(
        (to, from, credit, last) in (any::<u16>(), any::<u16>(), 0..16_u8, any::<u8>()),
        parameters in parameters(),
        data in octets(40),
    ) {
        let (destination_reference, source_reference) = (tp::Reference(to), tp::Reference(from));
        let class = tp::ClassOption::from_octet(last);
        for kind in [tp::Kind::Cr, tp::Kind::Cc] {
            let parameters = parameters.parameters(kind);
            let connect = tp::Connect {
                credit, destination_reference, source_reference, class, parameters, data: &data,
            };
            let is_request = kind == tp::Kind::Cr;
            survives(if is_request { tp::Pdu::Cr(connect) } else { tp::Pdu::Cc(connect) }, None);
        }
        let (reason, cause) = (last, last);
        let of = |kind| parameters.parameters(kind);
        survives(tp::Pdu::Dr(tp::Disconnect {
            destination_reference, source_reference, reason,
            parameters: of(tp::Kind::Dr), data: &data,
        }), None);
        survives(tp::Pdu::Dc(tp::DisconnectConfirm {
            destination_reference, source_reference, parameters: of(tp::Kind::Dc),
        }), None);
        survives(tp::Pdu::Er(tp::Rejected {
            destination_reference, cause, parameters: of(tp::Kind::Er),
        }), None);
    }

    #[test]
    fn tpdus_of_an_open_connection_survive(
        format in format(),
        (to, number, credit) in any::<(u16, u32, u16)>(),
        (end_of_tsdu, acknowledgement_requested) in any::<(bool, bool)>(),
        parameters in parameters(),
        data in octets(40),
    ) {
        let destination_reference = tp::Reference(to);
        let number = number % format.modulus();
        let credit = if format == tp::Format::Extended { credit } else { credit % 16 };
        let of = |kind| parameters.parameters(kind);
        survives(tp::Pdu::Dt(tp::Data {
            format, destination_reference, number, end_of_tsdu, acknowledgement_requested,
            parameters: of(tp::Kind::Dt), data: &data,
        }), Some(format));
        survives(tp::Pdu::Ed(tp::Expedited {
            format, destination_reference, number, parameters: of(tp::Kind::Ed), data: &data,
        }), Some(format));
        survives(tp::Pdu::Ea(tp::ExpeditedAcknowledgement {
            format, destination_reference, number, parameters: of(tp::Kind::Ea),
        }), Some(format));
        let acknowledgement = |kind| tp::Acknowledgement {
            format, destination_reference, next: number, credit, parameters: of(kind),
        };
        survives(tp::Pdu::Ak(acknowledgement(tp::Kind::Ak)), Some(format));
        survives(tp::Pdu::Rj(acknowledgement(tp::Kind::Rj)), Some(format));
    }
}

#[track_caller]
fn survives(pdu: tp::Pdu<'_>, format: Option<tp::Format>) {
    let mut octets = Vec::new();
    pdu.encode(&mut octets);
    // A TPDU without user data ends with its header: an AK may follow.
    if !pdu.kind().may_carry_data() {
        octets.extend([4, 0x63, 1, 1, 2]);
    }
    let raw = tp::tpdus(&octets).next().unwrap().unwrap();
    assert_eq!(raw.header_octets, pdu.header_octets());
    assert_eq!(tp::Pdu::decode(&raw, format), Ok(pdu));
}

//! Frames built by hand: the counts of each level, and the printed lines.

use super::*;
use crate::clnp;
use core::net::Ipv4Addr;

const MAC: [u8; 12] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];

fn frame(rest: &[u8]) -> Vec<u8> {
    [&MAC[..], rest].concat()
}

/// Length of a frame's NSDU, or the reason why there is none.
#[track_caller]
fn nsdu_octets(octets: &[u8]) -> Result<usize, NoNsdu<'static>> {
    match levels(Link::Ethernet, octets, octets.len()).nsdu {
        Ok(nsdu) => Ok(nsdu.octets.len()),
        Err(NoNsdu::Leaf(alone)) => Err(NoNsdu::Foreign(alone.kind)),
        Err(NoNsdu::Foreign(what)) => Err(NoNsdu::Foreign(what)),
        Err(NoNsdu::Malformed(malformed)) => Err(NoNsdu::Malformed(malformed)),
        Err(NoNsdu::Stream(piece)) => panic!("{piece:?}"),
        Err(NoNsdu::Datagram(datagram)) => panic!("{datagram:?}"),
    }
}

// Length 14: LLC fe fe 03, inactive 00, DT with five octets; then padding.
const DT: [u8; 18] =
    [0, 14, 0xFE, 0xFE, 3, 0, 4, 0xF0, 2, 2, 0x80, b'h', b'e', b'l', b'l', b'o', 0, 0];

/// Datagram of UDP from 10.0.0.1 to 10.0.0.2 with this length and three octets.
fn datagram(length: u8) -> Vec<u8> {
    let packet = [0x45, 0, 0, 31, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    [&MAC[..], &[8, 0], &packet, &[0x25, 0x80, 0x4E, 0x20, 0, length, 0, 0], &[7, 8, 9]].concat()
}

#[test]
fn a_datagram_has_its_ports_and_octets() {
    fn why(octets: &[u8], original_octets: usize) -> NoNsdu<'_> {
        levels(Link::Ethernet, octets, original_octets).nsdu.unwrap_err()
    }
    let whole = datagram(11);
    let NoNsdu::Datagram(found) = why(&whole, 45) else { panic!("{whole:?}") };
    assert_eq!((found.source.port, found.destination.port), (9_600, 20_000));
    assert_eq!((found.octets, found.missing_octets), (&[7, 8, 9][..], 0));
    let NoNsdu::Datagram(found) = why(&whole[..43], 45) else { panic!("{whole:?}") };
    assert_eq!((found.octets, found.missing_octets), (&[7][..], 2));
    assert_eq!(why(&whole[..41], 45), NoNsdu::Foreign(CUT), "header not captured");
    for length in [7, 12] {
        assert_eq!(why(&datagram(length), 45), NoNsdu::Foreign("UDP"), "length {length}");
    }
}

#[test]
fn a_frame_prints_a_line_per_layer() {
    let octets = frame(&DT);
    assert_eq!(
        dissect(Link::Ethernet, &octets).to_string(),
        "MAC 02:00:00:00:00:01>02:00:00:00:00:02 length=14 padding=2\n\
         LLC fe>fe UI 11 octets\n\
         CLNP inactive\n\
         TP DT 0x0202 nr=0 eot 5 octets"
    );
}

#[test]
fn a_fault_keeps_outer_layers_and_its_offset_in_the_frame() {
    let mut octets = frame(&DT);
    octets[18] = 0x20;
    assert_eq!(
        dissect(Link::Ethernet, &octets).to_string(),
        "MAC 02:00:00:00:00:01>02:00:00:00:00:02 length=14 padding=2\n\
         LLC fe>fe UI 11 octets\n\
         CLNP inactive\n\
         malformed length indicator at octet 18"
    );
}

#[test]
fn a_frame_without_any_layer_prints_its_fault_alone() {
    let dissection = dissect(Link::Ethernet, &[2, 0]);
    assert_eq!(dissection.to_string(), "malformed destination address at octet 0");
}

#[test]
fn octets_are_counted_as_the_paper_counts_them() {
    // 14 of MAC and 3 of LLC make the 17 octets of link header; one octet is the network header.
    let octets = frame(&DT);
    let levels = levels(Link::Ethernet, &octets, octets.len());
    assert_eq!((levels.lpdu_octets, levels.npdu_octets), (Some(28), Some(11)));
    let nsdu = levels.nsdu.unwrap();
    assert_eq!((nsdu.octets.len(), nsdu.missing_octets), (10, 0));
    assert_eq!((nsdu.source, nsdu.destination), (Mac::local(1), Mac::local(2)));
}

#[test]
fn a_capture_that_cuts_frames_short_still_counts_what_was_sent() {
    let octets = frame(&DT);
    let levels = levels(Link::Ethernet, &octets[..24], octets.len());
    assert_eq!((levels.lpdu_octets, levels.npdu_octets), (Some(28), Some(11)));
    let nsdu = levels.nsdu.unwrap();
    assert_eq!((nsdu.octets, nsdu.missing_octets), (&[4, 0xF0, 2, 2, 0x80, b'h'][..], 4));
}

#[test]
fn a_frame_without_transport_names_its_protocol() {
    let why = |rest: &[u8]| {
        let octets = frame(rest);
        nsdu_octets(&octets).unwrap_err()
    };
    assert_eq!(why(&[8, 6, 0]), NoNsdu::Foreign("EtherType"));
    assert_eq!(why(&[0, 4, 0x42, 0x42, 3, 0]), NoNsdu::Foreign("SAP"));
    assert_eq!(why(&[0, 3, 0xFE, 0xFE, 0xAF]), NoNsdu::Foreign("LLC control"));
    assert_eq!(why(&[0, 3, 0xFE, 0xFF, 3]), NoNsdu::Foreign("LLC control"), "a response");
    let hello = [0, 11, 0xFE, 0xFE, 3, 0x83, 27, 1, 0, 16, 1, 0, 0];
    assert_eq!(why(&hello), NoNsdu::Foreign("IS-IS L2 LAN IIH"));
    assert_eq!(why(&[0, 8, 0xAA, 0xAA, 3, 0, 0, 0, 8, 6]), NoNsdu::Foreign("SNAP protocol"));
    let unit_data = [0, 7, 0xFE, 0xFE, 3, 0, 1, 0x40, b'x'];
    assert_eq!(why(&unit_data), NoNsdu::Foreign("connectionless transport"));
    let malformed = |field, offset| NoNsdu::Malformed(Malformed { field, offset });
    assert_eq!(why(&[0, 2, 0xFE, 0xFE]), malformed("control", 16));
    assert_eq!(why(&[0, 3, 0xFE, 0xFE, 3]), malformed("network layer protocol identifier", 17));
    assert_eq!(levels(Link::Other(147), &[], 0).nsdu, Err(NoNsdu::Foreign("link type")));
}

#[test]
fn an_ipx_packet_without_llc_is_no_lpdu() {
    // Checksum FFFF (unused), length 30.
    let octets = frame(&[0, 4, 0xFF, 0xFF, 0, 30]);
    let levels = levels(Link::Ethernet, &octets, octets.len());
    assert_eq!((levels.lpdu_octets, levels.npdu_octets), (None, None));
    assert_eq!(levels.nsdu, Err(NoNsdu::Foreign("IPX without LLC")));
}

#[test]
fn headers_that_were_not_captured_are_not_called_malformed() {
    let octets = frame(&DT);
    for captured in 0..18 {
        let levels = levels(Link::Ethernet, &octets[..captured], octets.len());
        assert_eq!(levels.nsdu, Err(NoNsdu::Foreign(CUT)), "{captured} octets captured");
        let dissection = dissect_cut(Link::Ethernet, &octets[..captured], octets.len());
        assert_eq!(dissection.fault, None, "{captured} octets captured");
        let missing = octets.len() - captured;
        let end = Layer::Missing { captured_octets: captured, missing_octets: missing };
        assert_eq!(dissection.layers.last(), Some(&end));
    }
    // A length that reaches past the end of the frame is malformed in any capture.
    let mut octets = octets;
    octets[13] = 17;
    let malformed = Malformed { field: "length", offset: 12 };
    let levels = levels(Link::Ethernet, &octets[..16], octets.len());
    assert_eq!(levels.nsdu, Err(NoNsdu::Malformed(malformed)));
    assert_eq!(dissect_cut(Link::Ethernet, &octets[..16], 30).fault, Some(malformed));
}

#[test]
fn a_cut_frame_prints_its_captured_layers() {
    let octets = frame(&DT);
    assert_eq!(
        dissect_cut(Link::Ethernet, &octets[..25], octets.len()).to_string(),
        "MAC 02:00:00:00:00:01>02:00:00:00:00:02 length=14\n\
         LLC fe>fe UI 8 octets\n\
         CLNP inactive\n\
         TP DT 0x0202 nr=0 eot 2 octets\n\
         5 octets not captured, from octet 25 on"
    );
}

/// 13 octets of CLNP header from NSAP 4a to 49 without options; then an AK.
const CLNP: [u8; 18] = [0x81, 13, 1, 2, 0x1C, 0, 18, 0, 0, 1, 0x49, 1, 0x4A, 4, 0x63, 1, 1, 2];

#[test]
fn a_network_pdu_that_every_receiver_discards_has_no_tpdus() {
    let why = |clnp: [u8; 18]| {
        let octets = frame(&[&[0, 21, 0xFE, 0xFE, 3][..], &clnp].concat());
        nsdu_octets(&octets)
    };
    assert_eq!(why(CLNP), Ok(5));
    let mut sealed = CLNP;
    clnp::seal(&mut sealed[..13]);
    assert_eq!(why(sealed), Ok(5));
    sealed[3] = 1;
    let malformed = Malformed { field: "network header checksum", offset: 14 + 3 + 7 };
    assert_eq!(why(sealed), Err(NoNsdu::Malformed(malformed)));
    let mut version = CLNP;
    version[2] = 2;
    assert_eq!(why(version), Err(NoNsdu::Foreign("CLNP version")));
}

#[test]
fn a_segment_is_not_taken_for_tpdus() {
    let mut part = CLNP;
    part[4] = 0xDC;
    // SP is set, so the last 5 octets and one more are the segmentation part.
    (part[1], part[6]) = (19, 19);
    let octets = frame(&[&[0, 22, 0xFE, 0xFE, 3][..], &part, &[9]].concat());
    assert!(levels(Link::Ethernet, &octets, octets.len()).nsdu.unwrap().segment.is_some());
    let dissection = dissect(Link::Ethernet, &octets);
    assert_eq!(dissection.layers.last(), Some(&Layer::Segment(&[])));
}

/// A TPKT with a DT of class 0, behind TCP (ports 1025 and 102) and IPv4.
const SEGMENT: [u8; 48] = [
    0x45, 0, 0, 48, 0, 111, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, // IPv4
    4, 1, 0, 102, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x18, 0x20, 0, 0xAB, 0xCD, 0, 0, // TCP
    3, 0, 0, 8, 2, 0xF0, 0x80, 0x55,
];

#[test]
fn a_piece_of_a_tcp_stream_is_found_behind_every_link() {
    let piece = Piece {
        source: Socket { address: Ipv4Addr::new(10, 0, 0, 1).to_ipv6_mapped(), port: 1025 },
        destination: Socket { address: Ipv4Addr::new(10, 0, 0, 2).to_ipv6_mapped(), port: 102 },
        identification: 111,
        sequence: 1,
        acknowledgement: 2,
        flags: tcp::Flags(0x18),
        window: 8_192,
        checksum: 0xABCD,
        octets: &SEGMENT[40..],
        missing_octets: 0,
    };
    let check = |link, header: &[u8], padding: usize| {
        let octets = [header, &SEGMENT, &vec![0; padding]].concat();
        let levels = levels(link, &octets, octets.len());
        assert_eq!(levels.nsdu, Err(NoNsdu::Stream(piece)), "{link}");
        // Padding belongs to neither.
        assert_eq!(levels.lpdu_octets, Some(header.len() + 48));
        assert_eq!(levels.npdu_octets, Some(48));
    };
    check(Link::Ethernet, &[&MAC[..], &[8, 0]].concat(), 4);
    check(Link::Ethernet, &[&MAC[..], &[0x81, 0, 0, 5, 8, 0]].concat(), 0);
    check(Link::Ethernet, &[&MAC[..], &[0x88, 0x47, 0, 1, 0xD1, 0xFF]].concat(), 0);
    check(Link::Ethernet, &[&MAC[..], &[0, 56, 0xAA, 0xAA, 3, 0, 0, 0, 8, 0]].concat(), 0);
    check(Link::Other(0), &[2, 0, 0, 0], 0);
    check(Link::Other(9), &[0xFF, 3, 0, 0x21], 0);
    check(Link::Other(101), &[], 0);
}

#[test]
fn a_segment_that_a_capture_cut_still_counts_what_was_sent() {
    let octets = [&MAC[..], &[8, 0], &SEGMENT].concat();
    let cut = levels(Link::Ethernet, &octets[..58], octets.len());
    let Err(NoNsdu::Stream(piece)) = cut.nsdu else { panic!("{:?}", cut.nsdu) };
    assert_eq!((piece.octets, piece.missing_octets), (&[3, 0, 0, 8][..], 4));
    for captured in 14..54 {
        let cut = levels(Link::Ethernet, &octets[..captured], octets.len());
        assert_eq!(cut.nsdu, Err(NoNsdu::Foreign(CUT)), "{captured} octets captured");
        let dissection = dissect_cut(Link::Ethernet, &octets[..captured], octets.len());
        assert_eq!(dissection.fault, None, "{captured} octets captured");
    }
}

#[test]
fn fragments_are_recognised_and_skipped() {
    let mut octets = [&MAC[..], &[8, 0], &SEGMENT].concat();
    octets[20] = 0x20;
    let levels = levels(Link::Ethernet, &octets, octets.len());
    assert_eq!(levels.nsdu, Err(NoNsdu::Foreign("fragment of an IP packet")));
    assert_eq!(levels.npdu_octets, Some(48));
}

#[test]
fn the_tpkts_of_a_segment_print_a_line_per_layer() {
    let octets = [&MAC[..], &[8, 0], &SEGMENT].concat();
    assert_eq!(
        dissect(Link::Ethernet, &octets).to_string(),
        "MAC 02:00:00:00:00:01>02:00:00:00:00:02 type=0800\n\
         IPv4 10.0.0.1>10.0.0.2 id=006f protocol=6 28 octets\n\
         TCP 1025>102 PSH,ACK seq=1 ack=2 window=8192 8 octets\n\
         TPKT 8 octets\n\
         TP DT 0x0000 nr=0 eot 1 octets"
    );
}

#[test]
fn a_tag_of_hsr_and_a_trailer_of_prp_are_layers() {
    let tag = [0x89, 0x2F, 0x10, 0x22, 0, 9];
    let octets = [&MAC[..], &tag, &[8, 0], &SEGMENT].concat();
    let lines = "TCP 1025>102 PSH,ACK seq=1 ack=2 window=8192 8 octets\n\
                 TPKT 8 octets\n\
                 TP DT 0x0000 nr=0 eot 1 octets";
    assert_eq!(
        dissect(Link::Ethernet, &octets).to_string(),
        format!(
            "MAC 02:00:00:00:00:01>02:00:00:00:00:02 type=892f\n\
             HSR tag path=1 LSDU 34 octets sequence=9\n\
             IPv4 10.0.0.1>10.0.0.2 id=006f protocol=6 28 octets\n{lines}"
        )
    );
    // Behind the tag 6 octets of it, and the packet of 48.
    let found = levels(Link::Ethernet, &octets, octets.len());
    assert_eq!((found.lpdu_octets, found.npdu_octets), (Some(14 + 6 + 48), Some(48)));
    assert!(matches!(found.nsdu, Err(NoNsdu::Stream(_))), "{found:?}");
    // LLC with a length, up to one that is beyond the frame.
    for (length, expected) in [(3, "LLC fe>fe UI"), (4, "malformed length at octet 18")] {
        let octets = [&MAC[..], &tag, &[0, length], &[0xFE, 0xFE, 3]].concat();
        let text = dissect(Link::Ethernet, &octets).to_string();
        assert!(text.lines().any(|line| line.starts_with(expected)), "{text}");
    }
    for length in 14..20 {
        let text = dissect_cut(Link::Ethernet, &octets[..length], octets.len()).to_string();
        let expected = if length == 14 { "octets not captured" } else { "HSR header, only" };
        assert!(text.contains(expected), "{text}");
    }
    let trailer = [0, 7, 0xB0, 54, 0x88, 0xFB];
    let octets = [&MAC[..], &[8, 0], &SEGMENT, &trailer].concat();
    let text = dissect(Link::Ethernet, &octets).to_string();
    assert!(
        text.ends_with(&format!("{lines}\nPRP trailer LAN B LSDU 54 octets sequence=7")),
        "{text}"
    );
    let cut = dissect_cut(Link::Ethernet, &octets, octets.len() + 1).to_string();
    assert!(!cut.contains("PRP"), "{cut}");
    // Data of an EtherType that is not decoded end in front of it.
    let octets = [&MAC[..], &[0x12, 0x34], &[1; 10], &[0, 7, 0xA0, 16, 0x88, 0xFB]].concat();
    let text = dissect(Link::Ethernet, &octets).to_string();
    assert!(
        text.ends_with("data 10 octets\nPRP trailer LAN A LSDU 16 octets sequence=7"),
        "{text}"
    );
}

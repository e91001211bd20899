//! Frames by hand: what each counts as, and how it prints.

use super::*;

const MAC: [u8; 12] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];

fn frame(rest: &[u8]) -> Vec<u8> {
    [&MAC[..], rest].concat()
}

// Length 14: LLC fe fe 03, inactive 00, DT with five octets; then padding.
const DT: [u8; 18] =
    [0, 14, 0xFE, 0xFE, 3, 0, 4, 0xF0, 2, 2, 0x80, b'h', b'e', b'l', b'l', b'o', 0, 0];

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
fn a_fault_keeps_what_came_before_it_and_counts_from_the_start_of_the_frame() {
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
fn what_is_not_transport_says_what_it_is() {
    let why = |rest: &[u8]| {
        let octets = frame(rest);
        levels(Link::Ethernet, &octets, octets.len()).nsdu.map(|_| ()).unwrap_err()
    };
    assert_eq!(why(&[8, 0, 69]), NoNsdu::Foreign("EtherType"));
    assert_eq!(why(&[0, 4, 0x42, 0x42, 3, 0]), NoNsdu::Foreign("SAP"));
    assert_eq!(why(&[0, 3, 0xFE, 0xFE, 0xAF]), NoNsdu::Foreign("LLC control"));
    assert_eq!(why(&[0, 3, 0xFE, 0xFF, 3]), NoNsdu::Foreign("LLC control"), "a response");
    assert_eq!(why(&[0, 4, 0xFE, 0xFE, 3, 0x83]), NoNsdu::Foreign("IS-IS"));
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
        assert_eq!(dissection.layers.last(), Some(&Layer::Missing(missing)));
    }
    // A length that reaches past the end of the frame is wrong however much was captured.
    let mut octets = octets;
    octets[13] = 17;
    let malformed = Malformed { field: "length", offset: 12 };
    let levels = levels(Link::Ethernet, &octets[..16], octets.len());
    assert_eq!(levels.nsdu, Err(NoNsdu::Malformed(malformed)));
    assert_eq!(dissect_cut(Link::Ethernet, &octets[..16], 30).fault, Some(malformed));
}

#[test]
fn a_cut_frame_prints_what_is_there() {
    let octets = frame(&DT);
    assert_eq!(
        dissect_cut(Link::Ethernet, &octets[..25], octets.len()).to_string(),
        "MAC 02:00:00:00:00:01>02:00:00:00:00:02 length=14\n\
         LLC fe>fe UI 8 octets\n\
         CLNP inactive\n\
         TP DT 0x0202 nr=0 eot 2 octets\n\
         5 octets not captured"
    );
}

/// 13 octets of CLNP from NSAP 4a to 49, all plain; then an AK.
const CLNP: [u8; 18] = [0x81, 13, 1, 2, 0x1C, 0, 18, 0, 0, 1, 0x49, 1, 0x4A, 4, 0x63, 1, 1, 2];

#[test]
fn a_network_pdu_that_every_receiver_discards_has_no_tpdus() {
    let why = |clnp: [u8; 18]| {
        let octets = frame(&[&[0, 21, 0xFE, 0xFE, 3][..], &clnp].concat());
        levels(Link::Ethernet, &octets, octets.len()).nsdu.map(|nsdu| nsdu.octets.len())
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
    // SP is set, so that the last 5 octets and one more are the segmentation part.
    (part[1], part[6]) = (19, 19);
    let octets = frame(&[&[0, 22, 0xFE, 0xFE, 3][..], &part, &[9]].concat());
    assert!(levels(Link::Ethernet, &octets, octets.len()).nsdu.unwrap().segment.is_some());
    let dissection = dissect(Link::Ethernet, &octets);
    assert_eq!(dissection.layers.last(), Some(&Layer::Segment(&[])));
}

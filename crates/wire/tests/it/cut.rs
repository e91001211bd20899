//! Valid frames cut at every octet, as by a capture with a short snap length.

use crate::seeds;
use wire::dissect::{CUT, Layer, Link, NoNsdu, dissect, dissect_cut, levels};
use wire::tp;

/// Seeds that decode without a fault.
fn good_frames() -> Vec<seeds::Seed> {
    let is_good = |octets: &[u8]| dissect(Link::Ethernet, octets).fault.is_none();
    let mut frames = seeds::all();
    frames.retain(|seed| seed.target == "dissect" && is_good(&seed.octets));
    assert!(frames.len() > 25, "only {} good frames", frames.len());
    frames
}

#[test]
fn a_cut_invents_no_fault_and_no_bad_checksum() {
    for seed in good_frames() {
        let (octets, original) = (&seed.octets, seed.octets.len());
        for captured in 0..original {
            let dissection = dissect_cut(Link::Ethernet, &octets[..captured], original);
            assert_eq!(dissection.fault, None, "{} cut to {captured} octets", seed.name);
            let (last, layers) = dissection.layers.split_last().unwrap();
            let missing_octets = original - captured;
            assert_eq!(*last, Layer::Missing { captured_octets: captured, missing_octets });
            let is_bad = |layer: &Layer<'_>| matches!(layer, Layer::Tp(_, Some(tp::Checksum::Bad)));
            assert!(!layers.iter().any(is_bad), "{} cut to {captured} octets", seed.name);
            assert!(layers.len() <= dissect(Link::Ethernet, octets).layers.len());
        }
    }
}

#[test]
fn a_cut_changes_no_count_taken_from_headers() {
    let mut with_nsdu = 0;
    for seed in good_frames() {
        let (octets, original) = (&seed.octets, seed.octets.len());
        let whole = levels(Link::Ethernet, octets, original);
        with_nsdu += u32::from(whole.nsdu.is_ok());
        for captured in 0..original {
            let cut = levels(Link::Ethernet, &octets[..captured], original);
            let name = format!("{} cut to {captured} octets", seed.name);
            assert!([None, whole.lpdu_octets].contains(&cut.lpdu_octets), "{name}");
            assert!([None, whole.npdu_octets].contains(&cut.npdu_octets), "{name}");
            match (cut.nsdu, whole.nsdu) {
                (Ok(cut), Ok(whole)) => {
                    let octets = cut.octets.len() + cut.missing_octets;
                    assert_eq!(octets, whole.octets.len(), "{name}");
                    assert!(whole.octets.starts_with(cut.octets), "{name}");
                    assert_eq!(cut.destination_nsap, whole.destination_nsap, "{name}");
                }
                // Without its code, the connectionless transport protocol looks like the
                // connection-oriented one.
                (Ok(cut), Err(why)) => {
                    assert_eq!(why, NoNsdu::Foreign("connectionless transport"), "{name}");
                    assert!(cut.octets.len() < 2, "{name}");
                }
                (Err(NoNsdu::Stream(cut)), Err(NoNsdu::Stream(whole))) => {
                    assert_eq!(cut.octets.len() + cut.missing_octets, whole.octets.len());
                    assert!(whole.octets.starts_with(cut.octets), "{name}");
                }
                (Err(NoNsdu::Leaf(cut)), Err(NoNsdu::Leaf(whole))) => {
                    let octets = cut.octets.len() + cut.missing_octets;
                    assert_eq!(octets, whole.octets.len(), "{name}");
                    assert_eq!(cut.kind, whole.kind, "{name}");
                }
                (Err(NoNsdu::Datagram(cut)), Err(NoNsdu::Datagram(whole))) => {
                    assert_eq!(cut.octets.len() + cut.missing_octets, whole.octets.len());
                    assert!(whole.octets.starts_with(cut.octets), "{name}");
                }
                (Err(why), whole) => {
                    let is_same = whole.is_err_and(|whole| whole == why);
                    assert!(is_same || why == NoNsdu::Foreign(CUT), "{name}: {why:?}");
                }
            }
        }
    }
    assert!(with_nsdu > 15, "only {with_nsdu} frames carry TPDUs");
}

/// Names of the layers of a frame cut to `captured` octets; `~` marks a layer in whose header the
/// capture ends.
fn names(octets: &[u8], captured: usize) -> String {
    let dissection = dissect_cut(Link::Ethernet, &octets[..captured], octets.len());
    assert_eq!(dissection.fault, None, "{captured} octets");
    let name = |layer: &Layer<'_>| match layer {
        Layer::Cut(name, there) => {
            assert!(octets[..captured].ends_with(there), "{captured} octets: {layer}");
            format!("~{name}")
        }
        Layer::InactiveNetwork => "inactive".to_owned(),
        Layer::Tp(pdu, _) => pdu.kind().to_string(),
        layer => layer.to_string().split(' ').next().unwrap().to_owned(),
    };
    let (end, layers) = dissection.layers.split_last().unwrap();
    assert!(matches!(end, Layer::Missing { .. }), "{captured} octets: {end}");
    layers.iter().map(name).collect::<Vec<_>>().join(" ")
}

/// Compares each cut of a frame with the layers expected from that length on.
#[track_caller]
fn check_names(octets: &[u8], expected: &[(usize, &str)]) {
    for captured in 0..octets.len() {
        let (_, layers) = expected.iter().rfind(|(from, _)| *from <= captured).unwrap();
        assert_eq!(names(octets, captured), *layers, "{captured} octets");
    }
}

/// Frame from station 1 to station 2.
fn frame(rest: &str) -> Vec<u8> {
    seeds::hex(&format!("020000000002 020000000001 {rest}"))
}

#[test]
fn a_cut_frame_shows_each_layer_that_is_there_down_to_s7() {
    // 802.1Q, IPv4 with TCP to port 102, and a TPKT with a DT of class 0 and an S7 job of 14 octets of parameters.
    let ip = "4500 0047 0001 0000 4006 0000 0a000001 0a000002";
    let tcp = "9c40 0066 00000001 00000001 5018 0100 0000 0000";
    let s7 = "0300001f 02f080 32010000 0007 000e 0000 0401120a100200080001840000a0";
    let octets = frame(&format!("8100 0001 0800 {ip} {tcp} {s7}"));
    assert_eq!(octets.len(), 18 + 20 + 20 + 31);
    check_names(
        &octets,
        &[
            (0, ""),
            (1, "~MAC"),
            (18, "MAC"),
            (19, "MAC ~IPv4"),
            (38, "MAC IPv4"),
            (39, "MAC IPv4 ~TCP"),
            (58, "MAC IPv4 TCP"),
            // One octet might be anything.
            (59, "MAC IPv4 TCP data"),
            (60, "MAC IPv4 TCP ~TPKT"),
            (62, "MAC IPv4 TCP TPKT"),
            (63, "MAC IPv4 TCP TPKT ~TPDU"),
            (64, "MAC IPv4 TCP TPKT ~DT"),
            (65, "MAC IPv4 TCP TPKT DT"),
            (67, "MAC IPv4 TCP TPKT DT ~S7"),
            (75, "MAC IPv4 TCP TPKT DT S7"),
        ],
    );
}

#[test]
fn a_cut_frame_shows_each_layer_that_is_there_of_class_4() {
    // LLC, the inactive network layer, an AK of 5 octets and a DT of 5 with 8 octets of data.
    let octets = frame("0016 fefe03 00 0460010102 04f0020280 3131313131313131");
    check_names(
        &octets,
        &[
            (0, ""),
            (1, "~MAC"),
            (14, "MAC"),
            (15, "MAC ~LLC"),
            (17, "MAC LLC"),
            (18, "MAC LLC inactive"),
            (19, "MAC LLC inactive ~TPDU"),
            (20, "MAC LLC inactive ~AK"),
            (23, "MAC LLC inactive AK"),
            (24, "MAC LLC inactive AK ~TPDU"),
            (25, "MAC LLC inactive AK ~DT"),
            (28, "MAC LLC inactive AK DT"),
        ],
    );
}

#[test]
fn a_cut_header_of_each_other_protocol_is_named() {
    let clnp = "81 18 01 40 1c 001b 0000 06 490001020301 06 490001020401 00 02f080";
    for (rest, end, layers) in [
        ("0009 aaaa03 000000 0800 45", 19, "MAC LLC ~SNAP"),
        (&format!("001e fefe03 {clnp}"), 30, "MAC LLC ~CLNP"),
        ("000d fefe03 820a0100 04012c 0000 00", 22, "MAC LLC ~ES-IS"),
        ("000c fefe03 831b0100 1001 00 00 07", 22, "MAC LLC ~IS-IS"),
        ("8847 00001040 00002140 4500", 16, "MAC ~MPLS"),
        ("86dd 60000000 0000 3b 40 0000", 20, "MAC ~IPv6"),
    ] {
        assert_eq!(names(&frame(rest), end), layers);
    }
}

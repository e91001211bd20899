//! Reactions of an entity to TPDUs that are invalid, forged, old, or too many.

use crate::lone::{Lone, PEER, connect, hex, station};
use bytes::Bytes;
use stack::tp4::{Entity, Params, Request, State};
use wire::checksum::Fletcher;
use wire::tp::{Kind, Parameter, seal};

fn cr(class: u8, parameters: &[Parameter<'_>], data: &[u8]) -> Vec<u8> {
    connect(Kind::Cr, [0, PEER], class, parameters, data)
}

const NOTHING: [&str; 0] = [];

#[test]
fn a_refusal_has_the_reason_of_the_standard_and_no_reference() {
    // ISO 8073 6.6.3, 6.5.4, 13.3.4.
    let mut lone = Lone::new(Params::lan());
    lone.entity.serve(Bytes::from_static(b"here"));
    let mut refusal = |octets: Vec<u8>| lone.hear(&octets).join("; ");
    let refused = |reason| format!("TP DR 0x0000>0x0707 reason={reason} checksum");
    // A CR of a class without checksum is refused, not mistaken for a damaged one.
    assert_eq!(refusal(cr(0x00, &[], b"")), refused(130));
    assert_eq!(refusal(cr(0x20, &[], b"")), refused(130));
    assert_eq!(refusal(cr(0x40, &[Parameter::AlternativeClasses(&[0x21])], b"")), refused(133));
    assert_eq!(refusal(cr(0x40, &[Parameter::CalledTsap(b"there")], b"")), refused(3));
    assert_eq!(refusal(cr(0x40, &[], &[7; 33])), refused(133), "33 octets of user data");
    let long = [Parameter::CalledTsap(&[1; 100])];
    // 7 + 102 + 4 + 16 = 129 octets.
    assert_eq!(refusal(cr(0x40, &long, &[7; 16])), refused(138));
    assert_eq!(refusal(connect(Kind::Cr, [9, PEER], 0x40, &[], b"")), refused(133));
    assert_eq!(refusal(connect(Kind::Cr, [0, 0], 0x40, &[], b"")), "", "no reference to answer to");
    assert_eq!(lone.entity.connections(), 0);
    assert_eq!(lone.entity.counters().refusals, 7);
    let wanted = cr(0x40, &[Parameter::CalledTsap(b"here")], b"");
    assert_eq!(lone.hear(&wanted)[0], "Connect");
}

#[test]
fn a_class_4_cr_without_a_correct_checksum_is_ignored() {
    // ISO 8073 6.17.3.
    let mut lone = Lone::new(Params::lan());
    assert_eq!(lone.hear(&hex("06 e8 0000 0707 40")), NOTHING);
    let mut damaged = cr(0x40, &[], b"abc");
    *damaged.last_mut().unwrap() ^= 0x10;
    assert_eq!(lone.hear(&damaged), NOTHING);
    assert_eq!(lone.entity.counters().bad_checksum, 2);
}

#[test]
fn the_checksum_detects_every_octet_change_except_00_and_ff() {
    let whole = cr(0x40, &[], &[0; 4]);
    let last = whole.len() - 1;
    let good: Vec<u8> = (0..=255)
        .filter(|octet| {
            let mut changed = whole.clone();
            changed[last] = *octet;
            Fletcher::of(&changed).is_good()
        })
        .collect();
    assert_eq!(good, [0, 255], "modulo 255 they are equal");
}

#[test]
fn invalid_tpdus_get_an_er_and_the_third_ends_the_connection() {
    // ISO 8073 6.22.3, 13.2.3, 13.12.3.
    let mut lone = Lone::open(Params::lan());
    // An unknown parameter in a DT: cause 1, up to the parameter code.
    let lines = lone.hear(&hex("07 f0 0001 80 3f 01 00 41"));
    assert_eq!(lines, ["TP ER 0x0707 cause=1 invalid=07f00001803f"]);
    // An RJ, which class 4 does not have: cause 2, up to the code.
    assert_eq!(lone.hear(&hex("04 50 0001 00")), ["TP ER 0x0707 cause=2 invalid=0450"]);
    // A DT whose parameter reaches past the header.
    let lines = lone.hear(&hex("06 f0 0001 80 c3 09 41"));
    assert_eq!(
        lines,
        ["TP DR 0x0001>0x0707 reason=133", "Disconnect: protocol error"],
        "three are too many"
    );
    assert_eq!(lone.entity.counters().protocol_errors, 3);
}

#[test]
fn each_kind_of_invalid_tpdu_has_its_reject_cause() {
    let expedited = Params { expedited: true, ..Params::lan() };
    for (params, octets, answer) in [
        (Params::lan(), "04 10 0001 80 41", "TP ER 0x0707 cause=2 invalid=0410"),
        (Params::lan(), "04 20 0001 00", "TP ER 0x0707 cause=2 invalid=0420"),
        (expedited.clone(), "04 10 0001 80", "TP ER 0x0707 cause=3 invalid=0410000180"),
        (expedited.clone(), "04 10 0001 00 41", "TP ER 0x0707 cause=3 invalid=0410000100"),
        (
            expedited,
            "04 10 0001 80 4142434445464748494a4b4c4d4e4f5051",
            "TP ER 0x0707 cause=3 invalid=041000018041",
        ),
        (Params::lan(), "07 68 0001 00 8a 01 00", "TP ER 0x0707 cause=3 invalid=07680001008a"),
    ] {
        assert_eq!(Lone::open(params).hear(&hex(octets)), [answer], "{octets}");
    }
}

#[test]
fn a_dt_beyond_the_agreed_size_is_an_error() {
    // 1,024 octets were agreed on: 5 of header leave 1,019.
    let mut octets = hex("04 f0 0001 80");
    octets.resize(5 + 1_019, 0x41);
    assert!(Lone::open(Params::lan()).hear(&octets)[0].starts_with("Data A"));
    octets.push(0x41);
    assert!(Lone::open(Params::lan()).hear(&octets)[0].starts_with("TP ER 0x0707 cause=0"));
}

#[test]
fn inseparable_octets_of_an_nsdu_are_counted_and_dropped() {
    let mut lone = Lone::open(Params::lan());
    for octets in ["", "ff f0 0001 80", "01 f0", "30 f0 0001 80", "04 30 0001 80"] {
        assert_eq!(lone.hear(&hex(octets)), NOTHING, "{octets}");
    }
    assert_eq!(lone.entity.counters().malformed, 4, "an empty NSDU is none");
}

#[test]
fn every_length_indicator_and_every_code_is_borne() {
    for code in 0..=255 {
        let mut lone = Lone::open(Params { expedited: true, ..Params::lan() });
        for indicator in 0..=255 {
            let mut octets = vec![indicator, code, 0, 1, 0x80];
            octets.resize(5 + usize::from(code), indicator);
            lone.hear(&octets);
            assert!(lone.entity.connections() <= 1);
        }
    }
}

#[test]
fn unknown_references_are_answered_by_the_standard() {
    let mut lone = Lone::open(Params::lan());
    // 6.9.4.2 a: a DR is confirmed unless it names no source, a CC refused, the rest ignored.
    let dr = "06 80 0099 0707 80";
    assert_eq!(lone.hear(&hex(dr)), ["TP DC 0x0099>0x0707 checksum"]);
    assert_eq!(lone.hear(&hex("06 80 0099 0000 80")), NOTHING);
    let cc = "06 d8 0099 0707 40";
    assert_eq!(lone.hear(&hex(cc)), ["TP DR 0x0099>0x0707 reason=132 checksum"]);
    for ignored in ["04 f0 0099 80 41", "04 68 0099 00", "05 c0 0099 0707", "04 70 0099 00"] {
        assert_eq!(lone.hear(&hex(ignored)), NOTHING, "{ignored}");
    }
    // For another station our reference is unknown.
    assert_eq!(lone.hear_from(2, &hex("06 80 0001 0707 80")), ["TP DC 0x0001>0x0707 checksum"]);
    // 6.9.4.2 c, d, e: the right reference, and a source that is not our peer's.
    assert_eq!(lone.hear(&hex("05 c0 0001 0999")), NOTHING);
    assert_eq!(lone.hear(&hex("06 80 0001 0999 80")), ["TP DC 0x0001>0x0999 checksum"]);
    assert_eq!(lone.hear(&hex("06 d8 0001 0999 40")), ["TP DR 0x0001>0x0999 reason=132 checksum"]);
    assert_eq!(lone.entity.state(lone.endpoint.unwrap()), State::Open, "the connection stays open");
    let counters = lone.entity.counters();
    assert_eq!(counters.unknown_reference, 11);
    assert_eq!((counters.sent[Kind::Dc as usize], counters.sent[Kind::Dr as usize]), (3, 2));
}

#[test]
fn a_frozen_reference_confirms_a_dr_and_refuses_a_cc() {
    // ISO 8073 6.18, 12.2.2.2 b 4.
    let mut lone = Lone::open(Params::lan());
    let released = lone.hear(&hex("06 80 0001 0707 80"));
    assert_eq!(released[0], "TP DC 0x0001>0x0707");
    assert_eq!(lone.hear(&hex("06 80 0001 0707 80")), ["TP DC 0x0001>0x0707"]);
    assert_eq!(lone.hear(&hex("06 d8 0001 0707 40")), ["TP DR 0x0001>0x0707 reason=132"]);
    for ignored in ["04 f0 0001 80 41", "04 68 0001 00", "04 70 0001 00"] {
        assert_eq!(lone.hear(&hex(ignored)), NOTHING, "{ignored}");
    }
    assert_eq!(lone.hear(&cr(0x40, &[], b"")), NOTHING, "its peer has it frozen as well");
    assert_eq!(lone.entity.counters().frozen_reference, 6);
    assert_eq!(lone.pass(1_900), NOTHING);
    assert_eq!(lone.entity.connections(), 0);
}

#[test]
fn a_forged_ak_frees_nothing() {
    // ISO 8073 12.2.3.6, 6.13.
    let mut lone = Lone::open(Params::lan());
    assert_eq!(lone.send(b"one"), ["TP DT 0x0707 nr=0 eot 3 octets"]);
    // Beyond the DTs sent, and from another station.
    assert_eq!(lone.hear(&hex("04 6f 0001 02")), NOTHING);
    assert_eq!(lone.hear_from(2, &hex("04 6f 0001 01")), NOTHING);
    assert_eq!(lone.entity.counters().stale_acknowledgements, 1);
    assert_eq!(lone.pass(100), ["TP DT 0x0707 nr=0 eot 3 octets"], "it is still retained");
    assert_eq!(lone.hear(&hex("04 6f 0001 01")), ["Drained"]);
}

#[test]
fn dts_beyond_the_credit_are_dropped_and_counted() {
    // ISO 8073 12.2.3.5, 6.16.
    let mut lone = Lone::open(Params { window: 2, ..Params::lan() });
    for number in 2..128_u8 {
        lone.hear(&[4, 0xF0, 0, 1, 0x80 | number, 0x41]);
    }
    let counters = lone.entity.counters();
    assert_eq!(counters.outside_window + counters.duplicates, 126);
    assert_eq!(counters.out_of_order, 0, "none was kept");
}

#[test]
fn a_silent_half_open_peer_is_dropped_in_bounded_time() {
    // ISO 8073 12.2.1.2, 12.2.4.
    let params = Params::lan();
    let mut lone = Lone::new(params.clone());
    lone.hear(&cr(0x40, &[], b""));
    assert_eq!(lone.entity.connections(), 1);
    // CC and then DR are sent N times each, T1 apart, with T1 + M_RL at the end; then L.
    let tries = params.retransmission_time * params.transmissions + params.nsdu_lifetime;
    let all = tries * 2 + params.reference_time;
    let lines = lone.pass(all.as_millis() as u64);
    assert_eq!(lines.iter().filter(|line| line.starts_with("TP CC")).count(), 7);
    assert_eq!(lines.iter().filter(|line| line.starts_with("TP DR")).count(), 8);
    assert_eq!(lone.entity.connections(), 0);
}

#[test]
fn a_flood_of_crs_fills_the_half_open_places_and_no_more() {
    let params = Params { half_open: 50, connections: 200, ..Params::lan() };
    let mut lone = Lone::new(params);
    let mut refused = 0;
    for reference in 1..=10_000 {
        let lines = lone.hear_from(2, &connect(Kind::Cr, [0, reference], 0x40, &[], b""));
        refused += usize::from(lines[0].contains("reason=129"));
    }
    assert_eq!((lone.entity.connections(), refused), (50, 9_950));
    assert_eq!(lone.entity.counters().refusals, 9_950);
    // Places remain for connections requested by this side.
    let endpoint = lone.entity.endpoint();
    let (called, calling, data) = (Bytes::new(), Bytes::new(), Bytes::new());
    let peer = station(3);
    let lines = lone.request(Request::Connect { endpoint, peer, called, calling, data });
    assert!(lines[0].starts_with("TP CR"), "{lines:?}");
}

#[test]
fn a_refused_user_leaves_nothing_behind() {
    let mut lone = Lone::new(Params { connections: 3, ..Params::lan() });
    for reference in 1..100 {
        let octets = connect(Kind::Cr, [0, reference], 0x40, &[], b"");
        let nsdu = stack::tp4::Nsdu { peer: station(1), packet: Bytes::from(octets).into() };
        use stack::machine::{Machine, Output};
        lone.entity.receive(lone.now, nsdu);
        while let Some(output) = lone.entity.poll() {
            if let Output::Deliver(stack::tp4::Indication::Connect { endpoint, .. }) = output {
                lone.entity.request(lone.now, Request::Disconnect { endpoint, reason: 3 });
            }
        }
        assert_eq!(lone.entity.connections(), 0);
    }
    assert_eq!(lone.entity.counters().refusals, 99);
}

#[test]
fn references_go_round_before_one_comes_back() {
    // ISO 8073 6.18.
    let mut lone = Lone::new(Params { connections: 10, ..Params::lan() });
    let mut seen = Vec::new();
    for _ in 0..5 {
        let endpoint = lone.entity.endpoint();
        let (called, calling, data) = (Bytes::new(), Bytes::new(), Bytes::new());
        let peer = station(1);
        let lines = lone.request(Request::Connect { endpoint, peer, called, calling, data });
        seen.push(lines[0][6..12].to_owned());
        lone.request(Request::Disconnect { endpoint, reason: 128 });
        lone.pass(5_000);
    }
    assert_eq!(seen, ["0x0001", "0x0002", "0x0003", "0x0004", "0x0005"]);
}

#[test]
fn references_wrap_to_the_first_free_one() {
    let mut lone = Lone::new(Params::lan());
    lone.entity = Entity::new(Params::lan(), 0xFFFE);
    let mut seen = Vec::new();
    for _ in 0..3 {
        let endpoint = lone.entity.endpoint();
        let (called, calling, data) = (Bytes::new(), Bytes::new(), Bytes::new());
        let peer = station(1);
        let lines = lone.request(Request::Connect { endpoint, peer, called, calling, data });
        seen.push(lines[0][6..12].to_owned());
    }
    // Zero is not assigned.
    assert_eq!(seen, ["0xffff", "0x0001", "0x0002"]);
}

#[test]
fn a_cr_has_at_most_128_octets() {
    // ISO 8073 6.5.4: 7 and 4 of the checksum, 2 and 50 of one TSAP-ID, 2 and 63 of the other.
    let longest = |octets| vec![b'x'; octets];
    for (octets, accepted) in [(63, true), (64, false)] {
        let (called, calling) = (longest(50), longest(octets));
        let parameters = [Parameter::CalledTsap(&called), Parameter::CallingTsap(&calling)];
        let mut lone = Lone::new(Params::lan());
        let lines = lone.hear(&cr(0x40, &parameters, b""));
        assert_eq!(lines[0] == "Connect", accepted, "{lines:?}");
        let counters = lone.entity.counters();
        assert_eq!(counters.protocol_errors, u64::from(!accepted));
        assert_eq!(counters.received[Kind::Cr as usize], u64::from(accepted));
    }
}

#[test]
fn a_malformed_tpdu_with_a_correct_checksum_gets_an_er() {
    // ISO 8073 6.17.3, 6.22.3. A CR whose last parameter is truncated: 4 octets of checksum, then
    // C0.
    let malformed = |tpdu: &str, at: usize| {
        let mut octets = hex(tpdu);
        seal(&mut octets, at, b"");
        octets
    };
    let mut lone = Lone::new(Params::lan());
    let mut octets = malformed("0d e0 0000 0707 40 c3 02 0000 c0 05 0a", 9);
    assert_eq!(lone.hear(&octets), ["TP DR 0x0000>0x0707 reason=138 checksum"]);
    octets[6] ^= 1;
    assert_eq!(lone.hear(&octets), NOTHING, "it was damaged");
    assert_eq!(lone.entity.counters().malformed, 2);
    // An AK in the extended format likewise, where the checksum was agreed on.
    lone.hear(&cr(0x42, &[Parameter::AdditionalOptions(0)], b""));
    let mut octets = malformed("10 60 0001 00000000 0008 c3 02 0000 8a 05 00", 12);
    let er = lone.hear(&octets);
    assert!(er[0].starts_with("TP ER 0x0707 cause=3"), "{er:?}");
    octets[8] ^= 1;
    assert_eq!(lone.hear(&octets), NOTHING, "it was damaged");
    assert_eq!(lone.entity.counters().malformed, 4);
}

#[test]
fn received_tpdus_are_counted_by_kind() {
    let mut lone = Lone::open(Params { expedited: true, ..Params::lan() });
    let tpdus = ["04 f0 0001 80 41", "04 10 0001 80 42", "04 68 0001 00", "04 20 0001 05"];
    for tpdu in tpdus {
        lone.hear(&hex(tpdu));
    }
    // The CR arrived again, and the handshake ended with an AK.
    lone.hear(&cr(0x40, &[], b""));
    lone.hear(&hex("06 80 0001 0707 80"));
    let counters = lone.entity.counters();
    let counted = [Kind::Cr, Kind::Dt, Kind::Ed, Kind::Ak, Kind::Ea, Kind::Dr]
        .map(|kind| counters.received[kind as usize]);
    assert_eq!(counted, [2, 1, 1, 2, 1, 1]);
}

#[test]
fn no_timer_runs_while_the_users_answer_is_pending() {
    // ISO 8073 12.2.2.2 b 2: the peer's T1 covers the CR.
    use stack::machine::Machine;
    let mut entity = Entity::new(Params::lan(), 0);
    let packet = Bytes::from(cr(0x40, &[], b"")).into();
    entity.receive(wire::time::Instant::ZERO, stack::tp4::Nsdu { peer: station(1), packet });
    assert_eq!(entity.connections(), 1);
    assert_eq!(entity.deadline(), None);
}

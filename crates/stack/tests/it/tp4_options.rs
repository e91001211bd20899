//! Expedited data, credit reduction, concatenation, and each policy, TPDU by TPDU.

use crate::lone::{Lone, PEER, connect, hex};
use bytes::Bytes;
use core::time::Duration;
use stack::tp4::{Acknowledgement, Credit, Params, Request, Retransmission, RetransmissionTimer};
use wire::tp::{Format, Kind, Parameter};

const NOTHING: [&str; 0] = [];

fn expedited() -> Lone {
    Lone::open(Params { expedited: true, ..Params::lan() })
}

/// DT in the normal format that ends its TSDU.
fn dt(number: u8) -> Vec<u8> {
    vec![4, 0xF0, 0, 1, 0x80 | number, b'x']
}

/// AK in the normal format.
fn ak(next: u8, credit: u8) -> Vec<u8> {
    vec![4, 0x60 | credit, 0, 1, next]
}

#[test]
fn expedited_data_goes_before_all_data_sent_after_it() {
    // ISO 8073 12.2.3.4: no DT with a higher number until the EA.
    let mut lone = expedited();
    assert_eq!(lone.send(b"a"), ["TP DT 0x0707 nr=0 eot 1 octets"]);
    assert_eq!(lone.expedite(b"now"), ["TP ED 0x0707 nr=0 3 octets"]);
    assert_eq!(lone.send(b"b"), NOTHING, "it waits for the EA");
    assert_eq!(lone.expedite(b"too"), NOTHING, "one ED at a time");
    assert_eq!(lone.hear(&hex("04 20 0001 05")), NOTHING, "an ED that was never sent");
    assert_eq!(lone.hear(&hex("04 20 0001 00")), ["TP ED 0x0707 nr=1 3 octets"]);
    assert_eq!(lone.hear(&hex("04 20 0001 01")), ["TP DT 0x0707 nr=1 eot 1 octets"]);
}

#[test]
fn an_ed_is_retransmitted_unchanged_and_abandoned_like_a_dt() {
    let params = Params { expedited: true, ..Params::lan() };
    let mut lone = Lone::open(params.clone());
    lone.expedite(b"now");
    let sent = lone.pass(700);
    assert_eq!(sent, ["TP ED 0x0707 nr=0 3 octets"; 7], "N is 8");
    // T1 + W + M_RL after the last; AKs of the window timer do not answer it.
    let lines = lone.pass(100 + 2_000 + 499);
    assert!(lines.iter().all(|line| line.starts_with("TP AK")), "{lines:?}");
    assert!(lone.pass(1).contains(&"Disconnect: data not acknowledged".to_owned()));
    let counters = lone.entity.counters();
    assert_eq!((counters.expedited_again, counters.t1, counters.gave_up), (7, 7, 1));
}

#[test]
fn every_ed_draws_an_ea_and_is_delivered_once() {
    // ISO 8073 6.11.4, 12.2.3.4.
    let mut lone = expedited();
    let ed = hex("04 10 0001 80 414243");
    assert_eq!(lone.hear(&ed), ["TP EA 0x0707 nr=0", "Expedited ABC"]);
    assert_eq!(lone.hear(&ed), ["TP EA 0x0707 nr=0"], "the first EA may be lost");
    assert_eq!(lone.hear(&hex("04 10 0001 81 44")), ["TP EA 0x0707 nr=1", "Expedited D"]);
    assert_eq!(lone.entity.counters().expedited_duplicates, 1);
}

#[test]
fn expedited_data_that_cannot_be_sent_is_handed_back() {
    // ISO 8073 6.11, 13.8.4.
    assert_eq!(Lone::open(Params::lan()).expedite(b"x"), ["ExpeditedRefused"], "not agreed on");
    assert_eq!(expedited().expedite(b""), ["ExpeditedRefused"]);
    assert_eq!(expedited().expedite(b"0123456789abcdefg"), ["ExpeditedRefused"], "17 octets");
    let mut lone = expedited();
    let refused = (0..20).filter(|_| lone.expedite(b"x") == ["ExpeditedRefused"]).count();
    assert_eq!(refused, 12, "eight are waiting");
}

#[test]
fn a_credit_reduction_is_numbered_repeated_and_confirmed() {
    let params = Params { credit: Credit::ByUser, window: 8, ..Params::lan() };
    let mut lone = Lone::open(params);
    let endpoint = lone.endpoint.unwrap();
    let reduced = lone.request(Request::Withdraw { endpoint, buffers: 5 });
    // 12.2.3.8.2: the first AK, but the CC gave 8 with the same number. It is repeated until confirmed.
    assert_eq!(reduced, ["TP AK 0x0707 nr=0 credit=3 subsequence=1"]);
    assert_eq!(lone.pass(100), ["TP AK 0x0707 nr=0 credit=3 subsequence=1"]);
    // A confirmation of another AK has no effect.
    lone.hear(&hex("0e 68 0001 00 8c 08 00000000 0000 0008"));
    assert_eq!(lone.pass(100).len(), 1);
    lone.hear(&hex("0e 68 0001 00 8c 08 00000000 0001 0003"));
    assert_eq!(lone.pass(1_000), NOTHING, "12.2.3.8.4 a");
    // A DT beyond the new window is not accepted.
    assert!(lone.hear(&dt(3))[0].starts_with("TP AK 0x0707 nr=0 credit=3"));
    assert_eq!(lone.entity.counters().outside_window, 1);
    assert_eq!(lone.entity.counters().credit_reductions, 1);
}

#[test]
fn a_reopened_window_is_repeated_until_a_dt_arrives() {
    let params = Params { credit: Credit::ByUser, window: 1, ..Params::lan() };
    let mut lone = Lone::open(params);
    let endpoint = lone.endpoint.unwrap();
    assert_eq!(lone.hear(&dt(0)), ["Data x", "TP AK 0x0707 nr=1 credit=0"]);
    let opened = lone.request(Request::GiveBack { endpoint, buffers: 1 });
    assert_eq!(opened, ["TP AK 0x0707 nr=1 credit=1"]);
    // 12.2.3.8.3: without it the peer would wait for W, 2 s.
    assert_eq!(lone.pass(250), ["TP AK 0x0707 nr=1 credit=1"; 2]);
    assert_eq!(lone.hear(&dt(1)), ["Data x", "TP AK 0x0707 nr=2 credit=0"]);
    assert_eq!(lone.pass(1_000), NOTHING, "closed again: no AK to repeat");
}

#[test]
fn a_repeated_ak_stops_after_n_transmissions() {
    let params = Params { credit: Credit::ByUser, window: 1, ..Params::lan() };
    let mut lone = Lone::open(params);
    let endpoint = lone.endpoint.unwrap();
    lone.hear(&dt(0));
    lone.request(Request::GiveBack { endpoint, buffers: 1 });
    assert_eq!(lone.pass(1_500).len(), 7, "N is 8, and then W goes on");
}

#[test]
fn taut_flow_control_closes_and_opens_for_each_dt() {
    // NBSIR 85-3104: two AKs for each DT.
    let mut lone = Lone::open(Params { credit: Credit::Taut, ..Params::lan() });
    let endpoint = lone.endpoint.unwrap();
    for number in 0..5 {
        let closed = lone.hear(&dt(number));
        assert_eq!(closed[1], format!("TP AK 0x0707 nr={} credit=0", number + 1));
        let opened = lone.request(Request::GiveBack { endpoint, buffers: 1 });
        assert_eq!(opened, [format!("TP AK 0x0707 nr={} credit=1", number + 1)]);
    }
}

#[test]
fn window_information_of_the_peer_is_confirmed_once() {
    let mut lone = Lone::open(Params::lan());
    assert_eq!(lone.hear(&ak(0, 8)), NOTHING, "W's: the window was never reduced");
    // 12.2.3.9 b: closed, then opened, with nothing to send.
    lone.send(b"a");
    assert_eq!(lone.hear(&ak(1, 0)), ["Drained"]);
    assert_eq!(lone.hear(&ak(1, 4)), ["TP AK 0x0707 nr=0 credit=15 confirms=1/0/4"]);
    // 12.2.3.9 a: a duplicate gets a confirmation. A duplicate that carries one does not, or two
    // entities would answer each other forever.
    assert_eq!(lone.hear(&ak(1, 4)), ["TP AK 0x0707 nr=0 credit=15 confirms=1/0/4"]);
    assert_eq!(lone.hear(&hex("0e 64 0001 01 8c 08 00000000 0000 000f")), NOTHING);
    // 12.2.3.9 c: reduced to 1, then raised to 2.
    assert_eq!(lone.hear(&hex("08 61 0001 01 8a 02 0001")), NOTHING);
    let raised = lone.hear(&hex("08 62 0001 01 8a 02 0001"));
    assert_eq!(raised, ["TP AK 0x0707 nr=0 credit=15 confirms=1/1/2"]);
    // With data to send, the DT serves as confirmation.
    lone.send(b"b");
    lone.hear(&ak(2, 0));
    assert_eq!(lone.send(b"c"), NOTHING);
    assert_eq!(lone.hear(&ak(2, 1)), ["TP DT 0x0707 nr=2 eot 1 octets"]);
    assert_eq!(lone.entity.counters().confirmations, 3);
}

#[test]
fn reduced_credit_stops_retransmission_until_it_grows_again() {
    let mut lone = Lone::open(Params::lan());
    for _ in 0..3 {
        lone.send(b"x");
    }
    lone.hear(&hex("08 60 0001 00 8a 02 0001"));
    assert_eq!(lone.pass(1_900), NOTHING, "12.2.1.2 j: no retransmission outside the window");
    assert_eq!(lone.entity.counters().t1, 0);
    lone.hear(&hex("08 62 0001 00 8a 02 0001"));
    assert_eq!(lone.pass(100)[0], "TP DT 0x0707 nr=0 eot 1 octets");
}

#[test]
fn each_acknowledgement_policy_sends_its_aks() {
    for (policy, expected) in [
        (Acknowledgement::Each, [1, 1, 1, 1]),
        (Acknowledgement::Withhold, [0, 0, 1, 0]),
        (Acknowledgement::Delay, [0, 0, 0, 0]),
    ] {
        let params = Params { acknowledgement: policy, acknowledge_every: 3, ..Params::lan() };
        let mut lone = Lone::open(params);
        let sent = [0, 1, 2, 3].map(|number| lone.hear(&dt(number)).len() - 1);
        assert_eq!(sent, expected, "{policy:?}");
        let late = usize::from(policy != Acknowledgement::Each);
        assert_eq!(lone.pass(10).len(), late, "{policy:?}: A_L");
    }
}

#[test]
fn acknowledgement_on_request_is_negotiated_and_requested() {
    let params = Params { acknowledgement: Acknowledgement::OnRequest, ..Params::lan() };
    let mut lone = Lone::new(Params { checksum: false, extended: false, ..params });
    let options = [Parameter::TpduSize(7), Parameter::AdditionalOptions(0x22)];
    let lines = lone.hear(&connect(Kind::Cr, [0, PEER], 0x40, &options, b""));
    assert!(lines[1].contains("options=22"), "{lines:?}");
    lone.hear(&ak(0, 8));
    // 123 octets per DT: the last of three requests.
    let sent = lone.send(&[b'x'; 300]);
    assert_eq!(sent[0], "TP DT 0x0707 nr=0 123 octets");
    assert_eq!(sent[2], "TP DT 0x0707 nr=2 eot roa 54 octets");
    assert_eq!(lone.hear(&dt(0)), ["Data x"]);
    assert_eq!(lone.hear(&hex("04 f1 0001 81 41")), ["Data A", "TP AK 0x0707 nr=2 credit=15"]);
}

#[test]
fn selective_retransmission_sends_only_lost_dts() {
    let lost_again = |policy| {
        let mut lone = Lone::open(Params { retransmission: policy, ..Params::lan() });
        for _ in 0..6 {
            lone.send(b"x");
        }
        // 0 and 3 are lost: the AK after the retransmission of 0 stops at 3.
        let mut again: Vec<_> = lone.pass(100).iter().map(|line| line[13..17].to_owned()).collect();
        again.extend(lone.hear(&ak(3, 8)).iter().map(|line| line[13..17].to_owned()));
        again.join(" ")
    };
    assert_eq!(lost_again(Retransmission::First), "nr=0");
    assert_eq!(lost_again(Retransmission::Selective), "nr=0 nr=3");
    assert_eq!(lost_again(Retransmission::All), "nr=0 nr=1 nr=2 nr=3 nr=4 nr=5");
}

#[test]
fn only_an_adaptive_t1_follows_the_round_trips() {
    // ISO 8073 12.2.1.1.4.
    for (timer, milliseconds) in
        [(RetransmissionTimer::Fixed, 100), (RetransmissionTimer::Adaptive, 12)]
    {
        let mut lone = Lone::open(Params { retransmission_timer: timer, ..Params::lan() });
        lone.send(b"a");
        lone.pass(4);
        lone.hear(&ak(1, 8));
        lone.send(b"b");
        // 4 ms, 4 x 2 ms, and the CR stated no acknowledge time.
        assert_eq!(lone.pass(milliseconds - 1), NOTHING, "{timer:?}");
        assert_eq!(lone.pass(1), ["TP DT 0x0707 nr=1 eot 1 octets"], "{timer:?}");
    }
}

#[test]
fn tpdus_of_one_peer_share_an_nsdu_if_configured() {
    // ISO 8073 6.4.2.
    let params = Params {
        concatenate: true,
        acknowledgement: Acknowledgement::Each,
        expedited: true,
        ..Params::lan()
    };
    let mut lone = Lone::open(params);
    let endpoint = lone.endpoint.unwrap();
    // Separation: an AK, an EA without ED and a DT in one NSDU, in order, the DT to the end.
    let joined = hex("04 68 0001 00 04 20 0001 05 04 f0 0001 80 4142");
    assert!(lone.hear(&joined).contains(&"Data AB".to_owned()));
    // A DT arrives and one is sent before the AK was polled: AK and DT share an NSDU.
    use stack::machine::{Machine, Output};
    use stack::tp4::Nsdu;
    let packet = Bytes::from(dt(1)).into();
    lone.entity.receive(lone.now, Nsdu { peer: crate::lone::station(1), packet });
    lone.entity.request(lone.now, Request::Data { endpoint, tsdu: Bytes::from_static(b"back") });
    let mut sent = Vec::new();
    while let Some(output) = lone.entity.poll() {
        if let Output::Send(nsdu) = output {
            sent.push(nsdu.packet.to_bytes());
        }
    }
    // AK 04 6f 0707 02; DT 04 f0 0707 80 "back".
    assert_eq!(sent, [hex("04 6f 0707 02 04 f0 0707 80 6261636b")]);
    assert_eq!(lone.entity.counters().concatenated, 1);
}

#[test]
fn credit_of_the_normal_format_is_limited_to_four_bits() {
    let params = Params { window: 100, acknowledgement: Acknowledgement::Each, ..Params::lan() };
    let mut lone = Lone::open(params.clone());
    assert!(lone.hear(&dt(0))[1].ends_with("credit=15"));
    // In the extended format CR and CC have four bits too, and the first AK grants the rest.
    let mut lone = Lone::new(Params { checksum: false, ..params });
    let lines =
        lone.hear(&connect(Kind::Cr, [0, PEER], 0x42, &[Parameter::AdditionalOptions(2)], b""));
    assert!(lines[1].contains("credit=15 extended"), "{lines:?}");
    lone.format = Format::Extended;
    let lines = lone.hear(&hex("07 f0 0001 80000000 41"));
    assert_eq!(lines[2], "TP AK 0x0707 nr=1 credit=100");
}

#[test]
fn the_initiator_answers_each_cc_with_an_ak_at_once() {
    let mut lone = Lone::new(Params { checksum: false, extended: false, ..Params::lan() });
    let endpoint = lone.entity.endpoint();
    let (called, calling, data) = (Bytes::new(), Bytes::new(), Bytes::new());
    let peer = crate::lone::station(1);
    lone.request(Request::Connect { endpoint, peer, called, calling, data });
    let options = [Parameter::TpduSize(10), Parameter::AdditionalOptions(2)];
    let cc = connect(Kind::Cc, [1, PEER], 0x40, &options, b"");
    assert_eq!(lone.hear(&cc), ["TP AK 0x0707 nr=0 credit=15", "Confirm"]);
    assert_eq!(lone.hear(&cc), ["TP AK 0x0707 nr=0 credit=15"], "12.2.2.2 b 3");
    let t1 = Duration::from_millis(100);
    assert_eq!(lone.entity.params().retransmission_time, t1);
    assert_eq!(lone.pass(1_900), NOTHING, "the CR is not retransmitted");
}

#[test]
fn an_invalid_cc_causes_a_dr_with_the_reason() {
    for (class, parameters, reason, told) in [
        (0x20, &[][..], 130, "negotiation failed"),
        (0x42, &[], 133, "protocol error"),
        (0x40, &[Parameter::TpduSize(13)], 133, "protocol error"),
        (0x40, &[Parameter::Unknown { code: 0x3F, octets: b"" }], 133, "protocol error"),
    ] {
        let mut lone = Lone::new(Params { extended: false, ..Params::lan() });
        let endpoint = lone.entity.endpoint();
        let (called, calling, data) = (Bytes::new(), Bytes::new(), Bytes::new());
        let peer = crate::lone::station(1);
        lone.request(Request::Connect { endpoint, peer, called, calling, data });
        let cc = connect(Kind::Cc, [1, PEER], class, parameters, b"");
        let lines = lone.hear(&cc);
        let dr = format!("TP DR 0x0001>0x0707 reason={reason} checksum");
        assert_eq!(lines, [dr, format!("Disconnect: {told}")], "{class:02x} {parameters:?}");
    }
}

#[test]
fn a_normal_format_number_waits_for_the_lifetime_of_old_dts() {
    // ISO 8073 12.2.3.5: 128 numbers less a window of 15 may be in use within M, 500 ms.
    let mut lone = Lone::open(Params::lan());
    for number in 0..113 {
        assert_eq!(lone.send(b"x").len(), 1, "{number}");
        lone.pass(1);
        lone.hear(&ak(number + 1, 8));
    }
    assert_eq!(lone.send(b"y"), NOTHING, "number 0 was sent 113 ms ago");
    assert_eq!(lone.pass(500 - 113 - 1), NOTHING);
    assert_eq!(lone.pass(1), ["TP DT 0x0707 nr=113 eot 1 octets"], "M");
    assert_eq!(lone.entity.counters().number_waits, 1);
}

#[test]
fn tpdus_are_big_endian_and_only_dt_and_ed_set_the_top_bit() {
    // ISO 8073 13.7.3, 13.8.3, 13.9.3, 13.9.4, 13.11.3, octet by octet; 13.2 of RFC 905 states the reverse.
    let params = Params { expedited: true, checksum: false, window: 0x0102, ..Params::lan() };
    let mut lone = Lone::new(params);
    lone.raw = true;
    let options = [Parameter::TpduSize(10), Parameter::AdditionalOptions(0x03)];
    lone.hear(&connect(Kind::Cr, [0, PEER], 0x42, &options, b""));
    lone.hear(&hex("09 60 0001 00000000 0008"));
    assert_eq!(lone.send(b"a"), ["07 f0 0707 80000000 61"]);
    assert_eq!(lone.expedite(b"b"), ["07 10 0707 80000000 62"]);
    assert_eq!(lone.hear(&hex("07 10 0001 80000000 63"))[0], "07 20 0707 00000000", "an EA");
    // 258 buffers: CDT 0102. A DT out of order causes an AK at once.
    assert_eq!(lone.hear(&hex("07 f0 0001 80000001 64")), ["09 60 0707 00000000 0102"]);
    // Three buffers less: a subsequence number of two octets.
    let endpoint = lone.endpoint.unwrap();
    let reduced = lone.request(Request::Withdraw { endpoint, buffers: 3 });
    assert_eq!(reduced, ["0d 60 0707 00000000 00ff 8a020001"]);
    // The peer closes the window, reduced with a subsequence number, and repeats it: 4, 2 and 2
    // octets.
    let closed = hex("0d 60 0001 00000000 0000 8a020005");
    lone.hear(&closed);
    let confirmed = "17 60 0707 00000000 00ff 8a0200018c080000000000050000";
    assert_eq!(lone.hear(&closed), [confirmed]);
}

#[test]
fn a_user_gets_ready_when_the_requested_room_is_free() {
    let mut lone = Lone::open(Params { queue_octets: 100, ..Params::lan() });
    (0..8).for_each(|_| drop(lone.send(b"x")));
    for _ in 0..6 {
        assert_eq!(lone.send(b"0123456789"), NOTHING, "eight are outstanding");
    }
    let endpoint = lone.endpoint.unwrap();
    assert_eq!(lone.entity.room(endpoint), 40);
    // At most 30 octets may wait then; each AK releases ten of the 60.
    assert!(!lone.entity.has_room(endpoint, 70));
    for next in 1..3 {
        assert_eq!(lone.hear(&ak(next, 8)).len(), 1, "{next}");
    }
    assert_eq!(lone.hear(&ak(3, 8)), ["TP DT 0x0707 nr=10 eot 10 octets", "Ready"]);
    assert_eq!(lone.hear(&ak(4, 8)).len(), 1, "one indication only");
    // An endpoint of an ended connection stays invalid.
    lone.hear(&hex("06 80 0001 0707 80"));
    lone.pass(5_000);
    let options = [Parameter::TpduSize(10), Parameter::AdditionalOptions(0x03)];
    lone.hear(&connect(Kind::Cr, [0, PEER], 0x40, &options, b""));
    assert!(!lone.entity.has_room(endpoint, 10));
    assert_eq!(lone.hear(&hex("04 68 0002 00")), ["Established"]);
}

#[test]
fn a_stale_or_used_endpoint_connects_nothing() {
    let mut lone = Lone::new(Params::lan());
    let endpoint = lone.entity.endpoint();
    let (called, calling, data) = (Bytes::new(), Bytes::new(), Bytes::new());
    let peer = crate::lone::station(1);
    let request = Request::Connect { endpoint, peer, called, calling, data };
    assert_eq!(lone.request(request.clone()).len(), 1);
    assert_eq!(lone.request(request.clone()), NOTHING, "it has its connection");
    assert_eq!(lone.entity.connections(), 1);
    // The CR is refused and its reference is released after L.
    lone.hear(&hex("06 80 0001 0000 80"));
    lone.pass(5_000);
    assert_eq!(lone.entity.connections(), 0);
    assert_eq!(lone.request(request), NOTHING, "it had its connection");
}

#[test]
fn number_wraps_are_counted() {
    let mut lone = Lone::open(Params { nsdu_lifetime: Duration::ZERO, ..Params::lan() });
    for number in 0..128_u8 {
        assert_eq!(lone.entity.counters().sequence_wraps, 0, "{number}");
        lone.send(b"x");
        lone.hear(&ak((number + 1) % 128, 8));
    }
    assert_eq!(lone.entity.counters().sequence_wraps, 1);
}

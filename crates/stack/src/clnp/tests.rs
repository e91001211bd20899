//! Two end systems: each NPDU is examined before it is passed on.

use super::*;
use bytes::Bytes;
use proptest::prelude::*;

const HERE: Mac = Mac::local(1);
const THERE: Mac = Mac::local(2);

fn nsap(last: u8) -> Nsap {
    Nsap::new(&[0x49, 0, 1, 2, 0, 0, 0, 0, last, 1]).unwrap()
}

fn network(last: u8, change: impl Fn(&mut Params)) -> Network {
    let mut params = Params::full(nsap(last));
    change(&mut params);
    Network::new(params)
}

fn data(octets: usize) -> Bytes {
    (0..octets).map(|n| (n % 251) as u8).collect()
}

/// Outputs of a machine: NPDUs sent, and indications delivered.
fn drain(network: &mut Network) -> (Vec<Npdu>, Vec<Indication>) {
    let (mut sent, mut told) = (Vec::new(), Vec::new());
    while let Some(output) = network.poll() {
        match output {
            Output::Send(npdu) => sent.push(npdu),
            Output::Deliver(indication) => told.push(indication),
            Output::Note(never) => match never {},
        }
    }
    (sent, told)
}

/// NPDUs for an NSDU of `octets` octets to station 2.
fn send(network: &mut Network, octets: usize) -> Vec<Npdu> {
    let request = Request { station: THERE, destination: nsap(2), data: Packet::new(data(octets)) };
    network.request(Instant::ZERO, request);
    let (sent, told) = drain(network);
    assert_eq!(told, []);
    sent
}

/// Outputs of station 2 for an NPDU of station 1.
fn hand(network: &mut Network, now: Instant, npdu: &Npdu) -> (Vec<Npdu>, Vec<Indication>) {
    network.receive(now, Npdu { station: HERE, packet: npdu.packet.clone() });
    drain(network)
}

fn delivered(octets: usize) -> Vec<Indication> {
    let data = Packet::new(data(octets));
    vec![Indication::Unitdata { station: HERE, source: Some(nsap(1)), data }]
}

#[test]
fn an_nsdu_goes_out_under_a_header_and_comes_in_without() {
    let mut here = network(1, |_| {});
    let mut there = network(2, |_| {});
    let sent = send(&mut here, 100);
    // 9 octets, two addresses of 10 with their lengths, the segmentation part: 37. 8 s are 16 units.
    assert_eq!(sent.len(), 1);
    let octets = sent[0].packet.to_bytes();
    let pdu = Pdu::decode(&octets).unwrap();
    assert_eq!((pdu.header_octets, pdu.segment_octets, pdu.lifetime), (37, 137, 16));
    assert_eq!(pdu.verify(&octets), Checksum::Good);
    assert_eq!(pdu.segmentation.map(|part| part.total_octets), Some(137));
    assert_eq!(hand(&mut there, Instant::ZERO, &sent[0]), (vec![], delivered(100)));
    assert_eq!(there.counters(), &Counters::default());
}

#[test]
fn the_inactive_subset_is_one_octet_and_both_are_received() {
    let mut here = network(1, |params| params.subset = Subset::Inactive);
    let sent = send(&mut here, 3);
    assert_eq!(sent[0].packet.to_bytes()[..], [0, 0, 1, 2]);
    let (_, told) = hand(&mut network(2, |_| {}), Instant::ZERO, &sent[0]);
    let data = Packet::new(data(3));
    assert_eq!(told, [Indication::Unitdata { station: HERE, source: None, data }]);
}

#[test]
fn segments_are_multiples_of_eight_octets_and_never_tiny() {
    // Room for 100 - 37 = 63 octets in the last segment, 56 in the others.
    let mut here = network(1, |params| params.subnetwork_octets = 100);
    let cuts = |here: &mut Network, octets| {
        let sent = send(here, octets);
        let parts = sent.iter().map(|npdu| {
            let octets = npdu.packet.to_bytes();
            let pdu = Pdu::decode(&octets).unwrap();
            assert_eq!(pdu.verify(&octets), Checksum::Good);
            let part = pdu.segmentation.unwrap();
            (part.offset, pdu.data.len(), pdu.more_segments)
        });
        parts.collect::<Vec<_>>()
    };
    assert_eq!(cuts(&mut here, 63), [(0, 63, false)]);
    assert_eq!(cuts(&mut here, 64), [(0, 56, true), (56, 8, false)]);
    assert_eq!(cuts(&mut here, 119), [(0, 56, true), (56, 63, false)]);
    // 120 = 56 + 64, which is one too many for the last: 56 + 56 + 8.
    assert_eq!(cuts(&mut here, 120), [(0, 56, true), (56, 56, true), (112, 8, false)]);
    assert_eq!(here.counters().segments_sent, 7);
}

#[test]
fn a_long_nsdu_without_segmentation_is_refused() {
    let mut here = network(1, |params| {
        params.subset = Subset::Full { checksum: false, segmentation: false, error_report: false };
    });
    // Without the segmentation part the header has 31 octets.
    assert_eq!(send(&mut here, 1_497 - 31).len(), 1);
    let too_long = |here: &mut Network, octets: usize| {
        let data = Packet::new(data(octets));
        here.request(Instant::ZERO, Request { station: THERE, destination: nsap(2), data });
        let (sent, told) = drain(here);
        (sent.len(), told) == (0, vec![Indication::TooLong { octets }])
    };
    assert!(too_long(&mut here, 1_497 - 30));
    assert!(too_long(&mut network(1, |_| {}), 65_535 - 36));
    let mut inactive = network(1, |params| params.subset = Subset::Inactive);
    assert!(too_long(&mut inactive, 1_497));
    assert_eq!(inactive.counters().too_long, 1);
}

#[test]
fn segments_come_together_in_any_order_and_more_than_once() {
    let mut here = network(1, |params| params.subnetwork_octets = 100);
    let mut there = network(2, |_| {});
    let sent = send(&mut here, 200);
    assert_eq!(sent.len(), 4);
    for place in [3, 1, 1, 0, 3] {
        assert_eq!(hand(&mut there, Instant::ZERO, &sent[place]), (vec![], vec![]));
    }
    assert_eq!(there.incomplete(), 1);
    assert_eq!(hand(&mut there, Instant::ZERO, &sent[2]), (vec![], delivered(200)));
    assert_eq!((there.incomplete(), there.deadline()), (0, None));
}

#[test]
fn expired_reassemblies_are_discarded_and_reported() {
    let mut here = network(1, |params| {
        (params.subnetwork_octets, params.lifetime) = (100, Duration::from_millis(1_001));
    });
    let mut there = network(2, |_| {});
    let sent = send(&mut here, 100);
    let at = Instant::from_nanos(7);
    hand(&mut there, at, &sent[0]);
    // 1,001 ms are rounded up to three units.
    let over = at + Duration::from_millis(1_500);
    assert_eq!(there.deadline(), Some(Deadline { at: over, timer: "reassembly" }));
    there.expire(over);
    let (reports, told) = drain(&mut there);
    assert_eq!((reports.len(), told.len(), there.incomplete()), (1, 0, 0));
    let report = Npdu { station: THERE, packet: reports[0].packet.clone() };
    here.receive(over, report);
    let reason = Reason::LIFETIME_EXPIRED_IN_REASSEMBLY;
    let (sent, told) = drain(&mut here);
    assert_eq!((sent.len(), told), (0, vec![Indication::Reported { reporter: nsap(2), reason }]));
}

#[test]
fn the_number_of_reassemblies_is_bounded() {
    let mut here = network(1, |params| params.subnetwork_octets = 100);
    let mut there = network(2, |params| params.reassemblies = 2);
    for _ in 0..5 {
        let sent = send(&mut here, 100);
        hand(&mut there, Instant::ZERO, &sent[0]);
    }
    assert_eq!(there.incomplete(), 2);
    assert_eq!(there.counters().discarded[&Reason::CONGESTION], 3);
}

/// Changes the segmentation part.
fn with(pdu: &mut Pdu<'_>, change: fn(&mut Segmentation)) {
    change(pdu.segmentation.as_mut().unwrap());
}

#[test]
fn a_segment_that_disagrees_with_its_data_unit_is_discarded() {
    let mut here = network(1, |params| params.subnetwork_octets = 100);
    let sent = send(&mut here, 120);
    let octets = sent[1].packet.to_bytes();
    let spoilt = |change: fn(&mut Pdu<'_>)| {
        let mut there = network(2, |_| {});
        hand(&mut there, Instant::ZERO, &sent[0]);
        let mut pdu = Pdu::decode(&octets).unwrap();
        change(&mut pdu);
        let mut out = BytesMut::new();
        Pdu { checksum: [0; 2], ..pdu }.encode(&mut out);
        let npdu = Npdu { station: HERE, packet: Packet::new(out.freeze()) };
        let (reports, told) = hand(&mut there, Instant::ZERO, &npdu);
        assert_eq!((reports.len(), told.len()), (1, 0));
        there.counters().discarded.clone()
    };
    let interference = [(Reason::REASSEMBLY_INTERFERENCE, 1)].into();
    // It reaches beyond the end; it ends there with more segments to follow; another end; no data.
    assert_eq!(spoilt(|pdu| with(pdu, |part| part.offset = 112)), interference);
    assert_eq!(spoilt(|pdu| with(pdu, |part| part.offset = 64)), interference);
    assert_eq!(spoilt(|pdu| with(pdu, |part| part.total_octets += 8)), interference);
    assert_eq!(spoilt(|pdu| (pdu.data, pdu.segment_octets) = (&[], 37)), interference);
}

#[test]
fn discards_are_counted_by_reason_and_reported_on_request() {
    let mut here = network(1, |_| {});
    let sent = send(&mut here, 10);
    let octets = sent[0].packet.to_bytes();
    let reason = |place: usize, value: u8, sums: bool| {
        let mut there = network(2, |_| {});
        let mut spoilt = BytesMut::from(&octets[..]);
        spoilt[place] = value;
        if sums {
            spoilt[7..9].fill(0);
            seal(&mut spoilt[..37]);
        }
        let npdu = Npdu { station: HERE, packet: Packet::new(spoilt.freeze()) };
        let (reports, told) = hand(&mut there, Instant::ZERO, &npdu);
        assert_eq!(told, []);
        let mut discarded = there.counters().discarded.iter();
        let only = discarded.next().map(|(reason, _)| *reason);
        assert_eq!(discarded.next(), None);
        (only.unwrap(), reports.len())
    };
    // Version, lifetime, the destination's last octet but one, the type.
    assert_eq!(reason(2, 2, true), (Reason::UNSUPPORTED_VERSION, 1));
    assert_eq!(reason(3, 0, true), (Reason::LIFETIME_EXPIRED_IN_TRANSIT, 1));
    assert_eq!(reason(18, 9, true), (Reason::DESTINATION_UNKNOWN, 1));
    assert_eq!(reason(4, 0xBF, true), (Reason::HEADER_SYNTAX_ERROR, 0));
    // No field of a header with a wrong checksum is used, not even the source address.
    assert_eq!(reason(18, 9, false), (Reason::INCORRECT_CHECKSUM, 0));
    // The length indicator.
    assert_eq!(reason(1, 255, false), (Reason::HEADER_SYNTAX_ERROR, 0));
}

#[test]
fn an_error_report_is_never_answered_with_another() {
    let mut there = network(2, |_| {});
    // Not for this station, and with a request for a report: but it is a report itself.
    let mut pdu = there.header(nsap(9), Params::full(nsap(2)).subset);
    (pdu.kind, pdu.error_report, pdu.segmentation) = (Kind::Error, true, None);
    pdu.header_octets = pdu.encoded_header_octets();
    pdu.segment_octets = pdu.header_octets as u16;
    let mut out = BytesMut::new();
    pdu.encode(&mut out);
    let npdu = Npdu { station: HERE, packet: Packet::new(out.freeze()) };
    assert_eq!(hand(&mut there, Instant::ZERO, &npdu), (vec![], vec![]));
    assert_eq!(there.counters().discarded[&Reason::DESTINATION_UNKNOWN], 1);
    assert_eq!(there.counters().reports_sent, 0);
}

proptest! {
    #[test]
    fn random_octets_keep_reassembly_within_its_bound(
        npdus in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..40),
    ) {
        let mut there = network(2, |params| params.reassemblies = 2);
        for mut octets in npdus {
            if let Some(first) = octets.first_mut() {
                *first = CLNP;
            }
            let packet = Packet::new(Bytes::from(octets));
            hand(&mut there, Instant::ZERO, &Npdu { station: HERE, packet });
            prop_assert!(there.incomplete() <= 2);
        }
    }

    #[test]
    fn any_segmented_nsdu_is_reassembled(octets in 0_usize..9_000, room in 54_usize..2_000) {
        let mut here = network(1, |params| params.subnetwork_octets = room);
        let mut there = network(2, |_| {});
        let sent = send(&mut here, octets);
        let (last, first) = sent.split_last().unwrap();
        for npdu in first {
            prop_assert!(npdu.packet.len() <= room);
            prop_assert_eq!(hand(&mut there, Instant::ZERO, npdu), (vec![], vec![]));
        }
        prop_assert!(last.packet.len() <= room);
        prop_assert_eq!(hand(&mut there, Instant::ZERO, last), (vec![], delivered(octets)));
    }
}

#[test]
fn a_station_is_answered_in_the_form_it_last_sent_in() {
    let in_kind = |params: &mut Params| {
        params.subset = Subset::Inactive;
        params.in_kind = 1;
    };
    let mut there = network(1, in_kind);
    let mut here = network(2, |params| {
        params.address = nsap(2);
        params.subset = Subset::Full { checksum: false, segmentation: true, error_report: false };
    });
    assert_eq!(send(&mut there, 5)[0].packet.first::<1>(), Some([INACTIVE]));
    let request = Request { station: HERE, destination: nsap(1), data: Packet::new(data(5)) };
    here.request(Instant::ZERO, request);
    let (sent, _) = drain(&mut here);
    there.receive(Instant::ZERO, Npdu { station: THERE, packet: sent[0].packet.clone() });
    // A second station is one more than the maximum.
    there.receive(Instant::ZERO, Npdu { station: Mac::local(9), packet: sent[0].packet.clone() });
    drain(&mut there);
    let answer = send(&mut there, 5)[0].packet.to_bytes();
    let pdu = Pdu::decode(&answer).unwrap();
    assert_eq!((pdu.verify(&answer), pdu.segmentation.is_some()), (Checksum::Unused, true));
    let request = Request { station: Mac::local(9), destination: nsap(9), data: data(5).into() };
    there.request(Instant::ZERO, request);
    assert_eq!(drain(&mut there).0[0].packet.first::<1>(), Some([INACTIVE]));
    let inactive = Packet::new(Bytes::from_static(&[INACTIVE, 7]));
    there.receive(Instant::ZERO, Npdu { station: THERE, packet: inactive });
    drain(&mut there);
    assert_eq!(send(&mut there, 5)[0].packet.first::<1>(), Some([INACTIVE]));
}

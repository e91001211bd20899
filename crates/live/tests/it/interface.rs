//! Raw sockets on a veth pair between two network namespaces.

use crate::namespace::{INTERFACE, Namespaces, params};
use crate::session::converse;
use crate::{A, B, C, frame, number, numbers};
use bytes::Bytes;
use live::clock;
use live::interface::{Interface, Kind, in_namespace};
use live::port::{AfPacket, AfPacketParams, Port, PortError, Stamp, Wait};
use live::runner::{OnDown, Runner};
use live::tap::{Collection, Tap, TapParams};
use stack::messaging::{Address, Failure, Params as MessagingParams, Side};
use stack::profile::Messenger;
use stack::station::{Frame, Transmission};
use std::time::Duration;
use wire::addr::Mac;
use wire::filter::Filter;
use wire::time::Instant;

fn tap(namespace: &str) -> TapParams {
    TapParams {
        interface: INTERFACE.into(),
        namespace: Some(namespace.into()),
        snap_octets: 2_000,
        promiscuous: true,
        outgoing: false,
        buffer_octets: 1 << 20,
        collection: Collection::OneByOne,
        filter: Filter::all(),
        wait: Wait::Block,
    }
}

fn soon() -> Instant {
    clock::now() + Duration::from_secs(30)
}

#[test]
fn two_interfaces_agree_and_every_frame_is_counted() {
    let Some(namespaces) = Namespaces::make() else { return };
    namespaces.up();
    let [a, b] = &namespaces.names;
    for wait in [Wait::Block, Wait::Spin] {
        let open = |name, station| {
            let params = AfPacketParams { wait, ..params(name, station) };
            Box::new(AfPacket::open(&params).unwrap())
        };
        converse(open(a, A), open(b, B), 300);
    }
}

#[test]
fn a_batch_arrives_in_order_up_to_the_first_oversized_frame() {
    let Some(namespaces) = Namespaces::make() else { return };
    namespaces.up();
    let [a, b] = &namespaces.names;
    let mut one = AfPacket::open(&params(a, A)).unwrap();
    let mut other = AfPacket::open(&params(b, B)).unwrap();
    // More frames than one call takes, one with a long payload among short ones, and an oversized
    // one.
    let mut frames: Vec<_> = (0..40).map(|n| frame(B, A, 4, n)).collect();
    let mut long = Frame::new(vec![5; 1_490].into());
    long.prepend(&frame(B, A, 4, 17).first::<21>().unwrap());
    frames[17] = long;
    frames[35] = Frame::new(vec![2; 1_515].into());
    let mut outcomes = Vec::new();
    let error = one.send_several(&frames, &mut outcomes).unwrap_err();
    assert_eq!(error.to_string(), "a frame of 1515 octets does not fit: 1514 at most");
    assert_eq!(outcomes, [Transmission::Sent; 35]);
    assert_eq!(one.counts().sent, 35);
    for n in 0..35 {
        let arrived = other.receive(soon()).unwrap().unwrap().frame;
        assert_eq!((number(&arrived), arrived.len()), (n, if n == 17 { 1_511 } else { 60 }));
        // The previous content of the buffer does not show in the padding.
        let rest = &arrived.to_bytes()[21..];
        assert!(rest.iter().all(|octet| *octet == if n == 17 { 5 } else { 0 }));
    }
    one.send_several(&frames[..1], &mut outcomes).unwrap();
    assert_eq!(number(&other.receive(soon()).unwrap().unwrap().frame), 0);
}

#[test]
fn a_short_frame_is_padded_and_stamped_by_the_kernel() {
    let Some(namespaces) = Namespaces::make() else { return };
    namespaces.up();
    let [a, b] = &namespaces.names;
    let mut one = AfPacket::open(&params(a, A)).unwrap();
    let mut other = AfPacket::open(&params(b, B)).unwrap();
    assert_eq!((one.interface().kind, one.is_unbounded()), (Kind::Veth, true));
    let before = clock::now();
    one.send(&frame(B, A, 4, 7)).unwrap();
    let arrival = other.receive(soon()).unwrap().unwrap();
    assert_eq!((number(&arrival.frame), arrival.frame.len()), (7, 60));
    assert!(arrival.frame.to_bytes()[21..].iter().all(|octet| *octet == 0));
    assert_eq!(arrival.stamp, Stamp::Kernel);
    let margin = Duration::from_millis(1);
    assert!(arrival.at + margin >= before && arrival.at <= clock::now());
    // Data has at most 1,500 octets; 14 of header precede it.
    let error = one.send(&Frame::new(vec![2; 1_515].into())).unwrap_err();
    assert_eq!(error.to_string(), "a frame of 1515 octets does not fit: 1514 at most");
}

#[test]
fn a_port_takes_its_own_frames_and_a_tap_takes_all() {
    let Some(namespaces) = Namespaces::make() else { return };
    namespaces.up();
    let [a, b] = &namespaces.names;
    let group = Mac([0x09, 0x00, 0x2B, 0x00, 0x00, 0x04]);
    let mut one = AfPacket::open(&params(a, A)).unwrap();
    let mut other =
        AfPacket::open(&AfPacketParams { groups: vec![group], ..params(b, B) }).unwrap();
    let mut tap = Tap::open(&tap(b)).unwrap();
    for (n, to) in (0..).zip([B, C, Mac::BROADCAST, group]) {
        one.send(&frame(to, A, 4, n)).unwrap();
    }
    // 802.1Q tag, priority 3 and VLAN 5, before the length.
    let plain = frame(B, A, 4, 9).to_bytes();
    let tagged = [&plain[..12], &[0x81, 0x00, 0x60, 0x05], &plain[12..]].concat();
    one.send(&Frame::new(tagged.clone().into())).unwrap();
    // The same with VLAN 0: a priority, and no VLAN.
    let plain = frame(B, A, 4, 10).to_bytes();
    let priority = [&plain[..12], &[0x81, 0x00, 0x60, 0x00], &plain[12..]].concat();
    one.send(&Frame::new(priority.into())).unwrap();

    let mut heard = Vec::new();
    while heard.len() < 6 {
        let sighting = tap.receive(soon()).unwrap().expect("all six frames reach the tap");
        if sighting.octets.get(6..12) == Some(&A.0) {
            assert!(!sighting.outgoing && sighting.octets.len() == sighting.original_octets);
            heard.push(sighting.octets.to_vec());
        }
    }
    let destinations: Vec<&[u8]> = heard.iter().map(|octets| &octets[..6]).collect();
    assert_eq!(destinations, [B.0, C.0, Mac::BROADCAST.0, group.0, B.0, B.0]);
    assert_eq!(heard[4][..tagged.len()], tagged, "the tag is where it was on the wire");
    assert_eq!(numbers(&mut other), [0, 2, 3, 10]);
    assert_eq!(tap.dropped().unwrap(), 0);
}

#[test]
fn a_port_of_the_interfaces_address_skips_vlans_and_stations() {
    let Some(namespaces) = Namespaces::make() else { return };
    namespaces.up();
    let [a, b] = &namespaces.names;
    let mut one = AfPacket::open(&params(a, A)).unwrap();
    let ways =
        [(Wait::Block, Stamp::Kernel), (Wait::Block, Stamp::User), (Wait::Spin, Stamp::User)];
    for (wait, stamp) in ways {
        let own = AfPacketParams { station: None, wait, stamp, ..params(b, B) };
        let mut other = AfPacket::open(&own).unwrap();
        let to = other.addr();
        assert_eq!(to, other.interface().mac);
        for (n, to) in (0..).zip([to, C, Mac::BROADCAST]) {
            one.send(&frame(to, A, 4, n)).unwrap();
        }
        for (n, control) in [(3, [0x60, 0x05]), (4, [0x60, 0x00])] {
            let plain = frame(to, A, 4, n).to_bytes();
            let tagged = [&plain[..12], &[0x81, 0x00], &control, &plain[12..]].concat();
            one.send(&Frame::new(tagged.into())).unwrap();
        }
        // A value above 1,500 is a type, although the kernel takes it for a length up to 1,535.
        let mut octets = frame(to, A, 4, 5).to_bytes().to_vec();
        octets[12..14].copy_from_slice(&1_501_u16.to_be_bytes());
        one.send(&Frame::new(octets.into())).unwrap();
        one.send(&frame(to, A, 4, 6)).unwrap();
        assert_eq!(numbers(&mut other), [0, 2, 4, 6]);
        one.send(&frame(to, A, 4, 7)).unwrap();
        let arrival = other.receive(soon()).unwrap().unwrap();
        assert_eq!((number(&arrival.frame), arrival.stamp), (7, stamp));
    }
}

#[test]
fn a_polling_port_keeps_frames_whole_and_in_order_and_counts() {
    let Some(namespaces) = Namespaces::make() else { return };
    namespaces.up();
    let [a, b] = &namespaces.names;
    let mut one = AfPacket::open(&params(a, A)).unwrap();
    let polling = AfPacketParams { wait: Wait::Spin, stamp: Stamp::User, ..params(b, B) };
    let mut other = AfPacket::open(&polling).unwrap();
    let mut long = Frame::new((0..1_490).map(|place: u32| place as u8).collect());
    long.prepend(&frame(B, A, 4, 99).first::<21>().unwrap());
    one.send(&long).unwrap();
    assert_eq!(other.receive(soon()).unwrap().unwrap().frame, long);
    // At most 2,048 frames wait, wherever in the ring the first of them lies. If more than 1,000
    // wait before any socket has them, Linux may drop some itself.
    let mut overrun = 0;
    for _ in 0..3 {
        for n in 0..3_000 {
            one.send(&frame(B, A, 4, n)).unwrap();
        }
        let arriving = core::iter::from_fn(|| other.receive(Instant::ZERO).unwrap());
        let heard: Vec<u32> = arriving.map(|arrival| number(&arrival.frame)).collect();
        assert!(heard.iter().take(900).copied().eq(0..900));
        assert!(heard.is_sorted() && heard.len() <= 2_048, "{} frames", heard.len());
        let missed = other.counts().overrun - overrun;
        overrun += missed;
        assert!(missed > 0 && heard.len() as u64 + missed <= 3_000, "{missed} missed");
    }
}

#[test]
fn a_polling_port_reports_that_its_interface_is_down() {
    let Some(namespaces) = Namespaces::make() else { return };
    namespaces.up();
    let [a, b] = &namespaces.names;
    let polling = AfPacketParams { wait: Wait::Spin, stamp: Stamp::User, ..params(a, A) };
    let mut one = AfPacket::open(&polling).unwrap();
    let mut other = AfPacket::open(&params(b, B)).unwrap();
    other.send(&frame(A, B, 4, 0)).unwrap();
    namespaces.down();
    assert_eq!(number(&one.receive(soon()).unwrap().unwrap().frame), 0, "it arrived before");
    let error = one.receive(soon()).unwrap_err();
    assert!(matches!(error, PortError::Down(name) if name == INTERFACE));
}

#[test]
fn a_slow_tap_counts_missed_frames_and_truncates_long_ones() {
    let Some(namespaces) = Namespaces::make() else { return };
    namespaces.up();
    let [a, b] = &namespaces.names;
    let mut one = AfPacket::open(&params(a, A)).unwrap();
    let slow = TapParams { buffer_octets: 2_048, snap_octets: 64, ..tap(b) };
    let mut tap = Tap::open(&slow).unwrap();
    let mut long = Frame::new(vec![0; 1_000].into());
    long.prepend(&frame(C, A, 4, 0).to_bytes()[..17]);
    for _ in 0..500 {
        one.send(&long).unwrap();
    }
    let mut heard = 0;
    while let Some(sighting) = tap.receive(Instant::ZERO).unwrap() {
        if sighting.octets.get(6..12) == Some(&A.0) {
            assert_eq!((sighting.octets.len(), sighting.original_octets), (64, 1_017));
            heard += 1;
        }
    }
    let dropped = tap.dropped().unwrap();
    assert!(heard > 0 && dropped > 0, "{heard} received, {dropped} dropped");
    assert!(heard + dropped >= 500, "{heard} received and {dropped} dropped of 500");
}

#[test]
fn an_interface_that_cannot_be_opened_is_reported() {
    let Some(namespaces) = Namespaces::make() else { return };
    let [a, _] = &namespaces.names;
    let error = AfPacket::open(&params(a, A)).unwrap_err();
    assert_eq!(error.to_string(), "interface wire0 is down");
    let elsewhere = AfPacketParams { interface: "eth77".into(), ..params(a, A) };
    let error = AfPacket::open(&elsewhere).unwrap_err();
    assert_eq!(error.to_string(), "no such interface: \"eth77\"");
    let nowhere = AfPacketParams { namespace: Some("none".into()), ..params(a, A) };
    assert!(matches!(AfPacket::open(&nowhere), Err(PortError::NoSuchNamespace(_))));

    let names = in_namespace(Some(a), Interface::all).unwrap();
    assert!(names.iter().any(|interface| interface.name == INTERFACE && !interface.is_up));
    assert!(Interface::named(INTERFACE).is_err(), "this thread stayed in its own namespace");
}

#[test]
fn an_interface_taken_down_ends_the_port() {
    let Some(namespaces) = Namespaces::make() else { return };
    namespaces.up();
    let mut one = AfPacket::open(&params(&namespaces.names[0], A)).unwrap();
    one.send(&frame(B, A, 4, 0)).unwrap();
    namespaces.down();
    let error = one.send(&frame(B, A, 4, 1)).unwrap_err();
    assert!(matches!(error, PortError::Down(name) if name == INTERFACE));
}

#[test]
fn messages_fail_while_the_interface_is_down_and_then_recover() {
    let Some(namespaces) = Namespaces::make() else { return };
    namespaces.up();
    let [a, b] = &namespaces.names;
    let mut port = AfPacket::open(&params(a, A)).unwrap();
    let mut other = AfPacket::open(&params(b, B)).unwrap();
    let mut one = Messenger::new(A, MessagingParams::lan()).unwrap();
    assert!(one.sockets.open(clock::now(), 4).is_accepted());
    let mut runner = Runner::with(OnDown::Outlast);
    let mut transmit = |runner: &mut Runner| {
        let to = Address { station: B, socket: 4 };
        let data = Bytes::from_static(b"x");
        assert!(one.sockets.transmit(clock::now(), 4, to, data).is_accepted());
        runner.round(&mut one, &mut port, Instant::ZERO).unwrap();
        one.sockets.failure(4, Side::Transmit)
    };
    assert_eq!(transmit(&mut runner), None);
    namespaces.down();
    for _ in 0..3 {
        assert_eq!(transmit(&mut runner), Some(Failure::NotTransmitted));
    }
    let counts = runner.counts();
    assert_eq!((counts.sent, counts.given_up), (1, 3));
    assert!(counts.down >= 3, "{} times", counts.down);
    namespaces.up();
    assert_eq!(transmit(&mut runner), None);
    let heard = core::iter::from_fn(|| other.receive(Instant::ZERO).unwrap()).count();
    assert_eq!(heard, 2);
}

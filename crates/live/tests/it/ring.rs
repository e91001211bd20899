//! Ring and kernel filter, on a veth pair of the test's own.

use crate::namespace::{INTERFACE, Namespaces, params};
use crate::{A, B, C, frame};
use live::clock;
use live::port::{AfPacket, Port, Wait};
use live::tap::{Collection, Fill, Stamps, Statistics, Tap, TapParams};
use stack::station::{Frame, Transmission};
use std::time::Duration;
use wire::addr::Mac;
use wire::dissect::Link;
use wire::filter::Filter;
use wire::time::Instant;

fn sender(namespace: &str) -> AfPacket {
    AfPacket::open(&params(namespace, A)).unwrap()
}

fn tap(namespace: &str, filter: &str) -> TapParams {
    TapParams {
        interface: INTERFACE.to_owned(),
        namespace: Some(namespace.to_owned()),
        snap_octets: 256,
        promiscuous: true,
        outgoing: false,
        buffer_octets: 4 << 20,
        collection: Collection::Ring(Stamps::Kernel),
        filter: filter.parse().unwrap(),
        wait: Wait::Block,
    }
}

fn soon() -> Instant {
    clock::now() + Duration::from_secs(30)
}

/// A plain frame, one with a tag, one with two, one with a tag for another VLAN, and a long one.
fn several() -> Vec<Vec<u8>> {
    let plain = frame(B, A, 0xFE, 7).to_bytes();
    // Padded to the minimum length on the wire.
    let padded = |mut octets: Vec<u8>| {
        octets.resize(octets.len().max(60), 0);
        octets
    };
    let tagged = |tags: &[u8]| padded([&plain[..12], tags, &plain[12..]].concat());
    let mut long = frame(C, A, 0x42, 8).to_bytes().to_vec();
    long.resize(1_000, 9);
    vec![
        padded(plain.to_vec()),
        tagged(&[0x81, 0, 0x60, 5]),
        tagged(&[0x88, 0xA8, 0, 6, 0x81, 0, 0, 5]),
        tagged(&[0x81, 0, 0, 9]),
        long,
    ]
}

/// Frames that a tap receives up to the last one, an end mark that every filter here accepts.
fn heard(tap: &mut Tap, sender: &mut AfPacket, frames: &[Vec<u8>]) -> Vec<(Vec<u8>, usize)> {
    let end = frame(Mac::BROADCAST, A, 0xFE, 0).to_bytes();
    for octets in frames.iter().cloned().chain([end.to_vec()]) {
        sender.send(&Frame::new(octets.into())).unwrap();
    }
    let mut heard = Vec::new();
    loop {
        let sighting = tap.receive(soon()).unwrap().expect("the end comes");
        // Skips the host's own neighbour discovery.
        if sighting.octets.get(6..12) != Some(&A.0[..]) {
            continue;
        }
        if sighting.octets.starts_with(&Mac::BROADCAST.0) {
            return heard;
        }
        assert_eq!(sighting.stamps, Some(Stamps::Kernel));
        heard.push((sighting.octets.to_vec(), sighting.original_octets));
    }
}

#[test]
fn a_ring_delivers_the_same_frames_as_single_reads() {
    let Some(namespaces) = Namespaces::make() else { return };
    namespaces.up();
    let [a, b] = &namespaces.names;
    let mut sender = sender(a);
    let sent = several();
    let mut found = Vec::new();
    for collection in [Collection::OneByOne, Collection::Ring(Stamps::Kernel)] {
        let mut tap = Tap::open(&TapParams { collection, ..tap(b, "all") }).unwrap();
        found.push(heard(&mut tap, &mut sender, &sent));
        let counted = tap.statistics().unwrap();
        assert!(counted.received > sent.len() as u64 && counted.dropped == 0, "{counted:?}");
    }
    let expected: Vec<(Vec<u8>, usize)> = sent
        .iter()
        .map(|octets| (octets[..octets.len().min(256)].to_vec(), octets.len()))
        .collect();
    assert_eq!(found[0], expected);
    assert_eq!(found[1], expected);
}

#[test]
fn a_ring_tells_how_many_of_its_blocks_wait() {
    let Some(namespaces) = Namespaces::make() else { return };
    namespaces.up();
    let [a, b] = &namespaces.names;
    let mut sender = sender(a);
    // Neighbour discovery does not pass the filter.
    let mut tap = Tap::open(&tap(b, "from 02:00:00:00:00:01")).unwrap();
    // 4 MiB in blocks of 256 KiB.
    assert_eq!(tap.fill(), Some(Fill { waiting: 0, blocks: 16 }));
    sender.send(&frame(B, A, 0xFE, 7)).unwrap();
    tap.wait(soon()).unwrap();
    assert_eq!(tap.fill(), Some(Fill { waiting: 1, blocks: 16 }));
    assert_eq!(tap.fill().unwrap().share(), 1.0 / 16.0);
    assert!(tap.receive(soon()).unwrap().is_some());
    // Looking for the next frame gives the block back.
    assert!(tap.receive(clock::now()).unwrap().is_none());
    assert_eq!(tap.fill(), Some(Fill { waiting: 0, blocks: 16 }));
    let single = TapParams { collection: Collection::OneByOne, ..self::tap(b, "all") };
    assert_eq!(Tap::open(&single).unwrap().fill(), None);
}

#[test]
fn the_kernel_passes_all_frames_of_a_filter_and_few_others() {
    let Some(namespaces) = Namespaces::make() else { return };
    namespaces.up();
    let [a, b] = &namespaces.names;
    let mut sender = sender(a);
    let sent = several();
    // Expected frames, by index in `several`. The end mark, a broadcast for SAP fe, must pass as
    // well.
    for (text, expected) in [
        ("iso", &[0, 1, 2, 3][..]),
        ("vlan or to ff:ff:ff:ff:ff:ff", &[1, 2, 3]),
        ("vlan 5 or to ff:ff:ff:ff:ff:ff", &[1, 2]),
        ("vlan 6 or to ff:ff:ff:ff:ff:ff", &[2]),
        ("to 02:00:00:00:00:03 or to ff:ff:ff:ff:ff:ff", &[4]),
        ("not host 02:00:00:00:00:03", &[0, 1, 2, 3]),
        ("tcp or to ff:ff:ff:ff:ff:ff", &[]),
        // The kernel passes frames that it cannot decide about.
        ("not iso or to ff:ff:ff:ff:ff:ff", &[0, 1, 2, 3, 4]),
    ] {
        let mut tap = Tap::open(&tap(b, text)).unwrap();
        let heard = heard(&mut tap, &mut sender, &sent);
        let expected: Vec<&[u8]> = expected.iter().map(|place: &usize| &sent[*place][..]).collect();
        let octets: Vec<Vec<u8>> = heard.into_iter().map(|(octets, _)| octets).collect();
        let whole: Vec<&[u8]> = expected.iter().map(|o| &o[..o.len().min(256)]).collect();
        assert_eq!(octets, whole, "{text}");
        let filter: Filter = text.parse().unwrap();
        for frame in sent.iter().filter(|f| filter.matches(Link::Ethernet, f, f.len())) {
            assert!(expected.contains(&&frame[..]), "{text} must pass {frame:02x?}");
        }
    }
}

/// Sends `frames` in parts, and receives as many as the ring has room for: every loss is counted.
fn flood(frames: u32, buffer_octets: i32, reads_at_once: bool) -> Option<(u64, Statistics)> {
    let namespaces = Namespaces::make()?;
    namespaces.up();
    let [a, b] = &namespaces.names;
    let mut sender = sender(a);
    // Only the flood's own frames pass, so that the sums are exact.
    let mut tap =
        Tap::open(&TapParams { buffer_octets, ..tap(b, "from 02:00:00:00:00:01") }).unwrap();
    let (mut heard, mut sent) = (0, 0);
    for number in 0..frames {
        let transmission = sender.send(&frame(B, A, 0xFE, number)).unwrap();
        assert_ne!(transmission, Transmission::GivenUp, "a veth refuses nothing");
        sent += 1;
        while reads_at_once && tap.receive(Instant::ZERO).unwrap().is_some() {
            heard += 1;
        }
    }
    loop {
        let counted = tap.statistics().unwrap();
        if heard + counted.dropped >= sent {
            assert_eq!(heard + counted.dropped, sent);
            assert_eq!(heard, counted.received);
            return Some((heard, counted));
        }
        let wait = clock::now() + Duration::from_secs(1);
        heard += u64::from(tap.receive(wait).unwrap().is_some());
    }
}

#[test]
fn received_and_dropped_frames_add_up_to_those_sent() {
    // Two blocks of 256 KiB: a frame of 60 octets takes some 150 with its header, so 3,500 fit, and
    // fewer if a block is passed on before it is full.
    let Some((heard, counted)) = flood(20_000, 1, false) else { return };
    assert!((1..8_000).contains(&heard) && counted.frozen > 0, "{counted:?}");
    let Some((heard, counted)) = flood(20_000, 16 << 20, true) else { return };
    println!("seen: flood of 20000 frames, {heard} received, {counted:?}");
    assert_eq!((heard, counted.dropped, counted.frozen), (20_000, 0, 0));
}

#[test]
fn an_interface_that_goes_down_ends_the_ring() {
    let Some(namespaces) = Namespaces::make() else { return };
    namespaces.up();
    let mut tap = Tap::open(&tap(&namespaces.names[0], "all")).unwrap();
    namespaces.down();
    let error = loop {
        match tap.receive(soon()) {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the ring waits for an interface that is down"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.to_string(), "interface wire0 is down");
}

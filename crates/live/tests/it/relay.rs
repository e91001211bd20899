//! Relay between two veth pairs: forwarding, faults, and reports of them.

use crate::namespace::{INTERFACE, Namespaces, params};
use bytes::Bytes;
use core::time::Duration;
use live::clock;
use live::port::{AfPacket, AfPacketParams, Port, PortError, Stamp, Wait};
use live::relay::{Counts, Place, Relay, RelayAction, RelayParams, Selection};
use live::tap::{Collection, Tap, TapParams};
use stack::fault::{Fate, Faults, Plan};
use stack::station::Frame;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use wire::addr::Mac;
use wire::filter::Filter;
use wire::time::Instant;
use wire::tp::Kind;

const A: Mac = Mac([2, 0, 0, 0, 0, 1]);
const B: Mac = Mac([2, 0, 0, 0, 0, 2]);
/// Longer than any of these tests takes.
const LONG: Duration = Duration::from_secs(20);

/// Two pairs of namespaces: stations in the first of each, the relay between the second ones.
struct Line {
    left: Namespaces,
    right: Namespaces,
}

impl Line {
    fn make() -> Option<Self> {
        let (left, right) = (Namespaces::make()?, Namespaces::make()?);
        left.up();
        right.up();
        Some(Self { left, right })
    }

    fn params(&self, there: Option<Faults>) -> RelayParams {
        let place = |pair: &Namespaces| Place {
            interface: INTERFACE.to_owned(),
            namespace: Some(pair.names[1].clone()),
        };
        RelayParams {
            places: [place(&self.left), place(&self.right)],
            faults: [there, None],
            selection: Selection::Tpdus(vec![Kind::Dt]),
            held_frames: 1_000,
        }
    }
}

fn station(pair: &Namespaces, station: Mac) -> AfPacket {
    let params = params(&pair.names[0], station);
    AfPacket::open(&AfPacketParams { stamp: Stamp::User, ..params }).unwrap()
}

/// 802.3 frame over LLC and inactive CLNP, from A to B.
fn frame(tpdu: &[u8]) -> Frame {
    let length = [0, u8::try_from(4 + tpdu.len()).unwrap()];
    let mut octets = [&B.0[..], &A.0, &length, &[0xFE, 0xFE, 3, 0], tpdu].concat();
    octets.resize(60, 0);
    Frame::new(Bytes::from(octets))
}

/// DT of the normal format.
fn dt(number: u8) -> Frame {
    frame(&[4, 0xF0, 0, 1, 0x80 | (number & 0x7F)])
}

#[test]
fn selected_frames_are_lost_and_reported_and_the_rest_in_order() {
    let Some(line) = Line::make() else { return };
    let plan = Plan { loss: 0.1, ..Plan::harmless(Duration::from_millis(500)) };
    let mut relay = Relay::open(line.params(Some(Faults::new(plan, 1, "there").unwrap()))).unwrap();
    let (mut sender, mut receiver) = (station(&line.left, A), station(&line.right, B));
    let (stop, mut told) = (AtomicBool::new(false), Vec::new());
    let (numbers, counts) = thread::scope(|scope| {
        let relaying = scope.spawn(|| {
            let outcome = relay.run(Instant::MAX, &stop, &mut |event| told.push(event.action));
            (outcome, relay.counts())
        });
        for number in 0..1_000_u32 {
            sender.send(&dt(number as u8)).unwrap();
        }
        sender.send(&frame(&[4, 0x60, 0, 1, 0])).unwrap();
        let mut numbers = Vec::new();
        let until = clock::now() + LONG;
        while let Some(arrival) = receiver.receive(until).unwrap() {
            if arrival.frame.payload()[19] == 0x60 {
                break;
            }
            numbers.push(arrival.frame.payload()[22] & 0x7F);
        }
        stop.store(true, Ordering::Relaxed);
        let (outcome, counts) = relaying.join().unwrap();
        outcome.unwrap();
        (numbers, counts)
    });
    let [there, back] = counts;
    assert_eq!((there.received, there.faults.frames), (1_001, 1_000));
    assert_eq!(there.relayed + there.faults.lost, 1_001);
    assert_eq!(numbers.len() as u64, there.relayed - 1);
    // 1,000 draws of 0.1: five standard deviations are 47.
    assert!(there.faults.lost.abs_diff(100) < 48, "{}", there.faults.lost);
    assert_eq!(told, vec![RelayAction::Fate(Fate::Lost); told.len()]);
    assert_eq!(told.len() as u64, there.faults.lost);
    assert_eq!(back, Counts::default());
    // In order: the steps from number to number never wrap, so they add up to at most 999.
    let steps = numbers.windows(2).map(|pair| u32::from(pair[1].wrapping_sub(pair[0]) & 0x7F));
    assert!(steps.sum::<u32>() <= 999, "{numbers:?}");
}

#[test]
fn a_vlan_tag_crosses_with_its_frame() {
    let Some(line) = Line::make() else { return };
    let mut relay = Relay::open(line.params(None)).unwrap();
    let mut sender = station(&line.left, A);
    let mut tap = Tap::open(&TapParams {
        interface: INTERFACE.to_owned(),
        namespace: Some(line.right.names[0].clone()),
        snap_octets: 1_600,
        promiscuous: true,
        outgoing: false,
        buffer_octets: 1 << 20,
        collection: Collection::OneByOne,
        filter: Filter::all(),
        wait: Wait::Block,
    })
    .unwrap();
    let mut octets = [&B.0[..], &A.0, &[0x81, 0, 0xE0, 7, 0x88, 0xB5]].concat();
    octets.resize(64, 0x55);
    let stop = AtomicBool::new(false);
    let heard = thread::scope(|scope| {
        let relaying = scope.spawn(|| relay.run(Instant::MAX, &stop, &mut |_| ()));
        sender.send(&Frame::new(Bytes::from(octets.clone()))).unwrap();
        let heard = tap.receive(clock::now() + LONG).unwrap().map(|heard| heard.octets.to_vec());
        stop.store(true, Ordering::Relaxed);
        relaying.join().unwrap().unwrap();
        heard
    });
    assert_eq!(heard, Some(octets));
}

#[test]
fn an_interface_is_not_relayed_to_itself() {
    let place = Place { interface: "wire0".to_owned(), namespace: None };
    let params = RelayParams {
        places: [place.clone(), place],
        faults: [None, None],
        selection: Selection::Every,
        held_frames: 1,
    };
    let error = Relay::open(params).unwrap_err();
    assert!(matches!(error, PortError::Loop(name) if name == "wire0"));
}

//! AF_XDP on a veth pair between two network namespaces.

use crate::namespace::{INTERFACE, Namespaces};
use crate::session::converse;
use crate::{A, B, C, frame, number};
use bytes::Bytes;
use live::clock;
use live::port::{
    AfPacket, AfPacketParams, AfXdp, AfXdpParams, Faulty, FaultyParams, Port, PortError, Stamp,
    Wait,
};
use live::runner::{Control, Runner};
use stack::fault::{Faults, Plan};
use stack::llc::type3;
use stack::messaging::{Address, Completion, Indication, Options, Params};
use stack::profile::{Messenger, Programmed};
use stack::station::{Frame, Transmission};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wire::addr::Mac;
use wire::time::Instant;

/// A group that the station belongs to, and that of bridges, to which it does not.
const GROUP: Mac = Mac([0x03, 0, 0, 0, 0, 0x20]);
const BRIDGES: Mac = Mac([0x01, 0x80, 0xC2, 0, 0, 0]);
const SOCKET: u8 = 4;
const MESSAGES: u32 = 2_000;

fn params(namespace: &str, station: Mac) -> AfXdpParams {
    AfXdpParams {
        interface: INTERFACE.into(),
        namespace: Some(namespace.into()),
        station: Some(station),
        groups: vec![GROUP],
        wait: Wait::Block,
    }
}

fn packet_port(namespace: &str, station: Mac) -> AfPacket {
    let (interface, namespace) = (INTERFACE.into(), Some(namespace.into()));
    let (station, groups) = (Some(station), vec![GROUP, BRIDGES]);
    let (wait, stamp) = (Wait::Block, Stamp::Kernel);
    AfPacket::open(&AfPacketParams { interface, namespace, station, groups, wait, stamp }).unwrap()
}

/// Opens the port; `None`, and a printed reason, if this system does not support it.
fn open(params: &AfXdpParams) -> Option<AfXdp> {
    match AfXdp::open(params) {
        Ok(port) => Some(port),
        Err(error @ (PortError::NotPermitted { .. } | PortError::NotForXdp { .. })) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Number of the next frame, which must arrive within 30 s.
fn next(port: &mut dyn Port) -> u32 {
    let arrival = port.receive(clock::now() + Duration::from_secs(30)).unwrap();
    number(&arrival.expect("a frame was sent").frame)
}

#[test]
fn two_interfaces_agree_over_af_xdp_and_every_frame_is_counted() {
    let Some(namespaces) = Namespaces::make() else { return };
    namespaces.up();
    let [a, b] = &namespaces.names;
    for wait in [Wait::Block, Wait::Spin] {
        let one = open(&AfXdpParams { wait, ..params(a, A) });
        let other = open(&AfXdpParams { wait, ..params(b, B) });
        let (Some(one), Some(other)) = (one, other) else { return };
        converse(Box::new(one), Box::new(other), 300);
    }
}

#[test]
fn the_host_keeps_all_but_llc_frames_for_the_station() {
    let Some(namespaces) = Namespaces::make() else { return };
    namespaces.up();
    let [a, b] = &namespaces.names;
    let Some(mut xdp) = open(&params(b, B)) else { return };
    // These receive the frames that stay with the host: one station each, and all groups.
    let (mut host, mut as_b) = (packet_port(b, C), packet_port(b, B));
    let mut sender = packet_port(a, A);
    for (place, to) in [B, C, GROUP, Mac::BROADCAST, BRIDGES, Mac::local(9)].iter().enumerate() {
        sender.send(&frame(*to, A, SOCKET, place as u32)).unwrap();
    }
    assert_eq!([next(&mut host), next(&mut host)], [1, 4], "the frames that the port did not take");
    assert_eq!(next(&mut as_b), 4);
    assert_eq!([next(&mut xdp), next(&mut xdp), next(&mut xdp)], [0, 2, 3]);
    assert_eq!((xdp.counts().received, xdp.counts().overrun), (3, 0));
    // A frame with a type (of local experiments) stays with the host, even if it is for this
    // station.
    let mut typed = Frame::new(Bytes::from_static(&[0; 50]));
    typed.prepend(&[&B.0[..], &A.0, &[0x88, 0xB5]].concat());
    sender.send(&typed).unwrap();
    sender.send(&frame(B, A, SOCKET, 9)).unwrap();
    assert_eq!(next(&mut xdp), 9, "no frame for other stations arrived before");
    // The host receives everything again once the port is closed.
    drop(xdp);
    sender.send(&frame(B, A, SOCKET, 10)).unwrap();
    assert_eq!(next(&mut as_b), 10);
}

#[test]
fn a_short_frame_is_padded_and_a_long_one_goes_through_whole() {
    let Some(namespaces) = Namespaces::make() else { return };
    namespaces.up();
    let [a, b] = &namespaces.names;
    let (Some(mut one), Some(mut other)) = (open(&params(a, A)), open(&params(b, B))) else {
        return;
    };
    // More frames than there is room for at a time, so that every chunk and entry is reused.
    for turn in 0..3_000_u32 {
        one.send(&frame(B, A, SOCKET, turn)).unwrap();
        let arrival = other.receive(clock::now() + Duration::from_secs(30)).unwrap().unwrap();
        assert_eq!((number(&arrival.frame), arrival.frame.len()), (turn, 60));
        assert_eq!(arrival.stamp, Stamp::User);
    }
    let data: Vec<u8> = (0..1_500).map(|place: u32| place as u8).collect();
    let mut long = Frame::new(Bytes::from(data));
    long.prepend(&[&B.0[..], &A.0, &1_500_u16.to_be_bytes()].concat());
    one.send(&long).unwrap();
    let arrival = other.receive(clock::now() + Duration::from_secs(30)).unwrap().unwrap();
    assert_eq!(arrival.frame, long);
    long.prepend(&[0]);
    let error = one.send(&long).unwrap_err().to_string();
    assert_eq!(error, "a frame of 1515 octets does not fit: 1514 at most");
}

#[test]
fn a_port_that_cannot_be_opened_reports_the_reason() {
    let Some(namespaces) = Namespaces::make() else { return };
    let [a, b] = &namespaces.names;
    let said = |params: &AfXdpParams| AfXdp::open(params).unwrap_err().to_string();
    assert_eq!(said(&params(a, A)), "interface wire0 is down");
    namespaces.up();
    let loopback = AfXdpParams { interface: "lo".into(), namespace: None, ..params(a, A) };
    assert_eq!(said(&loopback), "no AF_XDP on lo: the loopback carries no frames of stations");
    let nowhere = AfXdpParams { interface: "nowhere0".into(), ..params(a, A) };
    assert_eq!(said(&nowhere), "no such interface: \"nowhere0\"");
    let crowd = AfXdpParams { groups: vec![GROUP; 65], ..params(a, A) };
    assert_eq!(said(&crowd), "no AF_XDP on wire0: at most 64 groups are possible");
    let Some(mut first) = open(&params(b, B)) else { return };
    let second = said(&params(b, C));
    assert_eq!(second, "no AF_XDP on wire0: another program uses its queue");
    let mut sender = packet_port(a, A);
    sender.send(&frame(B, A, SOCKET, 5)).unwrap();
    assert_eq!(next(&mut first), 5, "the first one still works");
}

#[test]
fn a_frame_discarded_while_the_interface_is_down_is_never_sent() {
    let Some(namespaces) = Namespaces::make() else { return };
    namespaces.up();
    let [a, b] = &namespaces.names;
    let (Some(mut one), Some(mut other)) = (open(&params(a, A)), open(&params(b, B))) else {
        return;
    };
    one.send(&frame(B, A, SOCKET, 1)).unwrap();
    assert_eq!(next(&mut other), 1);
    namespaces.down();
    for number in 2..4 {
        let failed = one.send(&frame(B, A, SOCKET, number));
        assert!(matches!(failed, Err(PortError::Down(_))), "{failed:?}");
    }
    namespaces.up();
    // The link may take some time to come up.
    let first = (0..100).find_map(|_| {
        one.send(&frame(B, A, SOCKET, 4)).unwrap();
        other.receive(clock::now() + Duration::from_millis(100)).unwrap()
    });
    assert_eq!(first.map(|arrival| number(&arrival.frame)), Some(4));
}

#[test]
fn a_batch_arrives_in_order_with_an_outcome_for_each_frame() {
    let Some(namespaces) = Namespaces::make() else { return };
    namespaces.up();
    let [a, b] = &namespaces.names;
    let (Some(mut one), Some(mut other)) = (open(&params(a, A)), open(&params(b, B))) else {
        return;
    };
    // 60 rounds of 50: every chunk and entry is reused, and a call of the kernel takes 32.
    let mut outcomes = vec![];
    for round in 0..60_u32 {
        let frames: Vec<_> = (0..50).map(|place| frame(B, A, SOCKET, round * 50 + place)).collect();
        one.send_several(&frames, &mut outcomes).unwrap();
        for place in 0..50 {
            assert_eq!(next(&mut other), round * 50 + place);
        }
    }
    assert_eq!(outcomes, [Transmission::Sent; 3_000]);
    assert_eq!((one.counts().sent, one.counts().not_sent), (3_000, 0));
    // An oversized frame stops the later ones but not the earlier ones.
    let mut long = Frame::new(Bytes::from(vec![0; 1_600]));
    long.prepend(&[&B.0[..], &A.0, &1_600_u16.to_be_bytes()].concat());
    let frames = [frame(B, A, SOCKET, 1), frame(B, A, SOCKET, 2), long, frame(B, A, SOCKET, 3)];
    outcomes.clear();
    let error = one.send_several(&frames, &mut outcomes).unwrap_err();
    assert!(matches!(error, PortError::TooLong { .. }), "{error}");
    assert_eq!(outcomes, [Transmission::Sent; 2]);
    assert_eq!([next(&mut other), next(&mut other)], [1, 2]);
}

#[test]
fn no_frame_of_a_failed_batch_is_sent_later() {
    let Some(namespaces) = Namespaces::make() else { return };
    namespaces.up();
    let [a, b] = &namespaces.names;
    let (Some(mut one), Some(mut other)) = (open(&params(a, A)), open(&params(b, B))) else {
        return;
    };
    namespaces.down();
    let frames: Vec<_> = (0..8).map(|number| frame(B, A, SOCKET, number)).collect();
    let mut outcomes = vec![];
    let failed = one.send_several(&frames, &mut outcomes);
    assert!(matches!(failed, Err(PortError::Down(_))), "{failed:?}");
    assert_eq!(outcomes, []);
    namespaces.up();
    // The link may take some time to come up.
    let first = (0..100).find_map(|_| {
        one.send_several(&[frame(B, A, SOCKET, 9)], &mut outcomes).unwrap();
        other.receive(clock::now() + Duration::from_millis(100)).unwrap()
    });
    assert_eq!(first.map(|arrival| number(&arrival.frame)), Some(9));
}

/// Maximum transmissions of a message, one every 20 ms: a receiver on a busy machine may sleep for
/// long.
const PATIENCE: u32 = 250;

fn patient() -> Params {
    let receive_lifetime = Duration::from_secs(60);
    let lan = type3::Params::lan();
    Params {
        link: type3::Params { transmissions: PATIENCE, receive_lifetime, ..lan },
        ..Params::lan()
    }
}

/// Sends acknowledged messages; returns the number reported delivered.
fn send(port: &mut dyn Port) -> u32 {
    let mut messenger = Messenger::new(A, patient()).unwrap();
    let options = Options {
        acknowledged: true,
        transmit_indication: true,
        crc: true,
        transmissions: PATIENCE,
        ..Options::plain()
    };
    assert!(messenger.sockets.open(clock::now(), SOCKET).is_accepted());
    assert!(messenger.sockets.option(SOCKET, options).is_accepted());
    let (mut sent, told, done) = (0_u32, Cell::new(0), Cell::new(0));
    let to = Address { station: B, socket: SOCKET };
    let mut station = Programmed::new(messenger, |it: &mut Messenger, now| {
        while let Some(indication) = it.indication() {
            told.set(told.get() + 1);
            let is_done =
                matches!(indication, Indication::Transmitted { completion: Completion::Done, .. });
            done.set(done.get() + u32::from(is_done));
        }
        let data = Bytes::from(sent.to_be_bytes().to_vec());
        if sent < MESSAGES && it.sockets.transmit(now, SOCKET, to, data).is_accepted() {
            sent += 1;
        }
        None
    });
    let (until, stop) = (clock::now() + Duration::from_secs(300), AtomicBool::new(false));
    let run = Runner::new().run(&mut station, port, until, &stop, |_, _| {
        if told.get() == MESSAGES { Control::Stop } else { Control::Continue }
    });
    run.unwrap();
    done.get()
}

/// Takes messages until `stop` is set; returns the number of deliveries of each.
fn take(port: &mut dyn Port, stop: &AtomicBool) -> Vec<u32> {
    let mut messenger = Messenger::new(B, patient()).unwrap();
    let options = Options { crc: true, pending_receives: 4, ..Options::plain() };
    assert!(messenger.sockets.open(clock::now(), SOCKET).is_accepted());
    assert!(messenger.sockets.option(SOCKET, options).is_accepted());
    let mut came = vec![0; MESSAGES as usize];
    let mut station = Programmed::new(messenger, |it: &mut Messenger, now| {
        while let Some(message) = it.sockets.take(SOCKET) {
            let octets = message.data.to_bytes();
            came[u32::from_be_bytes(octets[..].try_into().unwrap()) as usize] += 1;
        }
        while it.sockets.enable_reception(now, SOCKET, 100).is_accepted() {}
        None
    });
    Runner::new().run(&mut station, port, Instant::MAX, stop, |_, _| Control::Continue).unwrap();
    drop(station);
    came
}

#[test]
fn over_a_lossy_af_xdp_wire_each_message_arrives_once() {
    let Some(namespaces) = Namespaces::make() else { return };
    namespaces.up();
    let [a, b] = &namespaces.names;
    let (Some(one), Some(mut other)) = (open(&params(a, A)), open(&params(b, B))) else { return };
    let plan = Plan { loss: 0.02, ..Plan::harmless(Duration::from_millis(100)) };
    let faults = |name| Some(Faults::new(plan, 0x5eed, name).unwrap());
    let faulty =
        FaultyParams { receiving: faults("here"), sending: faults("there"), held_frames: 64 };
    let mut one = Faulty::new(one, faulty);
    let done = AtomicBool::new(false);
    let (delivered, came) = std::thread::scope(|scope| {
        let taking = scope.spawn(|| take(&mut other, &done));
        let delivered = send(&mut one);
        done.store(true, Ordering::Relaxed);
        (delivered, taking.join().unwrap())
    });
    assert_eq!(delivered, MESSAGES, "lost, or its receiver asleep, for five seconds");
    assert_eq!(came, vec![1; MESSAGES as usize]);
}

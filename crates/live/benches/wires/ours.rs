//! Messaging service on a raw port, as a program uses it.

use crate::host::pin;
use crate::{HEADERS, MESSAGE, Rate};
use bytes::Bytes;
use live::clock;
use live::port::{AfPacket, AfPacketParams, AfXdp, AfXdpParams, Port, Stamp, Wait};
use live::runner::{Control, Runner};
use stack::messaging::{Address, Options, Params};
use stack::profile::{Messenger, Programmed};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use wire::addr::Mac;
use wire::time::Instant;

pub(crate) const SOCKET: u8 = 4;

pub(crate) fn port(namespace: &str, station: Mac, stamp: Stamp) -> AfPacket {
    let params = crate::namespace::params(namespace, station);
    let params = AfPacketParams { wait: Wait::Spin, stamp, ..params };
    AfPacket::open(&params).expect("the namespace is this program's own")
}

/// Packet socket at each end.
pub(crate) fn packets(names: &[String; 2], stamp: Stamp) -> [AfPacket; 2] {
    [0, 1].map(|of| port(&names[of], crate::station(of), stamp))
}

/// AF_XDP socket at each end.
pub(crate) fn xdp(names: &[String; 2]) -> [AfXdp; 2] {
    [0, 1].map(|of| {
        let params = AfXdpParams {
            interface: crate::INTERFACE.to_owned(),
            namespace: Some(names[of].clone()),
            station: Some(crate::station(of)),
            groups: vec![],
            wait: Wait::Spin,
        };
        AfXdp::open(&params).expect("the namespace is this program's own")
    })
}

/// Station with one open socket that has room for `pending_receives` messages.
pub(crate) fn messenger(station: Mac, pending_receives: usize) -> Messenger {
    let mut messenger = Messenger::new(station, Params::lan()).expect("the parameters are valid");
    let sockets = &mut messenger.sockets;
    let options = Options { pending_receives, ..Options::plain() };
    assert!(sockets.open(Instant::ZERO, SOCKET).is_accepted());
    assert!(sockets.option(SOCKET, options).is_accepted());
    while sockets.enable_reception(Instant::ZERO, SOCKET, MESSAGE).is_accepted() {}
    messenger
}

const fn address(station: Mac) -> Address {
    Address { station, socket: SOCKET }
}

/// Sends `messages` as fast as possible to a station that takes them.
pub(crate) fn rate<P: Port>(ends: [P; 2], messages: u64) -> Rate {
    let (done, taken) = (AtomicBool::new(false), AtomicU64::new(0));
    let [mut sending, mut receiving] = ends;
    let nanos = std::thread::scope(|scope| {
        scope.spawn(|| {
            pin(1);
            let mut station = Programmed::new(messenger(crate::station(1), 8), |it, now| {
                while it.sockets.take(SOCKET).is_some() {
                    taken.fetch_add(1, Ordering::Relaxed);
                    let _ = it.sockets.enable_reception(now, SOCKET, MESSAGE);
                }
                None
            });
            let end = Instant::MAX;
            Runner::new().run(&mut station, &mut receiving, end, &done, |_, _| Control::Continue)
        });
        let sender = scope.spawn(|| {
            pin(0);
            let (data, left) = (Bytes::from(vec![0x55; MESSAGE]), Cell::new(messages));
            let to = address(crate::station(1));
            let mut station = Programmed::new(messenger(crate::station(0), 1), |it, now| {
                if left.get() > 0
                    && it.sockets.transmit(now, SOCKET, to, data.clone()).is_accepted()
                {
                    left.set(left.get() - 1);
                }
                None
            });
            let begun = clock::now();
            let stop = AtomicBool::new(false);
            let run = Runner::new().run(&mut station, &mut sending, Instant::MAX, &stop, |_, _| {
                if left.get() == 0 { Control::Stop } else { Control::Continue }
            });
            run.expect("the port works");
            (clock::now() - begun).as_nanos() as f64
        });
        let nanos = sender.join().expect("the sender ends");
        crate::let_drain(&taken);
        done.store(true, Ordering::Relaxed);
        nanos
    });
    Rate { sent: messages, nanos, taken: taken.into_inner() }
}

/// Times of `count` round trips, each from one returned message to the next.
pub(crate) fn round_trips<P: Port>(ends: [P; 2], count: usize) -> Vec<u64> {
    let done = AtomicBool::new(false);
    let [mut asking, mut answering] = ends;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            pin(1);
            let mut station = Programmed::new(messenger(crate::station(1), 1), |it, now| {
                if let Some(message) = it.sockets.take(SOCKET) {
                    let data = message.data.into_bytes();
                    let _ = it.sockets.enable_reception(now, SOCKET, MESSAGE);
                    let _ = it.sockets.transmit(now, SOCKET, message.from, data);
                }
                None
            });
            let end = Instant::MAX;
            Runner::new().run(&mut station, &mut answering, end, &done, |_, _| Control::Continue)
        });
        let times = scope.spawn(|| {
            pin(0);
            ask(&mut asking, count)
        });
        let times = times.join().expect("the asking station ends");
        done.store(true, Ordering::Relaxed);
        times
    })
}

fn ask(port: &mut dyn Port, count: usize) -> Vec<u64> {
    let mut times = Vec::with_capacity(count);
    let (data, is_over) = (Bytes::from(vec![0x55; MESSAGE]), Cell::new(false));
    let to = address(crate::station(1));
    let mut last: Option<Instant> = None;
    let program = |it: &mut Messenger, now: Instant| {
        let came = it.sockets.take(SOCKET).is_some();
        if came {
            let _ = it.sockets.enable_reception(now, SOCKET, MESSAGE);
            times.extend(last.map(|last| (now - last).as_nanos() as u64));
            is_over.set(times.len() >= count);
        }
        // A lost message is retransmitted after a time longer than any round trip.
        let is_due = came || last.is_none_or(|last| now - last > crate::LOST_AFTER);
        if is_due && it.sockets.transmit(now, SOCKET, to, data.clone()).is_accepted() {
            last = Some(now);
        }
        last.map(|last| last + 2 * crate::LOST_AFTER)
    };
    let mut station = Programmed::new(messenger(crate::station(0), 1), program);
    let stop = AtomicBool::new(false);
    let run = Runner::new().run(&mut station, port, Instant::MAX, &stop, |_, _| {
        if is_over.get() { Control::Stop } else { Control::Continue }
    });
    run.expect("the port works");
    drop(station);
    times
}

/// Frame that carries a message of the service, for the programs it is compared with.
pub(crate) fn frame(from: Mac, to: Mac) -> Vec<u8> {
    let length = (MESSAGE + 3) as u16;
    let mut octets = [&to.0[..], &from.0, &length.to_be_bytes(), &[SOCKET, SOCKET, 0x03]].concat();
    assert_eq!(octets.len(), HEADERS);
    octets.resize(HEADERS + MESSAGE, 0x55);
    octets
}

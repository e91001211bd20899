//! Ground truth for closed windows: a receiver that stalls its credit logs when it had no buffer left
//! and when it gave one back; the meter finds the same from the AKs, to the nanosecond.

use bytes::Bytes;
use core::time::Duration;
use meter::{Meter, Report, Settings};
use sim::medium::framing::Framing;
use sim::medium::ideal::{Ideal, Params as IdealParams};
use sim::tap::Tap;
use sim::world::World;
use stack::llc::type3::Lpdu;
use stack::machine::{Deadline, Machine, Output};
use stack::profile;
use stack::station::{Frame, Station};
use stack::tp4::{Address, Credit, Endpoint, Entity, Indication, Nsdu, Params, Request};
use std::collections::VecDeque;
use wire::addr::Mac;
use wire::dissect::Link;
use wire::time::Instant;
use wire::units::BitRate;

/// DSAP, SSAP, UI, and the inactive subset of CLNP.
const BELOW: [u8; 4] = [0xFE, 0xFE, 0x03, 0x00];
/// Buffers of the receiver.
const BUFFERS: u32 = 3;
const MESSAGES: u64 = 100;
const OCTETS: usize = 500;

/// A user of class 4: the sender says all at once, the receiver holds each buffer for a while.
struct User {
    address: Mac,
    entity: Entity,
    /// Whether it has a call to make.
    begins: bool,
    frames: VecDeque<Frame>,
    /// When buffers are given back.
    held: VecDeque<(Instant, Endpoint)>,
    delivered: u64,
    /// Since when no buffer is left.
    closed_since: Option<Instant>,
    /// How long there was none, each time.
    log: Vec<Duration>,
}

impl User {
    fn new(number: u32) -> Self {
        let params = Params { window: BUFFERS as u16, credit: Credit::ByUser, ..Params::lan() };
        Self {
            address: Mac::local(number),
            entity: Entity::new(params, 0),
            begins: false,
            frames: VecDeque::new(),
            held: VecDeque::new(),
            delivered: 0,
            closed_since: None,
            log: Vec::new(),
        }
    }

    /// One that calls the other as soon as time begins.
    fn sender() -> Self {
        Self { begins: true, ..Self::new(1) }
    }

    fn call(&mut self, now: Instant) {
        let endpoint = self.entity.endpoint();
        let (called, calling, data) = (Bytes::new(), Bytes::new(), Bytes::new());
        let peer = Address::Station(Mac::local(2));
        let connect = Request::Connect { endpoint, peer, called, calling, data };
        self.entity.request(now, connect);
    }

    fn drain(&mut self, now: Instant) {
        while let Some(output) = self.entity.poll() {
            match output {
                Output::Send(Nsdu { peer: Address::Station(station), mut packet }) => {
                    packet.prepend(&BELOW);
                    let lpdu = Lpdu { station, priority: 0, packet, ticket: None };
                    self.frames.push_back(profile::Framing::Ieee8023.frame(self.address, lpdu));
                }
                Output::Deliver(Indication::Connect { endpoint, .. }) => {
                    self.entity.request(now, Request::Accept { endpoint, data: Bytes::new() });
                }
                Output::Deliver(Indication::Confirm { endpoint, .. }) => {
                    for _ in 0..MESSAGES {
                        let tsdu = Bytes::from(vec![7; OCTETS]);
                        self.entity.request(now, Request::Data { endpoint, tsdu });
                    }
                }
                Output::Deliver(Indication::Data { endpoint, .. }) => self.take(now, endpoint),
                Output::Deliver(_) | Output::Note(_) => {}
            }
        }
    }

    /// A buffer is filled. Each is given back after 1 ms, every seventh after 40 ms.
    fn take(&mut self, now: Instant, endpoint: Endpoint) {
        self.delivered += 1;
        let stall = if self.delivered.is_multiple_of(7) { 40 } else { 1 };
        let free = self.held.back().map_or(now, |(last, _)| *last).max(now);
        self.held.push_back((free + Duration::from_millis(stall), endpoint));
        if self.held.len() as u32 == BUFFERS {
            self.closed_since = Some(now);
        }
    }
}

impl Station for User {
    fn addr(&self) -> Mac {
        self.address
    }

    fn receive(&mut self, now: Instant, frame: Frame) {
        let source = stack::station::source(&frame).unwrap();
        let Some(lpdu) = profile::Framing::Ieee8023.lpdu(frame) else { return };
        let mut packet = lpdu.packet;
        packet.strip(BELOW.len()).unwrap();
        let peer = Address::Station(source);
        self.entity.receive(now, Nsdu { peer, packet });
        self.drain(now);
    }

    fn expire(&mut self, now: Instant) {
        if core::mem::take(&mut self.begins) {
            self.call(now);
        }
        while let Some((_, endpoint)) = self.held.pop_front_if(|(at, _)| *at <= now) {
            if let Some(since) = self.closed_since.take() {
                self.log.push(now.since(since));
            }
            self.entity.request(now, Request::GiveBack { endpoint, buffers: 1 });
        }
        self.entity.expire(now);
        self.drain(now);
    }

    fn deadline(&self) -> Option<Deadline> {
        let stall = self.held.front().map(|(at, _)| Deadline { at: *at, timer: "stall" });
        let call = self.begins.then_some(Deadline { at: Instant::ZERO, timer: "call" });
        Deadline::earlier(Deadline::earlier(self.entity.deadline(), stall), call)
    }

    fn poll(&mut self) -> Option<Frame> {
        self.frames.pop_front()
    }
}

/// What the meter finds, and the stations after it.
fn transfer() -> (Report, [User; 2]) {
    let ideal = Ideal::new(IdealParams {
        rate: Some(BitRate::mbps(10)),
        propagation: Duration::from_micros(5),
        framing: Framing::IEEE_802_3,
        queue_frames: 1_000,
    });
    let mut world = World::new(ideal, vec![User::sender(), User::new(2)]).unwrap();
    let mut meter = Meter::new(Settings::every(Duration::from_secs(60)));
    let mut tap = Tap::new(Framing::IEEE_802_3);
    let tapped = |passage: &_| {
        if let Some(seen) = tap.capture(passage) {
            meter.observe(seen.at, Link::Ethernet, seen.octets, seen.octets.len());
        }
    };
    world.run(Instant::ZERO + Duration::from_secs(20), tapped).unwrap();
    let [sender, receiver] = world.stations_mut() else { panic!("two stations") };
    let users = [sender, receiver].map(|user| core::mem::replace(user, User::new(3)));
    (meter.finish(), users)
}

#[test]
fn closed_windows_are_as_long_as_the_receiver_that_stalls_its_credit_logged() {
    let (report, [sender, receiver]) = transfer();
    let closed = &report.measures.delays.closed_window;
    let logged: Duration = receiver.log.iter().sum();
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap();
    println!("seen: {} closed windows, {logged:?} in all", closed.count);
    assert_eq!(receiver.delivered, MESSAGES);
    // All AKs are padded to the same length, so that each is tapped as long after it was sent.
    assert_eq!(closed.count, receiver.log.len() as u64);
    assert_eq!(u128::from(closed.total_ns), logged.as_nanos());
    assert_eq!(Some(closed.min_ns), receiver.log.iter().min().map(|time| nanos(*time)));
    assert_eq!(Some(closed.max_ns), receiver.log.iter().max().map(|time| nanos(*time)));
    // 14 stalls of 40 ms; the sender always has more to say, so that most of that is closed.
    assert!(closed.count > 20 && closed.max_ns > 30_000_000, "{closed:?}");
    // The sender kept to the window, and nothing was lost, so nothing was sent again.
    let windows = report.measures.windows;
    assert_eq!((windows.into_closed, windows.unassigned), (0, 0));
    assert_eq!(sender.entity.counters().sent_again, 0);
    let [dts, _] = report.measures.transport.data_and_acknowledgements();
    assert_eq!((dts.tpdus, dts.retransmissions), (MESSAGES, 0));
    assert!(sender.entity.counters().closed_window > 0);
}

//! Ground truth for closed windows: a receiver that stalls its credit logs when it ran out of
//! buffers and when it released one. The meter derives the same from the AKs: in simulation to the
//! nanosecond; live, through a relay that loses DTs, in number.

use crate::veth::Pair;
use bytes::Bytes;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use live::clock;
use live::relay::{Relay, RelayParams, Selection};
use live::runner::{Control, Runner};
use live::tap::Tap as LiveTap;
use meter::{Meter, Report, Settings};
use sim::medium::framing::Framing;
use sim::medium::ideal::{Ideal, Params as IdealParams};
use sim::tap::Tap;
use sim::world::World;
use stack::fault::{Faults, Plan};
use stack::llc::type3::Lpdu;
use stack::machine::{Deadline, Machine, Output};
use stack::profile;
use stack::station::{Frame, Station};
use stack::tp4::{Address, Credit, Endpoint, Entity, Indication, Nsdu, Params, Request};
use std::collections::VecDeque;
use std::thread;
use wire::addr::Mac;
use wire::dissect::Link;
use wire::time::Instant;
use wire::tp::Kind;
use wire::units::BitRate;

/// DSAP, SSAP, UI, and the inactive subset of CLNP.
const BELOW: [u8; 4] = [0xFE, 0xFE, 0x03, 0x00];
/// Buffers of the receiver.
const BUFFERS: u32 = 3;
const MESSAGES: u64 = 100;
const OCTETS: usize = 500;

/// A class 4 user: the sender submits everything at once, the receiver holds each buffer for a
/// while.
struct User {
    address: Mac,
    entity: Entity,
    /// True if it makes the call.
    begins: bool,
    frames: VecDeque<Frame>,
    /// Release times of buffers.
    held: VecDeque<(Instant, Endpoint)>,
    delivered: u64,
    /// Time since which no buffer is left.
    closed_since: Option<Instant>,
    /// Duration of each period without buffers.
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

    /// Returns a user that calls the other at the start.
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
                    let lpdu = Lpdu { station, priority: 0, packet, handle: None };
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

    /// Fills a buffer. Each is released after 1 ms, every seventh after 40 ms.
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

/// Returns the meter's report, and the stations after the transfer.
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
fn metered_closed_windows_equal_the_log_of_the_receiver() {
    let (report, [sender, receiver]) = transfer();
    let closed = &report.measures.delays.closed_window;
    let logged: Duration = receiver.log.iter().sum();
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap();
    println!("seen: {} closed windows, {logged:?} in all", closed.count);
    assert_eq!(receiver.delivered, MESSAGES);
    // All AKs are padded to the same length, so each is tapped with the same delay after it was
    // sent.
    assert_eq!(closed.count, receiver.log.len() as u64);
    assert_eq!(u128::from(closed.total_ns), logged.as_nanos());
    assert_eq!(Some(closed.min_ns), receiver.log.iter().min().map(|time| nanos(*time)));
    assert_eq!(Some(closed.max_ns), receiver.log.iter().max().map(|time| nanos(*time)));
    // 14 stalls of 40 ms; the sender always has data queued, so the window is closed for most of
    // them.
    assert!(closed.count > 20 && closed.max_ns > 30_000_000, "{closed:?}");
    // The sender respected the window and nothing was lost, so nothing was retransmitted.
    let windows = report.measures.traffic.windows;
    assert_eq!((windows.into_closed, windows.unassigned), (0, 0));
    assert_eq!(sender.entity.counters().sent_again, 0);
    let [dts, _] = report.measures.traffic.transport.data_and_acknowledgements();
    assert_eq!((dts.tpdus, dts.retransmissions), (MESSAGES, 0));
    assert!(sender.entity.counters().closed_window > 0);
}

/// Meters the frames that have passed a wire. Each end's tap receives incoming frames only;
/// outgoing ones may bypass a tap.
fn metered(taps: [LiveTap; 2]) -> Report {
    let mut heard = Vec::new();
    for mut tap in taps {
        while let Some(seen) = tap.receive(clock::now()).unwrap() {
            heard.push((seen.at, seen.octets.to_vec(), seen.original_octets));
        }
        assert_eq!(tap.dropped().unwrap(), 0);
    }
    heard.sort_by_key(|(at, ..)| *at);
    let mut meter = Meter::new(Settings::every(Duration::from_secs(3_600)));
    for (at, octets, original_octets) in heard {
        meter.observe(at, Link::Ethernet, &octets, original_octets);
    }
    meter.finish()
}

/// Runs the stations live over a relay that loses some DTs; returns the number lost.
fn live_transfer([left, right]: [&Pair; 2], [sender, receiver]: [&mut User; 2]) -> u64 {
    let plan = Plan { loss: 0.05, ..Plan::harmless(Duration::from_millis(500)) };
    let params = RelayParams {
        places: [left.place(1), right.place(1)],
        faults: [Some(Faults::new(plan, 1, "there").unwrap()), None],
        selection: Selection::Tpdus(vec![Kind::Dt]),
        held_frames: 1_000,
    };
    let mut relay = Relay::open(params).unwrap();
    let mut ports = [left.port(0, Some(sender.address)), right.port(0, Some(receiver.address))];
    let [sends, receives] = &mut ports;
    let (is_over, is_relayed) = (AtomicBool::new(false), AtomicBool::new(false));
    let until = clock::now() + Duration::from_secs(60);
    thread::scope(|scope| {
        let relaying = scope.spawn(|| {
            relay.run(Instant::MAX, &is_relayed, &mut |_| {}).unwrap();
            relay.counts()[0].faults.lost
        });
        let sending = scope.spawn(|| {
            Runner::new().run(sender, sends, until, &is_over, |_, _| Control::Continue).unwrap();
        });
        let is_through = |user: &mut User, _| {
            let is_through = user.delivered == MESSAGES && user.held.is_empty();
            if is_through { Control::Stop } else { Control::Continue }
        };
        Runner::new().run(receiver, receives, until, &is_over, is_through).unwrap();
        is_over.store(true, Ordering::Relaxed);
        sending.join().unwrap();
        is_relayed.store(true, Ordering::Relaxed);
        relaying.join().unwrap()
    })
}

#[test]
fn relay_stations_and_meters_agree_on_losses_and_closed_windows() {
    let Some(left) = Pair::make("left") else { return };
    let Some(right) = Pair::make("right") else { return };
    let taps = [&left, &right].map(|pair| [0, 1].map(|end| pair.tap(end)));
    let (mut sender, mut receiver) = (User::sender(), User::new(2));
    let lost = live_transfer([&left, &right], [&mut sender, &mut receiver]);
    let [sent, received] = taps.map(metered);
    assert_eq!(receiver.delivered, MESSAGES, "it did not come through in a minute");
    let dts = |report: &Report| *report.measures.traffic.transport.data_and_acknowledgements()[0];
    let again = sender.entity.counters().sent_again;
    assert_eq!(dts(&sent).tpdus, MESSAGES + again);
    assert_eq!(dts(&sent).retransmissions, again);
    assert_eq!(dts(&received).tpdus, dts(&sent).tpdus - lost);
    assert_eq!(dts(&received).originals(), MESSAGES);
    assert!(lost > 0 && again >= lost, "{lost} lost, {again} again");
    // No AK is lost, so both sides of the relay see each window close and open.
    let closed = [&sent, &received].map(|report| report.measures.delays.closed_window.clone());
    assert_eq!(closed.clone().map(|closed| closed.count), [receiver.log.len() as u64; 2]);
    // The duration is printed and not judged: a thread's wake-up lies between the log and the wire.
    let logged: Duration = receiver.log.iter().sum();
    let metered = closed.map(|closed| Duration::from_nanos(closed.total_ns));
    println!(
        "seen: {lost} DTs lost, {again} sent again, {} closed windows: {logged:?} logged, \
         {metered:?} metered",
        receiver.log.len()
    );
    assert_eq!(sent.measures.traffic.windows.into_closed, 0);
}

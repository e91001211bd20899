//! Loop that drives a station.

use crate::{A, B, frame, numbers};
use live::clock;
use live::port::{Arrival, Cap, Hub, Paced, Port, PortError, Reach, Udp, UdpParams, Wait};
use live::runner::{Control, OnDown, Runner, Stopped};
use stack::machine::Deadline;
use stack::station::{Frame, Station, Transmission};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wire::addr::Mac;
use wire::control::Limits;
use wire::time::Instant;
use wire::units::BitRate;

/// Station that answers each frame with the next number, and logs the times of its calls.
#[derive(Default)]
struct Echo {
    due: Option<Instant>,
    expired: Vec<(Instant, Instant)>,
    times: Vec<Instant>,
    stood_still: Vec<Duration>,
    outgoing: VecDeque<Frame>,
    outcomes: Vec<Transmission>,
}

impl Station for Echo {
    fn addr(&self) -> Mac {
        A
    }

    fn receive(&mut self, now: Instant, received: Frame) {
        self.times.push(now);
        self.outgoing.push_back(frame(B, A, 4, crate::number(&received) + 1));
    }

    fn expire(&mut self, now: Instant) {
        self.times.push(now);
        if let Some(due) = self.due.take() {
            self.expired.push((due, now));
            self.outgoing.push_back(frame(B, A, 4, 1_000));
        }
    }

    fn stood_still(&mut self, for_time: Duration) {
        self.stood_still.push(for_time);
    }

    fn deadline(&self) -> Option<Deadline> {
        self.due.map(|at| Deadline { at, timer: "T1" })
    }

    fn poll(&mut self) -> Option<Frame> {
        self.outgoing.pop_front()
    }

    fn transmitted(&mut self, _now: Instant, _queue: u8, outcome: Transmission) {
        self.outcomes.push(outcome);
    }
}

static RUNNING: AtomicBool = AtomicBool::new(false);

#[test]
fn frames_and_deadlines_are_served_and_time_never_goes_back() {
    let hub = Hub::new(100);
    let (mut a, mut b) = (hub.port(A), hub.port(B));
    for n in 0..10 {
        b.send(&frame(A, B, 4, 10 * n)).unwrap();
    }
    let due = clock::now() + Duration::from_millis(5);
    let mut station = Echo { due: Some(due), ..Echo::default() };
    let mut runner = Runner::new();
    let stopped = runner.run(&mut station, &mut a, Instant::MAX, &RUNNING, |station, _| {
        if station.expired.is_empty() { Control::Continue } else { Control::Stop }
    });
    assert_eq!(stopped.unwrap(), Stopped::Satisfied);
    let mut expected: Vec<u32> = (0..10).map(|n| 10 * n + 1).collect();
    expected.push(1_000);
    assert_eq!(numbers(&mut b), expected, "frames queued by expire are sent before the end");
    assert!(station.times.is_sorted());
    assert!(matches!(station.expired.as_slice(), [(planned, now)] if now >= planned));
    let counts = runner.counts();
    assert_eq!((counts.received, counts.sent, counts.deadlines), (10, 11, 1));
    assert_eq!(station.outcomes, [Transmission::Sent; 11]);
    assert_eq!(counts.latest, station.expired[0].1 - due);
}

#[test]
fn a_station_learns_for_how_long_its_process_stood_still() {
    let hub = Hub::new(100);
    let (mut port, mut station, mut wakes) = (hub.port(A), Echo::default(), 0);
    let ended = Runner::new().run(&mut station, &mut port, Instant::MAX, &RUNNING, |_, now| {
        wakes += 1;
        if wakes == 2 {
            clock::sleep_until(now + Duration::from_millis(300));
        }
        if wakes == 3 { Control::Stop } else { Control::Continue }
    });
    assert_eq!(ended.unwrap(), Stopped::Satisfied);
    let longest = station.stood_still.iter().max();
    assert!(longest >= Some(&Duration::from_millis(280)), "{longest:?}");
}

#[test]
fn a_run_ends_when_its_time_is_over_or_its_flag_is_set() {
    let hub = Hub::new(100);
    let mut a = hub.port(A);
    let mut station = Echo::default();
    let mut wakes = 0;
    let ended = Runner::new().run(&mut station, &mut a, Instant::ZERO, &RUNNING, |_, _| {
        wakes += 1;
        Control::Continue
    });
    assert_eq!((ended.unwrap(), wakes), (Stopped::Ended, 1));

    let stop = AtomicBool::new(false);
    let flagged = Runner::new().run(&mut station, &mut a, Instant::MAX, &stop, |_, _| {
        stop.store(true, Ordering::Relaxed);
        Control::Continue
    });
    assert_eq!(flagged.unwrap(), Stopped::Flagged);
}

/// Port that fails on its first frame and then works.
struct Fails {
    hub: live::port::InProcess,
    left: u32,
}

impl Port for Fails {
    fn name(&self) -> &str {
        self.hub.name()
    }

    fn addr(&self) -> Mac {
        self.hub.addr()
    }

    fn send(&mut self, frame: &Frame) -> Result<Transmission, PortError> {
        if let Some(left) = self.left.checked_sub(1) {
            self.left = left;
            return Err(PortError::Down("wire0".to_owned()));
        }
        self.hub.send(frame)
    }

    fn receive(&mut self, until: Instant) -> Result<Option<Arrival>, PortError> {
        self.hub.receive(until)
    }

    fn link_rate(&self) -> Option<BitRate> {
        None
    }

    fn is_unbounded(&self) -> bool {
        true
    }

    fn counts(&self) -> live::port::Counts {
        self.hub.counts()
    }
}

#[test]
fn a_port_failure_is_reported_to_the_station_which_goes_on() {
    for (runner, ends) in [(Runner::new(), true), (Runner::with(OnDown::Outlast), false)] {
        let (hub, mut runner) = (Hub::new(100), runner);
        let (mut a, mut b) = (Fails { hub: hub.port(A), left: 1 }, hub.port(B));
        let outgoing = (0..3).map(|n| frame(B, A, 4, n)).collect();
        let mut station = Echo { outgoing, ..Echo::default() };
        assert_eq!(runner.transmit(&mut station, &mut a).is_err(), ends);
        assert_eq!(station.outcomes, [Transmission::GivenUp]);
        runner.round(&mut station, &mut a, Instant::ZERO).unwrap();
        assert_eq!(numbers(&mut b), [1, 2]);
        let counts = runner.counts();
        assert_eq!((counts.sent, counts.given_up, counts.down), (2, 1, u64::from(!ends)));
    }
}

/// Station that always has one more frame to send.
struct Flood {
    sent: u64,
    heard: bool,
}

impl Station for Flood {
    fn addr(&self) -> Mac {
        A
    }

    fn receive(&mut self, _now: Instant, _frame: Frame) {
        self.heard = true;
    }

    fn expire(&mut self, _now: Instant) {}

    fn deadline(&self) -> Option<Deadline> {
        None
    }

    fn poll(&mut self) -> Option<Frame> {
        // A limit, should the runner have none.
        self.sent += 1;
        (self.sent < 1_000_000).then(|| frame(B, A, 4, 0))
    }
}

#[test]
fn a_flooding_station_still_receives_and_can_be_stopped() {
    let hub = Hub::new(10);
    let (mut a, mut b) = (hub.port(A), hub.port(B));
    b.send(&frame(A, B, 4, 1)).unwrap();
    let mut station = Flood { sent: 0, heard: false };
    let stopped = Runner::new().run(&mut station, &mut a, Instant::MAX, &RUNNING, |station, _| {
        if station.heard { Control::Stop } else { Control::Continue }
    });
    assert_eq!(stopped.unwrap(), Stopped::Satisfied);
    assert!(station.sent < 1_000, "{} frames before it received one", station.sent);
}

#[test]
fn frames_held_back_by_a_port_are_reported_when_they_leave() {
    let hub = Hub::new(100);
    let none = Cap::Agreed(Limits::NONE);
    let (mut a, mut b) = (Paced::new(hub.port(A), none, 3), hub.port(B));
    let outgoing = (0..5).map(|n| frame(B, A, 4, n)).collect();
    let (mut station, mut runner) = (Echo { outgoing, ..Echo::default() }, Runner::new());
    assert!(runner.transmit(&mut station, &mut a).unwrap());
    // The first is always free, and there is room for three more.
    assert_eq!(station.outcomes, [Transmission::Sent, Transmission::NotTaken]);
    assert_eq!(a.held_back(), 3);
    a.cap(Cap::Agreed(Limits { frames_per_second: 100_000, bits_per_second: 1 << 40 }));
    while station.outcomes.len() < 5 {
        runner.round(&mut station, &mut a, Instant::MAX).unwrap();
        assert_eq!(station.outcomes.len() + a.held_back(), 5);
    }
    assert_eq!(station.outcomes[2..], [Transmission::Sent; 3]);
    assert_eq!(numbers(&mut b), [0, 1, 2, 3]);
}

#[test]
fn a_frame_that_no_port_carries_is_counted_and_the_run_goes_on() {
    let learn = |station| UdpParams {
        address: "127.0.0.1:0".parse().unwrap(),
        station,
        peers: Vec::new(),
        learn: true,
        reach: Reach::ThisHost,
        wait: Wait::Block,
    };
    let peer = Udp::open(learn(B)).unwrap();
    let peers = vec![(B, peer.address())];
    let mut port = Udp::open(UdpParams { peers, ..learn(A) }).unwrap();
    let mut station = Echo::default();
    // Longer than a datagram, then one that fits.
    station.outgoing.push_back(Frame::new(vec![2; 65_536].into()));
    station.outgoing.push_back(frame(B, A, 4, 1));
    let mut runner = Runner::new();
    let stopped =
        runner.run(&mut station, &mut port, Instant::ZERO, &RUNNING, |_, _| Control::Continue);
    assert_eq!(stopped.unwrap(), Stopped::Ended);
    assert_eq!(station.outcomes, [Transmission::GivenUp, Transmission::Sent]);
    assert_eq!((runner.counts().too_long, runner.counts().sent), (1, 1));
}

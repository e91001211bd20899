//! ProNET-10's refused bit drives the `retry` option of TR-88-08: "When the token ring's frame
//! acknowledgement bit shows that the destination did not receive a packet correctly, retry tells how
//! many times the transmitter should transparently send the packet before declaring an error."
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail by panicking")]

use bytes::Bytes;
use core::time::Duration;
use sim::medium::token_ring::{Params as Ring, TokenRing};
use sim::world::World;
use stack::machine::Deadline;
use stack::messaging::{Address, Failure, Options, Params, Side, SideState};
use stack::profile::{Messenger, Programmed};
use stack::station::{Frame, Station, Transmission};
use wire::addr::Mac;
use wire::time::Instant;

type Program = Box<dyn FnMut(&mut Messenger, Instant) -> Option<Instant>>;

const SOCKET: u8 = 4;
/// Time from which the receiver's interface has a buffer.
const BUFFER_AT: Instant = Instant::from_nanos(1_000_000);

/// Station whose interface has a buffer from some time on.
struct Interface {
    station: Programmed<Program>,
    buffer_at: Instant,
    now: Instant,
}

impl Station for Interface {
    fn addr(&self) -> Mac {
        self.station.addr()
    }

    fn receive(&mut self, now: Instant, frame: Frame) {
        self.now = now;
        self.station.receive(now, frame);
    }

    fn expire(&mut self, now: Instant) {
        self.now = now;
        self.station.expire(now);
    }

    fn deadline(&self) -> Option<Deadline> {
        let buffer = (self.now < self.buffer_at && self.buffer_at < Instant::MAX)
            .then_some(Deadline { at: self.buffer_at, timer: "buffer" });
        Deadline::earlier(self.station.deadline(), buffer)
    }

    fn poll(&mut self) -> Option<Frame> {
        self.station.poll()
    }

    fn transmitted(&mut self, now: Instant, queue: u8, outcome: Transmission) {
        self.now = now;
        self.station.transmitted(now, queue, outcome);
    }

    fn has_receive_buffer(&self) -> bool {
        self.now >= self.buffer_at
    }
}

fn station(number: u32, buffer_at: Instant, program: Program) -> Interface {
    let messenger = Messenger::new(Mac::local(number), Params::lan()).unwrap();
    Interface { station: Programmed::new(messenger, program), buffer_at, now: Instant::ZERO }
}

/// Sends one message under these options to an interface that has a buffer from `buffer_at` on.
/// Returns the times of the frames that its sender put on the ring, its state and failure, and the
/// number of messages received.
fn run(options: Options, buffer_at: Instant) -> (Vec<Instant>, SideState, Option<Failure>, usize) {
    let sender = move |messenger: &mut Messenger, now| {
        if messenger.sockets.open(now, SOCKET).is_accepted() {
            assert!(messenger.sockets.option(SOCKET, options).is_accepted());
            let to = Address { station: Mac::local(2), socket: SOCKET };
            let data = Bytes::from_static(b"350 degrees");
            assert!(messenger.sockets.transmit(now, SOCKET, to, data).is_accepted());
        }
        None
    };
    let receiver = |messenger: &mut Messenger, now| {
        if messenger.sockets.open(now, SOCKET).is_accepted() {
            let options = Options { pending_receives: 9, ..Options::plain() };
            assert!(messenger.sockets.option(SOCKET, options).is_accepted());
            while messenger.sockets.enable_reception(now, SOCKET, 100).is_accepted() {}
        }
        None
    };
    let stations = vec![
        station(1, Instant::ZERO, Box::new(sender)),
        station(2, buffer_at, Box::new(receiver)),
    ];
    let mut world =
        World::new(TokenRing::new(Ring::pronet_10(2, 200.0)).unwrap(), stations).unwrap();
    let mut frames = Vec::new();
    let end = Instant::ZERO + Duration::from_secs(2);
    world
        .run(end, |passage| {
            if passage.source == 0 {
                frames.push(passage.started);
            }
        })
        .unwrap();
    let mut both = world.stations().iter().map(|interface| interface.station.messenger().clone());
    let (sender, mut receiver) = (both.next().unwrap(), both.next().unwrap());
    let state = sender.sockets.status(SOCKET, Side::Transmit).unwrap();
    let taken = core::iter::from_fn(|| receiver.sockets.take(SOCKET)).count();
    (frames, state, sender.sockets.failure(SOCKET, Side::Transmit), taken)
}

#[test]
fn a_refused_datagram_is_retried_up_to_retry_and_then_fails() {
    for transmissions in [1, 2, 7] {
        let options = Options { transmissions, ..Options::plain() };
        let failed = (SideState::Failed, Some(Failure::NotTransmitted), 0);
        let (frames, state, failure, taken) = run(options, Instant::MAX);
        assert_eq!((frames.len(), (state, failure, taken)), (transmissions as usize, failed));
    }
}

#[test]
fn a_refused_datagram_goes_through_once_there_is_a_buffer() {
    let options = Options { transmissions: u32::MAX, ..Options::plain() };
    let (frames, state, failure, taken) = run(options, BUFFER_AT);
    assert_eq!((state, failure, taken), (SideState::Idle, None, 1));
    // Each attempt takes a frame of 37 bits and 8 (3 + 11) of data, 14.9 us, and a round of the
    // token before the next: at most 67 in the millisecond.
    assert!((10..=68).contains(&frames.len()), "{} frames", frames.len());
}

#[test]
fn a_refused_acknowledged_message_is_retried_up_to_retry() {
    for transmissions in [1, 3] {
        let options = Options { acknowledged: true, transmissions, ..Options::plain() };
        let (frames, state, failure, taken) = run(options, Instant::MAX);
        let failed = (SideState::Failed, Some(Failure::NoAcknowledgement), 0);
        assert_eq!((frames.len(), (state, failure, taken)), (transmissions as usize, failed));
    }
    let options = Options { acknowledged: true, transmissions: 8, ..Options::plain() };
    let (_, state, failure, taken) = run(options, BUFFER_AT);
    assert_eq!((state, failure, taken), (SideState::Idle, None, 1));
}

#[test]
fn a_refused_message_is_retried_at_once_and_finally_after_t1() {
    let sent_at = |transmissions| {
        let options = Options { acknowledged: true, transmissions, ..Options::plain() };
        let (frames, state, ..) = run(options, Instant::MAX);
        assert_eq!(state, SideState::Failed);
        frames.iter().map(|at| *at - frames[0]).collect::<Vec<_>>()
    };
    // T1 is 20 ms. A frame of 37 bits and 8 (3 + 11) of data takes 14.9 us of 10 Mbit/s, and
    // returns after the two stations' latency; then the token comes round.
    let t1 = Params::lan().link.acknowledgement_time;
    assert_eq!(sent_at(1).len(), 1);
    let [_, second] = sent_at(2)[..] else { panic!("two frames were expected") };
    assert!(second >= t1, "{second:?}");
    let [_, first_again, .., sixth, last] = sent_at(7)[..] else { panic!("seven were expected") };
    assert!(first_again < Duration::from_micros(100), "{first_again:?}");
    assert!(sixth < Duration::from_micros(500) && last - sixth >= t1, "{sixth:?} {last:?}");
}

//! Messaging of two stations, frame by frame.

use super::*;
use crate::llc::type3::Lpdu;
use crate::machine::{Machine, Output};
use crate::station::Transmission;
use bytes::Bytes;
use core::time::Duration;
use wire::time::Instant;

const A: Mac = Mac::local(1);
const B: Mac = Mac::local(2);
const MS: Duration = Duration::from_millis(1);

/// Messaging of A and B on a wire without delay; frames are 1 ms apart.
struct Pair {
    now: Instant,
    both: [Messaging; 2],
    told: [Vec<Indication>; 2],
    /// Effect of the wire on a frame: passed, changed or lost.
    wire: fn(usize, Packet) -> Option<Packet>,
    frames: usize,
}

impl Pair {
    fn new(options: Options) -> Self {
        let messaging = || Messaging::new(Params::lan()).unwrap();
        let mut this = Self {
            now: Instant::ZERO,
            both: [messaging(), messaging()],
            told: [Vec::new(), Vec::new()],
            wire: |_, packet| Some(packet),
            frames: 0,
        };
        for (of, socket) in [(0, 4), (1, 8)] {
            assert_eq!(this.both[of].open(this.now, socket), Outcome::Accepted);
            assert_eq!(this.both[of].option(socket, options), Outcome::Accepted);
        }
        this
    }

    /// Transmits from socket 4 of A to socket 8 of B.
    fn transmit(&mut self, data: &'static [u8]) -> Outcome {
        let to = Address { station: B, socket: 8 };
        self.both[0].transmit(self.now, 4, to, Bytes::from_static(data))
    }

    fn enable(&mut self, octets: usize) -> Outcome {
        self.both[1].enable_reception(self.now, 8, octets)
    }

    fn taken(&mut self) -> Option<Vec<u8>> {
        let message = self.both[1].take(8)?;
        assert_eq!(message.from, Address { station: A, socket: 4 });
        Some(message.data.to_bytes().to_vec())
    }

    /// Carries frames until there are none.
    fn settle(&mut self) {
        let next = |both: &mut [Messaging; 2]| {
            (0..2).find_map(|of| both[of].poll().map(|output| (of, output)))
        };
        while let Some((of, output)) = next(&mut self.both) {
            match output {
                Output::Deliver(indication) => self.told[of].push(indication),
                Output::Send(lpdu) => {
                    self.now += MS;
                    self.both[of].transmitted(self.now, 0, Transmission::Sent);
                    let passed = (self.wire)(self.frames, lpdu.packet);
                    self.frames += 1;
                    if let Some(packet) = passed {
                        let station = [A, B][of];
                        let arrived = Lpdu { station, priority: 0, packet, handle: None };
                        self.both[1 - of].receive(self.now, arrived);
                    }
                }
                Output::Note(never) => match never {},
            }
        }
    }

    /// Carries frames and advances to deadlines until there are none.
    fn run(&mut self) {
        self.settle();
        while let Some(due) = self.both.iter().filter_map(|one| one.deadline()).min() {
            self.now = self.now.max(due.at);
            self.both.iter_mut().for_each(|one| one.expire(due.at));
            self.settle();
        }
    }

    fn status(&self) -> [SideState; 2] {
        let of = |of: usize, socket, side| self.both[of].status(socket, side).unwrap();
        [of(0, 4, Side::Transmit), of(1, 8, Side::Receive)]
    }

    fn failure(&self) -> Option<Failure> {
        self.both[0].failure(4, Side::Transmit)
    }
}

fn acknowledged() -> Options {
    Options { acknowledged: true, transmissions: 5, ..Options::plain() }
}

#[test]
fn sockets_are_even_numbers_from_2_to_254_and_open_once() {
    let mut messaging = Messaging::new(Params { sockets: 126, ..Params::lan() }).unwrap();
    let mut open = |socket| messaging.open(Instant::ZERO, socket);
    let accepted = (0..=u8::MAX).filter(|socket| open(*socket).is_accepted());
    assert_eq!(accepted.collect::<Vec<_>>(), (1..=126).map(|n| 2 * n).collect::<Vec<u8>>());
    for socket in [0, 1, 3, 253, 255] {
        assert_eq!(open(socket), Outcome::InvalidSocket);
    }
    assert_eq!((open(2), open(254)), (Outcome::DuplicateSocket, Outcome::TooManySockets));
    assert_eq!(messaging.close(Instant::ZERO, 2), Outcome::Accepted);
    assert_eq!(messaging.open(Instant::ZERO, 254), Outcome::Accepted);
}

#[test]
fn operations_on_closed_and_invalid_sockets_are_refused() {
    let now = Instant::ZERO;
    let mut messaging = Messaging::new(Params::lan()).unwrap();
    let to = |station, socket| Address { station, socket };
    let data = Bytes::from_static(b"x");
    assert_eq!(messaging.close(now, 4), Outcome::InvalidSocket);
    assert_eq!(messaging.option(4, Options::plain()), Outcome::InvalidSocket);
    assert_eq!(messaging.transmit(now, 4, to(B, 8), data.clone()), Outcome::InvalidSocket);
    assert_eq!(messaging.enable_reception(now, 4, 10), Outcome::InvalidSocket);
    assert_eq!(messaging.reset(now, 4, Side::Receive), Outcome::InvalidSocket);
    assert_eq!(messaging.status(4, Side::Transmit), Err(Outcome::InvalidSocket));
    assert_eq!(messaging.take(4), None);
    assert!(messaging.open(now, 4).is_accepted());
    for socket in [0, 7, 255] {
        assert_eq!(messaging.transmit(now, 4, to(B, socket), data.clone()), Outcome::InvalidSocket);
    }
    assert!(messaging.option(4, acknowledged()).is_accepted());
    let everybody = to(Mac::BROADCAST, 8);
    assert_eq!(messaging.transmit(now, 4, everybody, data), Outcome::InvalidSocket);
    assert_eq!(Side::of_letter('t'), Err(Outcome::NeitherSide));
    assert_eq!(Side::of_letter('x'), Ok(Side::Transmit));
}

#[test]
fn the_longest_message_is_that_of_an_lsdu() {
    // 1,500 octets of 802.3 data hold LLC's 3 and 1,497 of LSDU, 2 of which may be a CRC.
    static LONG: [u8; 1_498] = [7; 1_498];
    for crc in [false, true] {
        let mut pair = Pair::new(Options { crc, ..acknowledged() });
        let longest = if crc { 1_495 } else { 1_497 };
        assert_eq!(pair.enable(longest + 1), Outcome::TooLarge);
        assert_eq!(pair.enable(longest), Outcome::Accepted);
        assert_eq!(pair.transmit(&LONG[..=longest]), Outcome::TooLarge);
        assert_eq!(pair.transmit(&LONG[..longest]), Outcome::Accepted);
        pair.run();
        assert_eq!(pair.taken().as_deref(), Some(&LONG[..longest]));
    }
}

#[test]
fn each_combination_of_crc_and_acknowledgement_delivers() {
    // SDN takes a frame; SDA takes two, and two more to synchronize first.
    for (crc, acknowledged, frames) in [(false, false, 1), (true, false, 1), (true, true, 4)] {
        let base = Options { crc, acknowledged, ..Options::plain() };
        let mut pair =
            Pair::new(Options { transmit_indication: true, receive_indication: true, ..base });
        assert_eq!(pair.status(), [SideState::Idle, SideState::Idle]);
        assert_eq!(pair.enable(100), Outcome::Accepted);
        assert_eq!(pair.transmit(b"hello"), Outcome::Accepted);
        assert_eq!(pair.status(), [SideState::Pending, SideState::Pending]);
        pair.run();
        assert_eq!(pair.frames, frames);
        assert_eq!(pair.status(), [SideState::Idle, SideState::Idle]);
        assert_eq!(pair.taken().as_deref(), Some(&b"hello"[..]));
        let completion = Completion::Done;
        let sent = Indication::Transmitted { socket: 4, sequence: 0, completion };
        let received = Indication::Received { socket: 8, completion };
        assert_eq!(pair.told, [vec![sent], vec![received]]);
    }
}

#[test]
fn pending_operations_are_limited_by_the_options() {
    let mut pair = Pair::new(acknowledged());
    assert_eq!((pair.enable(10), pair.enable(10)), (Outcome::Accepted, Outcome::SocketBusy));
    assert_eq!(
        (pair.transmit(b"a"), pair.transmit(b"b")),
        (Outcome::Accepted, Outcome::SocketBusy)
    );
    assert_eq!(pair.both[0].close(pair.now, 4), Outcome::SocketBusy);
    pair.run();
    assert_eq!(pair.enable(10), Outcome::SocketBusy, "its message was not taken yet");
    assert!(pair.taken().is_some() && pair.enable(10).is_accepted());
    assert_eq!(pair.both[1].close(pair.now, 8), Outcome::SocketBusy);
    assert!(pair.both[1].reset(pair.now, 8, Side::Receive).is_accepted());
    assert!(pair.both[1].close(pair.now, 8).is_accepted());
}

#[test]
fn a_receiver_without_buffer_is_retried_up_to_the_limit() {
    let mut pair = Pair::new(acknowledged());
    assert!(pair.transmit(b"x").is_accepted());
    pair.settle();
    assert_eq!(pair.status()[0], SideState::Pending);
    assert!(pair.enable(10).is_accepted());
    pair.run();
    assert_eq!((pair.status()[0], pair.taken()), (SideState::Idle, Some(b"x".to_vec())));

    assert!(pair.transmit(b"y").is_accepted());
    pair.run();
    assert_eq!(pair.status()[0], SideState::Failed);
    let status = CommandStatus::Unavailable;
    assert_eq!(pair.failure(), Some(Failure::Refused(status)));
    // Once for "x", five times for "y".
    assert_eq!(pair.both[1].acknowledged().counters().no_buffer, 6);
    assert!(pair.enable(10).is_accepted() && pair.transmit(b"z").is_accepted());
    pair.run();
    assert_eq!((pair.failure(), pair.taken()), (None, Some(b"z".to_vec())));
}

#[test]
fn failures_distinguish_silence_closed_socket_and_buffer() {
    let mut pair = Pair::new(acknowledged());
    pair.wire = |_, _| None;
    assert!(pair.transmit(b"abc").is_accepted());
    pair.run();
    assert_eq!((pair.frames, pair.failure()), (5, Some(Failure::NoAcknowledgement)));
    pair.wire = |_, packet| Some(packet);
    assert!(pair.enable(2).is_accepted() && pair.transmit(b"abc").is_accepted());
    pair.run();
    assert_eq!(pair.failure(), Some(Failure::Refused(CommandStatus::Permanent)));
    assert_eq!(pair.both[1].failure(8, Side::Receive), Some(Failure::BufferTooSmall));
    assert!(pair.both[1].close(pair.now, 8).is_accepted());
    assert!(pair.transmit(b"abc").is_accepted());
    pair.run();
    assert_eq!(pair.failure(), Some(Failure::Refused(CommandStatus::NoService)));
}

#[test]
fn a_damaged_message_is_not_acknowledged_but_retransmitted() {
    let mut pair = Pair::new(Options { crc: true, ..acknowledged() });
    // Frames 0 and 1 synchronize; 2 is the message.
    pair.wire = |frame, packet| {
        let mut octets = packet.to_bytes().to_vec();
        if frame == 2 {
            octets[4] ^= 0x10;
        }
        Some(Packet::new(Bytes::from(octets)))
    };
    assert!(pair.enable(10).is_accepted() && pair.transmit(b"hello").is_accepted());
    pair.run();
    assert_eq!((pair.failure(), pair.taken()), (None, Some(b"hello".to_vec())));
    assert_eq!(pair.both[1].counters().bad_crc, 1);
    assert_eq!(pair.both[0].acknowledged().counters().sent_again, 1);
}

#[test]
fn datagrams_without_buffer_or_crc_or_room_are_counted() {
    let mut pair = Pair::new(Options { crc: true, ..Options::plain() });
    assert!(pair.transmit(b"one").is_accepted());
    pair.run();
    assert!(pair.enable(2).is_accepted() && pair.transmit(b"two").is_accepted());
    pair.run();
    assert_eq!(pair.status(), [SideState::Idle, SideState::Failed]);
    assert!(pair.both[0].option(4, Options::plain()).is_accepted());
    assert!(pair.enable(9).is_accepted() && pair.transmit(b"without").is_accepted());
    pair.run();
    let counters = *pair.both[1].counters();
    let expected = Counters { no_buffer: 1, overruns: 1, bad_crc: 1, ..Counters::default() };
    assert_eq!((counters, pair.taken()), (expected, None));
}

#[test]
fn operations_time_out_by_their_options_and_the_next_ones_work() {
    let times =
        Options { transmit_time: Some(5 * MS), receive_time: Some(3 * MS), ..acknowledged() };
    let mut pair = Pair::new(times);
    pair.wire = |_, _| None;
    assert!(pair.enable(10).is_accepted() && pair.transmit(b"lost").is_accepted());
    pair.run();
    assert_eq!(pair.status(), [SideState::TimedOut, SideState::TimedOut]);
    pair.wire = |_, packet| Some(packet);
    assert!(pair.enable(10).is_accepted() && pair.transmit(b"late").is_accepted());
    assert_eq!(pair.status(), [SideState::Pending, SideState::Pending]);
    pair.settle();
    assert_eq!((pair.status()[0], pair.taken()), (SideState::Idle, Some(b"late".to_vec())));
}

#[test]
fn a_reset_cancels_messages_not_yet_transmitted() {
    let mut pair = Pair::new(Options::plain());
    assert!(pair.enable(10).is_accepted() && pair.transmit(b"no").is_accepted());
    assert!(pair.both[0].reset(pair.now, 4, Side::Transmit).is_accepted());
    pair.run();
    assert_eq!((pair.frames, pair.status()), (0, [SideState::Idle, SideState::Pending]));
    assert!(pair.transmit(b"yes").is_accepted());
    pair.run();
    assert_eq!(pair.taken(), Some(b"yes".to_vec()));
}

#[test]
fn a_reset_during_an_exchange_loses_no_later_message() {
    let mut pair = Pair::new(acknowledged());
    // The acknowledgement of the first message is lost, and the message is reset before its
    // retransmission.
    pair.wire = |frame, packet| (frame != 3).then_some(packet);
    assert!(pair.enable(10).is_accepted() && pair.transmit(b"first").is_accepted());
    pair.settle();
    assert_eq!(pair.taken(), Some(b"first".to_vec()));
    assert_eq!(pair.status()[0], SideState::InProgress);
    assert!(pair.both[0].reset(pair.now, 4, Side::Transmit).is_accepted());
    assert!(pair.enable(10).is_accepted() && pair.transmit(b"second").is_accepted());
    pair.run();
    assert_eq!((pair.failure(), pair.taken()), (None, Some(b"second".to_vec())));
}

#[test]
fn a_frame_dropped_by_the_mac_is_retried_up_to_the_limit() {
    let mut pair = Pair::new(Options { transmissions: 3, ..Options::plain() });
    assert!(pair.transmit(b"x").is_accepted());
    for attempt in 0..3 {
        assert!(matches!(pair.both[0].poll(), Some(Output::Send(_))), "attempt {attempt}");
        assert_eq!(pair.status()[0], SideState::InProgress);
        pair.both[0].transmitted(pair.now, 0, Transmission::GivenUp);
    }
    assert_eq!(pair.both[0].poll(), None);
    assert_eq!(pair.failure(), Some(Failure::NotTransmitted));
}

#[test]
fn waiting_frames_go_out_by_priority_one_at_a_time() {
    let mut messaging = Messaging::new(Params::lan()).unwrap();
    let to = Address { station: B, socket: 8 };
    for (socket, priority) in [(2, 0), (4, 3), (6, 7), (8, 3)] {
        let priority = Priority::new(priority).unwrap();
        assert!(messaging.open(Instant::ZERO, socket).is_accepted());
        let options = Options { priority, ..Options::plain() };
        assert!(messaging.option(socket, options).is_accepted());
        assert!(messaging.transmit(Instant::ZERO, socket, to, Bytes::new()).is_accepted());
    }
    let mut order = Vec::new();
    while let Some(Output::Send(lpdu)) = messaging.poll() {
        assert_eq!(messaging.poll(), None, "one frame at a time");
        order.extend(lpdu.packet.first::<2>().map(|[_, source]| source));
        messaging.transmitted(Instant::ZERO, 0, Transmission::Sent);
    }
    assert_eq!(order, [6, 4, 8, 2]);
}

#[test]
fn the_states_and_outcomes_print_the_papers_words() {
    let outcomes = [
        Outcome::Accepted,
        Outcome::InvalidSocket,
        Outcome::DuplicateSocket,
        Outcome::TooManySockets,
        Outcome::SocketBusy,
        Outcome::TooLarge,
        Outcome::NeitherSide,
    ];
    // TR-88-08: the last two paragraphs of "Programmer interface".
    assert_eq!(
        outcomes.map(|outcome| outcome.to_string()).join(", "),
        "operation accepted, invalid socket, duplicate socket, too many sockets, socket busy, \
         packet too large, transmit/receive argument neither x nor r"
    );
    let states = [
        SideState::Pending,
        SideState::Idle,
        SideState::InProgress,
        SideState::Failed,
        SideState::TimedOut,
    ];
    assert_eq!(
        states.map(|state| state.to_string()).join(", "),
        "operation pending, no operation pending, I/O in progress, operation failed, \
         operation timed out"
    );
}

//! Messaging service on a bad path: messages reported delivered were, and none is delivered twice.
//!
//! `TIDEWIRE_SEED=0x1f cargo test -p tidewire-sim messages` runs one seed alone;
//! `TIDEWIRE_SEEDS=100000` runs as many.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail by panicking")]

use bytes::Bytes;
use core::cell::RefCell;
use core::time::Duration;
use sim::medium::faulty::Faulty;
use sim::medium::framing::Framing;
use sim::medium::ideal::{Ideal, Params as IdealParams};
use sim::world::World;
use stack::fault::{Corruption, Damage, Delay, Duplication, Faults, Plan, Reordering};
use stack::llc::type3::{self, Counters};
use stack::messaging::{Address, Completion, Indication, Options, Params, Priority, Side};
use stack::profile::{Messenger, Programmed};
use stats::rng::Stream;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use wire::addr::Mac;
use wire::time::Instant;
use wire::units::BitRate;

/// Program of any kind.
type AnyProgram = Box<dyn FnMut(&mut Messenger, Instant) -> Option<Instant>>;

const SEEDS: u64 = 300;
/// Propagation delay from one station to the other.
const PROPAGATION: Duration = Duration::from_millis(1);
const SOCKETS: [u8; 3] = [2, 4, 6];
/// Socket of the bulk datagrams sent in addition to messages.
const BULK: u8 = 8;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn ideal(rate: Option<BitRate>, propagation: Duration) -> Ideal {
    let framing = Framing::IEEE_802_3;
    Ideal::new(IdealParams { rate, propagation, framing, queue_frames: 8 })
}

/// Results seen by the users of both stations. A message is identified by sender, socket and
/// number.
#[derive(Default)]
struct Log {
    reported: BTreeMap<(Mac, u8, u64), Completion>,
    delivered: BTreeMap<(Mac, u8, u64), u32>,
    /// Messages that arrived with octets different from those sent.
    damaged: u64,
}

/// Behaviour of one station's program.
#[derive(Clone)]
struct Conduct {
    own: Mac,
    peer: Mac,
    options: Options,
    messages: u64,
    /// Probability of resetting a transmission, at each call of the program.
    resets: f64,
    /// Probability of providing no buffer, at each call of the program.
    lazy: f64,
    /// True if there is always a long datagram of the lowest priority to send as well.
    floods: bool,
}

fn message(socket: u8, number: u64) -> Bytes {
    let mut octets = vec![socket];
    octets.extend(number.to_be_bytes());
    octets.resize(9 + (number % 50) as usize, number as u8);
    Bytes::from(octets)
}

/// Program that sends numbered messages from every socket to its counterpart, and takes all that
/// arrive.
fn program(
    conduct: Conduct,
    log: Rc<RefCell<Log>>,
    mut draw: Stream,
) -> impl FnMut(&mut Messenger, Instant) -> Option<Instant> {
    let mut sent = BTreeMap::from(SOCKETS.map(|socket| (socket, 0_u64)));
    let mut is_open = false;
    move |messenger, now| {
        let sockets = &mut messenger.sockets;
        if !is_open {
            for (socket, priority) in SOCKETS.into_iter().zip([0, 3, 7]) {
                let priority = Priority::new(priority).unwrap();
                assert!(sockets.open(now, socket).is_accepted());
                assert!(
                    sockets.option(socket, Options { priority, ..conduct.options }).is_accepted()
                );
            }
            assert!(sockets.open(now, BULK).is_accepted());
            is_open = true;
        }
        if conduct.floods {
            let to = Address { station: conduct.peer, socket: BULK };
            let _ = sockets.transmit(now, BULK, to, Bytes::from_static(&[2; 1_497]));
        }
        for socket in SOCKETS {
            while let Some(taken) = sockets.take(socket) {
                let octets = taken.data.to_bytes();
                let number = u64::from_be_bytes(octets[1..9].try_into().unwrap());
                let mut log = log.borrow_mut();
                log.damaged += u64::from(octets != message(socket, number));
                *log.delivered.entry((taken.from.station, socket, number)).or_default() += 1;
            }
            if !draw.chance(conduct.lazy) {
                let _ = sockets.enable_reception(now, socket, 100);
            }
            let next = sent.get_mut(&socket).unwrap();
            let to = Address { station: conduct.peer, socket };
            while *next < conduct.messages
                && sockets.transmit(now, socket, to, message(socket, *next)).is_accepted()
            {
                *next += 1;
            }
            if draw.chance(conduct.resets) {
                assert!(sockets.reset(now, socket, Side::Transmit).is_accepted());
            }
        }
        while let Some(indication) = messenger.indication() {
            if let Indication::Transmitted { socket, sequence, completion } = indication {
                let key = (conduct.own, socket, sequence);
                let before = log.borrow_mut().reported.insert(key, completion);
                assert_eq!(before, None, "{key:?} was reported twice");
            }
        }
        Some(now + ms(3))
    }
}

/// Parameters drawn from a seed.
struct Case {
    /// Rate of the medium; if `None`, frames take no transmission time.
    rate: Option<BitRate>,
    plan: Plan,
    link: type3::Params,
    conduct: Conduct,
}

fn case(seed: u64) -> Case {
    let mut draw = Stream::named(seed, "messages");
    let probability =
        |draw: &mut Stream, most: f64| if draw.chance(0.7) { draw.unit() * most } else { 0.0 };
    // Either no PDU is late by more than the one-way delay, or M covers it.
    let is_short = draw.chance(0.5);
    let late = Duration::from_micros(if is_short { 990 } else { 1_000 + draw.below(19_000) });
    let lifetime = if is_short { Duration::ZERO } else { PROPAGATION + late };
    let mut part = || {
        let part = draw.unit();
        late.mul_f64(part / 3.0)
    };
    let (after, held_back, jitter) = (part(), part(), part());
    let plan = Plan {
        loss: probability(&mut draw, 0.3),
        duplication: Some(Duplication { probability: probability(&mut draw, 0.3), after }),
        reordering: Some(Reordering { probability: probability(&mut draw, 0.3), held_back }),
        delay: Delay { constant: Duration::ZERO, jitter },
        corruption: Some(Corruption {
            probability: probability(&mut draw, 0.1),
            // MAC and LLC headers and the status of a response: the CRC covers LSDUs only.
            spared_octets: 18,
            damage: Damage::OneOctet,
        }),
        ..Plan::harmless(ms(100))
    };
    let first = if draw.chance(0.5) { type3::First::Synchronized } else { type3::First::AtZero };
    let link = type3::Params {
        transmissions: 2 + draw.below(6) as u32,
        // Longer than the longest round trip.
        acknowledgement_time: 2 * (PROPAGATION + late) + ms(1),
        lifetime,
        receive_lifetime: ms(2_000),
        first,
        ..type3::Params::lan()
    };
    let options = Options {
        acknowledged: true,
        crc: true,
        transmit_indication: true,
        transmissions: 1 + draw.below(8) as u32,
        transmit_time: draw.chance(0.2).then_some(ms(200)),
        pending_transmits: 1 + draw.below(3) as usize,
        pending_receives: 1 + draw.below(3) as usize,
        ..Options::plain()
    };
    let resets = if draw.chance(0.2) { 0.02 } else { 0.0 };
    let lazy = if draw.chance(0.3) { 0.7 } else { 0.0 };
    let (own, peer) = (Mac::local(1), Mac::local(2));
    let conduct = Conduct { own, peer, options, messages: 60, resets, lazy, floods: false };
    Case { rate: None, plan, link, conduct }
}

/// Runs two stations under a conduct until each has the outcome of all its messages.
fn run(seed: u64, case: &Case) -> (Log, Counters) {
    let faults = Faults::new(case.plan, seed, "messages").unwrap();
    let log = Rc::new(RefCell::new(Log::default()));
    let station = |own, peer| {
        let conduct = Conduct { own, peer, ..case.conduct.clone() };
        let params = Params { link: case.link, ..Params::lan() };
        let draw = Stream::named(seed, &format!("messages/{own}"));
        let messenger = Messenger::new(own, params).unwrap();
        Programmed::new(messenger, program(conduct, Rc::clone(&log), draw))
    };
    let (one, other) = (Mac::local(1), Mac::local(2));
    let stations = vec![station(one, other), station(other, one)];
    let mut world =
        World::new(Faulty::new(ideal(case.rate, PROPAGATION), faults), stations).unwrap();
    world.run(Instant::ZERO + Duration::from_secs(60), |_| {}).unwrap();
    let mut total = Counters::default();
    for station in world.stations() {
        for socket in SOCKETS {
            let status = station.messenger().sockets.status(socket, Side::Transmit).unwrap();
            let is_over = !matches!(
                status,
                stack::messaging::SideState::Pending | stack::messaging::SideState::InProgress
            );
            assert!(is_over, "seed {seed:#x}: socket {socket} is {status}");
        }
        let counters = station.messenger().sockets.acknowledged().counters();
        total.synchronizations += counters.synchronizations;
        total.sent_again += counters.sent_again;
        total.gave_up += counters.gave_up;
        total.stale_responses += counters.stale_responses;
        total.duplicates += counters.duplicates;
        total.no_buffer += counters.no_buffer;
    }
    drop(world);
    (Rc::into_inner(log).unwrap().into_inner(), total)
}

impl Log {
    /// Messages that were reported delivered and were not.
    fn lost(&self) -> Vec<(Mac, u8, u64)> {
        let done = self.reported.iter().filter(|(_, completion)| **completion == Completion::Done);
        done.map(|(key, _)| *key).filter(|key| !self.delivered.contains_key(key)).collect()
    }

    fn twice(&self) -> Vec<(Mac, u8, u64)> {
        self.delivered.iter().filter(|(_, times)| **times > 1).map(|(key, _)| *key).collect()
    }
}

#[test]
fn reported_deliveries_are_true_and_nothing_arrives_twice() {
    let number = |name| {
        let text: String = std::env::var(name).ok()?;
        let hexadecimal = text.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16));
        hexadecimal.unwrap_or_else(|| text.parse()).ok()
    };
    let one = number("TIDEWIRE_SEED");
    let seeds = one.map_or(0..number("TIDEWIRE_SEEDS").unwrap_or(SEEDS), |seed| seed..seed + 1);
    let mut total = Counters::default();
    let (mut done, mut failed) = (0, 0);
    for seed in seeds {
        let (log, counters) = run(seed, &case(seed));
        let rerun = format!("rerun: TIDEWIRE_SEED={seed:#x} cargo test -p tidewire-sim messages");
        assert_eq!(log.lost(), [], "reported delivered and lost; {rerun}");
        assert_eq!(log.twice(), [], "delivered twice; {rerun}");
        assert_eq!(log.damaged, 0, "delivered damaged; {rerun}");
        let completions: Vec<_> = log.reported.into_values().collect();
        done += completions.iter().filter(|completion| **completion == Completion::Done).count();
        failed += completions.iter().filter(|completion| **completion != Completion::Done).count();
        total.synchronizations += counters.synchronizations;
        total.sent_again += counters.sent_again;
        total.gave_up += counters.gave_up;
        total.stale_responses += counters.stale_responses;
        total.duplicates += counters.duplicates;
        total.no_buffer += counters.no_buffer;
    }
    println!("seen: {done} messages delivered, {failed} not, {total:?}");
    let fired = [
        total.synchronizations,
        total.sent_again,
        total.gave_up,
        total.stale_responses,
        total.duplicates,
        total.no_buffer,
    ];
    let is_few = one.is_some() || number("TIDEWIRE_SEEDS").is_some_and(|seeds| seeds < SEEDS);
    assert!(is_few || (done > 50_000 && failed > 0 && fired.iter().all(|n| *n > 0)));
}

#[test]
fn a_copy_that_outlives_its_number_is_a_duplicate_unless_waited() {
    // A message arrives after 1 ms, its response after 2, the next message after 3: a copy that
    // arrives at 3.5 ms carries the number that is expected again.
    let with = |lifetime| {
        let mut case = case(0);
        let after = Duration::from_micros(2_500);
        let duplication = Some(Duplication { probability: 1.0, after });
        case.plan = Plan { duplication, ..Plan::harmless(ms(100)) };
        case.link = type3::Params { lifetime, ..type3::Params::lan() };
        let options = Options { transmit_time: None, pending_receives: 9, ..case.conduct.options };
        case.conduct = Conduct { options, resets: 0.0, lazy: 0.0, ..case.conduct };
        run(0, &case).0
    };
    let standard = with(Duration::ZERO);
    assert!(!standard.twice().is_empty());
    let guarded = with(PROPAGATION + Duration::from_micros(2_500));
    assert_eq!((guarded.twice(), guarded.lost()), (vec![], vec![]));
    let done: BTreeSet<_> = guarded.reported.values().copied().collect();
    assert_eq!(done, BTreeSet::from([Completion::Done]));
}

#[test]
fn a_late_response_acknowledges_a_lost_command_unless_waited() {
    // Responses arrive 2 ms after their commands, and a copy 2.5 ms later. By then the command
    // after the next is under way, which has the same number, and a tenth of the commands is lost.
    let late = Duration::from_micros(2_500);
    let lost = |seed, lifetime| {
        let mut case = case(0);
        let duplication = Some(Duplication { probability: 1.0, after: late });
        case.plan = Plan { loss: 0.1, duplication, ..Plan::harmless(ms(100)) };
        case.link = type3::Params { lifetime, ..type3::Params::lan() };
        let options = Options { transmit_time: None, pending_receives: 9, ..case.conduct.options };
        case.conduct = Conduct { options, resets: 0.0, lazy: 0.0, ..case.conduct };
        let log = run(seed, &case).0;
        (log.lost().len(), log.twice().len())
    };
    let standard: usize = (0..20).map(|seed| lost(seed, Duration::ZERO).0).sum();
    println!("seen: {standard} of 7200 messages acknowledged by a late response, and lost");
    assert!(standard > 0);
    for seed in 0..20 {
        assert_eq!(lost(seed, PROPAGATION + late), (0, 0), "seed {seed:#x}");
    }
}

#[test]
fn a_copy_queued_after_its_response_dies_before_the_next() {
    // At 1 Mbit/s a long datagram takes 12 ms and a message at most 1 ms. The response waits for
    // the peer's datagrams, and a retransmission by T1 for this station's datagrams. So the
    // retransmission often leaves after the response arrived, and its copy arrives 5 ms later.
    let after = ms(5);
    let lifetime = PROPAGATION + after;
    let mut queued = 0;
    for seed in 0..20 {
        let mut case = case(0);
        let duplication = Some(Duplication { probability: 1.0, after });
        case.rate = Some(BitRate::mbps(1));
        case.plan = Plan { duplication, ..Plan::harmless(ms(100)) };
        let (acknowledgement_time, receive_lifetime) = (lifetime * 2, ms(2_000));
        case.link = type3::Params {
            lifetime,
            acknowledgement_time,
            receive_lifetime,
            ..type3::Params::lan()
        };
        let options = Options { transmit_time: None, pending_receives: 9, ..case.conduct.options };
        case.conduct = Conduct { options, resets: 0.0, lazy: 0.0, floods: true, ..case.conduct };
        let (log, counters) = run(seed, &case);
        assert_eq!((log.lost(), log.twice()), (vec![], vec![]), "seed {seed:#x}");
        queued += counters.sent_again;
    }
    println!("seen: {queued} commands retransmitted on a slow medium");
    assert!(queued > 0);
}

/// Sender that floods at priority 0 and sometimes sends an urgent message; logs the times of these.
fn urgent_among_bulk(
    urgent: Rc<RefCell<Vec<Instant>>>,
) -> impl FnMut(&mut Messenger, Instant) -> Option<Instant> {
    let (bulk_socket, urgent_socket) = (2, 4);
    let peer = Mac::local(2);
    let mut next = Instant::ZERO;
    move |messenger, now| {
        let sockets = &mut messenger.sockets;
        if sockets.open(now, bulk_socket).is_accepted() {
            let bulk = Options { pending_transmits: 50, ..Options::plain() };
            assert!(sockets.option(bulk_socket, bulk).is_accepted());
            assert!(sockets.open(now, urgent_socket).is_accepted());
            let highest = Options { priority: Priority::HIGHEST, ..Options::plain() };
            assert!(sockets.option(urgent_socket, highest).is_accepted());
        }
        if now >= next {
            // Not a multiple of a frame's duration, so that it comes at every phase of a bulk
            // frame.
            next = now + Duration::from_micros(10_007);
            let to = Address { station: peer, socket: urgent_socket };
            let data = Bytes::from_static(&[4; 100]);
            assert!(sockets.transmit(now, urgent_socket, to, data).is_accepted());
            urgent.borrow_mut().push(now);
        }
        let bulk = Bytes::from_static(&[2; 1_497]);
        let to = Address { station: peer, socket: bulk_socket };
        while sockets.transmit(now, bulk_socket, to, bulk.clone()).is_accepted() {}
        Some(next)
    }
}

#[test]
fn an_urgent_frame_waits_for_at_most_one_bulk_frame() {
    let asked = Rc::new(RefCell::new(Vec::new()));
    let messenger = |number| Messenger::new(Mac::local(number), Params::lan()).unwrap();
    let program = urgent_among_bulk(Rc::clone(&asked));
    let sender = Programmed::new(messenger(1), Box::new(program) as AnyProgram);
    let receiver =
        Programmed::new(messenger(2), Box::new(|_: &mut Messenger, _| None) as AnyProgram);
    let medium = ideal(Some(BitRate::mbps(10)), Duration::ZERO);
    let mut world = World::new(medium, vec![sender, receiver]).unwrap();
    let (mut started, mut bulk) = (Vec::new(), 0_u64);
    let seconds = 10;
    let end = Instant::ZERO + Duration::from_secs(seconds);
    world
        .run(end, |passage| match passage.frame.len() {
            1_514 => bulk += 1,
            _ => started.push(passage.started),
        })
        .unwrap();
    let waits: Vec<Duration> =
        asked.borrow().iter().zip(&started).map(|(asked, started)| *started - *asked).collect();
    // A frame of 1,514 octets takes 8 octets of preamble and 4 of FCS more, and a gap of 12 on
    // either side: 1,550 octets of 0.8 us. This is the maximum, and nearly reached at some phase.
    let one_frame = Duration::from_micros(1_240);
    let longest = waits.iter().max().unwrap();
    assert!(*longest <= one_frame && *longest > one_frame.mul_f64(0.95), "{longest:?}");
    assert!(waits.len() >= 990, "{} urgent messages", waits.len());
    // The medium was saturated: 1,000 urgent frames of 117 octets (141 with framing), and bulk
    // frames of 1,538 for the rest of 12,500,000 octets.
    assert!(bulk >= (12_500_000 - 1_000 * 141) / 1_538 - 2, "{bulk} bulk frames");
}

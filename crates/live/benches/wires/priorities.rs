//! Urgent messages on a saturated port: their delay, and the number of frames sent before them.
//!
//! One station floods at priority 0 with the longest frames. Every millisecond it has a message of
//! priority 7, whose delay counts from the planned moment, so that a sender that is busy then does
//! not appear fast. A bulk frame counts as sent before it if the kernel had not accepted it by that
//! moment.

use crate::bare::Bare;
use crate::host::pin;
use crate::ours::port;
use crate::{MESSAGE, Way, percentile, spread, station};
use bytes::Bytes;
use core::time::Duration;
use live::clock;
use live::port::{AfPacket, Arrival, Counts, Port, PortError, Stamp};
use live::runner::{Control, Runner};
use stack::messaging::{Address, Options, Params, Priority};
use stack::profile::{Messenger, Programmed};
use stack::station::{Frame, Transmission};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use wire::addr::Mac;
use wire::time::Instant;
use wire::units::BitRate;

const BULK: u8 = 2;
const URGENT: u8 = 4;
/// Number of urgent messages in a run.
const COUNT: u32 = 500;
/// Interval between them: no multiple of the time that a bulk frame takes.
const PERIOD: Duration = Duration::from_micros(1_003);
/// Number of bulk messages that wait at the sender at a time.
const WAITING: usize = 50;

/// Port that records which bulk frames were sent before an urgent one.
struct Noting {
    inner: AfPacket,
    /// Times at which the kernel had accepted each of the last bulk frames.
    taken: VecDeque<Instant>,
    bulk: u64,
    /// For each urgent frame, number of bulk frames sent before it but after its planned time.
    ahead: Vec<usize>,
    /// For each urgent frame, by its planned time, number of all bulk frames sent before it.
    place: BTreeMap<Instant, u64>,
}

impl Port for Noting {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn addr(&self) -> Mac {
        self.inner.addr()
    }

    fn send(&mut self, frame: &Frame) -> Result<Transmission, PortError> {
        if let Some(planned) = planned(frame) {
            self.ahead.push(self.taken.iter().filter(|taken| **taken > planned).count());
            self.place.insert(planned, self.bulk);
            return self.inner.send(frame);
        }
        let outcome = self.inner.send(frame);
        if self.taken.len() == 64 {
            self.taken.pop_front();
        }
        self.taken.push_back(clock::now());
        self.bulk += 1;
        outcome
    }

    fn receive(&mut self, until: Instant) -> Result<Option<Arrival>, PortError> {
        self.inner.receive(until)
    }

    fn link_rate(&self) -> Option<BitRate> {
        self.inner.link_rate()
    }

    fn is_unbounded(&self) -> bool {
        self.inner.is_unbounded()
    }

    fn counts(&self) -> Counts {
        self.inner.counts()
    }
}

/// Planned time of an urgent frame; `None` for a bulk frame.
fn planned(frame: &Frame) -> Option<Instant> {
    if frame.len() > 2 * MESSAGE {
        return None;
    }
    let octets = frame.first::<25>()?;
    Some(Instant::from_nanos(u64::from_be_bytes(*octets.last_chunk()?)))
}

/// Data recorded by the receiver.
#[derive(Default)]
struct Heard {
    /// Nanoseconds from the planned time to the arrival, by the kernel's stamp.
    delays: Vec<u64>,
    /// For each urgent frame, by its planned time, number of all bulk frames that arrived before
    /// it.
    place: BTreeMap<Instant, u64>,
    bulk: u64,
}

fn sender() -> Messenger {
    let params = Params::lan();
    let mut it = Messenger::new(station(0), params).expect("the parameters are valid");
    for (socket, priority, pending_transmits) in
        [(BULK, Priority::LOWEST, WAITING), (URGENT, Priority::HIGHEST, 8)]
    {
        let options = Options { priority, pending_transmits, ..Options::plain() };
        assert!(it.sockets.open(Instant::ZERO, socket).is_accepted());
        assert!(it.sockets.option(socket, options).is_accepted());
    }
    it
}

/// Sends urgent messages, and bulk if the port is to be saturated, until all have been sent.
fn send(port: &mut Noting, floods: bool) -> f64 {
    let to = |socket| Address { station: station(1), socket };
    let (mut urgent, mut begun, stop) = (0_u32, None, AtomicBool::new(false));
    let bulk = Bytes::from(vec![0x55; 1_497]);
    let program = |it: &mut Messenger, now: Instant| {
        let begun = *begun.get_or_insert(now);
        let planned = begun + PERIOD * (urgent + 1);
        if urgent == COUNT {
            stop.store(true, Ordering::Relaxed);
            return None;
        }
        if planned <= now {
            let mut octets = planned.as_nanos().to_be_bytes().to_vec();
            octets.resize(MESSAGE, 0x55);
            assert!(it.sockets.transmit(now, URGENT, to(URGENT), octets.into()).is_accepted());
            urgent += 1;
        }
        while floods && it.sockets.transmit(now, BULK, to(BULK), bulk.clone()).is_accepted() {}
        Some(begun + PERIOD * (urgent + 1))
    };
    let mut station = Programmed::new(sender(), program);
    let begun = clock::now();
    let run = Runner::new().run(&mut station, port, Instant::MAX, &stop, |_, _| Control::Continue);
    run.expect("the port works");
    (clock::now() - begun).as_secs_f64()
}

fn hear(port: &mut AfPacket, done: &AtomicBool) -> Heard {
    let mut heard = Heard::default();
    while !done.load(Ordering::Relaxed) {
        let wait = clock::now() + Duration::from_millis(1);
        let Some(arrival) = port.receive(wait).expect("the port works") else { continue };
        match planned(&arrival.frame) {
            Some(planned) => {
                heard.delays.push((arrival.at - planned).as_nanos() as u64);
                heard.place.insert(planned, heard.bulk);
            }
            None => heard.bulk += 1,
        }
    }
    heard
}

/// One run: the receiver's data, the port's data, and the duration in seconds.
fn run(names: &[String; 2], floods: bool) -> (Heard, Noting, f64) {
    let done = AtomicBool::new(false);
    let inner = port(&names[0], station(0), Stamp::User);
    let (taken, ahead, place) = (VecDeque::new(), vec![], BTreeMap::new());
    let mut sending = Noting { inner, taken, bulk: 0, ahead, place };
    let mut receiving = port(&names[1], station(1), Stamp::Kernel);
    let (heard, seconds) = std::thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            pin(1);
            hear(&mut receiving, &done)
        });
        let sender = scope.spawn(|| {
            pin(0);
            send(&mut sending, floods)
        });
        let seconds = sender.join().expect("the sender ends");
        clock::sleep_until(clock::now() + Duration::from_millis(50));
        done.store(true, Ordering::Relaxed);
        (receiver.join().expect("the receiver ends"), seconds)
    });
    (heard, sending, seconds)
}

/// Maximum number of octets that the kernel holds after it accepted the longest frame, of 10,000
/// frames.
fn most_in_the_kernel(names: &[String; 2]) -> i32 {
    let mut bare = Bare::open(&names[0]).expect("the namespace is this program's own");
    let mut frame = crate::ours::frame(station(0), station(1));
    frame.resize(1_514, 0x55);
    let each = (0..10_000).map(|_| {
        bare.put(&frame);
        bare.unsent_octets()
    });
    each.max().unwrap_or(0)
}

pub(crate) fn show(names: &[String; 2], rounds: usize) {
    println!(
        "\npriority 7, from the planned time to the receiver's kernel, us, n = {rounds} of {COUNT}"
    );
    let most = most_in_the_kernel(names);
    println!("  octets the kernel holds after it was handed a frame of 1,514: {most} at the most");
    let mut figures = vec![vec![]; 4];
    let (mut ahead, mut moved, mut rates) = ([0_u64; 3], 0, vec![]);
    let (mut lost, mut bulk) = (0, 0);
    for _ in 0..rounds {
        for floods in [false, true] {
            let (mut heard, noted, seconds) = run(names, floods);
            let kind = 2 * usize::from(floods);
            figures[kind].push(percentile(&mut heard.delays, 0.5));
            figures[kind + 1].push(percentile(&mut heard.delays, 0.99));
            if floods {
                noted.ahead.iter().for_each(|count| ahead[(*count).min(2)] += 1);
                rates.push(noted.bulk as f64 / seconds / 1e3);
                let place = |planned| noted.place.get(planned).copied().unwrap_or(0);
                moved += heard.place.iter().filter(|(at, heard)| **heard > place(at)).count();
                lost += noted.bulk - heard.bulk;
                bulk += noted.bulk;
            }
        }
    }
    let [p50, p99, loaded_p50, loaded_p99] =
        [0, 1, 2, 3].map(|place| spread(figures[place].clone(), 1));
    println!("  no other load              p50 {p50}   p99 {p99}");
    println!("  saturated by priority 0    p50 {loaded_p50}   p99 {loaded_p99}");
    println!("    by {} thousand frames/s of 1,514 octets", spread(rates, 0));
    let [none, one, more] = ahead;
    println!("    before them went no frame {none} times, one {one} times, more {more} times");
    println!(
        "    {moved} of them were overtaken on their way; the receiver lost {lost} of {bulk} frames"
    );
}

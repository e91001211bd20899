//! Speed of the messaging service on a real wire, compared with minimal programs.
//!
//! `cargo bench -p tidewire-live --bench wires` makes two network namespaces with a veth pair
//! between them (this requires root), and removes them. Each end has a thread of its own, bound to
//! a processor, with real-time scheduling if that is allowed. Programs alternate round by round, so
//! that all run under the same load; a ratio is that of two programs in one round. `-- speed`, `--
//! techniques`, `-- priorities`, `-- transport`, `-- transfers` or `-- relay` does one part. For a
//! profiler, `-- alone`, `-- service`, `-- bare`, `-- bulk`, `-- bulk-xdp`, `-- requests` or `--
//! requests-xdp` runs one program. `TIDEWIRE_ROUNDS` sets the number of rounds.
#![expect(clippy::unwrap_used, reason = "a benchmark stops at the first error")]

mod alone;
mod bare;
mod host;
#[path = "../../../stack/benches/host_loop/mod.rs"]
mod host_loop;
#[expect(dead_code, reason = "only the tests of this crate take the wire down")]
#[path = "../../tests/it/namespace.rs"]
mod namespace;
mod ours;
mod priorities;
mod relay;
mod rings;
mod transport;
mod xdp;

use bare::{Bare, Batches, Udp};
use core::time::Duration;
use host::pin;
use host_loop::HostLoop;
use live::clock;
use live::port::{PortError, Stamp};
use namespace::{INTERFACE, Namespaces};
use rings::{V2, V3};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use transport::Over;
use wire::addr::Mac;
use xdp::Xdp;

/// Octets of a message.
const MESSAGE: usize = 100;
/// Octets of the headers before it: MAC and LLC.
const HEADERS: usize = 17;
/// Messages in a round.
const MESSAGES: u64 = 200_000;
/// Round trips in a round.
const ROUND_TRIPS: usize = 30_000;
/// Time, longer than any round trip, after which a message counts as lost and the next one is sent.
const LOST_AFTER: Duration = Duration::from_millis(200);

/// Transport of frames to the other end of the wire.
trait Way: Send {
    /// Hands a frame over; it may wait for [`Way::flush`].
    fn put(&mut self, frame: &[u8]);
    /// Sends waiting frames.
    fn flush(&mut self) {}
    /// Takes the frames that have arrived, up to its batch size; returns their number.
    fn take(&mut self) -> usize;
}

const fn station(of: usize) -> Mac {
    Mac::local(of as u32 + 1)
}

/// Result of sending as fast as possible.
struct Rate {
    sent: u64,
    nanos: f64,
    taken: u64,
}

impl Rate {
    /// Thousands of messages sent per second.
    fn thousands(&self) -> f64 {
        self.sent as f64 / self.nanos * 1e6
    }
}

/// Waits until nothing has arrived for a while.
fn let_drain(taken: &AtomicU64) {
    loop {
        let before = taken.load(Ordering::Relaxed);
        clock::sleep_until(clock::now() + Duration::from_millis(30));
        if taken.load(Ordering::Relaxed) == before {
            return;
        }
    }
}

fn rate<W: Way>(ends: Result<[W; 2], PortError>, messages: u64) -> Rate {
    rate_of(ends, messages, &ours::frame(station(0), station(1)))
}

/// Rate at which one end sends a frame over and over.
fn rate_of<W: Way>(ends: Result<[W; 2], PortError>, messages: u64, frame: &[u8]) -> Rate {
    let [mut sending, mut receiving] = ends.unwrap();
    let (done, taken) = (AtomicBool::new(false), AtomicU64::new(0));
    let nanos = std::thread::scope(|scope| {
        scope.spawn(|| {
            pin(1);
            while !done.load(Ordering::Relaxed) {
                taken.fetch_add(receiving.take() as u64, Ordering::Relaxed);
            }
        });
        let sender = scope.spawn(|| {
            pin(0);
            let begun = clock::now();
            (0..messages).for_each(|_| sending.put(frame));
            sending.flush();
            (clock::now() - begun).as_nanos() as f64
        });
        let nanos = sender.join().unwrap();
        let_drain(&taken);
        done.store(true, Ordering::Relaxed);
        nanos
    });
    Rate { sent: messages, nanos, taken: taken.into_inner() }
}

fn round_trips<W: Way>(ends: Result<[W; 2], PortError>, count: usize) -> Vec<u64> {
    let [mut asking, mut answering] = ends.unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            pin(1);
            let frame = ours::frame(station(1), station(0));
            while !done.load(Ordering::Relaxed) {
                for _ in 0..answering.take() {
                    answering.put(&frame);
                    answering.flush();
                }
            }
        });
        let times = scope.spawn(|| {
            pin(0);
            let frame = ours::frame(station(0), station(1));
            let (mut times, mut last) = (Vec::with_capacity(count), None);
            while times.len() < count {
                asking.put(&frame);
                asking.flush();
                let mut now = clock::now();
                let lost = last.unwrap_or(now) + LOST_AFTER;
                while asking.take() == 0 && now < lost {
                    now = clock::now();
                }
                now = clock::now();
                times.extend(last.map(|last| (now - last).as_nanos() as u64));
                last = Some(now);
            }
            times
        });
        let times = times.join().unwrap();
        done.store(true, Ordering::Relaxed);
        times
    })
}

/// Median, minimum and maximum of a figure over several rounds.
fn spread(mut figures: Vec<f64>, decimals: usize) -> String {
    figures.sort_by(f64::total_cmp);
    let (least, most) = (figures[0], figures[figures.len() - 1]);
    let middle = figures[figures.len() / 2];
    format!("{middle:.decimals$} [{least:.decimals$} to {most:.decimals$}]")
}

/// Percentile `part`, from 0 to 1, of the times, in microseconds.
fn percentile(times: &mut [u64], part: f64) -> f64 {
    times.sort_unstable();
    let place = (times.len() as f64 * part) as usize;
    times[place.min(times.len() - 1)] as f64 / 1e3
}

fn ratios(ours: &[f64], others: &[f64]) -> Vec<f64> {
    ours.iter().zip(others).map(|(ours, other)| ours / other).collect()
}

/// Rounds of several programs, alternating; prints how fast the host was before each round.
fn in_turns(rounds: usize, programs: &mut [&mut dyn FnMut() -> f64]) -> Vec<Vec<f64>> {
    let mut figures = vec![Vec::new(); programs.len()];
    let mut host = HostLoop::new();
    for _ in 0..rounds {
        host.run();
        for (program, figures) in programs.iter_mut().zip(&mut figures) {
            figures.push(program());
        }
    }
    println!();
    host.print();
    figures
}

fn pair<W>(
    names: &[String; 2],
    open: fn(&str) -> Result<W, PortError>,
) -> Result<[W; 2], PortError> {
    Ok([open(&names[0])?, open(&names[1])?])
}

fn udp(names: &[String; 2]) -> Result<[Udp; 2], PortError> {
    Ok([Udp::open(&names[0], 1)?, Udp::open(&names[1], 2)?])
}

fn speed(names: &[String; 2], rounds: usize) {
    let (mut lost, mut lost_xdp) = (0, 0);
    let figures = in_turns(
        rounds,
        &mut [
            &mut || rate(pair(names, Bare::open), MESSAGES).thousands(),
            &mut || rate(pair(names, Bare::filtered), MESSAGES).thousands(),
            &mut || {
                let rate = ours::rate(ours::packets(names, Stamp::User), MESSAGES);
                lost += rate.sent - rate.taken;
                rate.thousands()
            },
            &mut || ours::rate(ours::packets(names, Stamp::Kernel), MESSAGES).thousands(),
            &mut || {
                let rate = ours::rate(ours::xdp(names), MESSAGES);
                lost_xdp += rate.sent - rate.taken;
                rate.thousands()
            },
            &mut || rate(pair(names, Xdp::open), MESSAGES).thousands(),
        ],
    );
    println!("\nunacknowledged messages of 100 octets, thousands a second, n = {rounds}");
    compared(&figures, &PROGRAMS[..6]);
    let sent = MESSAGES * rounds as u64;
    println!("  lost on arrival by the service: {lost} of {sent}; over AF_XDP {lost_xdp}");
    without_a_wire(rounds);

    let half = |mut times: Vec<u64>| percentile(&mut times, 0.5);
    let figures = in_turns(
        rounds,
        &mut [
            &mut || half(round_trips(pair(names, Bare::open), ROUND_TRIPS)),
            &mut || half(round_trips(pair(names, Bare::filtered), ROUND_TRIPS)),
            &mut || half(ours::round_trips(ours::packets(names, Stamp::User), ROUND_TRIPS)),
            &mut || half(ours::round_trips(ours::packets(names, Stamp::Kernel), ROUND_TRIPS)),
            &mut || half(ours::round_trips(ours::xdp(names), ROUND_TRIPS)),
            &mut || half(round_trips(pair(names, Xdp::open), ROUND_TRIPS)),
            &mut || half(round_trips(udp(names), ROUND_TRIPS)),
        ],
    );
    println!("\nround trip of 100 octets, busy poll, p50 in us, n = {rounds} of {ROUND_TRIPS}");
    compared(&figures, &PROGRAMS);
}

/// Cost of the service and the runner by themselves.
fn without_a_wire(rounds: usize) {
    let times: Vec<_> = (0..rounds).map(|_| alone::nanos(MESSAGES)).collect();
    let [sending, taking] = [0, 1].map(|place| times.iter().map(|nanos| nanos[place]).collect());
    println!("  service and runner without a wire, ns a message");
    println!("    sending {}   taking {}", spread(sending, 0), spread(taking, 0));
}

const PROGRAMS: [&str; 7] = [
    "bare packet socket",
    "with the port's filter",
    "messaging service",
    "with kernel stamps",
    "service over AF_XDP",
    "bare AF_XDP, by 64",
    "UDP",
];

/// Each program's figures, and their ratio to those of the service, round by round.
fn compared(figures: &[Vec<f64>], names: &[&str]) {
    for (name, own) in names.iter().zip(figures) {
        let ratios = ratios(&figures[2], own);
        println!(
            "  {name:<23} {:<24} service over it {}",
            spread(own.clone(), 2),
            spread(ratios, 3)
        );
    }
    let relative = spread(ratios(&figures[4], &figures[5]), 3);
    println!("  service over AF_XDP relative to bare AF_XDP: {relative}");
}

/// Technique: its name, thousands of messages a second, and the p50 of round trips in us.
struct Technique {
    name: &'static str,
    rate: fn(&[String; 2]) -> Rate,
    /// Number of round trips in a round, and the function that makes them.
    trips: (usize, RoundTrips),
}

type RoundTrips = fn(&[String; 2], usize) -> Vec<u64>;

const TECHNIQUES: [Technique; 5] = [
    Technique {
        name: "send, recv",
        rate: |names| rate(pair(names, Bare::open), MESSAGES),
        trips: (ROUND_TRIPS, |names, count| round_trips(pair(names, Bare::open), count)),
    },
    Technique {
        name: "sendmmsg, recvmmsg",
        rate: |names| rate(pair(names, Batches::open), MESSAGES),
        trips: (ROUND_TRIPS, |names, count| round_trips(pair(names, Batches::open), count)),
    },
    Technique {
        name: "V2 rings",
        rate: |names| rate(pair(names, V2::open), MESSAGES),
        trips: (ROUND_TRIPS, |names, count| round_trips(pair(names, V2::open), count)),
    },
    Technique {
        name: "send, V3 ring",
        rate: |names| rate(pair(names, V3::open), MESSAGES),
        // A block closes after 1 ms.
        trips: (100, |names, count| round_trips(pair(names, V3::open), count)),
    },
    Technique {
        name: "AF_XDP, generic copy",
        rate: |names| rate(pair(names, Xdp::open), MESSAGES),
        trips: (ROUND_TRIPS, |names, count| round_trips(pair(names, Xdp::open), count)),
    },
];

fn techniques(names: &[String; 2], rounds: usize) {
    let (mut rates, mut trips) = (vec![vec![]; TECHNIQUES.len()], vec![vec![]; TECHNIQUES.len()]);
    let mut lost = [0; TECHNIQUES.len()];
    for _ in 0..rounds {
        for (place, technique) in TECHNIQUES.iter().enumerate() {
            let rate = (technique.rate)(names);
            lost[place] += rate.sent - rate.taken;
            rates[place].push(rate.thousands());
            let mut times = (technique.trips.1)(names, technique.trips.0);
            trips[place].push(percentile(&mut times, 0.5));
        }
    }
    println!(
        "\nother ways to the wire, n = {rounds}; over: relative to send and recv, round by round"
    );
    for (place, technique) in TECHNIQUES.iter().enumerate() {
        let sent = MESSAGES * rounds as u64;
        println!(
            "  {:<21} {:>22} k/s, over {}, lost {:.1} %; p50 {} us, over {}",
            technique.name,
            spread(rates[place].clone(), 0),
            spread(ratios(&rates[place], &rates[0]), 2),
            lost[place] as f64 / sent as f64 * 100.0,
            spread(trips[place].clone(), 2),
            spread(ratios(&trips[place], &trips[0]), 2),
        );
    }
}

fn main() {
    let part = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let rounds = std::env::var("TIDEWIRE_ROUNDS").ok().and_then(|text| text.parse().ok());
    let does = |name| part.as_deref().is_none_or(|part| part == name);
    if part.as_deref() == Some("alone") {
        return without_a_wire(rounds.unwrap_or(9));
    }
    let Some(made) = Namespaces::make() else { return };
    made.up();
    host::give_addresses(&made.names, INTERFACE);
    for _ in 0..rounds.unwrap_or(9) {
        match part.as_deref() {
            Some("service") => _ = ours::rate(ours::packets(&made.names, Stamp::User), MESSAGES),
            Some("bare") => _ = rate(pair(&made.names, Bare::filtered), MESSAGES),
            Some("bulk") => transport::profile(&made.names, true, Over::Packets),
            Some("bulk-xdp") => transport::profile(&made.names, true, Over::Xdp),
            Some("requests") => transport::profile(&made.names, false, Over::Packets),
            Some("requests-xdp") => transport::profile(&made.names, false, Over::Xdp),
            _ => break,
        }
    }
    if does("speed") {
        speed(&made.names, rounds.unwrap_or(9));
    }
    if does("techniques") {
        techniques(&made.names, rounds.unwrap_or(7));
    }
    if does("priorities") {
        priorities::show(&made.names, rounds.unwrap_or(9));
    }
    if does("transport") {
        transport::show(&made.names, rounds.unwrap_or(9));
    }
    if does("transfers") {
        transport::show_transfers(&made.names);
    }
    if does("relay") {
        relay::show(rounds.unwrap_or(5));
    }
    let [granted, refused] = [&host::GRANTED, &host::REFUSED].map(|n| n.load(Ordering::Relaxed));
    println!("\nthreads with real-time scheduling: {granted}; refused: {refused}");
}

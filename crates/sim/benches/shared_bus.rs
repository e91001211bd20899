//! Speed of shared-bus simulation: simulated seconds per CPU second of this thread.
//!
//! 10 Mbit/s, ten Poisson stations with 200 octets of data (218-octet frames with header and FCS)
//! that offer half of the bus's capacity, and one station that reports every 20 ms. For comparison,
//! the same traffic in ns-3 (`peers/shared_bus.cc`), if a C++ compiler and ns-3 are installed.
//! Rounds alternate, so that both run under the same load of the machine.
//!
//! Then the bus's turns per CPU second, compared with a bare loop on a binary heap of as many
//! deadlines: the next one is popped, and one later by a random span pushed, with no work in
//! between.
//!
//! Differences: ns-3's CSMA never collides and charges neither preamble nor gap; and there every
//! device receives every frame and drops those for other addresses.
//!
//! `cargo bench -p tidewire-sim --bench shared_bus`; `TIDEWIRE_SECONDS=1000` simulates that many
//! seconds in each round.

#[path = "../../stack/benches/host_loop/mod.rs"]
mod host_loop;

use bytes::Bytes;
use core::cmp::Reverse;
use core::hint::black_box;
use core::time::Duration;
use host_loop::HostLoop;
use sim::medium::csma_cd::{CsmaCd, Params, Statistics};
use sim::world::World;
use stack::machine::Deadline;
use stack::station::{Frame, Station};
use stats::rng::Stream;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
use std::process::Command;
use wire::addr::Mac;
use wire::time::{Instant, nanos};

const BACKGROUND: u32 = 10;
/// Default number of seconds simulated in each round.
const SECONDS: u64 = 300;
const ROUNDS: usize = 9;
/// 50 % of 10^7 bits per second, in frames of 218 octets.
const FRAMES_PER_SECOND: f64 = 0.5 * 1e7 / (218.0 * 8.0);

struct Sender {
    address: Mac,
    peer: Mac,
    data: Bytes,
    /// Source of random intervals; without it, intervals are 20 ms.
    stream: Option<Stream>,
    next: Instant,
    due: u32,
    received: u64,
}

impl Sender {
    fn new(number: u32, data: &Bytes, poisson: bool) -> Self {
        let stream = poisson.then(|| Stream::named(1, &format!("station/{number}/arrival")));
        let peer = Mac::local((number + 1) % BACKGROUND);
        let (address, data) = (Mac::local(number), data.clone());
        Self { address, peer, data, stream, next: Instant::ZERO, due: 0, received: 0 }
    }
}

impl Station for Sender {
    fn addr(&self) -> Mac {
        self.address
    }

    fn receive(&mut self, _now: Instant, _frame: Frame) {
        self.received += 1;
    }

    fn expire(&mut self, now: Instant) {
        let mean = Duration::from_secs_f64(f64::from(BACKGROUND) / FRAMES_PER_SECOND);
        while self.next <= now {
            self.due += 1;
            self.next += match &mut self.stream {
                Some(stream) => stream.exponential(mean),
                None => Duration::from_millis(20),
            };
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        Some(Deadline { at: self.next, timer: "next frame" })
    }

    fn poll(&mut self) -> Option<Frame> {
        self.due = self.due.checked_sub(1)?;
        let mut frame = Frame::new(self.data.clone());
        frame.prepend(&200_u16.to_be_bytes());
        frame.prepend(&self.address.0);
        frame.prepend(&self.peer.0);
        Some(frame)
    }
}

/// Seconds that this process has spent on a processor, as counted by Linux.
fn cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    let nanos: f64 = text.split_whitespace().next()?.parse().ok()?;
    Some(nanos / 1e9)
}

type Failed = Box<dyn core::error::Error>;

/// Result of one round.
struct Round {
    sent: u64,
    received: u64,
    cpu_seconds: f64,
}

fn world(data: &Bytes) -> Result<World<CsmaCd, Sender>, Failed> {
    let senders = (0..=BACKGROUND).map(|n| Sender::new(n, data, n < BACKGROUND)).collect();
    let bus = CsmaCd::new(Params::spread(BACKGROUND as usize + 1, 500.0, 1))?;
    let mut world = World::new(bus, senders)?;
    // Passages are not captured, neither here nor in ns-3.
    world.set_observed(false);
    Ok(world)
}

fn ours(seconds: u64, data: &Bytes) -> Result<(Round, Statistics), Failed> {
    let mut world = world(data)?;
    let before = cpu_seconds().ok_or(NO_CLOCK)?;
    world.run(Instant::from_nanos(seconds * 1_000_000_000), |_| {})?;
    let cpu_seconds = cpu_seconds().ok_or(NO_CLOCK)? - before;
    let sent = world.medium().statistics().sent;
    let received = world.stations().iter().map(|sender| sender.received).sum();
    Ok((Round { sent, received, cpu_seconds }, *world.medium().statistics()))
}

/// Number of turns of a run, and turns per CPU second.
fn turns(seconds: u64, data: &Bytes) -> Result<(u64, f64), Failed> {
    let mut world = world(data)?;
    let end = Instant::from_nanos(seconds * 1_000_000_000);
    let mut turns = 0_u64;
    let before = cpu_seconds().ok_or(NO_CLOCK)?;
    while world.step(|_| {})?.is_some_and(|at| at < end) {
        turns += 1;
    }
    Ok((turns, turns as f64 / (cpu_seconds().ok_or(NO_CLOCK)? - before)))
}

/// Deadlines popped from a binary heap of `deadlines`, and pushed back later, per CPU second.
fn bare_heap(deadlines: usize) -> Result<f64, Failed> {
    const TURNS: usize = 10_000_000;
    let mut stream = Stream::named(1, "increments");
    let mean = Duration::from_micros(100);
    let later: Vec<u64> = (0..1 << 12).map(|_| nanos(stream.exponential(mean))).collect();
    let first = |node: usize| Reverse((later[node], node as u64, node));
    let mut heap: BinaryHeap<_> = (0..deadlines).map(first).collect();
    let before = cpu_seconds().ok_or(NO_CLOCK)?;
    for turn in 0..TURNS {
        let Some(Reverse((at, _, node))) = heap.pop() else { break };
        heap.push(Reverse((at + later[turn % later.len()], turn as u64, node)));
    }
    let took = cpu_seconds().ok_or(NO_CLOCK)? - before;
    black_box(heap.len());
    Ok(TURNS as f64 / took)
}

const NO_CLOCK: &str = "no /proc/self/schedstat: cannot measure CPU time";

// ---- ns-3 ---------------------------------------------------------------------------------------

const PEER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/shared_bus.cc");

/// Compiles the peer; the error names the missing part.
fn compile(into: &Path) -> Result<PathBuf, String> {
    let program = into.join("ns3_shared_bus");
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    // pkg-config's answer for ns-3 may name packages that are not installed, and is not needed.
    let compiled = Command::new(&compiler)
        .args(["-std=c++17", "-O2", PEER, "-o"])
        .arg(&program)
        .args(["-lns3-csma", "-lns3-network", "-lns3-core"])
        .output()
        .map_err(|error| format!("cannot run the C++ compiler {compiler}: {error}"))?;
    if compiled.status.success() {
        return Ok(program);
    }
    let complaints = String::from_utf8_lossy(&compiled.stderr).into_owned();
    let first = complaints.lines().find(|line| line.contains("rror")).unwrap_or("no reason given");
    Err(format!("{compiler} cannot build the peer (Debian: apt install libns3-dev): {first}"))
}

fn theirs(program: &Path, seconds: u64) -> Result<(Round, u64), Failed> {
    let output = Command::new(program).arg(seconds.to_string()).output()?;
    let text = String::from_utf8(output.stdout)?;
    let words: Vec<&str> = text.split_whitespace().collect();
    let [sent, received, cpu_seconds, events] = words.as_slice() else {
        return Err(format!("{}: {} printed {text:?}", program.display(), output.status).into());
    };
    let (sent, received) = (sent.parse()?, received.parse()?);
    Ok((Round { sent, received, cpu_seconds: cpu_seconds.parse()? }, events.parse()?))
}

// ---- results ------------------------------------------------------------------------------------

/// Median, minimum and maximum.
fn spread(figures: impl Iterator<Item = f64>) -> [f64; 3] {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    [figures[figures.len() / 2], figures[0], figures[figures.len() - 1]]
}

fn print(name: &str, rounds: &[Round], seconds: u64) {
    let per_second = spread(rounds.iter().map(|round| seconds as f64 / round.cpu_seconds));
    let frames = spread(rounds.iter().map(|round| round.sent as f64 / round.cpu_seconds));
    let [sent, received] = [rounds[0].sent, rounds[0].received];
    let [middle, least, most] = per_second;
    println!("{name:9} {middle:7.1} [{least:.1} to {most:.1}] simulated s per CPU s");
    let [middle, least, most] = frames.map(|figure| figure / 1e3);
    println!("{:9} {middle:7.0} [{least:.0} to {most:.0}] thousand frames per CPU s", "");
    println!("{:9} {sent} frames sent, {received} received in {seconds} s", "");
}

fn main() -> Result<(), Failed> {
    let seconds = match std::env::var("TIDEWIRE_SECONDS") {
        Ok(text) => text.parse()?,
        Err(_) => SECONDS,
    };
    let data = Bytes::from(vec![0; 200]);
    let peer = compile(Path::new(env!("CARGO_TARGET_TMPDIR")));
    let (mut our_rounds, mut their_rounds, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let (mut statistics, mut events) = (Statistics::default(), 0);
    let mut host = HostLoop::new();
    for _ in 0..ROUNDS {
        host.run();
        let (round, counted) = ours(seconds, &data)?;
        statistics = counted;
        if let Ok(program) = &peer {
            let (their_round, their_events) = theirs(program, seconds)?;
            events = their_events;
            ratios.push(their_round.cpu_seconds / round.cpu_seconds);
            their_rounds.push(their_round);
        }
        our_rounds.push(round);
    }
    let mut shares = Vec::new();
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        // Deadlines of the stations, of the medium, and of a frame that is about to arrive.
        let heap = bare_heap(BACKGROUND as usize + 3)?;
        let (_, per_second) = turns(seconds.min(20), &data)?;
        shares.push(per_second / heap);
        ours.push(per_second / 1e6);
        bare.push(heap / 1e6);
    }
    println!("median [least to most] of {ROUNDS} rounds");
    print("tidewire", &our_rounds, seconds);
    let [turns, heap, share] = [ours, bare, shares].map(|figures| spread(figures.into_iter()));
    for (name, [middle, least, most]) in [("turns", turns), ("bare heap", heap)] {
        println!("{name:9} {middle:7.1} [{least:.1} to {most:.1}] million per CPU s");
    }
    println!("{:9} {:7.2} [{:.2} to {:.2}] of it", "", share[0], share[1], share[2]);
    let per_frame = statistics.collisions as f64 / our_rounds[0].sent as f64;
    println!("{:9} {per_frame:.3} collisions per frame", "");
    match peer {
        Ok(_) => {
            print("ns-3", &their_rounds, seconds);
            println!("{:9} no collisions, {events} events", "");
            let [middle, least, most] = spread(ratios.into_iter());
            println!("CPU time, ns-3 over tidewire: {middle:.2} [{least:.2} to {most:.2}]");
        }
        Err(missing) => println!("ns-3      not run: {missing}"),
    }
    host.print();
    Ok(())
}

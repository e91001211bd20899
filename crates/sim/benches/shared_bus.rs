//! How fast a shared bus is simulated: simulated seconds per CPU second of this thread.
//!
//! 10 Mbit/s, ten Poisson stations with 200 octets of data (218-octet frames with header and FCS)
//! that offer half of what the bus carries, and one station that reports every 20 ms: 1,000
//! seconds.

use bytes::Bytes;
use core::time::Duration;
use sim::medium::csma_cd::{CsmaCd, Params};
use sim::world::World;
use stack::machine::Deadline;
use stack::station::{Frame, Station};
use stats::rng::Stream;
use wire::addr::Mac;
use wire::time::Instant;

const BACKGROUND: u32 = 10;
const SECONDS: u64 = 1_000;
/// 50 % of 10^7 bits per second, in frames of 218 octets.
const FRAMES_PER_SECOND: f64 = 0.5 * 1e7 / (218.0 * 8.0);

struct Sender {
    address: Mac,
    peer: Mac,
    data: Bytes,
    /// For random intervals; constant ones of 20 ms without it.
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

/// Seconds this process has been on a processor, as Linux counts them.
fn cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    let nanos: f64 = text.split_whitespace().next()?.parse().ok()?;
    Some(nanos / 1e9)
}

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let data = Bytes::from(vec![0; 200]);
    let senders = (0..=BACKGROUND).map(|n| Sender::new(n, &data, n < BACKGROUND)).collect();
    let bus = CsmaCd::new(Params::spread(BACKGROUND as usize + 1, 500.0, 1))?;
    let mut world = World::new(bus, senders)?;
    let mut passages = 0_u64;
    let before = cpu_seconds().ok_or("no /proc/self/schedstat: cannot tell CPU time")?;
    world.run(Instant::from_nanos(SECONDS * 1_000_000_000), |_| passages += 1)?;
    let took = cpu_seconds().ok_or("no /proc/self/schedstat: cannot tell CPU time")? - before;
    let statistics = world.medium().statistics();
    let received: u64 = world.stations().iter().map(|sender| sender.received).sum();
    println!("simulated {SECONDS} s in {took:.3} CPU s: {:.0} per CPU s", SECONDS as f64 / took);
    println!("{:.0} ns of CPU per frame", took * 1e9 / passages as f64);
    println!(
        "{received} frames received, {:.3} collisions per frame",
        statistics.collisions as f64 / passages as f64
    );
    println!("{statistics:?}");
    Ok(())
}

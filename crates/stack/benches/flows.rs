//! Cost of a station with many flows: two hosts and the wire between them in one thread, in thread
//! CPU time.
//!
//! `cargo bench -p tidewire-stack --bench flows`. Each flow has a class 4 connection of its own and
//! sends a message of 100 octets every 10 s, at its own time; the wire has no delay. The total
//! number of messages, once all connections are open, is the same for any number of flows. An event
//! is a call of a station: a timer that expires, a frame that arrives, a frame that has left.
#![expect(clippy::unwrap_used, reason = "a benchmark stops at what it did not expect")]

use rustix::time::{ClockId, clock_gettime};
use stack::clnp;
use stack::host::{Host, HostParams};
use stack::load::{Event, Flow, FlowId, Pattern, Service};
use stack::messaging::Priority;
use stack::profile::Framing;
use stack::station::{Station, Transmission};
use stack::tp4::Params;
use std::io::Write;
use std::time::Duration;
use wire::addr::{Mac, Nsap};
use wire::time::Instant;

const FLOWS: [u16; 4] = [1, 100, 1_000, 10_000];
const MESSAGES: u64 = 50_000;
const PERIOD: Duration = Duration::from_secs(10);
const ROUNDS: usize = 5;

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn host(number: u32, flows: Vec<Flow>) -> Host {
    let address = Mac::local(number);
    let params = HostParams {
        address,
        transport: Params { connections: 20_000, half_open: 20_000, ..Params::lan() },
        network: clnp::Params::inactive(Nsap::of_station(address)),
        last_reference: 0,
        accepts: true,
        saps: Vec::new(),
        framing: Framing::Ieee8023,
        messaging: None,
    };
    Host::new(params, flows)
}

struct Pair {
    hosts: [Host; 2],
    now: Instant,
    events: u64,
}

impl Pair {
    fn new(flows: u16) -> Self {
        let each = |number: u16| Flow {
            id: FlowId(number),
            peer: Mac::local(2),
            service: Service::Class4,
            priority: Priority::LOWEST,
            pattern: Pattern::Cyclic { period: PERIOD },
            size_octets: 100,
            messages: None,
            start: Instant::ZERO + PERIOD * u32::from(number) / u32::from(flows),
            seed: 1,
        };
        let hosts = [host(1, (0..flows).map(each).collect()), host(2, Vec::new())];
        Self { hosts, now: Instant::ZERO, events: 0 }
    }

    /// Runs until `end`; returns the number of messages delivered.
    fn run(&mut self, end: Instant) -> u64 {
        let mut delivered = 0;
        while let Some(deadline) = self.hosts.iter().filter_map(Station::deadline).min()
            && deadline.at <= end
        {
            self.now = self.now.max(deadline.at);
            for of in [0, 1] {
                if self.hosts[of].deadline().is_some_and(|deadline| deadline.at <= self.now) {
                    self.hosts[of].expire(self.now);
                    self.events += 1;
                }
            }
            while self.carry() {}
            for host in &mut self.hosts {
                while let Some(record) = host.record() {
                    let event = record.event;
                    delivered += u64::from(matches!(event, Event::Delivered { .. }));
                }
            }
        }
        delivered
    }

    /// Carries all waiting frames; returns true if there were any.
    fn carry(&mut self) -> bool {
        let before = self.events;
        for of in [0, 1] {
            while let Some(frame) = self.hosts[of].poll() {
                self.hosts[of].transmitted(self.now, 0, Transmission::Sent);
                self.hosts[1 - of].receive(self.now, frame);
                self.events += 2;
            }
        }
        self.events > before
    }
}

/// Nanoseconds per message, and events per second, both of CPU time.
fn measure(flows: u16) -> [f64; 2] {
    let mut pair = Pair::new(flows);
    // All connections are open, and each has carried a message.
    pair.run(Instant::ZERO + PERIOD);
    pair.events = 0;
    let periods = u32::try_from(MESSAGES.div_ceil(u64::from(flows))).unwrap();
    let before = cpu_seconds();
    let delivered = pair.run(Instant::ZERO + PERIOD * (1 + periods));
    let took = cpu_seconds() - before;
    assert!(delivered >= MESSAGES, "{delivered} messages");
    assert_eq!(pair.hosts[1].transport().connections(), usize::from(flows));
    [took * 1e9 / delivered as f64, pair.events as f64 / took]
}

fn main() {
    let mut out = std::io::stdout();
    writeln!(out, "flows   CPU time of a message   events in a second of CPU time").unwrap();
    for flows in FLOWS {
        let mut rounds: Vec<[f64; 2]> = (0..ROUNDS).map(|_| measure(flows)).collect();
        rounds.sort_by(|one, other| one[0].total_cmp(&other[0]));
        let [least, middle, most] = [0, ROUNDS / 2, ROUNDS - 1].map(|place| rounds[place]);
        writeln!(
            out,
            "{flows:>5}   {:.0} [{:.0} to {:.0}] ns   {:.2} million",
            middle[0],
            least[0],
            most[0],
            middle[1] / 1e6
        )
        .unwrap();
    }
}

//! Bounds on switched Ethernet with strict priorities: at each port a message waits for the longest
//! less urgent frame and for all frames of equal or higher urgency (holistic analysis, Tindell and
//! Clark 1994; a frame of a flow may be as late at a port as at the ports before it).

use super::shared::ceiling;
use super::stream::{Stream, Streams, arrivals, busy};
use super::{Bound, Reason};
use crate::scenario::Scenario;
use core::time::Duration;
use sim::medium::switched::{Link, Params};
use std::collections::{BTreeMap, BTreeSet};
use wire::mac::HEADER_OCTETS;

/// Octets of an 802.1Q tag.
const TAG_OCTETS: usize = 4;
/// Maximum number of rounds until no bound changes any more.
const MOST_ROUNDS: usize = 1_000;

/// Port on the path of a message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Port {
    /// Port of a station.
    Station(usize),
    /// Port of a switch towards a station.
    Last(usize),
    /// Port of a switch towards another switch.
    Trunk { from: usize, to: usize },
}

/// Paths of all streams, and the maximum stay of a message at each port.
struct Ways<'a> {
    network: &'a Params,
    streams: &'a Streams,
    ports: Vec<Vec<Port>>,
    /// Streams that pass each port, with the place of the port on their path.
    sharing: BTreeMap<Port, Vec<Passage>>,
    /// Highest priority of the streams without limit that pass each port.
    unlimited: BTreeMap<Port, u8>,
    /// Stays by stream and port on its path; `None` if there is no bound.
    stays: Vec<Vec<Option<Duration>>>,
}

/// Passage of a stream through a port.
#[derive(Clone, Copy, Debug)]
struct Passage {
    stream: usize,
    /// Place of the port on the stream's path.
    place: usize,
}

/// Frames of streams that arrive alike at a port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Alike {
    period: Duration,
    /// Maximum stay at the ports before.
    late: Duration,
    /// Duration of a frame and its gap.
    takes: Duration,
}

/// Bound of each flow.
pub(super) fn bounds(scenario: &Scenario, network: &Params, streams: &Streams) -> Vec<Bound> {
    let mut ways = Ways::new(network, streams);
    let mut settled = false;
    for _ in 0..MOST_ROUNDS {
        let next = ways.next_stays();
        settled = next == ways.stays;
        ways.stays = next;
        if settled {
            break;
        }
    }
    let of = |first: Option<usize>| {
        let Some(stream) = first else { return Bound::None(Reason::Others) };
        match ways.whole(stream) {
            Some(longest) if settled => Bound::Longest(longest),
            _ if ways.is_behind_others(stream) => Bound::None(Reason::Others),
            _ => Bound::None(Reason::Load),
        }
    };
    streams.first_of_flows(scenario.flows.len()).into_iter().map(of).collect()
}

/// Ports from one station to another, with switches in a row.
fn ports(network: &Params, from: usize, to: usize) -> Vec<Port> {
    let (first, last) = (network.stations[from].switch, network.stations[to].switch);
    let mut ports = vec![Port::Station(from)];
    let mut at = first;
    while at != last {
        let next = if at < last { at + 1 } else { at - 1 };
        ports.push(Port::Trunk { from: at, to: next });
        at = next;
    }
    ports.push(Port::Last(to));
    ports
}

impl<'a> Ways<'a> {
    fn new(network: &'a Params, streams: &'a Streams) -> Self {
        let ports: Vec<Vec<Port>> =
            streams.all.iter().map(|stream| ports(network, stream.station, stream.to)).collect();
        let stays = ports.iter().map(|ports| vec![Some(Duration::ZERO); ports.len()]).collect();
        let mut sharing: BTreeMap<Port, Vec<Passage>> = BTreeMap::new();
        let mut unlimited: BTreeMap<Port, u8> = BTreeMap::new();
        let mut cast_at = BTreeSet::new();
        for (stream, ports) in ports.iter().enumerate() {
            let Stream { period, priority, cast, .. } = streams.all[stream];
            for (place, port) in ports.iter().enumerate() {
                // A frame to a group passes each port once.
                if cast.is_some_and(|cast| !cast_at.insert((*port, cast))) {
                    continue;
                }
                sharing.entry(*port).or_default().push(Passage { stream, place });
                if period.is_none() {
                    let highest = unlimited.entry(*port).or_default();
                    *highest = priority.max(*highest);
                }
            }
        }
        Self { network, streams, ports, sharing, unlimited, stays }
    }

    /// Maximum stay of a message of each stream at each port on its path, given the current stays.
    /// Streams of one priority stay equally long at a port.
    fn next_stays(&self) -> Vec<Vec<Option<Duration>>> {
        let mut known: BTreeMap<(Port, u8), Option<Duration>> = BTreeMap::new();
        let mut stay = |priority: u8, port: Port| {
            *known.entry((port, priority)).or_insert_with(|| self.at_port(priority, port))
        };
        let streams = self.streams.all.iter().zip(&self.ports);
        streams
            .map(|(of, ports)| ports.iter().map(|port| stay(of.priority, *port)).collect())
            .collect()
    }

    /// Maximum stay at a port, that of the station included. Frames are served by priority, each
    /// with its own length.
    fn at_port(&self, priority: u8, port: Port) -> Option<Duration> {
        let link = self.link(port);
        let mut lower = Duration::ZERO;
        let mut urgent: BTreeMap<Alike, u32> = BTreeMap::new();
        for Passage { stream, place } in self.sharing.get(&port)? {
            let of = &self.streams.all[*stream];
            let takes = self.takes(of, link);
            if of.priority < priority {
                lower = lower.max(takes);
                continue;
            }
            let late =
                self.stays[*stream].iter().take(*place).copied().sum::<Option<Duration>>()?;
            *urgent.entry(Alike { period: of.period?, late, takes }).or_default() += 1;
        }
        busy(|span| {
            let mut sum = lower;
            for (Alike { period, late, takes }, streams) in &urgent {
                let frames = arrivals(*period, span.saturating_add(*late))?;
                let frames = u32::try_from(frames).unwrap_or(u32::MAX).saturating_mul(*streams);
                sum = sum.saturating_add(takes.saturating_mul(frames));
            }
            Some(sum)
        })
    }

    /// Duration of a frame of a stream and the gap after it.
    fn takes(&self, stream: &Stream, link: Link) -> Duration {
        let framing = self.network.framing;
        let octets = stream.data_octets + HEADER_OCTETS + TAG_OCTETS;
        ceiling(link.rate, framing.wire_bits(octets) + framing.gap_bits)
    }

    fn link(&self, port: Port) -> Link {
        match port {
            Port::Station(station) | Port::Last(station) => self.network.stations[station].link,
            Port::Trunk { from, to } => {
                let ends = |trunk: &&sim::medium::switched::Trunk| {
                    trunk.ends == [from, to] || trunk.ends == [to, from]
                };
                let trunk = self.network.trunks.iter().find(ends);
                trunk.expect("neighbours have a trunk between them").link
            }
        }
    }

    /// Sum of all its stays, the propagation between them, and the latencies of switches.
    fn whole(&self, stream: usize) -> Option<Duration> {
        let mut sum: Duration = self.stays[stream].iter().copied().sum::<Option<Duration>>()?;
        for port in &self.ports[stream] {
            let metres = self.link(*port).metres;
            let way = (metres / self.network.metres_per_second * 1e9).ceil() as u64;
            sum = sum.saturating_add(Duration::from_nanos(way));
            let latency = match *port {
                Port::Station(_) => continue,
                Port::Last(station) => self.network.stations[station].switch,
                Port::Trunk { from, .. } => from,
            };
            sum = sum.saturating_add(self.network.switches[latency].latency);
        }
        Some(sum)
    }

    /// Returns whether unlimited frames may be served before those of a stream at any port.
    fn is_behind_others(&self, stream: usize) -> bool {
        let of = &self.streams.all[stream];
        let mut unlimited = self.ports[stream].iter().filter_map(|port| self.unlimited.get(port));
        unlimited.any(|priority| *priority >= of.priority)
    }
}

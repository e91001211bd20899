//! Bounds on switched Ethernet with strict priorities: at each port a message waits for the longest
//! less urgent frame and for all frames of equal or higher urgency (holistic analysis, Tindell and
//! Clark 1994; a frame of a flow may be as late at a port as at the ports before it).

use super::shared::ceiling;
use super::stream::{Stream, Streams, arrivals, busy};
use super::{Bound, Reason};
use crate::scenario::Scenario;
use core::time::Duration;
use sim::medium::switched::{Link, Params};
use wire::mac::HEADER_OCTETS;

/// Octets of an 802.1Q tag.
const TAG_OCTETS: usize = 4;
/// Maximum number of rounds until no bound changes any more.
const MOST_ROUNDS: usize = 1_000;

/// Port on the path of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
    network: Params,
    streams: &'a Streams,
    ports: Vec<Vec<Port>>,
    /// Stays by stream and port on its path; `None` if there is no bound.
    stays: Vec<Vec<Option<Duration>>>,
}

/// Bound of each flow.
pub(super) fn bounds(scenario: &Scenario, network: Params, streams: &Streams) -> Vec<Bound> {
    let ports: Vec<Vec<Port>> =
        streams.all.iter().map(|stream| ports(&network, stream.station, stream.to)).collect();
    let stays = ports.iter().map(|ports| vec![Some(Duration::ZERO); ports.len()]).collect();
    let mut ways = Ways { network, streams, ports, stays };
    let mut settled = false;
    for _ in 0..MOST_ROUNDS {
        let next: Vec<Vec<Option<Duration>>> =
            (0..streams.all.len()).map(|stream| ways.stays_of(stream)).collect();
        settled = next == ways.stays;
        ways.stays = next;
        if settled {
            break;
        }
    }
    let of = |flow| {
        let Some(stream) = streams.all.iter().position(|stream| stream.flow == flow) else {
            return Bound::None(Reason::Others);
        };
        match ways.whole(stream) {
            Some(longest) if settled => Bound::Longest(longest),
            _ if ways.is_behind_others(stream) => Bound::None(Reason::Others),
            _ => Bound::None(Reason::Load),
        }
    };
    (0..scenario.flows.len()).map(of).collect()
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

impl Ways<'_> {
    /// Maximum stay of a message of a stream at each port on its path, given the current stays.
    fn stays_of(&self, stream: usize) -> Vec<Option<Duration>> {
        let of = self.streams.all[stream];
        self.ports[stream].iter().map(|port| self.at_port(&of, *port)).collect()
    }

    /// Maximum stay at a port, that of the station included. Frames are served by priority, each
    /// with its own length.
    fn at_port(&self, stream: &Stream, port: Port) -> Option<Duration> {
        let link = self.link(port);
        let here = |other: usize| self.ports[other].iter().position(|it| *it == port);
        let all = self.streams.all.iter().enumerate();
        let sharing: Vec<(usize, usize)> =
            all.filter_map(|(other, _)| Some((other, here(other)?))).collect();
        let of = |other: usize| &self.streams.all[other];
        let lower = sharing.iter().filter(|(other, _)| of(*other).priority < stream.priority);
        let lower = lower.map(|(other, _)| self.takes(of(*other), link)).max().unwrap_or_default();
        let urgent: Vec<(usize, usize)> = sharing
            .iter()
            .copied()
            .filter(|(other, _)| of(*other).priority >= stream.priority)
            .collect();
        busy(|span| {
            let mut sum = lower;
            for (other, place) in &urgent {
                let late: Duration =
                    self.stays[*other].iter().take(*place).copied().sum::<Option<Duration>>()?;
                let frames = arrivals(of(*other).period?, span.saturating_add(late))?;
                let each = self.takes(of(*other), link);
                let frames = u32::try_from(frames).unwrap_or(u32::MAX);
                sum = sum.saturating_add(each.saturating_mul(frames));
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
        self.streams.all.iter().enumerate().any(|(other, it)| {
            let meet = self.ports[other].iter().any(|port| self.ports[stream].contains(port));
            it.period.is_none() && meet && it.priority >= of.priority
        })
    }
}

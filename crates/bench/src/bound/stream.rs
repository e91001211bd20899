//! Streams of frames that each station may send, and the maximum duration of the queue before a
//! frame.

use crate::layout::Place;
use crate::medium::{LLC_OCTETS, Medium, TokenBus};
use core::time::Duration;
use stack::load::publication::{Content, Publication};
use stack::load::{Pattern, Service};
use stack::profile::Framing;
use std::collections::BTreeMap;
use wire::addr::Mac;
use wire::crc16::CHECK_OCTETS;

/// Octets of a TPDU without user data, and of the network layer's header before it: none of our
/// AKs, CRs and CCs is longer.
const CONTROL_OCTETS: usize = 128;
/// Octets of a tag of 802.1Q.
const TAG_OCTETS: usize = 4;
/// Octets of headers before the data of a DT: transport with checksum and long numbers, and
/// network.
const DT_OCTETS: usize = 16 + 37;
/// Headers of session and CASE in front of a message, and room for those of an association.
const CASE_OCTETS: usize = 256;
/// Octets around a PDU of MMS, at most: those of session and presentation, or an association's own PDUs.
const MMS_OCTETS: usize = 320;
/// Duration beyond which a queue is assumed to grow without end.
const LONGEST: Duration = Duration::from_secs(60);
/// Maximum number of steps of the recurrence.
const MOST_STEPS: usize = 10_000;

/// Frames of one kind that a station sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stream {
    /// Sending station.
    pub(super) station: usize,
    /// Receiving station.
    pub(super) to: usize,
    /// Flow that causes them.
    pub(super) flow: usize,
    /// Rank: its station sends frames of a higher rank first.
    pub(super) rank: u8,
    /// Priority in its frames.
    pub(super) priority: u8,
    /// Minimum time between two; `None` if any number may come at once.
    pub(super) period: Option<Duration>,
    /// Maximum number of data octets in a frame, LLC header included.
    pub(super) data_octets: usize,
    /// True if each requests a response within the token, on a token bus.
    pub(super) asks: bool,
    /// Number of the stream to a group whose frames these are: all members get one frame.
    pub(super) cast: Option<usize>,
}

/// All streams of a scenario's stations.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    pub(super) all: Vec<Stream>,
    /// For each station, whether it, or its MAC, sends the most urgent frame first.
    pub(super) ranked: Vec<bool>,
    /// Indices of each station's streams in `all`.
    of: Vec<Vec<usize>>,
}

impl Streams {
    pub(super) fn of(places: &[Place], medium: &Medium) -> Self {
        let index_of: BTreeMap<Mac, usize> =
            places.iter().enumerate().map(|(index, place)| (place.host.address, index)).collect();
        let mut all = Vec::new();
        for (station, place) in places.iter().enumerate() {
            for flow in &place.flows {
                let Some(to) = index_of.get(&flow.peer) else { continue };
                match flow.service {
                    Service::Published => add_published(&mut all, station, *to, flow, places),
                    _ => add(&mut all, station, *to, flow, place),
                }
            }
        }
        for stream in &mut all {
            if let Some(rank) = rank_at_mac(stream, &places[stream.station], medium) {
                stream.rank = rank;
            }
        }
        let ranked = places.iter().map(|place| place.has_priorities).collect();
        let mut of = vec![Vec::new(); places.len()];
        for (place, stream) in all.iter().enumerate() {
            of[stream.station].push(place);
        }
        Self { all, ranked, of }
    }

    /// Streams of a station.
    pub(super) fn from(&self, station: usize) -> impl Iterator<Item = &Stream> {
        self.of[station].iter().map(|place| &self.all[*place])
    }

    /// Index of the first stream of each of a scenario's flows.
    pub(super) fn first_of_flows(&self, flows: usize) -> Vec<Option<usize>> {
        let mut first = vec![None; flows];
        for (place, stream) in self.all.iter().enumerate().rev() {
            if let Some(first) = first.get_mut(stream.flow) {
                *first = Some(place);
            }
        }
        first
    }

    /// Longest data of a frame of each station; `None` for one that sends nothing.
    pub(super) fn longest(&self, stations: usize) -> Vec<Option<usize>> {
        let longest = |station| self.from(station).map(|stream| stream.data_octets).max();
        (0..stations).map(longest).collect()
    }

    /// Maximum time that a frame of this stream, or one of equal rank, stays at its station, which
    /// needs `time(n)` to send n frames; `None` if there is no maximum.
    pub(super) fn stay(&self, stream: &Stream, time: impl Fn(u64) -> Duration) -> Option<Duration> {
        let rank = |other: &&Stream| !self.ranked[stream.station] || other.rank >= stream.rank;
        let before: Vec<&Stream> = self.from(stream.station).filter(rank).collect();
        let blocked = self.from(stream.station).count() > before.len();
        busy(|span| {
            let mut frames = before.iter().map(|other| arrivals(other.period?, span));
            let frames = frames.try_fold(u64::from(blocked), |sum, n| Some(sum.saturating_add(n?)));
            Some(time(frames?))
        })
    }
}

/// Rank of a stream at a station whose MAC has queues by priority; `None` at one that hands over
/// one frame at a time. An access class of a token bus is a queue for two priorities.
fn rank_at_mac(stream: &Stream, place: &Place, medium: &Medium) -> Option<u8> {
    let has_classes = matches!(medium, Medium::TokenBus(TokenBus { classes: Some(_), .. }));
    let is_ranked = place.has_priorities && place.host.framing.carries_priority();
    is_ranked.then_some(if has_classes { stream.priority / 2 } else { stream.priority })
}

/// Maximum number of messages with this period due in a span, both ends included.
pub(super) fn arrivals(period: Duration, span: Duration) -> Option<u64> {
    let times = span.as_nanos().checked_div(period.as_nanos())?;
    u64::try_from(times).ok()?.checked_add(1)
}

/// Shortest span in which all work that may arrive in it is done; `None` if it exceeds the limit.
pub(super) fn busy(work: impl Fn(Duration) -> Option<Duration>) -> Option<Duration> {
    let mut span = Duration::ZERO;
    for _ in 0..MOST_STEPS {
        let next = work(span)?;
        if next <= span {
            return Some(span);
        }
        if next > LONGEST {
            return None;
        }
        span = next;
    }
    None
}

/// Adds the streams that a flow causes at its two stations.
fn add(all: &mut Vec<Stream>, station: usize, to: usize, flow: &stack::load::Flow, sender: &Place) {
    let host = &sender.host;
    let transport = &host.transport;
    let place = usize::from(flow.id.0);
    let priority = flow.priority.number();
    // By priority, messages first among equals.
    let rank = 2 * priority;
    let of = |station, to, rank, period, data_octets| Stream {
        station,
        to,
        flow: place,
        rank,
        priority,
        period,
        data_octets,
        asks: false,
        cast: None,
    };
    let llc = LLC_OCTETS as usize;
    match flow.service {
        Service::Class4 | Service::Case { .. } | Service::Mms { .. } | Service::File(_) => {
            let most =
                if transport.concatenate { transport.nsdu_octets } else { transport.tpdu_octets };
            let reply = flow.pattern.reply_octets().unwrap_or(0);
            let above = match flow.service {
                Service::Case { .. } | Service::File(_) => CASE_OCTETS,
                Service::Mms { .. } => MMS_OCTETS,
                _ => 0,
            };
            // Data of files is in one direction or the other, in blocks.
            let (message, reply) = match flow.service {
                Service::File(options) => {
                    let block = usize::from(options.block_octets);
                    (block, block)
                }
                _ => (flow.size_octets, reply),
            };
            for (station, to, octets) in [(station, to, message), (to, station, reply)] {
                let whole = octets.saturating_add(DT_OCTETS + above).min(most.saturating_add(37));
                all.push(of(station, to, rank, None, llc + whole.max(CONTROL_OCTETS)));
            }
        }
        Service::Datagram => {
            let reply = flow.pattern.reply_octets();
            let period = least_period(flow, sender).filter(|_| reply.is_none());
            all.push(of(station, to, rank, period, llc + flow.size_octets));
            if let Some(octets) = reply {
                all.push(of(to, station, rank, None, llc + octets));
            }
        }
        // Frames without LLC.
        Service::Published => {}
        Service::Message(options) => {
            let period = least_period(flow, sender).filter(|_| !options.acknowledged);
            let check = if options.crc { CHECK_OCTETS } else { 0 };
            let message = of(station, to, rank + 1, period, llc + flow.size_octets + check);
            let asks = options.acknowledged && host.framing == Framing::Ieee8024Responding;
            all.push(Stream { asks, ..message });
            if options.acknowledged && !asks {
                // Acknowledgements are sent when their messages arrive, at any time.
                all.push(of(to, station, u8::MAX, None, CONTROL_OCTETS));
            }
        }
    }
}

/// Adds the frames of a stream of cyclic data. Switches carry those to a group to every station.
fn add_published(
    all: &mut Vec<Stream>,
    station: usize,
    to: usize,
    flow: &stack::load::Flow,
    places: &[Place],
) {
    let Some(place) = places.get(station) else { return };
    let Some(publication) = place.streams.published.get(&flow.id) else { return };
    let is_switched = place.host.framing == Framing::Ieee8021Q;
    // Switches count a tag for each frame.
    let tag_octets = if publication.tag.is_some() && !is_switched { TAG_OCTETS } else { 0 };
    let priority = flow.priority.number();
    for period in periods(flow, place, publication) {
        let cast = (publication.group.is_some() && is_switched).then_some(all.len());
        let members = (0..places.len()).filter(|it| *it != station && *it != to);
        let members = members.filter(|_| cast.is_some());
        all.extend(core::iter::once(to).chain(members).map(|to| Stream {
            station,
            to,
            flow: flow.id.0.into(),
            rank: 2 * priority,
            priority,
            period,
            data_octets: flow.size_octets + tag_octets,
            asks: false,
            cast,
        }));
    }
}

/// Minimum times between frames of a stream: of GOOSE between retransmissions, and between changes.
fn periods(
    flow: &stack::load::Flow,
    sender: &Place,
    publication: &Publication,
) -> Vec<Option<Duration>> {
    let Content::Goose(goose) = &publication.content else {
        return vec![least_period(flow, sender)];
    };
    let plan = &goose.plan;
    let least = plan.curve.iter().copied().fold(plan.maximum, Duration::min);
    let between = plan.changes.windows(2).map(|pair| pair[1].since(pair[0]));
    let changes = match (plan.mean_interval, plan.changes.is_empty()) {
        (Some(_), _) => Some(None),
        (None, true) => None,
        (None, false) => Some(Some(between.fold(LONGEST, Duration::min))),
    };
    [Some(Some(least)), changes].into_iter().flatten().collect()
}

/// Minimum time between two messages, if there is one. Messages due at the same time are not limited
/// in number.
fn least_period(flow: &stack::load::Flow, sender: &Place) -> Option<Duration> {
    let Pattern::Cyclic { period } = flow.pattern else { return None };
    let jitter = sender.streams.jitters.get(&flow.id);
    let least = jitter.map_or(period, |jitter| jitter.shortest(period));
    (!least.is_zero()).then_some(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_period_is_the_classical_one() {
        // 1 ms of work every 4 ms, 2 ms every 6 ms and 3 ms every 13 ms, both ends counted: after 0 ms
        // 1 + 2 + 3 = 6; after 6 ms 2 + 4 + 3 = 9; after 9 ms 3 + 4 + 3 = 10, and after 10 ms no more.
        let millis = Duration::from_millis;
        let work = |span| {
            let of =
                |period, each: u64| Some(millis(each) * arrivals(millis(period), span)? as u32);
            Some(of(4, 1)? + of(6, 2)? + of(13, 3)?)
        };
        assert_eq!(busy(work), Some(millis(10)));
        // More than all the time available.
        assert_eq!(busy(|span| Some(span + millis(1))), None);
    }
}

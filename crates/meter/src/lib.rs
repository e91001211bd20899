//! Passive meter: measures of a network's transport connections, computed from its frames.
//!
//! A [`Meter`] receives frames with their times, from a capture file, a live port or a simulated
//! wire; the source makes no difference. It follows every transport connection, counts PDUs in each
//! interval, and computes the metrics of NBSIR 85-3104 from the counts. The times of frames are its
//! only clock, and its memory is bounded for any input.
//!
//! ```text
//! frame -> wire::dissect -> reassembly of CLNP segments, or stream (TCP) and its TPKTs
//!       -> TPDUs -> track (of which connection?) -> Observation -> measure -> metric
//! ```
//!
//! Common frames take a fast path with identical results; `fast` lists its invariants.
//!
//! To add a measure: one file in `measure`, and one field with its lines in `measure::Traffic`,
//! where hosts have it, or in `measure::Measures`.
#![forbid(unsafe_code)]

#[cfg(test)]
mod draw;
mod fast;
mod follow;
mod host;
mod interval;
mod lru_slab;
pub mod measure;
pub mod metric;
pub mod observation;
pub mod oddity;
mod of_connections;
mod of_functions;
mod packed_instant;
mod reassembly;
pub mod registry;
pub mod service;
mod stream;
mod track;
pub mod transit;
#[cfg(test)]
mod trial;
mod tsdu;
pub mod user;

pub use follow::association::{
    AssociationReport, Cause, ControlBlock, Dropped, FailureCount, LatestInterval, Layer, Phase,
    ServiceReport, Source,
};
pub use follow::cyclic::{
    Answers, ChangedStreams, DeviationQuantile, Deviations, Extra, Gaps, Labels, Order, Pairs,
    Protocol, Retransmissions, SenderClock, Station, StreamFigures, StreamKey, StreamReport, Worst,
};
pub use follow::transactions::{
    Extremes, PollingClient, RequestGaps, TransactionCounts, TransactionFigures, TransactionKey,
    TransactionProtocol, TransactionReport,
};
pub use host::{Address, ChangedHost, Host, HostKey, HostReports};
pub use interval::Report;
pub use track::{Direction, Known as Connection, Numbers, State};
pub use tsdu::{Tsdu, TsduLimits};

use core::time::Duration;
use follow::Follower;
use follow::cyclic::{self, Cyclic};
use follow::transactions::{self, Carrier, Part, Transactions};
use host::Hosts;
use interval::Intervals;
use measure::Distribution;
use observation::Observation;
use oddity::{Class, Oddities};
use reassembly::{Reassembly, Whole};
use stream::Streams;
use track::{Party, Sink, Tracker};
use tsdu::Tsdus;
use wire::dissect::{Datagram, Levels, Link, NoNsdu, Nsdu, Segment, is_unit_data, levels};
use wire::mac;
use wire::prp::{Marked, may_be_marked};
use wire::time::{Instant, nanos};
use wire::units::BitRate;

/// Settings of a meter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Length of an interval.
    pub interval: Duration,
    /// Start of the first interval; the time of the first frame if none is set.
    pub origin: Option<Instant>,
    /// Capacity of the channel, for the metrics that relate to it.
    pub channel: BitRate,
    /// Limit on the transport connections, and on the TCP connections, followed at the same time.
    pub maximum_connections: usize,
    /// Limit on the hosts that have measures of their own; the traffic of all other hosts is
    /// summed.
    pub maximum_hosts: usize,
    /// Largest size of each class of sizes but the last, in octets, ascending.
    pub bounds_octets: [u64; 9],
    /// Silence after which a connection is evicted.
    pub silence: Duration,
    /// Seed of the hash of the connection table; results do not depend on it.
    pub seed: u64,
}

impl Settings {
    /// Intervals of this length on a channel of 10 Mbit/s, from the first frame on; 16,384
    /// connections, evicted after five minutes of silence; 1,024 hosts.
    #[must_use]
    pub const fn every(interval: Duration) -> Self {
        Self {
            interval,
            origin: None,
            channel: BitRate::mbps(10),
            maximum_connections: 16_384,
            maximum_hosts: 1_024,
            bounds_octets: measure::BOUNDS_OCTETS,
            silence: Duration::from_secs(300),
            seed: 0,
        }
    }
}

/// Observations and oddities of one frame.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Remarks {
    /// Segments, TPDUs and the delays that ended with them, in the order in which they were
    /// counted. Includes segments that were held beyond a gap and that this frame released.
    pub observations: Vec<Observation>,
    /// Anomalies of the frame.
    pub oddities: Oddities,
}

/// Number of frames by the path on which the meter counted them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FramePaths {
    /// Common frames: read at fixed offsets, and of a connection that one look-up finds.
    pub common: u64,
    /// Other TCP segments, read at fixed offsets, and frames of cyclic data, decoded once.
    pub plain: u64,
    /// Frames that were dissected layer by layer.
    pub dissected: u64,
}

/// Content of captured frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Content {
    /// The whole frame, unless the snap length of the capture cut it.
    #[default]
    Whole,
    /// Headers only: user data was omitted on purpose.
    Headers,
}

/// Passive meter.
#[derive(Clone, Debug)]
pub struct Meter {
    reassembly: Reassembly,
    streams: Streams,
    tracker: Tracker,
    intervals: Intervals,
    cyclic: Cyclic,
    /// Frames that were not common.
    paths: FramePaths,
    /// Latest time known, set once the last frame has arrived.
    until: Option<Instant>,
}

impl Meter {
    /// Creates a meter without counts.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let Settings { interval, origin, channel, maximum_connections, .. } = settings;
        let Settings { maximum_hosts, bounds_octets, silence, seed, .. } = settings;
        let hosts = Hosts::new(maximum_hosts, bounds_octets, seed);
        let transactions = Transactions::new(maximum_connections, nanos(silence), seed);
        Self {
            reassembly: Reassembly::default(),
            streams: Streams::new(maximum_connections, silence, seed),
            tracker: Tracker::new(maximum_connections, silence, hosts, seed),
            intervals: Intervals::new(interval, origin, channel, bounds_octets, transactions),
            cyclic: Cyclic::new(cyclic::STREAMS, nanos(silence), seed),
            paths: FramePaths::default(),
            until: None,
        }
    }

    /// Sets the content of the following frames. Missing user data is no oddity in frames of
    /// headers.
    pub const fn expect(&mut self, content: Content) {
        self.intervals.expect_data(matches!(content, Content::Whole));
    }

    /// Passes TSDUs of the applications for which `wanted` returns true; see [`Meter::take_tsdu`].
    /// Applies to connections that begin from now on. Their DTs take the time of dissection. A packet
    /// over several TCP segments is kept as a whole: up to 64 KiB for each direction of a connection.
    pub fn pass_tsdus(&mut self, wanted: fn(user::User) -> bool, limits: TsduLimits) {
        self.streams.keep_whole();
        self.intervals.pass_tsdus(Tsdus::new(wanted, limits));
    }

    /// Takes the oldest TSDU; none if none is left, or if they are not passed. Call it after each
    /// frame: TSDUs that are not taken are given up when the limit is reached.
    #[inline]
    pub fn take_tsdu(&mut self) -> Option<Tsdu> {
        self.intervals.tsdus()?.take()
    }

    /// TSDUs given up because of the limit; none if they are not passed.
    pub fn given_up_tsdus(&mut self) -> Option<u64> {
        self.intervals.tsdus().map(|tsdus| tsdus.given_up())
    }

    /// Counts a frame of which `octets` were captured and `original_octets` were on the wire.
    pub fn observe(&mut self, at: Instant, link: Link, octets: &[u8], original_octets: usize) {
        if link.is_ethernet() && may_be_marked(octets) {
            return self.observe_marked(at, octets, original_octets);
        }
        self.observe_plain(at, link, octets, original_octets);
    }

    /// Counts a frame that may be one of the two of PRP or HSR: the first of them, without its mark.
    #[cold]
    #[inline(never)]
    fn observe_marked(&mut self, at: Instant, octets: &[u8], original_octets: usize) {
        let missing_octets = original_octets.saturating_sub(octets.len());
        let Some(marked) = Marked::of(octets, missing_octets == 0) else {
            return self.observe_plain(at, Link::Ethernet, octets, original_octets);
        };
        let Some(at) = self.tick(at) else { return };
        let (oddities, length) = (self.intervals.oddities(), original_octets as u64);
        if self.cyclic.redundant(at, &marked, length, oddities) {
            let plain = marked.plain();
            self.observe_plain(at, Link::Ethernet, &plain, plain.len() + missing_octets);
        } else {
            self.paths.plain += 1;
        }
    }

    /// Counts a frame without marks.
    #[inline]
    fn observe_plain(&mut self, at: Instant, link: Link, octets: &[u8], original_octets: usize) {
        // Observations are recorded frame by frame.
        if self.intervals.is_witnessed() || !self.intervals.goes_on(at) {
            return self.observe_apart(at, link, octets, original_octets);
        }
        self.count(at, link, octets, original_octets);
    }

    /// Counts a frame that begins another second, or whose observations are recorded.
    #[inline(never)]
    fn observe_apart(&mut self, at: Instant, link: Link, octets: &[u8], original_octets: usize) {
        let Some(at) = self.tick(at) else { return };
        if self.intervals.is_witnessed() {
            return self.dissect(at, link, octets, original_octets);
        }
        self.count(at, link, octets, original_octets);
    }

    /// Advances to the time of a frame and returns the time as it counts, as [`Intervals::tick`]
    /// does.
    #[inline]
    fn tick(&mut self, at: Instant) -> Option<Instant> {
        if self.intervals.goes_on(at) {
            return Some(at);
        }
        if self.intervals.ends_by(at) {
            self.settle();
        } else if self.intervals.turns_by(at) {
            self.tracker.end_second(&mut self.intervals.sink().measures.traffic);
        }
        self.intervals.tick(at)
    }

    /// Adds the pending batches to the interval under way, before it ends.
    fn settle(&mut self) {
        self.tracker.settle(&mut self.intervals.sink().measures.traffic);
    }

    /// Dissects and counts a frame of any kind.
    // Never inline: common frames would pay for its registers.
    #[inline(never)]
    fn dissect(&mut self, at: Instant, link: Link, octets: &[u8], original_octets: usize) {
        self.dissected(at, link, octets, &levels(link, octets, original_octets));
    }

    /// Counts a dissected frame.
    fn dissected(&mut self, at: Instant, link: Link, octets: &[u8], levels: &Levels<'_>) {
        self.paths.dissected += 1;
        let Levels { lpdu_octets, npdu_octets, llc, nsdu } = *levels;
        if let Some(octets) = lpdu_octets {
            self.intervals.observe(&Observation::Lpdu { at, octets: octets as u64, llc });
        }
        let has_transport = matches!(nsdu, Ok(_) | Err(NoNsdu::Stream(_)));
        if has_transport {
            let measures = self.intervals.sink().measures;
            measures.link.unseen += u64::from(lpdu_octets.is_none());
            measures.network.unseen += u64::from(npdu_octets.is_none());
        }
        if let Some(octets) = npdu_octets {
            self.intervals.observe(&Observation::Npdu { octets: octets as u64 });
        }
        match nsdu {
            Ok(nsdu) => match nsdu.segment {
                None => self.transport(at, &nsdu),
                Some(segment) => self.segment(at, &nsdu, segment),
            },
            Err(NoNsdu::Stream(piece)) => {
                let sink = &mut self.intervals.sink();
                let tracker = &mut self.tracker;
                self.streams.observe(at, piece, &mut stream::Above { tracker, sink });
            }
            Err(NoNsdu::Leaf(alone)) => {
                let mut events = Vec::new();
                let (oddities, cyclic) = (self.intervals.oddities(), &mut self.cyclic);
                let observe = |frame: cyclic::Frame<'_>| {
                    cyclic.observe_noting(at, frame, oddities, &mut events);
                };
                if !cyclic::Frame::each_of(link, octets, &alone, observe) {
                    self.intervals.oddities().count(Class::Foreign, alone.kind);
                }
                if let Some(list) = self.intervals.sink().witness {
                    list.extend(events.into_iter().map(Observation::Stream));
                }
            }
            Err(NoNsdu::Datagram(datagram)) => {
                if !self.cyclic_datagram(at, link, octets, levels, datagram) {
                    self.datagram(at, &datagram);
                }
            }
            Err(NoNsdu::Foreign(what)) => self.intervals.oddities().count(Class::Foreign, what),
            Err(NoNsdu::Malformed(complaint)) => {
                self.intervals.oddities().count(Class::Malformed, complaint.field);
            }
        }
    }

    /// Counts a frame as [`Meter::observe`] does, and replaces the content of `remarks` with its
    /// observations and oddities.
    pub fn observe_remarking(
        &mut self,
        at: Instant,
        link: Link,
        octets: &[u8],
        original_octets: usize,
        remarks: &mut Remarks,
    ) {
        let mut observations = core::mem::take(&mut remarks.observations);
        observations.clear();
        // User data cut from earlier frames is not charged to this frame.
        self.intervals.count_frames();
        let (interval, before) = (self.intervals.index(), self.intervals.oddities().clone());
        self.intervals.witness(Some(observations));
        self.observe(at, link, octets, original_octets);
        remarks.observations = self.intervals.witness(None).unwrap_or_default();
        // The oddities of a new interval start from zero.
        let is_same = self.intervals.index() == interval || interval.is_none();
        let now = self.intervals.oddities();
        remarks.oddities = if is_same { now.since(&before) } else { now.clone() };
    }

    /// Advances the time to at least `now`, so that intervals end on a silent network too. Does
    /// nothing before the origin.
    pub fn advance(&mut self, now: Instant) {
        self.settle();
        self.intervals.advance(now);
    }

    /// Takes the oldest interval that is over. Call it as intervals end: a meter keeps some hundred
    /// thousand, then drops the oldest.
    #[inline]
    pub fn take_interval(&mut self) -> Option<Box<Report>> {
        self.intervals.take()
    }

    /// Start of the first interval; none before the first frame, unless the origin was set.
    #[must_use]
    pub const fn began(&self) -> Option<Instant> {
        self.intervals.began()
    }

    /// Interval under way, up to the last frame; its length is the time since it began.
    #[must_use]
    pub fn under_way(&self) -> Option<Report> {
        self.intervals.under_way(|all| self.tracker.add_pending_to(all))
    }

    /// Ends the interval under way, which counts with its full length, and returns the total of all
    /// intervals. The last interval can be taken afterwards.
    pub fn finish(&mut self) -> Report {
        self.settle();
        self.reassembly.finish(self.intervals.oddities());
        self.streams.finish(&mut self.tracker, &mut self.intervals.sink());
        self.until = self.intervals.last();
        self.take_set_ups();
        self.cyclic.finish(self.until.unwrap_or_default());
        self.intervals.transactions().give_up(self.until.unwrap_or_default());
        self.tracker.finish(self.until.unwrap_or_default(), &mut self.intervals.sink());
        self.settle();
        self.intervals.finish()
    }

    /// Octets of TCP streams held beyond gaps, until the gaps are filled or given up: at most 16
    /// MiB and one segment.
    #[must_use]
    pub fn held_octets(&self) -> usize {
        self.streams.held_octets()
    }

    /// Frames counted so far, by path. All together they are the frames that do not lie before the
    /// origin.
    #[must_use]
    pub const fn paths(&self) -> FramePaths {
        FramePaths { common: self.intervals.common_frames() + self.paths.common, ..self.paths }
    }

    /// Latest time known; none before the first frame.
    #[must_use]
    pub fn last(&self) -> Option<Instant> {
        self.until.or_else(|| self.intervals.last())
    }

    /// Streams of cyclic data followed, since measuring began, in the order of their keys.
    #[must_use]
    pub fn each_stream(&self) -> Vec<StreamReport> {
        let mut streams: Vec<_> = self.cyclic.report(Instant::ZERO, &()).collect();
        streams.sort_by(|one, other| one.key.cmp(&other.key));
        streams
    }

    /// Takes the oldest stream that was silent for long and made room for another. Call it regularly:
    /// a meter keeps some thousand.
    pub fn take_stream(&mut self) -> Option<StreamReport> {
        self.cyclic.take_ended()
    }

    /// Hosts with the traffic that each sent and received since measuring began, in the order of
    /// their first TPDU.
    pub fn each_host(&self) -> impl Iterator<Item = Host> {
        let mut hosts = self.hosts();
        (0..hosts.places()).filter_map(move |place| hosts.take(place))
    }

    /// The same hosts by their places, for readers that take them in another order.
    #[must_use]
    pub fn hosts(&self) -> HostReports {
        let now = self.last().unwrap_or_default();
        self.tracker.hosts(now, self.streams.report(now, &()))
    }

    /// Hosts whose traffic changed since [`Meter::forget_changes`] was called, in the order of their
    /// first TPDU, with all their traffic; others may be among them. `since` is the time of that
    /// call, or an earlier one. Closed windows count up to the latest time known.
    pub fn changed_hosts(&mut self, since: Instant) -> Vec<ChangedHost> {
        self.settle();
        let now = self.last().unwrap_or_default();
        self.streams.mark_hosts(since, &mut self.tracker);
        self.tracker.changed_hosts(since, now, self.streams.of_hosts())
    }

    /// Response times of the replies of some hosts, in the order of the keys.
    #[must_use]
    pub fn replies_of(&self, hosts: &[HostKey]) -> Vec<Distribution> {
        self.tracker.replies_of(hosts)
    }

    /// Forgets which hosts changed.
    pub fn forget_changes(&mut self) {
        self.tracker.hosts.counts.forget_changes();
    }

    /// Processes a CLNP segment; the TPDUs of its NSDU pass when its last segment does.
    fn segment(&mut self, at: Instant, nsdu: &Nsdu<'_>, segment: Segment) {
        let oddities = self.intervals.oddities();
        let Some(whole) = self.reassembly.take(at, nsdu, segment, oddities) else { return };
        let Whole { octets, missing_octets } = &whole;
        if is_unit_data(octets) {
            return oddities.count(Class::Foreign, "connectionless transport");
        }
        let missing_octets = *missing_octets;
        self.transport(at, &Nsdu { octets, missing_octets, segment: None, ..*nsdu });
    }

    /// Counts a datagram of UDP if it holds cyclic data.
    fn cyclic_datagram(
        &mut self,
        at: Instant,
        link: Link,
        octets: &[u8],
        levels: &Levels<'_>,
        datagram: Datagram<'_>,
    ) -> bool {
        if !cyclic::is_for(&datagram) {
            return false;
        }
        let tagged = link.is_ethernet().then(|| mac::Pdu::decode_cut(octets, octets.len()).ok());
        let tag = tagged.flatten().and_then(|frame| frame.tags.first().copied());
        let all_octets = levels.lpdu_octets.unwrap_or(octets.len()) as u64;
        self.take_set_ups();
        let mut events = Vec::new();
        let (oddities, cyclic) = (self.intervals.oddities(), &mut self.cyclic);
        let observe = |frame: cyclic::Frame<'_>| {
            cyclic.observe_noting(at, frame, oddities, &mut events);
        };
        let is_cyclic = cyclic::Frame::each_of_datagram(datagram, all_octets, tag, observe);
        if let Some(list) = self.intervals.sink().witness {
            list.extend(events.into_iter().map(Observation::Stream));
        }
        is_cyclic
    }

    /// Takes the connections for I/O data that explicit messages set up before.
    fn take_set_ups(&mut self) {
        let Sink { transactions, oddities, .. } = self.intervals.sink();
        while let Some(set_up) = transactions.take_set_up() {
            self.cyclic.set_up(&set_up, oddities);
        }
    }

    /// Counts a datagram of UDP.
    fn datagram(&mut self, at: Instant, datagram: &Datagram<'_>) {
        let Datagram { source, destination, octets, missing_octets } = *datagram;
        let is_swapped = source > destination;
        let ends = if is_swapped { [destination, source] } else { [source, destination] };
        let Sink { transactions, oddities, .. } = self.intervals.sink();
        let Some(carrier) = Carrier::of_datagram(ends) else {
            return oddities.count(Class::Foreign, "UDP");
        };
        let part = Part::Datagram { way: is_swapped.into(), octets, missing_octets };
        transactions.observe(at, transactions::Event { carrier, part }, oddities);
    }

    fn transport(&mut self, at: Instant, nsdu: &Nsdu<'_>) {
        let station = |mac, nsap| Party { address: Address::Station { mac, nsap }, port: 0 };
        let from = station(nsdu.source, nsdu.source_nsap);
        let to = station(nsdu.destination, nsdu.destination_nsap);
        let Nsdu { octets, missing_octets, .. } = *nsdu;
        let nsdu = track::Nsdu { from, to, octets, missing_octets, is_cut: true };
        self.tracker.observe(at, nsdu, &mut self.intervals.sink());
    }
}

impl Follower<Sink<'_>> for Tracker {
    type Input<'a> = track::Nsdu<'a>;
    type Below = Streams;
    type Report = Connection;

    fn observe(&mut self, at: Instant, nsdu: track::Nsdu<'_>, sink: &mut Sink<'_>) {
        self.tpdus(at, nsdu, sink);
    }

    fn expire(&mut self, at: Instant, sink: &mut Sink<'_>) {
        self.give_up_silent(at, sink);
    }

    fn report(&self, now: Instant, streams: &Streams) -> impl Iterator<Item = Connection> {
        self.known(now, |ends| streams.carried(ends))
    }
}

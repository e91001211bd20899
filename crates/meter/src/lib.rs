//! Frames in, measures out: what the frames of a network tell of its transport connections.
//!
//! A [`Meter`] is given frames with their times, from a capture file, a live port or a simulated
//! wire: it cannot tell which. It follows every transport connection, counts what it sees interval
//! by interval, and computes the metrics of NBSIR 85-3104 from the counts. It knows no time but
//! that of the frames, and its memory is bounded whatever they hold.
//!
//! ```text
//! frame -> wire::dissect -> reassembly of CLNP segments, or stream (TCP) and its TPKTs
//!       -> TPDUs -> track (of which connection?) -> Sight -> measure -> metric
//! ```
//!
//! Frames as most are take a shorter way, which counts the same: `track::plain` and `stream::plain`.
//!
//! To add a measure: one file in `measure`, and one field with its lines in `measure::Traffic`, where hosts have it, or in
//! `measure::Measures`.
#![forbid(unsafe_code)]

pub mod delay;
#[cfg(test)]
mod draw;
mod host;
mod interval;
pub mod measure;
mod memo;
pub mod metric;
mod moment;
mod nsdu;
pub mod oddity;
mod reassembly;
pub mod sight;
mod slab;
mod stream;
mod track;
pub mod transit;
#[cfg(test)]
mod trial;
pub mod user;

pub use host::{Address, Host};
pub use interval::Report;
pub use track::{Direction, Known as Connection, Numbers, State};

use core::time::Duration;
use host::Hosts;
use interval::Intervals;
use oddity::{Class, Oddities};
use reassembly::{Reassembly, Whole};
use sight::Sight;
use stream::Streams;
use track::{Party, Passage, Plain, Tracker};
use wire::dissect::{Levels, Link, NoNsdu, Nsdu, Segment, is_unit_data, levels};
use wire::time::Instant;
use wire::units::BitRate;

/// How to measure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// How long an interval lasts.
    pub interval: Duration,
    /// When the first interval begins; with the first frame where there is none.
    pub origin: Option<Instant>,
    /// What the channel can carry, for the metrics that relate to it.
    pub channel: BitRate,
    /// How many connections are followed at a time, and how many of TCP.
    pub maximum_connections: usize,
    /// How many hosts have measures of their own; what others send and receive counts together.
    pub maximum_hosts: usize,
    /// The largest size of each class of sizes but the last, in octets, ascending.
    pub bounds_octets: [u64; 9],
    /// After what silence a connection is forgotten.
    pub silence: Duration,
    /// Seeds the table of connections; results do not depend on it.
    pub seed: u64,
}

impl Settings {
    /// Intervals of this length on a channel of 10 Mbit/s, from the first frame on; 16,384
    /// connections, forgotten after five minutes; 1,024 hosts.
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

/// What a meter saw in a frame.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Remarks {
    /// Segments and TPDUs, and the times that ended with them, in the order in which they counted. What a
    /// frame released that was held before it, beyond a gap, is here too.
    pub sights: Vec<Sight>,
    /// What was not as it should be.
    pub oddities: Oddities,
}

/// What the frames of a capture hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Content {
    /// All that was sent, unless a capture cut it.
    #[default]
    Whole,
    /// Headers: user data was left out on purpose.
    Headers,
}

/// A passive meter.
#[derive(Clone, Debug)]
pub struct Meter {
    reassembly: Reassembly,
    streams: Streams,
    tracker: Tracker,
    intervals: Intervals,
    /// The latest time it heard of, once nothing comes any more.
    until: Option<Instant>,
}

impl Meter {
    /// A meter that has seen nothing yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let Settings { interval, origin, channel, maximum_connections, .. } = settings;
        let Settings { maximum_hosts, bounds_octets, silence, seed, .. } = settings;
        let hosts = Hosts::new(maximum_hosts, bounds_octets, seed);
        Self {
            reassembly: Reassembly::default(),
            streams: Streams::new(maximum_connections, silence, seed),
            tracker: Tracker::new(maximum_connections, silence, hosts, seed),
            intervals: Intervals::new(interval, origin, channel, bounds_octets),
            until: None,
        }
    }

    /// Notes what frames hold from now on. User data that is missing from frames of headers is no oddity.
    pub const fn expect(&mut self, content: Content) {
        self.intervals.expect_data(matches!(content, Content::Whole));
    }

    /// Takes notice of a frame of which `octets` were captured and `original_octets` were on the
    /// wire.
    pub fn observe(&mut self, at: Instant, link: Link, octets: &[u8], original_octets: usize) {
        let Some(at) = self.tick(at) else { return };
        if self.intervals.is_witnessed() {
            return self.dissect(at, link, octets, original_octets);
        }
        // A length of 802.3 begins with five at the most, a type with more.
        let is_plain = match octets.get(12) {
            Some(..=5) => {
                Plain::of(link, octets, original_octets).is_some_and(|plain| self.plain(at, &plain))
            }
            _ => stream::Plain::of(link, octets, original_octets)
                .is_some_and(|plain| self.segment_in_turn(at, &plain)),
        };
        if !is_plain {
            self.dissect(at, link, octets, original_octets);
        }
    }

    /// A segment of a TCP stream that is as most are; whether it was.
    #[inline]
    fn segment_in_turn(&mut self, at: Instant, plain: &stream::Plain<'_>) -> bool {
        let is_plain =
            self.streams.plain(at, plain, &mut self.tracker, &mut self.intervals.unwitnessed());
        if is_plain {
            let octets = plain.lpdu_octets as u64;
            let is_cut = plain.is_cut() && self.intervals.has_data();
            self.intervals.frames().segment(octets, plain.stream_octets(), is_cut);
        }
        is_plain
    }

    /// Takes notice of the time, and gives it back as it counts, as [`Intervals::tick`] does.
    #[inline]
    fn tick(&mut self, at: Instant) -> Option<Instant> {
        if self.intervals.goes_on(at) {
            return Some(at);
        }
        if self.intervals.turns_by(at) {
            self.settle();
        }
        self.intervals.tick(at)
    }

    /// Has the interval under way count all that was seen in it: before it ends, and at the end of each second.
    fn settle(&mut self) {
        self.tracker.settle(&mut self.intervals.sink().measures.traffic);
    }

    /// A frame that is as most are; whether it was.
    #[inline]
    fn plain(&mut self, at: Instant, plain: &Plain<'_>) -> bool {
        let is_plain = self.tracker.plain(at, plain, &mut self.intervals.unwitnessed());
        if is_plain {
            let is_cut = plain.is_cut() && self.intervals.has_data();
            self.intervals.frames().datagram(plain.lpdu_octets as u64, is_cut);
        }
        is_plain
    }

    /// A frame of any kind.
    fn dissect(&mut self, at: Instant, link: Link, octets: &[u8], original_octets: usize) {
        let Levels { lpdu_octets, npdu_octets, llc, nsdu } = levels(link, octets, original_octets);
        if let Some(octets) = lpdu_octets {
            self.intervals.observe(&Sight::Lpdu { at, octets: octets as u64, llc });
        }
        let has_transport = matches!(nsdu, Ok(_) | Err(NoNsdu::Stream(_)));
        if has_transport {
            let measures = self.intervals.sink().measures;
            measures.link.unseen += u64::from(lpdu_octets.is_none());
            measures.network.unseen += u64::from(npdu_octets.is_none());
        }
        if let Some(octets) = npdu_octets {
            self.intervals.observe(&Sight::Npdu { octets: octets as u64 });
        }
        match nsdu {
            Ok(nsdu) => match nsdu.segment {
                None => self.transport(at, &nsdu),
                Some(segment) => self.segment(at, &nsdu, segment),
            },
            Err(NoNsdu::Stream(piece)) => {
                let mut sink = self.intervals.sink();
                self.streams.observe(at, &piece, &mut self.tracker, &mut sink);
            }
            Err(NoNsdu::Foreign(what)) => self.intervals.oddities().count(Class::Foreign, what),
            Err(NoNsdu::Malformed(complaint)) => {
                self.intervals.oddities().count(Class::Malformed, complaint.field);
            }
        }
    }

    /// Takes notice of a frame as [`Meter::observe`] does, and tells what it was, in place of what
    /// `remarks` held.
    pub fn observe_remarking(
        &mut self,
        at: Instant,
        link: Link,
        octets: &[u8],
        original_octets: usize,
        remarks: &mut Remarks,
    ) {
        let mut sights = core::mem::take(&mut remarks.sights);
        sights.clear();
        // What was cut of frames before is not this frame's.
        self.intervals.count_frames();
        let (interval, before) = (self.intervals.index(), self.intervals.oddities().clone());
        self.intervals.witness(Some(sights));
        self.observe(at, link, octets, original_octets);
        remarks.sights = self.intervals.witness(None).unwrap_or_default();
        // The oddities of a new interval count from none.
        let is_same = self.intervals.index() == interval || interval.is_none();
        let now = self.intervals.oddities();
        remarks.oddities = if is_same { now.since(&before) } else { now.clone() };
    }

    /// Takes notice that it is now at least this late, so that intervals end on a silent network
    /// too. Does nothing before the origin.
    pub fn advance(&mut self, now: Instant) {
        self.settle();
        self.intervals.advance(now);
    }

    /// The oldest interval that is over and has not been taken. To be taken as they come: a meter
    /// keeps some hundred thousand, then drops the oldest.
    #[inline]
    pub fn take_interval(&mut self) -> Option<Report> {
        self.intervals.take()
    }

    /// When measuring began; none before the first frame, unless that was set.
    #[must_use]
    pub const fn began(&self) -> Option<Instant> {
        self.intervals.began()
    }

    /// The interval under way, up to the last frame; its length is the time since it began.
    #[must_use]
    pub fn under_way(&self) -> Option<Report> {
        self.intervals.under_way(|all| self.tracker.tell(all))
    }

    /// Ends the interval under way, which lasts its full length, and gives the total of all
    /// intervals. The last interval can be taken afterwards.
    pub fn finish(&mut self) -> Report {
        self.settle();
        self.reassembly.finish(self.intervals.oddities());
        self.streams.finish(&mut self.tracker, &mut self.intervals.sink());
        self.until = self.intervals.last();
        self.tracker.finish(self.until.unwrap_or_default(), &mut self.intervals.sink());
        self.settle();
        self.intervals.finish()
    }

    /// Octets of TCP streams that are held until those before them pass or are given up: at the most
    /// 16 MiB and one segment.
    #[must_use]
    pub fn held_octets(&self) -> usize {
        self.streams.held_octets()
    }

    /// How many connections are being followed, those that ended lately included.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.tracker.connections()
    }

    /// Each connection that is being followed, those that ended lately included, as it is at the latest time
    /// heard of: a window that is closed counts until then.
    pub fn each_connection(&self) -> impl Iterator<Item = Connection> {
        let streams = &self.streams;
        self.tracker.known(self.last().unwrap_or_default(), |ends| streams.carried(ends))
    }

    /// The latest time it heard of; none before the first.
    #[must_use]
    pub fn last(&self) -> Option<Instant> {
        self.until.or_else(|| self.intervals.last())
    }

    /// Each connection that was heard or came to a state since, or whose window is closed, as it is at
    /// `now`: a window that is closed counts until then.
    pub fn each_active_connection(
        &self,
        since: Instant,
        now: Instant,
    ) -> impl Iterator<Item = Connection> {
        let streams = &self.streams;
        self.tracker.active(since, now, |ends| streams.carried(ends))
    }

    /// The connection that had to be forgotten first, for its silence or for want of room, and has not
    /// been taken. To be taken as they come: a meter keeps some thousand.
    #[inline]
    pub fn take_connection(&mut self) -> Option<Connection> {
        if let Some(stream) = self.tracker.forgotten_stream() {
            self.streams.hand_over(&stream, &mut self.tracker);
        }
        self.tracker.take_forgotten()
    }

    /// Each host with what it sent and received since measuring began, in the order in which they were
    /// met.
    pub fn each_host(&self) -> impl Iterator<Item = Host> {
        self.tracker.hosts(self.last().unwrap_or_default(), self.streams.each_carried())
    }

    /// A segment; the TPDUs of its NSDU pass when the last of it does.
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

    fn transport(&mut self, at: Instant, nsdu: &Nsdu<'_>) {
        let station = |mac, nsap| Party { address: Address::Station { mac, nsap }, port: 0 };
        let from = station(nsdu.source, nsdu.source_nsap);
        let to = station(nsdu.destination, nsdu.destination_nsap);
        let mut sink = self.intervals.sink();
        let passage = Passage { at, from, to };
        let missing = (nsdu.missing_octets, true);
        nsdu::observe(&mut self.tracker, passage, nsdu.octets, missing, &mut sink);
    }
}

//! Frames in, measures out: what the frames of a network tell of its transport connections.
//!
//! A [`Meter`] is given frames with their times, from a capture file, a live port or a simulated
//! wire: it cannot tell which. It follows every transport connection, counts what it sees interval
//! by interval, and computes the metrics of NBSIR 85-3104 from the counts. It knows no time but
//! that of the frames, and its memory is bounded whatever they hold.
//!
//! ```text
//! frame -> wire::dissect -> reassembly -> TPDUs -> track (of which connection?) -> Sight -> measure -> metric
//! ```
//!
//! To add a measure: one file in `measure`, one field and its lines in `measure::Measures`.
#![forbid(unsafe_code)]

pub mod delay;
mod interval;
pub mod measure;
pub mod metric;
pub mod oddity;
mod reassembly;
pub mod sight;
pub mod track;

pub use interval::Report;

use core::time::Duration;
use interval::Intervals;
use oddity::Class;
use reassembly::{Reassembly, Whole};
use sight::Sight;
use track::{Address, Discarded, Passage, Tracker};
use wire::dissect::{Levels, Link, NoNsdu, Nsdu, Segment, is_unit_data, levels};
use wire::time::Instant;
use wire::tp;
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
    /// How many connections are followed at a time.
    pub maximum_connections: usize,
    /// After what silence a connection is forgotten.
    pub silence: Duration,
    /// Seeds the table of connections; results do not depend on it.
    pub seed: u64,
}

impl Settings {
    /// Intervals of this length on a channel of 10 Mbit/s, from the first frame on; 16,384
    /// connections, forgotten after five minutes.
    #[must_use]
    pub const fn every(interval: Duration) -> Self {
        Self {
            interval,
            origin: None,
            channel: BitRate::mbps(10),
            maximum_connections: 16_384,
            silence: Duration::from_secs(300),
            seed: 0,
        }
    }
}

/// A passive meter.
#[derive(Clone, Debug)]
pub struct Meter {
    reassembly: Reassembly,
    tracker: Tracker,
    intervals: Intervals,
}

impl Meter {
    /// A meter that has seen nothing yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let Settings { interval, origin, channel, maximum_connections, silence, seed } = settings;
        Self {
            reassembly: Reassembly::default(),
            tracker: Tracker::new(maximum_connections, silence, seed),
            intervals: Intervals::new(interval, origin, channel),
        }
    }

    /// Takes notice of a frame of which `octets` were captured and `original_octets` were on the
    /// wire.
    pub fn observe(&mut self, at: Instant, link: Link, octets: &[u8], original_octets: usize) {
        let Some(at) = self.intervals.tick(at) else { return };
        let Levels { lpdu_octets, npdu_octets, nsdu, .. } = levels(link, octets, original_octets);
        if let Some(octets) = lpdu_octets {
            self.intervals.observe(&Sight::Lpdu { at, octets: octets as u64 });
        }
        if let Some(octets) = npdu_octets {
            self.intervals.observe(&Sight::Npdu { octets: octets as u64 });
        }
        match nsdu {
            Ok(nsdu) => match nsdu.segment {
                None => self.transport(at, &nsdu),
                Some(segment) => self.segment(at, &nsdu, segment),
            },
            Err(NoNsdu::Stream(_)) => self.intervals.oddities().count(Class::Foreign, "TCP"),
            Err(NoNsdu::Foreign(what)) => self.intervals.oddities().count(Class::Foreign, what),
            Err(NoNsdu::Malformed(complaint)) => {
                self.intervals.oddities().count(Class::Malformed, complaint.field);
            }
        }
    }

    /// Takes notice that it is now at least this late, so that intervals end on a silent network
    /// too. Does nothing before the origin.
    pub fn advance(&mut self, now: Instant) {
        self.intervals.advance(now);
    }

    /// The oldest interval that is over and has not been taken. To be taken as they come: a meter
    /// keeps some hundred thousand, then drops the oldest.
    pub fn take_interval(&mut self) -> Option<Report> {
        self.intervals.take()
    }

    /// The interval under way, up to the last frame; its length is the time since it began.
    #[must_use]
    pub fn under_way(&self) -> Option<Report> {
        self.intervals.under_way()
    }

    /// Ends the interval under way, which lasts its full length, and gives the total of all
    /// intervals. The last interval can be taken afterwards.
    pub fn finish(&mut self) -> Report {
        self.reassembly.finish(self.intervals.oddities());
        self.intervals.finish()
    }

    /// How many connections are being followed, those that ended lately included.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.tracker.connections()
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
        let from = Address { mac: nsdu.source, nsap: nsdu.source_nsap };
        let to = Address { mac: nsdu.destination, nsap: nsdu.destination_nsap };
        let passage = Passage { at, from, to };
        // Octets not captured belong to the last TPDU, if it is one that reaches to the end.
        let mut unaccounted_octets = nsdu.missing_octets;
        for raw in tp::tpdus(nsdu.octets) {
            let raw = match raw {
                Ok(raw) => raw,
                Err(_) if nsdu.missing_octets > 0 => break,
                Err(complaint) => {
                    self.intervals.oddities().count(Class::Malformed, complaint.field);
                    break;
                }
            };
            let missing = if raw.kind.may_carry_data() { unaccounted_octets } else { 0 };
            unaccounted_octets -= missing;
            let oddities = self.intervals.oddities();
            match self.tracker.observe(passage, &raw, missing, oddities) {
                Ok(tpdu) => self.intervals.observe(&Sight::Tpdu(tpdu)),
                Err(Discarded::Malformed(complaint)) => {
                    oddities.count(Class::Malformed, complaint.field);
                }
                Err(Discarded::BadChecksum) => oddities.count(Class::Transport, "bad checksum"),
            }
        }
        if nsdu.missing_octets > 0 {
            let what = if unaccounted_octets > 0 { "TPDU header" } else { "user data" };
            self.intervals.oddities().count(Class::Truncated, what);
        }
    }
}

//! Records in brief, for output that shows few of their values.

use crate::findings::is_judged;
use crate::named::Named;
use crate::record::{identity, metrics};
use crate::{Connection, Counts, Interval, Subset, item};
use meter::registry::{self, Measure, PartOfSide};
use wire::time::nanos;

impl Interval {
    /// Converts an interval with these counts alone, as far as they are reported, and with its metrics:
    /// without oddities and statistics of collection.
    pub fn brief(interval: &item::Interval, only: &Subset, wanted: &[Measure]) -> Self {
        let item::Interval { report, is_over, frames, .. } = interval;
        let mut measures = Counts(registry::some_of_network(&report.measures, wanted));
        measures.0.retain(|(measure, _)| !report.measures.is_unseen(*measure));
        only.apply(&mut measures);
        Self {
            index: report.index,
            intervals: report.intervals,
            start_ns: report.start.as_nanos(),
            length_ns: nanos(report.length),
            complete: *is_over,
            frames: *frames,
            dropped_by_kernel: None,
            collection: None,
            stamps: None,
            measures,
            metrics: metrics(&report.metrics),
            oddities: Named::default(),
            histograms: None,
        }
    }
}

/// Makes records of connections as a whole, with a part of their counts.
#[derive(Debug)]
pub struct BriefConnections {
    part: PartOfSide,
}

impl BriefConnections {
    /// Selects the counts that are wanted, and those on which findings rest.
    pub fn new(is_wanted: impl Fn(Measure) -> bool) -> Self {
        Self { part: PartOfSide::new(|measure| is_judged(measure) || is_wanted(measure)) }
    }

    /// Converts a connection with these counts, as far as they are reported, and without metrics.
    pub fn record(&self, known: &meter::Connection, only: &Subset) -> Connection {
        let counts = |side: usize| {
            let mut counts = Counts(self.part.of(&known.directions[side]));
            only.apply(&mut counts);
            counts
        };
        let metrics = [Named::default(), Named::default()];
        Connection { connection: identity(known), directions: [counts(0), counts(1)], metrics }
    }
}

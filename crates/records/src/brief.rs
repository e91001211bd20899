//! Records in brief, for output that shows few of their values.

use crate::findings::is_judged;
use crate::named::Named;
use crate::record::{identity, metrics};
use crate::{Connection, Counts, Interval, Subset, item};
use meter::registry::{self, Measure};
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

impl Connection {
    /// Converts a connection with those counts alone that are wanted, or on which findings rest, as far as they are
    /// reported: without metrics.
    pub fn brief(known: &meter::Connection, only: &Subset, wanted: fn(Measure) -> bool) -> Self {
        let is_told = |measure| is_judged(measure) || wanted(measure);
        let directions = known.directions.each_ref().map(|sent| {
            let mut counts = Counts(registry::part_of_direction(sent, is_told));
            only.apply(&mut counts);
            counts
        });
        let metrics = [Named::default(), Named::default()];
        Self { connection: identity(known), directions, metrics }
    }
}

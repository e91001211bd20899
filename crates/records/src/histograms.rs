//! Distributions of delays in the records of intervals and of the total.

use super::{Named, Record, Subset};
use crate::item::Item;
use meter::measure::{Delays, Distribution};
use meter::registry::{DelayStatistic, Measure};
use meter::{Report, observation::DelayKind};

/// Delays by name, each as a histogram of nanoseconds in the form of HdrHistogram: version 2, compressed, as
/// base64.
pub type Histograms = Named<String>;

/// Returns the name of a kind of delays: that of its measures without the statistic, as `ack_delay`.
#[must_use]
pub fn delay_name(kind: DelayKind) -> String {
    let name = Measure::Delay(kind, DelayStatistic::Maximum).to_string();
    name.trim_end_matches("_max_ns").to_owned()
}

/// Names of all kinds of delays, in the order of their measures.
pub fn delay_names() -> impl Iterator<Item = String> {
    Delays::default().each().map(|(kind, _)| delay_name(kind)).into_iter()
}

impl Record {
    /// Adds the distributions of delays that were seen to the record of an interval or of the total, as far as
    /// their measures are reported.
    #[must_use]
    pub fn with_histograms(mut self, item: &Item, only: &Subset) -> Self {
        match (&mut self, item) {
            (Self::Interval(record), Item::Interval(interval)) => {
                record.histograms = Some(of_report(&interval.report, only));
            }
            (Self::Total(record), Item::Total(total)) => {
                record.histograms = Some(of_report(total, only));
            }
            _ => {}
        }
        self
    }
}

fn of_report(report: &Report, only: &Subset) -> Histograms {
    let is_reported = |kind| {
        let mut names =
            DelayStatistic::ALL.map(|of| Measure::Delay(kind, of).to_string()).into_iter();
        names.any(|name| only.has(&name))
    };
    let delays = report.measures.delays.each();
    let seen = delays.into_iter().filter(|(kind, of)| of.count > 0 && is_reported(*kind));
    let text = |of: &Distribution| stats::hdr::encode(of.classes());
    Named(seen.map(|(kind, of)| (delay_name(kind).into(), text(of))).collect())
}

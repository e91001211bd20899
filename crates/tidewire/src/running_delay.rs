//! Delay of the runs so far, for the lines below a progress bar: median and 99th percentile of the slowest flow of the
//! point under way, with their intervals over runs.

use crate::quantity::{self, value};
use crate::runs::LEVEL;
use bench::analysis::Unit;
use bench::sample::{Distribution, Sample};
use core::time::Duration;
use stats::histogram::{Histogram, has_quantile};
use stats::interval;
use stats::summary::Summary;
use std::collections::BTreeMap;

/// Shares of the quantiles, and their names.
const SHOWN: [(f64, &str); 2] = [(0.5, "p50"), (0.99, "p99")];
/// Fewest values beyond a quantile of one run.
const FEWEST_BEYOND: f64 = 10.0;

/// Delays of the runs of a point.
#[derive(Default)]
pub(crate) struct RunningDelay {
    point: usize,
    runs: u64,
    flows: BTreeMap<String, Flow>,
}

/// Delays of a flow, or its response times if it is answered.
#[derive(Default)]
struct Flow {
    is_answered: bool,
    all: Histogram,
    /// Times of the first run.
    first: Distribution,
    /// Runs that had times.
    runs: u64,
    /// A later run had other times: the runs are no copies of one.
    differ: bool,
    /// Quantiles of each run that has enough values, in the order of [`SHOWN`].
    of_runs: [Summary; 2],
}

impl RunningDelay {
    /// Adds a run. The first of a later point starts anew; runs of earlier ones that end after it do not
    /// count.
    pub(crate) fn take(&mut self, sample: &Sample) {
        if sample.point < self.point {
            return;
        }
        if sample.point > self.point {
            *self = Self { point: sample.point, ..Self::default() };
        }
        if !sample.complete {
            return;
        }
        self.runs += 1;
        for of in &sample.flows {
            let is_answered = of.response.count > 0;
            let spans = if is_answered { &of.response } else { &of.delay };
            let flow = self.flows.entry(of.name.clone()).or_default();
            flow.is_answered |= is_answered;
            flow.add(spans);
        }
    }

    /// Returns the delay of the slowest flow in words, on two lines; none before there is one.
    pub(crate) fn told(&self) -> Option<[String; 2]> {
        let slowness = |flow: &Flow| flow.all.quantile(0.99);
        let slowest = self.flows.iter().max_by_key(|(_, flow)| slowness(flow));
        let (name, flow) = slowest.filter(|(_, flow)| !flow.all.is_empty())?;
        let what = if flow.is_answered { "response" } else { "delay" };
        let told = SHOWN
            .into_iter()
            .zip(&flow.of_runs)
            .map(|((share, label), of_runs)| format!("{label} {}", flow.quantile(share, of_runs)));
        let (told, runs) = (told.collect::<Vec<_>>().join(", "), self.runs);
        let level = quantity::level(LEVEL);
        let point =
            if self.point > 0 { format!(", point {}", self.point + 1) } else { String::new() };
        Some([format!("{name}: {what}, {level}, n = {runs}{point}"), told])
    }
}

impl Flow {
    fn add(&mut self, spans: &Distribution) {
        match self.all.is_empty() {
            true => self.first = spans.clone(),
            false => self.differ |= *spans != self.first,
        }
        self.runs += u64::from(spans.count > 0);
        self.all.merge(&spans.histogram());
        for ((share, _), of_runs) in SHOWN.into_iter().zip(&mut self.of_runs) {
            let has_enough = spans.count as f64 * (1.0 - share) >= FEWEST_BEYOND - 1e-9;
            if let Some(nanos) = spans.quantile_ns(share).filter(|_| has_enough) {
                of_runs.add(nanos as f64);
            }
        }
    }

    /// Returns the mean of a quantile over runs with its interval. If single runs have too few messages, it is the
    /// quantile of all runs together, with the interval of its order statistics or the lower end of it; of one run
    /// and of its copies without an interval. Copies of one run are named.
    fn quantile(&self, share: f64, of_runs: &Summary) -> String {
        let estimate = interval::mean(of_runs, LEVEL).filter(|it| it.half_width > 0.0);
        if let Some(estimate) = estimate {
            return quantity::estimate(Unit::Nanoseconds, estimate);
        }
        let shown = |span: Duration| value(Unit::Nanoseconds, span.as_nanos() as f64);
        let of_all = self.all.quantile(share).filter(|_| has_quantile(self.all.count(), share));
        let Some(of_all) = of_all.map(shown) else { return "n/a".to_owned() };
        let of_many = Some(&self.all).filter(|_| self.differ);
        if let Some((low, high)) = of_many.and_then(|all| all.quantile_interval(share, LEVEL)) {
            return format!("{of_all} ({} to {})", shown(low), shown(high));
        }
        match of_many.and_then(|all| all.quantile_least(share, LEVEL)) {
            Some(least) => format!("{of_all} (at least {})", shown(least)),
            None if self.runs > 1 && !self.differ => format!("{of_all} (copies of one run)"),
            None => format!("{of_all} (no interval)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench::analysis::analyse;
    use bench::run::run;
    use bench::scenario;

    /// Runs of a load at random times on an Ethernet, each message of this size and each run this long.
    fn runs(runs: u64, length: &str) -> Vec<Sample> {
        let text = format!(
            "version = 1\ntitle = \"t\"\nstop = {{ after = \"{length}\" }}\n\
             medium = {{ kind = \"csma-cd\", rate = \"10 Mbit/s\", length = \"100 m\" }}\n\
             stations = {{ count = 2, prefix = \"s\" }}\n\
             [[flow]]\nname = \"trip\"\nfrom = \"s-1\"\nto = \"s-2\"\nservice = \"datagram\"\n\
             pattern = {{ kind = \"poisson\", mean-interval = \"1 ms\" }}\nsize = \"1000 B\"\n"
        );
        let study = scenario::load(&text, "a.toml").unwrap_or_else(|error| panic!("{error}"));
        (0..runs).map(|number| run(&study.points[0], "-", number).unwrap()).collect()
    }

    fn told(samples: &[Sample]) -> [String; 2] {
        let mut running = RunningDelay::default();
        samples.iter().for_each(|sample| running.take(sample));
        running.told().unwrap()
    }

    #[test]
    fn quantiles_and_intervals_are_those_of_the_report() {
        // 4,000 messages in a run: forty beyond the 99th percentile.
        let samples = runs(4, "4 s");
        let report = analyse(&samples, LEVEL);
        let of = |name: &str| {
            let found = report.points[0].flows[0].quantity(name).unwrap();
            quantity::estimate(Unit::Nanoseconds, found.estimate().unwrap())
        };
        let expected = format!("p50 {}, p99 {}", of("delay.p50"), of("delay.p99"));
        assert!(expected.matches(" ± ").count() == 2, "{expected}");
        assert_eq!(told(&samples), ["trip: delay, 95 %, n = 4".to_owned(), expected]);
    }

    #[test]
    fn quantiles_of_short_runs_are_those_of_all_together() {
        let [_, alone] = told(&runs(1, "4 s"));
        assert_eq!(alone.matches(" (no interval)").count(), 2, "{alone}");
        // 200 messages have two beyond the 99th percentile, and a hundred beyond the median.
        let samples = runs(3, "200 ms");
        let [_, short] = told(&samples);
        let (median, p99) = short.split_once(", p99 ").unwrap();
        assert!(median.contains('±') && !p99.contains('±'), "{short}");
        let report = analyse(&samples, LEVEL);
        let pooled = &report.points[0].flows[0].delay_pooled;
        let pooled = pooled.iter().find(|it| it.share.total_cmp(&0.99).is_eq()).unwrap();
        let shown = |nanos: u64| value(Unit::Nanoseconds, nanos as f64);
        let (low, high) = pooled.interval_ns.unwrap();
        let expected = format!("{} ({} to {})", shown(pooled.value_ns), shown(low), shown(high));
        assert_eq!(p99, expected);
        // Of 200 messages only the lower end exists, and of copies of a run nothing.
        let [few, copies] = [runs(2, "100 ms"), vec![samples[0].clone(); 3]].map(|it| told(&it));
        assert!(few[1].contains(" (at least "), "{few:?}");
        assert_eq!(copies[1].matches(" (copies of one run)").count(), 2, "{copies:?}");
    }

    #[test]
    fn each_point_starts_anew_and_interrupted_runs_do_not_count() {
        let mut samples = runs(2, "200 ms");
        samples[1].point = 1;
        assert!(told(&samples)[0].ends_with("n = 1, point 2"));
        samples.reverse();
        assert!(told(&samples)[0].ends_with("n = 1, point 2"));
        samples.reverse();
        samples[1] = Sample { complete: false, point: 0, ..samples[1].clone() };
        assert_eq!(told(&samples), told(&samples[..1]));
        assert_eq!(RunningDelay::default().told(), None);
    }
}

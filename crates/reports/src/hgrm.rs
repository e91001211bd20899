//! Percentile distributions of times in the text format of HdrHistogram, which many tools plot.
//!
//! A line has a value in microseconds, its percentile as a share, the number of times up to it, and
//! 1/(1 - share). The steps halve the distance to 100 % after every five lines, as
//! `outputPercentileDistribution` of HdrHistogram does by default. Values have three digits, and the
//! last is the longest time. Copies of one run count once.

pub mod read;

use bench::analysis::{PointReport, Report};
use bench::sample::{Distribution, FlowSample, Sample};
use read::Percentiles;
use std::collections::BTreeMap;

/// Lines for each halving of the distance to 100 %.
const TICKS: f64 = 5.0;
/// Nanoseconds of the unit of values.
const UNIT_NS: f64 = 1_000.0;

/// Distribution of the times of a flow at a point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spectrum {
    /// Number of the point, from 1.
    pub point: usize,
    /// Number of the flow at the point, from 1.
    pub number: usize,
    /// Name of the flow.
    pub flow: String,
    /// `delay` or `response`.
    pub kind: &'static str,
    /// Its text.
    pub text: String,
}

/// Kind of times.
struct Kind {
    name: &'static str,
    of: fn(&FlowSample) -> &Distribution,
}

const KINDS: [Kind; 2] = [
    Kind { name: "delay", of: |flow| &flow.delay },
    Kind { name: "response", of: |flow| &flow.response },
];

/// Times of a flow over all runs of a point.
#[derive(Default)]
struct Times {
    classes: BTreeMap<u64, u64>,
    longest: u64,
    shortest: Option<u64>,
}

impl Spectrum {
    /// The distribution as a reader of its text has it.
    ///
    /// # Errors
    /// None of a text that was not changed.
    pub fn percentiles(&self, name: &str) -> Result<Percentiles, read::Malformed> {
        read::read(name, &self.text, None)
    }
}

/// Distributions of all flows that have times, point by point.
#[must_use]
pub fn spectra(report: &Report, samples: &[Sample]) -> Vec<Spectrum> {
    let mut spectra = Vec::new();
    for point in &report.points {
        for (place, flow) in point.flows.iter().enumerate() {
            for Kind { name: kind, of } in KINDS {
                let times = times(point, &flow.name, of, samples);
                if !times.classes.is_empty() {
                    spectra.push(Spectrum {
                        point: point.point + 1,
                        number: place + 1,
                        flow: flow.name.clone(),
                        kind,
                        text: text(&times),
                    });
                }
            }
        }
    }
    spectra
}

fn times(
    point: &PointReport,
    flow: &str,
    of: fn(&FlowSample) -> &Distribution,
    samples: &[Sample],
) -> Times {
    let runs = if point.deterministic { 1 } else { usize::MAX };
    let here = samples.iter().filter(|sample| sample.point == point.point).take(runs);
    let mut times = Times::default();
    for flow in here.flat_map(|sample| &sample.flows).filter(|it| it.name == flow) {
        let spans = of(flow);
        times.longest = times.longest.max(spans.max_ns.unwrap_or(0));
        times.shortest = match (times.shortest, spans.min_ns) {
            (Some(shortest), Some(found)) => Some(shortest.min(found)),
            (shortest, found) => shortest.or(found),
        };
        for (nanos, count) in &spans.classes {
            *times.classes.entry(*nanos).or_insert(0) += count;
        }
    }
    times
}

fn text(times: &Times) -> String {
    let total: u64 = times.classes.values().sum();
    let mut text = format!(
        "{:>12} {:>14} {:>10} {:>14}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    let (mut level, mut seen) = (0.0_f64, 0);
    for (nanos, count) in &times.classes {
        seen += count;
        let share = seen as f64 / total as f64;
        let last = seen == total;
        // A class is named by its lower limit; the longest time is known better.
        let value = if last { times.longest } else { *nanos };
        let value = value.clamp(times.shortest.unwrap_or(0), times.longest) as f64 / UNIT_NS;
        // Levels are sums, whose last bits may lie above the share of a count.
        while level <= share + 1e-12 && !(last && level >= 1.0 - 0.5 / total as f64) {
            text += &format!("{value:12.3} {level:2.12} {seen:10} {:14.2}\n", 1.0 / (1.0 - level));
            level += step(level);
        }
    }
    text += &format!("{:12.3} {:2.12} {total:10}\n", times.longest as f64 / UNIT_NS, 1.0);
    text + &footer(times, total)
}

/// Distance from a share to the next that has a line.
fn step(level: f64) -> f64 {
    let halvings = (1.0 / (1.0 - level)).log2().floor() + 1.0;
    1.0 / (TICKS * 2_f64.powf(halvings))
}

/// Mean, standard deviation, maximum and count, as HdrHistogram writes them.
fn footer(times: &Times, total: u64) -> String {
    let all =
        || times.classes.iter().map(|(nanos, count)| (*nanos as f64 / UNIT_NS, *count as f64));
    let mean = all().map(|(value, count)| value * count).sum::<f64>() / total as f64;
    let squares = all().map(|(value, count)| (value - mean).powi(2) * count).sum::<f64>();
    let deviation = (squares / total as f64).sqrt();
    let longest = times.longest as f64 / UNIT_NS;
    format!(
        "#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]\n\
         #[Max     = {longest:12.3}, Total count    = {total:12}]\n\
         # values in microseconds\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(classes: &[(u64, u64)]) -> Times {
        let longest = classes.last().map_or(0, |(nanos, _)| *nanos);
        let shortest = classes.first().map(|(nanos, _)| *nanos);
        Times { classes: classes.iter().copied().collect(), longest, shortest }
    }

    #[test]
    fn the_lines_are_those_of_hdrhistogram() {
        // 100 values, 1 us to 100 us. HdrHistogram reports 0, 10, 20, 30, 40 and 50 %, then in steps of
        // 5 % to 75 %, of 2.5 % to 87.5 %, and so on.
        let classes: Vec<(u64, u64)> = (1..=100).map(|it| (it * 1_000, 1)).collect();
        let text = text(&of(&classes));
        let lines: Vec<Vec<&str>> =
            text.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
        let line = |place: usize| lines[place].join(" ");
        assert_eq!(line(0), "1.000 0.000000000000 1 1.00");
        assert_eq!(line(1), "10.000 0.100000000000 10 1.11");
        assert_eq!(line(5), "50.000 0.500000000000 50 2.00");
        assert_eq!(line(6), "55.000 0.550000000000 55 2.22");
        assert_eq!(line(10), "75.000 0.750000000000 75 4.00");
        let end = lines.iter().position(|line| line[1] == "1.000000000000").unwrap();
        assert_eq!(line(end), "100.000 1.000000000000 100");
        assert!(
            text.ends_with("Total count    =          100]\n# values in microseconds\n"),
            "{text}"
        );
        assert!(
            text.contains("#[Mean    =       50.500, StdDeviation   =       28.866]"),
            "{text}"
        );
    }

    #[test]
    fn a_written_distribution_is_read_again() {
        // Two of 3 us, one of 5 us, one of 9.001 us: each has a line at its share.
        let text = text(&of(&[(3_000, 2), (5_000, 1), (9_001, 1)]));
        let file = read::read("own", &text, None).unwrap();
        assert_eq!(file.classes, BTreeMap::from([(3_000, 2), (5_000, 1), (9_001, 1)]));
        assert_eq!(file.longest, 9_001);
    }

    #[test]
    fn shares_and_counts_rise_and_end_with_the_longest() {
        let times = of(&[(10_000, 1), (20_000, 1_000_000), (30_001, 3)]);
        let text = text(&times);
        let rows: Vec<(f64, f64, u64)> = text
            .lines()
            .skip(2)
            .filter(|line| !line.starts_with('#'))
            .map(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                (words[0].parse().unwrap(), words[1].parse().unwrap(), words[2].parse().unwrap())
            })
            .collect();
        assert!(rows.is_sorted_by(|a, b| a.0 <= b.0 && a.1 < b.1 && a.2 <= b.2), "{text}");
        assert_eq!(rows.last(), Some(&(30.001, 1.0, 1_000_004)));
        assert!(rows.len() < 200, "{} lines", rows.len());
    }
}

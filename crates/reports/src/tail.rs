//! Figure of the tail of delays: the share of messages that took longer than a time. Of two runs that are
//! compared, both are drawn, and distributions of files with them.
//!
//! Over independent runs a curve has a band: the interval of the share at each time, by Student's t for the ratio of two
//! sums over runs (Cochran, Sampling Techniques, 1977, 6.3). Read across, it is the interval of each quantile (Woodruff,
//! Confidence Intervals for Medians and Other Position Measures, 1952).

use crate::figure::{Axis, Figure, Mark, Point, Scale, Series};
use crate::hgrm::read::Percentiles;
use crate::study::{LEVEL, Summed, summed};
use bench::analysis::{PointReport, Report, Unit};
use bench::sample::{Distribution, FlowSample, Origin, Sample};
use records::quantity::{Scale as Shown, counted, level, scale, span};
use stats::interval;
use stats::summary::Summary;
use std::collections::{BTreeMap, BTreeSet};

/// Flows of a figure.
const MOST_FLOWS: usize = 6;
/// Deadlines are drawn up to this multiple of the longest time: beyond it the curves would lie flat.
const MOST_TIMES: u64 = 4;
/// Points of a flow.
const MOST_POINTS: usize = 120;

/// A figure, with the points that it leaves out.
#[derive(Clone, PartialEq, Debug)]
pub struct Tail {
    /// Figure.
    pub figure: Figure,
    /// Points left out, in words; empty if all are drawn.
    pub thinned: String,
}

/// Times of a flow over all runs of a point.
struct Times {
    name: String,
    classes: BTreeMap<u64, u64>,
    /// Classes of each independent run; empty if there are fewer than two.
    runs: Vec<BTreeMap<u64, u64>>,
    longest: u64,
    deadline: Option<u64>,
}

/// Curve of the figure.
struct Curve<'a> {
    times: &'a Times,
    name: String,
    style_group: usize,
    mark: Mark,
}

/// Point of a run, with the samples of all of its points.
#[derive(Clone, Copy, Debug)]
pub struct Of<'a> {
    /// Results of the point.
    pub point: &'a PointReport,
    /// Samples of the run.
    pub samples: &'a [Sample],
}

impl<'a> Of<'a> {
    /// Samples of the point. Copies of one run are one run.
    fn of_point(self) -> impl Iterator<Item = &'a Sample> {
        let runs = if self.point.deterministic { 1 } else { usize::MAX };
        let number = self.point.point;
        self.samples.iter().filter(move |sample| sample.point == number).take(runs)
    }

    /// Times of each flow that has any; of answers, or of messages.
    fn times(self, is_answered: bool) -> Vec<Times> {
        let run = |sample: &'a Sample| -> BTreeMap<&'a str, &'a FlowSample> {
            sample.flows.iter().map(|flow| (flow.name.as_str(), flow)).collect()
        };
        let runs: Vec<_> = self.of_point().map(run).collect();
        let groups = summed(self.point);
        groups.iter().filter_map(|group| times(group, is_answered, &runs)).collect()
    }

    fn origin(self) -> &'static str {
        match self.samples.first().map(|sample| sample.source) {
            Some(Origin::Measured) => "Measured",
            Some(Origin::Predicted) | None => "Simulated",
        }
    }
}

/// Number of times of each flow.
fn counts(all: &[Times]) -> String {
    let counts =
        all.iter().map(|it| format!("{} n = {}", it.name, it.classes.values().sum::<u64>()));
    counts.collect::<Vec<_>>().join(", ")
}

/// The figure of a point, over the same point of a baseline if there is one, with the distributions of files; none if no
/// message arrived and there is no file.
#[must_use]
pub fn tail(
    report: &Report,
    of: Of<'_>,
    baseline: Option<Of<'_>>,
    files: &[Percentiles],
) -> Option<Tail> {
    let groups = summed(of.point);
    let is_answered = groups.iter().all(|group| !group.worst().response_pooled.is_empty());
    let all = of.times(is_answered);
    let drawn = all.get(..all.len().min(MOST_FLOWS)).unwrap_or_default();
    let before = baseline.map(|baseline| baseline.times(is_answered)).unwrap_or_default();
    let is_drawn = |before: &Times| drawn.iter().any(|times| times.name == before.name);
    let before: Vec<Times> = before.into_iter().filter(is_drawn).collect();
    let files = of_files(files);
    let all_times = || drawn.iter().chain(&before).chain(&files);
    let longest = all_times().map(|times| times.longest).max()?;
    let shown = scale(Unit::Nanoseconds, longest as f64);
    let mut curves = Vec::new();
    for (style_group, times) in drawn.iter().enumerate() {
        let curve = |times, name, mark| Curve { times, name, style_group, mark };
        let earlier = before.iter().filter(|before| before.name == times.name);
        curves
            .extend(earlier.map(|it| curve(it, format!("{}, baseline", it.name), Mark::ThinLine)));
        let mark = if times.runs.is_empty() { Mark::Line } else { Mark::LineInBand };
        curves.push(curve(times, times.name.clone(), mark));
    }
    let deadlines = Deadlines::of(drawn, longest);
    let first = drawn.len() + deadlines.drawn.len();
    curves.extend(curves_of_files(&files, first));
    let (mut series, thinned) = series(&curves, shown);
    series.extend(deadlines.series(drawn.len(), shown));
    let time = if is_answered { "response time" } else { "delay" };
    let thin = baseline.filter(|_| !before.is_empty()).map_or_else(String::new, |baseline| {
        let runs = counted(baseline.of_point().count() as u64, "run");
        let origin = baseline.origin().to_lowercase();
        format!(" Thin: the baseline, {origin}, {runs}: {}.", counts(&before))
    });
    let more = match all.len().saturating_sub(drawn.len()) {
        0 => String::new(),
        more => format!(" {more} more flows are not drawn."),
    };
    let caption = format!(
        "{}. {}. All messages of {}: {}.{more}{}{thin}{}{}",
        report.title.trim_end_matches('.'),
        of.origin(),
        counted(of.of_point().count() as u64, "run"),
        counts(drawn),
        band(drawn),
        of_files_text(&files),
        deadlines.beyond,
    );
    Some(Tail { figure: figure(time, caption, shown, series), thinned })
}

/// The figure of files alone; none without files.
#[must_use]
pub fn tail_of_files(files: &[Percentiles]) -> Option<Tail> {
    let files = of_files(files);
    let longest = files.iter().map(|times| times.longest).max()?;
    let shown = scale(Unit::Nanoseconds, longest as f64);
    let curves: Vec<Curve<'_>> = curves_of_files(&files, 0).collect();
    let (series, thinned) = series(&curves, shown);
    let caption = of_files_text(&files).trim_start().to_owned();
    Some(Tail { figure: figure("time", caption, shown, series), thinned })
}

fn figure(time: &str, caption: String, shown: Shown, series: Vec<Series>) -> Figure {
    Figure {
        title: format!("Share of messages with a longer {time}"),
        caption,
        reference: None,
        x: Axis { name: time.to_owned(), unit: shown.unit.to_owned() },
        y: Axis { name: "share that took longer".to_owned(), unit: "1".to_owned() },
        scale: Some(Scale::Logarithmic),
        series,
    }
}

/// Series of curves, and the points that are left out, in words.
fn series(curves: &[Curve<'_>], shown: Shown) -> (Vec<Series>, String) {
    let mut left_out = false;
    let mut of = |curve: &Curve<'_>| {
        let Curve { times, name, style_group, mark } = curve;
        let points = steps(times, shown.each);
        left_out |= points.len() > MOST_POINTS;
        let points = thinned(points);
        Series { name: name.clone(), style_group: *style_group, mark: *mark, points }
    };
    let series = curves.iter().map(&mut of).collect();
    let words = if left_out {
        format!("at most {MOST_POINTS} points of a flow are drawn, the longest time included")
    } else {
        String::new()
    };
    (series, words)
}

fn of_files(files: &[Percentiles]) -> Vec<Times> {
    let times = |file: &Percentiles| Times {
        name: file.name.clone(),
        classes: file.classes.clone(),
        runs: Vec::new(),
        longest: file.longest,
        deadline: None,
    };
    files.iter().map(times).collect()
}

fn curves_of_files(files: &[Times], first: usize) -> impl Iterator<Item = Curve<'_>> {
    files.iter().enumerate().map(move |(place, times)| Curve {
        times,
        name: times.name.clone(),
        style_group: first + place,
        mark: Mark::Line,
    })
}

fn of_files_text(files: &[Times]) -> String {
    if files.is_empty() {
        return String::new();
    }
    format!(" From files of percentiles, with a step at each of their lines: {}.", counts(files))
}

/// Meaning of the bands, if there are any.
fn band(drawn: &[Times]) -> String {
    let runs = drawn.iter().map(|times| times.runs.len()).max().unwrap_or(0);
    if runs == 0 {
        return String::new();
    }
    let level = level(LEVEL);
    format!(" Bands: {level} intervals of the share over {runs} independent runs (Student's t).")
}

/// Deadlines of flows.
struct Deadlines {
    drawn: Vec<u64>,
    /// Those that are not drawn, in words.
    beyond: String,
}

impl Deadlines {
    fn of(flows: &[Times], longest: u64) -> Self {
        let all: BTreeSet<u64> = flows.iter().filter_map(|times| times.deadline).collect();
        let (drawn, beyond): (Vec<u64>, Vec<u64>) =
            all.into_iter().partition(|it| *it <= longest.saturating_mul(MOST_TIMES));
        let beyond = beyond.into_iter();
        let beyond = beyond.map(|it| format!(" Not drawn: the deadline of {}.", span(it)));
        Self { drawn, beyond: beyond.collect() }
    }

    fn series(&self, first: usize, shown: Shown) -> impl Iterator<Item = Series> {
        self.drawn.iter().enumerate().map(move |(nth, deadline)| Series {
            name: format!("deadline {}", span(*deadline)),
            style_group: first + nth,
            mark: Mark::Across,
            points: vec![Point::exact(*deadline as f64 / shown.each, 1.0)],
        })
    }
}

/// Times of the worst flow of a group.
fn times(
    group: &Summed<'_>,
    is_answered: bool,
    of_runs: &[BTreeMap<&str, &FlowSample>],
) -> Option<Times> {
    let worst = group.worst();
    let name = group.label();
    // The deadline of a request is one of its answer.
    let is_of_these = is_answered || worst.response_pooled.is_empty();
    let deadline = worst.deadline_ns.filter(|_| is_of_these);
    let (classes, runs) = (BTreeMap::new(), Vec::new());
    let mut times = Times { name, classes, runs, longest: 0, deadline };
    let of: fn(&FlowSample) -> &Distribution =
        if is_answered { |flow| &flow.response } else { |flow| &flow.delay };
    for of_run in of_runs {
        let mut run = BTreeMap::new();
        if let Some(flow) = of_run.get(worst.name.as_str()) {
            let spans = of(flow);
            times.longest = times.longest.max(spans.max_ns.unwrap_or(0));
            for (nanos, count) in &spans.classes {
                *times.classes.entry(*nanos).or_insert(0) += count;
                *run.entry(*nanos).or_insert(0) += count;
            }
        }
        times.runs.push(run);
    }
    if times.runs.len() < 2 {
        times.runs.clear();
    }
    (!times.classes.is_empty()).then_some(times)
}

/// A step for each class of times, from all messages at no time down to one message.
fn steps(times: &Times, each: f64) -> Vec<Point> {
    let all: u64 = times.classes.values().sum();
    let mut longer = all;
    let mut of_runs: Vec<OfRun<'_>> = times.runs.iter().map(OfRun::new).collect();
    let point = |x: f64, longer: u64, of_runs: &[OfRun<'_>]| {
        let y = longer as f64 / all as f64;
        Point { interval: share_interval(y, all, of_runs), ..Point::exact(x, y) }
    };
    let mut points = vec![point(0.0, all, &of_runs)];
    for (nanos, count) in &times.classes {
        let x = *nanos as f64 / each;
        points.push(point(x, longer, &of_runs));
        longer -= count;
        of_runs.iter_mut().for_each(|run| run.pass(*nanos));
        if longer > 0 {
            points.push(point(x, longer, &of_runs));
        }
    }
    if let Some(last) = points.last().copied() {
        points.push(Point { x: times.longest as f64 / each, ..last });
    }
    points
}

/// Messages of a run that took longer than a time that rises.
struct OfRun<'a> {
    classes: &'a BTreeMap<u64, u64>,
    all: u64,
    longer: u64,
}

impl<'a> OfRun<'a> {
    fn new(classes: &'a BTreeMap<u64, u64>) -> Self {
        let all = classes.values().sum();
        Self { classes, all, longer: all }
    }

    /// Leaves out the messages of a class.
    fn pass(&mut self, nanos: u64) {
        self.longer -= self.classes.get(&nanos).copied().unwrap_or(0);
    }
}

/// Interval of a share over independent runs; none for fewer than two.
fn share_interval(share: f64, all: u64, of_runs: &[OfRun<'_>]) -> Option<(f64, f64)> {
    let each = all as f64 / of_runs.len() as f64;
    let mut values = Summary::new();
    for run in of_runs {
        // Their mean is the share, and their spread that of a ratio of sums.
        values.add(share + (run.longer as f64 - share * run.all as f64) / each);
    }
    let half_width = interval::mean(&values, LEVEL)?.half_width;
    Some(((share - half_width).max(0.0), (share + half_width).min(1.0)))
}

/// Points at equal steps of the logarithm of the share, with the first and the last.
fn thinned(points: Vec<Point>) -> Vec<Point> {
    let (Some(first), Some(last)) = (points.first().copied(), points.last().copied()) else {
        return points;
    };
    if points.len() <= MOST_POINTS {
        return points;
    }
    // Half of the points by their shares, half by their times, so that both ends are drawn.
    let (decades, width) = (first.y.log10() - last.y.log10(), last.x - first.x);
    let cells = (MOST_POINTS / 4) as f64;
    let cell = |point: &Point| {
        let down = (first.y.log10() - point.y.log10()) / decades.max(f64::MIN_POSITIVE);
        let across = (point.x - first.x) / width.max(f64::MIN_POSITIVE);
        ((down * cells) as u64, (across * cells) as u64)
    };
    let mut kept: Vec<Point> = Vec::new();
    let mut before = None;
    for point in &points {
        let at = Some(cell(point));
        if at != before {
            kept.push(*point);
        }
        before = at;
    }
    kept.push(last);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinned_points_keep_both_ends_and_stay_few() {
        let all = (0..5_000).map(|n| Point::exact(f64::from(n), 1.0 / f64::from(n + 1)));
        let all: Vec<Point> = all.collect();
        let few = thinned(all.clone());
        assert!(few.len() <= MOST_POINTS, "{}", few.len());
        assert_eq!((few.first(), few.last()), (all.first(), all.last()));
    }

    #[test]
    fn the_last_step_is_one_message() {
        let classes = BTreeMap::from([(100, 3), (200, 1)]);
        let times =
            Times { name: String::new(), classes, runs: Vec::new(), longest: 201, deadline: None };
        let points: Vec<(f64, f64)> = steps(&times, 1.0).iter().map(|p| (p.x, p.y)).collect();
        let steps = [(0.0, 1.0), (100.0, 1.0), (100.0, 0.25), (200.0, 0.25), (201.0, 0.25)];
        assert_eq!(points, steps);
    }

    /// Runs of the numbers of messages that took 100 ns and 200 ns.
    fn of_runs(runs: &[(u64, u64)]) -> Times {
        let runs: Vec<BTreeMap<u64, u64>> = runs
            .iter()
            .map(|(short, long)| BTreeMap::from([(100, *short), (200, *long)]))
            .collect();
        let sum = |nanos| runs.iter().map(|run| run[&nanos]).sum();
        let classes = BTreeMap::from([100, 200].map(|nanos| (nanos, sum(nanos))));
        Times { name: String::new(), classes, runs, longest: 200, deadline: None }
    }

    #[test]
    fn a_band_is_students_interval_of_the_share_over_runs() {
        // Shares 0.1, 0.2 and 0.3 of ten messages each: mean 0.2, standard deviation 0.1, t(0.975, 2) = 4.303,
        // half-width 4.303 x 0.1 / sqrt(3) = 0.2484, cut off at 0.
        let points = steps(&of_runs(&[(9, 1), (8, 2), (7, 3)]), 1.0);
        let (low, high) = points[2].interval.unwrap();
        assert!((points[2].y - 0.2).abs() < 1e-12 && low == 0.0);
        assert!((high - 0.4484).abs() < 1e-4, "{high}");
        assert_eq!(points[1].interval, Some((1.0, 1.0)));
    }

    #[test]
    fn runs_of_one_share_have_a_band_of_no_width() {
        let points = steps(&of_runs(&[(9, 1), (90, 10)]), 1.0);
        let (low, high) = points[2].interval.unwrap();
        assert!((low - 0.1).abs() < 1e-12 && (high - 0.1).abs() < 1e-12, "{low} {high}");
    }

    #[test]
    fn one_run_has_no_band() {
        let mut times = of_runs(&[(9, 1)]);
        times.runs.clear();
        assert!(steps(&times, 1.0).iter().all(|point| point.interval.is_none()));
    }
}

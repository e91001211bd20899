//! Figure of the tail of delays: the share of messages that took longer than a time. Of two runs that are
//! compared, both are drawn.

use crate::figure::{Axis, Figure, Mark, Point, Scale, Series};
use crate::study::{Summed, summed};
use bench::analysis::{PointReport, Report, Unit};
use bench::sample::{Distribution, FlowSample, Origin, Sample};
use records::quantity::{counted, scale, span};
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
    longest: u64,
    deadline: Option<u64>,
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
        let groups = summed(self.point);
        groups.iter().filter_map(|group| times(group, is_answered, self.of_point())).collect()
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

/// The figure of a point, over the same point of a baseline if there is one; none if no message arrived.
#[must_use]
pub fn tail(report: &Report, of: Of<'_>, baseline: Option<Of<'_>>) -> Option<Tail> {
    let groups = summed(of.point);
    let is_answered = groups.iter().all(|group| !group.worst().response_pooled.is_empty());
    let all = of.times(is_answered);
    let drawn = all.get(..all.len().min(MOST_FLOWS)).unwrap_or_default();
    let before = baseline.map(|baseline| baseline.times(is_answered)).unwrap_or_default();
    let is_drawn = |before: &Times| drawn.iter().any(|times| times.name == before.name);
    let before: Vec<Times> = before.into_iter().filter(is_drawn).collect();
    let longest = drawn.iter().chain(&before).map(|times| times.longest).max()?;
    let shown = scale(Unit::Nanoseconds, longest as f64);
    let (mut series, mut left_out) = (Vec::new(), false);
    for (style_group, times) in drawn.iter().enumerate() {
        let earlier = before.iter().filter(|before| before.name == times.name);
        let earlier = earlier.map(|it| (it, format!("{}, baseline", it.name), Mark::ThinLine));
        let both = earlier.chain([(times, times.name.clone(), Mark::Line)]);
        for (times, name, mark) in both {
            let points = steps(times, shown.each);
            left_out |= points.len() > MOST_POINTS;
            series.push(Series { name, style_group, mark, points: thinned(points) });
        }
    }
    let deadlines: BTreeSet<u64> = drawn.iter().filter_map(|times| times.deadline).collect();
    let (deadlines, beyond): (Vec<u64>, Vec<u64>) =
        deadlines.into_iter().partition(|it| *it <= longest.saturating_mul(MOST_TIMES));
    let beyond: Vec<String> =
        beyond.into_iter().map(|it| format!(" Not drawn: the deadline of {}.", span(it))).collect();
    for (nth, deadline) in deadlines.into_iter().enumerate() {
        let name = format!("deadline {}", span(deadline));
        let points = vec![Point::exact(deadline as f64 / shown.each, 1.0)];
        series.push(Series { name, style_group: drawn.len() + nth, mark: Mark::Across, points });
    }
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
    let figure = Figure {
        title: format!("Share of messages with a longer {time}"),
        caption: format!(
            "{}. {}. All messages of {}: {}.{more}{thin}{}",
            report.title.trim_end_matches('.'),
            of.origin(),
            counted(of.of_point().count() as u64, "run"),
            counts(drawn),
            beyond.concat(),
        ),
        reference: None,
        x: Axis { name: time.to_owned(), unit: shown.unit.to_owned() },
        y: Axis { name: "share that took longer".to_owned(), unit: "1".to_owned() },
        scale: Some(Scale::Logarithmic),
        series,
    };
    let thinned = if left_out {
        format!("at most {MOST_POINTS} points of a flow are drawn, the longest time included")
    } else {
        String::new()
    };
    Some(Tail { figure, thinned })
}

/// Times of the worst flow of a group.
fn times<'a>(
    group: &Summed<'_>,
    is_answered: bool,
    samples: impl Iterator<Item = &'a Sample>,
) -> Option<Times> {
    let worst = group.worst();
    let name = group.label();
    // The deadline of a request is one of its answer.
    let is_of_these = is_answered || worst.response_pooled.is_empty();
    let deadline = worst.deadline_ns.filter(|_| is_of_these);
    let mut times = Times { name, classes: BTreeMap::new(), longest: 0, deadline };
    let of: fn(&FlowSample) -> &Distribution =
        if is_answered { |flow| &flow.response } else { |flow| &flow.delay };
    for sample in samples {
        for flow in sample.flows.iter().filter(|flow| flow.name == worst.name) {
            let spans = of(flow);
            times.longest = times.longest.max(spans.max_ns.unwrap_or(0));
            for (nanos, count) in &spans.classes {
                *times.classes.entry(*nanos).or_insert(0) += count;
            }
        }
    }
    (!times.classes.is_empty()).then_some(times)
}

/// A step for each class of times, from all messages at no time down to one message.
fn steps(times: &Times, each: f64) -> Vec<Point> {
    let all: u64 = times.classes.values().sum();
    let mut longer = all;
    let mut points = vec![Point::exact(0.0, 1.0)];
    for (nanos, count) in &times.classes {
        let x = *nanos as f64 / each;
        points.push(Point::exact(x, longer as f64 / all as f64));
        longer -= count;
        if longer > 0 {
            points.push(Point::exact(x, longer as f64 / all as f64));
        }
    }
    if let Some(last) = points.last().copied() {
        points.push(Point::exact(times.longest as f64 / each, last.y));
    }
    points
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
        let times = Times { name: String::new(), classes, longest: 201, deadline: None };
        let points: Vec<(f64, f64)> = steps(&times, 1.0).iter().map(|p| (p.x, p.y)).collect();
        let steps = [(0.0, 1.0), (100.0, 1.0), (100.0, 0.25), (200.0, 0.25), (201.0, 0.25)];
        assert_eq!(points, steps);
    }
}

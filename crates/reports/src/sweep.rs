//! Results of a sweep as figures: means, longest delays and misses against the varied value.

use crate::figure::{Axis, Figure, Mark, Point, Series};
use crate::study::{Ranked, Summed, over_points, summed};
use bench::analysis::{FlowReport, PointReport, Report, Unit};
use bench::sample::Origin;
use records::quantity::{level, scale};
use std::collections::{BTreeMap, BTreeSet};

/// Flows, each at each setting of what else varies, that one figure shows; with more, each flow has a
/// figure of its own.
const MOST_SERIES: usize = 6;

/// Seed and origin of the numbers of a study, for captions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Study {
    /// Seed from which all randomness derives.
    pub seed: u64,
    /// Simulated or measured.
    pub origin: Origin,
}

/// A figure and the name of its file, without ending.
pub struct Drawn {
    /// `delay-mean`, `miss-status`.
    pub name: String,
    /// Figure to draw.
    pub figure: Figure,
}

/// Drawn result of a flow at a point: the value, its interval, and its count.
type Found = (f64, Option<(f64, f64)>, u64);

/// A kind of figure.
struct Kind {
    file: &'static str,
    /// Its name, for flows whose times are called so.
    title: fn(&str) -> String,
    unit: Unit,
    about: &'static str,
    of: fn(&FlowReport) -> Option<Found>,
    /// True if deadlines and bounds are of the same kind, and are drawn as lines.
    has_limits: bool,
}

const KINDS: [Kind; 3] = [
    Kind {
        file: "mean",
        title: |time| format!("mean {time}"),
        unit: Unit::Nanoseconds,
        about: "Means over runs",
        of: |flow| quantity(flow, ["response.mean", "delay.mean"]),
        has_limits: false,
    },
    Kind {
        file: "max",
        title: |time| format!("longest {time} of a run"),
        unit: Unit::Nanoseconds,
        about: "Means over runs of each run's longest",
        of: |flow| quantity(flow, ["response.max", "delay.max"]),
        has_limits: true,
    },
    Kind {
        file: "miss",
        title: |_| "probability of a missed deadline".to_owned(),
        unit: Unit::Fraction,
        about: "Shares of all messages",
        of: |flow| {
            let missed = flow.missed.as_ref().filter(|missed| missed.trials > 0)?;
            let share = missed.events as f64 / missed.trials as f64;
            Some((share, Some((missed.low, missed.high)), missed.trials))
        },
        has_limits: false,
    },
];

/// The first of two quantities that a flow has.
fn quantity(flow: &FlowReport, names: [&str; 2]) -> Option<Found> {
    let found = names.iter().find_map(|name| flow.quantity(name))?;
    // No time is negative, as in the tables.
    let interval = found.half_width.map(|half| ((found.mean - half).max(0.0), found.mean + half));
    Some((found.mean, interval, found.n))
}

/// Key of the horizontal axis, and keys that distinguish series.
pub struct Across {
    /// The key that runs to the right, and the unit of its values.
    pub axis: Axis,
    /// By point: how far to the right, and what else was set there.
    pub places: BTreeMap<usize, (f64, String)>,
    /// Meaning of the numbers of points, if no varied value is a number.
    pub legend: Option<String>,
}

/// The figures of a sweep, of the `top` worst flows or groups where there are more; none of a study with a single point.
#[must_use]
pub fn figures(report: &Report, study: Study, top: usize) -> Vec<Drawn> {
    if report.points.len() < 2 {
        return Vec::new();
    }
    let across = across(&report.points);
    let others: BTreeSet<&String> = across.places.values().map(|(_, rest)| rest).collect();
    let drawn = Ranked::of(over_points(report), top).shown;
    let names: Vec<&str> = drawn.iter().map(|group| group.name).collect();
    let mut groups: Groups<'_> = names.iter().map(|name| (*name, Vec::new())).collect();
    for point in &report.points {
        for group in summed(point) {
            if let Some(of_name) = groups.get_mut(group.name) {
                of_name.push((point.point, group));
            }
        }
    }
    let together = names.len() * others.len() <= MOST_SERIES;
    let mut drawn = Vec::new();
    for kind in &KINDS {
        let files: Vec<(String, Vec<&str>)> = if together {
            vec![(kind.file.to_owned(), names.clone())]
        } else {
            names
                .iter()
                .map(|name| (format!("{}-{}", kind.file, plain(name)), vec![*name]))
                .collect()
        };
        for (name, flows) in files {
            let of = Of { report, groups: &groups, flows: &flows };
            let figure = figure(of, study, kind, &across);
            if !figure.series.is_empty() {
                drawn.push(Drawn { name, figure });
            }
        }
    }
    drawn
}

/// Flows and groups by their names, each with the number of its point.
type Groups<'a> = BTreeMap<&'a str, Vec<(usize, Summed<'a>)>>;

/// Contents of a figure.
#[derive(Clone, Copy)]
struct Of<'a> {
    report: &'a Report,
    groups: &'a Groups<'a>,
    /// Names of the flows and groups that are drawn.
    flows: &'a [&'a str],
}

/// A flow or group at one setting of what does not run to the right: its place among those that are
/// drawn, and that setting.
type Key<'a> = (usize, &'a str);

/// Lines of flows or groups, before they have a unit.
#[derive(Default)]
struct Lines<'a> {
    found: BTreeMap<Key<'a>, Vec<Point>>,
    bounds: BTreeMap<Key<'a>, Vec<Point>>,
    /// By their length in nanoseconds: how many flows or groups, whose, and from where to where.
    deadlines: BTreeMap<u64, (BTreeSet<usize>, BTreeMap<u64, f64>)>,
    greatest: f64,
}

impl<'a> Lines<'a> {
    fn of(drawn: Of<'_>, kind: &Kind, across: &'a Across) -> Self {
        let mut lines = Self::default();
        for (number, name) in drawn.flows.iter().enumerate() {
            for (point, group) in drawn.groups.get(name).into_iter().flatten() {
                let Some((x, rest)) = across.places.get(point) else { continue };
                lines.add(group, kind, (number, rest.as_str()), *x);
            }
        }
        for points in lines.found.values_mut().chain(lines.bounds.values_mut()) {
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
        }
        lines
    }

    fn add(&mut self, group: &Summed<'_>, kind: &Kind, key: Key<'a>, x: f64) {
        let flow = group.worst();
        let Some((y, interval, count)) = (kind.of)(flow) else { return };
        self.greatest = self.greatest.max(y);
        let point = Point { x, y, interval, count: Some(count) };
        self.found.entry(key).or_default().push(point);
        if !kind.has_limits {
            return;
        }
        let bounds = group.flows.iter().filter_map(|flow| flow.bound_ns);
        if let Some(bound) = bounds.max() {
            self.greatest = self.greatest.max(bound as f64);
            self.bounds.entry(key).or_default().push(Point::exact(x, bound as f64));
        }
        if let Some(deadline) = flow.deadline_ns {
            self.greatest = self.greatest.max(deadline as f64);
            let (of, places) = self.deadlines.entry(deadline).or_default();
            of.insert(key.0);
            places.insert(x.to_bits(), x);
        }
    }
}

fn figure(of: Of<'_>, study: Study, kind: &Kind, across: &Across) -> Figure {
    let Of { report, flows, .. } = of;
    let lines = Lines::of(of, kind, across);
    let shown = scale(kind.unit, lines.greatest);
    let mut drawn: Vec<Series> = Vec::new();
    let mut add = |name: String, mark: Mark, mut points: Vec<Point>| {
        for point in &mut points {
            point.y /= shown.each;
            point.interval =
                point.interval.map(|(low, high)| (low / shown.each, high / shown.each));
        }
        drawn.push(Series { name, style_group: drawn.len(), mark, points });
    };
    let called = |(number, rest): Key<'_>| match (flows.len(), rest) {
        (_, "") => flows[number].to_owned(),
        (1, rest) => rest.to_owned(),
        (_, rest) => format!("{}, {rest}", flows[number]),
    };
    // Between values that are no numbers there is nothing to be joined.
    let is_joined = across.legend.is_none();
    let mark = |line: Mark| if is_joined { line } else { Mark::Points };
    for (key, points) in lines.found {
        add(called(key), mark(Mark::PointsOnLine), points);
    }
    for (key, points) in lines.bounds {
        let name = if flows.len() == 1 && key.1.is_empty() { String::new() } else { called(key) };
        add(format!("{name} bound").trim_start().to_owned(), mark(Mark::Line), points);
    }
    for (deadline, (of, places)) in lines.deadlines {
        let of: Vec<&str> = of.into_iter().map(|number| flows[number]).collect();
        let whose = if flows.len() == 1 { String::new() } else { format!("{} ", of.join(", ")) };
        let mut places: Vec<f64> = places.into_values().collect();
        places.sort_by(f64::total_cmp);
        let points = places.into_iter().map(|x| Point::exact(x, deadline as f64)).collect();
        add(format!("{whose}deadline"), mark(Mark::Line), points);
    }
    let title = (kind.title)(time_of(of));
    let of = if flows.len() == 1 { format!(" of {}", flows[0]) } else { String::new() };
    let unit = if shown.unit.is_empty() { "1" } else { shown.unit };
    Figure {
        title: capitalized(&format!("{title}{of}")),
        caption: caption(report, study, kind, across),
        reference: None,
        x: across.axis.clone(),
        y: Axis { name: title, unit: unit.to_owned() },
        scale: None,
        series: drawn,
    }
}

/// Name of the times of flows: those of requests last until the answer.
fn time_of(of: Of<'_>) -> &'static str {
    let groups = of.flows.iter().filter_map(|name| of.groups.get(name)).flatten();
    let drawn = groups.flat_map(|(_, group)| &group.flows);
    let is_answered = |flow: &&FlowReport| flow.quantity("response.mean").is_some();
    let answered: Vec<bool> = drawn.map(is_answered).collect();
    match (answered.contains(&true), answered.contains(&false)) {
        (true, false) => "response time",
        (true, true) => "delay, or response time",
        (false, _) => "delay",
    }
}

/// With a capital.
fn capitalized(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).collect()
}

/// Caption: number of runs, seed, and meaning of the intervals.
fn caption(report: &Report, study: Study, kind: &Kind, across: &Across) -> String {
    let Study { seed, origin } = study;
    let origin = match origin {
        Origin::Predicted => "Simulated",
        Origin::Measured => "Measured",
    };
    let runs = report.points.iter().map(|point| point.replications);
    let (least, most) = (runs.clone().min().unwrap_or(0), runs.max().unwrap_or(0));
    let n = if least == most { format!("{least}") } else { format!("{least} to {most}") };
    let legend = across.legend.iter().map(|legend| format!(" {legend}."));
    let has_groups = report.points.iter().any(|it| it.flows.iter().any(|it| it.group.is_some()));
    let worst = if has_groups { ", of each group its worst flow" } else { "" };
    format!(
        "{}. {}. {}{worst}, n = {n} runs at each point, seed {seed}; intervals: {}.{}",
        report.title.trim_end_matches('.'),
        origin,
        kind.about,
        level(report.level),
        legend.collect::<String>()
    )
}

/// The first path that varies and whose values are numbers of one unit runs to the right; what else
/// varies distinguishes series. If none is a number, points are numbered.
pub fn across(points: &[PointReport]) -> Across {
    let paths: BTreeSet<&String> = points.iter().flat_map(|point| point.settings.keys()).collect();
    let numeric = paths.into_iter().find_map(|path| {
        let numbers: Option<Vec<(f64, &str)>> =
            points.iter().map(|point| number(point.settings.get(path)?)).collect();
        let numbers = numbers?;
        let (first, unit) = *numbers.first()?;
        let is_one_unit = numbers.iter().all(|(_, other)| *other == unit);
        let varies = numbers.iter().any(|(value, _)| value.total_cmp(&first).is_ne());
        (is_one_unit && varies).then(|| (path.clone(), numbers))
    });
    let rest = |point: &PointReport, path: &str| {
        let others = point.settings.iter().filter(|(key, _)| *key != path);
        let others: Vec<String> = others.map(|(key, value)| format!("{key} {value}")).collect();
        others.join(", ")
    };
    match numeric {
        Some((path, numbers)) => {
            let unit = numbers.first().map_or("", |(_, unit)| unit);
            let places = points.iter().zip(&numbers);
            let places =
                places.map(|(point, (value, _))| (point.point, (*value, rest(point, &path))));
            let unit = if unit.is_empty() { "1" } else { unit };
            let axis = Axis { name: path.clone(), unit: unit.to_owned() };
            Across { axis, places: places.collect(), legend: None }
        }
        None => {
            let number = |point: &PointReport| (point.point + 1) as f64;
            let places =
                points.iter().map(|point| (point.point, (number(point), String::new()))).collect();
            let names =
                points.iter().map(|point| format!("{}: {}", number(point), rest(point, "")));
            let legend = Some(names.collect::<Vec<_>>().join("; "));
            let axis = Axis { name: "point".to_owned(), unit: "number".to_owned() };
            Across { axis, places, legend }
        }
    }
}

/// `12.5 ms` as a number and its unit.
fn number(text: &str) -> Option<(f64, &str)> {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    Some((number.parse().ok()?, unit))
}

/// A name without what a path would take for more than a name.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench::run::{Plan, run_all};
    use bench::{analysis, scenario};
    use core::ops::ControlFlow;
    use core::sync::atomic::AtomicBool;

    const fn of_seed(seed: u64) -> Study {
        Study { seed, origin: Origin::Predicted }
    }

    /// Report of two flows in a sweep.
    fn report(vary: &str) -> Report {
        let flow = |name: &str, size: u32| {
            format!(
                "[[flow]]\nname = \"{name}\"\nfrom = \"s-1\"\nto = \"s-2\"\nservice = \"datagram\"\n\
                 pattern = {{ kind = \"cyclic\", period = \"20 ms\" }}\nsize = \"{size} B\"\n\
                 deadline = \"1 ms\"\n"
            )
        };
        let text = format!(
            "version = 1\ntitle = \"sizes\"\nreplications = 2\nstop = {{ after = \"200 ms\" }}\n\
             medium = {{ kind = \"ideal\", rate = \"10 Mbit/s\", delay = \"5 us\" }}\n\
             stations = {{ count = 2, prefix = \"s\" }}\n{}{}[vary]\n{vary}\n",
            flow("one", 100),
            flow("two", 200)
        );
        let study = scenario::load(&text, "a.toml").unwrap_or_else(|error| panic!("{error}"));
        let mut samples = Vec::new();
        let plan = Plan { replications: None, jobs: 1 };
        run_all(&study, plan, &AtomicBool::new(false), |sample| {
            samples.push(sample);
            ControlFlow::Continue(())
        })
        .unwrap();
        analysis::analyse(&samples, 0.95)
    }

    #[test]
    fn numeric_keys_are_the_axis_and_other_keys_make_series() {
        let report = report(
            "\"flow.one.size\" = [\"100 B\", \"300 B\"]\n\
             \"medium.rate\" = [\"10 Mbit/s\", \"5 Mbit/s\"]",
        );
        let drawn = figures(&report, of_seed(7), 20);
        let names: Vec<&str> = drawn.iter().map(|drawn| drawn.name.as_str()).collect();
        assert_eq!(names, ["mean", "max", "miss"]);
        let figure = &drawn[0].figure;
        assert_eq!((figure.x.name.as_str(), figure.x.unit.as_str()), ("flow.one.size", "B"));
        assert_eq!(figure.y.unit, "us");
        let series: Vec<&str> = figure.series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(
            series,
            [
                "one, medium.rate 10 Mbit/s",
                "one, medium.rate 5 Mbit/s",
                "two, medium.rate 10 Mbit/s",
                "two, medium.rate 5 Mbit/s"
            ]
        );
        // 8 + 14 + 3 + 100 + 4 octets at 10 Mbit/s and 5 us: 108.2 us; 200 octets more 268.2 us.
        let ys: Vec<f64> = figure.series[0].points.iter().map(|point| point.y).collect();
        assert!((ys[0] - 108.2).abs() < 1e-9 && (ys[1] - 268.2).abs() < 1e-9, "{ys:?}");
        assert_eq!(figure.series[0].points[1].x, 300.0);
        assert_eq!(figure.title, "Mean delay");
        assert_eq!(figure.y.name, "mean delay");
        assert!(figure.caption.starts_with("sizes. Simulated. "), "{}", figure.caption);
        assert!(figure.caption.contains("n = 2 runs at each point, seed 7; intervals: 95 %"));
        // No miss in 20 messages: at most 1 - 0.025^(1/20) = 0.168.
        let miss = drawn[2].figure.series[0].points[0];
        assert_eq!((miss.y, miss.count), (0.0, Some(20)));
        assert!((miss.interval.unwrap().1 - 0.168).abs() < 1e-3, "{miss:?}");
    }

    #[test]
    fn what_is_no_number_is_numbered_and_named_in_the_caption() {
        let report = report(
            "medium = [{ kind = \"ideal\", rate = \"10 Mbit/s\" }, \
             { kind = \"t1s\", length = \"5 m\" }]",
        );
        let figure = &figures(&report, of_seed(1), 20)[0].figure;
        assert_eq!(figure.x.name, "point");
        assert!(figure.caption.contains("2: medium t1s (length 5 m)"), "{}", figure.caption);
        assert_eq!(figure.series.len(), 2);
        assert!(figure.series.iter().all(|series| series.mark == Mark::Points));
    }
}

//! What a sweep found as figures: means, longest delays and misses against the value that varies.

use crate::figure::{Axis, Figure, Mark, Point, Series};
use crate::quantity::{level, scale};
use bench::analysis::{FlowReport, PointReport, Report, Unit};
use std::collections::{BTreeMap, BTreeSet};

/// Series that one figure can tell apart; with more, each flow has a figure of its own.
const MOST_SERIES: usize = 6;

/// A figure and the name of its file, without ending.
pub(crate) struct Drawn {
    /// `delay-mean`, `miss-status`.
    pub(crate) name: String,
    /// What is drawn.
    pub(crate) figure: Figure,
}

/// What is drawn of a flow at a point: the value, its interval, and of how many.
type Found = (f64, Option<(f64, f64)>, u64);

/// A kind of figure.
struct Kind {
    file: &'static str,
    /// Its name, for flows whose times are called so.
    title: fn(&str) -> String,
    unit: Unit,
    about: &'static str,
    of: fn(&FlowReport) -> Option<Found>,
}

const KINDS: [Kind; 3] = [
    Kind {
        file: "mean",
        title: |time| format!("mean {time}"),
        unit: Unit::Nanoseconds,
        about: "Means over runs",
        of: |flow| quantity(flow, ["response.mean", "delay.mean"]),
    },
    Kind {
        file: "max",
        title: |time| format!("longest {time} of a run"),
        unit: Unit::Nanoseconds,
        about: "Means over runs of each run's longest",
        of: |flow| quantity(flow, ["response.max", "delay.max"]),
    },
    Kind {
        file: "miss",
        title: |_| "probability of a missed deadline".to_owned(),
        unit: Unit::Fraction,
        about: "Shares of all messages, with intervals of Clopper and Pearson",
        of: |flow| {
            let missed = flow.missed.as_ref().filter(|missed| missed.trials > 0)?;
            let share = missed.events as f64 / missed.trials as f64;
            Some((share, Some((missed.low, missed.high)), missed.trials))
        },
    },
];

/// The first of two quantities that a flow has.
fn quantity(flow: &FlowReport, names: [&str; 2]) -> Option<Found> {
    let found = names.iter().find_map(|name| flow.quantity(name))?;
    let interval = found.half_width.map(|half| (found.mean - half, found.mean + half));
    Some((found.mean, interval, found.n))
}

/// What runs to the right, and what tells series apart.
struct Across {
    axis: Axis,
    /// By point: how far to the right, and what else was set there.
    places: BTreeMap<usize, (f64, String)>,
    /// What the numbers of points stand for, where nothing that varies is a number.
    legend: Option<String>,
}

/// The figures of a sweep; none of a study with a single point.
pub(crate) fn figures(report: &Report, seed: u64) -> Vec<Drawn> {
    if report.points.len() < 2 {
        return Vec::new();
    }
    let across = across(&report.points);
    let others: BTreeSet<&String> = across.places.values().map(|(_, rest)| rest).collect();
    let mut names: Vec<&str> = Vec::new();
    for flow in report.points.iter().flat_map(|point| &point.flows) {
        if !names.contains(&flow.name.as_str()) {
            names.push(&flow.name);
        }
    }
    let together = names.len() * others.len() <= MOST_SERIES;
    let mut drawn = Vec::new();
    for kind in &KINDS {
        let groups: Vec<(String, Vec<&str>)> = if together {
            vec![(kind.file.to_owned(), names.clone())]
        } else {
            names
                .iter()
                .map(|name| (format!("{}-{}", kind.file, plain(name)), vec![*name]))
                .collect()
        };
        for (name, flows) in groups {
            let figure = figure(report, seed, kind, &across, &flows);
            if !figure.series.is_empty() {
                drawn.push(Drawn { name, figure });
            }
        }
    }
    drawn
}

fn figure(report: &Report, seed: u64, kind: &Kind, across: &Across, flows: &[&str]) -> Figure {
    let mut series: BTreeMap<(usize, &str), Vec<Point>> = BTreeMap::new();
    let mut greatest = 0.0_f64;
    for point in &report.points {
        let Some((x, rest)) = across.places.get(&point.point) else { continue };
        for (number, name) in flows.iter().enumerate() {
            let flow = point.flows.iter().find(|flow| flow.name == *name);
            let Some((y, interval, count)) = flow.and_then(kind.of) else { continue };
            greatest = greatest.max(y);
            let place = series.entry((number, rest.as_str())).or_default();
            place.push(Point { x: *x, y, interval, count: Some(count) });
        }
    }
    let shown = scale(kind.unit, greatest);
    let mut drawn = Vec::new();
    for (kin, ((number, rest), mut points)) in series.into_iter().enumerate() {
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        for point in &mut points {
            point.y /= shown.each;
            point.interval =
                point.interval.map(|(low, high)| (low / shown.each, high / shown.each));
        }
        let name = match (flows.len(), rest) {
            (_, "") => flows[number].to_owned(),
            (1, rest) => rest.to_owned(),
            (_, rest) => format!("{}, {rest}", flows[number]),
        };
        // Between values that are no numbers there is nothing to be joined.
        let mark = if across.legend.is_some() { Mark::Points } else { Mark::PointsOnLine };
        drawn.push(Series { name, kin: kin % MOST_SERIES, mark, points });
    }
    let title = (kind.title)(time_of(report, flows));
    let of = if flows.len() == 1 { format!(" of {}", flows[0]) } else { String::new() };
    let unit = if shown.unit.is_empty() { "1" } else { shown.unit };
    Figure {
        title: capitalized(&format!("{title}{of}")),
        caption: caption(report, seed, kind, across),
        reference: None,
        x: across.axis.clone(),
        y: Axis { name: title, unit: unit.to_owned() },
        series: drawn,
    }
}

/// Name of the times of flows: those of requests last until the answer.
fn time_of(report: &Report, flows: &[&str]) -> &'static str {
    let all = report.points.iter().flat_map(|point| &point.flows);
    let drawn = all.filter(|flow| flows.contains(&flow.name.as_str()));
    let is_answered = |flow: &FlowReport| flow.quantity("response.mean").is_some();
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

/// How often, with which seed, and what the intervals mean.
fn caption(report: &Report, seed: u64, kind: &Kind, across: &Across) -> String {
    let runs = report.points.iter().map(|point| point.replications);
    let (least, most) = (runs.clone().min().unwrap_or(0), runs.max().unwrap_or(0));
    let n = if least == most { format!("{least}") } else { format!("{least} to {most}") };
    let legend = across.legend.iter().map(|legend| format!(" {legend}."));
    format!(
        "{}. Simulated. {}, n = {n} runs at each point, seed {seed}; intervals: {}.{}",
        report.title.trim_end_matches('.'),
        kind.about,
        level(report.level),
        legend.collect::<String>()
    )
}

/// The first path that varies and whose values are numbers of one unit runs to the right; what else
/// varies tells series apart. Where none is a number, points have theirs.
fn across(points: &[PointReport]) -> Across {
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

    /// What two flows find while something varies.
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
    fn numbers_run_to_the_right_and_what_else_varies_tells_series_apart() {
        let report = report(
            "\"flow.one.size\" = [\"100 B\", \"300 B\"]\n\
             \"medium.rate\" = [\"10 Mbit/s\", \"5 Mbit/s\"]",
        );
        let drawn = figures(&report, 7);
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
        let figure = &figures(&report, 1)[0].figure;
        assert_eq!(figure.x.name, "point");
        assert!(figure.caption.contains("2: medium t1s (length 5 m)"), "{}", figure.caption);
        assert_eq!(figure.series.len(), 2);
        assert!(figure.series.iter().all(|series| series.mark == Mark::Points));
    }
}

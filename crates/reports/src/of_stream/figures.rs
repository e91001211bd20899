//! Figures of a stream: its course over time, and its worst hosts, connections and streams.

use super::Measures;
use crate::document::Illustration;
use crate::figure::{Axis, Figure, Mark, Picture, Point, Series};
use crate::series::Span;
use crate::text::Text;
use bench::analysis::Unit;
use records::quantity::{scale, span};

/// Units of a time across: name, and seconds.
const TIMES: [(&str, f64); 4] = [("s", 1.0), ("min", 60.0), ("h", 3_600.0), ("d", 86_400.0)];

pub(super) fn of(measures: &Measures) -> Vec<Illustration> {
    let all = [
        course(measures),
        retransmissions(measures),
        replies(measures),
        lateness(measures),
        of_connections(measures),
    ];
    all.into_iter().flatten().collect()
}

fn axis(name: &str, unit: &str) -> Axis {
    Axis { name: name.to_owned(), unit: unit.to_owned() }
}

fn drawn(figure: Figure, thinned: String) -> Illustration {
    Illustration { picture: Picture::Curves(figure), thinned: Text::from(thinned) }
}

/// The way in which spans were merged.
fn merged(measures: &Measures) -> String {
    match measures.series.each {
        1 => String::new(),
        each => format!(
            "each point stands for {each} intervals of {} (a silence is one), with their mean and the \
             busiest of them",
            span(measures.head.measure_ns)
        ),
    }
}

/// Axis of the time since the start, and the middle of each span on it.
fn across(measures: &Measures) -> Option<(Axis, Vec<f64>)> {
    let spans = &measures.series.spans;
    let (first, last) = (spans.first()?, spans.last()?);
    let length = (last.start_ns + last.length_ns).saturating_sub(first.start_ns) as f64 / 1e9;
    let fits = TIMES.iter().rev().find(|(_, seconds)| length >= 3.0 * seconds);
    let (unit, seconds) = fits.copied().unwrap_or(TIMES[0]);
    let middle = |span: &Span| {
        let begin = span.start_ns.saturating_sub(first.start_ns) as f64;
        (begin + span.length_ns as f64 / 2.0) / 1e9 / seconds
    };
    let places = spans.iter().map(middle).collect();
    (spans.len() > 1).then(|| (axis("time since the start", unit), places))
}

fn curve(name: &str, style_group: usize, points: Vec<Point>) -> Series {
    Series { name: name.to_owned(), style_group, mark: Mark::Line, points }
}

fn caption(measures: &Measures, what: &str) -> String {
    format!(
        "{}. {what} n = {} frames in {} intervals of {}.",
        measures.name(),
        measures.frames(),
        measures.intervals(),
        span(measures.head.measure_ns)
    )
}

/// Frames in a second.
fn course(measures: &Measures) -> Option<Illustration> {
    let (x, places) = across(measures)?;
    let spans = &measures.series.spans;
    let mean = places.iter().zip(spans).map(|(x, it)| Point::exact(*x, it.rate(it.frames)));
    let mut series = vec![curve("mean", 0, mean.collect())];
    if measures.series.each > 1 {
        let most = places.iter().zip(spans).map(|(x, it)| Point::exact(*x, it.busiest));
        series.push(curve("busiest interval", 1, most.collect()));
    }
    let figure = Figure {
        title: "Frames per second".to_owned(),
        caption: caption(measures, "Frames of the aggregate."),
        reference: None,
        x,
        y: axis("frames", "1/s"),
        scale: None,
        series,
    };
    Some(drawn(figure, merged(measures)))
}

/// Share of DTs that were retransmitted.
fn retransmissions(measures: &Measures) -> Option<Illustration> {
    let (x, places) = across(measures)?;
    let spans = &measures.series.spans;
    if spans.iter().all(|it| it.retransmissions == 0) {
        return None;
    }
    let with_data = places.iter().zip(spans).filter(|(_, it)| it.dts > 0);
    let points = with_data.map(|(x, it)| Point {
        count: Some(it.dts),
        ..Point::exact(*x, it.retransmissions as f64 * 100.0 / it.dts as f64)
    });
    let figure = Figure {
        title: "Retransmitted DTs".to_owned(),
        caption: caption(
            measures,
            "Share of DTs that were retransmitted; none where no DT was sent.",
        ),
        reference: None,
        x,
        y: axis("share of DTs", "%"),
        scale: None,
        series: vec![Series {
            mark: Mark::PointsOnLine,
            ..curve("DTs retransmitted", 0, points.collect())
        }],
    };
    Some(drawn(figure, merged(measures)))
}

/// Names of numbered points, for a caption.
fn numbered(names: impl Iterator<Item = String>) -> String {
    let names =
        names.enumerate().map(|(place, name)| format!("{}: {}", place + 1, Text::from(name)));
    names.collect::<Vec<_>>().join("; ")
}

/// Median, 99th percentile and maximum of the replies of the slowest hosts.
fn replies(measures: &Measures) -> Option<Illustration> {
    let worst = measures.hosts.worst();
    let rows: Vec<_> =
        worst.rows.into_iter().filter(|row| row.replies.count > 0).take(10).collect();
    let longest = rows.iter().map(|row| row.replies.max_ns).max().filter(|_| rows.len() > 1)?;
    let shown = scale(Unit::Nanoseconds, longest as f64);
    let series = |name: &str, group, of: &dyn Fn(&super::HostRow) -> Option<u64>| Series {
        name: name.to_owned(),
        style_group: group,
        mark: Mark::Points,
        points: rows
            .iter()
            .enumerate()
            .filter_map(|(place, row)| {
                let point = Point::exact((place + 1) as f64, of(row)? as f64 / shown.each);
                Some(Point { count: Some(row.replies.count), ..point })
            })
            .collect(),
    };
    let figure = Figure {
        title: "Response times of the slowest hosts".to_owned(),
        caption: format!(
            "{}. {}.",
            measures.name(),
            numbered(rows.iter().map(|row| row.host.clone()))
        ),
        reference: None,
        x: axis("host", "1"),
        y: axis("response time", shown.unit),
        scale: None,
        series: vec![
            series("max", 0, &|row| Some(row.replies.max_ns)),
            series("p99", 1, &|row| row.replies.p99_ns),
            series("p50", 2, &|row| row.replies.p50_ns),
        ],
    };
    Some(drawn(figure, String::new()))
}

/// Lateness of the worst streams of cyclic data, as a share of their periods.
fn lateness(measures: &Measures) -> Option<Illustration> {
    let worst = measures.streams.worst();
    let rows: Vec<_> =
        worst.rows.into_iter().filter(|row| row.0.period_ns.is_some()).take(10).collect();
    if rows.is_empty() {
        return None;
    }
    let series =
        |name: &str, style_group, of: &dyn Fn(&records::CyclicStream) -> Option<u64>| Series {
            name: name.to_owned(),
            style_group,
            mark: Mark::Points,
            points: rows
                .iter()
                .enumerate()
                .filter_map(|(place, row)| {
                    let period = row.0.period_ns? as f64;
                    let y = of(&row.0)? as f64 * 100.0 / period.max(1.0);
                    Some(Point { count: Some(row.0.frames), ..Point::exact((place + 1) as f64, y) })
                })
                .collect(),
        };
    let figure = Figure {
        title: "Deviation of cyclic data from its period".to_owned(),
        caption: format!("{}. {}.", measures.name(), numbered(rows.iter().map(|row| row.name()))),
        reference: None,
        x: axis("stream", "1"),
        y: axis("share of the period", "%"),
        scale: None,
        series: vec![
            series("late, max", 0, &|it| it.late_max_ns),
            series("late, p99", 1, &|it| it.late_p99_ns),
            series("early, max", 2, &|it| it.early_max_ns),
        ],
    };
    Some(drawn(figure, String::new()))
}

/// Retransmitted DTs of the worst connections.
fn of_connections(measures: &Measures) -> Option<Illustration> {
    let worst = measures.connections.worst();
    let rows: Vec<_> =
        worst.rows.into_iter().filter(|row| row.retransmissions > 0).take(10).collect();
    if rows.len() < 2 {
        return None;
    }
    let points = rows.iter().enumerate().map(|(place, row)| Point {
        count: Some(row.dts),
        ..Point::exact(
            (place + 1) as f64,
            row.retransmissions as f64 * 100.0 / row.dts.max(1) as f64,
        )
    });
    let series = Series {
        name: "DTs retransmitted".to_owned(),
        style_group: 0,
        mark: Mark::Points,
        points: points.collect(),
    };
    let figure = Figure {
        title: "Connections with most retransmissions".to_owned(),
        caption: format!(
            "{}. {}.",
            measures.name(),
            numbered(rows.iter().map(|row| row.ends.clone()))
        ),
        reference: None,
        x: axis("connection", "1"),
        y: axis("share of DTs retransmitted", "%"),
        scale: None,
        series: vec![series],
    };
    Some(drawn(figure, String::new()))
}

//! Figures of a reproduction, from their records.

use crate::figure::{Axis, Mark, Matrix, Picture, Point, Series, Span, TimeDiagram, number};
use serde::Deserialize;

/// Points of a curve; further ones are left out evenly.
const MOST_POINTS: usize = 200;

/// Figure of any kind, as its record has it.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Figure {
    Curves(Curves),
    Times(Times),
    Counts(Counts),
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(super) struct Curves {
    title: String,
    #[serde(default)]
    place: String,
    #[serde(default)]
    observed: String,
    x: [String; 2],
    y: [String; 2],
    curves: Vec<Curve>,
    published: Vec<[Option<f64>; 4]>,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
struct Curve {
    name: String,
    input: bool,
    #[serde(default)]
    style: String,
    points: Vec<[Option<f64>; 4]>,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(super) struct Times {
    title: String,
    #[serde(default)]
    place: String,
    #[serde(default)]
    observed: String,
    lanes: Vec<String>,
    tasks: Vec<(String, String, f64, f64)>,
    events: Vec<(String, String, f64)>,
    intervals: Vec<Interval>,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
struct Interval {
    name: String,
    input: bool,
    begin: f64,
    end: f64,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(super) struct Counts {
    title: String,
    #[serde(default)]
    place: String,
    #[serde(default)]
    observed: String,
    row: String,
    column: String,
    counted: String,
    names: Vec<String>,
    counts: Vec<Vec<u64>>,
}

const fn role(is_input: bool) -> &'static str {
    if is_input { "input" } else { "prediction" }
}

impl Figure {
    /// The figure of a paper.
    pub(super) fn picture(&self, paper: &str, seed: &str, is_live: bool) -> Picture {
        let reference = |place: &str| format!("{}, {place}", paper.to_uppercase());
        let caption = |observed: &str| format!("{observed} Seed {seed}.").trim_start().to_owned();
        match self {
            Self::Curves(curves) => Picture::Curves(crate::figure::Figure {
                title: curves.title.clone(),
                caption: caption(&curves.observed),
                reference: Some(reference(&curves.place)),
                x: axis(&curves.x),
                y: axis(&curves.y),
                scale: None,
                series: curves.series(is_live),
            }),
            Self::Times(times) => Picture::Times(TimeDiagram {
                title: times.title.clone(),
                caption: caption(&times.observed),
                reference: reference(&times.place),
                lanes: times.lanes.clone(),
                spans: times.spans(),
                moments: times.moments(),
                intervals: times.intervals(),
            }),
            Self::Counts(counts) => Picture::Matrix(Matrix {
                title: counts.title.clone(),
                caption: caption(&counts.observed),
                reference: reference(&counts.place),
                row: counts.row.clone(),
                column: counts.column.clone(),
                counted: counts.counted.clone(),
                names: counts.names.clone(),
                counts: counts.counts.clone(),
            }),
        }
    }
}

fn axis([name, unit]: &[String; 2]) -> Axis {
    Axis { name: name.clone(), unit: unit.clone() }
}

impl Curves {
    /// Each curve with a style of its own, its edges in that of their curve, and the paper's values.
    fn series(&self, is_live: bool) -> Vec<Series> {
        let mut styles = 0;
        let mut all = Vec::new();
        for curve in &self.curves {
            let is_edge = curve.style == "edge";
            styles += usize::from(!is_edge);
            all.push(curve.series(styles.saturating_sub(1), is_live));
        }
        let mut points = Vec::new();
        for published in &self.published {
            match *published {
                [Some(x), Some(y), low, high] => {
                    points.push(Point { interval: low.zip(high), ..Point::exact(x, y) });
                }
                [Some(x), None, ..] => {
                    let name = format!("published: {} {}", number(x), self.x[1]);
                    let ys = self.curves.iter().flat_map(|it| &it.points).filter_map(|it| it[1]);
                    let y = ys.fold(0.0, f64::max);
                    let points = vec![Point::exact(x, y)];
                    all.push(Series { name, style_group: styles, mark: Mark::Across, points });
                }
                _ => {}
            }
        }
        points.sort_by(|one: &Point, other| one.x.total_cmp(&other.x));
        if !points.is_empty() {
            let name = "published, ± reading error".to_owned();
            all.push(Series { name, style_group: styles, mark: Mark::Crosses, points });
        }
        all
    }
}

impl Curve {
    fn series(&self, style_group: usize, is_live: bool) -> Series {
        let is_named = !is_live && ["points", "cases"].contains(&self.style.as_str());
        let has_intervals = ["points", "cases", ""].contains(&self.style.as_str());
        let step = self.points.len().div_ceil(MOST_POINTS).max(1);
        let points = self.points.iter().step_by(step).filter_map(|point| match *point {
            [Some(x), Some(y), low, high] => {
                let interval = low.zip(high).filter(|_| has_intervals);
                Some(Point { interval, ..Point::exact(x, y) })
            }
            _ => None,
        });
        Series {
            name: if is_named {
                format!("{} ({})", self.name, role(self.input))
            } else {
                self.name.clone()
            },
            style_group,
            mark: match self.style.as_str() {
                "cases" => Mark::Points,
                "edge" => Mark::ThinLine,
                "bars" => Mark::Bars,
                _ => Mark::PointsOnLine,
            },
            points: points.collect(),
        }
    }
}

impl Times {
    fn lane(&self, name: &str) -> usize {
        self.lanes.iter().position(|lane| lane == name).unwrap_or(0)
    }

    fn spans(&self) -> Vec<Span> {
        let span = |(lane, name, begin, end): &(String, String, f64, f64)| Span {
            lane: self.lane(lane),
            name: name.clone(),
            begin: *begin,
            end: *end,
        };
        self.tasks.iter().map(span).collect()
    }

    fn moments(&self) -> Vec<Span> {
        let span = |(lane, name, at): &(String, String, f64)| Span {
            lane: self.lane(lane),
            name: name.clone(),
            begin: *at,
            end: *at,
        };
        self.events.iter().map(span).collect()
    }

    fn intervals(&self) -> Vec<Span> {
        let span = |it: &Interval| Span {
            lane: 0,
            name: format!("{} ({})", it.name, role(it.input)),
            begin: it.begin,
            end: it.end,
        };
        self.intervals.iter().map(span).collect()
    }
}

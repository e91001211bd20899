//! Figures of a paper as SVG files, each with a file of its numbers.

use crate::exit::Failure;
use crate::figure::{self, Axis, Emit, Figure, Mark, Matrix, Picture, Series, Span, TimeDiagram};
use papers::published::diagram::{self, Interval};
use papers::published::plot::{Curve, Plot, Point, Published, Style};
use papers::published::{Paper, Reproduction};
use std::fs;
use std::path::{Path, PathBuf};

/// Makes the folder, before anything is simulated.
pub(super) fn prepare(folder: &Path) -> Result<(), Failure> {
    figure::check(&folder.join("figure.svg"))?;
    fs::create_dir_all(folder).map_err(|error| {
        Failure::failed(format!("cannot make the folder {}: {error}", folder.display()))
    })
}

/// Source of the numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// A model, of which some curves were inputs.
    Modelled,
    /// A network that was there.
    Measured,
}

/// Properties that all figures share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawing<'a> {
    /// The paper.
    pub(super) paper: &'a Paper,
    /// Seed of the runs.
    pub(super) seed: u64,
    /// Source of the numbers.
    pub(super) origin: Origin,
    /// Further form of each figure.
    pub(super) emit: Option<Emit>,
}

/// Draws all figures; the files written.
pub(super) fn draw(
    drawing: &Drawing<'_>,
    plots: &[Plot],
    folder: &Path,
) -> Result<Vec<PathBuf>, Failure> {
    let mut drawn = Vec::with_capacity(plots.len());
    for plot in plots {
        let path = drawing.path(folder, plot.number);
        figure::write(
            &Picture::Curves(figure(drawing, plot)),
            &drawing.source(),
            &path,
            drawing.emit,
        )?;
        drawn.push(path);
    }
    Ok(drawn)
}

/// Draws everything of a reproduction; the files written.
pub(super) fn draw_all(
    drawing: &Drawing<'_>,
    reproduction: &Reproduction,
    folder: &Path,
) -> Result<Vec<PathBuf>, Failure> {
    let mut drawn = Vec::new();
    for diagram in &reproduction.time_diagrams {
        let path = drawing.path(folder, diagram.number);
        figure::write(
            &Picture::Times(time_diagram(drawing, diagram)),
            &drawing.source(),
            &path,
            drawing.emit,
        )?;
        drawn.push(path);
    }
    for matrix in &reproduction.matrices {
        let path = drawing.path(folder, matrix.number);
        figure::write(
            &Picture::Matrix(matrix_of(drawing, matrix)),
            &drawing.source(),
            &path,
            drawing.emit,
        )?;
        drawn.push(path);
    }
    drawn.extend(draw(drawing, &reproduction.plots, folder)?);
    Ok(drawn)
}

impl Drawing<'_> {
    /// Source that the metadata of a figure name.
    fn source(&self) -> String {
        format!("reproduction of {}, seed {}", self.paper.name, self.seed)
    }

    fn path(&self, folder: &Path, number: &str) -> PathBuf {
        folder.join(format!("{}-figure-{number}.svg", self.paper.name))
    }

    /// Place in the paper, to compare with.
    fn reference(&self, place: &str) -> String {
        format!("{}, {place}", self.paper.name.to_uppercase())
    }
}

fn time_diagram(drawing: &Drawing<'_>, diagram: &diagram::TimeDiagram) -> TimeDiagram {
    let span = |lane: usize, name: &str, begin: f64, end: f64| {
        let name = name.to_owned();
        Span { lane, name, begin, end }
    };
    let interval =
        |it: &Interval| span(0, &format!("{} ({})", it.name, role(it.is_input)), it.begin, it.end);
    let named = |is_input| {
        let intervals = diagram.intervals.iter().filter(|interval| interval.is_input == is_input);
        listed(intervals.map(|interval| interval.name.as_str()))
    };
    TimeDiagram {
        title: format!("{}, simulated", diagram.title),
        caption: roles(&diagram.observed, drawing.seed, named),
        reference: drawing.reference(diagram.place),
        lanes: diagram.lanes.iter().map(|lane| (*lane).to_owned()).collect(),
        spans: diagram.spans.iter().map(|it| span(it.lane, &it.name, it.begin, it.end)).collect(),
        moments: diagram.moments.iter().map(|it| span(it.lane, &it.name, it.at, it.at)).collect(),
        intervals: diagram.intervals.iter().map(interval).collect(),
    }
}

fn matrix_of(drawing: &Drawing<'_>, matrix: &diagram::Matrix) -> Matrix {
    let named =
        |is_input| listed((matrix.is_input == is_input).then_some(matrix.counted).into_iter());
    Matrix {
        title: matrix.title.to_owned(),
        caption: roles(&matrix.observed, drawing.seed, named),
        reference: drawing.reference(&matrix.place),
        row: matrix.row.to_owned(),
        column: matrix.column.to_owned(),
        counted: matrix.counted.to_owned(),
        names: matrix.names.clone(),
        counts: matrix.counts.clone(),
    }
}

/// Caption: number of observations, seed, and inputs of the model; `named` lists the inputs, or the others.
fn roles(observed: &str, seed: u64, named: impl Fn(bool) -> String) -> String {
    let [inputs, predictions] = [true, false].map(named);
    format!("{observed} Seed {seed}. Calibration inputs: {inputs}. Predictions: {predictions}.")
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

const fn role(is_input: bool) -> &'static str {
    if is_input { "input" } else { "prediction" }
}

fn figure(drawing: &Drawing<'_>, plot: &Plot) -> Figure {
    let axis = |(name, unit): (&str, &str)| Axis { name: name.to_owned(), unit: unit.to_owned() };
    let origin = match drawing.origin {
        Origin::Modelled => "modelled",
        Origin::Measured => "measured live",
    };
    Figure {
        title: format!("{}, {origin}", plot.title),
        caption: caption(drawing, plot),
        reference: Some(drawing.reference(&plot.place)),
        x: axis(plot.horizontal),
        y: axis(plot.vertical),
        scale: None,
        series: series(drawing.origin, &plot.curves).into_iter().chain(published(plot)).collect(),
    }
}

/// The paper's values: its points, and a line upwards for each place across.
fn published(plot: &Plot) -> Vec<Series> {
    let style_group = plot.curves.iter().filter(|curve| curve.style != Style::Edge).count();
    let all = plot.curves.iter().flat_map(|curve| &curve.points).map(|point| point.y);
    let ends = all.fold((f64::MAX, f64::MIN), |(low, high), y| (low.min(y), high.max(y)));
    let mut points = Vec::new();
    let mut series = Vec::new();
    for one in &plot.published {
        match *one {
            Published::Point(Point { x, y, low, high, .. }) => {
                points.push(figure::Point { x, y, interval: Some((low, high)), count: None });
            }
            Published::Across(x) => series.push(Series {
                name: format!("published: {} {}", figure::number(x), plot.horizontal.1),
                style_group,
                mark: Mark::Across,
                points: [ends.0, ends.1].map(|y| figure::Point::exact(x, y)).to_vec(),
            }),
        }
    }
    points.sort_by(|one: &figure::Point, other| one.x.total_cmp(&other.x));
    if !points.is_empty() {
        let name = "published, ± reading error".to_owned();
        series.push(Series { name, style_group, mark: Mark::Crosses, points });
    }
    series
}

/// Caption: number of observations, seed, and the curves that are inputs.
fn caption(drawing: &Drawing<'_>, plot: &Plot) -> String {
    if drawing.origin == Origin::Measured {
        return format!("{} Seed {}.", plot.observed, drawing.seed);
    }
    roles(&plot.observed, drawing.seed, |is_input| {
        let curves = plot.curves.iter().filter(|curve| has_points(curve));
        listed(curves.filter(|curve| curve.is_input == is_input).map(|curve| curve.name.as_str()))
    })
}

/// Each curve in a style group of its own, with the edges of its band.
fn series(origin: Origin, curves: &[Curve]) -> Vec<Series> {
    let mut points = 0;
    let kins = curves.iter().map(|curve| {
        points += usize::from(curve.style != Style::Edge);
        points.saturating_sub(1)
    });
    kins.zip(curves).map(|(style_group, curve)| one_series(origin, style_group, curve)).collect()
}

fn one_series(origin: Origin, style_group: usize, curve: &Curve) -> Series {
    let point = |point: &Point| figure::Point {
        x: point.x,
        y: point.y,
        interval: has_points(curve).then_some((point.low, point.high)),
        count: Some(point.observations),
    };
    let (name, mark) = match curve.style {
        Style::Points if origin == Origin::Measured => (curve.name.clone(), Mark::PointsOnLine),
        Style::Points => (format!("{} ({})", curve.name, role(curve.is_input)), Mark::PointsOnLine),
        Style::Cases => (format!("{} ({})", curve.name, role(curve.is_input)), Mark::Points),
        Style::Edge => (curve.name.clone(), Mark::ThinLine),
        Style::Bars => (curve.name.clone(), Mark::Bars),
    };
    Series { name, style_group, mark, points: curve.points.iter().map(point).collect() }
}

/// True if its points have intervals.
fn has_points(curve: &Curve) -> bool {
    matches!(curve.style, Style::Points | Style::Cases)
}

#[cfg(test)]
mod tests {
    use super::*;
    use papers::PAPERS;

    #[test]
    fn a_caption_tells_inputs_from_predictions() {
        let curve = |name: &str, is_input| Curve {
            name: name.to_owned(),
            is_input,
            style: Style::Points,
            points: vec![Point { x: 1.0, y: 2.0, low: 1.5, high: 2.5, observations: 7 }],
        };
        let plot = Plot {
            number: "6",
            place: "Figure 6".to_owned(),
            title: "Times",
            horizontal: ("size", "octets"),
            vertical: ("time", "ms"),
            observed: "Means of n = 7.".to_owned(),
            curves: vec![
                curve("MAC", true),
                Curve { style: Style::Edge, ..curve("MAC, 95 %", true) },
                curve("LLC", true),
                curve("PHY", false),
            ],
            published: vec![
                Published::Across(1.5),
                Published::Point(Point { x: 1.0, y: 2.2, low: 2.1, high: 2.3, observations: 0 }),
            ],
        };
        let drawing = Drawing { paper: &PAPERS[0], seed: 3, origin: Origin::Modelled, emit: None };
        let measured = figure(&Drawing { origin: Origin::Measured, ..drawing }, &plot);
        assert_eq!(measured.caption, "Means of n = 7. Seed 3.");
        assert_eq!(measured.series[0].name, "MAC", "nothing measured is an input");
        let figure = figure(&drawing, &plot);
        assert!(figure.caption.starts_with("Means of n = 7. Seed 3. "), "{}", figure.caption);
        let ends = "Calibration inputs: MAC, LLC. Predictions: PHY.";
        assert!(figure.caption.ends_with(ends), "{}", figure.caption);
        assert_eq!(figure.reference.as_deref(), Some("TR-88-08, Figure 6"));
        let series: Vec<(&str, usize)> =
            figure.series.iter().map(|series| (series.name.as_str(), series.style_group)).collect();
        let names = [
            "MAC (input)",
            "MAC, 95 %",
            "LLC (input)",
            "PHY (prediction)",
            "published: 1.5 octets",
            "published, ± reading error",
        ];
        // An edge is drawn as its curve is, and all that is published alike.
        assert_eq!(series, names.into_iter().zip([0, 0, 1, 2, 3, 3]).collect::<Vec<_>>());
    }
}

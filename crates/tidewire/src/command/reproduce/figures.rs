//! The figures of a paper as SVG files, each with its numbers beside it.

use crate::exit::Failure;
use crate::figure::{self, Axis, Figure, Mark, Series};
use crate::quantity::trimmed;
use bench::reproduce::plot::{Curve, Plot, Point, Published, Style};
use bench::reproduce::{Options, Paper, Reproduction};
use std::fs;
use std::path::{Path, PathBuf};

/// Makes the folder, before anything is simulated.
pub(super) fn prepare(folder: &Path) -> Result<(), Failure> {
    figure::check(&folder.join("figure.svg"))?;
    fs::create_dir_all(folder).map_err(|error| {
        Failure::failed(format!("cannot make the folder {}: {error}", folder.display()))
    })
}

/// Draws all figures; which files that made.
pub(super) fn draw(
    paper: &Paper,
    options: &Options,
    reproduction: &Reproduction,
    folder: &Path,
) -> Result<Vec<PathBuf>, Failure> {
    let mut drawn = Vec::with_capacity(reproduction.plots.len());
    for plot in &reproduction.plots {
        let path = folder.join(format!("{}-figure-{}.svg", paper.name, plot.number));
        figure::write(&figure(paper, options, plot), &path)?;
        drawn.push(path);
    }
    Ok(drawn)
}

fn figure(paper: &Paper, options: &Options, plot: &Plot) -> Figure {
    let axis = |(name, unit): (&str, &str)| Axis { name: name.to_owned(), unit: unit.to_owned() };
    Figure {
        title: format!("{}, modelled", plot.title),
        caption: caption(options, plot),
        reference: Some(format!("{}, Figure {}", paper.name.to_uppercase(), plot.number)),
        x: axis(plot.horizontal),
        y: axis(plot.vertical),
        series: series(&plot.curves).into_iter().chain(published(plot)).collect(),
    }
}

/// What the paper gives: its points, and a line upwards for each place across.
fn published(plot: &Plot) -> Vec<Series> {
    let kin = plot.curves.iter().filter(|curve| curve.style == Style::Points).count();
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
                name: format!("published: {} {}", trimmed(x, 4), plot.horizontal.1),
                kin,
                mark: Mark::Line,
                points: [ends.0, ends.1].map(|y| figure::Point::exact(x, y)).to_vec(),
            }),
        }
    }
    points.sort_by(|one: &figure::Point, other| one.x.total_cmp(&other.x));
    if !points.is_empty() {
        let name = "published, ± reading error".to_owned();
        series.push(Series { name, kin, mark: Mark::Points, points });
    }
    series
}

/// What was observed, with which seed, and which curves the model has seen.
fn caption(options: &Options, plot: &Plot) -> String {
    let named = |is_input: bool| {
        let curves = plot.curves.iter().filter(|curve| curve.style == Style::Points);
        let curves = curves.filter(|curve| curve.is_input == is_input);
        let names: Vec<&str> = curves.map(|curve| curve.name.as_str()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    format!(
        "{} Seed {}. Calibration inputs: {}. Predictions: {}.",
        plot.observed,
        options.seed,
        named(true),
        named(false)
    )
}

/// Each curve in a kin of its own, with the edges of its band.
fn series(curves: &[Curve]) -> Vec<Series> {
    let mut points = 0;
    let kins = curves.iter().map(|curve| {
        points += usize::from(curve.style == Style::Points);
        points.saturating_sub(1)
    });
    kins.zip(curves).map(one_series).collect()
}

fn one_series((kin, curve): (usize, &Curve)) -> Series {
    let point = |point: &Point| figure::Point {
        x: point.x,
        y: point.y,
        interval: (curve.style == Style::Points).then_some((point.low, point.high)),
        count: Some(point.observations),
    };
    let role = if curve.is_input { "input" } else { "prediction" };
    let (name, mark) = match curve.style {
        Style::Points => (format!("{} ({role})", curve.name), Mark::PointsOnLine),
        Style::Edge => (curve.name.clone(), Mark::Line),
    };
    Series { name, kin, mark, points: curve.points.iter().map(point).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench::reproduce::PAPERS;

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
        let options = Options { seed: 3, messages: 7, monitor: None };
        let figure = figure(&PAPERS[0], &options, &plot);
        assert!(figure.caption.starts_with("Means of n = 7. Seed 3. "), "{}", figure.caption);
        let ends = "Calibration inputs: MAC, LLC. Predictions: PHY.";
        assert!(figure.caption.ends_with(ends), "{}", figure.caption);
        assert_eq!(figure.reference.as_deref(), Some("TR-88-08, Figure 6"));
        let series: Vec<(&str, usize)> =
            figure.series.iter().map(|series| (series.name.as_str(), series.kin)).collect();
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

//! Figures as plain data, and their files: SVG, and the numbers as CSV.
//!
//! ```text
//!   Figure ─▶ Scene: ranges, colours, marks ─▶ SVG
//!        └──▶ table of its points ─▶ CSV
//! ```
//!
//! The same figure gives the same octets, on every machine: the files do not record when or where
//! they were made. A [`Matrix`] and a [`TimeDiagram`] become a sheet of shapes instead of a scene. Left out:
//! logarithmic axes across, and other kinds of figures.

mod canvas;
mod matrix;
mod scene;
mod sheet;
mod svg;
mod table;
mod ticks;
mod timing;

use crate::exit::Failure;
use crate::output_file;
pub(crate) use matrix::Matrix;
use scene::Scene;
use std::path::{Path, PathBuf};
pub(crate) use ticks::label as number;
pub(crate) use timing::{Span, TimeDiagram};

/// A figure of points and lines over one pair of axes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Figure {
    /// Title in one line.
    pub(crate) title: String,
    /// Caption: counts, seed, meaning of the intervals, omissions.
    pub(crate) caption: String,
    /// Published figure that it corresponds to, such as "TR-88-08, Figure 5".
    pub(crate) reference: Option<String>,
    /// Across.
    pub(crate) x: Axis,
    /// Upwards.
    pub(crate) y: Axis,
    /// Series, the first beneath the others.
    pub(crate) series: Vec<Series>,
}

/// Quantity of an axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Axis {
    /// Of what.
    pub(crate) name: String,
    /// In what.
    pub(crate) unit: String,
}

/// Points that belong together.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Series {
    /// Name in the legend.
    pub(crate) name: String,
    /// Series of one style group have one colour, dash and marker: a model's line and the points it stands
    /// for. 36 kins can be distinguished.
    pub(crate) style_group: usize,
    /// Style of the series.
    pub(crate) mark: Mark,
    /// In rising order of x, where they are joined by a line.
    pub(crate) points: Vec<Point>,
}

/// Style of the points of a series.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mark {
    /// Each by itself, filled.
    Points,
    /// As a line.
    Line,
    /// As a line with the points on it.
    PointsOnLine,
    /// Each by itself, as a cross that is larger than a point below it.
    Crosses,
    /// As a line, thinner than others.
    ThinLine,
    /// As a line upwards over the whole height of the axes, at the x of its points.
    Across,
    /// As a line upwards from zero for each.
    Bars,
}

/// A point of a series.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Point {
    /// Across, in the axis's unit.
    pub(crate) x: f64,
    /// Upwards, in the axis's unit.
    pub(crate) y: f64,
    /// Interval of the true value, from low to high; the caption gives its meaning.
    pub(crate) interval: Option<(f64, f64)>,
    /// Number of observations, if it is observed.
    pub(crate) count: Option<u64>,
}

impl Point {
    /// A point of a curve that is known and not observed: a formula's, or one read from a paper.
    pub(crate) const fn exact(x: f64, y: f64) -> Self {
        Self { x, y, interval: None, count: None }
    }
}

/// Path of the numbers of a figure: next to it, with the ending `.csv`.
pub(crate) fn table_path(path: &Path) -> PathBuf {
    path.with_extension("csv")
}

/// Writes a figure as SVG, and its numbers as CSV next to it.
///
/// # Errors
/// A usage error where the name does not end in `.svg`, and a failure where a file cannot be written.
pub(crate) fn write(figure: &Figure, path: &Path) -> Result<(), Failure> {
    save(path, &svg::draw(&Scene::of(figure)), &table::of(figure))
}

/// Writes a matrix as SVG, and its numbers as CSV next to it.
///
/// # Errors
/// As [`write()`].
pub(crate) fn write_matrix(matrix: &Matrix, path: &Path) -> Result<(), Failure> {
    let drawn = svg::draw_sheet(&matrix::sheet(matrix));
    save(path, &drawn, &table::of_lines(&matrix::table(matrix)))
}

/// Writes a time diagram as SVG, and its times as CSV next to it.
///
/// # Errors
/// As [`write()`].
pub(crate) fn write_time_diagram(diagram: &TimeDiagram, path: &Path) -> Result<(), Failure> {
    let drawn = svg::draw_sheet(&timing::sheet(diagram));
    save(path, &drawn, &table::of_lines(&timing::table(diagram)))
}

fn save(path: &Path, drawn: &str, table: &str) -> Result<(), Failure> {
    check(path)?;
    let save = |path: &Path, text: &str| {
        output_file::write(path, text.as_bytes())
            .map_err(|error| Failure::cannot_write(path, &error))
    };
    save(path, drawn)?;
    save(&table_path(path), table)
}

/// Checks before a measurement that a figure can be written under this name.
///
/// # Errors
/// A usage error where the name does not end in `.svg`.
pub(crate) fn check(path: &Path) -> Result<(), Failure> {
    if path.extension().is_none_or(|ending| ending != "svg") {
        let message = format!("{} does not end in .svg", path.display());
        return Err(Failure::usage(message).with_fix("figures are SVG: --figure layers.svg"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Two measured points with their fit, and a formula.
    pub(super) fn example() -> Figure {
        let measured =
            |x, y: f64| Point { interval: Some((y - 0.1, y + 0.3)), count: Some(50), x, y };
        let fit = |x: f64| Point::exact(x, 1.0 + x / 500.0);
        Figure {
            title: "MAC transmit <of> this & that".to_owned(),
            caption: "Medians of 50 with 95 % intervals; lines: least squares.".to_owned(),
            reference: Some("TR-88-08, Figure 6".to_owned()),
            x: Axis { name: "size".to_owned(), unit: "octets".to_owned() },
            y: Axis { name: "time".to_owned(), unit: "ms".to_owned() },
            series: vec![
                Series {
                    name: "fit, $1 + x/500".to_owned(),
                    style_group: 0,
                    mark: Mark::Line,
                    points: vec![fit(64.0), fit(1_500.0)],
                },
                Series {
                    name: "MAC transmit".to_owned(),
                    style_group: 0,
                    mark: Mark::Points,
                    points: vec![measured(64.0, 1.125), measured(1_500.0, 4.0)],
                },
                Series {
                    name: "PHY".to_owned(),
                    style_group: 1,
                    mark: Mark::PointsOnLine,
                    points: vec![Point::exact(64.0, 0.0512), Point::exact(1_500.0, 1.2)],
                },
            ],
        }
    }

    #[test]
    fn a_figure_and_its_numbers_are_the_same_in_two_runs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("layers.svg");
        let both = || {
            write(&example(), &path).unwrap();
            (fs::read(&path).unwrap(), fs::read(table_path(&path)).unwrap())
        };
        let first = both();
        assert!(first == both(), "the same figure gives other octets");
        let text = String::from_utf8(first.0).unwrap();
        assert!(!text.contains(folder.path().to_str().unwrap()), "a figure tells no path");
    }

    #[test]
    fn only_svg_files_are_written() {
        let failure = write(&example(), Path::new("layers.png")).unwrap_err();
        let expected =
            "layers.png does not end in .svg\n  fix: figures are SVG: --figure layers.svg";
        assert_eq!(failure.to_string(), expected);
    }
}

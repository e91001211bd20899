//! Figures as plain data, and their files: SVG, the numbers as CSV, and Vega-Lite.
//!
//! ```text
//!   Figure ─▶ Scene: ranges, colours, marks ─▶ SVG
//!        ├──▶ table of its points ─▶ CSV
//!        └──▶ specification of Vega-Lite
//! ```
//!
//! The same figure gives the same octets, on every machine: the files do not record when or where
//! they were made. A [`Matrix`], a [`TimeDiagram`],
//! an [`EventChart`] and a [`Stack`] become a sheet of shapes instead of a scene. Left out:
//! logarithmic axes across, and other kinds of figures.

mod canvas;
mod chart;
mod matrix;
mod scene;
mod sheet;
mod stack;
mod svg;
mod table;
mod ticks;
mod timing;
mod vega;

use crate::text::Text;
pub use chart::{EventBar, EventChart, EventStyle};
pub use matrix::Matrix;
use scene::Scene;
pub use stack::{Bar, Layer, Part, Stack};
pub use ticks::label as number;
pub use timing::{Span, TimeDiagram};

/// Fields as a line of CSV (RFC 4180), with its end.
#[must_use]
pub fn csv_line(fields: &[String]) -> String {
    table::line(fields)
}

/// A figure of points and lines over one pair of axes.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// Title in one line.
    pub title: String,
    /// Caption: counts, seed, meaning of the intervals, omissions.
    pub caption: String,
    /// Published figure that it corresponds to, such as "TR-88-08, Figure 5".
    pub reference: Option<String>,
    /// Across.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// Scale of the axis upwards; if none, it is logarithmic where a series would lie flat.
    pub scale: Option<Scale>,
    /// Series, the first beneath the others.
    pub series: Vec<Series>,
}

/// Scale of an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// Equal ways for equal differences.
    Linear,
    /// Equal ways for equal ratios.
    Logarithmic,
}

/// Quantity of an axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axis {
    /// Of what.
    pub name: String,
    /// In what.
    pub unit: String,
}

/// Points that belong together.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Series of one style group have one colour, dash and marker: a model's line and the points it stands
    /// for. 36 kins can be distinguished.
    pub style_group: usize,
    /// Style of the series.
    pub mark: Mark,
    /// In rising order of x, where they are joined by a line.
    pub points: Vec<Point>,
}

/// Style of the points of a series.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// Each by itself, filled.
    Points,
    /// As a line.
    Line,
    /// As a line within a band, which the intervals of its points fill.
    LineInBand,
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
pub struct Point {
    /// Across, in the axis's unit.
    pub x: f64,
    /// Upwards, in the axis's unit.
    pub y: f64,
    /// Interval of the true value, from low to high; the caption gives its meaning.
    pub interval: Option<(f64, f64)>,
    /// Number of observations, if it is observed.
    pub count: Option<u64>,
}

impl Point {
    /// A point of a curve that is known and not observed: a formula's, or one read from a paper.
    pub const fn exact(x: f64, y: f64) -> Self {
        Self { x, y, interval: None, count: None }
    }
}

/// Place of an SVG document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place<'a> {
    /// A file of its own: the caption is drawn below the figure. The text, which becomes the metadata of the
    /// document, names the program and the input that the figure was made from.
    File(&'a str),
    /// A page with other figures, which shows the caption itself. The identifier distinguishes the figure from them.
    Page(&'a str),
}

/// A figure of any kind.
#[derive(Clone, PartialEq, Debug)]
pub enum Picture {
    /// Points and lines over a pair of axes.
    Curves(Figure),
    /// Counts of pairs of names.
    Matrix(Matrix),
    /// Work and events in lanes over time.
    Times(TimeDiagram),
    /// Events in lanes over a window of time.
    Events(EventChart),
    /// Parts of sums as stacked bars.
    Stack(Stack),
}

impl Picture {
    /// The figure as an SVG document.
    #[must_use]
    pub fn svg(&self, place: Place<'_>) -> String {
        match self {
            Self::Curves(figure) => svg::draw(&Scene::of(figure), place),
            Self::Matrix(matrix) => svg::draw_sheet(&matrix::sheet(matrix), place),
            Self::Times(diagram) => svg::draw_sheet(&timing::sheet(diagram), place),
            Self::Events(chart) => svg::draw_sheet(&chart::sheet(chart), place),
            Self::Stack(stack) => svg::draw_sheet(&stack::sheet(stack), place),
        }
    }

    /// Caption: counts, seed, meaning of the intervals, omissions, and the published figure.
    #[must_use]
    pub fn caption(&self) -> String {
        let with = |caption: &str, reference: &str| format!("{caption} Compare: {reference}.");
        match self {
            Self::Curves(figure) => match &figure.reference {
                Some(reference) => with(&figure.caption, reference),
                None => figure.caption.clone(),
            },
            Self::Matrix(matrix) => with(&matrix.caption, &matrix.reference),
            Self::Times(diagram) => with(&diagram.caption, &diagram.reference),
            Self::Events(chart) => chart.caption.clone(),
            Self::Stack(stack) => match &stack.reference {
                Some(reference) => with(&stack.caption, reference),
                None => stack.caption.clone(),
            },
        }
    }

    /// The figure with bounded names, in which every unprintable character is visible.
    #[must_use]
    pub fn printable(&self) -> Self {
        let mut picture = self.clone();
        let show = |text: &mut String| *text = Text::from(text.as_str()).to_string();
        let show_long = |text: &mut String| *text = Text::long(&text).to_string();
        match &mut picture {
            Self::Curves(figure) => {
                show_long(&mut figure.caption);
                let Axis { name, unit } = &mut figure.x;
                [&mut figure.title, name, unit].into_iter().for_each(show);
                let Axis { name, unit } = &mut figure.y;
                [name, unit].into_iter().for_each(show);
                figure.series.iter_mut().for_each(|series| show(&mut series.name));
                figure.reference.iter_mut().for_each(show);
            }
            Self::Matrix(matrix) => {
                show_long(&mut matrix.caption);
                let Matrix { title, reference, row, column, counted, names, .. } = matrix;
                [title, reference, row, column, counted].into_iter().for_each(show);
                names.iter_mut().for_each(show);
            }
            Self::Times(diagram) => {
                show_long(&mut diagram.caption);
                let TimeDiagram { title, reference, lanes, .. } = diagram;
                [title, reference].into_iter().chain(lanes).for_each(show);
                let TimeDiagram { spans, moments, intervals, .. } = diagram;
                let spans = spans.iter_mut().chain(moments).chain(intervals);
                spans.for_each(|span| show(&mut span.name));
            }
            Self::Events(chart) => {
                show_long(&mut chart.caption);
                let EventChart { title, unit, lanes, bars, table, .. } = chart;
                [title, unit].into_iter().chain(lanes).for_each(show);
                bars.iter_mut().for_each(|bar| show(&mut bar.label));
                table.iter_mut().flatten().for_each(show);
            }
            Self::Stack(stack) => {
                show_long(&mut stack.caption);
                let Stack { title, reference, across, upwards, unit, layers, bars, .. } = stack;
                [title, across, upwards, unit].into_iter().chain(reference).for_each(show);
                layers.iter_mut().for_each(|layer| show(&mut layer.name));
                bars.iter_mut().flat_map(|bar| [&mut bar.name, &mut bar.of]).for_each(show);
            }
        }
        picture
    }

    /// Its numbers as CSV (RFC 4180).
    #[must_use]
    pub fn csv(&self) -> String {
        table::of_lines(&self.table())
    }

    /// The figure as a Vega-Lite specification (version 5) with its numbers.
    #[must_use]
    pub fn vega_lite(&self) -> String {
        vega::specification(self)
    }

    /// Its numbers as lines of fields, the heading first.
    #[must_use]
    pub fn table(&self) -> Vec<Vec<String>> {
        match self {
            Self::Curves(figure) => table::of(figure),
            Self::Matrix(matrix) => matrix::table(matrix),
            Self::Times(diagram) => timing::table(diagram),
            Self::Events(chart) => chart.table.clone(),
            Self::Stack(stack) => stack::table(stack),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            scale: None,
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
}

//! A figure of a paper, drawn anew: curves against a size, each said to be an input or a prediction.

use super::Outcome;
use super::row::Drawn;

/// A figure.
#[derive(Clone, PartialEq, Debug)]
pub struct Plot {
    /// Its number in the paper: `4`, `8a`; the files are called by it.
    pub number: &'static str,
    /// Its place in the paper: `Figure 4`, `section 4.4`.
    pub place: String,
    /// What it shows.
    pub title: &'static str,
    /// What runs to the right, and its unit.
    pub horizontal: (&'static str, &'static str),
    /// What runs upwards, and its unit.
    pub vertical: (&'static str, &'static str),
    /// How often what was observed, and what the intervals are.
    pub observed: String,
    /// Its curves.
    pub curves: Vec<Curve>,
    /// What the paper's text gives of it.
    pub published: Vec<Published>,
}

/// Published value in a figure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Published {
    /// A point with its reading error.
    Point(Point),
    /// A line upwards at this place across, such as a cross-over.
    Across(f64),
}

/// Adds to each figure what its paper's text gives of it, in the order of the rows.
pub fn add_published(plots: &mut [Plot], outcomes: &[Outcome]) {
    let claims = outcomes.iter().flat_map(|outcome| &outcome.row.claims);
    for (claim, drawn) in claims.flat_map(|claim| claim.drawn.iter().map(move |at| (claim, at))) {
        let Drawn { figure, at, scale } = drawn;
        let (least, most) = claim.published();
        let value = least.midpoint(most) * scale;
        let [low, high] = [least - claim.error, most + claim.error].map(|end| end * scale);
        let published = match at {
            Some(x) => Published::Point(Point { x: *x, y: value, low, high, observations: 0 }),
            None => Published::Across(value),
        };
        let of_figure = plots.iter_mut().filter(|plot| plot.number == figure);
        of_figure.filter(|plot| !plot.published.contains(&published)).for_each(|plot| {
            plot.published.push(published);
        });
    }
}

/// A curve of a figure.
#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    /// What it shows.
    pub name: String,
    /// Whether the model was calibrated on it.
    pub is_input: bool,
    /// How it is drawn.
    pub style: Style,
    /// Its points, from left to right.
    pub points: Vec<Point>,
}

/// How a curve is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// Points with their intervals, on a line.
    Points,
    /// A line without points: an edge of a band around the last curve of points before it.
    Edge,
    /// Bars from zero, of what is neither an input nor predicted.
    Bars,
}

/// A point of a curve, with the interval in which it lies.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// How far to the right.
    pub x: f64,
    /// How far up.
    pub y: f64,
    /// The least it may be.
    pub low: f64,
    /// The greatest it may be.
    pub high: f64,
    /// Observations behind it.
    pub observations: u64,
}

/// Caption of means of n messages at each point.
#[must_use]
pub fn means_at_each_point(messages: u64) -> String {
    format!(
        "Means of n = {messages} at each point; intervals: 95 % of the mean, over all models that fit."
    )
}

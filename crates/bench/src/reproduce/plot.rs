//! A figure of a paper, drawn anew: curves against a size, each said to be an input or a prediction.

/// A figure.
#[derive(Clone, PartialEq, Debug)]
pub struct Plot {
    /// Its number in the paper: `4`, `8a`.
    pub number: &'static str,
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

/// What papers that timed so many messages at each size say of their figures.
#[must_use]
pub fn means_at_each_size(messages: u64) -> String {
    format!(
        "Means of n = {messages} at each size; intervals: 95 % of the mean, over all models that fit."
    )
}

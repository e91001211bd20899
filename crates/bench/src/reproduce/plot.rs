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
    /// Its points, from left to right.
    pub points: Vec<Point>,
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

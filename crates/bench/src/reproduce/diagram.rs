//! Figures that are no curves: time diagrams and matrices.

/// A time diagram: work and events in lanes, from left to right.
#[derive(Clone, PartialEq, Debug)]
pub struct TimeDiagram {
    /// Its number in the paper: `3a`; the files are called by it.
    pub number: &'static str,
    /// Its place in the paper: `Figure 3, upper half`.
    pub place: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// Origin of the times.
    pub observed: String,
    /// Names of its lanes, from the top.
    pub lanes: Vec<&'static str>,
    /// Work, in the order in which it begins.
    pub spans: Vec<Span>,
    /// Events.
    pub moments: Vec<Moment>,
    /// Measured times between two events.
    pub intervals: Vec<Interval>,
}

/// Work that takes time.
#[derive(Clone, PartialEq, Debug)]
pub struct Span {
    /// Place of its lane.
    pub lane: usize,
    /// What is done.
    pub name: String,
    /// Start, in milliseconds.
    pub begin: f64,
    /// End, in milliseconds.
    pub end: f64,
}

/// An event.
#[derive(Clone, PartialEq, Debug)]
pub struct Moment {
    /// Place of its lane.
    pub lane: usize,
    /// What happens.
    pub name: String,
    /// Time, in milliseconds.
    pub at: f64,
}

/// Time from one event to another.
#[derive(Clone, PartialEq, Debug)]
pub struct Interval {
    /// What it is called.
    pub name: String,
    /// True if the model was calibrated on it.
    pub is_input: bool,
    /// Start, in milliseconds.
    pub begin: f64,
    /// End, in milliseconds.
    pub end: f64,
}

/// A matrix: a count for each pair of names.
#[derive(Clone, PartialEq, Debug)]
pub struct Matrix {
    /// Its name among the figures of the paper.
    pub number: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// Its place in the paper: `section IV`.
    pub place: String,
    /// Origin of the counts.
    pub observed: String,
    /// What a row stands for.
    pub row: &'static str,
    /// What a column stands for.
    pub column: &'static str,
    /// What is counted.
    pub counted: &'static str,
    /// True if what is counted was made from the paper's figures.
    pub is_input: bool,
    /// Names of the rows from the top, and of the columns from the left.
    pub names: Vec<String>,
    /// Counts, row by row.
    pub counts: Vec<Vec<u64>>,
}

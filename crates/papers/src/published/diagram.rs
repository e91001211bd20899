//! Figures other than curves: time diagrams and matrices.

/// Time diagram: work and events in lanes, from left to right.
#[derive(Clone, PartialEq, Debug)]
pub struct TimeDiagram {
    /// Number in the paper: `3a`; also the name of its files.
    pub number: &'static str,
    /// Place in the paper: `Figure 3, upper half`.
    pub place: &'static str,
    /// Title.
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
    /// Index of its lane.
    pub lane: usize,
    /// Name of the work.
    pub name: String,
    /// Start, in milliseconds.
    pub begin: f64,
    /// End, in milliseconds.
    pub end: f64,
}

/// Event.
#[derive(Clone, PartialEq, Debug)]
pub struct Moment {
    /// Index of its lane.
    pub lane: usize,
    /// Name of the event.
    pub name: String,
    /// Time, in milliseconds.
    pub at: f64,
}

/// Time from one event to another.
#[derive(Clone, PartialEq, Debug)]
pub struct Interval {
    /// Name of the interval.
    pub name: String,
    /// True if the model was calibrated on it.
    pub is_input: bool,
    /// Start, in milliseconds.
    pub begin: f64,
    /// End, in milliseconds.
    pub end: f64,
}

/// Matrix: a count for each pair of names.
#[derive(Clone, PartialEq, Debug)]
pub struct Matrix {
    /// Name among the figures of the paper.
    pub number: &'static str,
    /// Title.
    pub title: &'static str,
    /// Place in the paper: `section IV`.
    pub place: String,
    /// Origin of the counts.
    pub observed: String,
    /// Meaning of a row.
    pub row: &'static str,
    /// Meaning of a column.
    pub column: &'static str,
    /// Unit of the counts.
    pub counted: &'static str,
    /// True if the counts were made from the paper's figures.
    pub is_input: bool,
    /// Names of the rows from the top, and of the columns from the left.
    pub names: Vec<String>,
    /// Counts, row by row.
    pub counts: Vec<Vec<u64>>,
}

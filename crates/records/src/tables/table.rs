//! A table as plain data: typed columns, cells that may be empty, and the destination of rows.

use crate::Subset;
use meter::registry::{NANOSECONDS, Unit, Values};
use std::borrow::Cow;
use std::io;
use wire::time::Instant;

/// Kind of the cells of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Points in time.
    Time,
    /// Durations.
    Span,
    /// Whole numbers.
    Count,
    /// Real numbers.
    Real,
    /// Words and addresses.
    Text,
    /// TCP ports.
    Port,
}

/// One value.
#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    /// No value.
    Unset,
    /// A point in time.
    Time(Instant),
    /// A duration in nanoseconds.
    Nanos(u64),
    /// A whole number.
    Count(u64),
    /// A real number.
    Real(f64),
    /// A word or an address.
    Text(String),
}

impl Cell {
    /// Returns the cell of a value, or an unset cell.
    pub fn of<T>(value: Option<T>, cell: fn(T) -> Self) -> Self {
        value.map_or(Self::Unset, cell)
    }
}

/// A column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Name of the column, without a unit.
    pub name: Cow<'static, str>,
    /// Kind of its cells.
    pub kind: Kind,
}

/// Name and columns of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Name of the table.
    pub name: &'static str,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Number of columns, from the first, that name a row and its time; they are always written.
    identity: usize,
}

impl Layout {
    /// Creates a table with these columns.
    pub fn new(name: &'static str, columns: &[(&'static str, Kind)]) -> Self {
        let column =
            |(name, kind): &(&'static str, Kind)| Column { name: (*name).into(), kind: *kind };
        let identity = columns.len();
        Self { name, columns: columns.iter().map(column).collect(), identity }
    }

    /// Selection of the columns that are written: those that name a row and its time, and the measures and
    /// metrics that are reported.
    pub fn reported(&self, only: &Subset) -> Vec<bool> {
        let is_reported = |(place, column): (usize, &Column)| {
            let sides = ["orig_", "resp_", "sent_", "received_"];
            let bare = sides.iter().find_map(|side| column.name.strip_prefix(side));
            let name = bare.unwrap_or(&column.name);
            let unit = if column.kind == Kind::Span { NANOSECONDS } else { "" };
            place < self.identity || only.has(&format!("{name}{unit}"))
        };
        self.columns.iter().enumerate().map(is_reported).collect()
    }

    /// Adds a column for each of these values.
    pub fn extend(&mut self, prefix: &str, values: &Values) {
        for (measure, _) in values {
            let name = measure.to_string();
            let (name, kind) = match name.strip_suffix(NANOSECONDS) {
                Some(name) => (name, Kind::Span),
                None => (name.as_str(), Kind::Count),
            };
            self.columns.push(Column { name: format!("{prefix}{name}").into(), kind });
        }
    }

    /// Adds a column for each of these numbers.
    pub fn extend_reals(&mut self, prefix: &str, names: impl IntoIterator<Item = &'static str>) {
        let column = |name| Column { name: format!("{prefix}{name}").into(), kind: Kind::Real };
        self.columns.extend(names.into_iter().map(column));
    }
}

/// Returns the cells of values that have a column each.
pub fn cells(values: Values) -> impl Iterator<Item = Cell> {
    values.into_iter().map(|(measure, value)| match measure.unit() {
        Unit::Nanoseconds => Cell::Nanos(value),
        Unit::One | Unit::Octets | Unit::Number => Cell::Count(value),
    })
}

/// Destination of the rows of a table.
pub trait Sheet {
    /// Writes the header; measuring began at `began`.
    fn open(&mut self, layout: &Layout, began: Instant) -> io::Result<()>;
    /// Writes a row.
    fn row(&mut self, row: &[Cell]) -> io::Result<()>;
    /// Writes the trailer; measuring ended at `ended`.
    fn close(&mut self, ended: Instant) -> io::Result<()>;
}

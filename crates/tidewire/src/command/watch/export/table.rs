//! A table as plain data: columns of a kind, cells that may be empty, and where rows go.

use meter::measure::Values;
use std::borrow::Cow;
use std::io;
use wire::time::Instant;

/// What the cells of a column are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::command::watch) enum Kind {
    /// Points in time.
    Time,
    /// Spans of time.
    Span,
    /// Whole numbers.
    Count,
    /// Other numbers.
    Real,
    /// Words and addresses.
    Text,
    /// TCP ports.
    Port,
}

/// One value.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::command::watch) enum Cell {
    /// There is none.
    Unset,
    /// A point in time.
    Time(Instant),
    /// A span of time in nanoseconds.
    Nanos(u64),
    /// A whole number.
    Count(u64),
    /// Another number.
    Real(f64),
    /// A word or an address.
    Text(String),
}

impl Cell {
    /// A cell of what may be missing.
    pub(in crate::command::watch) fn of<T>(value: Option<T>, cell: fn(T) -> Self) -> Self {
        value.map_or(Self::Unset, cell)
    }
}

/// A column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::command::watch) struct Column {
    /// What it is called, without a unit.
    pub(in crate::command::watch) name: Cow<'static, str>,
    /// What its cells are.
    pub(in crate::command::watch) kind: Kind,
}

/// What a table is called, and its columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::command::watch) struct Layout {
    /// What the table is called.
    pub(in crate::command::watch) name: &'static str,
    /// Its columns.
    pub(in crate::command::watch) columns: Vec<Column>,
}

/// Behind the name of a value that is a span of time.
pub(in crate::command::watch) const NANOS: &str = "_ns";

impl Layout {
    /// A table with these columns.
    pub(super) fn new(name: &'static str, columns: &[(&'static str, Kind)]) -> Self {
        let column =
            |(name, kind): &(&'static str, Kind)| Column { name: (*name).into(), kind: *kind };
        Self { name, columns: columns.iter().map(column).collect() }
    }

    /// Adds a column for each of these values.
    pub(super) fn extend(&mut self, prefix: &str, values: &Values) {
        for (name, _) in values {
            let (name, kind) = match name.strip_suffix(NANOS) {
                Some(name) => (name, Kind::Span),
                None => (name.as_ref(), Kind::Count),
            };
            self.columns.push(Column { name: format!("{prefix}{name}").into(), kind });
        }
    }

    /// Adds a column for each of these numbers.
    pub(super) fn extend_reals(
        &mut self,
        prefix: &str,
        names: impl IntoIterator<Item = &'static str>,
    ) {
        let column = |name| Column { name: format!("{prefix}{name}").into(), kind: Kind::Real };
        self.columns.extend(names.into_iter().map(column));
    }
}

/// The cells of values that have a column each.
pub(super) fn cells(values: Values) -> impl Iterator<Item = Cell> {
    values.into_iter().map(|(name, value)| {
        if name.ends_with(NANOS) { Cell::Nanos(value) } else { Cell::Count(value) }
    })
}

/// Where the rows of a table go.
pub(in crate::command::watch) trait Sheet {
    /// Writes what stands before the rows; measuring began at this time.
    fn open(&mut self, layout: &Layout, began: Instant) -> io::Result<()>;
    /// Writes a row.
    fn row(&mut self, row: &[Cell]) -> io::Result<()>;
    /// Writes what stands behind the rows; measuring ended at this time.
    fn close(&mut self, ended: Instant) -> io::Result<()>;
}

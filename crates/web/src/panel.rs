//! A table of the page as plain data.

use meter::registry::Measure;
use records::findings::Grade;
use records::quantity;
use serde::Serialize;
use std::borrow::Cow;
use wire::printable::bounded;

/// Most characters of a text; names come from captures and may be long.
const MOST_CHARACTERS: usize = 200;

/// Table with its heading.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Panel {
    /// Name in addresses.
    pub id: &'static str,
    /// Heading.
    pub title: &'static str,
    /// Content in a sentence, with its counts.
    pub about: String,
    /// Columns.
    pub columns: Vec<Column>,
    /// Rows, the worst first.
    pub rows: Vec<Row>,
}

/// Column of a table.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Column {
    /// Heading.
    pub title: &'static str,
    /// Meaning, shown on request.
    pub help: Cow<'static, str>,
    /// True of numbers, which are aligned to the right.
    pub is_number: bool,
}

/// Row of a table.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Row {
    /// Severity: `bad`, `look`, or none.
    pub grade: Option<&'static str>,
    /// Connection that the row is about.
    pub connection: Option<u32>,
    /// Cells, in the order of the columns.
    pub cells: Vec<Cell>,
}

/// Cell: the value by which rows are sorted, none of a text, and the text that is shown.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Cell(pub(crate) Option<u64>, pub(crate) String);

impl Column {
    /// Column of texts.
    pub(crate) const fn text(title: &'static str, help: &'static str) -> Self {
        Self { title, help: Cow::Borrowed(help), is_number: false }
    }

    /// Column of what a row has of a measure, with the definition in `tidewire help metrics`.
    pub(crate) fn measure(title: &'static str, what: &str, measure: Measure) -> Self {
        Self { title, help: format!("{what}: {}", measure.help()).into(), is_number: true }
    }

    /// Column of numbers.
    pub(crate) const fn number(title: &'static str, help: &'static str) -> Self {
        Self { title, help: Cow::Borrowed(help), is_number: true }
    }
}

impl Row {
    pub(crate) fn new(grade: Option<Grade>, cells: Vec<Cell>) -> Self {
        Self { grade: grade.map(grade_name), connection: None, cells }
    }

    pub(crate) fn of_connection(self, id: u32) -> Self {
        Self { connection: Some(id), ..self }
    }
}

impl Cell {
    /// Text from outside: bounded, with its unprintable characters spelled out.
    pub(crate) fn text(text: impl AsRef<str>) -> Self {
        Self(None, shown(text.as_ref()))
    }

    /// Count, in full.
    pub(crate) fn count(count: u64) -> Self {
        Self(Some(count), count.to_string())
    }

    /// Time in nanoseconds.
    pub(crate) fn span(nanos: u64) -> Self {
        Self(Some(nanos), quantity::span(nanos))
    }

    /// Time, if there is one.
    pub(crate) fn optional_span(nanos: Option<u64>) -> Self {
        nanos.map_or_else(Self::none, Self::span)
    }

    /// Quantile of this share of `count` times, if they are enough for it.
    pub(crate) fn quantile(share: f64, count: u64, nanos: Option<u64>) -> Self {
        Self::optional_span(quantity::enough(share, count, nanos))
    }

    /// No value.
    pub(crate) fn none() -> Self {
        Self(None, "–".to_owned())
    }
}

/// Name of a severity on the page.
pub(crate) const fn grade_name(grade: Grade) -> &'static str {
    match grade {
        Grade::Bad => "bad",
        Grade::Look => "look",
        Grade::Note => "note",
    }
}

/// A text that can be shown: bounded, with its unprintable characters spelled out.
pub(crate) fn shown(text: &str) -> String {
    bounded(text, MOST_CHARACTERS)
}

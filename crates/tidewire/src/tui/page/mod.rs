//! Pages of measures: a model as rows of text. Each page is a function of the model, the operator's
//! settings and the available room; it draws nothing. The monitor, which is no page of rows, has its
//! own module.

mod connection;
mod connections;
mod digest;
mod events;
#[cfg(test)]
pub(in crate::tui) mod fed;
mod matrix;
pub(in crate::tui) mod overview;
mod passed;
mod services;
mod streams;
mod transactions;
mod volumes;

use super::monitor::MeterState;
use super::passed::Passed;
use super::theme::Symbols;
use records::findings::Grade;
pub(super) use records::quantity::{counted_short as counted, short};
use records::state::Model;

pub(super) use connections::SORTS;
pub(super) use digest::digest;

/// A page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Page {
    /// Bars of packets and bits, delays and events.
    Monitor,
    /// Findings, then totals.
    Overview,
    /// Connections.
    Connections,
    /// Hosts.
    Hosts,
    /// TPDUs by kind.
    Tpdus,
    /// Sizes.
    Sizes,
    /// Traffic matrix.
    Matrix,
    /// One connection in depth.
    One,
    /// Events.
    Events,
    /// Losses during collection, and settings of the measurement.
    Capture,
    /// Services of associations.
    Services,
    /// Streams of cyclic data.
    Streams,
    /// Requests and replies.
    Transactions,
    /// TPDUs of one connection. It has no number: it is opened from the page of its connection.
    Passed,
}

impl Page {
    /// All pages with a number, in their order.
    pub(super) const ALL: [Self; 13] = [
        Self::Monitor,
        Self::Overview,
        Self::Connections,
        Self::Hosts,
        Self::Tpdus,
        Self::Sizes,
        Self::Matrix,
        Self::One,
        Self::Events,
        Self::Capture,
        Self::Services,
        Self::Streams,
        Self::Transactions,
    ];

    /// Label of its tab.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Monitor => "monitor",
            Self::Overview => "overview",
            Self::Connections => "conn.",
            Self::Hosts => "hosts",
            Self::Tpdus => "TPDUs",
            Self::Sizes => "sizes",
            Self::Matrix => "matrix",
            Self::One => "one",
            Self::Events => "events",
            Self::Capture => "capture",
            Self::Services => "MMS",
            Self::Streams => "cyclic",
            Self::Transactions => "requests",
            Self::Passed => "list",
        }
    }

    /// Returns the page whose tab stands for it.
    pub(super) const fn tab(self) -> Self {
        if let Self::Passed = self { Self::One } else { self }
    }

    /// Returns its key: its number, or a letter beyond 9.
    pub(super) const fn key(self) -> char {
        match self {
            Self::Services => 'm',
            Self::Streams => 'c',
            Self::Transactions => 'r',
            Self::Passed => Self::One.key(),
            numbered => (b'0' + numbered as u8) as char,
        }
    }
}

/// A row.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Row {
    pub(super) text: String,
    pub(super) grade: Option<Grade>,
    /// Connection that Enter opens.
    pub(super) connection: Option<u32>,
    pub(super) page: Option<Page>,
    /// Host whose connections Enter opens.
    pub(super) host: Option<String>,
}

impl Row {
    /// Returns the page that Enter opens, if there is one.
    pub(super) const fn opens(&self) -> Option<Page> {
        match self {
            Self { page: Some(page), .. } => Some(*page),
            Self { connection: Some(_), .. } => Some(Page::One),
            Self { host: Some(_), .. } => Some(Page::Connections),
            Self { .. } => None,
        }
    }

    fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// A page in rows.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Sheet {
    /// Description of the page in a line.
    pub(super) about: String,
    /// Column headings, if it has any.
    pub(super) heading: Option<String>,
    pub(super) rows: Vec<Row>,
}

/// Room available for rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Room {
    pub(super) columns: usize,
    pub(super) rows: usize,
    pub(super) symbols: Symbols,
}

/// Selection of what is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice<'a> {
    pub(super) page: Page,
    /// Index into [`SORTS`].
    pub(super) sort: usize,
    /// Text of the rows that are shown; all if it is empty.
    pub(super) filter: &'a str,
    /// Connection that is shown in depth.
    pub(super) chosen: Option<u32>,
    /// Host whose connections are listed; those of all if none.
    pub(super) host: Option<&'a str>,
    /// State of the meter, if it is in this process.
    pub(super) state: Option<MeterState>,
    /// Newest TPDUs of the chosen connection, the oldest first; none without frames.
    pub(super) passed: Option<&'a [Passed]>,
}

/// Returns the rows of the selected page.
pub(super) fn sheet(model: &Model, choice: Choice<'_>, room: Room) -> Sheet {
    let mut sheet = match choice.page {
        // Without frames to sample there is no monitor.
        Page::Monitor | Page::Overview => overview::sheet(model, room),
        Page::Connections => connections::sheet(model, choice, room),
        Page::Hosts => volumes::hosts(model, room),
        Page::Tpdus => volumes::tpdus(model, room),
        Page::Sizes => volumes::sizes(model, room),
        Page::Matrix => matrix::sheet(model, room),
        Page::One => connection::sheet(model, choice, room),
        Page::Events => events::events(model, room),
        Page::Capture => events::capture(model, choice.state),
        Page::Services => services::sheet(model, room),
        Page::Streams => streams::sheet(model, room),
        Page::Transactions => transactions::sheet(model, room),
        Page::Passed => passed::sheet(model, choice, room),
    };
    let is_list = matches!(
        choice.page,
        Page::Connections
            | Page::Hosts
            | Page::Events
            | Page::Services
            | Page::Streams
            | Page::Transactions
            | Page::Passed
    );
    if is_list && !choice.filter.is_empty() {
        let filter = choice.filter.to_lowercase();
        sheet.rows.retain(|row| row.text.to_lowercase().contains(&filter));
        // In front, because a narrow screen cuts the end.
        sheet.about = format!("only those with {:?}: {}", choice.filter, sheet.about);
    }
    sheet
}

/// Formats a percentage; `-` if the whole is zero.
fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    format!("{:.1}%", part as f64 / whole as f64 * 100.0)
}

/// Draws a fraction of the greatest value as a bar of at most `columns` columns; a value above zero
/// has at least one column.
fn bar(part: u64, greatest: u64, columns: usize, symbols: Symbols) -> String {
    let share = part as f64 / greatest.max(1) as f64;
    let least = usize::from(part > 0);
    let length = ((share * columns as f64).round() as usize).max(least).min(columns);
    let sign = if symbols == Symbols::Ascii { "#" } else { "█" };
    sign.repeat(length)
}

/// Draws a series as one row, the newest at the right. If there are more values than columns, a
/// column shows the maximum of its values.
fn course(values: &[f64], columns: usize, symbols: Symbols) -> String {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const SIGNS: [char; 9] = [' ', '.', '.', ':', ':', '+', '+', '#', '#'];
    let signs = if symbols == Symbols::Ascii { SIGNS } else { BLOCKS };
    let greatest_of = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let greatest = greatest_of(values);
    let sign = |value: f64| {
        let height = if greatest > 0.0 { (value / greatest * 8.0).ceil() as usize } else { 0 };
        signs.get(height).copied().unwrap_or(' ')
    };
    let shown = values.len().min(columns);
    let part = |column: usize| {
        let [from, to] = [column, column + 1].map(|column| column * values.len() / shown);
        greatest_of(values.get(from..to).unwrap_or_default())
    };
    (0..shown).map(|column| sign(part(column))).collect()
}

/// Formats a time of day as `hh:mm:ss.mmm` (UTC).
pub(super) fn clock(at_ns: u64) -> String {
    let mut text = records::calendar::time_of_day(wire::time::Instant::from_nanos(at_ns));
    text.truncate("00:00:00.000".len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_that_does_not_fit_shows_the_greatest_of_each_part() {
        let values: Vec<f64> = (0..100).map(|at| if at == 3 { 8.0 } else { 1.0 }).collect();
        assert_eq!(course(&values, 10, Symbols::Blocks), "█▁▁▁▁▁▁▁▁▁");
        assert_eq!(course(&[8.0, 1.0], 10, Symbols::Blocks), "█▁");
        assert_eq!(course(&[], 10, Symbols::Blocks), "");
    }
}

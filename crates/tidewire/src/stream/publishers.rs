//! Publishers that are not as a file declares them, as a table of 80 columns.

use crate::table::{Align, Table};
use core::fmt::Write as _;
use records::{Publisher, PublisherState, shortened};

/// Rows of the table.
const SHOWN: usize = 12;
/// Columns for the name of a publisher.
const NAME_COLUMNS: usize = 30;
/// Columns for a value.
const VALUE_COLUMNS: usize = 18;

/// Publishers that are missing, unexpected or different, in the order of their records: the worst first.
pub(super) struct WrongPublishers {
    rows: Vec<[String; 4]>,
    /// Rows that are not shown.
    more: u64,
    /// Number of publishers that the file declares completely.
    declared: u64,
    /// Publishers as the file declares them.
    right: u64,
}

impl WrongPublishers {
    /// Creates an empty list.
    pub(super) const fn new() -> Self {
        Self { rows: Vec::new(), more: 0, declared: 0, right: 0 }
    }

    /// Adds a publisher.
    pub(super) fn add(&mut self, publisher: &Publisher) {
        let is_declared =
            !matches!(publisher.state, PublisherState::Unexpected | PublisherState::Incomplete);
        self.declared += u64::from(is_declared);
        let address = || publisher.destination.clone().unwrap_or_default();
        match publisher.state {
            PublisherState::NotSeen => self.row(publisher, "missing", address(), "-".to_owned()),
            PublisherState::NotDue => self.row(publisher, "not due", address(), "-".to_owned()),
            PublisherState::Unexpected => {
                self.row(publisher, "unexpected", "-".to_owned(), address());
            }
            PublisherState::Silent => {
                let frames = format!("{} frames", publisher.frames);
                self.row(publisher, "silent", "-".to_owned(), frames);
            }
            PublisherState::AsDeclared => self.right += 1,
            PublisherState::Different | PublisherState::Incomplete => {}
        }
        for it in &publisher.differences {
            self.row(publisher, &it.field, it.declared.clone(), it.seen.clone());
        }
    }

    fn row(&mut self, publisher: &Publisher, what: &str, declared: String, seen: String) {
        if self.rows.len() >= SHOWN {
            self.more += 1;
            return;
        }
        // The address of an unexpected publisher is in its row, too.
        let name =
            publisher.ied.as_ref().map_or_else(|| publisher.name.clone(), |_| publisher.label());
        let name = shortened(&name, NAME_COLUMNS);
        let [declared, seen] = [declared, seen].map(|it| shortened(&it, VALUE_COLUMNS));
        self.rows.push([name, what.to_owned(), declared, seen]);
    }

    /// Returns the table, or a line if all are as declared; none without a file.
    pub(super) fn table(&self) -> Option<String> {
        if self.declared == 0 && self.rows.is_empty() {
            return None;
        }
        let right =
            format!("  {} of {} declared publishers match the file", self.right, self.declared);
        if self.rows.is_empty() {
            return Some(right);
        }
        let mut table = Table::new([
            ("publisher", Align::Left),
            ("difference", Align::Left),
            ("declared", Align::Left),
            ("seen", Align::Left),
        ]);
        self.rows.iter().for_each(|row| table.row(row.clone()));
        let mut text = table.to_string();
        if self.more > 0 {
            let _ = write!(text, "\n  and {} more differences: --json", self.more);
        }
        let _ = write!(text, "\n{right}");
        Some(text)
    }
}

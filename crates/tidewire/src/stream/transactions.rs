//! Requests and replies as a table of 80 columns, the slowest functions first.

use crate::quantity::{enough, span};
use crate::table::{Align, Table};
use core::fmt::Write as _;
use records::{ENOUGH, Transactions, shortened};

/// Number of functions in the table.
const SHOWN: usize = 10;
/// Number of functions kept for it.
const KEPT: usize = 64;
/// Columns for a server.
const SERVER_COLUMNS: usize = 15;
/// Columns for a function.
const FUNCTION_COLUMNS: usize = 15;

/// The functions with the slowest replies of all reported.
pub(super) struct SlowestFunctions {
    kept: Vec<Transactions>,
    all: u64,
}

impl SlowestFunctions {
    /// Creates an empty list.
    pub(super) const fn new() -> Self {
        Self { kept: Vec::new(), all: 0 }
    }

    /// Adds the transactions of a function.
    pub(super) fn add(&mut self, of: &Transactions) {
        self.all += 1;
        self.kept.push(of.clone());
        if self.kept.len() >= KEPT {
            self.sort();
        }
    }

    /// Number of functions.
    pub(super) const fn count(&self) -> u64 {
        self.all
    }

    fn sort(&mut self) {
        self.kept.sort_by(Transactions::slower);
        self.kept.truncate(SHOWN);
    }

    /// Returns the slowest functions and the number of all; none if there were none.
    pub(super) fn table(&mut self) -> Option<String> {
        self.sort();
        let mut table = Table::new([
            ("slowest server", Align::Left),
            ("unit", Align::Right),
            ("function", Align::Left),
            ("count", Align::Right),
            ("fail", Align::Right),
            ("p50", Align::Right),
            ("p99", Align::Right),
            ("max", Align::Right),
        ]);
        for it in &self.kept {
            table.row([
                shortened(&it.server, SERVER_COLUMNS),
                it.unit.to_string(),
                it.function_front(FUNCTION_COLUMNS),
                it.replies.to_string(),
                it.exceptions.saturating_add(it.unanswered).to_string(),
                time(enough(0.5, it.responses, it.response_p50_ns)),
                time(enough(0.99, it.responses, it.response_p99_ns)),
                time(it.response_max_ns),
            ]);
        }
        let mut text = table.to_string();
        let more = self.all - self.kept.len() as u64;
        if more > 0 {
            let _ = write!(text, "\n  and {more} more functions");
        }
        if self.kept.iter().any(|it| it.responses < ENOUGH) {
            let _ = write!(text, "\n  functions with fewer than {ENOUGH} response times come last");
        }
        (!self.kept.is_empty()).then_some(text)
    }
}

/// A time without a space, so that the columns fit.
fn time(nanos: Option<u64>) -> String {
    nanos.map_or_else(|| "-".to_owned(), |nanos| span(nanos).replace(' ', ""))
}

//! A live page of what a meter counts, for browsers.
//!
//! ```text
//! records -> Model -> Snapshot -> JSON -> server-sent events -> the page (`page/`, bundled in `dist/`)
//!                        `-> tables in HTML, for browsers without JavaScript
//! stored runs -> Shelf -> their list, and reports, without scripts
//! runs under way -> Ongoing -> Progress -> parts of a page in HTML, as events and at once
//! ```
//!
//! The page shows what the screens of a terminal show, from the same state. The meter never waits for
//! a browser: snapshots are made twice a second at most, however many browsers watch, and a browser
//! that is slow gets the newest one when it is ready.
//!
//! Only this machine can reach the page, unless the operator permits others, and only with the token
//! in the URL that the command prints. The page asks no other machine for anything.
#![forbid(unsafe_code)]

mod answer;
mod connection;
mod document;
mod feed;
mod guard;
mod listener;
mod panel;
mod panels;
mod progress;
mod server;
mod shelf;
mod snapshot;
mod tables;

use records::state::Model;

pub use progress::{Line, Ongoing, Progress, Sheet, Stage};
pub use server::{Reach, Server};
pub use shelf::{Shelf, StoredRun};

/// A table of the page with its headings: `connections`, `hosts`, `delays`, `events`, `services`, `streams` or
/// `transactions`. Counts are in full, and times in nanoseconds. `None` if it has no rows, or if there is no such table.
#[must_use]
pub fn table(model: &Model, id: &str) -> Option<Vec<Vec<String>>> {
    let panel = panels::panels(model).into_iter().find(|panel| panel.id == id)?;
    let heading = panel.columns.iter().map(|column| column.title.to_owned()).collect();
    let cell = |panel::Cell(value, text): panel::Cell| value.map_or(text, |it| it.to_string());
    let rows = panel.rows.into_iter().map(|row| row.cells.into_iter().map(cell).collect());
    Some([heading].into_iter().chain(rows).collect())
}

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

pub use progress::{Line, Ongoing, Progress, Sheet, Stage};
pub use server::{Reach, Server};
pub use shelf::{Shelf, StoredRun};

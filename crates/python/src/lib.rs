//! Python's side of tidewire: scenarios simulated, captures metered, and runs read, as columns.
//!
//! ```text
//! predict(scenario) ─ bench::run ───────┐
//!                                       ├─ study:   samples, results, verdicts, figures ─┐
//! read(run folder) ── bench::folder ────┘                                                ├─ table: Arrow columns
//! watch(capture) ──── records::Recorder ── watched: hosts, connections, streams ... ─────┘
//! ```
//!
//! The numbers are those of the command: nothing is computed here. Work runs without the interpreter's lock, and ends
//! within 50 ms of Ctrl-C. The package `tidewire` (in the folder of that name) wraps these functions, documents them for
//! users, and has their types.

#![forbid(unsafe_code)]

mod comparison;
mod figure;
mod interruptible;
mod study;
mod table;
mod watched;

use pyo3::prelude::*;

/// The functions and classes of the package, without its conveniences.
#[pymodule]
mod _tidewire {
    #[pymodule_export]
    use super::comparison::compare;
    #[pymodule_export]
    use super::figure::Figure;
    #[pymodule_export]
    use super::study::{Runs, predict, read, scenario_text, scenarios};
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::watched::{Watched, watch};
}

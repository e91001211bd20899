//! Outcome of the requirements of `watch` on a terminal and in NDJSON.

use crate::output::Output;
use crate::table::{Align, Table};
use bench::verdict::Verdict;
use records::require::Requirements;
use std::io;

/// Prints the outcome of each requirement.
pub(in crate::command) fn print(requirements: &Requirements, output: &Output) -> io::Result<()> {
    for record in requirements.records() {
        output.record(&record)?;
    }
    let verdict = requirements.verdict().unwrap_or(Verdict::Pass);
    let [all, of] = requirements.count(verdict);
    if output.json || all == 0 {
        return Ok(());
    }
    let mut table = Table::new([
        ("requirement", Align::Left),
        ("of", Align::Left),
        ("found", Align::Right),
        ("interval", Align::Left),
        ("verdict", Align::Left),
    ]);
    requirements.rows().into_iter().for_each(|row| table.row(row));
    output.line(format_args!("\n{table}"))?;
    output.line(format_args!("verdict  {} ({of} of {all})", verdict.word()))
}

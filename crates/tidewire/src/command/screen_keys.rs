//! Options of all screens: `--keys`, `--print-keys` and `--terminal-rate`.

use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::quantity;
use crate::table::{Align, Table};
use crate::tui::Keys;
use bench::scenario::Rate;
use wire::units::BitRate;

/// Returns the bindings with the changes of `--keys`.
///
/// # Errors
/// A usage error on an invalid change, and on a key with two actions on one page.
pub(super) fn read(changes: Option<&str>) -> Result<Keys, Failure> {
    Keys::new(changes.unwrap_or_default())
        .map_err(|bad| Failure::usage(format!("--keys: {bad}")).with_fix("tidewire help screens"))
}

/// Returns the rate of the line to the terminal; none without `--terminal-rate`.
///
/// # Errors
/// A usage error on a text that is no rate.
pub(super) fn line(rate: Option<&str>) -> Result<Option<BitRate>, Failure> {
    let rate = rate.map(|rate| quantity::option::<Rate>("--terminal-rate", rate)).transpose()?;
    Ok(rate.map(|Rate(rate)| rate))
}

/// Prints the bindings with the changes of `--keys`.
pub(super) fn print(changes: Option<&str>, output: &Output) -> anyhow::Result<Exit> {
    let columns = ["action", "keys", "pages", ""].map(|title| (title, Align::Left));
    let mut table = Table::new(columns);
    for binding in read(changes)?.all() {
        output.record(&binding)?;
        let [action, pages, what] =
            [binding.action, binding.pages, binding.what].map(str::to_owned);
        table.row([action, binding.keys.join(" "), pages, what]);
    }
    output.line(table)?;
    Ok(Exit::Ok)
}

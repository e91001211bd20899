//! Key bindings of the screens: `--keys` and `--print-keys`.

use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::table::{Align, Table};
use crate::tui::Keys;

/// Returns the bindings with the changes of `--keys`.
///
/// # Errors
/// A usage error on an invalid change, and on a key with two actions on one page.
pub(super) fn read(changes: Option<&str>) -> Result<Keys, Failure> {
    Keys::new(changes.unwrap_or_default())
        .map_err(|bad| Failure::usage(format!("--keys: {bad}")).with_fix("tidewire help screens"))
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

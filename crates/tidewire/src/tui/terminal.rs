//! The terminal: takes it over, and always restores it.

use super::draw::{LEAST_COLUMNS, LEAST_ROWS};
use crate::exit::Failure;
use crate::interrupt;
use ratatui::crossterm::{cursor, execute, terminal};
use std::io::{self, IsTerminal as _, Write};

/// Checks that there is a terminal with enough room.
///
/// # Errors
/// Names what is missing, and an option that works without it.
pub(crate) fn check_screen() -> Result<(), Failure> {
    const FIX: &str = "--plain writes a line per sampling interval instead";
    if !io::stdout().is_terminal() {
        return Err(Failure::usage("--screen needs a terminal on standard output").with_fix(FIX));
    }
    let (columns, rows) = terminal::size().map_err(|error| {
        Failure::failed(format!("the terminal does not tell its size: {error}"))
    })?;
    if columns < LEAST_COLUMNS || rows < LEAST_ROWS {
        return Err(Failure::usage(format!(
            "--screen needs {LEAST_COLUMNS} columns and {LEAST_ROWS} rows: \
             here are {columns} and {rows}"
        ))
        .with_fix(FIX));
    }
    Ok(())
}

/// The terminal while the screen owns it.
pub(crate) struct Session;

impl Session {
    /// Takes over the terminal, and ensures that it is restored even after an interrupt or a panic.
    pub(crate) fn begin() -> anyhow::Result<Self> {
        interrupt::install_with(end_without_terminal, leave)?;
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            leave();
            hook(panic);
        }));
        Ok(Self::enter()?)
    }

    fn enter() -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        // From here on it is restored even if the next line fails.
        let session = Self;
        execute!(io::stdout(), terminal::EnterAlternateScreen, cursor::Hide)?;
        Ok(session)
    }
}

/// Ends the process if the terminal is gone: otherwise the key reader would loop without end.
fn end_without_terminal() {
    if !io::stdin().is_terminal() {
        std::process::exit(130);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        leave();
    }
}

/// Restores the terminal; a second call has no effect.
fn leave() {
    // A failure here cannot be handled.
    let _ = terminal::disable_raw_mode();
    let _ = execute!(io::stdout(), terminal::LeaveAlternateScreen, cursor::Show);
    let _ = io::stdout().flush();
}

//! Results to standard output, as text or NDJSON; everything else to standard error.

use serde::Serialize;
use std::io::{self, IsTerminal, Write};

/// Where results go and in which form.
#[derive(Clone, Copy)]
pub(crate) struct Output {
    /// NDJSON instead of text.
    pub(crate) json: bool,
    /// Nothing but results.
    pub(crate) quiet: bool,
}

impl Output {
    /// One line of text, where text is wanted.
    pub(crate) fn line(&self, line: impl std::fmt::Display) -> io::Result<()> {
        if self.json {
            return Ok(());
        }
        writeln!(io::stdout().lock(), "{line}").map_err(named)
    }

    /// One record, where NDJSON is wanted; written out at once, so that a reader sees it.
    pub(crate) fn record(&self, record: &impl Serialize) -> io::Result<()> {
        if !self.json {
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        let written = serde_json::to_writer(&mut stdout, record).map_err(io::Error::from);
        written.and_then(|()| stdout.write_all(b"\n")).and_then(|()| stdout.flush()).map_err(named)
    }

    /// A remark on standard error, unless quiet.
    pub(crate) fn remark(&self, remark: impl std::fmt::Display) {
        if !self.quiet {
            eprintln!("{remark}");
        }
    }

    /// Whether a progress bar may be drawn.
    pub(crate) fn draws_progress(&self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }
}

/// An error of standard output, which says so; its kind stays.
fn named(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write to standard output: {error}"))
}

//! Results to standard output, as text or NDJSON; everything else to standard error.

use crate::interrupt;
use crate::interruptible_writer::{self, PATIENCE, Patient};
use crate::log;
use bench::paragraph::{COLUMNS, wrapped};
use memchr::memrchr;
use serde::Serialize;
use std::fmt::{self, Display};
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use wire::printable::{Printable, is_printable};

/// Lines that standard output did not take whole, because the reader stopped reading after an interrupt.
/// After the first nothing more is written: it would go on where a line was cut.
static UNREAD_LINES: AtomicU64 = AtomicU64::new(0);
static UNREAD_OCTETS: AtomicU64 = AtomicU64::new(0);
/// True if standard error was given up in the same way.
static IS_UNHEARD: AtomicBool = AtomicBool::new(false);

/// True if an `end` record was written, which states how the command ended.
static HAS_ENDED: AtomicBool = AtomicBool::new(false);

/// Returns true if an `end` record was written.
pub(crate) fn has_ended() -> bool {
    HAS_ENDED.load(Ordering::Relaxed)
}

/// Output that was not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Unread {
    lines: u64,
    octets: u64,
}

impl Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lines, octets } = self;
        let seconds = PATIENCE.as_secs();
        let plural = if *lines == 1 { "" } else { "s" };
        write!(
            f,
            "nothing was read for {seconds} s after the interrupt; {lines} line{plural} not written \
             ({octets} octets)"
        )
    }
}

/// Output that standard output did not take, if any.
pub(crate) fn unread() -> Option<Unread> {
    let [lines, octets] = [&UNREAD_LINES, &UNREAD_OCTETS].map(|of| of.load(Ordering::Relaxed));
    (lines > 0).then_some(Unread { lines, octets })
}

/// Destination and format of results.
#[derive(Clone, Copy)]
pub(crate) struct Output {
    /// NDJSON instead of text.
    pub(crate) json: bool,
    /// Nothing but results.
    pub(crate) quiet: bool,
}

impl Output {
    /// One line of text, where text is wanted.
    pub(crate) fn line(&self, line: impl Display) -> io::Result<()> {
        if self.json { Ok(()) } else { self.text(line.to_string()) }
    }

    /// A line of text that is made already, where text is wanted.
    pub(crate) fn text(&self, mut line: String) -> io::Result<()> {
        if self.json {
            return Ok(());
        }
        line.push('\n');
        put(printable(line).as_bytes())
    }

    /// One record, where NDJSON is wanted; written out at once, so that a reader sees it.
    pub(crate) fn record(&self, record: &impl Serialize) -> io::Result<()> {
        if !self.json {
            return Ok(());
        }
        let mut line = serde_json::to_vec(record).map_err(io::Error::from)?;
        line.push(b'\n');
        HAS_ENDED.fetch_or(line.starts_with(br#"{"type":"end","#), Ordering::Relaxed);
        put(&line)
    }

    /// Lines that are made already, of text or of NDJSON; they are written out at once, and `lines` is
    /// empty afterwards.
    pub(crate) fn lines(&self, lines: &mut Vec<u8>) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let whole = lines.trim_ascii_end();
        let last = memrchr(b'\n', whole).and_then(|at| whole.get(at + 1..)).unwrap_or(whole);
        let is_end = self.json && last.starts_with(br#"{"type":"end","#);
        HAS_ENDED.fetch_or(is_end, Ordering::Relaxed);
        let written = put(lines);
        lines.clear();
        written
    }

    /// A remark on standard error, unless quiet.
    pub(crate) fn remark(&self, remark: impl Display) {
        if !self.quiet {
            say(remark);
        }
    }

    /// Prints a warning to standard error, unless quiet: on a terminal in lines that fit it.
    pub(crate) fn warn(&self, warning: &str) {
        if log::is_json() {
            self.remark(format_args!("warning: {warning}"));
        } else {
            self.remark(wrapped("warning: ", warning));
        }
    }

    /// True if a progress bar may be drawn.
    pub(crate) fn draws_progress(&self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }
}

/// Appends a line of text, for [`Output::lines`].
pub(crate) fn push_text(lines: &mut Vec<u8>, line: String) {
    lines.extend_from_slice(printable(line).as_bytes());
    lines.push(b'\n');
}

/// A text without characters that a terminal obeys or that hide or reorder others: a name may come from a capture, a
/// file or another process. They are escaped, as `\u{1b}`; ends of lines stay.
pub(crate) fn printable(text: String) -> String {
    // Most texts have no other octets than these.
    let is_plain = text.bytes().all(|octet| matches!(octet, b'\n' | b' '..=b'~'));
    if is_plain || text.chars().all(|symbol| symbol == '\n' || is_printable(symbol)) {
        return text;
    }
    let lines: Vec<String> = text.split('\n').map(|line| Printable(line).to_string()).collect();
    lines.join("\n")
}

/// Writes lines to standard output; lines that are not read after an interrupt are counted.
fn put(lines: &[u8]) -> io::Result<()> {
    let (taken, ended) = match unread() {
        None => Patient::standard_output().put(lines),
        Some(_) => (0, Err(io::ErrorKind::TimedOut.into())),
    };
    match ended {
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            let rest = lines.get(taken..).unwrap_or_default();
            let ends = rest.iter().filter(|octet| **octet == b'\n').count();
            UNREAD_LINES.fetch_add(ends as u64, Ordering::Relaxed);
            UNREAD_OCTETS.fetch_add(rest.len() as u64, Ordering::Relaxed);
            Ok(())
        }
        ended => ended.map_err(named),
    }
}

/// Prints a line to standard error, unless that is not read after an interrupt.
pub(crate) fn say(what: impl Display) {
    if !IS_UNHEARD.load(Ordering::Relaxed) {
        let Some(mut line) = log::line(what.to_string()) else { return };
        if !log::is_json() && io::stderr().is_terminal() {
            line = fitted(&line);
        }
        let (_, said) = Patient::new(io::stderr()).put(printable(format!("{line}\n")).as_bytes());
        let is_unheard = said.is_err_and(|error| error.kind() == io::ErrorKind::TimedOut);
        IS_UNHEARD.fetch_or(is_unheard, Ordering::Relaxed);
    }
}

/// Breaks lines that are wider than a terminal between words. Indented lines stay: most are commands to copy.
fn fitted(text: &str) -> String {
    let is_wide = |line: &str| line.chars().count() > COLUMNS && !line.starts_with(' ');
    let fit = |line: &str| if is_wide(line) { wrapped("", line) } else { line.to_owned() };
    text.split('\n').map(fit).collect::<Vec<_>>().join("\n")
}

/// Prints a line to standard error if that takes no wait.
fn say_at_once(what: &str) {
    if interruptible_writer::has_room(&io::stderr()) {
        say(what);
    }
}

/// Takes over interrupts, and acknowledges the first on standard error; the flag they set.
pub(crate) fn install_interrupts() -> anyhow::Result<&'static AtomicBool> {
    interrupt::install_with(|| say_at_once("\nstopping; once more to abort"), || {})
}

/// An error of standard output, with that name in its text; its kind stays.
fn named(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write to standard output: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_sentence_is_broken_and_a_command_is_not() {
        let command = format!("  tidewire predict --resume {}", "x".repeat(90));
        let text = format!("{}\n{command}", "words ".repeat(20).trim_end());
        let fitted = fitted(&text);
        let lines: Vec<&str> = fitted.lines().collect();
        let [first, second, last] = lines.as_slice() else { panic!("{lines:?}") };
        assert!(first.len() <= COLUMNS && !second.starts_with(' ') && *last == command);
    }
}

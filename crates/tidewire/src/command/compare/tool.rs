//! Files of other tools, known by their content: what they are, and their text.

use crate::exit::Failure;
use crate::interrupt;
use reports::tool::{Format, HEAD_OCTETS, MOST_OCTETS};
use std::io::Read as _;
use std::path::Path;

/// What `compare` reads, for errors.
pub(super) const READS: &str = "compare reads run folders and samples of predict and measure; \
    scenarios, captures and records of watch; .hgrm files of percentiles; JSON of iperf3 -J; and \
    logs of sockperf --full-log";

/// Format of a file of another tool; none of other files, of folders, and of pipes, which can be read but once.
pub(super) fn format(path: &Path) -> Option<Format> {
    if !path.is_file() {
        return None;
    }
    let mut head = Vec::new();
    let file = interrupt::open(path).ok()?;
    file.take(HEAD_OCTETS as u64).read_to_end(&mut head).ok()?;
    Format::of(&head)
}

/// Text of a file.
///
/// # Errors
/// A file that cannot be read, is no text, or is too large.
pub(super) fn text(path: &Path) -> Result<String, Failure> {
    let failed = |error: &dyn core::fmt::Display| {
        Failure::failed(format!("cannot read {}: {error}", path.display()))
    };
    let mut text = String::new();
    let file = interrupt::open(path).map_err(|error| failed(&error))?;
    file.take(MOST_OCTETS + 1).read_to_string(&mut text).map_err(|error| failed(&error))?;
    if text.len() as u64 > MOST_OCTETS {
        let most = MOST_OCTETS >> 20;
        return Err(failed(&format!("a result of another tool has at most {most} MiB")));
    }
    Ok(text)
}

/// Error in a file of a tool.
pub(super) fn malformed(path: &Path, format: Format, error: &str) -> Failure {
    let tool = format.tool();
    let fix = match format {
        Format::Iperf3 => "name a result of iperf3 -J that ran to its end",
        Format::Sockperf => "name a log of sockperf --full-log FILE that ran to its end",
    };
    Failure::failed(format!("{}: {tool}: {error}", path.display())).with_fix(fix)
}

//! Files of other tools, known by their content: what they are, and their text.

use super::source::Source;
use crate::exit::Failure;
use crate::interrupt;
use crate::output::Output;
use crate::runs::{self, Kept};
use bench::folder::{self, Results};
use reports::tool::{Format, HEAD_OCTETS, MOST_OCTETS};
use std::io::Read as _;
use std::path::Path;

/// Kinds of input that `compare` reads, for errors.
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

/// Samples of predict or measure, which a result of another tool is held against.
///
/// # Errors
/// Watched traffic, or samples that cannot be read.
pub(super) fn other_side(path: &Path, output: &Output) -> Result<Results, Failure> {
    if let Source::Capture(path) | Source::Measures(path) = Source::find(path, output) {
        let path = path.display();
        let message = format!("{path} is watched traffic, which is not held against other tools");
        let fix = "name a run of predict or measure; watched traffic is compared with a scenario";
        return Err(Failure::failed(message).with_fix(fix));
    }
    let path = runs::latest(path, Kept::Samples, output);
    folder::read(&path).map_err(|error| Failure::failed(error.to_string()).with_fix(READS))
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

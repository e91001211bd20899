//! Files of percentiles (`.hgrm`) that a command line names.

use crate::args::report::HgrmUnit;
use crate::exit::Failure;
use crate::interrupt;
use reports::hgrm::read::{self, Error, MOST_OCTETS, Percentiles, TimeUnit};
use std::io::Read as _;
use std::path::Path;

/// True if a path names a file of percentiles.
pub(crate) fn is_file(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "hgrm")
}

/// Reads a file of percentiles. `unit` is that of a file that states none.
///
/// # Errors
/// A file that cannot be read, is too large, or is malformed, with the line.
pub(crate) fn read(path: &Path, unit: Option<HgrmUnit>) -> Result<Percentiles, Failure> {
    let failed = |error: &dyn core::fmt::Display| {
        Failure::failed(format!("cannot read {}: {error}", path.display()))
    };
    let mut text = String::new();
    let file = interrupt::open(path).map_err(|error| failed(&error))?;
    file.take(MOST_OCTETS + 1).read_to_string(&mut text).map_err(|error| failed(&error))?;
    if text.len() as u64 > MOST_OCTETS {
        return Err(failed(&format!(
            "a file of percentiles has at most {} MiB",
            MOST_OCTETS >> 20
        )));
    }
    let unit = unit.map(|unit| match unit {
        HgrmUnit::Ns => TimeUnit::Nanoseconds,
        HgrmUnit::Us => TimeUnit::Microseconds,
        HgrmUnit::Ms => TimeUnit::Milliseconds,
        HgrmUnit::S => TimeUnit::Seconds,
    });
    read::read(&path.display().to_string(), &text, unit).map_err(|malformed| {
        let fix = match (malformed.line, &malformed.error) {
            (_, Error::NoUnit) => "name it: --hgrm-unit us, or ns, ms, s",
            _ => "name a file of percentiles of HdrHistogram, wrk2 or report --hgrm",
        };
        let place = malformed.line.map_or_else(String::new, |line| format!(":{line}"));
        Failure::failed(format!("{}{place}: {}", path.display(), malformed.error)).with_fix(fix)
    })
}

/// Makes sure that `--hgrm-unit` is given with such files alone.
///
/// # Errors
/// A usage error if there are none.
pub(crate) fn check(unit: Option<HgrmUnit>, is_any: bool) -> Result<(), Failure> {
    match unit {
        Some(_) if !is_any => {
            let fix = "name a file that ends in .hgrm, or leave it out";
            Err(Failure::usage("--hgrm-unit goes with files of percentiles").with_fix(fix))
        }
        _ => Ok(()),
    }
}

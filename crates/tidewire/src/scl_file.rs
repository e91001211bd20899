//! Substation configuration files that the command reads.

use crate::exit::Failure;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// Octets of a file, of which at most 100,000,001 are read.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let cannot = |error| Failure::failed(format!("cannot read {}: {error}", path.display()));
    let file = File::open(path).map_err(cannot)?;
    let mut octets = Vec::new();
    // One octet more than the reader takes, so that it refuses the file.
    file.take(scl::MOST_OCTETS as u64 + 1).read_to_end(&mut octets).map_err(cannot)?;
    Ok(octets)
}

/// Failure on a file that is no SCL, with the place.
pub(crate) fn wrong(path: &Path, error: &scl::Error) -> Failure {
    let path = path.display();
    match error.place {
        Some(scl::Place { line, column }) => {
            Failure::failed(format!("{path}:{line}:{column}: {}", error.reason))
        }
        None => Failure::failed(format!("{path}: {}", error.reason)),
    }
}

//! File of `--expect`.

use crate::args::export::Export;
use crate::exit::Failure;
use crate::scl_file;
use records::Expectation;

/// Publishers that a file declares; none without a file.
///
/// # Errors
/// A requirement needs a file that is not given; the file cannot be read, is no SCL, or declares no publisher.
pub(super) fn read(export: &Export) -> Result<Option<Expectation>, Failure> {
    let Some(path) = &export.expect else {
        let needs_file = export.require.iter().find(|it| it.is_of_publishers());
        return needs_file.map_or(Ok(None), |wanted| {
            let message = format!(
                "--require {:?} needs --expect: the SCL file with the declared publishers",
                wanted.text
            );
            Err(Failure::usage(message).with_fix("--expect station.scd"))
        });
    };
    let octets = scl_file::read(path)?;
    Expectation::read(&octets).map(Some).map_err(|error| scl_file::wrong(path, &error))
}

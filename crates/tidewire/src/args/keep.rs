//! Limits of the folder of runs.

use crate::exit::Failure;
use crate::oldest_runs::Limits;
use crate::quantity;
use bench::scenario::Size;
use clap::Args;

/// Options that limit the run folders in the folder of `--output`.
#[derive(Args, Default, Clone, Debug)]
pub(crate) struct KeepOptions {
    /// Keep this many run folders in the folder of --output: the oldest that have ended are removed.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) keep_runs: Option<u64>,
    /// Keep run folders of this size together, such as 2GB: the oldest that have ended are removed, the run
    /// just written never.
    #[arg(long, value_name = "SIZE")]
    pub(crate) keep_size: Option<String>,
}

impl KeepOptions {
    /// Returns the limits.
    ///
    /// # Errors
    /// The size is none.
    pub(crate) fn limits(&self) -> Result<Limits, Failure> {
        let size = self.keep_size.as_deref();
        let size = size.map(octets).transpose()?;
        Ok(Limits {
            runs: self.keep_runs.map(|runs| usize::try_from(runs).unwrap_or(usize::MAX)),
            octets: size,
        })
    }
}

/// Reads a size, also in GB and GiB, which no size of a message has.
fn octets(text: &str) -> Result<u64, Failure> {
    let larger = [("GB", "MB", 1_000), ("GiB", "MiB", 1_024)];
    let larger = larger
        .into_iter()
        .find_map(|(unit, smaller, factor)| Some((text.strip_suffix(unit)?, smaller, factor)));
    let (text, factor) = match larger {
        Some((number, smaller, factor)) => (format!("{number}{smaller}"), factor),
        None => (text.to_owned(), 1),
    };
    let Size(octets) = quantity::option("--keep-size", &text)?;
    Ok(octets.saturating_mul(factor))
}

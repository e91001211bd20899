//! Numbers that no peer can predict, from the kernel: nonces of sessions, and keys of their cookies.
//!
//! Results never depend on them. Chance in loads and faults is seeded, and comes from `stats::rng`.

use crate::port::PortError;
use std::io;

/// An unpredictable number.
///
/// # Errors
/// Where the kernel has none to give.
pub fn unpredictable() -> Result<u128, PortError> {
    let mut octets = [0; 16];
    getrandom::fill(&mut octets).map_err(|error| PortError::System {
        doing: "get random numbers",
        source: io::Error::from(error),
    })?;
    Ok(u128::from_be_bytes(octets))
}

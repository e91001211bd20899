//! Random numbers that no peer can predict, from the kernel: nonces of sessions, and keys of their
//! cookies.
//!
//! Results never depend on them. Randomness in loads and faults is seeded, and comes from
//! `stats::rng`.

use crate::port::PortError;
use std::io;

/// Returns an unpredictable number.
///
/// # Errors
/// Fails if the kernel provides none.
pub fn unpredictable() -> Result<u128, PortError> {
    let mut octets = [0; 16];
    getrandom::fill(&mut octets).map_err(|error| PortError::System {
        doing: "get random numbers",
        source: io::Error::from(error),
    })?;
    Ok(u128::from_be_bytes(octets))
}

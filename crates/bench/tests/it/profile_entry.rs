//! Entry of the fuzz target of profiles: reads a text and checks invariants.

use bench::profile::{Layer, parse};
use bench::scenario::MediumKind;
use sim::host::NoBuffer;

/// Reads a text as a profile. Checks that rejected texts have errors with places, and that the
/// simulator accepts the machine of each reading of an accepted profile. Returns true if it was
/// accepted.
pub(crate) fn profile(octets: &[u8]) -> bool {
    let Ok(text) = core::str::from_utf8(octets) else { return false };
    match parse("some", text) {
        Ok(profile) => {
            for (_, reading) in profile.readings() {
                for layer in [Layer::Mac, Layer::Llc] {
                    let host = reading.host(layer, MediumKind::TokenBus, NoBuffer::Lost);
                    assert_eq!(host.check(), Ok(()), "{text}");
                }
            }
            true
        }
        Err(error) => {
            assert!(error.to_string().contains("some.toml:"), "{text}");
            false
        }
    }
}

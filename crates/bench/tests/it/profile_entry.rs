//! What the fuzz target of profiles calls: a text in, claims checked.

use bench::profile::{Layer, parse};
use bench::scenario::MediumKind;
use sim::host::NoBuffer;

/// A text as a profile. What is refused is refused with its places; of what is accepted each reading makes a machine
/// that the simulator takes. Whether it was accepted.
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

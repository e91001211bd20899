//! Text as the profile of a station's machine: refused with its places, or accepted by the
//! simulator.
#![no_main]

#[path = "../../crates/bench/tests/it/profile_entry.rs"]
mod profile_entry;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    profile_entry::profile(octets);
});

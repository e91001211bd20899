//! Class 4 entity under a script of hostile TPDUs, requests and times.
#![no_main]

#[path = "../../crates/stack/tests/it/hostile.rs"]
mod hostile;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    hostile::tp4(octets);
});

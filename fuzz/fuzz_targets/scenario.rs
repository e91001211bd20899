//! A text as a scenario, with settings from outside: refused with its places, or read the same again.
#![no_main]

#[path = "../../crates/bench/tests/it/entry.rs"]
mod entry;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    entry::scenario(octets);
});

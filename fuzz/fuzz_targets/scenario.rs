//! Text as a scenario, with settings from outside: refused with its places, or unchanged by a round
//! trip.
#![no_main]

#[path = "../../crates/bench/tests/it/entry.rs"]
mod entry;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    entry::scenario(octets);
});

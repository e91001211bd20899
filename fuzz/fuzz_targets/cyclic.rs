//! Streams of cyclic data in a meter, under a script of frames.
#![no_main]

#[path = "../../crates/meter/tests/it/cyclic_entry.rs"]
mod cyclic_entry;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| cyclic_entry::cyclic(octets));

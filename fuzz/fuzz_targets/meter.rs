//! Script of frames and TCP segments for a meter with little memory.
#![no_main]

#[path = "../../crates/meter/tests/it/entry.rs"]
mod entry;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| entry::script(octets));

//! Any octets as a capture file, compressed or not.
#![no_main]

#[path = "../../crates/wire/tests/it/entry.rs"]
#[expect(dead_code, reason = "each target calls one entry of three")]
mod entry;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| entry::file(octets));

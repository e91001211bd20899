//! Connection of class 0 or 2 under a script of requests, TPDUs, network events and times.
#![no_main]

#[path = "../../crates/stack/tests/it/entry.rs"]
mod entry;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| entry::tp0(octets));

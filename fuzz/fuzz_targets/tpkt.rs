//! Any octets as a TCP stream of TPKTs, whole and truncated.
#![no_main]

#[path = "../../crates/wire/tests/it/entry.rs"]
#[expect(dead_code, reason = "each target calls one entry of several")]
mod entry;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| entry::tpkt(octets));

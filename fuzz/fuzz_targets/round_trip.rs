//! Any octets as a PDU of each protocol: a decoded PDU is unchanged by encoding.
#![no_main]

#[path = "../../crates/wire/tests/it/entry.rs"]
#[expect(dead_code, reason = "each target calls one entry of three")]
mod entry;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| entry::round_trip(octets));

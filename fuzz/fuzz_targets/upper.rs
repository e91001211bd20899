//! Any octets as a TSDU, and as a PDU of each layer above transport: a decoded PDU is unchanged by
//! encoding.
#![no_main]

#[path = "../../crates/wire/tests/it/upper_entry.rs"]
mod upper_entry;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| upper_entry::tsdu(octets));

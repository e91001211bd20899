//! Requests and replies in a meter, under a script of segments.
#![no_main]

#[path = "../../crates/meter/tests/it/modbus_wire.rs"]
mod modbus_wire;
#[path = "../../crates/meter/tests/it/request_pdus.rs"]
mod request_pdus;
#[path = "../../crates/meter/tests/it/transactions_entry.rs"]
mod transactions_entry;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| transactions_entry::transactions(octets));

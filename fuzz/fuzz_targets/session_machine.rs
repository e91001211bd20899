//! Session machine under a script of requests, SPDUs, transport events and times.
#![no_main]

#[path = "../../crates/stack/tests/it/session_entry.rs"]
mod session_entry;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    session_entry::session(octets);
});

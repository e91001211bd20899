//! MMS server or client with all layers below, under a script that is a complete hostile peer.
#![no_main]

#[path = "../../crates/stack/tests/it/association_entry.rs"]
mod association_entry;
#[path = "../../crates/stack/tests/it/association_pdus.rs"]
mod association_pdus;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    association_entry::association(octets);
});

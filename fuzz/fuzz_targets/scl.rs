//! Octets as a substation configuration file: refused with a place in it, or its publishers, its MMS
//! objects and a scenario.
#![no_main]

#[path = "../../crates/scl/tests/it/entry.rs"]
mod entry;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    if entry::scl(octets)
        && let Ok(imported) = records::import(octets, "some.scd")
    {
        bench::scenario::load(&imported.text, "scenario").unwrap();
    }
});

//! An initiator under a script that is a complete hostile peer: control session, load and report.
#![no_main]

#[path = "../../crates/bench/tests/it/hostile/bounded.rs"]
mod bounded;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    bounded::bounded(|| bench::session::script::measure(octets));
});

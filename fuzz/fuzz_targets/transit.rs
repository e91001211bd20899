//! Script of the traffic at two taps, with effects of the path between them and of their clocks.
#![no_main]

#[path = "../../crates/meter/tests/it/entry.rs"]
#[expect(dead_code, reason = "the script of the other target")]
mod entry;
#[path = "../../crates/meter/tests/it/two_taps.rs"]
mod two_taps;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| two_taps::script(octets));

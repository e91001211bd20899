//! Text as a log of `sockperf --full-log`: refused with its line, or the round trips of each server.
#![no_main]

#[path = "../../crates/reports/tests/it/tool_entry.rs"]
#[expect(dead_code, reason = "each of three targets calls one entry")]
mod tool_entry;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    tool_entry::sockperf(octets);
});

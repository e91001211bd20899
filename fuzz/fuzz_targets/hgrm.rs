//! Text as a file of percentiles (`.hgrm`): refused with its line, or a distribution and its report.
#![no_main]

#[path = "../../crates/reports/tests/it/tool_entry.rs"]
#[expect(dead_code, reason = "each of three targets calls one entry")]
mod tool_entry;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    tool_entry::hgrm(octets);
});

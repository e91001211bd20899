//! Text as a result of `iperf3 -J`: refused with a reason, or numbers in their ranges.
#![no_main]

#[path = "../../crates/reports/tests/it/tool_entry.rs"]
#[expect(dead_code, reason = "each of three targets calls one entry")]
mod tool_entry;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    tool_entry::iperf3(octets);
});

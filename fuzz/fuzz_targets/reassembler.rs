//! TCP stream of packets under a script of truncation, duplication, reordering and retransmission.
#![no_main]

#[path = "../../crates/meter/tests/it/entry.rs"]
#[expect(dead_code, reason = "the script of the other target")]
mod entry;
#[path = "../../crates/meter/tests/it/reassembler.rs"]
mod reassembler;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    reassembler::script(octets);
});

//! Follower of associations in a meter, under a script of TSDUs.
#![no_main]

#[path = "../../crates/meter/tests/it/association_entry.rs"]
mod association_entry;
#[expect(dead_code, reason = "only its segments are used")]
#[path = "../../crates/meter/tests/it/entry.rs"]
mod entry;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    association_entry::association(octets);
});

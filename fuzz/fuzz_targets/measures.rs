//! Any octets as a stream of measures, as `tidewire show` reads and tells it.
#![no_main]
// The command is no library: what the stream is made of is taken file by file.
#![expect(dead_code, unused_imports, reason = "the command uses the rest")]

#[path = "../../crates/tidewire/src/calendar.rs"]
mod calendar;
#[path = "../../crates/tidewire/src/exit.rs"]
mod exit;
#[path = "../../crates/tidewire/src/stream/hostile.rs"]
mod hostile;
#[path = "../../crates/tidewire/src/output.rs"]
mod output;
#[path = "../../crates/tidewire/src/quantity.rs"]
mod quantity;
#[path = "../../crates/tidewire/src/stream/mod.rs"]
mod stream;
#[path = "../../crates/tidewire/src/table.rs"]
mod table;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    hostile::script(octets);
});

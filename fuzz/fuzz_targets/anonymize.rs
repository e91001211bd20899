//! Script of frames, metered with and without pseudonymised addresses.
#![no_main]
// The command is no library: the module that maps addresses is included by path.
#![expect(dead_code, reason = "the command uses the rest")]

#[path = "../../crates/tidewire/src/anonymize/mod.rs"]
mod anonymize;
#[path = "../../crates/tidewire/src/anonymize/hostile.rs"]
mod hostile;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    hostile::script(octets);
});

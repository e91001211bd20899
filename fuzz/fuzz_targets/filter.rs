//! Text of the filter language and a frame: the text is refused with its place, or the kernel's
//! machine and a full evaluation agree on its meaning.
#![no_main]

#[path = "../../crates/wire/tests/it/kernel.rs"]
mod kernel;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    kernel::script(octets);
});

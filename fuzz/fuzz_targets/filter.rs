//! A text of the filter language and a frame: the text is refused with its place, or means the same
//! to the kernel's machine and to a whole reading.
#![no_main]

#[path = "../../crates/wire/tests/it/kernel.rs"]
mod kernel;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    kernel::script(octets);
});

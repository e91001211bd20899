//! The command.
#![forbid(unsafe_code)]

fn main() {}

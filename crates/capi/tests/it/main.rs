//! The library as used by C programs: its header, its link line, and exchanges with Rust.
#![expect(clippy::unwrap_used, reason = "the helpers of these tests fail as tests do")]

mod c_compiler;
mod down;
mod exchange;
mod header;
#[path = "../../../live/tests/it/namespace.rs"]
mod namespace;
mod page;
mod peer;

//! The meter from outside: whole captures and hand-made cases.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod capture;
mod cases;
mod corpus;
mod entry;
mod every_capture;
mod hostile;
mod ncc84;
mod reassembler;
mod remarks;
mod streams;

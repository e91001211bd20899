//! External tests of the decoders: round trips, invalid octets, shared captures, the fuzzers'
//! corpus.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod captures;
mod corpus;
mod cut;
mod entry;
mod filter;
mod hostile;
mod kernel;
mod leaves;
mod oracle;
mod round_trip;
mod seeds;
mod tsdus;
mod tshark;
mod upper;
mod upper_entry;
mod upper_seeds;

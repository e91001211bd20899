//! Session layer: ISO 8327 (X.225), kernel and duplex, versions 1 and 2.
//!
//! ```text
//!   S-CONNECT, S-DATA, S-RELEASE, S-U-ABORT, S-P-ABORT       Primitive
//!   connection ── executes the table; TIM                    8327 7, A.5.4.1
//!     └ table ── states, events, actions: pure               8327 annex A
//!   T-CONNECT, T-DATA, T-DISCONNECT                          Below
//! ```
//!
//! Left out: the other functional units, segmenting, extended concatenation, expedited transport
//! data for AB, and data of a CN beyond 10,240 octets (CONNECT DATA OVERFLOW).

mod connection;
mod service;
mod table;
#[cfg(test)]
mod tests;

pub use connection::Connection;
pub use service::{
    Below, LONGEST_IN_VERSION_1, LONGEST_IN_VERSION_2, Note, Params, Primitive, Reason,
};
pub use table::{Action, Event, State, transition};

//! Transport classes 0 and 2 (ISO 8073, RFC 905): connections over a network without loss.
//!
//! ```text
//!      T-CONNECT, T-DATA, T-DISCONNECT
//!   entity ── one connection on each network connection; admission
//!   connection ── executes the table; segmentation, queue of TSDUs       6.3, 6.5 to 6.8
//!     ├ table ── states, events, actions: pure
//!     ├ credit ── class 2 with explicit flow control                     6.16
//!     └ negotiate ── negotiation by CR and CC                            6.5.4; RFC 1006, RFC 2126
//!      N-CONNECT, N-DATA, N-DISCONNECT
//! ```
//!
//! Class 0 sends CR, CC, DT, ER, and a DR to refuse; it is released by releasing its network
//! connection. Class 2 adds DR and DC, numbers and, if agreed, credit. Over TCP (RFC 1006, RFC
//! 2126) one TCP connection is one network connection and carries one transport connection, so
//! there is no multiplexing. Class 4 is never proposed here, and a peer that insists on it is
//! refused.
//!
//! Left out: expedited data (never offered), classes 1 and 3, the splitting of RFC 2126.

mod connection;
mod credit;
mod entity;
mod negotiate;
mod service;
mod table;
#[cfg(test)]
mod tests;

pub use crate::network::Network;
pub use crate::transport::service::{Counters, Indication, Reason, Request, disconnect_reason};
pub use connection::Connection;
pub use entity::Entity;
pub use service::{Note, Params};
pub use table::{Action, Class, Event, State, transition};

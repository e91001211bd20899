//! Class 4 transport (ISO 8073, RFC 905): error detection and recovery over a network that loses.
//!
//! ```text
//!                T-CONNECT, T-DATA, T-DISCONNECT
//!   entity ── references, demultiplexing, deadlines of all connections     6.9, 6.18
//!     └ connection ── acts out the table; T1, W, I, L; AK policy           12.2
//!         ├ table ── states, events, actions: pure
//!         ├ window ── credit, retention, resequencing                      6.13, 6.16, 6.20
//!         └ negotiate ── what CR and CC settle                             6.5.4
//! ```
//!
//! Open [`Entity`] first. Left out so far, each with a door: expedited data (events in `table`, a queue
//! beside the window's), flow control confirmation and subsequence numbers in the AKs sent (`connection`),
//! an adaptive T1 (`params`), protocol errors answered with ER, concatenation of the TPDUs sent (received
//! ones are separated), the full CLNP header (`Address`), classes 0 to 3.

mod connection;
mod context;
mod entity;
mod negotiate;
mod params;
mod service;
mod table;
mod tpdu;
mod window;

pub use entity::Entity;
pub use params::{Credit, Params, Retransmission};
pub use service::{
    Address, Counters, Endpoint, Indication, Note, Nsdu, Reason, Request, disconnect_reason,
};
pub use table::{Action, Event, State, transition};

//! Class 4 transport (ISO 8073, RFC 905): error detection and recovery over a network with losses.
//!
//! ```text
//!                T-CONNECT, T-DATA, T-EXPEDITED-DATA, T-DISCONNECT
//!   entity ── references, demultiplexing, deadlines of all connections     6.9, 6.18
//!     │   ├ output_queue ── outputs, until they are polled; a ring               6.4
//!     │   ├ handle ── timers that wait for a TPDU to leave the station
//!     │   └ invalid ── protocol violations                                 6.22
//!     └ connection ── executes the table; T1, W, I, L                      12.2
//!         ├ table ── states, events, actions: pure
//!         ├ window ── credit, retention, resequencing                      6.13, 6.16, 6.20
//!         ├ selective ── DTs that arrived beyond a gap                     1995 edition
//!         ├ flow_control ── the AKs sent: subsequence, confirmation        12.2.3.8, 12.2.3.9
//!         ├ expedited ── EDs, one at a time                                6.11
//!         ├ negotiate ── negotiation by CR and CC                          6.5.4
//!         └ policy ── acknowledgement, credit, retransmission, T1
//! ```
//!
//! Start with [`Entity`]. Left out, each with a place for an extension: the full CLNP header
//! (`Address`), splitting over several network connections (6.23), quality of service parameters
//! (decoded, not acted on), classes 0 to 3.

mod connection;
mod context;
mod entity;
mod expedited;
mod flow_control;
mod invalid;
mod negotiate;
mod output_queue;
mod params;
mod policy;
mod ring;
mod selective;
mod service;
mod table;
mod tpdu;
mod transmit_handle;
mod window;

pub use crate::transport::service::{
    Address, Counters, Endpoint, Indication, Reason, Request, disconnect_reason,
};
pub use entity::Entity;
pub use params::{Params, Receiving};
pub use policy::{Acknowledgement, Credit, Retransmission, RetransmissionTimer};
pub use service::{Note, Nsdu};
pub use table::{Action, Event, State, transition};
pub use transmit_handle::TransmitHandle;

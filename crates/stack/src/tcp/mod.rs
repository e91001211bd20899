//! Minimal TCP (RFC 9293) over IPv4 for simulated stations: a stream of octets, repaired by
//! retransmission.
//!
//! ```text
//!   connect, data, release, abort       opened, accepted, data, taken, ended
//!     entity ── connections by peer and ports; checks of datagrams
//!       connection ── executes the table; handshake, both directions, timers
//!         ├ table ── states, events, actions: pure             RFC 9293 3.3.2
//!         ├ sending ── queue, flight, retransmission            RFC 9293 3.8, RFC 6298, RFC 6582
//!         └ receiving ── order, delayed acknowledgement         RFC 9293 3.10.7.4, RFC 1122 4.2.3.2
//!     segment ── headers and checksums
//!   datagrams between two stations
//! ```
//!
//! Each segment has real headers, so that a capture of the wire reads as one of a network. Every piece
//! of data is sent at once (no Nagle), in segments of at most the MSS. The retransmission timeout
//! follows the round trips (RFC 6298) from 200 ms to 60 s, and doubles at each loss. Three repeated
//! acknowledgements retransmit the first segment at once, and further holes follow as partial
//! acknowledgements arrive (RFC 6582).
//!
//! Left out: congestion control (the flight is limited by the receive window alone), window scaling,
//! zero windows and their probes (users take data at once, so the window stays constant), SACK, time
//! stamps, urgent data, simultaneous opening, keep-alive, path MTU discovery, fragments, ARP (a station's
//! internet address follows from its MAC address).

mod connection;
mod entity;
mod receiving;
mod segment;
mod sending;
mod service;
mod table;
#[cfg(test)]
mod tests;

pub use entity::Entity;
pub use segment::{Datagram, ETHERTYPE, internet_address};
pub use service::{Counters, Indication, Note, Params, Request, Socket};
pub use table::{Action, Event, State, transition};

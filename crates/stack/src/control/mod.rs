//! Control session in which two instances of tidewire agree before either
//! sends load.
//!
//! ```text
//!  initiator                              responder
//!     │── Hello (offered and least limits) ──▶│
//!     │◀─────────────────── Challenge (cookie)│  no state is kept
//!     │── Hello (the same, with the cookie) ─▶│  Called: expect load
//!     │◀───────────── Accept (lesser of both) ─│
//!     │── KeepAlive ─────────────────────────────▶│  Opened: load may be sent
//!     │◀───────── KeepAlive each 250 ms, both ways│
//!     │── Stop ──────────────────────────────▶│  StopAsked: stop the load, report the counts
//!     │◀──────────────────────── final Counts │
//!     Over                                    answers repeated Stops, and Fetches of the report
//!     │── Done ──────────────────────────────▶│  Idle; without a Done, after a second of silence
//! ```
//!
//! Three rules protect a plant. Only Hellos are sent to a station that has not agreed. No agreed
//! limit is above what either side offered. A peer that is silent for a second is considered lost,
//! and everything stops. There is one session at a time: any other caller is refused while it
//! lasts, and two stations that call each other simultaneously refuse each other.
//!
//! Two more rules protect the responder. It keeps no state before the caller has proved its address
//! by repeating a cookie. Until then no answer is longer than the PDU it answers, and unknown
//! callers are answered at most 640 times a second.
//!
//! The PDUs are in [`wire::control`].

mod cookie;
mod machine;
mod service;
mod table;
#[cfg(test)]
mod tests;

pub use machine::ControlSession;
pub use service::{Call, Indication, Name, Note, Params, Request, Unitdata};
pub use table::{Action, Event, State, transition};

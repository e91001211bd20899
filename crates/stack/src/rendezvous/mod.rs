//! The rendezvous: two tidewires agree before either sends the other any load.
//!
//! ```text
//!  initiator                              responder
//!     │── Hello (what I offer, what I need) ─▶│
//!     │◀─────────────────── Challenge (cookie)│  no state is kept
//!     │── Hello (the same, with the cookie) ─▶│  Called: expect load
//!     │◀───────────── Agree (lesser of both) ─│
//!     │── Alive ─────────────────────────────▶│  Opened: load may be sent
//!     │◀───────── Alive each 250 ms, both ways│
//!     │── Stop ──────────────────────────────▶│  StopAsked: send no more, say your counts
//!     │◀──────────────────────── final Counts │
//!     Over                                    it answers Stops again, and Fetches of the report
//!     │── Done ──────────────────────────────▶│  Idle; without a Done, after a second of silence
//! ```
//!
//! Three rules keep a plant safe from it. Nothing but a Hello goes to a station that has not
//! agreed. No limit agreed is above what either side offered. A peer that was silent for a second
//! is taken for gone, and everything stops. One session at a time: any other caller is refused as long
//! as it lasts, and two that call one another at the same time refuse one another.
//!
//! Two more keep the responder safe from callers. It keeps no state before the caller has proved its
//! address by repeating a cookie. Until then no answer is longer than what it answers, and strangers are
//! answered 640 times a second at the most.
//!
//! The PDUs are in [`wire::rendezvous`].

mod cookie;
mod machine;
mod service;
mod table;
#[cfg(test)]
mod tests;

pub use machine::Rendezvous;
pub use service::{Call, Indication, Name, Note, Params, Request, Unitdata};
pub use table::{Action, Event, State, transition};

//! The rendezvous: two tidewires agree before either sends the other any load.
//!
//! ```text
//!  initiator                              responder
//!     │── Hello (what I offer, what I need) ─▶│  Called: expect load
//!     │◀───────────── Agree (lesser of both) ─│
//!     │── Alive ─────────────────────────────▶│  Opened: load may be sent
//!     │◀───────── Alive each 250 ms, both ways│
//!     │── Stop ──────────────────────────────▶│  StopAsked: send no more, say your counts
//!     │◀──────────────────────── final Counts │
//!     Over                                    Idle, after a while in which it answers Stops again
//! ```
//!
//! Three rules keep a plant safe from it. Nothing but a Hello goes to a station that has not
//! agreed. No limit agreed is above what either side offered. A peer that was silent for a second
//! is taken for gone, and everything stops. One session at a time: anybody else is refused as long
//! as it lasts, and two that call one another at the same time refuse one another.
//!
//! The PDUs are in [`wire::rendezvous`].

mod machine;
mod table;
#[cfg(test)]
mod tests;

pub use machine::{Call, Indication, Note, Params, Rendezvous, Request, Unitdata};
pub use table::{Action, Event, State, transition};

//! Association control: ISO 8650 (X.227), kernel.
//!
//! ```text
//!   A-ASSOCIATE, A-RELEASE, A-ABORT, A-P-ABORT                Primitive
//!   association ── executes the table; AARQ, AARE, RLRQ, RLRE, ABRT
//!     └ table ── states, events, actions: pure                8650 annex A
//!   P-CONNECT, P-RELEASE, P-U-ABORT, P-P-ABORT                presentation::Primitive
//! ```
//!
//! P-DATA passes by association control. Left out: authentication, negotiation of the application
//! context, invocation identifiers, user information of the release and abort.

mod association;
mod service;
mod table;

pub use association::{Association, Params};
pub use service::{Associate, ContextName, Entity, Note, Primitive, Rejection, Source};
pub use table::{Action, Event, State, transition};

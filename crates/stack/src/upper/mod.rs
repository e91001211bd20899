//! Upper layers joined: session, presentation and association control over the transport service.
//!
//! ```text
//!   A-ASSOCIATE, A-RELEASE, A-ABORT        P-DATA
//!   acse ────────────────────────┐           │
//!   presentation ── kernel (MAP 3.0), or null (MAP 2.1)
//!   session ── version 2 (MAP 3.0), or 1 (MAP 2.1)
//!   T-CONNECT, T-DATA, T-DISCONNECT        session::Below
//!   entity ── the transport of a host, a joint on each of its connections
//! ```
//!
//! The loop over the three layers is [`Joint`] and its neighbours. Applications are above:
//! MMS uses [`Syntax::MMS`]. CASE, directory and file transfer use a syntax or the null layer in the
//! same way.

mod entity;
mod joint;

pub use entity::{Addressed, Entity, EntityParams, LONGEST_TSDU, Lower, Tsaps};
pub use joint::{Joint, Note, Params, Primitive};

pub use crate::presentation::Syntax;

//! MMS, the manufacturing message specification (ISO 9506): client and server machines.
//!
//! ```text
//!   client ── associate, calls matched by invoke identifier, reports, conclude
//!   server ── domains, variables, lists, reports, files                 9506-1
//!   A-ASSOCIATE with initiate, P-DATA, A-RELEASE, A-ABORT               upper::Primitive
//! ```
//!
//! The octets are those of [`wire::mms`]. Left out: cancel, events, journals, semaphores, programs,
//! alternate access, and services that a server requests of a client.

pub mod client;
mod initiate;
pub mod server;
pub mod trial;

pub use client::Client;
pub use initiate::{Agreement, Proposal};
pub use server::Server;

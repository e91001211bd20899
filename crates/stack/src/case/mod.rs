//! CASE of MAP 2.1 (DP 8649, 8650): association of two applications, transfer, release and abort,
//! over session version 1 and a null presentation layer.
//!
//! ```text
//!   A-ASSOCIATE, A-RELEASE, A-ABORT; A-TRANSFER with EOT      Request, Indication
//!   association ── holds what follows an EOT
//!     └ upper::Joint ── association control, null presentation, session version 1
//!   T-CONNECT, T-DATA, T-DISCONNECT; all data acknowledged    session::Below, Case::acknowledged
//! ```
//!
//! EOT (End Of Transmission) is a local flag of an A-TRANSFER (TR-88-17): CASE passes no further
//! request on until the transport has acknowledged the message. It has no octets of its own.
//!
//! Two assumptions, because the documents of 1985 were not found: the four octets in front of the
//! data of A-TRANSFER ([`wire::case`]), and the application context name
//! [`ContextName::CASE`](crate::acse::ContextName::CASE).

mod association;
mod service;
#[cfg(test)]
mod tests;

pub use association::Case;
pub use service::{Indication, MOST_HELD, Note, Params, Request};

//! FTAM-like file transfer over CASE, not FTAM: the services of ISO 8571's kernel with read, write and
//! unstructured files, in octets of this project ([`wire::file_transfer`]).
//!
//! ```text
//!   F-INITIALIZE ─ F-SELECT ─ F-OPEN ─┬ F-READ ──┬ F-DATA ... F-DATA-END ─ F-TRANSFER-END
//!                                     └ F-WRITE ─┘
//!   F-CLOSE ─ F-DESELECT ─ (the next file) ─ F-TERMINATE
//! ```
//!
//! [`Initiator`] and [`Responder`] are the two ends, on one association each. Both take the octets of
//! files from a [`Store`]. F-DATA leaves only when the driver has room ([`Initiator::fill`]), so that a
//! file is never in memory twice. A file that becomes shorter while it is sent ends the transfer with
//! [`Status::Shrunk`]: the receiver gets the octets that there are, and their number.
//!
//! Left out: recovery and restart (the transport below loses nothing), creation and deletion, access
//! control, attributes but the length, and structured files.

mod initiator;
mod moving;
mod responder;
mod service;
mod store;
#[cfg(test)]
mod tests;

pub use initiator::Initiator;
pub use responder::Responder;
pub use service::{Apdu, Failure, Indication, Job, Note, Request};
pub use store::{Generated, Kept, Store};
pub use wire::file_transfer::{Mode, Status};

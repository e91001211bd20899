//! MMS peers over TCP: a client that measures a server step by step, and a server.
//!
//! ```text
//!   TCP connect ─ CR, CC ─ CN ... initiate ─ identify, status ─ reads ─ reports ─ conclude, release
//! ```
//!
//! A foreign server has agreed to no load: requests are rare by default, each has a time-out, and
//! the association is concluded at the end, also after an interruption.

mod asker;
mod ends;
mod own;
mod pace;
mod plan;
mod serve;

pub use asker::inquire;
pub use plan::{Inquiry, RUNGS_OF_OPENING, Selectors};
pub use serve::{MmsServer, Offer, Served, Size};

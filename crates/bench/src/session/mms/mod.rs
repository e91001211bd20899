//! MMS peers over TCP: a client that measures a server step by step.
//!
//! ```text
//!   TCP connect ─ CR, CC ─ CN ... initiate ─ identify, status ─ reads ─ reports ─ conclude, release
//! ```
//!
//! A foreign server has agreed to no load: requests are rare by default, each has a time-out, and
//! the association is concluded at the end, also after an interruption.

mod asker;
mod ends;
mod found;
mod names;
mod pace;
mod plan;
mod services;

pub use asker::inquire;
pub use found::{Found, Pipelining, Reports, Rung};
pub use names::{Forbidden, Item};
pub use plan::{Inquiry, RUNGS_OF_OPENING, Selectors};

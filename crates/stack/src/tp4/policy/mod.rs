//! Local policies of a class 4 installation, one per file.
//!
//! The standard leaves open when to acknowledge, how much credit to grant, which DTs to retransmit
//! and how long to wait. Each policy is an enum with pure functions; the connection evaluates it
//! and acts.

mod acknowledgement;
mod credit;
mod early;
mod retransmission;
mod timer;

pub use acknowledgement::Acknowledgement;
pub(super) use acknowledgement::When;
pub use credit::Credit;
pub(super) use early::Repeats;
pub use retransmission::Retransmission;
pub use timer::RetransmissionTimer;
pub(super) use timer::RoundTrip;

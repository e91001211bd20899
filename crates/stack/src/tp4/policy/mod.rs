//! What a class 4 installation may choose freely, one part a file.
//!
//! The standard leaves open when to acknowledge, how much credit to give, what to send again and how long
//! to wait. Each choice is an enum whose functions are pure; the connection asks and acts.

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

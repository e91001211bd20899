//! Ready stations: machines joined by hand, one loop each, under users that make traffic.

mod conversation;
mod host;
mod messenger;
mod programmed;

pub use host::{Host, HostParams, MESSAGE_SAP, Unitdata};
pub use messenger::{Framing, Messenger};
pub use programmed::Programmed;

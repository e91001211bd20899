//! Complete stations: machines joined by hand, one loop each, with users that generate traffic.

mod conversation;
mod framing;
mod host;
mod messenger;
mod network_host;
mod programmed;
mod sockets;

pub use framing::Framing;
pub use host::{Host, HostParams, MESSAGE_SAP, Unitdata};
pub use messenger::Messenger;
pub use network_host::{NetworkCounters, NetworkHost, NetworkHostParams};
pub use programmed::Programmed;
pub use sockets::{CHECKED_SAP, MESSAGE_FLOWS};

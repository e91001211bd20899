//! Ready stations: machines joined by hand, one loop each, under users that make traffic.

mod conversation;
mod host;

pub use host::{Host, HostParams, MESSAGE_SAP, Unitdata};

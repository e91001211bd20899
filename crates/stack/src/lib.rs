//! Protocol machines, the loads that use them, and fault injection for their frames.
//!
//! Nothing here reads a clock or opens a socket. The same machines run in `sim`, where the clock
//! jumps, and in `live`, where it ticks. Start with [`machine`].
#![forbid(unsafe_code)]

pub mod acse;
pub mod case;
pub mod clnp;
pub mod control;
pub mod directory;
pub mod fault;
pub mod file_transfer;
pub mod host;
pub mod llc;
pub mod load;
pub mod machine;
pub mod messaging;
pub mod mms;
pub mod network;
pub mod presentation;
pub mod profile;
pub mod session;
pub mod station;
#[cfg(test)]
mod table;
pub mod tcp;
pub mod tp0;
pub mod tp4;
pub mod transport;
pub mod upper;

//! Ports and the clock that ticks: where the protocol machines meet real wires.
//!
//! [`clock`] is the only place of the whole program that reads a clock or sleeps. [`port`] has the
//! ways out of the process (a raw LAN interface, UDP datagrams, a hub within the process) and what
//! may be put around them (faults, the governor, a capture). [`tap`] hears a LAN and cannot send.
//! [`relay`] passes frames between two LANs, some of them badly.
//! [`runner`] drives one station on one port; [`iso_tcp`] drives one on TCP connections.
//! [`mapped`] has capture files looked at where they lie in memory.
//!
//! [`entropy`] is where numbers come from that no peer can predict.
//!
//! No part of it is asynchronous: a thread waits for its port and for the next deadline, no more.

pub mod capture;
pub mod clock;
pub mod entropy;
pub mod interface;
pub mod iso_tcp;
pub mod mapped;
mod mapping;
pub mod port;
pub mod relay;
mod ring;
pub mod runner;
mod slots;
mod socket;
pub mod tap;
mod xdp;

//! Ports and the system clock: the protocol machines on real wires.
//!
//! [`clock`] is the only module of the program that reads a clock or sleeps. [`port`] has the ways
//! out of the process (a raw LAN interface, UDP datagrams, a hub within the process) and the layers
//! around them (faults, the governor, a capture). [`tap`] receives from a LAN and cannot send.
//! [`relay`] forwards frames between two LANs, subject to faults. [`runner`] drives one station on
//! one port; [`iso_tcp`] drives one on TCP connections. [`mapped`] reads capture files in place,
//! mapped into memory.
//!
//! [`entropy`] provides numbers that no peer can predict. [`hardware_clock`] has the clocks of
//! interfaces that stamp frames themselves.
//!
//! Nothing here is asynchronous: a thread waits for its port and for the next deadline.

pub mod capture;
pub mod clock;
pub mod entropy;
pub mod hardware_clock;
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

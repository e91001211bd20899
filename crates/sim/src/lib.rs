//! Discrete-event simulation of media, with a clock that jumps to the next deadline.
//!
//! A [`world::World`] moves frames between stations over a [`medium::Medium`]. A run is a function
//! of its parameters and its seed. Start with [`world`].
#![forbid(unsafe_code)]

pub mod agenda;
pub mod host;
pub mod medium;
pub mod tap;
pub mod world;

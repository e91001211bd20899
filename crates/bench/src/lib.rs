//! Scenarios, runs, samples, reports.
//!
//! A [`scenario`] says who sends what over which medium; its points are run several times, each run
//! gives a [`sample`], and samples give a report. This is the one crate that knows file formats
//! other than those of frames.
#![forbid(unsafe_code)]

pub mod advise;
pub mod analysis;
pub mod bound;
pub mod collect;
pub mod compare;
mod counters;
pub mod folder;
pub mod layers;
pub mod layout;
pub mod profile;
pub mod reproduce;
pub mod run;
pub mod sample;
pub mod scenario;
pub mod scenarios;
pub mod seed;
pub mod session;
pub mod transfer;
pub mod verdict;

/// The version of this program, as samples and result folders tell it.
pub const PROGRAM_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The program and its version, as it says to its peers.
pub const PROGRAM: &str = concat!("tidewire ", env!("CARGO_PKG_VERSION"));

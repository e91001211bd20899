//! Scenarios, runs, samples, reports.
//!
//! A [`scenario`] defines the traffic of stations over a medium. Its points are run several times,
//! each run gives a [`sample`], and samples give a report. This is the only crate with file formats
//! other than those of frames.
#![forbid(unsafe_code)]

pub mod advise;
pub mod analysis;
pub mod bound;
pub mod calibrate;
pub mod collect;
pub mod compare;
mod counters;
mod destinations;
pub mod expected;
pub mod folder;
pub mod layout;
pub mod medium;
pub mod messages;
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "used by sessions"))]
pub mod mms;
pub mod noise;
pub mod paragraph;
pub mod profile;
pub mod run;
pub mod sample;
pub mod scenario;
pub mod scenarios;
pub mod seed;
#[cfg(target_os = "linux")]
pub mod session;
pub mod timeline;
pub mod titles;
pub mod verdict;

/// Version of this program, as recorded in samples and result folders.
pub const PROGRAM_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Program and version, as announced to its peers.
pub const PROGRAM: &str = concat!("tidewire ", env!("CARGO_PKG_VERSION"));

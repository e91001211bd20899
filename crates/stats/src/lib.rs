//! Statistics: seeded random streams, histograms, confidence intervals, comparison.
//!
//! Nothing here depends on protocols. Each statistic is checked against a published value, or
//! against arithmetic written next to its test. Spans are [`core::time::Duration`]; everything else
//! is `f64`.
#![forbid(unsafe_code)]

pub mod batches;
pub mod compare;
mod counts;
pub mod hdr;
pub mod histogram;
pub mod interval;
mod memo;
pub mod regression;
pub mod rng;
pub mod series;
pub mod summary;
pub mod warmup;

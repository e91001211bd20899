//! Scenarios, runs, samples, reports.
#![forbid(unsafe_code)]

//! Reports of runs: the same model of a report for predicted, measured, watched and reproduced runs, and its forms.
#![forbid(unsafe_code)]

pub mod figure;
pub mod study;
pub mod sweep;

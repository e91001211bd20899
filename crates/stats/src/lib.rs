//! Numbers and their uncertainty.
#![forbid(unsafe_code)]

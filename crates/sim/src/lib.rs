//! Media and the clock that jumps.
#![forbid(unsafe_code)]

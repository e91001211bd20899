//! Frames in, measures out.
#![forbid(unsafe_code)]

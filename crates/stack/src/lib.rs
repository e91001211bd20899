//! Protocol machines, loads and faults; no clock, no sockets.
#![forbid(unsafe_code)]

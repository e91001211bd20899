//! Octets and their meaning: frames, PDUs, capture files.
#![forbid(unsafe_code)]

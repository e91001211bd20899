//! Logical link control (IEEE 802.2): one file per type of operation.

pub mod type1;
pub mod type3;

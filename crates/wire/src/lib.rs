//! Decoders and encoders for frames, packets and PDUs.
//!
//! One file per protocol. Each decodes octets into a borrowed `Pdu<'_>`, encodes it back, and
//! prints it on one line. Nothing here keeps state, reads a clock or calls the operating system,
//! and nothing panics on any input.
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing)]

// Tests shared with `tests/it` refer to this crate by name.
#[cfg(test)]
extern crate self as wire;

pub mod acse;
pub mod addr;
pub mod ads;
pub mod avtp;
pub mod ber;
pub mod capture;
pub mod case;
pub mod cc_link;
pub mod checksum;
pub mod cip_io;
pub mod clnp;
pub mod control;
pub mod crc16;
pub mod directory;
pub mod dissect;
pub mod dnp3;
pub mod encapsulation;
pub mod enip;
pub mod es_is;
pub mod ethercat;
pub mod file_transfer;
pub mod filter;
pub mod fins;
pub mod goose;
pub mod iec104;
pub mod internet_checksum;
pub mod ipv4;
pub mod ipv6;
pub mod is_is;
pub mod leaf;
pub mod llc;
pub mod load;
pub mod mac;
pub mod mms;
pub mod modbus;
pub mod mpls;
mod next;
pub mod packet;
pub mod pcap;
pub mod pcapng;
pub mod powerlink;
pub mod presentation;
pub mod printable;
pub mod profinet;
pub mod prp;
pub mod ptp;
pub mod read;
pub mod rewrite;
pub mod routable;
pub mod s7;
pub mod sampled_values;
pub mod session;
pub mod snap;
pub mod someip;
pub mod tcp;
pub mod time;
pub mod tp;
pub mod tpkt;
pub mod uadp;
pub mod units;
pub mod upper;

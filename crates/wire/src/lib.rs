//! Octets and their meaning.
//!
//! One file per protocol. Each knows how to turn octets into a borrowed `Pdu<'_>`, how to turn that
//! back into octets, and how to print it on one line. Nothing here keeps state, reads a clock or
//! touches the operating system; nothing here panics, whatever the octets.
#![deny(clippy::indexing_slicing)]

// What tests share with those in `tests/it` calls it by its name.
#[cfg(test)]
extern crate self as wire;

pub mod addr;
pub mod capture;
pub mod checksum;
pub mod clnp;
pub mod crc16;
pub mod dissect;
pub mod encapsulation;
pub mod es_is;
pub mod filter;
pub mod ipv4;
pub mod ipv6;
pub mod is_is;
pub mod llc;
pub mod mac;
pub mod mpls;
pub mod packet;
pub mod pcap;
pub mod pcapng;
pub mod printable;
pub mod read;
pub mod rendezvous;
pub mod s7;
pub mod snap;
pub mod tcp;
pub mod time;
pub mod tp;
pub mod tpkt;
pub mod units;

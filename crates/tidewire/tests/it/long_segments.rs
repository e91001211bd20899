//! `watch` on a port: user data between the headers of a TCP segment keeps none of them from being read.

use crate::wires::Namespaces;
use crate::{check_code, records};
use live::port::Port as _;
use stack::station::Frame;
use std::io::{BufRead as _, BufReader};
use std::net::Ipv4Addr;
use std::process::Stdio;
use wire::addr::Mac;
use wire::tcp::Flags;
use wire::{ipv4, tcp};

/// A TPKT with a DT of class 0 that ends its TSDU, 107 octets in all: 14 of them are 1,498, so that each
/// segment of 1,400 octets but the first begins within one.
fn packets(count: usize) -> Vec<u8> {
    let one = [&[3, 0, 0, 107, 2, 0xF0, 0x80][..], &[0x32; 100]].concat();
    one.repeat(count)
}

/// A segment of the caller's stream.
pub(crate) fn frame(sequence: u32, flags: u8, data: &[u8]) -> Vec<u8> {
    let (mut segment, mut packet, mut frame) = (Vec::new(), Vec::new(), Vec::new());
    tcp::Pdu::between([1_102, 102], Flags(flags), [sequence, 1], data).encode(&mut segment);
    let hosts = [1, 2].map(|host| Ipv4Addr::new(10, 0, 0, host));
    ipv4::Pdu::carrying(tcp::PROTOCOL, hosts, &segment).encode(&mut packet);
    frame.extend([Mac::local(2).0, Mac::local(1).0].concat());
    frame.extend([0x08, 0x00]);
    frame.extend(packet);
    frame
}

#[test]
fn every_tpkt_of_a_long_segment_on_a_port_is_metered() {
    let Some(namespaces) = Namespaces::make() else { return };
    let mut watch = namespaces.command(1, &["watch", "-i", "w0", "--time", "3 s", "--json"]);
    let mut watch = watch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(watch.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.contains("listening on w0"), "{said}");
    let mut port = namespaces.near_port();
    let (syn, data) = (0x02, packets(140));
    port.send(&Frame::new(frame(999, syn, &[]).into())).unwrap();
    for (number, segment) in data.chunks(1_400).enumerate() {
        let sequence = 1_000 + 1_400 * number as u32;
        port.send(&Frame::new(frame(sequence, 0x18, segment).into())).unwrap();
    }
    let output = watch.wait_with_output().unwrap();
    check_code(&output, 0);
    let records = records(&output);
    let total = &records.iter().find(|record| record["type"] == "total").unwrap()["measures"];
    assert_eq!(total["dt_tpdus"], 140);
    // Its CR was not captured, so it is unknown whether the first DT begins its TSDU.
    assert_eq!(total["tsdus"], 139);
}

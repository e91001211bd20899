//! Shared by tests of the fast path and dissection: frames, and the complete results of a meter.

use crate::Meter;
use core::net::Ipv4Addr;
use wire::addr::Mac;
use wire::{ipv4, mac, tcp};

/// Frame of a segment between two hosts of 10.0.0.0, over IPv4 without options.
pub(crate) fn over_ipv4(
    segment: &tcp::Pdu<'_>,
    [from, to]: [u8; 2],
    identification: u16,
    padding: &[u8],
) -> Vec<u8> {
    let (mut octets, mut packet, mut frame) = (Vec::new(), Vec::new(), Vec::new());
    segment.encode(&mut octets);
    let hosts = [from, to].map(|host| Ipv4Addr::new(10, 0, 0, host));
    let datagram = ipv4::Pdu::carrying(tcp::PROTOCOL, hosts, &octets);
    ipv4::Pdu { identification, ..datagram }.encode(&mut packet);
    mac::Pdu {
        destination: Mac::local(to.into()),
        source: Mac::local(from.into()),
        tags: Default::default(),
        kind: mac::Kind::Type(0x0800),
        data: &packet,
        padding,
    }
    .encode(&mut frame);
    frame
}

/// Ends measuring, and prints every interval, connection and host.
pub(crate) fn all_results(mut meter: Meter) -> String {
    let total = meter.finish();
    let intervals: Vec<_> = core::iter::from_fn(|| meter.take_interval()).collect();
    let evicted: Vec<_> = core::iter::from_fn(|| meter.take_connection()).collect();
    let known: Vec<_> = meter.each_connection().collect();
    let hosts: Vec<_> = meter.each_host().collect();
    format!("{total:#?}{intervals:#?}{evicted:#?}{known:#?}{hosts:#?}")
}

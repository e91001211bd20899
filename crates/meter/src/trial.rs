//! What tests of both ways through the meter share: frames, and all that a meter tells.

use crate::Meter;
use core::net::Ipv4Addr;
use wire::addr::Mac;
use wire::{ipv4, mac, tcp};

/// The frame of a segment from one host of 10.0.0.0 to another, over IPv4 without options.
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

/// Ends measuring, and tells every interval, connection and host.
pub(crate) fn all_told(mut meter: Meter) -> String {
    let total = meter.finish();
    let intervals: Vec<_> = core::iter::from_fn(|| meter.take_interval()).collect();
    let forgotten: Vec<_> = core::iter::from_fn(|| meter.take_connection()).collect();
    let known: Vec<_> = meter.each_connection().collect();
    let hosts: Vec<_> = meter.each_host().collect();
    format!("{total:#?}{intervals:#?}{forgotten:#?}{known:#?}{hosts:#?}")
}

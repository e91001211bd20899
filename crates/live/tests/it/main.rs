//! Ports, faults, sessions: across threads, sockets and network namespaces.
#![expect(clippy::unwrap_used, reason = "the helpers of these tests fail as tests do")]

mod capture;
mod examples;
mod faults;
mod interface;
mod iso_tcp;
mod messages;
mod namespace;
mod party;
mod relay;
mod ring;
mod runner;
mod session;
mod udp;
mod xdp;

use bytes::Bytes;
use live::port::Port;
use stack::station::Frame;
use wire::addr::Mac;
use wire::time::Instant;

const A: Mac = Mac::local(1);
const B: Mac = Mac::local(2);
const C: Mac = Mac::local(3);

/// 802.3 frame with LLC UI on this SAP and a number as data.
fn frame(to: Mac, from: Mac, sap: u8, number: u32) -> Frame {
    let mut frame = Frame::new(Bytes::from(number.to_be_bytes().to_vec()));
    frame.prepend(&[sap, sap, 0x03]);
    frame.prepend(&7_u16.to_be_bytes());
    frame.prepend(&from.0);
    frame.prepend(&to.0);
    frame
}

/// Number in such a frame.
fn number(frame: &Frame) -> u32 {
    let octets = frame.first::<21>().unwrap();
    u32::from_be_bytes(*octets.last_chunk().unwrap())
}

/// Numbers of all frames that have arrived.
fn numbers(port: &mut dyn Port) -> Vec<u32> {
    core::iter::from_fn(|| port.receive(Instant::ZERO).unwrap())
        .map(|arrival| number(&arrival.frame))
        .collect()
}

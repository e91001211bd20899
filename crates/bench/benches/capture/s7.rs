//! Capture for the benchmark: the polls of a plant, S7 over COTP class 0 over TCP.
//!
//! Forty masters poll six controllers each, every 100 ms: a request for one item and a reply with
//! its eight octets, each complete in a segment that acknowledges the previous one. One in a
//! thousand requests is retransmitted, as TCP does after a loss beyond the capture point. Written
//! from the layouts alone; none of our stations takes part.

use core::net::Ipv4Addr;
use std::io::Write;
use wire::addr::Mac;
use wire::dissect::Link;
use wire::pcap::Writer;
use wire::tcp::{self, Flags};
use wire::time::Instant;
use wire::{ipv4, mac};

const MASTERS: u32 = 40;
const CONTROLLERS: u32 = 6;
/// Time between two frames: 240 connections with two frames each in 100 ms.
const STEP_NANOS: u64 = 208_333;
const AGAIN_EVERY: u64 = 1_000;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
/// PSH and ACK.
const PUSH: u8 = 0x18;

const CR: &[u8] =
    &[3, 0, 0, 22, 17, 0xE0, 0, 0, 0, 1, 0, 0xC0, 1, 10, 0xC1, 2, 1, 0, 0xC2, 2, 1, 2];
const CC: &[u8] =
    &[3, 0, 0, 22, 17, 0xD0, 0, 1, 0, 2, 0, 0xC0, 1, 10, 0xC1, 2, 1, 0, 0xC2, 2, 1, 2];
/// Read variable, one item of eight octets.
const REQUEST: &[u8] = &[
    3, 0, 0, 31, 2, 0xF0, 0x80, 0x32, 1, 0, 0, 0, 0, 0, 14, 0, 0, 4, 1, 0x12, 10, 16, 2, 0, 8, 0,
    1, 0x84, 0, 0, 0,
];
const REPLY: &[u8] = &[
    3, 0, 0, 33, 2, 0xF0, 0x80, 0x32, 3, 0, 0, 0, 0, 0, 2, 0, 12, 0, 0, 4, 1, 0xFF, 4, 0, 64, 1, 2,
    3, 4, 5, 6, 7, 8,
];

/// One end of a TCP connection.
#[derive(Clone, Copy)]
struct End {
    mac: Mac,
    address: Ipv4Addr,
    port: u16,
    /// Sequence number of its next octet.
    next: u32,
}

/// Writer of frames.
struct Out<W: Write> {
    writer: Writer<W>,
    frames: u64,
    segment: Vec<u8>,
    packet: Vec<u8>,
    frame: Vec<u8>,
}

impl<W: Write> Out<W> {
    fn send(&mut self, from: &End, to: &End, flags: u8, data: &[u8]) -> std::io::Result<()> {
        let Self { writer, frames, segment, packet, frame } = self;
        [&mut *segment, packet, frame].into_iter().for_each(|octets| octets.clear());
        tcp::Pdu::between([from.port, to.port], Flags(flags), [from.next, to.next], data)
            .encode(segment);
        let datagram = ipv4::Pdu::carrying(tcp::PROTOCOL, [from.address, to.address], segment);
        ipv4::Pdu { identification: *frames as u16, ..datagram }.encode(packet);
        let pad = 46_usize.saturating_sub(packet.len());
        mac::Pdu {
            destination: to.mac,
            source: from.mac,
            tags: Default::default(),
            kind: mac::Kind::Type(0x0800),
            data: packet,
            padding: [0; 46].get(..pad).unwrap_or_default(),
        }
        .encode(frame);
        let at = Instant::from_nanos(*frames * STEP_NANOS);
        *frames += 1;
        writer.write(at, frame, frame.len())
    }
}

fn ends() -> Vec<[End; 2]> {
    let pair = |number: u32| {
        let (master, controller) = (number % MASTERS, number / MASTERS);
        let [high, low] = (49_152 + number as u16).to_be_bytes();
        let client = End {
            mac: Mac::local(master + 1),
            address: Ipv4Addr::new(10, 0, 1, master as u8 + 1),
            port: u16::from_be_bytes([high, low]),
            next: 0x1000 * (number + 1),
        };
        let server = End {
            mac: Mac::local(200 + controller),
            address: Ipv4Addr::new(10, 0, 2, controller as u8 + 1),
            port: 102,
            next: 0x2_0000 * (number + 1),
        };
        [client, server]
    };
    (0..MASTERS * CONTROLLERS).map(pair).collect()
}

/// Writes a capture of `frames` frames.
pub(crate) fn write(out: impl Write, frames: u64) -> Result<(), Box<dyn core::error::Error>> {
    let writer = Writer::new(out, Link::Ethernet)?;
    let [segment, packet, frame] = [(); 3].map(|()| Vec::new());
    let mut out = Out { writer, frames: 0, segment, packet, frame };
    let mut connections = ends();
    for [client, server] in &mut connections {
        out.send(client, server, SYN, &[])?;
        client.next += 1;
        out.send(server, client, SYN | ACK, &[])?;
        server.next += 1;
        out.send(client, server, ACK, &[])?;
        out.send(client, server, PUSH, CR)?;
        client.next += CR.len() as u32;
        out.send(server, client, PUSH, CC)?;
        server.next += CC.len() as u32;
    }
    while out.frames < frames {
        for [client, server] in &mut connections {
            if out.frames % AGAIN_EVERY < 2 {
                out.send(client, server, PUSH, REQUEST)?;
            }
            out.send(client, server, PUSH, REQUEST)?;
            client.next = client.next.wrapping_add(REQUEST.len() as u32);
            out.send(server, client, PUSH, REPLY)?;
            server.next = server.next.wrapping_add(REPLY.len() as u32);
        }
    }
    out.writer.flush()?;
    Ok(())
}

//! Connections that carry Modbus, as the frames of their segments.

use wire::modbus;
use wire::tcp::{self, Flags};

/// Sender of a segment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    Client,
    Server,
}

/// Connection of a client with a server whose frames a meter receives.
pub(crate) struct Connection {
    /// Last octet of the client's address, and its port.
    pub(crate) client: (u8, u16),
    /// Last octet of the server's address, and its port.
    pub(crate) server: (u8, u16),
    /// Numbers of the next octets of client and server.
    next: [u32; 2],
}

impl Connection {
    pub(crate) const fn new(client: (u8, u16), server: u8, port: u16) -> Self {
        Self { client, server: (server, port), next: [1_000, 9_000] }
    }

    /// Frame with these octets at an offset from the next number.
    pub(crate) fn frame(&self, from: From, offset: i32, flags: Flags, octets: &[u8]) -> Vec<u8> {
        let way = usize::from(from == From::Server);
        let ends = if way == 0 { [self.client, self.server] } else { [self.server, self.client] };
        let sequence = self.next[way].wrapping_add_signed(offset);
        let numbers = [sequence, self.next[1 - way]];
        let mut segment = Vec::new();
        tcp::Pdu::between(ends.map(|(_, port)| port), flags, numbers, octets).encode(&mut segment);
        let [high, low] = (segment.len() as u16 + 20).to_be_bytes();
        let [source, destination] = ends.map(|(address, _)| address);
        let head = [0x45, 0, high, low, 0, 0, 0x40, 0, 64, 6, 0, 0];
        let addresses = [10, 0, 0, source, 10, 0, 0, destination];
        [&[2; 12][..], &[8, 0], &head, &addresses, &segment].concat()
    }

    /// Sets the numbers of the next octets.
    pub(crate) const fn begin_at(&mut self, next: [u32; 2]) {
        self.next = next;
    }

    /// Frames of its beginning.
    pub(crate) fn opened(&self, millis: u64) -> Vec<(u64, Vec<u8>)> {
        let asked = self.frame(From::Client, -1, Flags(0x02), &[]);
        vec![(millis, asked), (millis, self.frame(From::Server, -1, Flags(0x12), &[]))]
    }

    /// Frame with the next octets.
    pub(crate) fn send(&mut self, from: From, octets: &[u8]) -> Vec<u8> {
        let frame = self.frame(from, 0, Flags(0x18), octets);
        let next = &mut self.next[usize::from(from == From::Server)];
        *next = next.wrapping_add(octets.len() as u32);
        frame
    }
}

/// ADU with these data.
pub(crate) fn adu(transaction: u16, unit: u8, function: u8, data: &[u8]) -> Vec<u8> {
    let (function, is_exception) = (function & 0x7F, function & 0x80 != 0);
    modbus::Pdu { transaction, unit, function, is_exception, data }.encode()
}

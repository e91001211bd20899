//! Connections for I/O data that explicit messages of EtherNet/IP set up: a Forward_Open and its reply.
//!
//! A set-up counts if the request and a success from the station that it was sent to passed, with the
//! same serial number. Memory is bounded: of requests without a reply and of set-ups that are not taken,
//! the oldest make room.

use core::net::Ipv6Addr;
use std::collections::VecDeque;
use wire::cip_io::{self, Serial};
use wire::enip;

/// Maximum number of requests without a reply, and of set-ups that are not taken.
const KEPT: usize = 256;

/// Offset of the service of an unconnected message, behind an empty address item.
const SERVICE_AT: usize = 40;

/// Set-up of a connection, or its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SetUp {
    /// Opened.
    Opened(Opened),
    /// Closed by its originator.
    Closed {
        /// Originator and target.
        ends: [Ipv6Addr; 2],
        serial: Serial,
    },
}

/// Connection that was opened. Of each pair the first is from the originator to the target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Opened {
    /// Originator and target.
    pub(crate) ends: [Ipv6Addr; 2],
    pub(crate) serial: Serial,
    /// Connection identifiers.
    pub(crate) connections: [u32; 2],
    /// Actual packet intervals.
    pub(crate) intervals_us: [u32; 2],
    /// Connection timeout multiplier.
    pub(crate) multiplier: u8,
    /// Class of transport.
    pub(crate) class: u8,
}

/// Request without a reply.
#[derive(Clone, Copy, Debug)]
struct Asked {
    ends: [Ipv6Addr; 2],
    serial: Serial,
    multiplier: u8,
    class: u8,
}

/// Set-ups in the making, and those that were made.
#[derive(Clone, Default, Debug)]
pub(super) struct SetUps {
    asked: VecDeque<Asked>,
    made: VecDeque<SetUp>,
}

fn push<T>(queue: &mut VecDeque<T>, item: T) {
    if queue.len() == KEPT {
        queue.pop_front();
    }
    queue.push_back(item);
}

impl SetUps {
    /// Adds an explicit message from one station to the other.
    pub(super) fn add(&mut self, [from, to]: [Ipv6Addr; 2], octets: &[u8]) {
        // SendRRData, with the services Forward_Open, Large_Forward_Open and Forward_Close.
        let service = octets.get(SERVICE_AT).map(|service| service & 0x7F);
        if octets.first() != Some(&0x6F) || !matches!(service, Some(0x54 | 0x5B | 0x4E)) {
            return;
        }
        let message = enip::Pdu::decode(octets).ok().and_then(|pdu| pdu.message);
        match message.and_then(|message| cip_io::SetUp::of(&message)) {
            Some(cip_io::SetUp::Open { serial, multiplier, class, .. }) => {
                push(&mut self.asked, Asked { ends: [from, to], serial, multiplier, class });
            }
            Some(cip_io::SetUp::Opened { serial, connections, intervals_us }) => {
                let ends = [to, from];
                let is_it = |it: &Asked| it.ends == ends && it.serial == serial;
                let place = self.asked.iter().rposition(is_it);
                let Some(asked) = place.and_then(|place| self.asked.remove(place)) else { return };
                let Asked { multiplier, class, .. } = asked;
                let opened = Opened { ends, serial, connections, intervals_us, multiplier, class };
                push(&mut self.made, SetUp::Opened(opened));
            }
            Some(cip_io::SetUp::Closed { serial }) => {
                push(&mut self.made, SetUp::Closed { ends: [to, from], serial });
            }
            None => {}
        }
    }

    /// Takes the oldest set-up.
    pub(super) fn take(&mut self) -> Option<SetUp> {
        self.made.pop_front()
    }
}

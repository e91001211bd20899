//! Protocols of requests and replies: one row for each.
//!
//! | | port | identifier of a request | unit | function |
//! |---|---|---|---|---|
//! | Modbus/TCP | 502 | transaction | unit | function code |
//! | DNP3 | 20000 | master, application sequence | outstation | function code of the request |
//! | IEC 60870-5-104 | 2404 | object address | common address | type; U format; I format |
//! | EtherNet/IP | 44818 | sequence count, or sender context | 0 | service of CIP, or command |
//! | ADS | 48898 | invoke identifier | AMS port of the server | command |
//! | FINS | 9600 | SID | node | command |
//!
//! DNP3 and FINS are followed in datagrams of UDP as well. A DNP3 message has the time of its first link frame. An I format of IEC 104 is a request whose reply
//! is its acknowledgement, N(R) of an I or S format of the other side; so its outstanding requests are
//! the unacknowledged ones, and its response times the delays of acknowledgement.
//!
//! A row finds the end of a PDU from its front, and reads a PDU as a [`Message`] (`message`, `readers`). To add
//! one: its file in `wire`, a variant, a row of [`Protocol::row`], and two readers.

use super::message::{Front, Message, NUMBERED, OTHER, Sender};
use super::readers;
use wire::{ads, dnp3, enip, fins, iec104, modbus};

/// Protocol whose requests are paired with their replies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Protocol {
    /// Modbus over TCP.
    Modbus,
    /// DNP3 (IEEE 1815).
    Dnp3,
    /// IEC 60870-5-104.
    Iec104,
    /// Explicit messages of EtherNet/IP.
    EtherNetIp,
    /// ADS of Beckhoff.
    Ads,
    /// FINS of Omron.
    Fins,
}

/// Reader of a PDU; it calls the last argument for each message.
pub(super) type Read = for<'a> fn(&'a [u8], Sender, &mut dyn FnMut(Message<'a>)) -> bool;

/// Definition of a protocol.
pub(super) struct Row {
    /// Name in output.
    name: &'static str,
    /// Word of requirements.
    word: &'static str,
    /// Port of servers.
    port: u16,
    /// Name under which octets that are no PDU are counted.
    pub(super) foreign: &'static str,
    /// Time after which a request is unanswered.
    pub(super) limit_ns: u64,
    /// PDUs in streams of TCP.
    pub(super) stream: Form,
    /// PDUs in datagrams of UDP, if they are followed there.
    pub(super) datagram: Option<Datagram>,
}

/// Form of PDUs in octets that follow each other.
#[derive(Clone, Copy)]
pub(super) struct Form {
    /// Finds the end of the PDU at the front of these octets.
    pub(super) front: fn(&[u8]) -> Front,
    /// Reads a PDU, of which the end may be missing, as messages; false if it is none.
    pub(super) read: Read,
}

/// Form of PDUs in datagrams. Their roles follow from themselves, because both ends commonly have the
/// port of the protocol.
pub(super) enum Datagram {
    /// Several PDUs, in the form of a stream.
    AsStream,
    /// One PDU, which this reads.
    One(Read),
}

/// Time after which a request is unanswered, in general.
const LIMIT_NS: u64 = 10_000_000_000;

impl Protocol {
    /// All protocols.
    pub const ALL: [Self; 6] =
        [Self::Modbus, Self::Dnp3, Self::Iec104, Self::EtherNetIp, Self::Ads, Self::Fins];

    pub(super) const fn row(self) -> &'static Row {
        match self {
            Self::Modbus => &Row {
                name: "Modbus/TCP",
                word: "modbus",
                port: modbus::PORT,
                foreign: "no Modbus/TCP on its port",
                limit_ns: LIMIT_NS,
                stream: Form { front: readers::front_of_modbus, read: readers::read_modbus },
                datagram: None,
            },
            Self::Dnp3 => &Row {
                name: "DNP3",
                word: "dnp3",
                port: dnp3::PORT,
                foreign: "no DNP3 on its port",
                limit_ns: LIMIT_NS,
                stream: Form { front: readers::front_of_dnp3, read: readers::read_dnp3 },
                datagram: Some(Datagram::AsStream),
            },
            Self::Iec104 => &Row {
                name: "IEC 104",
                word: "iec104",
                port: iec104::PORT,
                foreign: "no IEC 104 on its port",
                // A station may delay an acknowledgement by t2, 10 s.
                limit_ns: 3 * LIMIT_NS,
                stream: Form { front: readers::front_of_iec104, read: readers::read_iec104 },
                datagram: None,
            },
            Self::EtherNetIp => &Row {
                name: "EtherNet/IP",
                word: "enip",
                port: enip::PORT,
                foreign: "no EtherNet/IP on its port",
                limit_ns: LIMIT_NS,
                stream: Form { front: readers::front_of_enip, read: readers::read_enip },
                datagram: None,
            },
            Self::Ads => &Row {
                name: "ADS",
                word: "ads",
                port: ads::PORT,
                foreign: "no ADS on its port",
                limit_ns: LIMIT_NS,
                stream: Form { front: readers::front_of_ads, read: readers::read_ads },
                datagram: None,
            },
            Self::Fins => &Row {
                name: "FINS",
                word: "fins",
                port: fins::PORT,
                foreign: "no FINS on its port",
                limit_ns: LIMIT_NS,
                stream: Form { front: readers::front_of_fins, read: readers::read_fins },
                datagram: Some(Datagram::One(readers::read_fins_frame)),
            },
        }
    }

    /// Name in output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Word that stands for the protocol in requirements.
    #[must_use]
    pub const fn word(self) -> &'static str {
        self.row().word
    }

    /// Name of a function of the protocol, if it has one.
    #[must_use]
    pub fn function_name(self, function: u16) -> Option<&'static str> {
        let octet = u8::try_from(function).ok();
        match self {
            Self::Modbus => modbus::function_name(octet?),
            Self::Dnp3 => dnp3::function_name(octet?),
            Self::Iec104 => match (octet, function) {
                (Some(kind), _) => iec104::type_name(kind),
                (_, 0x107) => Some("STARTDT"),
                (_, 0x113) => Some("STOPDT"),
                (_, 0x143) => Some("TESTFR"),
                (_, NUMBERED) => Some("I of the client"),
                (_, _) => (function == NUMBERED + 1).then_some("I of the server"),
            },
            Self::EtherNetIp => match octet {
                Some(service) => enip::service_name(service),
                None => enip::command_name(function & !OTHER),
            },
            Self::Ads => ads::command_name(function),
            Self::Fins => fins::command_name(function),
        }
    }

    /// Protocol of the server on one of two ports of TCP, and the place of that port; none if neither
    /// has one, or both, because nothing then tells which of them answers.
    pub(crate) fn of_ports(ports: [u16; 2]) -> Option<(Self, usize)> {
        Self::ALL.into_iter().find_map(|protocol| {
            match ports.map(|port| port == protocol.row().port) {
                [true, false] => Some((protocol, 0)),
                [false, true] => Some((protocol, 1)),
                _ => None,
            }
        })
    }

    /// Protocol of which a datagram between two ports may be.
    pub(crate) fn of_datagram(ports: [u16; 2]) -> Option<Self> {
        let is_it = |protocol: &Self| {
            let row = protocol.row();
            row.datagram.is_some() && ports.contains(&row.port)
        };
        Self::ALL.into_iter().find(is_it)
    }
}

//! One class 4 entity with a peer played by the test, TPDU by TPDU.

use bytes::Bytes;
use core::time::Duration;
use stack::machine::{Machine, Output};
use stack::tp4::{Address, Endpoint, Entity, Indication, Nsdu, Params, Request, TransmitHandle};
use std::collections::VecDeque;
use wire::addr::Mac;
use wire::packet::Packet;
use wire::time::Instant;
use wire::tp::{
    ClassOption, Connect, Format, Kind, Parameter, ParameterBuffer, Pdu, Reference, seal, tpdus,
};

/// Reference of the peer in all tests; the first reference of the entity is 1.
pub(crate) const PEER: u16 = 0x0707;

pub(crate) struct Lone {
    pub(crate) entity: Entity,
    pub(crate) now: Instant,
    pub(crate) format: Format,
    pub(crate) endpoint: Option<Endpoint>,
    /// True if TPDUs stay queued in the station until [`Lone::leaves`] is called for each.
    pub(crate) queues: bool,
    queue: VecDeque<TransmitHandle>,
    /// True to print the octets of TPDUs instead of their decoded line.
    pub(crate) raw: bool,
}

pub(crate) fn station(number: u32) -> Address {
    Address::Station(Mac::local(number))
}

/// A CR (`to` zero) or CC from `from`, with a checksum if it is for class 4.
pub(crate) fn connect(
    kind: Kind,
    [to, from]: [u16; 2],
    class: u8,
    parameters: &[Parameter<'_>],
    data: &[u8],
) -> Vec<u8> {
    let sealed = class >> 4 == 4;
    let mut buffer = ParameterBuffer::new();
    for parameter in parameters {
        buffer.push(parameter).unwrap();
    }
    if sealed {
        buffer.push(&Parameter::Checksum([0, 0])).unwrap();
    }
    let connect = Connect {
        credit: 8,
        destination_reference: Reference(to),
        source_reference: Reference(from),
        class: ClassOption::from_octet(class),
        parameters: buffer.parameters(kind),
        data,
    };
    let pdu = if kind == Kind::Cr { Pdu::Cr(connect) } else { Pdu::Cc(connect) };
    let mut octets = Vec::new();
    pdu.encode_header(&mut octets);
    if sealed {
        let at = octets.len() - 2;
        seal(&mut octets, at, data);
    }
    octets.extend_from_slice(data);
    octets
}

pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Hexadecimal digits: length indicator and code, the reference, four octets, and the rest,
/// separated.
fn digits(octets: &[u8]) -> String {
    let mut text = String::new();
    for (place, octet) in octets.iter().enumerate() {
        let gap = if matches!(place, 1 | 2 | 4 | 8 | 10) { " " } else { "" };
        text.push_str(&format!("{gap}{octet:02x}"));
    }
    text
}

impl Lone {
    pub(crate) fn new(params: Params) -> Self {
        let entity = Entity::new(params, 0);
        Self {
            entity,
            now: Instant::ZERO,
            format: Format::Normal,
            endpoint: None,
            queues: false,
            queue: VecDeque::new(),
            raw: false,
        }
    }

    /// Creates an entity with an accepted connection in the normal format without checksum;
    /// expedited data according to `params`.
    pub(crate) fn open(params: Params) -> Self {
        let mut lone = Self::new(Params { checksum: false, extended: false, ..params });
        let options = [Parameter::TpduSize(10), Parameter::AdditionalOptions(0x03)];
        lone.hear(&connect(Kind::Cr, [0, PEER], 0x40, &options, b""));
        // An AK completes the handshake.
        assert_eq!(lone.hear(&hex("04 68 0001 00")), ["Established"]);
        lone
    }

    /// Delivers an NSDU; returns the outputs of the entity. Connections are accepted.
    pub(crate) fn hear(&mut self, octets: &[u8]) -> Vec<String> {
        self.hear_from(1, octets)
    }

    pub(crate) fn hear_from(&mut self, number: u32, octets: &[u8]) -> Vec<String> {
        let packet = Packet::new(Bytes::copy_from_slice(octets));
        self.entity.receive(self.now, Nsdu { peer: station(number), packet });
        self.drain()
    }

    pub(crate) fn request(&mut self, request: Request) -> Vec<String> {
        self.entity.request(self.now, request);
        self.drain()
    }

    pub(crate) fn send(&mut self, tsdu: &'static [u8]) -> Vec<String> {
        let endpoint = self.endpoint.unwrap();
        self.request(Request::Data { endpoint, tsdu: Bytes::from_static(tsdu) })
    }

    pub(crate) fn expedite(&mut self, data: &'static [u8]) -> Vec<String> {
        let endpoint = self.endpoint.unwrap();
        self.request(Request::Expedited { endpoint, data: Bytes::from_static(data) })
    }

    /// Advances the time by `ms` milliseconds, timer by timer.
    pub(crate) fn pass(&mut self, ms: u64) -> Vec<String> {
        let end = self.now + Duration::from_millis(ms);
        let mut lines = Vec::new();
        while let Some(deadline) = self.entity.deadline().filter(|deadline| deadline.at <= end) {
            self.now = self.now.max(deadline.at);
            self.entity.expire(self.now);
            lines.extend(self.drain());
        }
        self.now = end;
        lines
    }

    /// Lets the first queued TPDU leave the station.
    pub(crate) fn leaves(&mut self) -> Vec<String> {
        let handle = self.queue.pop_front().unwrap();
        self.entity.transmitted(self.now, handle);
        self.drain()
    }

    fn drain(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(output) = self.entity.poll() {
            match output {
                Output::Send(nsdu) => {
                    if self.queues {
                        self.queue.extend(self.entity.handle());
                    }
                    let octets = nsdu.packet.to_bytes();
                    if self.raw {
                        lines.push(digits(&octets));
                        continue;
                    }
                    for raw in tpdus(&octets) {
                        let pdu =
                            Pdu::decode(&raw.unwrap(), Some(self.format)).unwrap().to_string();
                        lines.push(pdu);
                    }
                }
                Output::Deliver(indication) => self.told(indication, &mut lines),
                Output::Note(_) => {}
            }
        }
        lines
    }

    fn told(&mut self, indication: Indication, lines: &mut Vec<String>) {
        let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
        lines.push(match indication {
            Indication::Connect { endpoint, .. } => {
                self.endpoint = Some(endpoint);
                self.entity.request(self.now, Request::Accept { endpoint, data: Bytes::new() });
                "Connect".to_owned()
            }
            Indication::Confirm { .. } => "Confirm".to_owned(),
            Indication::Established { .. } => "Established".to_owned(),
            Indication::Data { octets, end, .. } => {
                format!("Data {}{}", text(&octets), if end { "" } else { " ..." })
            }
            Indication::Expedited { data, .. } => format!("Expedited {}", text(&data)),
            Indication::ExpeditedRefused { .. } => "ExpeditedRefused".to_owned(),
            Indication::Full { .. } => "Full".to_owned(),
            Indication::Ready { .. } => "Ready".to_owned(),
            Indication::Drained { .. } => "Drained".to_owned(),
            Indication::Disconnect { reason, .. } => format!("Disconnect: {reason}"),
            Indication::Closed { .. } => "Closed".to_owned(),
        });
    }
}

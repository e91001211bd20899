//! PDUs of protocols of requests and replies, made of a few octets of a script.

use crate::modbus_wire::{From, adu};
use wire::{ads, dnp3, enip, fins, iec104, modbus};

/// Ports of the servers of each protocol.
pub(crate) const PORTS: [u16; 6] =
    [modbus::PORT, dnp3::PORT, iec104::PORT, enip::PORT, ads::PORT, fins::PORT];

/// Fields of a PDU.
pub(crate) struct Fields {
    pub(crate) from: From,
    pub(crate) identifier: u8,
    /// Unit in the low bits, function in the high ones; three set high bits make a failure.
    pub(crate) unit: u8,
    pub(crate) data: u8,
}

impl Fields {
    const fn is_reply(&self) -> bool {
        matches!(self.from, From::Server)
    }

    const fn has_failed(&self) -> bool {
        self.unit & 0xE0 == 0xE0
    }

    /// PDU of the protocol at this place.
    pub(crate) fn pdu(&self, protocol: usize) -> Vec<u8> {
        match protocol {
            0 => self.modbus(),
            1 => self.dnp3(),
            2 => self.iec104(),
            3 => self.enip(),
            4 => self.ads(),
            _ => self.fins(),
        }
    }

    fn modbus(&self) -> Vec<u8> {
        let function = (3 + (self.unit >> 4 & 3)) | if self.has_failed() { 0x80 } else { 0 };
        adu(u16::from(self.identifier & 7), self.unit & 3, function, &[0, self.data & 7, 0, 2])
    }

    fn dnp3(&self) -> Vec<u8> {
        let ends = [[3, 0], [self.unit & 3, 0]];
        let [destination, source] = if self.is_reply() { ends } else { [ends[1], ends[0]] };
        let (function, iin) = match (self.is_reply(), self.has_failed()) {
            (true, failed) => (129, u8::from(failed) << 1),
            (false, _) => (1 + (self.unit >> 4 & 3), 0),
        };
        let data = [0xC0, 0xC0 | self.identifier & 15, function, self.data & 7, iin, 1];
        let mut octets = vec![0x05, 0x64, 5 + data.len() as u8, 0xC4];
        octets.extend([destination, source].concat());
        octets.extend(dnp3::crc(&octets).to_le_bytes());
        octets.extend(data);
        octets.extend(dnp3::crc(&data).to_le_bytes());
        octets
    }

    fn iec104(&self) -> Vec<u8> {
        let [send, receive] = [self.identifier, self.data].map(|number| [number << 1, number >> 7]);
        match self.unit >> 4 {
            0 => vec![0x68, 4, 1, 0, receive[0], receive[1]],
            1 => vec![0x68, 4, if self.is_reply() { 0x83 } else { 0x43 }, 0, 0, 0],
            kind => {
                let cause = 6 + u8::from(self.is_reply()) + (u8::from(self.has_failed()) << 6);
                let asdu = [98 + kind, 1, cause, 0, self.unit & 3, 0, self.data & 1, 0, 0, 20];
                let head = [0x68, 14, send[0], send[1], receive[0], receive[1]];
                [&head[..], &asdu].concat()
            }
        }
    }

    fn enip(&self) -> Vec<u8> {
        let service = (1 + (self.unit >> 4 & 7)) | if self.is_reply() { 0x80 } else { 0 };
        let cip = [service, 0, u8::from(self.has_failed()), 0, self.data & 7];
        let (command, item) = if self.unit & 1 == 0 {
            (0x6F, [&[0xB2, 0, 5, 0][..], &cip].concat())
        } else {
            (0x70, [&[0xB1, 0, 7, 0, self.identifier, 0][..], &cip].concat())
        };
        let items = [&[0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0][..], &item].concat();
        let mut octets = vec![command, 0, items.len() as u8, 0, 7, 0, 0, 0, 0, 0, 0, 0];
        octets.extend([self.identifier & 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        octets.extend(items);
        octets
    }

    fn ads(&self) -> Vec<u8> {
        let state = if self.is_reply() { 5 } else { 4 };
        let mut octets = vec![0, 0, 44, 0, 0, 0, 5, 1, 2, 3, 1, 1, 81, 3, 5, 1, 2, 4, 1, 1, 81, 3];
        octets.extend([1 + (self.unit >> 4 & 7), 0, state, 0, 12, 0, 0, 0]);
        octets.extend([u8::from(self.has_failed()), 0, 0, 0, self.identifier & 7, 0, 0, 0]);
        octets.extend([0, 0, 0, 0, self.data & 7, 0, 0, 0, 4, 0, 0, 0]);
        octets
    }

    fn fins(&self) -> Vec<u8> {
        let icf = if self.is_reply() { 0xC0 } else { 0x80 };
        let head = [0, 0, 0, 24, 0, 0, 0, 2, 0, 0, 0, 0];
        let service = self.identifier & 7;
        let frame = [icf, 0, 2, 0, 1, 0, 0, 5, 0, service, 1, 1 + (self.unit >> 4 & 3)];
        let data = [u8::from(self.has_failed()), 0, self.data & 7, 0];
        [&b"FINS"[..], &head, &frame, &data].concat()
    }
}

#[test]
fn each_pdu_is_one_of_its_protocol() {
    for (protocol, port) in PORTS.into_iter().enumerate() {
        for unit in 0..=255 {
            for from in [From::Client, From::Server] {
                let octets = Fields { from, identifier: 3, unit, data: 5 }.pdu(protocol);
                let length = match port {
                    modbus::PORT => modbus::Header::decode(&octets).map(|it| it.adu_octets),
                    dnp3::PORT => dnp3::Header::decode(&octets).map(|it| it.frame_octets),
                    iec104::PORT => iec104::Pdu::decode(&octets).map(|it| it.octets),
                    enip::PORT => enip::Pdu::decode(&octets).map(|it| it.header.octets),
                    ads::PORT => ads::Pdu::decode(&octets).map(|it| it.octets),
                    _ => fins::Pdu::decode(&octets).map(|it| it.octets),
                };
                assert_eq!(length, Ok(octets.len()), "port {port}, {octets:?}");
            }
        }
    }
}

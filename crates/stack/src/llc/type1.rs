//! LLC type 1 (IEEE 802.2): unacknowledged connectionless service, and the XID and TEST responder.
//!
//! It keeps no state: an LSDU is sent as one UI, and every UI for an open SAP is delivered. A
//! station answers XID and TEST commands for its null SAP and its open SAPs, but never a response,
//! so two stations cannot answer each other endlessly.

use crate::machine::{Deadline, Machine, Output};
use bytes::{BufMut, BytesMut};
use core::convert::Infallible;
use std::collections::{BTreeSet, VecDeque};
use wire::addr::{Mac, Sap};
use wire::llc::{Control, POLL_FINAL, RESPONSE};
use wire::packet::Packet;
use wire::time::Instant;

const UI: u8 = Control::Ui.u_format();
const XID: u8 = Control::Xid.u_format();
const TEST: u8 = Control::Test.u_format();

/// LLC types supported by a station, as encoded in its XID information: the basic format, the
/// types, no window.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// Type 1 only.
    I,
    /// Types 1 and 3.
    Iii,
}

impl Class {
    const fn information(self) -> [u8; 3] {
        match self {
            Self::I => [0x81, 0x01, 0x00],
            Self::Iii => [0x81, 0x05, 0x00],
        }
    }
}

/// LLC PDU with its destination or source station.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lpdu {
    /// Other station.
    pub station: Mac,
    /// DSAP, SSAP, control and information.
    pub packet: Packet,
}

impl Lpdu {
    /// Creates the UI of a DL-UNITDATA request; no machine keeps state for it.
    #[must_use]
    pub fn ui(station: Mac, destination: Sap, source: Sap, mut data: Packet) -> Self {
        data.prepend(&[destination.0, source.0, UI]);
        Self { station, packet: data }
    }
}

/// Request of the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// DL-UNITDATA request.
    Unitdata {
        /// Destination station; may be a group.
        station: Mac,
        /// Destination SAP.
        destination: Sap,
        /// Source SAP.
        source: Sap,
        /// The LSDU.
        data: Packet,
    },
    /// TEST command: a present station returns its information.
    Test {
        /// Destination station.
        station: Mac,
        /// Destination SAP; the null SAP addresses the station itself.
        destination: Sap,
        /// Information field.
        data: Packet,
    },
    /// XID command: requests the LLC types of the station.
    Xid {
        /// Destination station.
        station: Mac,
        /// Destination SAP.
        destination: Sap,
    },
}

/// Indication to the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Indication {
    /// DL-UNITDATA indication.
    Unitdata {
        /// Source station.
        station: Mac,
        /// Destination SAP, on this station.
        destination: Sap,
        /// Source SAP.
        source: Sap,
        /// The LSDU.
        data: Packet,
    },
    /// A TEST response.
    Tested {
        /// Station that responded.
        station: Mac,
        /// Returned information.
        data: Packet,
    },
    /// An XID response.
    Identified {
        /// Station that responded.
        station: Mac,
        /// Format, types and window, as received.
        data: Packet,
    },
}

/// Event counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// UIs for a SAP that is not open here.
    pub no_such_sap: u64,
    /// PDUs of other types, or too short.
    pub not_understood: u64,
    /// XID and TEST commands answered.
    pub answered: u64,
}

/// Type 1 machine of a station.
#[derive(Clone, Debug)]
pub struct Type1 {
    class: Class,
    open: BTreeSet<Sap>,
    outputs: VecDeque<Output<Lpdu, Indication, Infallible>>,
    counters: Counters,
}

impl Type1 {
    /// Creates the machine of a class I station with these SAPs open.
    #[must_use]
    pub fn new(open: impl IntoIterator<Item = Sap>) -> Self {
        Self::of_class(Class::I, open)
    }

    /// Creates the machine of a station of this class with these SAPs open.
    #[must_use]
    pub fn of_class(class: Class, open: impl IntoIterator<Item = Sap>) -> Self {
        Self {
            class,
            open: open.into_iter().collect(),
            outputs: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// Event counters.
    #[must_use]
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Returns true if no output is queued.
    #[must_use]
    pub(crate) fn is_silent(&self) -> bool {
        self.outputs.is_empty()
    }

    /// Opens a SAP: its UIs are delivered from now on.
    pub fn open(&mut self, sap: Sap) {
        self.open.insert(sap);
    }

    /// Closes a SAP: its UIs are no longer delivered.
    pub fn close(&mut self, sap: Sap) {
        self.open.remove(&sap);
    }

    /// Fast path: removes the header of a UI for one open SAP and returns destination and source
    /// SAP, without queuing a delivery. Any other packet is left unchanged for
    /// [`Machine::receive`].
    pub fn read_ui(&self, packet: &mut Packet) -> Option<(Sap, Sap)> {
        let [dsap, ssap, control] = packet.first()?;
        let is_ui = control & !POLL_FINAL == UI && ssap & RESPONSE == 0;
        if !is_ui || !self.open.contains(&Sap(dsap)) {
            return None;
        }
        packet.strip(3)?;
        Some((Sap(dsap), Sap(ssap)))
    }

    fn send(&mut self, station: Mac, header: [u8; 3], mut packet: Packet) {
        packet.prepend(&header);
        self.outputs.push_back(Output::Send(Lpdu { station, packet }));
    }

    fn is_here(&self, destination: Sap) -> bool {
        destination == Sap::GLOBAL || self.open.contains(&destination)
    }

    fn unitdata(&mut self, station: Mac, destination: Sap, source: Sap, data: Packet) {
        if self.is_here(destination) {
            let indication = Indication::Unitdata { station, destination, source, data };
            self.outputs.push_back(Output::Deliver(indication));
        } else {
            self.counters.no_such_sap += 1;
        }
    }

    /// Answers a command from the SAP it was addressed to, or from the null SAP if that was a
    /// group.
    fn answer(&mut self, station: Mac, destination: Sap, source: Sap, control: u8, data: Packet) {
        if destination != Sap::NULL && !self.is_here(destination) {
            self.counters.no_such_sap += 1;
            return;
        }
        let own = if destination.is_group() { Sap::NULL } else { destination };
        let is_xid = control & !POLL_FINAL == XID;
        let mut information = BytesMut::new();
        if is_xid {
            information.put_slice(&self.class.information());
        }
        let answer = if is_xid { Packet::new(information.freeze()) } else { data };
        self.counters.answered += 1;
        self.send(station, [source.0, own.0 | RESPONSE, control], answer);
    }
}

impl Machine for Type1 {
    type Request = Request;
    type Indication = Indication;
    type Pdu = Lpdu;
    type Note = Infallible;

    fn request(&mut self, _now: Instant, request: Request) {
        match request {
            Request::Unitdata { station, destination, source, data } => {
                let lpdu = Lpdu::ui(station, destination, source, data);
                self.outputs.push_back(Output::Send(lpdu));
            }
            Request::Test { station, destination, data } => {
                self.send(station, [destination.0, Sap::NULL.0, TEST | POLL_FINAL], data);
            }
            Request::Xid { station, destination } => {
                let mut information = BytesMut::new();
                information.put_slice(&self.class.information());
                let header = [destination.0, Sap::NULL.0, XID | POLL_FINAL];
                self.send(station, header, Packet::new(information.freeze()));
            }
        }
    }

    fn receive(&mut self, _now: Instant, Lpdu { station, mut packet }: Lpdu) {
        let Some([dsap, ssap, control]) = packet.first::<3>().filter(|_| packet.strip(3).is_some())
        else {
            self.counters.not_understood += 1;
            return;
        };
        let (destination, source) = (Sap(dsap), Sap(ssap & !RESPONSE));
        let is_response = ssap & RESPONSE != 0;
        match (control & !POLL_FINAL, is_response) {
            (UI, false) => self.unitdata(station, destination, source, packet),
            (XID | TEST, false) => self.answer(station, destination, source, control, packet),
            (TEST, true) => {
                let tested = Indication::Tested { station, data: packet };
                self.outputs.push_back(Output::Deliver(tested));
            }
            (XID, true) => {
                let identified = Indication::Identified { station, data: packet };
                self.outputs.push_back(Output::Deliver(identified));
            }
            _ => self.counters.not_understood += 1,
        }
    }

    fn expire(&mut self, _now: Instant) {}

    fn deadline(&self) -> Option<Deadline> {
        None
    }

    fn poll(&mut self) -> Option<Output<Lpdu, Indication, Infallible>> {
        self.outputs.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    const PEER: Mac = Mac::local(9);

    /// Outputs of a machine with SAP 20 open for these octets, in hexadecimal.
    fn says(octets: &[u8]) -> Vec<String> {
        let mut machine = Type1::new([Sap(0x20)]);
        let packet = Packet::new(Bytes::copy_from_slice(octets));
        machine.receive(Instant::ZERO, Lpdu { station: PEER, packet });
        let hex = |packet: &Packet| {
            packet.to_bytes().iter().map(|octet| format!("{octet:02x}")).collect::<String>()
        };
        std::iter::from_fn(|| machine.poll())
            .map(|output| match output {
                Output::Send(Lpdu { station: PEER, packet }) => format!("send {}", hex(&packet)),
                Output::Deliver(Indication::Unitdata { destination, source, data, .. }) => {
                    format!("deliver {destination}<{source} {}", hex(&data))
                }
                Output::Deliver(Indication::Tested { data, .. }) => {
                    format!("tested {}", hex(&data))
                }
                other => format!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn a_ui_is_delivered_to_an_open_sap_only() {
        assert_eq!(says(&[0x20, 0x22, 0x03, 7, 8]), ["deliver 20<22 0708"]);
        assert_eq!(says(&[0xFF, 0x22, 0x03, 7]), ["deliver ff<22 07"]);
        assert_eq!(says(&[0x24, 0x22, 0x03, 7]), [""; 0]);
        assert_eq!(says(&[0x20, 0x23, 0x03, 7]), [""; 0], "a UI is never a response");
    }

    #[test]
    fn commands_are_answered_with_their_poll_bit() {
        // The station itself, an open SAP, all SAPs, a closed SAP.
        assert_eq!(says(&[0x00, 0x22, 0xBF, 0x81, 1, 0]), ["send 2201bf810100"]);
        assert_eq!(says(&[0x20, 0x22, 0xAF, 0x81, 1, 0]), ["send 2221af810100"]);
        assert_eq!(says(&[0xFF, 0x22, 0xE3, 1, 2]), ["send 2201e30102"]);
        assert_eq!(says(&[0x24, 0x22, 0xF3, 1, 2]), [""; 0]);
        assert_eq!(says(&[0x00, 0x23, 0xF3, 1, 2]), ["tested 0102"]);
    }

    #[test]
    fn a_class_iii_station_announces_type_3_and_opens_saps() {
        let mut machine = Type1::of_class(Class::Iii, []);
        let mut says = |octets: &'static [u8]| {
            let packet = Packet::new(Bytes::from_static(octets));
            machine.receive(Instant::ZERO, Lpdu { station: PEER, packet });
            let said = machine.poll();
            machine.open(Sap(0x20));
            said.is_some_and(|output| match output {
                Output::Send(lpdu) => lpdu.packet.to_bytes().ends_with(&[0x81, 0x05, 0x00]),
                Output::Deliver(_) => true,
                Output::Note(never) => match never {},
            })
        };
        assert!(!says(&[0x20, 0x22, 0x03, 7]));
        assert!(says(&[0x20, 0x22, 0x03, 7]));
        assert!(says(&[0x20, 0x22, 0xBF, 0x81, 5, 0]));
        machine.close(Sap(0x20));
        let packet = Packet::new(Bytes::from_static(&[0x20, 0x22, 0x03, 7]));
        machine.receive(Instant::ZERO, Lpdu { station: PEER, packet });
        assert_eq!(machine.poll(), None);
    }

    #[test]
    fn invalid_pdus_are_only_counted() {
        let mut machine = Type1::new([]);
        for octets in [&[0x20][..], &[0x20, 0x22], &[0x20, 0x22, 0x7F], &[]] {
            let packet = Packet::new(Bytes::copy_from_slice(octets));
            machine.receive(Instant::ZERO, Lpdu { station: PEER, packet });
        }
        assert_eq!(machine.poll(), None);
        assert_eq!(machine.counters().not_understood, 4);
    }
}

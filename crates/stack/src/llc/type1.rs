//! LLC type 1 (IEEE 802.2): unacknowledged connectionless service, and the XID and TEST responder.
//!
//! Without state: an LSDU goes out as one UI, and every UI for a SAP that is open here is delivered. A
//! station answers XID and TEST commands for its null SAP and its open SAPs, never a response, so that
//! two stations cannot keep each other busy.

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

/// The types of LLC that a station has, as its XID information says: the basic format, the types, no
/// window.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// Type 1 alone.
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

/// An LLC PDU with the station it goes to or comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lpdu {
    /// The other station.
    pub station: Mac,
    /// DSAP, SSAP, control and information.
    pub packet: Packet,
}

impl Lpdu {
    /// A UI: what becomes of a DL-UNITDATA request, which no machine need remember.
    #[must_use]
    pub fn ui(station: Mac, destination: Sap, source: Sap, mut data: Packet) -> Self {
        data.prepend(&[destination.0, source.0, UI]);
        Self { station, packet: data }
    }
}

/// What a user asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// DL-UNITDATA request.
    Unitdata {
        /// Whom the LSDU goes to; may be a group.
        station: Mac,
        /// The SAP there.
        destination: Sap,
        /// The SAP here.
        source: Sap,
        /// The LSDU.
        data: Packet,
    },
    /// A TEST command: its information comes back if the station is there.
    Test {
        /// Whom it goes to.
        station: Mac,
        /// The SAP there; the null SAP asks the station itself.
        destination: Sap,
        /// The information.
        data: Packet,
    },
    /// An XID command: what types of LLC the station has.
    Xid {
        /// Whom it goes to.
        station: Mac,
        /// The SAP there.
        destination: Sap,
    },
}

/// What a user is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Indication {
    /// DL-UNITDATA indication.
    Unitdata {
        /// Whom the LSDU comes from.
        station: Mac,
        /// The SAP here that it is for.
        destination: Sap,
        /// The SAP there.
        source: Sap,
        /// The LSDU.
        data: Packet,
    },
    /// A TEST response.
    Tested {
        /// Who answered.
        station: Mac,
        /// The information that came back.
        data: Packet,
    },
    /// An XID response.
    Identified {
        /// Who answered.
        station: Mac,
        /// Format, types and window, as they stand.
        data: Packet,
    },
}

/// How often things happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// UIs for a SAP nobody has open here.
    pub no_such_sap: u64,
    /// PDUs that are no type 1 PDU, or too short for one.
    pub not_understood: u64,
    /// XID and TEST commands answered.
    pub answered: u64,
}

/// The type 1 machine of a station.
#[derive(Clone, Debug)]
pub struct Type1 {
    class: Class,
    open: BTreeSet<Sap>,
    outputs: VecDeque<Output<Lpdu, Indication, Infallible>>,
    counters: Counters,
}

impl Type1 {
    /// A machine of a class I station with these SAPs open.
    #[must_use]
    pub fn new(open: impl IntoIterator<Item = Sap>) -> Self {
        Self::of_class(Class::I, open)
    }

    /// A machine of a station of this class with these SAPs open.
    #[must_use]
    pub fn of_class(class: Class, open: impl IntoIterator<Item = Sap>) -> Self {
        Self {
            class,
            open: open.into_iter().collect(),
            outputs: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// How often things happened.
    #[must_use]
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Whether it has said everything.
    #[must_use]
    pub(crate) fn is_silent(&self) -> bool {
        self.outputs.is_empty()
    }

    /// From now on, UIs for this SAP are delivered.
    pub fn open(&mut self, sap: Sap) {
        self.open.insert(sap);
    }

    /// From now on, they are not.
    pub fn close(&mut self, sap: Sap) {
        self.open.remove(&sap);
    }

    /// The destination and source SAP of a UI for one open SAP, taken off it: what it would deliver,
    /// without a stay in its queue. Anything else is left as it is, for [`Machine::receive`].
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

    /// Answers a command under the SAP it was for; under the null SAP where that was a group.
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

    /// What a machine with SAP 20 open says to these octets, in hexadecimal.
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
    fn commands_are_answered_with_their_poll_bit_and_responses_are_not() {
        // The station itself, an open SAP, all SAPs, a closed one.
        assert_eq!(says(&[0x00, 0x22, 0xBF, 0x81, 1, 0]), ["send 2201bf810100"]);
        assert_eq!(says(&[0x20, 0x22, 0xAF, 0x81, 1, 0]), ["send 2221af810100"]);
        assert_eq!(says(&[0xFF, 0x22, 0xE3, 1, 2]), ["send 2201e30102"]);
        assert_eq!(says(&[0x24, 0x22, 0xF3, 1, 2]), [""; 0]);
        assert_eq!(says(&[0x00, 0x23, 0xF3, 1, 2]), ["tested 0102"]);
    }

    #[test]
    fn a_station_with_type_3_says_so_and_its_saps_come_and_go() {
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
    fn what_is_not_understood_is_counted_and_nothing_else() {
        let mut machine = Type1::new([]);
        for octets in [&[0x20][..], &[0x20, 0x22], &[0x20, 0x22, 0x7F], &[]] {
            let packet = Packet::new(Bytes::copy_from_slice(octets));
            machine.receive(Instant::ZERO, Lpdu { station: PEER, packet });
        }
        assert_eq!(machine.poll(), None);
        assert_eq!(machine.counters().not_understood, 4);
    }
}

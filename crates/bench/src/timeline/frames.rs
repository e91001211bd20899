//! Frames of a timeline: their PDUs, connections and retransmissions, as a meter sees them at the senders.

use super::{Event, What, plain};
use meter::observation::{Observation, Order, Placed, Tpdu};
use meter::{Meter, Remarks};
use sim::medium::Passage;
use sim::tap::Tap;
use stack::fault::Fate;
use stack::station::{self, Frame};
use std::collections::BTreeMap;
use wire::addr::Mac;
use wire::dissect::{Levels, Link, NoNsdu, levels};
use wire::goose;
use wire::llc::Control;
use wire::time::Instant;
use wire::tp::Kind;

/// Maximum number of frames that are remembered until they leave the last port on their path.
const MOST_REMEMBERED: usize = 100_000;

/// Reader of frames.
pub(super) struct Frames {
    meter: Meter,
    tap: Tap,
    remarks: Remarks,
    names: BTreeMap<Mac, String>,
    /// Events of frames by number, for the further ports that they leave by.
    sent: BTreeMap<u32, Event>,
}

/// Frame that was sent.
pub(super) struct Sent<'a> {
    pub frame: &'a Frame,
    /// Number of the frame in a switched network.
    pub number: u32,
    /// Station that sent it.
    pub station: usize,
    /// True if it left that station, and not a port of a switch.
    pub is_first: bool,
}

impl Frames {
    pub(super) fn new(meter: Meter, tap: Tap, stations: Vec<(Mac, String)>) -> Self {
        let (remarks, names) = (Remarks::default(), stations.into_iter().collect());
        Self { meter, tap, remarks, names, sent: BTreeMap::new() }
    }

    /// Meters a frame that left its station; returns its event if that is wanted, or it is known from an earlier port.
    pub(super) fn event(
        &mut self,
        sent: &Sent<'_>,
        (begin, end): (Instant, Instant),
        is_wanted: bool,
    ) -> Option<Event> {
        if !sent.is_first {
            let event = self.sent.get(&sent.number).filter(|_| is_wanted)?;
            return Some(Event { begin, end, ..event.clone() });
        }
        let passage = Passage {
            started: begin,
            at: end,
            source: sent.station,
            frame: sent.frame.clone(),
            fate: Fate::Whole,
        };
        let captured = self.tap.capture(&passage)?;
        let (octets, link) = (captured.octets, Link::Ethernet);
        self.meter.observe_remarking(end, link, octets, octets.len(), &mut self.remarks);
        let seen = Seen::of(&self.remarks, octets);
        let connection = connection(sent.frame, seen.connection, &self.names);
        let event = Event {
            kind: seen.kind,
            connection,
            octets: Some(octets.len()),
            sequence: seen.sequence,
            retransmitted: seen.retransmitted,
            ..plain(What::Frame, begin, end)
        };
        self.sent.insert(sent.number, event.clone());
        if self.sent.len() > MOST_REMEMBERED {
            self.sent.pop_first();
        }
        Some(event)
    }

    /// Event of a transmission that ended in a jam.
    pub(super) fn fragment(&self, frame: &Frame, (begin, end): (Instant, Instant)) -> Event {
        let connection = connection(frame, None, &self.names);
        Event { connection, ..plain(What::Fragment, begin, end) }
    }
}

/// Names of sender and receiver, with the number of their transport connection.
fn connection(frame: &Frame, number: Option<u32>, names: &BTreeMap<Mac, String>) -> String {
    let name = |address: Option<Mac>| match address {
        Some(address) => names.get(&address).cloned().unwrap_or_else(|| address.to_string()),
        None => String::new(),
    };
    let ends = format!("{}>{}", name(station::source(frame)), name(station::destination(frame)));
    number.map_or(ends.clone(), |number| format!("{ends} {number}"))
}

/// Contents of a frame.
#[derive(Default)]
struct Seen {
    kind: String,
    connection: Option<u32>,
    sequence: Option<u32>,
    retransmitted: Option<bool>,
}

impl Seen {
    /// Contents by the meter's observations, or else by the frame's protocol.
    fn of(remarks: &Remarks, octets: &[u8]) -> Self {
        let mut seen = Self::default();
        for observation in &remarks.observations {
            match observation {
                Observation::Tpdu(tpdu) => seen.tpdu(tpdu),
                Observation::Placed(Placed { connection, number, .. }) => {
                    seen.connection = Some(*connection);
                    seen.sequence = seen.sequence.or(*number);
                }
                Observation::Segment(segment) if segment.order == Order::Again => {
                    seen.retransmitted = Some(true);
                }
                _ => {}
            }
        }
        if seen.kind.is_empty() {
            seen.protocol(&levels(Link::Ethernet, octets, octets.len()));
        }
        seen
    }

    fn tpdu(&mut self, tpdu: &Tpdu) {
        if !self.kind.is_empty() {
            self.kind.push('+');
        }
        self.kind.push_str(tpdu.kind.name());
        // An AK is repeated on purpose, by the window timer, and is no retransmission.
        let again = tpdu.retransmitted && tpdu.kind != Kind::Ak;
        self.retransmitted = Some(self.retransmitted.unwrap_or(false) || again);
    }

    /// Protocol of a frame without TPDUs, and the number that a frame of GOOSE has in its state.
    fn protocol(&mut self, levels: &Levels<'_>) {
        let name = match (levels.nsdu, levels.llc) {
            (Err(NoNsdu::Leaf(alone)), _) => {
                if alone.leaf.name == goose::LEAF.name {
                    let pdu = goose::Pdu::decode(alone.octets).ok();
                    self.sequence = pdu.map(|pdu| pdu.sequence_number);
                }
                alone.kind
            }
            (Err(NoNsdu::Stream(_)), _) => "TCP",
            (Err(NoNsdu::Datagram(_)), _) => "UDP",
            (_, Some(control)) => name(control),
            (Err(NoNsdu::Foreign(name)), None) => name,
            (Ok(_) | Err(NoNsdu::Malformed(_)), None) => "",
        };
        name.clone_into(&mut self.kind);
    }
}

/// Name of an LLC PDU.
const fn name(control: Control) -> &'static str {
    match control {
        Control::Ui => "UI",
        Control::Xid => "XID",
        Control::Test => "TEST",
        Control::Ac0 => "AC0",
        Control::Ac1 => "AC1",
        Control::Sabme => "SABME",
        Control::Disc => "DISC",
        Control::Ua => "UA",
        Control::Dm => "DM",
        Control::Frmr => "FRMR",
        Control::Information { .. } => "I",
        Control::Supervisory { .. } => "S",
        _ => "LLC",
    }
}

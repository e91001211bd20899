//! A host that takes part in a rendezvous: what both ends of a session are made of.
//!
//! Once a session is over, its initiator may fetch what arrived, message by message.

use super::carrier::Users;
use live::port::is_rendezvous;
use stack::load::{Event, Record};
use stack::machine::{Deadline, Machine, Output};
use stack::network::{Line, NetworkUser};
use stack::profile::{Host, NetworkHost, Unitdata};
use stack::rendezvous::{self, Indication, Rendezvous, Request};
use stack::station::{Frame, Station, Transmission};
use stack::tp0::Network;
use stack::tp4;
use std::collections::VecDeque;
use wire::addr::Mac;
use wire::packet::Packet;
use wire::rendezvous::SAP;
use wire::rendezvous::report::{Arrival, Body, ON_A_PAGE, Page, Pdu};
use wire::time::Instant;

/// Arrivals of a session that are kept for its initiator; of more, only the counts are told.
const KEPT: usize = 1 << 19;

/// What arrived in a session, and for whom it is kept.
#[derive(Default)]
pub(super) struct Arrivals {
    /// The initiator; `None` while the session goes on.
    reader: Option<Mac>,
    kept: Vec<Arrival>,
    /// Whether there were more than are kept.
    overflowed: bool,
    /// When a page was asked for last.
    pub(super) fetched: Option<Instant>,
}

impl Arrivals {
    /// Keeps what of a record the initiator may read.
    pub(super) fn hear(&mut self, record: &Record) {
        let Event::Delivered { sequence, planned, sent, octets } = record.event else { return };
        let octets = u32::try_from(octets).unwrap_or(u32::MAX);
        self.keep(Arrival { flow: record.flow.0, sequence, octets, planned, sent, at: record.at });
    }

    fn keep(&mut self, arrival: Arrival) {
        if self.kept.len() < KEPT {
            self.kept.push(arrival);
        } else {
            self.overflowed = true;
        }
    }

    /// The session is over: its initiator may read.
    pub(super) fn open_for(&mut self, reader: Mac) {
        self.reader = Some(reader);
    }

    fn page(&self, first: u32) -> Page {
        let from = usize::try_from(first).unwrap_or(usize::MAX);
        let arrivals = self.kept.iter().skip(from).take(ON_A_PAGE).copied().collect();
        let kept = u32::try_from(self.kept.len()).unwrap_or(u32::MAX);
        Page { first, kept, is_all: !self.overflowed, arrivals }
    }
}

/// How things stood when a call came in.
#[derive(Clone)]
pub(super) struct Called {
    pub(super) at: Instant,
    pub(super) frames: u64,
    pub(super) transport: tp4::Counters,
}

/// A host and its rendezvous.
pub(super) struct Party<U> {
    pub(super) host: U,
    rendezvous: Rendezvous,
    told: VecDeque<Indication>,
    /// What arrived in the session under way, or the last.
    pub(super) arrivals: Arrivals,
    /// The page that came in last, and the name of its session.
    page: Option<(u64, Page)>,
    /// Frames that came in, the rendezvous' own not counted.
    pub(super) frames: u64,
    /// When the call came whose session has not begun yet: load may follow it within one wake-up.
    pub(super) called: Option<Called>,
}

impl<U: Users> Party<U> {
    /// `host` must have the rendezvous' SAP among its further SAPs.
    pub(super) fn new(host: U, params: rendezvous::Params) -> Self {
        let rendezvous = Rendezvous::new(params);
        Self {
            host,
            rendezvous,
            told: VecDeque::new(),
            arrivals: Arrivals::default(),
            page: None,
            frames: 0,
            called: None,
        }
    }

    pub(super) fn request(&mut self, now: Instant, request: Request) {
        self.rendezvous.request(now, request);
        self.shuttle(now);
    }

    /// The next thing the rendezvous has to tell.
    pub(super) fn told(&mut self) -> Option<Indication> {
        self.told.pop_front()
    }

    /// Whether the rendezvous has something to tell.
    pub(super) fn has_told(&self) -> bool {
        !self.told.is_empty()
    }

    /// Asks a responder for what arrived, from this one on.
    pub(super) fn fetch(&mut self, now: Instant, station: Mac, nonce: u64, first: u32) {
        self.page = None;
        self.send(now, station, &Pdu { nonce, body: Body::Fetch(first) });
    }

    /// The page of this session that begins with this arrival, if it has come.
    pub(super) fn page(&self, nonce: u64, first: u32) -> Option<&Page> {
        let (of, page) = self.page.as_ref()?;
        (*of == nonce && page.first == first).then_some(page)
    }

    fn send(&mut self, now: Instant, station: Mac, pdu: &Pdu) {
        let mut octets = Vec::new();
        pdu.encode(&mut octets);
        let data = Packet::new(octets.into());
        self.host.send_unitdata(now, Unitdata { station, sap: SAP, data });
    }

    /// Takes a PDU of the report; whether it was one.
    fn report(&mut self, now: Instant, station: Mac, data: &Packet) -> bool {
        match Pdu::decode(&data.to_bytes()) {
            Ok(Some(Pdu { nonce, body: Body::Fetch(first) })) => {
                if self.arrivals.reader == Some(station) {
                    self.arrivals.fetched = Some(now);
                    let body = Body::Page(Box::new(self.arrivals.page(first)));
                    self.send(now, station, &Pdu { nonce, body });
                }
            }
            Ok(Some(Pdu { nonce, body: Body::Page(page) })) => self.page = Some((nonce, *page)),
            Ok(None) | Err(_) => return false,
        }
        true
    }

    fn expire_all(&mut self, now: Instant) {
        self.rendezvous.expire(now);
        self.host.expire(now);
        self.shuttle(now);
    }

    fn earliest(&self) -> Option<Deadline> {
        Deadline::earlier(self.host.deadline(), self.rendezvous.deadline())
    }

    /// Carries LSDUs between host and rendezvous until both are silent.
    fn shuttle(&mut self, now: Instant) {
        loop {
            if let Some(Unitdata { station, data, .. }) = self.host.unitdata() {
                if self.report(now, station, &data) {
                    continue;
                }
                self.rendezvous.receive(now, rendezvous::Unitdata { peer: station, packet: data });
                continue;
            }
            match self.rendezvous.poll() {
                Some(Output::Send(rendezvous::Unitdata { peer, packet })) => {
                    let unitdata = Unitdata { station: peer, sap: SAP, data: packet };
                    self.host.send_unitdata(now, unitdata);
                }
                Some(Output::Deliver(indication)) => {
                    if matches!(indication, Indication::Called { .. }) {
                        let (frames, transport) = (self.frames, self.host.counters());
                        self.called = Some(Called { at: now, frames, transport });
                    }
                    self.told.push_back(indication);
                }
                Some(Output::Note(_)) => {}
                None => return,
            }
        }
    }
}

impl Station for Party<Host> {
    fn addr(&self) -> Mac {
        self.host.addr()
    }

    fn receive(&mut self, now: Instant, frame: Frame) {
        self.frames += u64::from(!is_rendezvous(&frame));
        self.host.receive(now, frame);
        self.shuttle(now);
    }

    fn expire(&mut self, now: Instant) {
        self.expire_all(now);
    }

    fn deadline(&self) -> Option<Deadline> {
        self.earliest()
    }

    fn poll(&mut self) -> Option<Frame> {
        self.host.poll()
    }

    fn queue_of(&self, frame: &Frame) -> u8 {
        self.host.queue_of(frame)
    }

    fn transmitted(&mut self, now: Instant, queue: u8, outcome: Transmission) {
        self.host.transmitted(now, queue, outcome);
    }
}

impl NetworkUser for Party<NetworkHost> {
    fn incoming(&mut self, now: Instant) -> Option<Line> {
        self.host.incoming(now)
    }

    fn receive(&mut self, now: Instant, line: Line, network: Network) {
        let is_load = matches!(network, Network::Data(_)) && !self.host.is_control(line);
        self.frames += u64::from(is_load);
        self.host.receive(now, line, network);
        self.shuttle(now);
    }

    fn expire(&mut self, now: Instant) {
        self.expire_all(now);
    }

    fn deadline(&self) -> Option<Deadline> {
        self.earliest()
    }

    fn poll(&mut self) -> Option<(Line, Network)> {
        self.host.poll()
    }

    fn takes_input(&self, line: Line) -> bool {
        self.host.takes_input(line)
    }

    fn is_idle(&self, line: Line) -> bool {
        self.host.is_idle(line)
    }

    fn is_control(&self, line: Line) -> bool {
        self.host.is_control(line)
    }
}

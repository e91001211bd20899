//! A host that takes part in a rendezvous: what both ends of a session are made of.
//!
//! Once a session is over, its initiator may fetch what arrived, message by message.

use super::carrier::Users;
use super::report::Arrivals;
use live::port::is_rendezvous;
use stack::machine::{Deadline, Machine, Output};
use stack::network::{Line, NetworkUser};
use stack::profile::{Host, NetworkHost, Unitdata};
use stack::rendezvous::{self, Indication, Name, Rendezvous, Request};
use stack::station::{Frame, Station, Transmission, source};
use stack::tp0::Network;
use stack::tp4;
use std::collections::VecDeque;
use wire::addr::Mac;
use wire::packet::Packet;
use wire::rendezvous::SAP;
use wire::rendezvous::report::{Body, Page, Pdu};
use wire::time::Instant;

/// Control field of an LLC UI, the only LPDU of the rendezvous (ISO 8802-2, 5.4.1).
const UI: u8 = 0x03;
/// The longest frame without FCS that 802.3 carries; a datagram socket would take longer ones.
const LONGEST_FRAME: usize = 1_514;

/// A page of the report that was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Asked {
    of: Name,
    first: u32,
}

/// A host and its rendezvous.
///
/// Only frames of the rendezvous reach it, and those of the session's peer while the session takes load:
/// a station without a session can leave no state in the host, and gets no answer from it.
pub(super) struct Party<U> {
    pub(super) host: U,
    rendezvous: Rendezvous,
    told: VecDeque<Indication>,
    /// Messages that arrived in the session under way.
    pub(super) arrivals: Arrivals,
    /// The page that was asked for last.
    asked: Option<Asked>,
    /// That page, once it has come.
    page: Option<Page>,
    /// Number of flows of the session under way, as the initiator said.
    pub(super) flows: u16,
    /// Frames of the session that came in, the rendezvous' own not counted.
    pub(super) frames: u64,
    /// What the transport had counted when the call came.
    pub(super) at_call: tp4::Counters,
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
            asked: None,
            page: None,
            flows: 0,
            frames: 0,
            at_call: tp4::Counters::default(),
        }
    }

    /// Ends the session: its connections, its arrivals and all that was counted are dropped.
    pub(super) fn end_session(&mut self, now: Instant) {
        self.arrivals = Arrivals::default();
        self.host.end_session(now);
        (self.flows, self.frames) = (0, 0);
        self.shuttle(now);
    }

    pub(super) fn request(&mut self, now: Instant, request: Request) {
        self.rendezvous.request(now, request);
        self.shuttle(now);
    }

    /// The next thing the rendezvous has to tell. A call that came while the session before it was under way
    /// begins its own here: the end of that session dropped all that was counted.
    pub(super) fn told(&mut self) -> Option<Indication> {
        let told = self.told.pop_front();
        if let Some(indication) = &told {
            self.begin(indication);
        }
        told
    }

    /// Begins the session of a call, unless another one is under way. Its load may follow the call at once.
    fn begin(&mut self, indication: &Indication) {
        if let Indication::Called { hello, .. } = indication
            && self.flows == 0
        {
            self.flows = hello.flows;
            self.at_call = self.host.counters();
        }
    }

    /// Whether the rendezvous has something to tell.
    pub(super) fn has_told(&self) -> bool {
        !self.told.is_empty()
    }

    /// Asks a responder for what arrived, from this one on.
    pub(super) fn fetch(&mut self, now: Instant, of: Name, first: u32) {
        self.page = None;
        self.asked = Some(Asked { of, first });
        self.send(now, of.peer, &Pdu { nonce: of.nonce, body: Body::Fetch(first) });
    }

    /// The page that was asked for last, if it has come.
    pub(super) const fn page(&self) -> Option<&Page> {
        self.page.as_ref()
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
                let name = Name { peer: station, nonce };
                if self.rendezvous.reads(now, name) {
                    self.arrivals.fetch(now, name, first);
                    self.send_page(now);
                }
            }
            Ok(Some(Pdu { nonce, body: Body::Page(page) })) => {
                let came = Asked { of: Name { peer: station, nonce }, first: page.first };
                if self.asked == Some(came) && self.rendezvous.reads(now, came.of) {
                    self.page = Some(*page);
                }
            }
            Ok(None) | Err(_) => return false,
        }
        true
    }

    /// Sends the page that was asked for, if its time has come.
    fn send_page(&mut self, now: Instant) {
        if let Some((Name { peer, nonce }, page)) = self.arrivals.page(now) {
            self.send(now, peer, &Pdu { nonce, body: Body::Page(Box::new(page)) });
        }
    }

    fn expire_all(&mut self, now: Instant) {
        self.rendezvous.expire(now);
        self.host.expire(now);
        self.send_page(now);
        self.shuttle(now);
    }

    fn earliest(&self) -> Option<Deadline> {
        let page = self.arrivals.deadline();
        Deadline::earlier(page, Deadline::earlier(self.host.deadline(), self.rendezvous.deadline()))
    }

    /// Carries LSDUs between host and rendezvous until both are silent.
    fn shuttle(&mut self, now: Instant) {
        self.carry(now);
        self.host.take_part(now, self.rendezvous.loaded().map(|name| name.nonce));
        self.carry(now);
    }

    fn carry(&mut self, now: Instant) {
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
                    self.begin(&indication);
                    self.told.push_back(indication);
                }
                Some(Output::Note(_)) => {}
                None => return,
            }
        }
    }
}

impl Party<Host> {
    /// Whether a frame is taken at all.
    fn admits(&self, frame: &Frame) -> bool {
        let Some(source) = source(frame).filter(|source| !source.is_group()) else { return false };
        let is_whole = frame.len() <= LONGEST_FRAME;
        let is_control =
            is_rendezvous(frame) && frame.first::<17>().is_some_and(|[.., control]| control == UI);
        let is_load = || self.rendezvous.loaded().is_some_and(|name| name.peer == source);
        is_whole && (is_control || !is_rendezvous(frame) && is_load())
    }
}

impl Station for Party<Host> {
    fn addr(&self) -> Mac {
        self.host.addr()
    }

    fn receive(&mut self, now: Instant, frame: Frame) {
        if !self.admits(&frame) {
            return;
        }
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

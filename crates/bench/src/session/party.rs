//! Host that takes part in a control session: the common part of both ends of a session.
//!
//! After a session, its initiator may fetch the arrivals, message by message.

use super::policy;
use super::report::Arrivals;
use core::time::Duration;
use live::port::is_rendezvous;
use stack::control::{self, ControlSession, Indication, Name, Request};
use stack::host::{Host, Unitdata};
use stack::machine::{Deadline, Machine, Output};
use stack::network::{Network, NetworkConnectionId, NetworkStation};
use stack::station::{Frame, Station, Transmission, source};
use stack::tp4;
use std::collections::VecDeque;
use wire::addr::Mac;
use wire::control::SAP;
use wire::control::report::{Body, Page, Pdu};
use wire::packet::Packet;
use wire::time::Instant;

/// First reference of a host; those of an earlier host may still be frozen at the peer.
pub(super) const fn reference_at(now: Instant) -> u16 {
    (now.as_nanos() / 1_000) as u16
}

/// Control field of an LLC UI, the only LPDU of the control session (ISO 8802-2, 5.4.1).
const UI: u8 = 0x03;
/// Maximum length of an 802.3 frame without FCS; a datagram socket would accept longer ones.
const LONGEST_FRAME: usize = 1_514;

/// Requested page of the report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Asked {
    of: Name,
    first: u32,
}

/// Host and its control session.
///
/// Only frames of the control session reach it, and those of the session's peer while the session
/// accepts load. A station without a session can leave no state in the host, and gets no answer
/// from it.
pub(super) struct Party {
    pub(super) host: Host,
    control: ControlSession,
    told: VecDeque<Indication>,
    /// Messages that arrived in the current session.
    pub(super) arrivals: Arrivals,
    /// Page requested last.
    asked: Option<Asked>,
    /// The requested page, once received.
    page: Option<Page>,
    /// Number of flows of the current session, as announced by the initiator.
    pub(super) flows: u16,
    /// Frames of the session received, without those of the control session itself.
    pub(super) frames: u64,
    /// Counters of the transport at the time of the call.
    pub(super) at_call: tp4::Counters,
}

impl Party {
    /// Creates a party. `host` must have the control session's SAP among its further SAPs.
    pub(super) fn new(host: Host, params: control::Params) -> Self {
        let control = ControlSession::new(params);
        Self {
            host,
            control,
            told: VecDeque::new(),
            arrivals: Arrivals::default(),
            asked: None,
            page: None,
            flows: 0,
            frames: 0,
            at_call: tp4::Counters::default(),
        }
    }

    /// Ends the session: drops its connections, its arrivals and its counters.
    pub(super) fn end_session(&mut self, now: Instant) {
        self.arrivals = Arrivals::default();
        // Network connections were released when the host left the session.
        self.host.restart(reference_at(now));
        (self.flows, self.frames) = (0, 0);
        self.shuttle(now);
    }

    pub(super) fn request(&mut self, now: Instant, request: Request) {
        self.control.request(now, request);
        self.shuttle(now);
    }

    /// Next indication of the control session. A call that arrived during the previous session
    /// begins its own session here, because the end of that session dropped all counters.
    pub(super) fn told(&mut self) -> Option<Indication> {
        let told = self.told.pop_front();
        if let Some(indication) = &told {
            self.begin(indication);
        }
        told
    }

    /// Begins the session of a call, unless another one is in progress. Its load may follow the
    /// call at once.
    fn begin(&mut self, indication: &Indication) {
        if let Indication::Called { hello, .. } = indication
            && self.flows == 0
        {
            self.flows = hello.flows;
            if let Some(policy) = &hello.receive {
                self.host.receive_with(policy::receiving(policy));
            }
            self.at_call = self.host.transport().counters();
        }
    }

    /// Returns whether the control session has an indication.
    pub(super) fn has_told(&self) -> bool {
        !self.told.is_empty()
    }

    /// Requests the arrivals of a responder, from `first` on.
    pub(super) fn fetch(&mut self, now: Instant, of: Name, first: u32) {
        self.page = None;
        self.asked = Some(Asked { of, first });
        self.send(now, of.peer, &Pdu { nonce: of.nonce, body: Body::Fetch(first) });
    }

    /// Page requested last, if it has arrived.
    pub(super) const fn page(&self) -> Option<&Page> {
        self.page.as_ref()
    }

    fn send(&mut self, now: Instant, station: Mac, pdu: &Pdu) {
        let mut octets = Vec::new();
        pdu.encode(&mut octets);
        let data = Packet::new(octets.into());
        self.host.send_unitdata(now, Unitdata { station, sap: SAP, data });
    }

    /// Handles a PDU of the report; returns whether it was one.
    fn report(&mut self, now: Instant, station: Mac, data: &Packet) -> bool {
        match Pdu::decode(&data.to_bytes()) {
            Ok(Some(Pdu { nonce, body: Body::Fetch(first) })) => {
                let name = Name { peer: station, nonce };
                if self.control.reads(now, name) {
                    self.arrivals.fetch(now, name, first);
                    self.send_page(now);
                }
            }
            Ok(Some(Pdu { nonce, body: Body::Page(page) })) => {
                let came = Asked { of: Name { peer: station, nonce }, first: page.first };
                if self.asked == Some(came) && self.control.reads(now, came.of) {
                    self.page = Some(*page);
                }
            }
            Ok(None) | Err(_) => return false,
        }
        true
    }

    /// Sends the requested page, if it is due.
    fn send_page(&mut self, now: Instant) {
        if let Some((Name { peer, nonce }, page)) = self.arrivals.page(now) {
            self.send(now, peer, &Pdu { nonce, body: Body::Page(Box::new(page)) });
        }
    }

    /// Moves LSDUs between host and control session until both are idle.
    fn shuttle(&mut self, now: Instant) {
        self.carry(now);
        self.host.take_part(now, self.control.loaded().map(|name| name.nonce));
        self.carry(now);
    }

    fn carry(&mut self, now: Instant) {
        loop {
            if let Some(Unitdata { station, data, .. }) = self.host.unitdata() {
                if self.report(now, station, &data) {
                    continue;
                }
                self.control.receive(now, control::Unitdata { peer: station, packet: data });
                continue;
            }
            match self.control.poll() {
                Some(Output::Send(control::Unitdata { peer, packet })) => {
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

impl Party {
    /// Returns whether a frame is accepted at all.
    fn admits(&self, frame: &Frame) -> bool {
        let Some(source) = source(frame).filter(|source| !source.is_group()) else { return false };
        let is_whole = frame.len() <= LONGEST_FRAME;
        let is_control =
            is_rendezvous(frame) && frame.first::<17>().is_some_and(|[.., control]| control == UI);
        let is_load = || self.control.loaded().is_some_and(|name| name.peer == source);
        is_whole && (is_control || !is_rendezvous(frame) && is_load())
    }
}

impl Station for Party {
    fn addr(&self) -> Mac {
        self.host.addr()
    }

    fn receive(&mut self, now: Instant, frame: Frame) {
        if !self.admits(&frame) {
            return;
        }
        self.frames += u64::from(!is_rendezvous(&frame));
        Station::receive(&mut self.host, now, frame);
        self.shuttle(now);
    }

    fn expire(&mut self, now: Instant) {
        self.control.expire(now);
        Station::expire(&mut self.host, now);
        self.send_page(now);
        self.shuttle(now);
    }

    fn deadline(&self) -> Option<Deadline> {
        let page = self.arrivals.deadline();
        let host = Station::deadline(&self.host);
        Deadline::earlier(page, Deadline::earlier(host, self.control.deadline()))
    }

    fn poll(&mut self) -> Option<Frame> {
        Station::poll(&mut self.host)
    }

    fn stood_still(&mut self, for_time: Duration) {
        self.control.stood_still(for_time);
    }

    fn queue_of(&self, frame: &Frame) -> u8 {
        self.host.queue_of(frame)
    }

    fn transmitted(&mut self, now: Instant, queue: u8, outcome: Transmission) {
        self.host.transmitted(now, queue, outcome);
    }
}

impl NetworkStation for Party {
    fn incoming(&mut self, now: Instant) -> Option<NetworkConnectionId> {
        self.host.incoming(now)
    }

    fn receive(&mut self, now: Instant, line: NetworkConnectionId, network: Network) {
        let is_load = matches!(network, Network::Data(_)) && !self.host.is_control(line);
        self.frames += u64::from(is_load);
        NetworkStation::receive(&mut self.host, now, line, network);
        self.shuttle(now);
    }

    fn expire(&mut self, now: Instant) {
        Station::expire(self, now);
    }

    fn stood_still(&mut self, for_time: Duration) {
        Station::stood_still(self, for_time);
    }

    fn deadline(&self) -> Option<Deadline> {
        Station::deadline(self)
    }

    fn poll(&mut self) -> Option<(NetworkConnectionId, Network)> {
        NetworkStation::poll(&mut self.host)
    }

    fn takes_input(&self, line: NetworkConnectionId) -> bool {
        self.host.takes_input(line)
    }

    fn is_idle(&self, line: NetworkConnectionId) -> bool {
        self.host.is_idle(line)
    }

    fn is_control(&self, line: NetworkConnectionId) -> bool {
        self.host.is_control(line)
    }
}

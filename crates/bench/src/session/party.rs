//! A host that takes part in a rendezvous: what both ends of a session are made of.

use live::port::is_rendezvous;
use stack::machine::{Deadline, Machine, Output};
use stack::profile::{Host, Unitdata};
use stack::rendezvous::{self, Indication, Rendezvous, Request};
use stack::station::{Frame, Station, Transmission};
use std::collections::VecDeque;
use wire::addr::Mac;
use wire::rendezvous::SAP;
use wire::time::Instant;

/// A host and its rendezvous.
pub(super) struct Party {
    pub(super) host: Host,
    rendezvous: Rendezvous,
    told: VecDeque<Indication>,
    /// Frames that came in, the rendezvous' own not counted.
    pub(super) frames: u64,
}

impl Party {
    /// `host` must have the rendezvous' SAP among its further SAPs.
    pub(super) fn new(host: Host, params: rendezvous::Params) -> Self {
        let rendezvous = Rendezvous::new(params);
        Self { host, rendezvous, told: VecDeque::new(), frames: 0 }
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

    /// Carries LSDUs between host and rendezvous until both are silent.
    fn shuttle(&mut self, now: Instant) {
        loop {
            if let Some(Unitdata { station, data, .. }) = self.host.unitdata() {
                self.rendezvous.receive(now, rendezvous::Unitdata { peer: station, packet: data });
                continue;
            }
            match self.rendezvous.poll() {
                Some(Output::Send(rendezvous::Unitdata { peer, packet })) => {
                    let unitdata = Unitdata { station: peer, sap: SAP, data: packet };
                    self.host.send_unitdata(now, unitdata);
                }
                Some(Output::Deliver(indication)) => self.told.push_back(indication),
                Some(Output::Note(_)) => {}
                None => return,
            }
        }
    }
}

impl Station for Party {
    fn addr(&self) -> Mac {
        self.host.addr()
    }

    fn receive(&mut self, now: Instant, frame: Frame) {
        self.frames += u64::from(!is_rendezvous(&frame));
        self.host.receive(now, frame);
        self.shuttle(now);
    }

    fn expire(&mut self, now: Instant) {
        self.rendezvous.expire(now);
        self.host.expire(now);
        self.shuttle(now);
    }

    fn deadline(&self) -> Option<Deadline> {
        Deadline::earlier(self.host.deadline(), self.rendezvous.deadline())
    }

    fn poll(&mut self) -> Option<Frame> {
        self.host.poll()
    }

    fn transmitted(&mut self, now: Instant, outcome: Transmission) {
        self.host.transmitted(now, outcome);
    }
}

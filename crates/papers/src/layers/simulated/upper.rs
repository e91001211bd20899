//! Layers above LLC, on modelled machines.

use super::super::{Operation, Users};
use super::{Edge, Error, PATIENCE, Plan, RING_METRES, Run, machine};
use crate::transfer::TOKEN_BUS;
use bench::medium::{Model, Site};
use bench::profile::{Layer, Profile};
use bench::scenario::MediumKind;
use bytes::Bytes;
use sim::host::{NoBuffer, WithCpu};
use sim::medium::token_bus::TokenBus;
use sim::medium::token_ring::{Params as Ring, TokenRing};
use stack::profile::{Framing, Layered, Top};
use stack::station::{Station, WorkLayer};
use std::collections::BTreeSet;
use wire::addr::Mac;
use wire::time::Instant;

/// Largest TPDU, as in the papers.
const TPDU_OCTETS: usize = 1_024;
/// Length of the bus between two stations.
const BUS_METRES: f64 = 3.0;

/// Highest layer of an operation that [`Layered`] stations carry out: those above LLC, and LLC end
/// to end on a machine with a front end, whose messages cross between its processors.
pub(super) fn top(operation: Operation, profile: &Profile) -> Option<Top> {
    match operation {
        Operation::LlcEndToEnd if profile.has_front_end() => Some(Top::Link),
        _ => operation.top(),
    }
}

/// Reason why a profile has no prediction for an operation, if that is so.
#[must_use]
pub fn missing(operation: Operation, profile: &Profile) -> Option<&'static str> {
    if operation.top().is_none() && operation != Operation::LlcEndToEnd && profile.has_front_end() {
        return Some("frames never pass the memory of the host, because there is a front end");
    }
    let layer = match operation.top()? {
        Top::Link => return None,
        Top::Transport => WorkLayer::Transport,
        Top::Session => WorkLayer::Session,
        Top::Case => WorkLayer::Case,
        Top::Mms => WorkLayer::Mms,
    };
    let is_known = profile.is_ideal() || profile.charges_at(layer);
    (!is_known).then_some("the profile has no cost of this layer")
}

impl Plan {
    /// Carries it out with stations of layers up to `top`.
    pub(super) fn above_llc(self, profile: &Profile, top: Top) -> Result<Run, Error> {
        let has_bus = profile.has_front_end();
        let (kind, no_buffer, framing) = if has_bus {
            (MediumKind::TokenBus, NoBuffer::Lost, Framing::Ieee8024)
        } else {
            (MediumKind::ProNet10, NoBuffer::Refused, Framing::WholeFrame)
        };
        let host = profile.host(Layer::Llc, kind, no_buffer);
        let users = Users {
            top,
            framing,
            tpdu_octets: TPDU_OCTETS,
            t1: PATIENCE,
            last_reference: 0,
            charged: host.tasks.charged(),
        };
        let [one, two] = [Mac::local(1), Mac::local(2)];
        let stations = [users.params(one, two), users.params(two, one)].into_iter();
        let stations = stations.map(|params| {
            let user = User { layers: Layered::new(params), sent: 0, delivered: 0 };
            WithCpu::new(user, host.clone(), BTreeSet::new())
        });
        let stations = stations.collect::<Result<Vec<_>, _>>().map_err(machine)?;
        if !has_bus {
            let ring = TokenRing::new(Ring::pronet_10(2, RING_METRES)).map_err(machine)?;
            return self.run_on(ring, stations);
        }
        let site = Site { positions_metres: vec![0.0, BUS_METRES], ..Site::default() };
        let Model::TokenBus(params) = TOKEN_BUS.model(site) else {
            return Err(Error::Machine("no token bus".to_owned()));
        };
        self.run_on(TokenBus::new(params).map_err(machine)?, stations)
    }
}

/// Station with one user, who sends one message at a time.
struct User {
    layers: Layered,
    sent: usize,
    delivered: usize,
}

impl Station for User {
    fn addr(&self) -> Mac {
        self.layers.addr()
    }

    fn receive(&mut self, now: Instant, frame: stack::station::Frame) {
        self.layers.receive(now, frame);
    }

    fn expire(&mut self, now: Instant) {
        self.layers.expire(now);
    }

    fn deadline(&self) -> Option<stack::machine::Deadline> {
        self.layers.deadline()
    }

    fn poll(&mut self) -> Option<stack::station::Frame> {
        self.layers.poll()
    }

    fn work(&mut self) -> Option<stack::station::Work> {
        self.layers.work()
    }

    fn worked(&mut self, now: Instant, work: stack::station::Work) {
        self.layers.worked(now, work);
    }

    fn transmitted(&mut self, now: Instant, queue: u8, outcome: stack::station::Transmission) {
        self.layers.transmitted(now, queue, outcome);
    }
}

impl Edge for User {
    fn open(&mut self, now: Instant) {
        self.layers.open(now);
    }

    fn is_ready(&self) -> bool {
        self.layers.is_open()
    }

    fn give(&mut self, now: Instant, octets: usize) {
        self.layers.send(now, Bytes::from(vec![0; octets]));
        self.sent += 1;
    }

    /// A message is complete when the peer's transport has acknowledged it.
    fn completed(&self) -> usize {
        self.sent - usize::from(!self.layers.is_acknowledged())
    }

    fn delivered(&self) -> usize {
        self.delivered
    }

    fn look(&mut self, _now: Instant) -> Result<(), Error> {
        while self.layers.take().is_some() {
            self.delivered += 1;
        }
        match self.layers.failure() {
            Some(reason) => Err(Error::Undelivered(reason.to_owned())),
            None => Ok(()),
        }
    }
}

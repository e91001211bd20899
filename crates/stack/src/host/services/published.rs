//! Streams of cyclic data: real frames behind an EtherType, as a flow's publication states.
//!
//! A stream goes to a station or to a group. Of all stations that its frames reach, those that subscribe
//! to the flow record its messages; others ignore the frames.

use super::super::Host;
use super::super::work::{Arrival, Asker, Cargo};
use super::Task;
use crate::load::publication::{Content, Publication, Publisher, message};
use crate::load::{Event, Flow, FlowId, Outcome, Sink, Stamp};
use crate::messaging::Priority;
use crate::profile::Typed;
use crate::station::Frame;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use wire::packet::Packet;
use wire::time::Instant;

/// Flows whose frames a host takes.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum Subscriptions {
    /// None.
    #[default]
    None,
    /// These.
    These(BTreeSet<FlowId>),
    /// All: the peer of a session takes every flow of it.
    All,
}

impl Subscriptions {
    fn has(&self, flow: FlowId) -> bool {
        match self {
            Self::None => false,
            Self::These(flows) => flows.contains(&flow),
            Self::All => true,
        }
    }
}

/// Streams of a host: those that it publishes, and those that it subscribes to.
#[derive(Clone, Default, Debug)]
pub(in crate::host) struct Published {
    /// Streams of flows that have not begun.
    publications: BTreeMap<FlowId, Publication>,
    publishers: BTreeMap<FlowId, Publisher>,
    pub(in crate::host) subscriptions: Subscriptions,
}

impl Host {
    /// Sets the streams that its flows of [`crate::load::Service::Published`] publish.
    pub fn publish(&mut self, publications: BTreeMap<FlowId, Publication>) {
        if !publications.is_empty() {
            self.published.get_or_insert_default().publications = publications;
        }
    }

    /// Sets the streams that it takes.
    pub fn subscribe(&mut self, subscriptions: Subscriptions) {
        if subscriptions != Subscriptions::None {
            self.published.get_or_insert_default().subscriptions = subscriptions;
        }
    }

    #[inline]
    pub(super) fn serve_published(&mut self, now: Instant, place: usize, task: Task) -> bool {
        match task {
            Task::Start => self.start_published(now, place),
            Task::HandOver => self.hand_over_published(now, place),
            Task::Close => false,
        }
    }

    fn start_published(&mut self, now: Instant, place: usize) -> bool {
        let Flow { id, seed, .. } = *self.users.flow(place);
        let published = self.published.as_deref_mut().filter(|_| self.link.is_some());
        let publication = published.and_then(|it| it.publications.remove(&id));
        let Some(publication) = publication else {
            return self.refuse(now, place, "no stream on this network");
        };
        let sender = &mut self.users.flows[place].sender;
        let begins = sender.begins(now);
        if let Content::Goose(goose) = &publication.content {
            sender.retransmit(begins, goose.plan.clone());
        }
        sender.open(now);
        let publisher = Publisher::new(publication, seed, begins);
        if let Some(published) = self.published.as_deref_mut() {
            published.publishers.insert(id, publisher);
        }
        true
    }

    fn hand_over_published(&mut self, now: Instant, place: usize) -> bool {
        let Flow { id, peer, priority, size_octets, .. } = *self.users.flow(place);
        let Some(stamp) = self.users.take_stamp(now, place) else { return false };
        let publisher = self.published.as_deref_mut().and_then(|it| it.publishers.get_mut(&id));
        let (Some(publisher), Some(link)) = (publisher, &self.link) else { return false };
        let data = Packet::new(Bytes::from(publisher.data(&stamp, size_octets)));
        let Publication { group, tag, content, .. } = publisher.publication();
        let typed = Typed {
            source: link.params.address,
            destination: group.unwrap_or(peer),
            tag: *tag,
            ethertype: content.ethertype(),
            data,
        };
        self.submit(now, Cargo::Published { place, frame: typed.frame(), priority });
        true
    }

    pub(in crate::host) fn send_published(&mut self, frame: Frame, priority: Priority) {
        if let Some(link) = &mut self.link {
            link.send_typed(frame, priority);
        }
    }

    /// Takes a frame of a stream; returns false if the host takes none, or it is no frame of one.
    pub(in crate::host) fn receive_published(&mut self, now: Instant, frame: &Frame) -> bool {
        let Some(published) = self.published.as_deref() else { return false };
        let Some(Typed { ethertype, data, .. }) = Typed::of(frame) else { return false };
        let data = data.to_bytes();
        let Some(message) = message(ethertype, &data) else { return true };
        let outcome = Sink::default().take(message, true);
        let flow = Stamp::decode(message).map(|stamp| stamp.flow);
        let Some(flow) = flow.filter(|flow| published.subscriptions.has(*flow)) else {
            return true;
        };
        match outcome {
            Some(Outcome::Whole { stamp, .. }) => {
                let arrival = Arrival { stamp, octets: data.len(), asker: Asker::NoRequester };
                self.submit(now, Cargo::Arrival(arrival));
            }
            Some(Outcome::Damaged { reason }) => {
                self.users.record(now, flow, Event::Damaged { reason });
            }
            None => {}
        }
        true
    }
}

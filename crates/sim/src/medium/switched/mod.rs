//! Switched Ethernet: full-duplex links, and store-and-forward switches (IEEE 802.1Q).
//!
//! ```text
//!   station ── link ──▶ [switch: latency ▶ 8 queues ▶ port] ── link ──▶ [switch …] ── ▶ station
//! ```
//!
//! Every link has a separate channel for each direction, so there are no collisions; frames wait
//! only where several leave by the same port. A switch receives a whole frame, finds its port by
//! the destination address, and queues it there by priority. The queue of the highest priority is
//! served first, without preemption. A port has limited room; a frame that finds it full is dropped
//! and counted. A station's own port has the same eight queues.
//!
//! The observer sees all frames that switches send to stations, as if all those ports were mirrored
//! to it. A frame to a group is seen once for each delivery. It may be at the other ends of the network
//! instead: then it sees all frames as stations send them.
//!
//! Not modelled: learning (every switch has a complete table of the stations, and only frames to
//! groups are flooded), cut-through, preemption, shapers and time-aware gates, flow control by
//! PAUSE, a switch whose fabric or memory is shared by its ports, spanning trees and their changes,
//! noise.

mod params;
mod port;
mod statistics;

pub use params::{Buffer, Invalid, Link, Params, StationLink, Switch, Trunk, tag_priority};
pub use statistics::Statistics;

use super::directory::Directory;
use super::trace::{self, Activity, Kind, Neighbour, Slot};
use super::{Delivery, Event, Medium, Misfit, Passage};
use crate::agenda::Agenda;
use port::{CLASSES, End, Port, Transit};
use stack::fault::Fate;
use stack::machine::Deadline;
use stack::station::{self, Frame, Transmission};
use std::collections::{BTreeSet, VecDeque};
use wire::addr::Mac;
use wire::time::Instant;

/// Switched network with its stations' MAC entities.
#[derive(Clone, Debug)]
pub struct Switched {
    params: Params,
    directory: Directory,
    /// Ports of the stations, followed by those of the switches.
    ports: Vec<Port>,
    /// Ports of each switch.
    ports_of: Vec<Vec<usize>>,
    /// Port by which each switch reaches each other switch; its own entry is unused.
    towards: Vec<Vec<usize>>,
    /// Port that leads to each station.
    last_ports: Vec<usize>,
    /// Node p: end of the frame or gap at port p. Node `ports.len()` + p: arrival of the next frame
    /// from port p in the following switch's queue.
    agenda: Agenda,
    events: VecDeque<Event>,
    trace: Slot,
    statistics: Statistics,
    /// True if the observer is at the stations that send.
    is_at_senders: bool,
}

impl Switched {
    /// Creates a network whose stations are yet to be attached.
    ///
    /// # Errors
    /// Fails if the parameters are not allowed.
    pub fn new(params: Params) -> Result<Self, Invalid> {
        params.check()?;
        let mut network = Self {
            ports: Vec::new(),
            ports_of: vec![Vec::new(); params.switches.len()],
            towards: Vec::new(),
            last_ports: Vec::new(),
            directory: Directory::default(),
            agenda: Agenda::default(),
            events: VecDeque::new(),
            trace: None,
            statistics: Statistics::default(),
            is_at_senders: false,
            params,
        };
        network.wire_up();
        network.towards = (0..network.ports_of.len()).map(|from| network.ways(from)).collect();
        Ok(network)
    }

    /// Counters of the run so far.
    #[must_use]
    pub const fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Frames, or copies of one, that are waiting, in transmission, or within a switch.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.ports.iter().map(|port| port.frames + port.in_flight.len()).sum()
    }

    /// Creates the ports: two for each link.
    fn wire_up(&mut self) {
        let stations = self.params.stations.clone();
        let own = Buffer::Frames(self.params.queue_frames);
        self.ports.reserve_exact(2 * (stations.len() + self.params.trunks.len()));
        for (station, StationLink { switch, link }) in stations.iter().enumerate() {
            self.port(End::Station(station), End::Switch(*switch), *link, own);
        }
        for (station, StationLink { switch, link }) in stations.iter().enumerate() {
            self.last_ports.push(self.ports.len());
            let buffer = self.params.switches[*switch].buffer;
            self.port(End::Switch(*switch), End::Station(station), *link, buffer);
        }
        for Trunk { ends: [a, b], link } in self.params.trunks.clone() {
            for (from, to) in [(a, b), (b, a)] {
                let buffer = self.params.switches[from].buffer;
                self.port(End::Switch(from), End::Switch(to), link, buffer);
            }
        }
        self.agenda = Agenda::new(2 * self.ports.len());
    }

    fn port(&mut self, from: End, to: End, link: Link, buffer: Buffer) {
        if let End::Switch(switch) = from {
            self.ports_of[switch].push(self.ports.len());
        }
        let propagation = self.params.propagation(link);
        self.ports.push(Port::new(from, to, link.rate, propagation, buffer));
    }

    /// Port by which the switch `from` reaches each other switch, by a search of the tree.
    fn ways(&self, from: usize) -> Vec<usize> {
        let mut ways = vec![usize::MAX; self.ports_of.len()];
        let mut reached = BTreeSet::from([from]);
        let mut open = VecDeque::from([(from, None)]);
        while let Some((switch, first)) = open.pop_front() {
            for port in &self.ports_of[switch] {
                let End::Switch(next) = self.ports[*port].to else { continue };
                if reached.insert(next) {
                    let first = first.unwrap_or(*port);
                    ways[next] = first;
                    open.push_back((next, Some(first)));
                }
            }
        }
        ways
    }

    fn tell(&mut self, station: usize, queue: u8, outcome: Transmission) {
        self.events.push_back(Event::Transmitted { station, queue, outcome });
    }

    /// Starts the next frame of an idle port, now or when the gap is over.
    fn start(&mut self, now: Instant, index: usize) {
        let port = &mut self.ports[index];
        if port.sending.is_some() || !port.has_waiting() {
            return;
        }
        if now < port.free {
            return self.agenda.schedule(index, port.free);
        }
        let transit = port.take().expect("a frame waits");
        let takes = port.rate.bits(self.params.framing.wire_bits(transit.frame.len()));
        if matches!(port.from, End::Switch(_)) {
            let longest = &mut self.statistics.longest_waits[usize::from(transit.class)];
            *longest = (*longest).max(now.since(transit.since));
        }
        port.sending = Some((transit, now));
        self.agenda.schedule(index, now + takes);
    }

    /// Handles the end of a port's frame, or of the gap after one.
    fn go_on(&mut self, now: Instant, index: usize) {
        self.agenda.cancel(index);
        let port = &mut self.ports[index];
        if let Some((transit, begun)) = port.finish() {
            let class = transit.class;
            port.free = now + port.rate.bits(self.params.framing.gap_bits);
            let (from, to, propagation) = (port.from, port.to, port.propagation);
            if let Some(trace) = &mut self.trace {
                trace.add(leaves(&transit, (begun, now), (from, to)));
            }
            let is_seen = match to {
                _ if self.is_at_senders => matches!(from, End::Station(_)),
                End::Station(_) => true,
                End::Switch(_) => false,
            };
            if is_seen {
                self.events.push_back(Event::Passage(Passage {
                    started: begun,
                    at: now,
                    source: transit.source,
                    frame: transit.frame.clone(),
                    fate: Fate::Whole,
                }));
            }
            match to {
                End::Switch(switch) => {
                    let at = now + propagation + self.params.switches[switch].latency;
                    port.in_flight.push_back((at, transit));
                    if port.in_flight.len() == 1 {
                        self.agenda.schedule(self.ports.len() + index, at);
                    }
                }
                End::Station(station) => {
                    self.statistics.delivered += 1;
                    let frame = transit.frame;
                    let delivery = Delivery { at: now + propagation, station, frame };
                    self.events.push_back(Event::Delivery(delivery));
                }
            }
            if let End::Station(station) = from {
                self.statistics.sent += 1;
                self.tell(station, class, Transmission::Sent);
            }
        }
        self.start(now, index);
    }

    /// Forwards the next frame of a port, which has arrived in the switch at the other end.
    fn forward(&mut self, now: Instant, index: usize) {
        let node = self.ports.len() + index;
        self.agenda.cancel(node);
        let port = &mut self.ports[index];
        let Some((_, transit)) = port.in_flight.pop_front() else { return };
        if let Some((at, _)) = port.in_flight.front() {
            self.agenda.schedule(node, *at);
        }
        let (from, End::Switch(switch)) = (port.from, port.to) else { return };
        let Some(destination) = station::destination(&transit.frame) else { return };
        let mut outgoing: Vec<usize> = Vec::new();
        if destination.is_group() {
            let elsewhere = |port: &&usize| self.ports[**port].to != from;
            outgoing.extend(self.ports_of[switch].iter().filter(elsewhere));
        } else {
            for station in self.directory.recipients(transit.source, destination) {
                let home = self.params.stations[station].switch;
                let port = if home == switch {
                    self.last_ports[station]
                } else {
                    self.towards[switch][home]
                };
                // Two stations with the same address may be reached by the same port.
                if self.ports[port].to != from && !outgoing.contains(&port) {
                    outgoing.push(port);
                }
            }
        }
        if outgoing.is_empty() && matches!(from, End::Station(_)) {
            self.statistics.unrecognised += 1;
        }
        for port in outgoing {
            self.queue(now, port, Transit { since: now, ..transit.clone() });
        }
    }

    /// Queues a frame at a port of a switch.
    fn queue(&mut self, now: Instant, index: usize, transit: Transit) {
        let port = &mut self.ports[index];
        if !port.queue(transit) {
            self.statistics.buffer_drops += 1;
            return;
        }
        let fullest = &mut self.statistics.fullest_buffer_octets;
        *fullest = (*fullest).max(port.octets);
        self.start(now, index);
    }
}

/// Activity of a port that sent a frame.
fn leaves(transit: &Transit, (begin, end): (Instant, Instant), (from, to): (End, End)) -> Activity {
    let port = match (from, to) {
        (End::Station(_), _) => None,
        (End::Switch(switch), End::Station(to)) => {
            Some(trace::Port { switch, to: Neighbour::Station(to) })
        }
        (End::Switch(switch), End::Switch(to)) => {
            Some(trace::Port { switch, to: Neighbour::Switch(to) })
        }
    };
    let kind = Kind::Frame { frame: transit.frame.clone(), number: transit.number };
    Activity { station: transit.source, port, begin, end, kind }
}

impl Medium for Switched {
    fn observe_senders(&mut self) -> bool {
        self.is_at_senders = true;
        true
    }

    fn attach(&mut self, addresses: &[Mac]) -> Result<(), Misfit> {
        let places = self.params.stations.len();
        if places != addresses.len() {
            return Err(Misfit { places, stations: addresses.len() });
        }
        self.directory = Directory::new(addresses);
        Ok(())
    }

    fn offer(&mut self, now: Instant, station: usize, frame: Frame) {
        self.statistics.offered += 1;
        let class = (self.params.priority_of)(station, &frame).min(7);
        if frame.len() > self.params.framing.maximum_octets {
            self.statistics.oversized += 1;
            return self.tell(station, class, Transmission::NotTaken);
        }
        let number = self.statistics.offered as u32;
        let transit = Transit { frame, source: station, class, number, since: now };
        let port = &mut self.ports[station];
        if !port.queue(transit) {
            self.statistics.queue_drops += 1;
            return self.tell(station, class, Transmission::NotTaken);
        }
        self.start(now, station);
    }

    fn expire(&mut self, now: Instant) {
        while let Some((at, node)) = self.agenda.first()
            && at <= now
        {
            match node.checked_sub(self.ports.len()) {
                None => self.go_on(at, node),
                Some(port) => self.forward(at, port),
            }
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        self.agenda.first().map(|(at, node)| {
            let timer = if node < self.ports.len() { "end of frame" } else { "switch" };
            Deadline { at, timer }
        })
    }

    fn poll(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn trace(&mut self) -> Option<&mut Slot> {
        Some(&mut self.trace)
    }

    fn counts(&self, count: &mut dyn FnMut(&str, u64)) {
        self.statistics.counts(count);
    }
}

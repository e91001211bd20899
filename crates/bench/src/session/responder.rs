//! The end of a session that is called, and takes the load.

mod seen;

use super::SessionError;
use super::carrier::{Carrier, Users, reference_at};
use super::iso_tcp::IsoWay;
use super::party::Party;
use super::way::Way;
use crate::scenario::Transport;
use core::sync::atomic::AtomicBool;
use core::time::Duration;
use live::clock;
use live::runner::Control;
use seen::Seen;
use stack::clnp;
use stack::load::{Event, Record};
use stack::messaging;
use stack::profile::{Framing, Host, HostParams};
use stack::rendezvous::{self, Indication, Request};
use stack::tp4;
use stats::histogram::Histogram;
use wire::addr::{Mac, Nsap};
use wire::rendezvous::{Counts, Limits, SAP, text};
use wire::time::{Instant, nanos};

/// The largest TPDU that class 4 can agree on.
const LARGEST_TPDU_OCTETS: usize = 8_192;
/// Class 4 connections of a session at a time, so that one peer cannot take all memory.
const CONNECTIONS: usize = 1_024;
/// Callers that are answered under full headers if that is how they call.
const IN_KIND: usize = 16;

/// A session as the responder saw it.
#[derive(Clone, Debug)]
pub struct Served {
    /// Who called.
    pub peer: String,
    /// What for, in its own words.
    pub purpose: String,
    /// What both agreed to.
    pub limits: Limits,
    /// What was counted here, and told the peer.
    pub counts: Counts,
    /// How old messages were on arrival, from when they had been due; empty where the ends have clocks
    /// of their own.
    pub delay: Histogram,
    /// What the transport entity counted, this session alone.
    pub transport: tp4::Counters,
    /// From the first load to the last.
    pub took: Duration,
    /// Whether it ended as both wished; else the peer vanished.
    pub complete: bool,
}

/// What is counted of the session under way.
struct Tally {
    counts: Counts,
    seen: Seen,
    delay: Histogram,
    has_shared_clock: bool,
    span: Option<(Instant, Instant)>,
}

impl Tally {
    fn new(has_shared_clock: bool) -> Self {
        Self {
            counts: Counts::default(),
            seen: Seen::default(),
            delay: Histogram::new(),
            has_shared_clock,
            span: None,
        }
    }

    /// Counts a record; `false` where its flow is not one of the session's.
    fn record(&mut self, record: &Record, flows: u16) -> bool {
        let is_agreed = record.flow.0 < flows;
        match record.event {
            Event::Delivered { .. } if !is_agreed => self.counts.not_agreed += 1,
            Event::Delivered { sequence, planned, octets, .. } => {
                let first = self.span.map_or(record.at, |(first, _)| first);
                self.span = Some((first, record.at));
                if self.seen.is_new(record.flow, sequence) {
                    self.counts.delivered += 1;
                    self.counts.octets += octets as u64;
                    if self.has_shared_clock {
                        self.delay.record_nanos(nanos(record.at.since(planned)), 1);
                    }
                } else {
                    self.counts.duplicates += 1;
                }
            }
            Event::Damaged { .. } => self.counts.damaged += 1,
            _ => {}
        }
        is_agreed
    }
}

/// A station that waits to be called.
pub struct Responder(On);

/// What it waits on.
enum On {
    Lan(Box<Waiting<Way>>),
    Tcp(Box<Waiting<IsoWay>>),
}

impl Responder {
    /// A station on this way that takes as much as the way offers.
    ///
    /// # Errors
    /// Where the system has no random numbers.
    pub fn new(way: Way, transport: &Transport) -> Result<Self, SessionError> {
        let params = host_params(way.addr(), clock::now(), transport);
        Ok(Self(On::Lan(Box::new(Waiting::new(way, Host::new(params, Vec::new()))?))))
    }

    /// A server of transport connections over TCP.
    ///
    /// # Errors
    /// Where the system has no random numbers.
    pub fn iso_tcp(way: IsoWay) -> Result<Self, SessionError> {
        let host = way.host();
        Ok(Self(On::Tcp(Box::new(Waiting::new(way, host)?))))
    }

    /// Waits for a call until `until` and serves it; `None` where none came, or `stop` was set.
    ///
    /// # Errors
    /// Where the port breaks down.
    pub fn serve(
        &mut self,
        until: Instant,
        stop: &AtomicBool,
    ) -> Result<Option<Served>, SessionError> {
        match &mut self.0 {
            On::Lan(waiting) => waiting.serve(until, stop),
            On::Tcp(waiting) => waiting.serve(until, stop),
        }
    }

    /// TSDUs sent back to callers that are no tidewire.
    #[must_use]
    pub fn echoed(&self) -> u64 {
        match &self.0 {
            On::Lan(_) => 0,
            On::Tcp(waiting) => waiting.party.host.counters().echoed,
        }
    }

    /// Writes out the capture.
    ///
    /// # Errors
    /// Where it could not be written whole.
    pub fn close(self) -> Result<(), SessionError> {
        match self.0 {
            On::Lan(waiting) => waiting.carrier.finish(),
            On::Tcp(waiting) => waiting.carrier.finish(),
        }
    }
}

/// How the station of a responder is made.
pub(super) fn host_params(address: Mac, now: Instant, transport: &Transport) -> HostParams {
    let nsap = Nsap::of_station(address);
    HostParams {
        address,
        // It takes TPDUs of any size, and sends none longer than a frame. Whether they have a
        // checksum is for the caller to say: one that insists on it decides for both.
        transport: tp4::Params {
            tpdu_octets: LARGEST_TPDU_OCTETS,
            checksum: false,
            connections: CONNECTIONS,
            ..transport.params()
        },
        network: clnp::Params { in_kind: IN_KIND, ..clnp::Params::inactive(nsap) },
        last_reference: reference_at(now),
        accepts: true,
        saps: vec![SAP],
        framing: Framing::Ieee8023,
        messaging: Some(messaging::Params::lan()),
    }
}

/// A host that waits on its carrier.
pub(super) struct Waiting<C: Carrier> {
    carrier: C,
    party: Party<C::Users>,
    tally: Tally,
}

impl<C: Carrier> Waiting<C> {
    pub(super) fn new(mut carrier: C, host: C::Users) -> Result<Self, SessionError> {
        let secret = carrier.unpredictable()?;
        let rendezvous =
            rendezvous::Params::new(Some(carrier.offered()), secret, text(crate::PROGRAM));
        let tally = Tally::new(carrier.is_within_host());
        Ok(Self { tally, party: Party::new(host, rendezvous), carrier })
    }

    /// Waits for a call until `until` and serves it; `None` where none came, or `stop` was set.
    pub(super) fn serve(
        &mut self,
        until: Instant,
        stop: &AtomicBool,
    ) -> Result<Option<Served>, SessionError> {
        let Some(mut served) = self.wait(until, stop)? else { return Ok(None) };
        self.carrier.agree(served.limits);
        loop {
            match self.listen(Instant::MAX, stop)? {
                Some(Indication::StopAsked) => {
                    self.carrier.discard();
                    served.counts = self.counts();
                    served.complete = true;
                    let now = self.carrier.now();
                    self.party.arrivals.open(now, served.limits);
                    self.party.request(now, Request::Final(served.counts));
                }
                Some(Indication::Idle | Indication::Over(_) | Indication::Lost) | None => break,
                Some(_) => {}
            }
        }
        if !served.complete {
            served.counts = self.counts();
        }
        served.delay = self.tally.delay.clone();
        served.took = self.tally.span.map_or(Duration::ZERO, |(first, last)| last - first);
        served.transport = difference(&self.party.host.counters(), &self.party.at_call);
        self.end();
        Ok(Some(served))
    }

    /// Ends with everything that the session left here.
    fn end(&mut self) {
        self.carrier.disagree();
        self.party.end_session(self.carrier.now());
        self.tally = Tally::new(self.carrier.is_within_host());
        while self.party.host.record().is_some() {}
    }

    /// What it waits on.
    pub(super) const fn carrier(&self) -> &C {
        &self.carrier
    }

    fn counts(&self) -> Counts {
        Counts { frames: self.party.frames, ..self.tally.counts }
    }

    fn wait(&mut self, until: Instant, stop: &AtomicBool) -> Result<Option<Served>, SessionError> {
        loop {
            match self.listen(until, stop)? {
                None => return Ok(None),
                Some(Indication::Called { peer, limits, hello }) => {
                    return Ok(Some(Served {
                        peer: self.carrier.name_of(peer),
                        purpose: hello.purpose.to_string(),
                        limits,
                        counts: Counts::default(),
                        delay: Histogram::new(),
                        transport: tp4::Counters::default(),
                        took: Duration::ZERO,
                        complete: false,
                    }));
                }
                Some(_) => {}
            }
        }
    }

    /// Runs until the rendezvous has something to tell; `None` at `until` or once `stop` is set.
    fn listen(
        &mut self,
        until: Instant,
        stop: &AtomicBool,
    ) -> Result<Option<Indication>, SessionError> {
        let Self { carrier, party, tally } = self;
        if !party.has_told() {
            carrier.run(party, until, stop, &mut |party, _| {
                while let Some(record) = party.host.record() {
                    if tally.record(&record, party.flows) {
                        party.arrivals.hear(&record);
                    }
                }
                if party.has_told() { Control::Stop } else { Control::Continue }
            })?;
        }
        Ok(party.told())
    }
}

/// What was counted since.
fn difference(now: &tp4::Counters, before: &tp4::Counters) -> tp4::Counters {
    let mut since = now.clone();
    for (now, before) in since.sent.iter_mut().zip(before.sent) {
        *now -= before;
    }
    for (now, before) in since.received.iter_mut().zip(before.received) {
        *now -= before;
    }
    since.duplicates -= before.duplicates;
    since.frozen_reference -= before.frozen_reference;
    since.out_of_order -= before.out_of_order;
    since.outside_window -= before.outside_window;
    since.bad_checksum -= before.bad_checksum;
    since.malformed -= before.malformed;
    since.t1 -= before.t1;
    since
}

#[cfg(test)]
mod tests;

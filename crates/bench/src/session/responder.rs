//! The end of a session that is called, and takes the load.

use super::SessionError;
use super::carrier::{Carrier, Users};
use super::iso_tcp::IsoWay;
use super::party::{Arrivals, Called, Party};
use super::way::Way;
use crate::scenario::Transport;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use live::clock;
use live::runner::Control;
use stack::clnp;
use stack::load::{Event, FlowId, Record};
use stack::messaging;
use stack::profile::{Framing, Host, HostParams};
use stack::rendezvous::{self, Indication, Request};
use stack::tp4;
use stats::histogram::Histogram;
use std::collections::BTreeMap;
use wire::addr::{Mac, Nsap};
use wire::rendezvous::{Counts, Limits, SAP, text};
use wire::time::{Instant, nanos};

/// Messages of a flow that are told apart from duplicates; later ones count as new.
const TOLD_APART: u32 = 1 << 26;

/// The largest TPDU that class 4 can agree on.
const LARGEST_TPDU_OCTETS: usize = 8_192;
/// Callers that are answered under full headers if that is how they call.
const IN_KIND: usize = 16;

/// How long a peer that reads what arrived may be silent.
const READING: Duration = Duration::from_secs(1);

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

/// Which messages of a flow have come.
#[derive(Default)]
struct Seen(Vec<u64>);

impl Seen {
    /// Whether this is its first time.
    fn is_new(&mut self, sequence: u32) -> bool {
        if sequence >= TOLD_APART {
            return true;
        }
        let (word, bit) = ((sequence / 64) as usize, 1 << (sequence % 64));
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }
}

/// What is counted of the session under way.
struct Tally {
    counts: Counts,
    seen: BTreeMap<FlowId, Seen>,
    delay: Histogram,
    has_shared_clock: bool,
    span: Option<(Instant, Instant)>,
}

impl Tally {
    fn new(has_shared_clock: bool) -> Self {
        Self {
            counts: Counts::default(),
            seen: BTreeMap::new(),
            delay: Histogram::new(),
            has_shared_clock,
            span: None,
        }
    }

    fn record(&mut self, record: &Record) {
        match record.event {
            Event::Delivered { sequence, planned, octets, .. } => {
                let first = self.span.map_or(record.at, |(first, _)| first);
                self.span = Some((first, record.at));
                if !self.seen.entry(record.flow).or_default().is_new(sequence) {
                    self.counts.duplicates += 1;
                    return;
                }
                self.counts.delivered += 1;
                self.counts.octets += octets as u64;
                if self.has_shared_clock {
                    self.delay.record_nanos(nanos(record.at.since(planned)), 1);
                }
            }
            Event::Damaged { .. } => self.counts.damaged += 1,
            _ => {}
        }
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
    #[must_use]
    pub fn new(way: Way, transport: &Transport) -> Self {
        let nsap = Nsap::of_station(way.addr());
        let params = HostParams {
            address: way.addr(),
            // It takes TPDUs of any size, and sends none longer than a frame. Whether they have a
            // checksum is for the caller to say: who insists on one decides for both.
            transport: tp4::Params {
                tpdu_octets: LARGEST_TPDU_OCTETS,
                checksum: false,
                ..transport.params()
            },
            network: clnp::Params { in_kind: IN_KIND, ..clnp::Params::inactive(nsap) },
            last_reference: (clock::now().as_nanos() / 1_000) as u16,
            accepts: true,
            saps: vec![SAP],
            framing: Framing::Ieee8023,
            messaging: Some(messaging::Params::lan()),
        };
        Self(On::Lan(Box::new(Waiting::new(way, Host::new(params, Vec::new())))))
    }

    /// A server of transport connections over TCP.
    #[must_use]
    pub fn iso_tcp(way: IsoWay) -> Self {
        let host = way.host();
        Self(On::Tcp(Box::new(Waiting::new(way, host))))
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

/// A host that waits on its carrier.
struct Waiting<C: Carrier> {
    carrier: C,
    party: Party<C::Users>,
    tally: Tally,
    /// What came in the same wake-up as the call, behind it.
    early: Vec<Record>,
    frames_before: u64,
    transport_before: tp4::Counters,
    /// Who called last.
    caller: Mac,
    /// A call that came while the session before it was only being remembered.
    next: Option<Indication>,
}

impl<C: Carrier> Waiting<C> {
    fn new(carrier: C, host: C::Users) -> Self {
        let rendezvous = rendezvous::Params::new(Some(carrier.offered()), text(crate::PROGRAM));
        Self {
            tally: Tally::new(carrier.is_within_host()),
            party: Party::new(host, rendezvous),
            carrier,
            early: Vec::new(),
            frames_before: 0,
            transport_before: tp4::Counters::default(),
            caller: Mac::default(),
            next: None,
        }
    }

    /// Waits for a call until `until` and serves it; `None` where none came, or `stop` was set.
    fn serve(&mut self, until: Instant, stop: &AtomicBool) -> Result<Option<Served>, SessionError> {
        let Some(mut served) = self.wait(until, stop)? else { return Ok(None) };
        self.carrier.agree(served.limits);
        self.begin();
        loop {
            match self.listen(Instant::MAX, stop)? {
                Some(Indication::StopAsked) => {
                    self.carrier.discard();
                    served.counts = self.counts();
                    served.complete = true;
                    self.party.arrivals.open_for(self.caller);
                    self.party.request(clock::now(), Request::Final(served.counts));
                }
                Some(next @ Indication::Called { .. }) => {
                    self.next = Some(next);
                    break;
                }
                Some(Indication::Idle | Indication::Over(_) | Indication::Lost) | None => break,
                Some(_) => {}
            }
        }
        self.be_read(stop)?;
        self.carrier.disagree();
        if !served.complete {
            served.counts = self.counts();
        }
        served.delay = self.tally.delay.clone();
        served.took = self.tally.span.map_or(Duration::ZERO, |(first, last)| last - first);
        served.transport = difference(&self.party.host.counters(), &self.transport_before);
        if !served.complete {
            self.party.host.stop(clock::now());
        }
        Ok(Some(served))
    }

    /// Forgets what came before the call, and counts what has come since.
    fn begin(&mut self) {
        self.tally = Tally::new(self.carrier.is_within_host());
        self.party.arrivals = Arrivals::default();
        if let Some(Called { frames, transport, .. }) = self.party.called.take() {
            (self.frames_before, self.transport_before) = (frames, transport);
        }
        for record in core::mem::take(&mut self.early) {
            self.party.arrivals.hear(&record);
            self.tally.record(&record);
        }
    }

    /// Goes on for as long as the initiator reads what arrived.
    fn be_read(&mut self, stop: &AtomicBool) -> Result<(), SessionError> {
        while self.next.is_none()
            && let Some(fetched) = self.party.arrivals.fetched
            && clock::now() < fetched + READING
            && !stop.load(Ordering::Relaxed)
        {
            if let Some(next @ Indication::Called { .. }) = self.listen(fetched + READING, stop)? {
                self.next = Some(next);
            }
        }
        Ok(())
    }

    fn counts(&self) -> Counts {
        Counts { frames: self.party.frames - self.frames_before, ..self.tally.counts }
    }

    fn wait(&mut self, until: Instant, stop: &AtomicBool) -> Result<Option<Served>, SessionError> {
        loop {
            let told = match self.next.take() {
                Some(next) => Some(next),
                None => self.listen(until, stop)?,
            };
            match told {
                None => return Ok(None),
                Some(Indication::Called { peer, limits, hello }) => {
                    self.caller = peer;
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
        let Self { carrier, party, tally, early, .. } = self;
        if !party.has_told() {
            carrier.run(party, until, stop, &mut |party, _| {
                while let Some(record) = party.host.record() {
                    if party.called.as_ref().is_some_and(|called| record.at >= called.at) {
                        early.push(record);
                    } else {
                        party.arrivals.hear(&record);
                        tally.record(&record);
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

//! Responder: the end of a session that is called and receives the load.

mod seen;

use super::SessionError;
use super::carrier::Carrier;
use super::iso_tcp::IsoWay;
use super::party::{Party, reference_at};
use super::policy::{BUFFERS, CONNECTIONS};
use super::way::Way;
use crate::scenario::Transport;
use core::sync::atomic::AtomicBool;
use core::time::Duration;
use live::clock;
use live::runner::Control;
use seen::Seen;
use stack::clnp;
use stack::control::{self, Indication, Request};
use stack::directory::Directory;
use stack::host::{FilesServed, Host, HostParams, Subscriptions};
use stack::load::{Event, Record};
use stack::messaging;
use stack::profile::Framing;
use stack::tp4;
use stats::histogram::Histogram;
use wire::addr::{Mac, Nsap};
use wire::control::{Counts, Limits, SAP, text};
use wire::time::{Instant, nanos};

/// Largest TPDU that class 4 can negotiate, in octets.
const LARGEST_TPDU_OCTETS: usize = 8_192;
/// Maximum number of callers that are answered with full headers because they call with them.
const IN_KIND: usize = 16;

/// Session as seen by the responder.
#[derive(Clone, Debug)]
pub struct Served {
    /// Caller.
    pub peer: String,
    /// Purpose, in the caller's words.
    pub purpose: String,
    /// Agreed limits.
    pub limits: Limits,
    /// Counts at this end, as reported to the peer.
    pub counts: Counts,
    /// Age of messages on arrival, from their due time; empty if the ends have separate clocks.
    pub delay: Histogram,
    /// Files that were transferred in it.
    pub files: FilesServed,
    /// Counters of the transport entity in this session.
    pub transport: tp4::Counters,
    /// Time from the first load to the last.
    pub took: Duration,
    /// True if it ended regularly; false if the peer vanished.
    pub complete: bool,
}

/// Counts of the current session.
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

    /// Counts a record; returns `false` if its flow does not belong to the session.
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

/// Station that waits to be called.
pub struct Responder(Waiting<'static>);

impl Responder {
    /// Creates a station on this carrier that accepts as much as the carrier offers.
    ///
    /// # Errors
    /// Fails if the system provides no random numbers.
    pub fn new(way: Way, transport: &Transport) -> Result<Self, SessionError> {
        let params = host_params(way.addr(), clock::now(), transport);
        Waiting::new(Box::new(way), Host::new(params, Vec::new())).map(Self)
    }

    /// Creates a server of transport connections over TCP.
    ///
    /// # Errors
    /// Fails if the system provides no random numbers.
    pub fn iso_tcp(way: IsoWay) -> Result<Self, SessionError> {
        let host = way.host();
        Waiting::new(Box::new(way), host).map(Self)
    }

    /// Adds a directory, which answers queries about titles in a session.
    #[must_use]
    pub fn with_directory(mut self, directory: Directory) -> Self {
        self.0.party.host.set_directory(directory);
        self
    }

    /// Waits for a call until `until` and serves it; `None` if none came, or `stop` was set.
    ///
    /// # Errors
    /// Fails if the port can no longer be used.
    pub fn serve(
        &mut self,
        until: Instant,
        stop: &AtomicBool,
    ) -> Result<Option<Served>, SessionError> {
        self.0.serve(until, stop)
    }

    /// Number of TSDUs echoed to callers that are no tidewire.
    #[must_use]
    pub const fn echoed(&self) -> u64 {
        self.0.party.host.echoed()
    }

    /// Flushes the capture.
    ///
    /// # Errors
    /// Fails if it could not be written completely.
    pub fn close(self) -> Result<(), SessionError> {
        self.0.carrier.finish()
    }
}

/// Parameters of a responder's host.
pub(super) fn host_params(address: Mac, now: Instant, transport: &Transport) -> HostParams {
    let nsap = Nsap::of_station(address);
    HostParams {
        address,
        // It accepts TPDUs of any size, and sends none longer than a frame. The caller decides
        // about the checksum: one that requires it decides for both.
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

/// Host that waits on its carrier.
pub(super) struct Waiting<'a> {
    carrier: Box<dyn Carrier + 'a>,
    party: Party,
    tally: Tally,
}

impl<'a> Waiting<'a> {
    pub(super) fn new(
        mut carrier: Box<dyn Carrier + 'a>,
        mut host: Host,
    ) -> Result<Self, SessionError> {
        if carrier.takes_streams() {
            host.subscribe(Subscriptions::All);
        }
        let secret = carrier.unpredictable()?;
        let control = control::Params::new(Some(carrier.offered()), secret, text(crate::PROGRAM));
        let is_class4 = matches!(host.transport(), stack::transport::Transport::Class4(_));
        let takes_streams = carrier.takes_streams();
        let buffers = if is_class4 { BUFFERS } else { 0 };
        let control = control::Params { buffers, takes_streams, ..control };
        let tally = Tally::new(carrier.is_within_host());
        Ok(Self { tally, party: Party::new(host, control), carrier })
    }

    /// Waits for a call until `until` and serves it; `None` if none came, or `stop` was set.
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
        served.files = self.party.host.files_served();
        served.transport = difference(&self.party.host.transport().counters(), &self.party.at_call);
        self.end()?;
        Ok(Some(served))
    }

    /// Ends the session and drops its state.
    fn end(&mut self) -> Result<(), SessionError> {
        self.carrier.disagree();
        self.carrier.follow(None)?;
        self.party.end_session(self.carrier.now());
        self.tally = Tally::new(self.carrier.is_within_host());
        while self.party.host.record().is_some() {}
        Ok(())
    }

    fn counts(&self) -> Counts {
        Counts { frames: self.party.frames, ..self.tally.counts }
    }

    fn wait(&mut self, until: Instant, stop: &AtomicBool) -> Result<Option<Served>, SessionError> {
        loop {
            match self.listen(until, stop)? {
                None => return Ok(None),
                Some(Indication::Called { peer, limits, hello }) => {
                    if hello.has_streams {
                        self.carrier.follow(Some(peer))?;
                    }
                    return Ok(Some(Served {
                        peer: self.carrier.name_of(peer),
                        purpose: hello.purpose.to_string(),
                        limits,
                        counts: Counts::default(),
                        delay: Histogram::new(),
                        files: FilesServed::default(),
                        transport: tp4::Counters::default(),
                        took: Duration::ZERO,
                        complete: false,
                    }));
                }
                Some(_) => {}
            }
        }
    }

    /// Runs until the control session has an indication; `None` at `until` or once `stop` is set.
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

/// Difference of two readings of the counters.
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

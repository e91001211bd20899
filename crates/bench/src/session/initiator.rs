//! Initiator: the end of a session that calls and sends the load.

use super::SessionError;
use super::carrier::Carrier;
use super::completion::{not_known, of_single};
use super::iso_tcp::IsoWay;
use super::local::from_origin;
use super::party::{Party, reference_at};
use super::policy::of as policy_of;
use super::report::{FETCH_AGAIN, FETCHES, PATIENCE, most_kept, reading_time, records_of};
use super::so_far::SoFar;
use super::streams;
use super::way::Way;
use crate::collect::{Clocks, Collector};
use crate::counters::{add_network, add_transport};
use crate::destinations::Destinations;
use crate::layout::{Layout, collector, lay_out, patience, seed_of};
use crate::messages::{self, Messages, Reported};
use crate::sample::{Origin, Sample};
use crate::scenario::{Flow, LLC_OCTETS, MOST_DATA_OCTETS, Point, Scenario, Service};
use crate::{PROGRAM_VERSION, layout};
use core::sync::atomic::AtomicBool;
use core::time::Duration;
use live::clock;
use live::runner::{Control, Stopped};
use stack::control::{self, Call, Indication, Name, Request};
use stack::host::{Host, HostParams, MESSAGE_FLOWS};
use stack::load::{Event, FlowId, Record};
use stack::messaging;
use stack::profile::Framing;
use stack::station::MacQueues;
use stack::tp4;
use stack::transport::Transport;
use std::collections::BTreeMap;
use wire::addr::Mac;
use wire::control::report::Arrival;
use wire::control::{Counts, Limits, ReceivePolicy, Refusal, Role, SAP, text};
use wire::time::{Instant, nanos};

/// Maximum LSDU of 802.3, in octets.
const LONGEST_LSDU_OCTETS: u64 = MOST_DATA_OCTETS - LLC_OCTETS;

/// Result of a load, with the peer's report.
#[derive(Debug)]
pub struct Measured {
    /// Sample, with flows completed from the peer's counts.
    pub sample: Sample,
    /// Messages handed over here, including those of the warm-up.
    pub sent: u64,
    /// Counts of the peer in total, with the files that it has confirmed.
    pub peer: Counts,
    /// True if the peer reported the arrival of each message; otherwise delays, and counts of one of
    /// several flows, are those of the arrivals that it reported.
    pub each: bool,
    /// Messages that were not passed to their sink: those beyond the first [`messages::MOST_HELD`].
    pub without_row: u64,
    /// Agreed limits.
    pub limits: Limits,
    /// Counters of the transport entity at this end.
    pub transport: tp4::Counters,
    /// Time from the first message to the last acknowledgement or reply.
    pub took: Duration,
    /// Error that ended it early; the sample then holds only this side's data, and the peer's
    /// counts are zero.
    pub failure: Option<SessionError>,
}

/// Parameters of a measurement.
pub struct Order<'a> {
    /// Point of the scenario.
    pub point: &'a Point,
    /// Hash of the scenario's text.
    pub scenario_hash: &'a str,
    /// Index of the replication of the point.
    pub replication: u64,
    /// Address of the peer.
    pub peer: Mac,
    /// True if streams go to their groups, which reach stations that did not agree; else to the peer.
    pub to_groups: bool,
    /// Ends everything early, with the results so far.
    pub stop: &'a AtomicBool,
    /// Called from time to time with the course so far.
    pub progress: &'a mut dyn FnMut(&SoFar),
    /// Receives every message, once the session is over.
    pub messages: Option<messages::Sink<'a>>,
}

/// Course of a measurement that is over.
struct Course {
    origin: Instant,
    seed: u64,
    /// True if it was not stopped.
    complete: bool,
    took: Duration,
}

/// Measurement in progress.
struct Initiator<'a, 'b> {
    nonce: u64,
    so_far: SoFar,
    /// Messages of each flow that were sent.
    load: BTreeMap<FlowId, Sent>,
    carrier: &'a mut dyn Carrier,
    party: Party,
    order: Order<'b>,
}

/// Measures one replication of a point against a responder: agrees, sends, stops, requests counts.
///
/// # Errors
/// Fails if the peer does not answer or refuses, or the port cannot be used. Errors after load was
/// sent are in [`Measured::failure`].
pub fn measure(way: &mut Way, order: Order<'_>) -> Result<Measured, SessionError> {
    let scenario = &order.point.scenario;
    check_services(scenario)?;
    let host = Host::new(host_params(way.addr(), clock::now(), scenario), Vec::new());
    let has_priorities = scenario.flows.iter().any(Flow::has_priority);
    let host = if has_priorities { host.above(MacQueues::One) } else { host };
    carry_out(way, host, order)
}

/// Refuses flows that a responder does not answer.
fn check_services(scenario: &Scenario) -> Result<(), SessionError> {
    match scenario.flows.iter().find(|flow| flow.service == Service::Mms) {
        Some(flow) => Err(SessionError::Mms(flow.name.clone())),
        None => Ok(()),
    }
}

/// Parameters of the measuring station's host.
pub(super) fn host_params(address: Mac, now: Instant, scenario: &Scenario) -> HostParams {
    HostParams {
        address,
        transport: scenario.transport_on(LONGEST_LSDU_OCTETS),
        network: scenario.network.params(address, LONGEST_LSDU_OCTETS),
        last_reference: reference_at(now),
        // The peer receives, and requests nothing.
        accepts: false,
        saps: vec![SAP],
        framing: Framing::Ieee8023,
        messaging: scenario.has_messages().then(messaging::Params::lan),
    }
}

/// Like [`measure`], over TCP: connections of class 4 in the scenario are then of class 0 or 2.
///
/// # Errors
/// Errors of [`measure`]; [`SessionError::NoConnection`] for a flow without a connection,
/// [`SessionError::NoPriority`] for a flow with a priority.
pub fn measure_iso_tcp(way: &mut IsoWay, order: Order<'_>) -> Result<Measured, SessionError> {
    check_services(&order.point.scenario)?;
    let flows = &order.point.scenario.flows;
    if let Some(flow) = flows.iter().find(|flow| flow.service == Service::File) {
        return Err(SessionError::File(flow.name.clone()));
    }
    if let Some(flow) = flows.iter().find(|flow| flow.service != Service::Class4) {
        return Err(SessionError::NoConnection(flow.name.clone()));
    }
    if let Some(flow) = flows.iter().find(|flow| flow.has_priority()) {
        return Err(SessionError::NoPriority(flow.name.clone()));
    }
    let host = way.host();
    carry_out(way, host, Order { peer: IsoWay::server(), ..order })
}

/// Measures over any carrier, in its time.
pub(super) fn carry_out(
    carrier: &mut dyn Carrier,
    host: Host,
    order: Order<'_>,
) -> Result<Measured, SessionError> {
    let seed = seed_of(&order.point.scenario, order.replication);
    let Layout { places, watched, changes: _ } = lay_out(&order.point.scenario, seed);
    let flows = flows_of(&order, &places)?;
    // It accepts no sessions, so it issues no cookies.
    let control = control::Params::new(None, 0, text(crate::PROGRAM));
    let party = Party::new(host, control);
    let nonce = carrier.unpredictable()? as u64;
    let load = BTreeMap::new();
    let mut initiator = Initiator { nonce, so_far: SoFar::default(), load, carrier, party, order };
    let numbers = flows.iter().map(|flow| flow.id.0.saturating_add(1));
    let limits = initiator.open(numbers.max().unwrap_or(0))?;
    initiator.check_rate(limits)?;
    let origin = initiator.carrier.now() + streams::run_up(&initiator.order.point.scenario);
    let is_within_host = initiator.carrier.is_within_host();
    let clocks = if is_within_host { Clocks::Shared } else { Clocks::Separate };
    let sink = initiator.order.messages.take();
    let messages = sink.map(|sink| Messages::new(&watched, origin, clocks, sink).held());
    let collector = collector(&initiator.order.point.scenario, watched, origin, clocks);
    let mut to = Destinations { collector, messages };
    let peer = initiator.order.peer;
    let published = streams::published(&places, initiator.order.to_groups);
    initiator.party.host.publish(layout::beginning(published, origin));
    layout::name_all(&mut initiator.party.host, &places, peer, origin);
    for mut flow in flows {
        flow.start = origin + flow.start.since(Instant::ZERO);
        flow.peer = peer;
        let is_file = matches!(flow.service, stack::load::Service::File(_));
        initiator.load.insert(flow.id, Sent { is_file, ..Sent::default() });
        initiator.party.host.add(flow);
    }
    let jitters = places.iter().flat_map(|place| place.streams.jitters.clone());
    jitters.for_each(|(flow, jitter)| initiator.party.host.deviate(flow, jitter));
    let (ended, took) = initiator.load(&mut to, origin);
    let counted = match ended {
        Ok(complete) => initiator.close().map(|counts| (complete, counts)),
        Err(failure) => Err(failure),
    };
    let arrived = match &counted {
        Ok((_, counts)) => initiator.fetch(&mut to, *counts, limits),
        Err(_) => false,
    };
    initiator.done();
    initiator.carrier.disagree();
    to.collector.end_warmup();
    let transport = initiator.party.host.transport().counters();
    let (complete, peer, failure) = initiator.checked(counted);
    let known = failure.is_none().then_some(peer);
    let told = Told { counts: known, each: arrived };
    let is_reported = arrived && failure.is_none();
    let reported = if is_reported { Reported::Each } else { Reported::Part };
    let (collector, without_row) = to.finish(reported);
    let sample =
        initiator.sample(collector, &transport, told, Course { origin, seed, complete, took });
    let peer = initiator.with_files(peer);
    let sent = initiator.so_far.sent;
    let each = arrived;
    Ok(Measured { sample, sent, peer, each, without_row, limits, transport, took, failure })
}

/// All flows of the scenario; this station takes the role of all senders.
fn flows_of(
    order: &Order<'_>,
    places: &[layout::Place],
) -> Result<Vec<stack::load::Flow>, SessionError> {
    let scenario = &order.point.scenario;
    let most = LONGEST_LSDU_OCTETS;
    let is_lsdu = |flow: &Flow| !flow.service.is_connected() && !flow.service.is_published();
    let too_long = |flow: &&Flow| is_lsdu(flow) && flow.size.0 > most;
    if let Some(flow) = scenario.flows.iter().find(too_long) {
        return Err(SessionError::TooLong { flow: flow.name.clone(), most });
    }
    let messages = scenario.flows.iter().filter(|flow| flow.service == Service::Message).count();
    if messages > MESSAGE_FLOWS {
        return Err(SessionError::TooManyFlows { most: MESSAGE_FLOWS });
    }
    let own = places.iter().take(scenario.all_stations().len());
    Ok(own.flat_map(|place| place.flows.iter().cloned()).collect())
}

impl Initiator<'_, '_> {
    /// Runs until the control session has an indication, or until `until`; returns the indication.
    fn listen(&mut self, until: Instant) -> Result<Option<Indication>, SessionError> {
        let Self { carrier, party, order, .. } = self;
        if !party.has_told() {
            carrier.run(party, until, order.stop, &mut |party, _| {
                if party.has_told() { Control::Stop } else { Control::Continue }
            })?;
        }
        Ok(party.told())
    }

    /// Agrees on a session with this number of flows; returns the agreed limits.
    fn open(&mut self, flows: u16) -> Result<Limits, SessionError> {
        let now = self.carrier.now();
        let peer = self.order.peer;
        let name = self.carrier.name_of(peer);
        let receive = self.policy();
        let call = Call {
            peer,
            nonce: self.nonce,
            role: Role::Sender,
            offered: self.carrier.offered(),
            least: Limits::NONE,
            flows,
            purpose: text(&self.order.point.scenario.title),
            receive,
            is_policy_needed: receive
                .is_some_and(|policy| policy != policy_of(&tp4::Params::lan())),
            has_streams: streams::among(&self.order.point.scenario),
        };
        self.party.request(now, Request::Open(call));
        loop {
            match self.listen(now + PATIENCE)? {
                Some(Indication::Opened { limits, .. }) => {
                    self.carrier.agree(limits);
                    return Ok(limits);
                }
                Some(Indication::Refused(why)) => {
                    return Err(match (why, receive) {
                        (Refusal::Policy, Some(required)) => {
                            SessionError::Policy { peer: name, required, flows }
                        }
                        _ => SessionError::Refused { peer: name, why: why.to_string() },
                    });
                }
                Some(Indication::Lost) => return Err(SessionError::Lost(name)),
                Some(Indication::NoAnswer) | None => return Err(SessionError::NoAnswer(name)),
                Some(_) => {}
            }
        }
    }

    /// Ends a session whose limits would hold back streams.
    fn check_rate(&mut self, limits: Limits) -> Result<(), SessionError> {
        let checked = streams::check(&self.order.point.scenario, limits);
        if checked.is_err() {
            let _ = self.close();
            self.done();
            self.carrier.disagree();
        }
        checked
    }

    /// Policy that the peer is to follow: the scenario's, if it has connections of class 4.
    fn policy(&self) -> Option<ReceivePolicy> {
        let has_connections = |flow: &Flow| flow.service.is_connected();
        let is_connected = self.order.point.scenario.flows.iter().any(has_connections);
        match self.party.host.transport() {
            Transport::Class4(entity) if is_connected => Some(policy_of(entity.params())),
            _ => None,
        }
    }

    /// Sends the load until it is over, its time is over, or it is stopped; returns whether it
    /// completed, and the time it took.
    fn load(
        &mut self,
        to: &mut Destinations<'_>,
        origin: Instant,
    ) -> (Result<bool, SessionError>, Duration) {
        let Self { carrier, party, order, so_far, load, .. } = self;
        let scenario = &order.point.scenario;
        let until = origin + scenario.stop.after.0;
        let (mut winding_up, mut last) = (false, origin);
        let progress = &mut *order.progress;
        let end = until + patience(scenario);
        let stopped = carrier.run(party, end, order.stop, &mut |party, now| {
            while let Some(record) = party.host.record() {
                if let Event::Sent { sequence, .. } = record.event
                    && let Some(flow) = load.get_mut(&record.flow)
                {
                    flow.behind = flow.behind.max(sequence.saturating_add(1));
                }
                if is_of_load(&record, load) {
                    confirm(&record, load);
                    so_far.take(&record);
                    last = last.max(record.at);
                    to.record(&record);
                }
            }
            progress(so_far);
            if now >= until && !winding_up {
                winding_up = true;
                party.host.wind_up(now);
            }
            let over = party.host.is_done() || party.has_told();
            if over { Control::Stop } else { Control::Continue }
        });
        let lost = matches!(party.told(), Some(Indication::Lost));
        let result = match stopped {
            Err(error) => Err(error),
            Ok(_) if lost => Err(SessionError::Lost(carrier.name_of(order.peer))),
            Ok(stopped) => Ok(stopped == Stopped::Satisfied),
        };
        if !matches!(result, Ok(true)) {
            party.host.stop(carrier.now());
        }
        while let Some(record) = party.host.record() {
            if is_of_load(&record, load) {
                confirm(&record, load);
                to.record(&record);
            }
        }
        (result, last - origin)
    }

    /// Requests the end of the load, and the peer's counts.
    fn close(&mut self) -> Result<Counts, SessionError> {
        let peer = self.carrier.name_of(self.order.peer);
        let now = self.carrier.now();
        self.party.request(now, Request::Stop);
        let until = now + PATIENCE;
        // An interrupt ended the load; the peer must still be notified.
        let go_on = AtomicBool::new(false);
        loop {
            let Self { carrier, party, .. } = self;
            carrier.run(party, until, &go_on, &mut |party, _| {
                if party.has_told() { Control::Stop } else { Control::Continue }
            })?;
            match party.told() {
                Some(Indication::Over(counts)) => return Ok(counts),
                Some(Indication::Lost | Indication::NoAnswer) | None => {
                    return Err(SessionError::Lost(peer));
                }
                Some(_) => {}
            }
        }
    }

    /// Fetches the peer's arrivals, message by message. Returns true if they are complete, and agree with the
    /// messages sent and the counts.
    fn fetch(&mut self, to: &mut Destinations<'_>, counts: Counts, limits: Limits) -> bool {
        let (name, go_on) = (self.name(), AtomicBool::new(false));
        let most = most_kept(counts);
        let end = self.carrier.now() + reading_time(most, limits);
        let (mut first, mut tries) = (0, 0);
        while tries < FETCHES && self.carrier.now() < end {
            let Self { carrier, party, .. } = self;
            let now = carrier.now();
            party.fetch(now, name, first);
            tries += 1;
            let ran = carrier.run(party, now + FETCH_AGAIN, &go_on, &mut |party, _| {
                if party.page().is_some() { Control::Stop } else { Control::Continue }
            });
            if ran.is_err() {
                return false;
            }
            let Some(page) = party.page().cloned() else { continue };
            if page.kept > most || !page.arrivals.iter().all(|arrival| self.is_of_ours(arrival)) {
                return false;
            }
            records_of(&page).for_each(|record| to.record(&record));
            let read = first.saturating_add(u32::try_from(page.arrivals.len()).unwrap_or(0));
            if read >= page.kept || page.arrivals.is_empty() {
                return page.is_all && read >= page.kept;
            }
            (first, tries) = (read, 0);
        }
        false
    }

    /// Returns whether an arrival belongs to a message that was sent.
    fn is_of_ours(&self, arrival: &Arrival) -> bool {
        let sent = self.load.get(&FlowId(arrival.flow));
        sent.is_some_and(|sent| !sent.is_file && arrival.sequence < sent.behind)
    }

    const fn name(&self) -> Name {
        Name { peer: self.order.peer, nonce: self.nonce }
    }

    /// Completeness of the load, and the counts of the peer; none where they contradict the messages sent.
    fn checked(
        &self,
        counted: Result<(bool, Counts), SessionError>,
    ) -> (bool, Counts, Option<SessionError>) {
        let sent = self.so_far.sent;
        let (complete, counts) = match counted {
            Ok(counted) => counted,
            Err(failure) => return (false, Counts::default(), Some(failure)),
        };
        if counts.delivered <= sent {
            return (complete, counts, None);
        }
        let (peer, delivered) = (self.carrier.name_of(self.order.peer), counts.delivered);
        let failure = SessionError::Contradiction { peer, delivered, sent };
        (false, Counts::default(), Some(failure))
    }

    /// Adds to the peer's counts the files that it has confirmed.
    fn with_files(&self, peer: Counts) -> Counts {
        let files = self.load.values().map(|sent| sent.confirmed).sum::<u64>();
        let octets = self.load.values().map(|sent| sent.confirmed_octets).sum::<u64>();
        let (delivered, octets) =
            (peer.delivered.saturating_add(files), peer.octets.saturating_add(octets));
        Counts { delivered, octets, ..peer }
    }

    /// Lets the peer drop the session. If this is lost, the peer does so after a second.
    fn done(&mut self) {
        let now = self.carrier.now();
        self.party.request(now, Request::Done);
        let Self { carrier, party, .. } = self;
        // The measurement is complete; an error of the port changes nothing now.
        let _ = carrier.run(party, now, &AtomicBool::new(false), &mut |_, _| Control::Continue);
    }

    /// Sample, with the data that only the peer has.
    fn sample(
        &self,
        collector: Collector,
        transport: &tp4::Counters,
        told: Told,
        course: Course,
    ) -> Sample {
        let Course { origin, seed, complete, took } = course;
        let scenario = &self.order.point.scenario;
        let mut flows = from_origin(collector.finish(), origin);
        match (flows.as_mut_slice(), told.counts) {
            // The peer confirmed each file, and its counts have none.
            ([_], _) if self.load.values().all(|sent| sent.is_file) => {}
            ([flow], Some(peer)) => {
                of_single(flow, peer, (!told.each).then_some(self.so_far.sent), took)
            }
            (flows, _) if !told.each => {
                let unknown = self.load.values().map(|sent| !sent.is_file);
                let flows = flows.iter_mut().zip(unknown).filter(|(_, is_unknown)| *is_unknown);
                flows.for_each(|(flow, _)| not_known(flow));
            }
            _ => {}
        }
        let peer = told.counts.unwrap_or_default();
        let counts = [
            ("peer_delivered", peer.delivered),
            ("peer_delivered_octets", peer.octets),
            ("peer_duplicates", peer.duplicates),
            ("peer_damaged", peer.damaged),
            ("peer_frames", peer.frames),
            ("t1", transport.t1),
        ];
        let named = counts.into_iter().map(|(name, count)| (name.to_owned(), count));
        let mut counts: BTreeMap<_, _> = named.collect();
        add_transport(&self.party.host, &mut counts);
        add_network(&self.party.host, &mut counts);
        Sample {
            title: scenario.title.clone(),
            scenario_hash: self.order.scenario_hash.to_owned(),
            program_version: PROGRAM_VERSION.to_owned(),
            source: Origin::Measured,
            point: self.order.point.index,
            settings: self.order.point.settings.clone(),
            replication: self.order.replication,
            seed,
            ended_at_ns: nanos(took),
            complete,
            flows,
            counts,
            machines: Vec::new(),
        }
    }
}

/// Peer's report of the arrivals.
#[derive(Clone, Copy)]
struct Told {
    /// Its counts, if it sent them.
    counts: Option<Counts>,
    /// True if it reported each message.
    each: bool,
}

/// Messages of a flow that were sent.
#[derive(Clone, Copy, Default)]
struct Sent {
    /// True if they are files, whose arrival this end records.
    is_file: bool,
    /// Sequence number of the next one.
    behind: u32,
    /// Files that the peer has confirmed.
    confirmed: u64,
    /// Octets of those files.
    confirmed_octets: u64,
}

/// Counts a file that the peer has confirmed.
fn confirm(record: &Record, load: &mut BTreeMap<FlowId, Sent>) {
    if let Event::Delivered { octets, .. } = record.event
        && let Some(sent) = load.get_mut(&record.flow)
    {
        sent.confirmed += 1;
        sent.confirmed_octets = sent.confirmed_octets.saturating_add(octets as u64);
    }
}

/// Returns whether a record belongs to the load. A peer may send messages and answers of its own:
/// deliveries, other than of files, are taken from its report alone, and only sent messages can be
/// answered.
fn is_of_load(record: &Record, load: &BTreeMap<FlowId, Sent>) -> bool {
    let sent = load.get(&record.flow);
    match record.event {
        Event::Delivered { sequence, .. } => {
            sent.is_some_and(|sent| sent.is_file && sequence < sent.behind)
        }
        Event::Answered { sequence, .. } => sent.is_some_and(|sent| sequence < sent.behind),
        _ => true,
    }
}

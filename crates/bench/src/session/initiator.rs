//! The end of a session that calls, and sends the load.

use super::SessionError;
use super::carrier::{Carrier, Users};
use super::iso_tcp::IsoWay;
use super::local::from_origin;
use super::party::Party;
use super::way::Way;
use crate::collect::{Clocks, Collector};
use crate::layout::{Layout, collector, lay_out, patience, seed_of};
use crate::sample::{FlowSample, Origin, Sample};
use crate::scenario::{Flow, LLC_OCTETS, MOST_DATA_OCTETS, Point, Service};
use crate::{PROGRAM_VERSION, layout};
use core::sync::atomic::AtomicBool;
use core::time::Duration;
use live::clock;
use live::runner::{Control, Stopped};
use stack::load::{Event, FlowId, Record};
use stack::messaging;
use stack::profile::{Framing, Host, HostParams, MESSAGE_FLOWS};
use stack::rendezvous::{self, Call, Indication, Request};
use stack::tp4;
use std::collections::BTreeMap;
use wire::addr::Mac;
use wire::rendezvous::report::Arrival;
use wire::rendezvous::{Counts, Limits, Role, SAP, text};
use wire::time::{Instant, nanos};

/// The longest LSDU that 802.3 carries.
const LONGEST_LSDU_OCTETS: u64 = MOST_DATA_OCTETS - LLC_OCTETS;
/// From one request for a page to its repetition, and how often it is made.
const FETCH_AGAIN: (Duration, u32) = (Duration::from_millis(250), 8);
/// How long a session may take to open or close, retransmissions included.
const PATIENCE: Duration = Duration::from_secs(15);

/// A load as it came out, and what the other end says of it.
#[derive(Debug)]
pub struct Measured {
    /// The sample, its flows completed from what the peer counted.
    pub sample: Sample,
    /// Messages handed over here, those of the warm-up counted.
    pub sent: u64,
    /// What the peer counted in all.
    pub peer: Counts,
    /// What both agreed to.
    pub limits: Limits,
    /// What the transport entity counted here.
    pub transport: tp4::Counters,
    /// From the first message to the last acknowledgement or reply.
    pub took: Duration,
    /// What broke it off: then the sample holds what this side knows, and the peer's counts are zero.
    pub failure: Option<SessionError>,
}

/// How a measurement is made.
pub struct Order<'a> {
    /// The point of the scenario.
    pub point: &'a Point,
    /// The hash of the scenario's text.
    pub scenario_hash: &'a str,
    /// Which replication of the point.
    pub replication: u64,
    /// Whom to measure against.
    pub peer: Mac,
    /// Ends everything early, with what there is.
    pub stop: &'a AtomicBool,
    /// Told now and then how many messages were handed over.
    pub progress: &'a mut dyn FnMut(u64),
}

/// One measurement under way.
struct Initiator<'a, 'b, C: Carrier> {
    nonce: u64,
    sent: u64,
    carrier: &'a mut C,
    party: Party<C::Users>,
    order: Order<'b>,
}

/// Measures one replication of a point against a responder: agrees, sends, stops, asks for counts.
///
/// # Errors
/// Where the peer is not there or refuses, or the port cannot be used. What happens once load was sent is
/// in [`Measured::failure`].
pub fn measure(way: &mut Way, order: Order<'_>) -> Result<Measured, SessionError> {
    let params = HostParams {
        address: way.addr(),
        transport: order.point.scenario.transport_on(LONGEST_LSDU_OCTETS),
        network: order.point.scenario.network.params(way.addr(), LONGEST_LSDU_OCTETS),
        // References of a process that ran before may still be frozen over there.
        last_reference: (clock::now().as_nanos() / 1_000) as u16,
        accepts: true,
        saps: vec![SAP],
        framing: Framing::Ieee8023,
        messaging: order.point.scenario.has_messages().then(messaging::Params::lan),
    };
    carry_out(way, Host::new(params, Vec::new()), order)
}

/// The same over TCP: connections of class 4 in the scenario are then of class 0 or 2.
///
/// # Errors
/// As [`measure`]; [`SessionError::NoConnection`] for a flow that has none.
pub fn measure_iso_tcp(way: &mut IsoWay, order: Order<'_>) -> Result<Measured, SessionError> {
    let flows = &order.point.scenario.flows;
    if let Some(flow) = flows.iter().find(|flow| flow.service != Service::Class4) {
        return Err(SessionError::NoConnection(flow.name.clone()));
    }
    let host = way.host();
    carry_out(way, host, Order { peer: IsoWay::server(), ..order })
}

fn carry_out<C: Carrier>(
    carrier: &mut C,
    host: C::Users,
    order: Order<'_>,
) -> Result<Measured, SessionError> {
    let seed = seed_of(&order.point.scenario, order.replication);
    let Layout { places, watched, changes: _ } = lay_out(&order.point.scenario, seed);
    let flows = flows_of(&order, &places)?;
    let rendezvous = rendezvous::Params::new(None, text(crate::PROGRAM));
    let party = Party::new(host, rendezvous);
    let mut initiator = Initiator { nonce: 0, sent: 0, carrier, party, order };
    let limits = initiator.open()?;
    let origin = clock::now();
    let is_within_host = initiator.carrier.is_within_host();
    let clocks = if is_within_host { Clocks::Shared } else { Clocks::Separate };
    let mut collector = collector(&initiator.order.point.scenario, watched, origin, clocks);
    for mut flow in flows {
        flow.start = origin + flow.start.since(Instant::ZERO);
        flow.peer = initiator.order.peer;
        initiator.party.host.add(flow);
    }
    let (ended, took) = initiator.load(&mut collector, origin);
    let counted = match ended {
        Ok(complete) => initiator.close().map(|counts| (complete, counts)),
        Err(failure) => Err(failure),
    };
    let arrived = counted.is_ok() && initiator.fetch(&mut collector);
    initiator.carrier.disagree();
    collector.end_warmup();
    let transport = initiator.party.host.counters();
    let ((complete, peer), failure) = match counted {
        Ok(counted) => (counted, None),
        Err(failure) => ((false, Counts::default()), Some(failure)),
    };
    let known = failure.is_none().then_some(peer);
    let told = Told { counts: known, each: arrived };
    let sample = initiator.sample(collector, &transport, told, (origin, seed, complete, took));
    Ok(Measured { sample, sent: initiator.sent, peer, limits, transport, took, failure })
}

/// Every flow of the scenario: this station plays all that send.
fn flows_of(
    order: &Order<'_>,
    places: &[layout::Place],
) -> Result<Vec<stack::load::Flow>, SessionError> {
    let scenario = &order.point.scenario;
    let most = LONGEST_LSDU_OCTETS;
    let too_long = |flow: &&Flow| flow.service != Service::Class4 && flow.size.0 > most;
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

impl<C: Carrier> Initiator<'_, '_, C> {
    /// Runs until the rendezvous has something to tell or `until`; what it has to tell.
    fn listen(&mut self, until: Instant) -> Result<Option<Indication>, SessionError> {
        let Self { carrier, party, order, .. } = self;
        if !party.has_told() {
            carrier.run(party, until, order.stop, &mut |party, _| {
                if party.has_told() { Control::Stop } else { Control::Continue }
            })?;
        }
        Ok(party.told())
    }

    fn open(&mut self) -> Result<Limits, SessionError> {
        let now = clock::now();
        let peer = self.order.peer;
        let name = self.carrier.name_of(peer);
        self.nonce = now.as_nanos() ^ u64::from(std::process::id()) << 40;
        let call = Call {
            peer,
            nonce: self.nonce,
            role: Role::Sender,
            offered: self.carrier.offered(),
            least: Limits::NONE,
            purpose: text(&self.order.point.scenario.title),
        };
        self.party.request(now, Request::Open(call));
        loop {
            match self.listen(now + PATIENCE)? {
                Some(Indication::Opened { limits, .. }) => {
                    self.carrier.agree(limits);
                    return Ok(limits);
                }
                Some(Indication::Refused(why)) => {
                    return Err(SessionError::Refused { peer: name, why: why.to_string() });
                }
                Some(Indication::Lost) => return Err(SessionError::Lost(name)),
                Some(Indication::NoAnswer) | None => return Err(SessionError::NoAnswer(name)),
                Some(_) => {}
            }
        }
    }

    /// Sends the load until it is over, its time is, or somebody stops it; whether it came to its end,
    /// and how long it took.
    fn load(
        &mut self,
        collector: &mut Collector,
        origin: Instant,
    ) -> (Result<bool, SessionError>, Duration) {
        let Self { carrier, party, order, sent, .. } = self;
        let scenario = &order.point.scenario;
        let until = origin + scenario.stop.after.0;
        let (mut winding_up, mut last) = (false, origin);
        let progress = &mut *order.progress;
        let end = until + patience(scenario);
        let stopped = carrier.run(party, end, order.stop, &mut |party, now| {
            while let Some(record) = party.host.record() {
                *sent += u64::from(matches!(record.event, stack::load::Event::Sent { .. }));
                last = last.max(record.at);
                collector.record(&record);
            }
            progress(*sent);
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
            party.host.stop(clock::now());
        }
        while let Some(record) = party.host.record() {
            collector.record(&record);
        }
        (result, last - origin)
    }

    /// Asks the peer to end and for its counts.
    fn close(&mut self) -> Result<Counts, SessionError> {
        let peer = self.carrier.name_of(self.order.peer);
        self.party.request(clock::now(), Request::Stop);
        let until = clock::now() + PATIENCE;
        // An interrupt ended the load; the peer still has to hear of it.
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

    /// Hands the collector what the peer saw arrive, message by message; whether that is all of it.
    fn fetch(&mut self, collector: &mut Collector) -> bool {
        let (peer, go_on) = (self.order.peer, AtomicBool::new(false));
        let (again, transmissions) = FETCH_AGAIN;
        let (mut first, mut tries) = (0, 0);
        while tries < transmissions {
            let Self { carrier, party, nonce, .. } = self;
            party.fetch(clock::now(), peer, *nonce, first);
            tries += 1;
            let until = clock::now() + again;
            let ran = carrier.run(party, until, &go_on, &mut |party, _| {
                if party.page(*nonce, first).is_some() { Control::Stop } else { Control::Continue }
            });
            if ran.is_err() {
                return false;
            }
            let Some(page) = party.page(*nonce, first) else { continue };
            for arrival in &page.arrivals {
                let Arrival { flow, sequence, octets, planned, sent, at } = *arrival;
                let octets = usize::try_from(octets).unwrap_or(usize::MAX);
                let event = Event::Delivered { sequence, planned, sent, octets };
                collector.record(&Record { at, flow: FlowId(flow), event });
            }
            let read = first.saturating_add(u32::try_from(page.arrivals.len()).unwrap_or(0));
            if read >= page.kept || page.arrivals.is_empty() {
                return page.is_all && read >= page.kept;
            }
            (first, tries) = (read, 0);
        }
        false
    }

    /// The sample, with what only the peer can know.
    fn sample(
        &self,
        collector: Collector,
        transport: &tp4::Counters,
        told: Told,
        (origin, seed, complete, took): (Instant, u64, bool, Duration),
    ) -> Sample {
        let scenario = &self.order.point.scenario;
        let mut flows = from_origin(collector.finish(), origin);
        match (flows.as_mut_slice(), told.counts) {
            ([flow], Some(peer)) => of_single(flow, peer, told.each, took),
            (flows, _) if !told.each => flows.iter_mut().for_each(not_known),
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
        self.party.host.add_network(&mut counts);
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
        }
    }
}

/// What the peer said of what arrived.
#[derive(Clone, Copy)]
struct Told {
    /// Its counts, if it said them.
    counts: Option<Counts>,
    /// Whether it told of each message by itself.
    each: bool,
}

/// What arrived is not known, so nothing can be said to be lost, or late unless it was answered.
fn not_known(flow: &mut FlowSample) {
    flow.lost = 0;
    flow.acknowledged_and_lost = 0;
    if flow.response.count == 0 {
        flow.missed = None;
    }
}

/// The only flow there was is what the peer counted.
fn of_single(flow: &mut FlowSample, peer: Counts, each: bool, took: Duration) {
    flow.damaged += peer.damaged;
    if !each {
        not_known(flow);
        flow.delivered = peer.delivered;
        flow.lost = flow.sent.saturating_sub(peer.delivered);
        flow.acknowledged_and_lost = flow.acknowledged.saturating_sub(peer.delivered);
        flow.duplicated = peer.duplicates;
        flow.delivered_octets = peer.octets;
    }
    if flow.throughput_bits_per_second.is_none() && took > Duration::ZERO {
        flow.throughput_bits_per_second = Some(peer.octets as f64 * 8.0 / took.as_secs_f64());
    }
}

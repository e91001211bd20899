//! The end of a session that calls, and sends the load.

use super::SessionError;
use super::local::from_origin;
use super::party::Party;
use super::way::Way;
use crate::collect::{Clocks, Collector};
use crate::layout::{Layout, collector, lay_out, patience, seed_of};
use crate::sample::{Origin, Sample};
use crate::scenario::Point;
use crate::{PROGRAM_VERSION, layout};
use core::sync::atomic::AtomicBool;
use core::time::Duration;
use live::clock;
use live::runner::{Control, Runner, Stopped};
use stack::messaging;
use stack::profile::{Framing, Host, HostParams};
use stack::rendezvous::{self, Call, Indication, Request};
use stack::tp4;
use std::collections::BTreeMap;
use wire::addr::Mac;
use wire::rendezvous::{Counts, Limits, Role, SAP, text};
use wire::time::{Instant, nanos};

/// How long a session may take to open or close, retransmissions included.
const PATIENCE: Duration = Duration::from_secs(15);

/// A load as it came out, and what the other end says of it.
#[derive(Debug)]
pub struct Measured {
    /// The sample, its flows completed from what the peer counted.
    pub sample: Sample,
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
struct Initiator<'a, 'b> {
    way: &'a mut Way,
    party: Party,
    runner: Runner,
    order: Order<'b>,
}

/// Measures one replication of a point against a responder: agrees, sends, stops, asks for counts.
///
/// # Errors
/// Where the peer is not there or refuses, or the port cannot be used. What happens once load was sent is
/// in [`Measured::failure`].
pub fn measure(way: &mut Way, order: Order<'_>) -> Result<Measured, SessionError> {
    let seed = seed_of(&order.point.scenario, order.replication);
    let Layout { places, watched } = lay_out(&order.point.scenario, seed);
    let flows = flows_of(&order, &places)?;
    // References of a process that ran before may still be frozen over there.
    let last_reference = (clock::now().as_nanos() / 1_000) as u16;
    let params = HostParams {
        address: way.addr(),
        transport: order.point.scenario.transport.params(),
        last_reference,
        accepts: true,
        saps: vec![SAP],
        framing: Framing::Ieee8023,
        messaging: order.point.scenario.has_messages().then(messaging::Params::lan),
    };
    let rendezvous = rendezvous::Params::new(None, text(crate::PROGRAM));
    let party = Party::new(Host::new(params, Vec::new()), rendezvous);
    let mut initiator = Initiator { way, party, runner: Runner::new(), order };
    let limits = initiator.open()?;
    let origin = clock::now();
    let clocks = if initiator.way.is_within_host() { Clocks::Shared } else { Clocks::Separate };
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
    initiator.way.disagree();
    collector.end_warmup();
    let transport = initiator.party.host.transport().counters().clone();
    let ((complete, peer), failure) = match counted {
        Ok(counted) => (counted, None),
        Err(failure) => ((false, Counts::default()), Some(failure)),
    };
    let known = failure.is_none().then_some(peer);
    let sample = initiator.sample(collector, &transport, known, (origin, seed, complete, took));
    Ok(Measured { sample, peer, limits, transport, took, failure })
}

/// The flows of the scenario's first station; all must go to its second.
fn flows_of(
    order: &Order<'_>,
    places: &[layout::Place],
) -> Result<Vec<stack::load::Flow>, SessionError> {
    let scenario = &order.point.scenario;
    let names: Vec<_> = places.iter().map(|place| place.name.as_str()).collect();
    let wrong = scenario.flows.iter().find(|flow| {
        names.first() != Some(&flow.from.as_str()) || names.get(1) != Some(&flow.to.as_str())
    });
    match wrong {
        Some(flow) => Err(SessionError::WrongWay(flow.name.clone())),
        None => Ok(places.first().map(|place| place.flows.clone()).unwrap_or_default()),
    }
}

impl Initiator<'_, '_> {
    /// Runs until the rendezvous has something to tell or `until`; what it has to tell.
    fn listen(&mut self, until: Instant) -> Result<Option<Indication>, SessionError> {
        let Self { way, party, runner, order } = self;
        if !party.has_told() {
            runner.run(party, &mut way.port, until, order.stop, |party, _| {
                if party.has_told() { Control::Stop } else { Control::Continue }
            })?;
        }
        Ok(party.told())
    }

    fn open(&mut self) -> Result<Limits, SessionError> {
        let now = clock::now();
        let peer = self.order.peer;
        let call = Call {
            peer,
            nonce: now.as_nanos() ^ u64::from(std::process::id()) << 40,
            role: Role::Sender,
            offered: self.way.offered(),
            least: Limits::NONE,
            purpose: text(&self.order.point.scenario.title),
        };
        self.party.request(now, Request::Open(call));
        loop {
            match self.listen(now + PATIENCE)? {
                Some(Indication::Opened { limits, .. }) => {
                    self.way.agree(limits);
                    return Ok(limits);
                }
                Some(Indication::Refused(why)) => {
                    return Err(SessionError::Refused { peer, why: why.to_string() });
                }
                Some(Indication::Lost) => return Err(SessionError::Lost(peer)),
                Some(Indication::NoAnswer) | None => return Err(SessionError::NoAnswer(peer)),
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
        let Self { way, party, runner, order } = self;
        let scenario = &order.point.scenario;
        let until = origin + scenario.stop.after.0;
        let (mut sent, mut winding_up, mut last) = (0, false, origin);
        let progress = &mut *order.progress;
        let end = until + patience(scenario);
        let stopped = runner.run(party, &mut way.port, end, order.stop, |party, now| {
            while let Some(record) = party.host.record() {
                sent += u64::from(matches!(record.event, stack::load::Event::Sent { .. }));
                last = last.max(record.at);
                collector.record(&record);
            }
            progress(sent);
            if now >= until && !winding_up {
                winding_up = true;
                party.host.wind_up(now);
            }
            let over = party.host.is_done() || party.has_told();
            if over { Control::Stop } else { Control::Continue }
        });
        let lost = matches!(party.told(), Some(Indication::Lost));
        let result = match stopped {
            Err(error) => Err(error.into()),
            Ok(_) if lost => Err(SessionError::Lost(order.peer)),
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
        let peer = self.order.peer;
        self.party.request(clock::now(), Request::Stop);
        let until = clock::now() + PATIENCE;
        // An interrupt ended the load; the peer still has to hear of it.
        let go_on = AtomicBool::new(false);
        loop {
            let Self { way, party, runner, .. } = self;
            runner.run(party, &mut way.port, until, &go_on, |party, _| {
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

    /// The sample, with what only the peer can know.
    fn sample(
        &self,
        collector: Collector,
        transport: &tp4::Counters,
        known: Option<Counts>,
        (origin, seed, complete, took): (Instant, u64, bool, Duration),
    ) -> Sample {
        let scenario = &self.order.point.scenario;
        let mut flows = from_origin(collector.finish(), origin);
        if known.is_none() {
            // What arrived is not known, so nothing can be said to be lost.
            flows.iter_mut().for_each(|flow| flow.lost = 0);
        }
        // When messages arrived one way, only the peer knows: nothing can be said of their deadlines.
        for flow in flows.iter_mut().filter(|flow| flow.response.count == 0) {
            flow.missed = None;
        }
        if let ([flow], Some(peer)) = (flows.as_mut_slice(), known) {
            flow.delivered = peer.delivered;
            flow.lost = flow.sent.saturating_sub(peer.delivered);
            flow.duplicated = peer.duplicates;
            flow.damaged += peer.damaged;
            flow.delivered_octets = peer.octets;
            flow.throughput_bits_per_second =
                (took > Duration::ZERO).then(|| peer.octets as f64 * 8.0 / took.as_secs_f64());
        }
        let peer = known.unwrap_or_default();
        let counts = [
            ("peer_delivered", peer.delivered),
            ("peer_delivered_octets", peer.octets),
            ("peer_duplicates", peer.duplicates),
            ("peer_damaged", peer.damaged),
            ("peer_frames", peer.frames),
            ("t1", transport.t1),
        ];
        let named = counts.into_iter().map(|(name, count)| (name.to_owned(), count));
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
            counts: named.collect::<BTreeMap<_, _>>(),
        }
    }
}

//! Layout of a scenario: stations with addresses and flows, for simulated and live runs alike.

use crate::collect::{Clocks, Collector, Cut, Watched};
use crate::profile::Profile;
use crate::scenario::carriage::{stations_on_tcp, tcp_of};
use crate::scenario::mms::users_of_mms;
use crate::scenario::{
    Flow, LLC_OCTETS, Medium, Scenario, Service, Start, Station, Warmup, begins,
};
use core::time::Duration;
use sim::medium::token_bus::Change;
use stack::directory::{Directory, Resolver, ResolverParams};
use stack::host::{Host, HostParams, MmsParams, Subscriptions};
use stack::llc::type3::{self, Priorities};
use stack::load::jitter::Jitter;
use stack::load::publication::{Content, Publication};
use stack::load::{self, Absence, FlowId};
use stack::messaging::{self, Priority};
use stack::tcp;
use stats::rng::Stream;
use std::collections::{BTreeMap, BTreeSet};
use wire::addr::Mac;
use wire::time::{Instant, nanos};

/// Station of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Place {
    /// Name; the background's stations are called `background-1` and so on.
    pub name: String,
    /// Parameters of its host.
    pub host: HostParams,
    /// Flows that it sends.
    pub flows: Vec<load::Flow>,
    /// Streams that it publishes or subscribes to.
    pub streams: Streams,
    /// Its server and its calls, if it takes part in flows of MMS.
    pub mms: Option<MmsParams>,
    /// Its TCP, if its connections go over that.
    pub tcp: Option<tcp::Params>,
    /// Its directory or the titles of its flows, if it has any.
    pub naming: Option<Box<Naming>>,
    /// Profile of the simulated machine that it is on.
    pub profile: Option<Profile>,
    /// Position on the bus or ring, in metres; zero on media without positions.
    pub metres: f64,
    /// Times at which its users offer nothing.
    pub absences: Vec<Absence>,
    /// True if it takes part in flows whose priority matters: of messages, or above 0.
    pub has_priorities: bool,
}

/// Streams of cyclic data of a station, and the jitter of its flows.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Streams {
    /// Streams that its flows publish.
    pub published: BTreeMap<FlowId, Publication>,
    /// Flows whose frames it takes.
    pub subscribed: BTreeSet<FlowId>,
    /// Jitter of its flows, of whatever service.
    pub jitters: BTreeMap<FlowId, Jitter>,
}

impl Streams {
    /// Gives them to a host, for a run that begins at `origin`.
    #[must_use]
    pub fn equip(self, mut host: Host, origin: Instant) -> Host {
        host.publish(beginning(self.published, origin));
        self.jitters.into_iter().for_each(|(flow, jitter)| host.deviate(flow, jitter));
        if !self.subscribed.is_empty() {
            host.subscribe(Subscriptions::These(self.subscribed));
        }
        host
    }
}

/// Streams of a run that begins at `origin`.
#[must_use]
pub fn beginning(
    mut published: BTreeMap<FlowId, Publication>,
    origin: Instant,
) -> BTreeMap<FlowId, Publication> {
    for publication in published.values_mut() {
        if let Content::Goose(goose) = &mut publication.content {
            let changes = goose.plan.changes.iter_mut();
            changes.for_each(|change| *change = origin + change.since(Instant::ZERO));
        }
    }
    published
}

/// Directory of a station, or its access to that of another.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Naming {
    directory: Option<Directory>,
    resolver: Option<ResolverParams>,
    titles: BTreeMap<FlowId, String>,
    /// Restart of the station after the beginning of a run.
    restart: Option<Duration>,
}

impl Naming {
    /// Resolver of a run that begins at `origin`.
    fn resolver(&self, origin: Instant) -> Option<Resolver> {
        let restart = self.restart.map(|restart| origin + restart);
        Some(Resolver::new(self.resolver?).restarting(restart))
    }
}

/// Gives a host the titles of all stations in a run that begins at `origin`; `peer` has the directory,
/// and is the only station that takes load.
pub fn name_all(host: &mut Host, places: &[Place], peer: Mac, origin: Instant) {
    let namings = || places.iter().filter_map(|place| place.naming.as_deref());
    let resolver = namings().find_map(|naming| naming.resolver(origin));
    let Some(mut resolver) = resolver else { return };
    resolver.params = ResolverParams { directory: peer, only: Some(peer), ..resolver.params };
    let titles = namings().flat_map(|naming| naming.titles.clone()).collect();
    host.set_titles(resolver, titles);
}

/// Adds directory and titles to a host, if it has any, for a run that begins at `origin`.
#[must_use]
pub fn equip(mut host: Host, naming: Option<Box<Naming>>, origin: Instant) -> Host {
    let Some(naming) = naming else { return host };
    let resolver = naming.resolver(origin);
    if let Some(directory) = naming.directory {
        host = host.with_directory(directory);
    }
    match resolver {
        Some(resolver) => host.with_titles(resolver, naming.titles),
        None => host,
    }
}

/// Directories and titles of the stations of a scenario, by the index of the station.
fn naming(scenario: &Scenario, places: &mut [Place], index_of: &BTreeMap<String, usize>) {
    let Some(directory) = &scenario.directory else { return };
    let Some(at) = index_of.get(&directory.station) else { return };
    let address: Vec<Mac> = places.iter().map(|place| place.host.address).collect();
    let machine = directory.machine(|name| index_of.get(name).map(|index| address[*index]));
    places[*at].naming.get_or_insert_default().directory = Some(machine);
    for (number, flow) in scenario.flows.iter().enumerate() {
        let (Some(title), Some(from)) = (&flow.title, index_of.get(&flow.from)) else { continue };
        let naming = places[*from].naming.get_or_insert_default();
        naming.resolver = Some(directory.resolver(address[*at]));
        naming.restart = directory.restart.map(|span| span.0);
        let id = FlowId(u16::try_from(number).unwrap_or(u16::MAX));
        naming.titles.insert(id, title.clone());
    }
}

/// Stations of a run, and the flows to watch.
#[derive(Clone, PartialEq, Debug)]
pub struct Layout {
    /// Stations of the scenario in its order, followed by the background's.
    pub places: Vec<Place>,
    /// Flows of the scenario; the background is not watched.
    pub watched: Vec<Watched>,
    /// Changes of stations of a token bus.
    pub changes: Vec<Change>,
}

/// Seed of a replication. It does not depend on the point, so points differ by their settings and
/// not by randomness.
#[must_use]
pub fn seed_of(scenario: &Scenario, replication: u64) -> u64 {
    Stream::named(scenario.seed, &format!("replication/{replication}")).u64()
}

/// Lays out a run of a scenario whose randomness derives from `seed`.
#[must_use]
pub fn lay_out(scenario: &Scenario, seed: u64) -> Layout {
    let stations = scenario.all_stations();
    let background = scenario.background.as_ref().map_or(0, |b| b.stations);
    let total = stations.len() + usize::try_from(background).unwrap_or(0);
    let addresses = addresses(&stations, total);
    let named = stations.iter().map(|station| {
        let machine = scenario.machine_of(station).cloned();
        (station.name.clone(), station.position, machine)
    });
    let others = (1..=background).map(|i| (format!("background-{i}"), None, None));
    let lsdu_octets = scenario.medium.most_lsdu_octets();
    let messaging = scenario.has_messages().then(|| messaging_on(&scenario.medium));
    let with_messages = taking_part(scenario, Flow::is_message);
    let with_priorities = taking_part(scenario, Flow::has_priority);
    let on_tcp = stations_on_tcp(scenario);
    let mut mms = users_of_mms(scenario);
    let mut places: Vec<Place> = named
        .chain(others)
        .zip(addresses)
        .enumerate()
        .map(|(index, ((name, position, profile), address))| Place {
            host: HostParams {
                address,
                transport: scenario.transport_on(lsdu_octets),
                network: scenario.network.params(address, lsdu_octets),
                last_reference: Stream::named(seed, &format!("station/{name}/reference"))
                    .below(0x1_0000) as u16,
                accepts: true,
                saps: Vec::new(),
                framing: scenario.medium.framing(),
                messaging: messaging.filter(|_| with_messages.contains(name.as_str())),
            },
            has_priorities: with_priorities.contains(name.as_str()),
            mms: mms.remove(name.as_str()),
            tcp: on_tcp.contains(name.as_str()).then(|| {
                let mut stream = Stream::named(seed, &format!("station/{name}/sequence"));
                tcp_of(address, stream.below(1 << 32) as u32)
            }),
            name,
            profile,
            absences: stations.get(index).map(Station::absences).unwrap_or_default(),
            flows: Vec::new(),
            streams: Streams::default(),
            naming: None,
            metres: position
                .map_or_else(|| scenario.medium.spread(index, total), |position| position.metres()),
        })
        .collect();
    let index_of: BTreeMap<String, usize> =
        stations.iter().enumerate().map(|(index, s)| (s.name.clone(), index)).collect();
    let watched = add_flows(scenario, seed, &index_of, &mut places);
    naming(scenario, &mut places, &index_of);
    add_background(scenario, seed, stations.len(), &mut places);
    Layout { places, watched, changes: changes(&stations) }
}

/// Adds the flows of the scenario to their stations; returns what is to be watched of each.
fn add_flows(
    scenario: &Scenario,
    seed: u64,
    index_of: &BTreeMap<String, usize>,
    places: &mut [Place],
) -> Vec<Watched> {
    let mut watched = Vec::new();
    for (number, flow) in scenario.flows.iter().enumerate() {
        let (Some(from), Some(to)) = (index_of.get(&flow.from), index_of.get(&flow.to)) else {
            continue;
        };
        let id = FlowId(u16::try_from(number).unwrap_or(u16::MAX));
        let messages = scenario.messages_of(flow);
        let start = begins(&places[*from].absences, start_of(flow, seed));
        let peer = places[*to].host.address;
        places[*from].flows.push(load::Flow {
            id,
            peer,
            service: flow.carrier(),
            priority: flow.priority(),
            pattern: flow.pattern.load(),
            size_octets: flow.size.octets(),
            messages,
            start: Instant::ZERO + start.unwrap_or(scenario.stop.after.0),
            seed: Stream::named(seed, &format!("flow/{}", flow.name)).u64(),
        });
        if let Some(jitter) = flow.deviations() {
            places[*from].streams.jitters.insert(id, jitter);
        }
        if let Some(publication) = flow.publication() {
            places[*from].streams.published.insert(id, publication);
            places[*to].streams.subscribed.insert(id);
        }
        watched.push(watched_of(id, flow, messages.is_some()));
    }
    watched
}

fn watched_of(id: FlowId, flow: &Flow, is_limited: bool) -> Watched {
    Watched {
        id,
        name: flow.name.clone(),
        is_answered: flow.pattern.is_answered(),
        has_stamps: flow.service != Service::Mms,
        is_timed_by_sender: flow.service == Service::File,
        is_acknowledged: flow.service == Service::Message && flow.acknowledged == Some(true),
        is_limited,
        deadline: flow.deadline.map(|span| span.0),
    }
}

/// Names of the stations that send or receive a flow of some kind.
fn taking_part(scenario: &Scenario, is_such: fn(&Flow) -> bool) -> BTreeSet<&str> {
    let flows = scenario.flows.iter().filter(|flow| is_such(flow));
    flows.flat_map(|flow| [flow.from.as_str(), flow.to.as_str()]).collect()
}

/// Start time of a flow in a run whose randomness derives from `seed`. The draw depends on the
/// flow's name alone, so it is the same at each point.
fn start_of(flow: &Flow, seed: u64) -> Duration {
    match (flow.start, flow.pattern.period()) {
        (Start::Random, Some(period)) => {
            let mut stream = Stream::named(seed, &format!("flow/{}/start", flow.name));
            Duration::from_nanos(stream.below(nanos(period)))
        }
        (start, _) => start.earliest(),
    }
}

/// Changes of these stations.
fn changes(stations: &[Station]) -> Vec<Change> {
    let of = |(station, it): (usize, &Station)| {
        it.changes().into_iter().map(move |(at, kind)| Change { at, station, kind })
    };
    stations.iter().enumerate().flat_map(of).collect()
}

/// Messaging service of a station on this medium.
fn messaging_on(medium: &Medium) -> messaging::Params {
    let lan = messaging::Params::lan();
    let octets = usize::try_from(medium.most_lsdu_octets()).unwrap_or(usize::MAX);
    let carries = medium.framing().carries_priority();
    let priorities = if carries { Priorities::Carried } else { Priorities::NotCarried };
    let link = type3::Params { information_octets: octets, priorities, ..lan.link };
    messaging::Params { link, ..lan }
}

/// Adds the background flows: each station sends to the next one, the last to the first.
fn add_background(scenario: &Scenario, seed: u64, first: usize, places: &mut [Place]) {
    let Some(background) = &scenario.background else { return };
    let Some(mean_interval) = background.mean_interval(&scenario.medium) else { return };
    let count = places.len() - first;
    for index in 0..count {
        let next = places[first + (index + 1) % count].host.address;
        let place = &mut places[first + index];
        place.flows.push(load::Flow {
            id: FlowId(u16::try_from(scenario.flows.len() + index).unwrap_or(u16::MAX)),
            peer: next,
            service: load::Service::Datagram,
            priority: Priority::LOWEST,
            pattern: load::Pattern::Poisson { mean_interval },
            size_octets: background.size.octets() - LLC_OCTETS as usize,
            messages: None,
            start: Instant::ZERO,
            seed: Stream::named(seed, &format!("flow/{}", place.name)).u64(),
        });
    }
}

/// Creates a collector for a run that began at `origin`.
#[must_use]
pub fn collector(
    scenario: &Scenario,
    watched: Vec<Watched>,
    origin: Instant,
    clocks: Clocks,
) -> Collector {
    let cut = match scenario.stop.warmup {
        Warmup::None => Cut::At(origin),
        Warmup::Fixed(span) => Cut::At(origin + span.0),
        Warmup::Mser5 => Cut::Mser5(origin),
    };
    Collector::new(watched, cut, origin + scenario.stop.after.0, clocks)
}

/// Time for which a run waits for its last messages: L, after which nothing of a connection is
/// under way, and at least the longest deadline.
#[must_use]
pub fn patience(scenario: &Scenario) -> Duration {
    let deadlines = scenario.flows.iter().filter_map(|flow| flow.deadline);
    deadlines.map(|span| span.0).fold(scenario.transport.l.0, Duration::max)
}

/// Addresses of `total` stations, of which `stations` come first: a station's own, or the local one of its
/// index. Where another station has that as its own, it is the next local one that none has.
fn addresses(stations: &[Station], total: usize) -> Vec<Mac> {
    let own: BTreeSet<Mac> = stations.iter().filter_map(|it| Some(it.address?.0)).collect();
    let mut next = total;
    let mut free = |index: usize| {
        let mut local = address(index);
        while own.contains(&local) {
            local = address(next);
            next += 1;
        }
        local
    };
    let own_of = |index: usize| stations.get(index).and_then(|it| it.address);
    (0..total).map(|index| own_of(index).map_or_else(|| free(index), |own| own.0)).collect()
}

/// Local address of a station by its index in the layout.
#[must_use]
pub fn address(index: usize) -> Mac {
    Mac::local(u32::try_from(index + 1).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{scenario, scenarios};

    fn layout(settings: &str) -> (Scenario, Layout) {
        let text = scenarios::get("status-csma").unwrap().text;
        let setting = scenario::Setting {
            path: "background.load".to_owned(),
            values: scenario::Values::List(vec![settings.to_owned()]),
        };
        let study = scenario::load_with(text, "a.toml", &[setting]).unwrap();
        let scenario = study.scenario().clone();
        let layout = lay_out(&scenario, seed_of(&scenario, 0));
        (scenario, layout)
    }

    #[test]
    fn no_station_has_the_address_of_another() {
        let study = scenario::load(scenarios::get("status-csma").unwrap().text, "a.toml").unwrap();
        let mut stations = study.scenario().all_stations();
        stations = [0, 1, 0, 1].map(|index: usize| stations[index].clone()).to_vec();
        stations[0].address = Some(scenario::Address(Mac::local(2)));
        stations[2].address = Some(scenario::Address(Mac::local(5)));
        assert_eq!(addresses(&stations, 5), [2, 6, 5, 4, 7].map(Mac::local));
    }

    #[test]
    fn stations_are_spread_over_the_bus_and_send_their_flows() {
        let (_, layout) = layout("50 %");
        let metres: Vec<f64> = layout.places.iter().map(|place| place.metres).collect();
        // Twelve stations on 500 m: 11 gaps of 45.45 m.
        assert_eq!(metres.len(), 12);
        assert!(metres.windows(2).all(|pair| (pair[1] - pair[0] - 500.0 / 11.0).abs() < 1e-9));
        assert_eq!(layout.places[0].flows[0].peer, address(1));
        assert_eq!(layout.places[11].flows[0].peer, address(2), "the last sends to the first");
        assert!(layout.places[1].flows.is_empty());
        // 218-octet frames at 50 %: see the scenario's test.
        let interval = load::Pattern::Poisson { mean_interval: Duration::from_micros(3_488) };
        assert_eq!(layout.places[5].flows[0].pattern, interval);
        assert_eq!(layout.places[5].flows[0].size_octets, 197);
        assert_eq!(layout.watched.len(), 1);
    }

    #[test]
    fn no_load_leaves_the_background_silent_and_chance_as_it_was() {
        let (_, quiet) = layout("0 %");
        let (_, busy) = layout("50 %");
        assert!(quiet.places[2..].iter().all(|place| place.flows.is_empty()));
        assert_eq!(quiet.places[0], busy.places[0]);
    }

    #[test]
    fn replications_have_seeds_of_their_own() {
        let (scenario, _) = layout("0 %");
        assert_ne!(seed_of(&scenario, 0), seed_of(&scenario, 1));
        assert_eq!(seed_of(&scenario, 1), seed_of(&scenario, 1));
    }
}

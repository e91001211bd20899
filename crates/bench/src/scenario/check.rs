//! Checks that need more than one key: names that must exist, sizes that must fit, loads that must
//! not exceed the medium.

use super::groups::{MOST_FLOWS, MOST_STATIONS, means};
use super::names::{wrong_name, wrong_title};
use super::network::LONGEST_LIFETIME;
use super::problem::{MOST_ADVISED, Problem, meant};
use super::{
    Background, Flow, LLC_OCTETS, MOST_REPLICATIONS, Protocol, Scenario, Service, Share, Size,
    Span, Start, Subject, Warmup, architecture, carriage, costs, directory, feasible, file, jitter,
    lockstep, published, ring_membership, servers,
};
use crate::medium::Site;
use crate::profile::Profile;
use core::time::Duration;
use stack::host::MESSAGE_FLOWS;
use stack::llc::type3;
use stack::load::LEAST_OCTETS;
use stack::profile::Framing;
use std::collections::{BTreeMap, BTreeSet};
use wire::crc16::CHECK_OCTETS;
use wire::time::nanos;

/// The most octets of a message: the longest answer that a stamp can request.
const LONGEST_REPLY_OCTETS: u64 = 65_534;
/// The smallest NSDU: the smallest TPDU (ISO 8073 13.3.4 b).
const LEAST_NSDU_OCTETS: u64 = 128;
/// The highest priority of a flow.
const HIGHEST_PRIORITY: u64 = 7;
/// The longest message over a connection.
const LONGEST_MESSAGE_OCTETS: u64 = 1 << 30;

/// Returns every problem of a scenario, each at the path of its key (`flow.0.size`). The machines that its
/// stations name are in [`Scenario::machines`]; a scenario that can run has no problem that is an
/// error.
#[must_use]
pub fn check(scenario: &Scenario) -> Vec<Problem<String>> {
    let (problems, nearest, sent_by) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    let mut checker = Checker { scenario, problems, nearest, sent_by };
    checker.run();
    checker.stations();
    for (index, flow) in scenario.flows.iter().enumerate() {
        checker.flow(index, flow);
    }
    checker.transport();
    checker.network();
    checker.faults();
    checker.medium();
    if let Some(background) = &scenario.background {
        checker.background(background);
    }
    checker.requirements();
    let mut problems = checker.problems;
    ring_membership::check(scenario, &mut problems);
    feasible::check(scenario, &mut problems);
    architecture::check(scenario, &mut problems);
    directory::check(scenario, &mut problems);
    file::check(scenario, &mut problems);
    published::check(scenario, &mut problems);
    carriage::check(scenario, &mut problems);
    servers::check(scenario, &mut problems);
    costs::check(scenario, &mut problems);
    lockstep::check(scenario, &mut problems);
    problems
}

struct Checker<'a> {
    scenario: &'a Scenario,
    problems: Vec<Problem<String>>,
    /// Station that each unknown one was probably meant to be: flows of a group name the same.
    nearest: BTreeMap<String, Option<String>>,
    /// Flows of the messaging service so far, by their sender.
    sent_by: BTreeMap<&'a str, usize>,
}

impl<'a> Checker<'a> {
    fn error(&mut self, path: &str, message: impl Into<String>) {
        self.problems.push(Problem::error(path, message));
    }

    fn above_zero(&mut self, path: &str, amount: u64) {
        if amount == 0 {
            self.error(path, format!("`{}` must be more than zero", last_part(path)));
        }
    }

    fn run(&mut self) {
        let scenario = self.scenario;
        self.above_zero("replications", scenario.replications);
        if scenario.replications > MOST_REPLICATIONS {
            let message = format!("more than {MOST_REPLICATIONS} runs of a point");
            self.error("replications", message);
        }
        let background = scenario.background.as_ref().map_or(0, |b| b.stations);
        let flows = background.saturating_add(scenario.flows.len() as u64);
        if flows > MOST_FLOWS {
            self.error("flow", format!("{flows} flows are more than {MOST_FLOWS}"));
        }
        self.above_zero("stop.after", nanos(scenario.stop.after.0));
        self.above_zero("stop.messages", scenario.stop.messages.unwrap_or(1));
        if let Warmup::Fixed(span) = scenario.stop.warmup
            && span >= scenario.stop.after
        {
            let message = format!("the warm-up leaves nothing of a run of {}", scenario.stop.after);
            self.error("stop.warmup", message);
        }
        if scenario.flows.is_empty() {
            let problem = Problem::error("flow", "there is no flow to judge");
            self.problems.push(problem.help("add a table under [[flow]]"));
        }
    }

    fn stations(&mut self) {
        let scenario = self.scenario;
        let background = scenario.background.as_ref().map_or(0, |b| b.stations);
        let grouped = scenario.stations.as_ref().map_or(0, |group| group.count);
        let all = grouped.saturating_add(background) + scenario.named_stations.len() as u64;
        if all > MOST_STATIONS {
            let message = format!("{all} stations are more than {MOST_STATIONS}");
            let path = if grouped > background { "stations.count" } else { "background.stations" };
            self.error(path, message);
        }
        if scenario.named_stations.is_empty() && grouped == 0 {
            let path = if scenario.stations.is_some() { "stations.count" } else { "flow" };
            let problem = Problem::error(path, "there are no stations");
            self.problems.push(problem.help("add [[station]] tables, or [stations] with a count"));
            return;
        }
        let (mut names, mut addresses) = (BTreeSet::new(), BTreeMap::new());
        let numbered = (1..=grouped.min(MOST_STATIONS)).filter_map(|i| {
            scenario.stations.as_ref().map(|group| format!("{}-{i}", group.prefix))
        });
        names.extend(numbered);
        for (index, station) in scenario.named_stations.iter().enumerate() {
            let path = format!("station.{index}.name");
            self.named(&path, &station.name);
            if station.name.is_empty() {
                self.error(&path, "a station needs a name");
            } else if !names.insert(station.name.clone()) {
                self.error(&path, format!("there are two stations \"{}\"", station.name));
            }
            if let Some(address) = station.address
                && let Some(other) = addresses.insert(address.0, &station.name)
            {
                let message = format!("{} is the address of station \"{other}\"", address.0);
                self.error(&format!("station.{index}.address"), message);
            }
            if let Some((length, medium)) = scenario.medium.length()
                && station.position.is_some_and(|position| position > length)
            {
                let path = format!("station.{index}.position");
                self.error(&path, format!("the {medium} is only {length} long"));
            }
        }
        if let Some(group) = &scenario.stations {
            self.named("stations.prefix", &group.prefix);
        }
        if let Some(message) = wrong_title(&scenario.title) {
            self.error("title", message);
        }
        let mut flow_names = BTreeSet::new();
        for (index, flow) in scenario.flows.iter().enumerate() {
            self.named(&format!("flow.{index}.name"), &flow.name);
            for (key, station) in [("from", &flow.from), ("to", &flow.to)] {
                if !names.contains(station) {
                    self.unknown_station(&format!("flow.{index}.{key}"), station, &names);
                }
            }
            if !flow_names.insert(&flow.name) {
                let message = format!("there are two flows \"{}\"", flow.name);
                self.error(&format!("flow.{index}.name"), message);
            }
        }
    }

    fn named(&mut self, path: &str, name: &str) {
        if let Some(message) = wrong_name(name) {
            self.error(path, message);
        }
    }

    fn unknown_station(&mut self, path: &str, station: &str, names: &BTreeSet<String>) {
        // Each name is compared with every station.
        if self.problems.len() >= MOST_ADVISED {
            return self.error(path, format!("unknown station \"{station}\""));
        }
        let problem = Problem::error(path, format!("unknown station \"{station}\""));
        let shown: Vec<String> = names.iter().take(8).map(|name| format!("\"{name}\"")).collect();
        let more = if names.len() > 8 { ", ..." } else { "" };
        let problem = problem.label(format!("the stations are {}{more}", shown.join(", ")));
        let search = || meant(station, names.iter().map(String::as_str)).map(str::to_owned);
        let nearest = self.nearest.entry(station.to_owned()).or_insert_with(search);
        self.problems.push(match nearest {
            Some(name) => problem.help(format!("did you mean \"{name}\"?")),
            None => problem,
        });
    }

    fn flow(&mut self, index: usize, flow: &'a Flow) {
        let path = |key: &str| format!("flow.{index}.{key}");
        if let Some(group) = &flow.group {
            self.named(&path("group"), group);
        }
        if flow.stagger.is_some() {
            let message = "only a group of flows has `stagger`: one whose `from` or `to` has `*`";
            self.error(&path("stagger"), message);
        }
        if flow.name.is_empty() {
            self.error(&path("name"), "a flow needs a name");
        }
        if flow.from == flow.to {
            self.error(&path("to"), format!("\"{}\" sends to itself", flow.from));
        }
        self.message_size(&path("size"), flow.size, flow.service, LONGEST_MESSAGE_OCTETS);
        self.message(index, flow);
        self.above_zero(&path("messages"), flow.messages.unwrap_or(1));
        self.above_zero(&path("deadline"), flow.deadline.map_or(1, |span| nanos(span.0)));
        if flow.start.earliest() >= self.scenario.stop.after.0 {
            let message = format!("the run ends after {}", self.scenario.stop.after);
            self.error(&path("start"), message);
        }
        if flow.start == Start::Random && flow.pattern.period().is_none() {
            let message = "a flow of this pattern has no period in which to start at random";
            let problem = Problem::error(path("start"), message);
            self.problems
                .push(problem.help("patterns with a period: cyclic, constant-rate-request"));
        }
        self.jitter(&path("jitter"), flow);
        if self.scenario.messages_of(flow).is_some_and(|count| count > u64::from(u32::MAX)) {
            self.error(&path("pattern"), format!("more than {} messages", u32::MAX));
        }
        for (key, amount) in flow.pattern.amounts() {
            self.above_zero(&path(&format!("pattern.{key}")), amount);
        }
        if let Some(period) = flow.pattern.period() {
            self.fits_into_the_run(index, flow, period);
        }
        if let Some(reply) = flow.pattern.reply() {
            let place = path("pattern.reply");
            self.message_size(&place, reply, flow.service, LONGEST_REPLY_OCTETS);
        }
        if flow.pattern.total().is_some() && flow.messages.is_some() {
            let message = "`total` and `messages` both say how much is sent";
            self.error(&path("messages"), message);
        }
    }

    /// Reports a jitter that the pattern of its flow cannot have.
    fn jitter(&mut self, place: &str, flow: &Flow) {
        if flow.jitter.is_empty() {
            return;
        }
        let complaint = match flow.pattern.period() {
            Some(period) => jitter::complaint(&flow.jitter, period),
            None => Some([
                "intervals of this pattern have no jitter",
                "patterns with a period: cyclic, constant-rate-request",
            ]),
        };
        if let Some([message, help]) = complaint {
            self.problems.push(Problem::error(place.to_owned(), message).help(help));
        }
    }

    /// Warns of messages that a limit counts but that will never be due.
    fn fits_into_the_run(&mut self, index: usize, flow: &Flow, period: Duration) {
        let after = self.scenario.stop.after;
        let Some(messages) = self.scenario.messages_of(flow) else { return };
        let time = nanos(after.0).saturating_sub(nanos(flow.start.earliest()));
        let due = time.div_ceil(nanos(period).max(1));
        if due < messages {
            let path = format!("flow.{index}.messages");
            let message = format!("only {due} of {messages} messages are due before {after}");
            let problem = Problem::warning(path, message);
            self.problems.push(problem.help("the run ends with `stop.after`"));
        }
    }

    /// Checks priorities, and the keys that only the messaging service has.
    fn message(&mut self, index: usize, flow: &'a Flow) {
        let path = |key: &str| format!("flow.{index}.{key}");
        if flow.priority.is_some_and(|priority| priority > HIGHEST_PRIORITY) {
            self.error(&path("priority"), format!("priorities are from 0 to {HIGHEST_PRIORITY}"));
        }
        if !flow.is_message() {
            return;
        }
        let most = u64::from(type3::Params::lan().transmissions) - 1;
        if flow.retries.is_some_and(|retries| retries > most) {
            self.error(&path("retries"), format!("a message is sent again at most {most} times"));
        }
        self.above_zero(&path("timeout"), flow.timeout.map_or(1, |span| nanos(span.0)));
        if flow.pattern.is_answered() {
            let problem =
                Problem::error(path("pattern"), "messages of this service are not answered");
            self.problems.push(problem.help("class-4 and datagram carry requests"));
        }
        let most = self.scenario.medium.most_lsdu_octets() - CHECK_OCTETS as u64;
        if flow.crc == Some(true) && flow.size.0 > most {
            let message = format!("a message of this service with CRC has at most {most} B");
            self.error(&path("size"), message);
        }
        let sent = self.sent_by.entry(&flow.from).or_default();
        *sent += 1;
        if *sent > MESSAGE_FLOWS {
            let message = format!("a station sends at most {MESSAGE_FLOWS} flows of messages");
            self.error(&path("from"), message);
        }
    }

    fn message_size(&mut self, path: &str, size: Size, service: Service, most: u64) {
        let least = LEAST_OCTETS as u64;
        let most = match service {
            Service::Class4 | Service::File => most,
            Service::Case => most.min(wire::case::LONGEST as u64),
            // Its encoder makes no other; those of streams are checked with their names.
            Service::Mms | Service::Goose | Service::SampledValues | Service::Cyclic => return,
            Service::Datagram | Service::Message => self.scenario.medium.most_lsdu_octets(),
        };
        if size.0 < least {
            let problem = Problem::error(path, format!("a message has at least {least} B"));
            self.problems.push(problem.help("each begins with a stamp that identifies it"));
        } else if size.0 > most {
            self.error(path, format!("a message of this service has at most {most} B"));
        }
    }

    fn transport(&mut self) {
        let transport = &self.scenario.transport;
        let tpdu = transport.tpdu.0;
        let lsdu_octets = self.scenario.medium.most_lsdu_octets();
        // A shorter NSDU limits TPDUs, whatever the peers agree on.
        let most = self.scenario.network.nsdu_octets(lsdu_octets);
        if !tpdu.is_power_of_two() || !(128..=8_192).contains(&tpdu) {
            self.error("transport.tpdu", "a TPDU has 128, 256, 512, 1024, 2048, 4096 or 8192 B");
        } else if tpdu > most {
            let message = format!("a TPDU of {tpdu} B does not fit into a frame of the LAN");
            let problem = Problem::error("transport.tpdu", message);
            let help = "network = { protocol = \"clnp\" } cuts it into segments";
            self.problems.push(problem.help(help));
        }
        if transport.nsdu.is_some_and(|nsdu| !(LEAST_NSDU_OCTETS..=most).contains(&nsdu.0)) {
            let message = format!("an NSDU has from {LEAST_NSDU_OCTETS} to {most} B here");
            self.error("transport.nsdu", message);
        }
        let most = if transport.extended { u64::from(u16::MAX) } else { 15 };
        if !(1..=most).contains(&transport.window) {
            self.error(
                "transport.window",
                format!("the window is from 1 to {most} in this format"),
            );
        }
        self.memory();
        self.above_zero("transport.n", transport.n);
        self.above_zero("transport.acknowledge-every", transport.acknowledge_every);
        for (key, number) in
            [("n", transport.n), ("acknowledge-every", transport.acknowledge_every)]
        {
            if number > u64::from(u16::MAX) {
                self.error(&format!("transport.{key}"), format!("at most {}", u16::MAX));
            }
        }
        for (key, span) in [("t1", transport.t1), ("w", transport.w), ("i", transport.i)] {
            self.above_zero(&format!("transport.{key}"), nanos(span.0));
        }
        if transport.w >= transport.i && transport.i != Span(Duration::ZERO) {
            let message = "W must be shorter than I, or idle connections are given up";
            self.error("transport.w", message);
        }
    }

    /// Rejects machines whose memory holds no TPDU: none of their connections would ever have credit.
    fn memory(&mut self) {
        let scenario = self.scenario;
        let tpdu = scenario.transport.tpdu;
        if !scenario.flows.iter().any(|flow| flow.service.is_connected()) {
            return;
        }
        for (name, path) in scenario.profile_keys() {
            let machine = scenario.machines.get(name);
            let Some(octets) = machine.and_then(Profile::memory_octets) else { continue };
            if (octets as u64) < tpdu.0 {
                let message = format!("a memory of {octets} B holds no TPDU of {tpdu}");
                let problem = Problem::error(path, message);
                self.problems.push(problem.help("`memory` of the profile, or transport.tpdu"));
            }
        }
    }

    fn network(&mut self) {
        let scenario = self.scenario;
        let lifetime = scenario.network.lifetime;
        self.above_zero("network.lifetime", nanos(lifetime.0));
        if lifetime.0 > LONGEST_LIFETIME {
            let message = format!("a PDU lives at most {}", Span(LONGEST_LIFETIME));
            self.error("network.lifetime", message);
        }
        let (life, m) = (Span(scenario.network.life()), scenario.transport.m);
        if scenario.network.protocol == Protocol::Clnp && life > m {
            let message = format!("a PDU may live for {life}, and M is only {m}");
            let problem = Problem::warning("network.lifetime", message);
            let help = "an NSDU that outlives `transport.m` can be taken for a later one";
            self.problems.push(problem.help(help));
        }
    }

    fn faults(&mut self) {
        let faults = &self.scenario.faults;
        if !(1..=255).contains(&faults.damage_bits) {
            self.error("faults.damage-bits", "from 1 to 255 bits can be changed");
            return;
        }
        if let Err(invalid) = faults.plan(self.scenario.transport.m.0).check() {
            let problem = Problem::error("faults", invalid.to_string());
            self.problems.push(problem.help("the longest life of a frame is `transport.m`"));
        }
    }

    fn medium(&mut self) {
        let scenario = self.scenario;
        self.answer_at_once();
        let site = Site {
            positions_metres: vec![0.0; self.station_count()],
            seed: scenario.seed,
            changes: Vec::new(),
        };
        let mut problems = Vec::new();
        scenario.medium.check(&site, &mut problems);
        for problem in problems {
            let is_of_stations = problem.place == "stations.count";
            let place =
                if is_of_stations { self.stations_key().to_owned() } else { problem.place.clone() };
            self.problems.push(problem.moved(place));
        }
    }

    /// The key that most stations come from.
    fn stations_key(&self) -> &'static str {
        let background = self.scenario.background.as_ref().map_or(0, |b| b.stations);
        match self.scenario.stations.as_ref().map_or(0, |group| group.count) {
            grouped if background > grouped => "background.stations",
            0 => "station",
            _ => "stations.count",
        }
    }

    /// The number of stations, those of the background included.
    fn station_count(&self) -> usize {
        let scenario = self.scenario;
        let background = scenario.background.as_ref().map_or(0, |b| b.stations);
        let grouped = scenario.stations.as_ref().map_or(0, |group| group.count);
        let all = background.saturating_add(grouped).min(MOST_STATIONS) as usize;
        all + scenario.named_stations.len()
    }

    /// Rejects stations on machines: they are too slow for an immediate response.
    fn answer_at_once(&mut self) {
        let scenario = self.scenario;
        if scenario.medium.framing() != Framing::Ieee8024Responding {
            return;
        }
        for (name, path) in scenario.profile_keys() {
            if scenario.machines.get(name).is_none_or(Profile::is_ideal) {
                continue;
            }
            let message = "a station on a machine does not answer within two slot times";
            let problem = Problem::error(path, message);
            let help = "leave `request-with-response` or the profile out";
            self.problems.push(problem.help(help));
        }
    }

    fn background(&mut self, background: &Background) {
        let least = LEAST_OCTETS as u64 + LLC_OCTETS;
        let most = self.scenario.medium.most_data_octets();
        if !(least..=most).contains(&background.size.0) {
            let message = format!("a packet has from {least} to {most} B");
            self.error("background.size", message);
        }
        if background.load > Share::WHOLE {
            self.error("background.load", "a share is at most 100 %");
        }
        if background.load > Share(0) && background.stations < 2 {
            let message = "a background load needs at least two stations, which send to each other";
            self.error("background.stations", message);
        }
    }

    /// Checks that each requirement names an existing flow, and a quantity that this flow has.
    fn requirements(&mut self) {
        for (index, requirement) in self.scenario.require.iter().enumerate() {
            let Some(name) = &requirement.flow else { continue };
            let path = format!("require.{index}");
            let flows = self.scenario.flows.iter();
            let mut flows =
                flows.filter(|flow| means(name, &flow.name, flow.group.as_deref())).peekable();
            if flows.peek().is_none() {
                self.error(&path, format!("there is no flow \"{name}\""));
            } else if requirement.subject == Subject::Miss
                && flows.all(|flow| flow.deadline.is_none())
            {
                self.error(&path, format!("flow \"{name}\" has no deadline to miss"));
            }
        }
    }
}

fn last_part(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

//! A scenario of what was watched: each stream of cyclic data and each poller as a flow, to be simulated.
//!
//! ```text
//! stream of cyclic data ─ its period, longest frame, priority, time allowed ─┐
//! connection that polls ─ requests in its life, mean request and reply ──────┴─ [[flow]]
//! ```
//!
//! A flow of a stream has frames of the same length as those seen. Links and switches do not show in frames: the scenario
//! has one switch, for the user to change. Frames to a group go to one station, whose port carries all of them, as each
//! port of a switch does that does not filter groups.

use crate::cyclic::CyclicStream;
use crate::ends::end_name;
use crate::item::Item;
use crate::quantity::{counted, span};
use bench::scenario::Span;
use core::time::Duration;
use meter::Connection;
use std::collections::{BTreeMap, BTreeSet};
use wire::printable::Printable;

/// Most flows of a scenario; what is beyond them is counted.
const MOST_FLOWS: usize = 1_000;
/// Octets of a datagram's frame on switches that are not its message: MAC addresses, tag, length, and LLC.
const HEADER_OCTETS: u64 = 21;
/// Octets of the stamp that each message carries.
const STAMP_OCTETS: u64 = 16;
/// Longest message in one frame.
const MOST_OCTETS: u64 = 1_497;
/// Requests from which a connection polls.
const POLLS: u64 = 5;
/// Station that stands for all members of groups.
const SUBSCRIBERS: &str = "subscribers";
/// Rates of links, in Mbit/s.
const RATES: [u64; 3] = [100, 1_000, 10_000];

/// A connection whose requests are answered, one for one.
struct Poller {
    ends: [String; 2],
    user: String,
    requests: u64,
    period_ns: u64,
    request_octets: u64,
    reply_octets: u64,
}

/// Collects what a scenario is made of.
#[derive(Default)]
pub struct Plant {
    streams: Vec<CyclicStream>,
    pollers: Vec<Poller>,
    left_out: u64,
}

impl Plant {
    /// Takes an item of the whole measurement; others are ignored.
    pub fn take(&mut self, item: &Item) {
        let is_full = self.streams.len() + self.pollers.len() >= MOST_FLOWS;
        match item {
            Item::CyclicStream(of) if of.report.gaps.count > 0 => {
                let stream = CyclicStream::of(&of.report, of.until, of.has_names);
                if is_full {
                    self.left_out += 1;
                } else {
                    self.streams.push(stream);
                }
            }
            Item::Connection(connection) => match Poller::of(connection) {
                Some(_) if is_full => self.left_out += 1,
                Some(poller) => self.pollers.push(poller),
                None => {}
            },
            _ => {}
        }
    }

    /// The scenario as a file; none where nothing was periodic. `source` names what was watched.
    #[must_use]
    pub fn scenario(&self, source: &str) -> Option<String> {
        if self.streams.is_empty() && self.pollers.is_empty() {
            return None;
        }
        let mut flows = Flows::default();
        self.streams.iter().for_each(|stream| flows.stream(stream));
        self.pollers.iter().for_each(|poller| flows.poller(poller));
        let mut text = self.head(source, &flows);
        for station in &flows.stations {
            text += &format!("\n[[station]]\nname = {}\n", quoted(station));
        }
        text += &flows.text;
        Some(text)
    }

    fn head(&self, source: &str, flows: &Flows) -> String {
        let counts = [(self.streams.len(), "stream"), (self.pollers.len(), "poller")];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let counts: Vec<_> = counts.map(|(count, what)| counted(count as u64, what)).collect();
        let counts = counts.join(" and ");
        let mut text = format!(
            "# {counts}, as seen in {}. A stream is one of cyclic data.\n\
             # Not seen, and assumed: the links and switches of `medium`. Comments have what was measured.\n",
            Printable(source)
        );
        if self.left_out > 0 {
            let left_out = self.left_out;
            text += &format!(
                "# Beyond {MOST_FLOWS} flows, {left_out} streams and pollers are left out.\n"
            );
        }
        if flows.stations.contains(SUBSCRIBERS) {
            text += "# The station \"subscribers\" gets all frames to groups, as each port of a switch that does not filter them.\n";
        }
        // Twenty of the longest period, so that each flow has a spread.
        let after = (flows.longest_ns / 1_000_000_000 + 1).saturating_mul(20).clamp(1, 60);
        let after = if flows.longest_ns < 50_000_000 { 1 } else { after };
        let twice = flows.bits_per_second * 2.0 / 1e6;
        let rate = RATES.into_iter().find(|rate| twice < *rate as f64).unwrap_or(RATES[2]);
        text += &format!(
            "version = 1\ntitle = \"{counts}, as watched\"\nseed = 1\nreplications = 10\n\
             stop = {{ after = \"{after} s\", warmup = \"none\" }}\n\
             medium = {{ kind = \"switched\", rate = \"{rate} Mbit/s\", length = \"100 m\", switches = 1, latency = \"5 us\" }}\n"
        );
        text
    }
}

impl Poller {
    /// A poller, if requests and replies of a connection are about as many.
    fn of(connection: &Connection) -> Option<Self> {
        let [requests, replies] = connection.directions.each_ref().map(|of| of.tsdus);
        let is_answered = requests >= POLLS && replies <= 2 * requests && requests <= 2 * replies;
        let begun = connection.history.iter().flatten().min().copied();
        let life = connection.last.since(begun?);
        let period_ns = u64::try_from(life.as_nanos()).ok()? / requests.max(1);
        let octets = |side: usize| {
            let of = connection.directions.get(side)?;
            Some(of.tsdu_octets / of.tsdus.max(1))
        };
        let (request_octets, reply_octets) = (octets(0)?, octets(1)?);
        let [(calling, _), (called, _)] = connection.ends;
        // Programs of one host are stations that have the ports, too.
        let ends = connection.ends.map(|(address, port)| match calling == called {
            true => end_name(address, port),
            false => address.to_string(),
        });
        let user = connection.user.name().to_owned();
        let poller = Self { ends, user, requests, period_ns, request_octets, reply_octets };
        (is_answered && period_ns > 0).then_some(poller)
    }
}

/// Flows of a scenario in the making.
#[derive(Default)]
struct Flows {
    text: String,
    stations: BTreeSet<String>,
    /// How often each name was given.
    names: BTreeMap<String, u64>,
    longest_ns: u64,
    bits_per_second: f64,
}

impl Flows {
    fn stream(&mut self, stream: &CyclicStream) {
        let mean_ns = stream.gap_total_ns / stream.gaps.max(1);
        let period_ns = stream.period_ns.unwrap_or(mean_ns).max(1_000);
        let protocol = stream.protocol.to_lowercase().replace(' ', "-");
        let name = self.name(&format!("{protocol}-{:04x}", stream.identifier));
        let message = stream.longest_octets.saturating_sub(HEADER_OCTETS);
        let message = message.clamp(STAMP_OCTETS, MOST_OCTETS);
        self.carries(period_ns, stream.longest_octets);
        let mut about = format!(
            "{} in {}, {} missing",
            counted(stream.frames, "frame"),
            span(stream.last_ns.saturating_sub(stream.first_ns)),
            stream.missing
        );
        match (stream.period_ns, stream.late_max_ns) {
            (None, _) => about += "; sent anew at growing intervals, of which this is the mean",
            (Some(_), Some(late)) => {
                let early = span(stream.early_max_ns.unwrap_or_default());
                about += &format!("; at most {} late, {early} early", span(late));
            }
            (Some(_), None) => {}
        }
        if let Some(vlan) = stream.vlan {
            about += &format!("; VLAN {vlan}");
        }
        if let Some(name) = &stream.name {
            about += &format!("; {}", Printable(&crate::shortened(name, 64)));
        }
        let to = if is_group(&stream.destination) { SUBSCRIBERS } else { &stream.destination };
        self.flow(&about, &name, [&stream.source, to]);
        self.text +=
            &format!("service = \"datagram\"\npriority = {}\n", stream.priority.unwrap_or(0));
        self.text +=
            &format!("pattern = {{ kind = \"cyclic\", period = \"{}\" }}\n", of_nanos(period_ns));
        self.text += &format!("size = \"{message} B\"\n");
        if stream.allowed_ns > 0 {
            // Subscribers take the publisher for lost after this time.
            self.text += &format!("deadline = \"{}\"\n", of_nanos(stream.allowed_ns));
        }
    }

    fn poller(&mut self, poller: &Poller) {
        let Poller { ends: [from, to], user, requests, period_ns, .. } = poller;
        let name = self.name(&format!("poll-{to}"));
        let octets = [poller.request_octets, poller.reply_octets].map(|it| it.max(STAMP_OCTETS));
        self.carries(*period_ns, octets[0] + octets[1]);
        let about =
            format!("{}: {} over class 4 here", counted(*requests, "request"), Printable(user));
        self.flow(&about, &name, [from, to]);
        let ([request, reply], period) = (octets, of_nanos(*period_ns));
        self.text += &format!(
            "service = \"class-4\"\n\
             pattern = {{ kind = \"constant-rate-request\", period = \"{period}\", reply = \"{reply} B\" }}\n\
             size = \"{request} B\"\nstart = \"random\"\n"
        );
    }

    fn flow(&mut self, about: &str, name: &str, [from, to]: [&str; 2]) {
        self.stations.extend([from.to_owned(), to.to_owned()]);
        let [name, from, to] = [name, from, to].map(quoted);
        self.text += &format!("\n# {about}\n[[flow]]\nname = {name}\nfrom = {from}\nto = {to}\n");
    }

    /// A name that no flow has yet.
    fn name(&mut self, name: &str) -> String {
        let times = self.names.entry(name.to_owned()).or_default();
        *times += 1;
        if *times == 1 { name.to_owned() } else { format!("{name}-{times}") }
    }

    fn carries(&mut self, period_ns: u64, octets: u64) {
        self.longest_ns = self.longest_ns.max(period_ns);
        self.bits_per_second += octets as f64 * 8e9 / period_ns as f64;
    }
}

/// True for a group address, as text.
fn is_group(address: &str) -> bool {
    let first = address.get(..2).and_then(|octet| u8::from_str_radix(octet, 16).ok());
    first.is_some_and(|octet| octet & 1 == 1)
}

/// A span as scenarios state it.
fn of_nanos(nanos: u64) -> Span {
    Span(Duration::from_nanos(nanos))
}

/// A name as a string of TOML. Names are made of addresses and words, without characters that it has to escape.
fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

//! A scenario of what was watched: each stream of cyclic data and each poller as a flow, to be simulated.
//!
//! ```text
//! stream of cyclic data ─ its identity, period, frames, time allowed ────┐
//! client that polls ─ its requests, period, jitter, mean request, reply ─┴─ [[flow]]
//! ```
//!
//! Links and switches do not show in frames: the scenario has one switch, for the user to change. Frames to a group go to one station, whose port carries all of them, as each
//! port of a switch does that does not filter groups.

mod pollers;
mod streams;

use crate::cyclic::CyclicStream;
use crate::item::Item;
use crate::quantity::{counted, span};
use bench::scenario::{Flow, JitterQuantile, Pattern, Share, Span};
use core::net::{IpAddr, Ipv4Addr};
use core::time::Duration;
use meter::{DeviationQuantile, Protocol};
use pollers::Poller;
pub(crate) use pollers::function_flow;
use std::collections::{BTreeMap, BTreeSet};
use streams::Watched;
pub(crate) use streams::{MOST_SAMPLES, MOST_VLAN, decimal, is_visible, of_nanos};
use wire::addr::Mac;
use wire::printable::Printable;

/// Most flows of a scenario; what is beyond them is counted.
pub(crate) const MOST_FLOWS: usize = 1_000;
/// Octets of the stamp that each message carries.
pub(crate) const STAMP_OCTETS: u64 = 16;
/// Longest name of the flow of a stream, in characters: a number fits behind it.
const LONGEST_FLOW: usize = 56;
/// Station that stands for all members of groups.
pub(crate) const SUBSCRIBERS: &str = "subscribers";
/// Rates of links, in Mbit/s.
const RATES: [u64; 3] = [100, 1_000, 10_000];

/// Longest run of connections that poll alone.
pub(crate) const LONGEST_RUN: Duration = Duration::from_secs(60);
/// Most frames of a run that lasts as long as what was watched.
const MOST_FRAMES: u64 = 2_000_000;

/// Time in which streams, and requests at functions of servers, were seen.
struct Seen {
    /// Time of the first frame or request.
    origin_ns: u64,
    /// Length of the run.
    after: Duration,
    /// True if the run has all frames that were sent.
    is_whole: bool,
}

impl Seen {
    fn of(streams: &[Watched], pollers: &[Poller]) -> Self {
        let asked = || pollers.iter().filter_map(|poller| poller.asked.as_ref());
        let first = streams.iter().map(|it| it.stream.first_ns);
        let first = first.chain(asked().map(|it| it.first_ns));
        let last = streams.iter().map(Watched::end_ns).chain(asked().map(|it| it.last_ns));
        let (origin_ns, last_ns) =
            (first.min().unwrap_or_default(), last.max().unwrap_or_default());
        let frames = crate::sum(streams.iter().map(Watched::sent));
        // Of class 4: DTs of request and reply, and their AKs.
        let frames = frames.saturating_add(crate::sum(asked().map(|it| it.requests * 4)));
        let (mut all_ns, is_whole) = (last_ns.saturating_sub(origin_ns), frames <= MOST_FRAMES);
        if !is_whole {
            let share = u128::from(all_ns) * u128::from(MOST_FRAMES) / u128::from(frames);
            all_ns = u64::try_from(share).unwrap_or(u64::MAX);
        }
        // To the millisecond above, for the eye.
        let millis = all_ns / 1_000_000 + 1;
        Self { origin_ns, after: Duration::from_millis(millis), is_whole }
    }
}

/// Collects what a scenario is made of.
#[derive(Default)]
pub struct Plant {
    streams: Vec<Watched>,
    pollers: Vec<Poller>,
    /// Clients that do not poll.
    others: u64,
    /// Streams that their publisher sends to itself.
    to_themselves: u64,
    left_out: u64,
}

impl Plant {
    /// Takes an item of the whole measurement; others are ignored.
    pub fn take(&mut self, item: &Item) {
        match item {
            // Marks of redundancy are parts of frames that other flows have.
            Item::CyclicStream(of)
                if of.report.gaps.count > 0
                    && of.report.extra.redundancy.is_none()
                    && self.has_room() =>
            {
                let stream = CyclicStream::of(&of.report, of.until, of.has_names);
                if stream.source == stream.destination {
                    self.to_themselves += 1;
                } else {
                    self.streams.push(Watched::new(stream, &of.report));
                }
            }
            Item::Connection(connection) => {
                let poller = Poller::of_connection(connection);
                if let Some(poller) = poller.filter(|_| self.has_room()) {
                    self.pollers.push(poller);
                }
            }
            Item::Transactions(of) => {
                let (pollers, others) = Poller::of_function(of);
                self.others += others;
                for poller in pollers {
                    if self.has_room() {
                        self.pollers.push(poller);
                    }
                }
            }
            _ => {}
        }
    }

    /// True if there is room for one more flow; else it is counted.
    fn has_room(&mut self) -> bool {
        let has_room = self.streams.len() + self.pollers.len() < MOST_FLOWS;
        self.left_out += u64::from(!has_room);
        has_room
    }

    /// The scenario as a file; none where nothing was periodic. `source` names what was watched.
    ///
    /// # Errors
    /// The reason why what was watched makes no valid scenario.
    pub fn scenario(&self, source: &str) -> Result<Option<String>, String> {
        if self.streams.is_empty() && self.pollers.is_empty() {
            return Ok(None);
        }
        let mut flows = Flows::default();
        let seen = Seen::of(&self.streams, &self.pollers);
        self.streams.iter().for_each(|stream| flows.stream(stream, &seen));
        self.pollers.iter().for_each(|poller| flows.poller(poller, &seen));
        let text = flows.below(self.head(source, &flows, &seen));
        check(&text)?;
        Ok(Some(text))
    }

    fn head(&self, source: &str, flows: &Flows, seen: &Seen) -> String {
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
        if self.others > 0 {
            let others = counted(self.others, "client");
            text += &format!(
                "# Without flows: {others} of functions of servers, whose requests are not periodic or mostly unanswered.\n"
            );
        }
        if self.to_themselves > 0 {
            let streams = counted(self.to_themselves, "stream");
            text += &format!("# Without flows: {streams} that a station sends to itself.\n");
        }
        if flows.stations.contains(SUBSCRIBERS) {
            text += "# The station \"subscribers\" gets all frames to groups, as each port of a switch that does not filter them.\n";
        }
        if !seen.is_whole {
            text += &format!(
                "# The run is the beginning of what was seen: it has about {MOST_FRAMES} frames.\n"
            );
        }
        let are_connections = self.pollers.iter().all(|poller| poller.asked.is_none());
        let after = match self.streams.is_empty() && are_connections {
            true => flows.twenty_periods(LONGEST_RUN),
            false => seen.after,
        };
        text += &flows.settings(&format!("{counts}, as watched"), after);
        text
    }
}

/// Flows of a scenario in the making.
#[derive(Default)]
pub(crate) struct Flows {
    pub(crate) text: String,
    stations: BTreeSet<String>,
    /// Number of times that each name was given.
    names: BTreeMap<String, u64>,
    longest_ns: u64,
    bits_per_second: f64,
}

impl Flows {
    fn stream(&mut self, watched: &Watched, span: &Seen) {
        let stream = &watched.stream;
        // The frames of other flows carry the name of the stream.
        let own = stream.name.as_deref().filter(|_| watched.becomes_load());
        let name = self.name(&stream_flow(&stream.protocol, stream.identifier, own));
        let to = receiver(&stream.destination);
        let flow = watched.flow(name, to, span.origin_ns);
        self.stream_flow(&about(watched), &flow, stream.longest_octets);
        self.text += &format!("start = \"{}\"\n", decimal(Span(flow.start.earliest())));
        if span.is_whole {
            self.text += &format!("messages = {}\n", watched.sent());
        }
    }

    /// Writes a flow of frames of this length, without its start.
    pub(crate) fn stream_flow(&mut self, about: &str, flow: &Flow, octets: u64) {
        self.carries(flow.pattern.mean_interval().unwrap_or_default(), octets);
        self.flow(about, &flow.name, [&flow.from, &flow.to]);
        self.text += &format!("service = \"{}\"\n", flow.service.name());
        if let Some(priority) = flow.priority {
            self.text += &format!("priority = {priority}\n");
        }
        self.published(flow);
        self.jitter(&flow.jitter);
        match flow.pattern {
            Pattern::Retransmission { min_time, max_time, .. } => {
                let [min_time, max_time] = [min_time, max_time].map(decimal);
                self.text += &format!(
                    "pattern = {{ kind = \"retransmission\", min-time = \"{min_time}\", max-time = \"{max_time}\" }}\n"
                );
            }
            ref pattern => {
                let period = decimal(Span(pattern.mean_interval().unwrap_or_default()));
                self.text += &format!("pattern = {{ kind = \"cyclic\", period = \"{period}\" }}\n");
            }
        }
        self.text += &format!("size = \"{} B\"\n", flow.size.0);
        if let Some(deadline) = flow.deadline {
            // Subscribers take the publisher for lost after this time.
            self.text += &format!("deadline = \"{}\"\n", decimal(deadline));
        }
    }

    /// Settings of the scenario, and its medium.
    pub(crate) fn settings(&self, title: &str, after: Duration) -> String {
        let twice = self.bits_per_second * 2.0 / 1e6;
        let rate = RATES.into_iter().find(|rate| twice < *rate as f64).unwrap_or(RATES[2]);
        format!(
            "version = 1\ntitle = \"{title}\"\nseed = 1\nreplications = 10\n\
             stop = {{ after = \"{}\", warmup = \"none\" }}\n\
             medium = {{ kind = \"switched\", rate = \"{rate} Mbit/s\", length = \"100 m\", switches = 1, latency = \"5 us\" }}\n",
            decimal(Span(after))
        )
    }

    /// Twenty of the longest period, so that each flow has a spread; at most `most`.
    pub(crate) fn twenty_periods(&self, most: Duration) -> Duration {
        let twenty = Duration::from_secs((self.longest_ns / 1_000_000_000 + 1).saturating_mul(20));
        twenty.clamp(Duration::from_secs(1), most.max(Duration::from_secs(1)))
    }

    /// Two of the longest period, in which each flow sends.
    pub(crate) fn two_periods(&self) -> Duration {
        Duration::from_nanos(self.longest_ns.saturating_mul(2))
    }

    /// The scenario with this head.
    pub(crate) fn below(&self, head: String) -> String {
        let mut text = head;
        for station in &self.stations {
            text += &format!("\n[[station]]\nname = {}\n", quoted(station));
            if station.parse::<Mac>().is_ok_and(|address| !address.is_group()) {
                text += &format!("address = {}\n", quoted(station));
            }
        }
        text + &self.text
    }

    /// Writes the identity of a stream.
    fn published(&mut self, flow: &Flow) {
        let keys = &flow.stream;
        let numbers =
            [("appid", keys.appid), ("ethertype", keys.ethertype), ("frame-id", keys.frame_id)];
        for (key, number) in numbers.into_iter().filter_map(|(key, it)| Some((key, it?))) {
            self.text += &format!("{key} = {number:#06x}\n");
        }
        let small = [("revision", keys.revision), ("samples", keys.samples), ("vlan", keys.vlan)];
        for (key, number) in small.into_iter().filter_map(|(key, it)| Some((key, it?))) {
            self.text += &format!("{key} = {number}\n");
        }
        let names = [("control-block", &keys.control_block), ("sv-id", &keys.sv_id)];
        for (key, name) in names.into_iter().filter_map(|(key, it)| Some((key, it.as_ref()?))) {
            self.text += &format!("{key} = {}\n", quoted(name));
        }
        if let Some(destination) = keys.destination {
            self.text += &format!("destination = \"{destination}\"\n");
        }
        if let Some(allowed) = keys.time_allowed_to_live {
            self.text += &format!("time-allowed-to-live = \"{}\"\n", decimal(allowed));
        }
        for (key, spans) in [("curve", &keys.curve), ("changes", &keys.changes)] {
            let spans: Vec<_> =
                spans.iter().map(|span| format!("\"{}\"", decimal(*span))).collect();
            if !spans.is_empty() {
                self.text += &format!("{key} = [{}]\n", spans.join(", "));
            }
        }
    }

    /// Writes the deviations of intervals from the period, if there are any.
    fn jitter(&mut self, quantiles: &[JitterQuantile]) {
        let quantiles: Vec<_> = quantiles.iter().map(|it| format!("\"{it}\"")).collect();
        if !quantiles.is_empty() {
            self.text += &format!("jitter = [{}]\n", quantiles.join(", "));
        }
    }

    fn poller(&mut self, poller: &Poller, span: &Seen) {
        let Poller { ends: [from, to], about, .. } = poller;
        let name = self.name(&poller.name);
        let [request, reply] = poller.octets();
        self.carries(poller.period().0, request + reply);
        self.flow(about, &name, [from, to]);
        let period = decimal(poller.period());
        self.text += &format!(
            "service = \"class-4\"\n\
             pattern = {{ kind = \"constant-rate-request\", period = \"{period}\", reply = \"{reply} B\" }}\n\
             size = \"{request} B\"\ndeadline = \"{period}\" # its poll period\n"
        );
        self.jitter(poller.jitter());
        let Some(asked) = &poller.asked else {
            self.text += "start = \"random\"\n";
            return;
        };
        let start = of_nanos(asked.first_ns.saturating_sub(span.origin_ns));
        self.text += &format!("start = \"{}\"\n", decimal(start));
        if span.is_whole {
            self.text += &format!("messages = {}\n", asked.requests);
        }
    }

    /// Writes the head of a flow.
    pub(crate) fn flow(&mut self, about: &str, name: &str, [from, to]: [&str; 2]) {
        self.stations.extend([from.to_owned(), to.to_owned()]);
        let [name, from, to] = [name, from, to].map(quoted);
        self.text += &format!("\n# {about}\n[[flow]]\nname = {name}\nfrom = {from}\nto = {to}\n");
    }

    /// A name that no flow has yet.
    pub(crate) fn name(&mut self, name: &str) -> String {
        let times = self.names.entry(name.to_owned()).or_default();
        *times += 1;
        if *times == 1 { name.to_owned() } else { format!("{name}-{times}") }
    }

    /// Notes an interval and the octets in it.
    pub(crate) fn carries(&mut self, interval: Duration, octets: u64) {
        let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX).max(1);
        self.longest_ns = self.longest_ns.max(interval_ns);
        self.bits_per_second += octets as f64 * 8e9 / interval_ns as f64;
    }
}

/// Refuses a scenario that `predict` would refuse.
pub(crate) fn check(text: &str) -> Result<(), String> {
    bench::scenario::load(text, "scenario").map(|_| ()).map_err(|error| error.to_string())
}

/// Name of the flow of a stream; further streams of one name get a number behind it. `name` is that of
/// the stream, if its frames do not carry it.
pub(crate) fn stream_flow(protocol: &str, identifier: u32, name: Option<&str>) -> String {
    let mut flow = format!("{protocol}-{identifier:04x}");
    if let Some(name) = name {
        flow.push('-');
        flow.extend(name.chars().map(|it| if it.is_ascii_graphic() { it } else { '-' }));
    }
    flow.to_lowercase().replace(' ', "-").chars().take(LONGEST_FLOW).collect()
}

/// Station that gets the frames to a destination.
pub(crate) fn receiver(destination: &str) -> &str {
    if is_group(destination) { SUBSCRIBERS } else { destination }
}

/// True for a group address, as text.
fn is_group(address: &str) -> bool {
    if let Ok(address) = address.parse::<IpAddr>() {
        return address.is_multicast() || address == IpAddr::from(Ipv4Addr::BROADCAST);
    }
    let first = address.get(..2).and_then(|octet| u8::from_str_radix(octet, 16).ok());
    first.is_some_and(|octet| octet & 1 == 1)
}

/// Measurements of a stream, as a comment.
fn about(watched: &Watched) -> String {
    let stream = &watched.stream;
    let lasted = span(stream.last_ns.saturating_sub(stream.first_ns));
    let frames = counted(stream.frames, "frame");
    let mut about = format!("{frames} in {lasted}, {} missing", stream.missing);
    match (stream.period_ns, stream.late_max_ns) {
        (None, _) if stream.protocol == Protocol::Goose.name() => {
            about += &format!("; {}", counted(stream.state_changes, "change"));
            if watched.has_more_changes() {
                about += ", of which the first are here";
            }
        }
        (None, _) => about += "; without a learnt period, of which this is the mean gap",
        (Some(_), Some(late)) => {
            let early = span(stream.early_max_ns.unwrap_or_default());
            about += &format!("; at most {} late, {early} early", span(late));
        }
        (Some(_), None) => {}
    }
    if let Some(name) = &stream.name {
        about += &format!("; {}", Printable(&crate::shortened(name, 64)));
    }
    about
}

/// Table of the deviations that were measured; empty if all are zero.
fn jitter(quantiles: &[DeviationQuantile]) -> Vec<JitterQuantile> {
    let deviates = quantiles.iter().any(|it| it.deviation_ns != 0);
    let quantile = |it: &DeviationQuantile| JitterQuantile {
        share: Share(it.share),
        deviation_ns: it.deviation_ns,
    };
    quantiles.iter().filter(|_| deviates).map(quantile).collect()
}

/// A name as a string of TOML. Names are of printable characters.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

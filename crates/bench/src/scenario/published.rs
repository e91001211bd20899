//! Flows of streams: GOOSE, Sampled Values, and cyclic data behind an EtherType.
//!
//! Their frames are real: `watch` follows them, in a capture and on a wire. A stream goes to a group, or
//! as cyclic data to a station; `to` is the station whose arrivals are judged.

use super::carriage::is_ethernet;
use super::fields::{Fields, Placed, Read};
use super::problem::Problem;
use super::quantity::{Size, Span};
use super::{Flow, LLC_OCTETS, Pattern, Scenario, Service};
use crate::medium::Medium;
use core::fmt;
use core::time::Duration;
use schemars::JsonSchema;
use serde::Serialize;
use stack::load::publication::{
    self, Content, Goose, LEAST_DATA_OCTETS, MOST_DATA_OCTETS, PROFINET, Publication, SAMPLE_OCTETS,
};
use stack::load::retransmission::Retransmissions;
use stack::profile::{Framing, TAG};
use std::collections::BTreeMap;
use wire::addr::Mac;
use wire::mac::{self, Tag};
use wire::printable::is_printable;
use wire::time::{Instant, nanos};

/// Octets of a tag of 802.1Q.
const TAG_OCTETS: u64 = 4;
/// Longest gocbRef or svID.
const LONGEST_NAME: usize = 129;
/// Most intervals of a curve, and most changes of a state at given times.
const MOST_LISTED: usize = 1_000;
/// Most samples in a frame.
const MOST_SAMPLES: u64 = 16;
/// FrameID of a flow that gives none: the first of RT class 1 to stations.
const FRAME_ID: u16 = 0x8000;
/// EtherTypes that other parts of a station use.
const TAKEN: [u16; 7] = [0x0800, 0x0806, 0x8100, 0x88A8, 0x9100, 0x86DD, mac::LLC_ENCAPSULATION];

/// MAC address, as text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(into = "String")]
pub struct Address(pub Mac);

impl From<Address> for String {
    fn from(Address(mac): Address) -> Self {
        mac.to_string()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Read for Address {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let written = String::read(value, problems)?;
        let address = written.parse().ok().map(Self);
        if address.is_none() {
            let problem = Problem::error(value.span(), "expected a MAC address");
            problems.push(problem.help("as in \"01:0c:cd:01:00:01\""));
        }
        address
    }
}

/// Identity of a stream, and what only its protocol has.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Published {
    /// For GOOSE and Sampled Values: APPID, as in 0x0001.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub appid: Option<u64>,
    /// For GOOSE: gocbRef; the sender and the flow's name, as in `relay-1/LLN0$GO$trip`, if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_block: Option<String>,
    /// For Sampled Values: svID; the flow's name if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sv_id: Option<String>,
    /// For GOOSE and Sampled Values: confRev; 1 if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
    /// For GOOSE: timeAllowedToLive of each frame; twice the interval to the next one if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_allowed_to_live: Option<Span>,
    /// For GOOSE: intervals after a change of state, before `max-time`, in place of those that double.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<Span>>")]
    pub curve: Vec<Span>,
    /// For GOOSE: times of the run at which the state changes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<Span>>")]
    pub changes: Vec<Span>,
    /// For Sampled Values: samples in a frame (noASDU); 1 if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// For cyclic data: the EtherType; 0x8892 if not given, PROFINET.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ethertype: Option<u64>,
    /// For cyclic data of PROFINET: FrameID; 0x8000 if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_id: Option<u64>,
    /// VLAN of the frames' tag. Frames of a stream that has neither this nor a `priority` have no tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u64>,
    /// Group that the frames go to; if not given, that of the APPID (IEC 61850-8-1, annex B), and for
    /// cyclic data the station `to`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub destination: Option<Address>,
}

/// Keys of streams, and the services that have them.
const KEYS: [(&str, &[Service]); 12] = [
    ("appid", &[Service::Goose, Service::SampledValues]),
    ("control-block", &[Service::Goose]),
    ("sv-id", &[Service::SampledValues]),
    ("revision", &[Service::Goose, Service::SampledValues]),
    ("time-allowed-to-live", &[Service::Goose]),
    ("curve", &[Service::Goose]),
    ("changes", &[Service::Goose]),
    ("samples", &[Service::SampledValues]),
    ("ethertype", &[Service::Cyclic]),
    ("frame-id", &[Service::Cyclic]),
    ("vlan", &ALL),
    ("destination", &ALL),
];
/// Services of streams.
const ALL: [Service; 3] = [Service::Goose, Service::SampledValues, Service::Cyclic];

impl Published {
    /// Reads the keys of a flow, and refuses those of other services.
    pub(super) fn read(
        fields: &mut Fields<'_, '_>,
        service: Option<Service>,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let has_appid = matches!(service, Some(Service::Goose | Service::SampledValues));
        let published = Self {
            appid: match has_appid {
                true => fields.required("appid", problems),
                false => fields.optional("appid", problems),
            },
            control_block: fields.optional("control-block", problems),
            sv_id: fields.optional("sv-id", problems),
            revision: fields.optional("revision", problems),
            time_allowed_to_live: fields.optional("time-allowed-to-live", problems),
            curve: fields.optional("curve", problems).unwrap_or_default(),
            changes: fields.optional("changes", problems).unwrap_or_default(),
            samples: fields.optional("samples", problems),
            ethertype: fields.optional("ethertype", problems),
            frame_id: fields.optional("frame-id", problems),
            vlan: fields.optional("vlan", problems),
            destination: fields.optional("destination", problems),
        };
        let Some(service) = service else { return published };
        for (key, services) in KEYS {
            if fields.has(key) && !services.contains(&service) {
                let names: Vec<_> =
                    services.iter().map(|service| format!("\"{}\"", service.name())).collect();
                let message = format!("only flows of service {} have `{key}`", names.join(", "));
                problems.push(Problem::error(fields.span_of(key), message));
            }
        }
        published
    }

    /// Size of frames with the samples of IEC 61850-9-2LE, of the flow with this name.
    pub(super) fn sample_size(&self, name: &str) -> Size {
        let content = Content::SampledValues(self.sampled_values(name, Duration::ZERO));
        Size(content.octets_of(SAMPLE_OCTETS) as u64)
    }

    fn sampled_values(&self, name: &str, period: Duration) -> publication::SampledValues {
        let samples = small(self.samples.unwrap_or(1)).max(1);
        // Periods are whole nanoseconds: 208.333 us are 4,800 samples in a second.
        let period_ns = nanos(period).max(1);
        let per_second = (u64::from(samples) * 1_000_000_000 + period_ns / 2) / period_ns;
        publication::SampledValues {
            appid: small(self.appid.unwrap_or_default()),
            identifier: self.sv_id.clone().unwrap_or_else(|| name.to_owned()),
            revision: u32::try_from(self.revision.unwrap_or(1)).unwrap_or(u32::MAX),
            samples,
            per_second: per_second.clamp(1, 1 << 16) as u32,
        }
    }
}

/// A number of 16 bits. Larger ones saturate; a checked scenario has none.
fn small(number: u64) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

/// Refuses a pattern that the service of its flow does not have.
pub(super) fn check_pattern(
    fields: &Fields<'_, '_>,
    service: Option<Service>,
    pattern: Option<Pattern>,
    problems: &mut Vec<Problem>,
) {
    let (Some(service), Some(pattern)) = (service, pattern) else { return };
    let place = fields.span_of("pattern");
    match (service, pattern) {
        (Service::Goose, Pattern::Retransmission { .. })
        | (Service::SampledValues | Service::Cyclic, Pattern::Cyclic { .. }) => {}
        (Service::Goose, _) => {
            let problem =
                Problem::error(place, "service `goose` needs the pattern `retransmission`");
            let help = "{ kind = \"retransmission\", min-time = \"4 ms\", max-time = \"1 s\" }";
            problems.push(problem.help(help));
        }
        (Service::SampledValues | Service::Cyclic, _) => {
            let problem =
                Problem::error(place, "streams of this service need the pattern `cyclic`");
            problems.push(problem.help("{ kind = \"cyclic\", period = \"250 us\" }"));
        }
        (_, Pattern::Retransmission { .. }) => {
            let problem =
                Problem::error(place, "the pattern `retransmission` is of service `goose` alone");
            problems.push(problem.help("service = \"goose\""));
        }
        _ => {}
    }
}

impl Flow {
    /// Stream that it publishes; `None` for other services. Numbers out of range saturate; a checked
    /// scenario has none.
    #[must_use]
    pub fn publication(&self) -> Option<Publication> {
        let keys = &self.stream;
        let period = self.pattern.period().unwrap_or_default();
        let content = match self.service {
            Service::Goose => Content::Goose(self.goose()),
            Service::SampledValues => {
                Content::SampledValues(keys.sampled_values(&self.name, period))
            }
            Service::Cyclic => Content::Cyclic(publication::Cyclic {
                ethertype: keys.ethertype.map_or(PROFINET, small),
                frame_id: keys.frame_id.map_or(FRAME_ID, small),
                period,
            }),
            Service::Class4
            | Service::Case
            | Service::Mms
            | Service::File
            | Service::Datagram
            | Service::Message => return None,
        };
        let own = keys.destination.map(|address| address.0);
        Some(Publication {
            group: own.or_else(|| group_of(&content)),
            tag: self.is_tagged().then(|| {
                let vlan = small(keys.vlan.unwrap_or_default()) & 0x0FFF;
                let priority = u16::from(self.priority().number());
                Tag { protocol: TAG, control: priority << 13 | vlan }
            }),
            content,
        })
    }

    fn goose(&self) -> Goose {
        let keys = &self.stream;
        let own = || format!("{}/LLN0$GO${}", self.from, self.name);
        let (curve, maximum, mean_interval) = match self.pattern {
            Pattern::Retransmission { min_time, max_time, mean_interval } => {
                let curve = match keys.curve.is_empty() {
                    true => doubling(min_time.0, max_time.0),
                    false => keys.curve.iter().map(|span| span.0).collect(),
                };
                (curve, max_time.0, mean_interval)
            }
            _ => (Vec::new(), self.pattern.mean_interval().unwrap_or_default(), None),
        };
        Goose {
            appid: small(keys.appid.unwrap_or_default()),
            control_block: keys.control_block.clone().unwrap_or_else(own),
            revision: u32::try_from(keys.revision.unwrap_or(1)).unwrap_or(u32::MAX),
            allowed: keys.time_allowed_to_live.map(|span| span.0),
            plan: Retransmissions {
                curve,
                maximum,
                changes: keys.changes.iter().map(|span| Instant::ZERO + span.0).collect(),
                mean_interval: mean_interval.map(|span| span.0),
            },
        }
    }

    /// The least size that the names of its stream and a stamp need; zero for other services.
    #[must_use]
    pub fn least_size(&self) -> Size {
        let least = self.publication().map_or(0, |it| least_octets(&it.content));
        Size(least as u64)
    }

    /// True if the frames of its stream have a tag of 802.1Q.
    #[must_use]
    pub const fn is_tagged(&self) -> bool {
        self.stream.vlan.is_some() || self.priority.is_some()
    }

    /// Octets of data in a frame, as media count them: those of LLC included, and of a stream those of a
    /// tag that the medium does not add.
    #[must_use]
    pub(super) fn data_octets(&self, medium: &Medium) -> u64 {
        if !self.service.is_published() {
            return self.size.0.saturating_add(LLC_OCTETS);
        }
        let adds_tag = medium.framing() == Framing::Ieee8021Q;
        self.size.0 + if self.is_tagged() && !adds_tag { TAG_OCTETS } else { 0 }
    }
}

/// Intervals that double, below the longest.
fn doubling(least: Duration, longest: Duration) -> Vec<Duration> {
    let least = (!least.is_zero()).then_some(least);
    let intervals = core::iter::successors(least, |interval| interval.checked_mul(2));
    intervals.take_while(|interval| *interval < longest).collect()
}

/// Group of an APPID, of those that IEC 61850-8-1 and 9-2 recommend; `None` for cyclic data.
fn group_of(content: &Content) -> Option<Mac> {
    let (kind, appid) = match content {
        Content::Goose(goose) => (1, goose.appid),
        Content::SampledValues(sampled) => (4, sampled.appid),
        Content::Cyclic(_) => return None,
    };
    let [high, low] = (appid & 0x01FF).to_be_bytes();
    Some(Mac([0x01, 0x0C, 0xCD, kind, high, low]))
}

/// Reports values of the keys that no stream can have.
pub(super) fn check(scenario: &Scenario, problems: &mut Vec<Problem<String>>) {
    let mut known = BTreeMap::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        let Some(publication) = flow.publication() else { continue };
        let mut at = At { index, problems: &mut *problems };
        if !is_ethernet(&scenario.medium) {
            at.error("service", "streams need an Ethernet medium", "such as `switched`");
            continue;
        }
        ranges(flow, &mut at);
        names(flow, &publication.content, &mut at);
        size(flow, &publication.content, &mut at);
        times(flow, &mut at);
        if let Some(other) = known.insert(Identity::of(flow, &publication), &flow.name) {
            let message = format!("frames of \"{other}\" have the same identity");
            at.error("name", message, "another appid, frame-id or name for one of them");
        }
    }
}

/// Identity of a stream.
#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Identity<'a> {
    from: &'a str,
    to: Option<&'a str>,
    group: Option<Mac>,
    ethertype: u16,
    number: u16,
    name: String,
}

impl<'a> Identity<'a> {
    fn of(flow: &'a Flow, publication: &Publication) -> Self {
        let (number, name) = match &publication.content {
            Content::Goose(goose) => (goose.appid, goose.control_block.clone()),
            Content::SampledValues(sampled) => (sampled.appid, sampled.identifier.clone()),
            Content::Cyclic(cyclic) if cyclic.ethertype == PROFINET => {
                (cyclic.frame_id, String::new())
            }
            // No meter follows them, and receivers know them by their stamp.
            Content::Cyclic(_) => (0, flow.name.clone()),
        };
        let group = publication.group;
        let to = group.is_none().then_some(flow.to.as_str());
        let ethertype = publication.content.ethertype();
        Self { from: &flow.from, to, group, ethertype, number, name }
    }
}

/// Place of problems of a flow.
struct At<'p> {
    index: usize,
    problems: &'p mut Vec<Problem<String>>,
}

impl At<'_> {
    fn error(&mut self, key: &str, message: impl Into<String>, help: &str) {
        let problem = Problem::error(format!("flow.{}.{key}", self.index), message);
        self.problems.push(problem.help(help));
    }
}

fn ranges(flow: &Flow, at: &mut At<'_>) {
    let keys = &flow.stream;
    let most = [
        ("appid", keys.appid, 0xFFFF),
        ("revision", keys.revision, u64::from(u32::MAX)),
        ("vlan", keys.vlan, 4_094),
    ];
    for (key, number, most) in most {
        if number.is_some_and(|number| number > most) {
            at.error(key, format!("`{key}` is at most {most:#x}"), "the field is not wider");
        }
    }
    if keys.samples.is_some_and(|samples| !(1..=MOST_SAMPLES).contains(&samples)) {
        at.error(
            "samples",
            format!("a frame has from 1 to {MOST_SAMPLES} samples"),
            "it is noASDU: 1 in 9-2LE",
        );
    }
    let is_type = |number: u64| (u64::from(mac::FIRST_TYPE)..=0xFFFF).contains(&number);
    let is_free = |number: u64| {
        let number = small(number);
        !TAKEN.contains(&number)
            && ![publication::GOOSE, publication::SAMPLED_VALUES].contains(&number)
    };
    if keys.ethertype.is_some_and(|number| !is_type(number) || !is_free(number)) {
        let help = "0x8892 is PROFINET, and 0x88b5 is for experiments (IEEE 802)";
        at.error("ethertype", "no EtherType of cyclic data", help);
    }
    let is_profinet = keys.ethertype.is_none_or(|number| number == u64::from(PROFINET));
    if keys.frame_id.is_some() && !is_profinet {
        at.error("frame-id", "only frames of PROFINET have a FrameID", "ethertype = 0x8892");
    } else if keys.frame_id.is_some_and(|number| !(0x0100..=0xFBFF).contains(&number)) {
        at.error("frame-id", "cyclic data have FrameIDs from 0x0100 to 0xfbff", "0x8000");
    }
    if keys.destination.is_some_and(|address| !address.0.is_group()) {
        let help = "leave it out: frames then go to the station `to`";
        at.error("destination", "`destination` is a group of stations", help);
    }
}

fn names(flow: &Flow, content: &Content, at: &mut At<'_>) {
    let (key, name) = match content {
        Content::Goose(goose) => ("control-block", &goose.control_block),
        Content::SampledValues(sampled) => ("sv-id", &sampled.identifier),
        Content::Cyclic(_) => return,
    };
    let is_given = flow.stream.control_block.is_some() || flow.stream.sv_id.is_some();
    let place = if is_given { key } else { "name" };
    let is_visible = name.chars().all(|symbol| symbol.is_ascii() && is_printable(symbol));
    if name.is_empty() || name.len() > LONGEST_NAME || !is_visible {
        let message = format!("the name of a stream has from 1 to {LONGEST_NAME} ASCII characters");
        at.error(place, message, &format!("{key} = \"...\""));
    }
}

/// Fewest octets of data of a stream. Receivers of cyclic data cannot tell padding from data.
fn least_octets(content: &Content) -> usize {
    let padded = matches!(content, Content::Cyclic(_));
    content.least_octets().max(if padded { LEAST_DATA_OCTETS } else { 0 })
}

fn size(flow: &Flow, content: &Content, at: &mut At<'_>) {
    let least = least_octets(content);
    if flow.size.0 < least as u64 {
        let message = format!("a frame of this stream has at least {least} B behind its EtherType");
        at.error("size", message, "its names and numbers, and a stamp of 16 B");
    } else if flow.size.0 > MOST_DATA_OCTETS as u64 {
        let message = format!("a frame has at most {MOST_DATA_OCTETS} B behind its EtherType");
        at.error("size", message, "a stream is not cut into several frames");
    }
}

fn times(flow: &Flow, at: &mut At<'_>) {
    let keys = &flow.stream;
    let rises = keys.changes.windows(2).all(|pair| pair[0] < pair[1]);
    for (key, spans) in [("curve", &keys.curve), ("changes", &keys.changes)] {
        if spans.len() > MOST_LISTED {
            at.error(key, format!("at most {MOST_LISTED} of them"), "mean-interval: at random");
        }
    }
    if !rises {
        at.error("changes", "`changes` must be in ascending order", "sort them");
    }
    if keys.curve.iter().any(Span::is_zero) {
        at.error("curve", "an interval must be more than zero", "leave it out");
    }
    if keys.time_allowed_to_live.is_some_and(|span| span.is_zero()) {
        let message = "`time-allowed-to-live` must be more than zero";
        at.error("time-allowed-to-live", message, "\"2 s\"");
    }
    if let Pattern::Retransmission { min_time, max_time, .. } = flow.pattern
        && min_time > max_time
    {
        at.error(
            "pattern.min-time",
            "`min-time` is longer than `max-time`",
            "it is at most `max-time`",
        );
    }
}

#[cfg(test)]
mod tests;

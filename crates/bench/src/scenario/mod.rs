//! Scenarios: the flows between stations, and their medium, as a TOML file describes them.
//!
//! [`load()`] turns text into a [`Study`], or into a list of everything wrong with it. The structs
//! are plain data with every default filled in; [`to_toml`] writes them back. [`schema`] describes
//! the file for editors.

mod architecture;
pub(crate) mod carriage;
mod chance;
mod check;
mod costs;
mod directory;
mod extended_schema;
mod feasible;
pub(crate) mod fields;
mod file;
mod flow;
mod groups;
mod jitter;
mod lockstep;
mod machines;
pub(crate) mod mms;
pub(crate) mod names;
mod network;
mod parse;
mod pattern;
pub(crate) mod problem;
pub(crate) mod published;
pub(crate) mod quantity;
mod require;
mod ring_membership;
mod servers;
mod service;
mod transport;
mod vary;

pub use architecture::{Architecture, Services};
pub use carriage::Carriage;
pub use check::check;
pub use directory::Directory;
pub use feasible::bits_due_per_second;
pub use file::{Direction, FileTransfer};
pub use flow::Flow;
pub use groups::{means, to_toml};
pub use jitter::JitterQuantile;
pub use machines::ProfileName;
pub use network::{Network, Protocol};
pub use pattern::Pattern;
pub use problem::{
    Lines, Matters, Place, Problem, ScenarioError, Severity, Source, meant, warnings,
};
pub use published::{Address, Published};
pub use quantity::{Length, NotAQuantity, Rate, Share, Size, Span};
pub use require::{NotARequirement, Parts, Relation, Requirement, Subject};
pub use ring_membership::begins;
pub use servers::{ModelFile, ServerName};
pub use service::{Eot, Service};
pub use transport::{Acknowledge, Credit, Retransmit, Timer, Transport};
pub(crate) use vary::not_toml;
pub use vary::{
    Base, CannotSet, NamedFile, Point, Setting, Study, Values, load, load_from, load_with,
    load_within,
};

pub use crate::medium::{
    Classes, LLC_OCTETS, MOST_DATA_OCTETS, Maintenance, Medium, MediumKind, RequestWithResponse,
};

use crate::profile::{Function, Profile};
use core::time::Duration;
use schemars::JsonSchema;
use serde::Serialize;
use stack::mms::server::Model;
use stack::{fault, tp4};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most runs of a point.
pub const MOST_REPLICATIONS: u64 = 1_000_000;
/// The most runs of a study, all its points together.
pub const MOST_RUNS: u64 = 10_000_000;

/// The version of the file format that this program reads and writes.
pub const VERSION: u64 = 1;

/// Octets of a MAC header, which damage spares: addresses and length.
const MAC_HEADER_OCTETS: usize = 14;
/// An experiment.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub struct Scenario {
    /// The version of the file format: 1.
    pub version: u64,
    /// The subject of the experiment, in one line.
    pub title: String,
    /// The seed of all random numbers of the run; 1 if not given.
    #[schemars(with = "Option<u64>")]
    pub seed: u64,
    /// The number of independent runs of each point; 10 if not given.
    #[schemars(with = "Option<u64>")]
    pub replications: u64,
    /// The condition on varied keys that every point meets, such as `background.load <= 40 %`; comparisons
    /// are joined by `and`. All points are run if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraint: Option<String>,
    /// The end of a run, and the part of it that is measured.
    pub stop: Stop,
    /// The medium that carries the frames.
    pub medium: Medium,
    /// The faults of a bad path; none if not given.
    #[schemars(with = "Option<Faults>")]
    pub faults: Faults,
    /// Departures from the class 4 transport's values for a LAN.
    #[schemars(with = "Option<Transport>")]
    pub transport: Transport,
    /// The protocol between the transport and the link: the inactive subset of CLNP if not given.
    #[schemars(with = "Option<Network>")]
    pub network: Network,
    /// Stations with a name of their own.
    #[serde(rename = "station", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<Station>>")]
    pub named_stations: Vec<Station>,
    /// Stations that differ by number alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stations: Option<Group>,
    /// The directory of application titles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<Directory>,
    /// Functions of stations that take no time on their machines by intention; a warning names any
    /// other function without a cost.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<Function>>")]
    pub free: Vec<Function>,
    /// The flows: their senders, receivers and messages.
    #[serde(rename = "flow")]
    pub flows: Vec<Flow>,
    /// Traffic that only shares the medium.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<Background>,
    /// Requirements on its flows: `miss(status) < 1e-3`. None if not given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<String>>")]
    pub require: Vec<Requirement>,
    /// The keys that vary, by dotted path, and their values: `"background.load"`.
    // Shared by all points of a study: there may be as many values as points.
    #[serde(skip_serializing_if = "varies_nothing")]
    #[schemars(with = "Option<BTreeMap<String, vary::AxisSchema>>")]
    pub vary: Arc<BTreeMap<String, Vec<toml::Value>>>,
    /// The machines that its stations are on, by name.
    #[serde(skip)]
    #[schemars(skip)]
    pub machines: Arc<BTreeMap<ProfileName, Profile>>,
    /// The objects of the MMS servers that its stations are, by file and device.
    #[serde(skip)]
    #[schemars(skip)]
    pub servers: Arc<BTreeMap<ServerName, Arc<Model>>>,
    /// The same before the expansion of groups, if there are any: `ied-{1..12}` is one station
    /// there, and a flow from `ied-*` one flow.
    #[serde(skip)]
    #[schemars(skip)]
    pub grouped: Option<Arc<Self>>,
}

fn varies_nothing(vary: &Arc<BTreeMap<String, Vec<toml::Value>>>) -> bool {
    vary.is_empty()
}

/// The end of a run, and the part of it that is measured.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub struct Stop {
    /// Messages due before this are judged. With `messages`, the longest a run may take (10 min if
    /// not given).
    #[schemars(with = "Option<Span>")]
    pub after: Span,
    /// The part that is cut from the start: nothing if not given.
    #[schemars(with = "Option<String>")]
    pub warmup: Warmup,
    /// The number of messages of each flow that does not give its own; the run ends when all are
    /// through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
}

/// The part that is cut from the start of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(into = "String")]
pub enum Warmup {
    /// Nothing: the run is measured from its empty start.
    None,
    /// Messages due before this.
    Fixed(Span),
    /// For each flow, the part that MSER-5 finds.
    Mser5,
}

impl From<Warmup> for String {
    fn from(warmup: Warmup) -> Self {
        match warmup {
            Warmup::None => "none".to_owned(),
            Warmup::Fixed(span) => span.to_string(),
            Warmup::Mser5 => "mser-5".to_owned(),
        }
    }
}

/// The faults of a bad path. Each share is the probability for one frame.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub struct Faults {
    /// Frames that vanish.
    #[schemars(with = "Option<Share>")]
    pub loss: Share,
    /// Bursts of loss, in addition (Gilbert and Elliott).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<Burst>,
    /// Frames that arrive twice.
    #[schemars(with = "Option<Share>")]
    pub duplicate: Share,
    /// The delay of the copy.
    #[schemars(with = "Option<Span>")]
    pub duplicate_delay: Span,
    /// Frames held back so that others overtake them.
    #[schemars(with = "Option<Share>")]
    pub reorder: Share,
    /// The time for which they are held back.
    #[schemars(with = "Option<Span>")]
    pub reorder_delay: Span,
    /// The delay that is added to every frame.
    #[schemars(with = "Option<Span>")]
    pub delay: Span,
    /// The most that is added at random, uniformly.
    #[schemars(with = "Option<Span>")]
    pub jitter: Span,
    /// Frames whose FCS is wrong on arrival: the receiving MAC drops them.
    #[schemars(with = "Option<Share>")]
    pub corrupt: Share,
    /// Frames whose data are changed although the FCS is right.
    #[schemars(with = "Option<Share>")]
    pub damage: Share,
    /// The kind of change.
    #[schemars(with = "Option<DamageKind>")]
    pub damage_kind: DamageKind,
    /// The most bits changed then, of `bit-flips`.
    #[schemars(with = "Option<u64>")]
    pub damage_bits: u64,
}

/// Bursts of loss: before each frame a good path may turn bad, or a bad one good.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub struct Burst {
    /// The probability that a good path turns bad.
    pub begin: Share,
    /// The probability that a bad path turns good.
    pub end: Share,
    /// Frames that vanish on a bad path.
    pub loss: Share,
}

/// The kind of change to the data of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DamageKind {
    /// From one to `damage-bits` bits are inverted.
    BitFlips,
    /// One octet takes another value, so that Fletcher's checksum sees it.
    OneOctet,
}

impl Faults {
    /// A path without faults.
    pub const NONE: Self = Self {
        loss: Share(0),
        burst: None,
        duplicate: Share(0),
        duplicate_delay: Span(Duration::from_millis(1)),
        reorder: Share(0),
        reorder_delay: Span(Duration::from_millis(1)),
        delay: Span(Duration::ZERO),
        jitter: Span(Duration::ZERO),
        corrupt: Share(0),
        damage: Share(0),
        damage_kind: DamageKind::BitFlips,
        damage_bits: 1,
    };

    /// Plan for media and ports, on a path whose frames live for `nsdu_lifetime` at the
    /// most.
    #[must_use]
    pub fn plan(&self, nsdu_lifetime: Duration) -> fault::Plan {
        let some = |share: Share| (share.0 > 0).then(|| share.fraction());
        let damage = match self.damage_kind {
            DamageKind::BitFlips => fault::Damage::BitFlips {
                at_most: u8::try_from(self.damage_bits).unwrap_or(u8::MAX),
            },
            DamageKind::OneOctet => fault::Damage::OneOctet,
        };
        fault::Plan {
            loss: self.loss.fraction(),
            burst: self.burst.as_ref().map(|burst| fault::Burst {
                begin: burst.begin.fraction(),
                end: burst.end.fraction(),
                loss: burst.loss.fraction(),
            }),
            fcs_errors: self.corrupt.fraction(),
            corruption: some(self.damage).map(|probability| fault::Corruption {
                probability,
                spared_octets: MAC_HEADER_OCTETS,
                damage,
            }),
            duplication: some(self.duplicate).map(|probability| fault::Duplication {
                probability,
                after: self.duplicate_delay.0,
            }),
            reordering: some(self.reorder).map(|probability| fault::Reordering {
                probability,
                held_back: self.reorder_delay.0,
            }),
            delay: fault::Delay { constant: self.delay.0, jitter: self.jitter.0 },
            nsdu_lifetime,
        }
    }
}

/// A station with a name of its own.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub struct Station {
    /// Its name, to which flows refer; `ied-{1..12}` is a group of twelve.
    pub name: String,
    /// Its MAC address in a simulation; if not given, a local one by its place in the list that no other
    /// station has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub address: Option<Address>,
    /// Its position on the bus. Stations without one are spread evenly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<Length>,
    /// The station's machine in a simulation; one that takes no time if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileName>,
    /// The stack of a MAP station, which limits the services of its flows; no limit if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<Architecture>,
    /// The SCL file with the objects of its MMS server, relative to the scenario's folder; the built-in
    /// model if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The device (IED) of that file; the first one with a server if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ied: Option<String>,
    /// The time at which it starts to enter the logical ring of a token bus: it is in the ring from
    /// the beginning if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enters_at: Option<Span>,
    /// The time at which it starts to leave that ring; never if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaves_at: Option<Span>,
    /// The time at which it fails without notice; never if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fails_at: Option<Span>,
    /// The time from which it loses the next token that it receives; never if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loses_token_at: Option<Span>,
}

/// Stations that differ by number alone: `station-1`, `station-2` and so on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub struct Group {
    /// The number of stations.
    pub count: u64,
    /// The prefix of the names, before a hyphen and the number; `station` if not given.
    #[schemars(with = "Option<String>")]
    pub prefix: String,
    /// The machine of each in a simulation; one that takes no time if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileName>,
    /// The stack of each, if they are MAP stations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<Architecture>,
    /// The SCL file of the MMS server of each; the built-in model if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The device (IED) of that file; the first one with a server if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ied: Option<String>,
}

/// The time at which the first message of a flow is due, or its connection is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(into = "String")]
pub enum Start {
    /// At this time of the run.
    At(Span),
    /// At the start of the run, together with every other flow that says so: the critical instant.
    Together,
    /// At random, uniform in the period: each run draws its own.
    Random,
}

impl Start {
    /// The earliest time that it may be.
    #[must_use]
    pub const fn earliest(self) -> Duration {
        match self {
            Self::At(Span(span)) => span,
            Self::Together | Self::Random => Duration::ZERO,
        }
    }
}

impl From<Start> for String {
    fn from(start: Start) -> Self {
        match start {
            Start::At(span) => span.to_string(),
            Start::Together => "together".to_owned(),
            Start::Random => "random".to_owned(),
        }
    }
}

/// Stations of their own that send datagrams to each other at random (exponential intervals).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub struct Background {
    /// The share of the bit rate that their frames take, from destination address to FCS, padding
    /// included; neither preamble nor the gap between frames counts. On a ring the whole frame
    /// counts, but no token.
    pub load: Share,
    /// The number of stations that send it in equal parts.
    pub stations: u64,
    /// Octets of each packet as the MAC carries it, LLC header included.
    pub size: Size,
}

impl Background {
    /// The mean interval between two packets of one station, if there is any load.
    #[must_use]
    pub fn mean_interval(&self, medium: &Medium) -> Option<Duration> {
        // stations x frame bits / (load x rate), in integers to the nearest nanosecond.
        let bits = u128::from(self.stations) * u128::from(medium.frame_bits(self.size.0));
        let taken = u128::from(self.load.0) * u128::from(medium.rate().0.bits_per_second());
        let nanos = (bits * 1_000_000_000 * 1_000_000_000 + taken / 2).checked_div(taken)?;
        Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }
}

impl Station {
    /// A station with this name alone, and the defaults of all other keys.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            address: None,
            position: None,
            profile: None,
            architecture: None,
            model: None,
            ied: None,
            enters_at: None,
            leaves_at: None,
            fails_at: None,
            loses_token_at: None,
        }
    }
}

impl Scenario {
    /// A scenario with these keys alone, and the defaults of all others. It has no station and no
    /// flow yet; [`Study::of`] checks it.
    #[must_use]
    pub fn new(title: String, medium: Medium, stop: Stop) -> Self {
        Self {
            version: VERSION,
            title,
            seed: 1,
            replications: 10,
            constraint: None,
            stop,
            medium,
            faults: Faults::NONE,
            transport: Transport::lan(),
            network: Network::inactive(),
            named_stations: Vec::new(),
            stations: None,
            directory: None,
            free: Vec::new(),
            flows: Vec::new(),
            background: None,
            require: Vec::new(),
            vary: Arc::default(),
            machines: Arc::default(),
            servers: Arc::default(),
            grouped: None,
        }
    }

    /// All stations but the background's: those with names, then the group's.
    #[must_use]
    pub fn all_stations(&self) -> Vec<Station> {
        let numbered = self.stations.iter().flat_map(|group| {
            (1..=group.count).map(|i| Station {
                profile: group.profile.clone(),
                architecture: group.architecture,
                model: group.model.clone(),
                ied: group.ied.clone(),
                ..Station::new(&format!("{}-{i}", group.prefix))
            })
        });
        self.named_stations.iter().cloned().chain(numbered).collect()
    }

    /// The transport's parameters on a LAN with LSDUs of `lsdu_octets` octets: no NSDU is longer
    /// than the network or the scenario permits.
    #[must_use]
    pub fn transport_on(&self, lsdu_octets: u64) -> tp4::Params {
        let params = self.transport.params();
        let most = usize::try_from(self.network.nsdu_octets(lsdu_octets)).unwrap_or(usize::MAX);
        let nsdu_octets = self.transport.nsdu.map_or(most, |nsdu| most.min(nsdu.octets()));
        tp4::Params { nsdu_octets, ..params }
    }

    /// True if any flow uses the messaging service.
    #[must_use]
    pub fn has_messages(&self) -> bool {
        self.flows.iter().any(|flow| flow.service == Service::Message)
    }

    /// The number of messages that a flow sends, if the scenario limits it.
    #[must_use]
    pub fn messages_of(&self, flow: &Flow) -> Option<u64> {
        let total = flow.pattern.total().map(|total| total.0.div_ceil(flow.size.0.max(1)));
        flow.messages.or(total).or(self.stop.messages)
    }
}

/// The JSON Schema of a scenario file. A file that extends another needs none of its keys.
#[must_use]
pub fn schema() -> serde_json::Value {
    extended_schema::of(schemars::schema_for!(Scenario).to_value())
}

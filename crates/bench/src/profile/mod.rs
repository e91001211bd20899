//! Station profiles: the processing times of one kind of machine for each frame, as data with their
//! sources.
//!
//! A [`Profile`] names its [`Input`]s and gives for each the published figure from which it was
//! derived. The result of a run with the profile is a prediction only if it is not itself such a
//! figure. If the figures leave something open, a profile has [`Variant`]s: other inputs that fit
//! them as well, so that a result that depends on the choice is given as a band.
//!
//! A profile covers the times of the MAC and LLC, the software CRC of messages and, if it says so,
//! the transport and a user on another processor. It does not model the cost of timers and
//! connections.

mod files;
mod lists;
mod parse;
mod task;
mod tier;
mod view;

pub use files::{Files, MOST_OCTETS, ProfileFile, Unreadable, is_file_name, octets_of, read_file};
pub use parse::{parse, parse_file};
pub use tier::Tier;
pub use view::{CostView, ResourceView, TaskView};

use crate::medium::MediumKind;
use core::fmt;
use core::time::Duration;
use schemars::JsonSchema;
use serde::Serialize;
use sim::host::{self, Cost, Interface, Level, NoBuffer, Resource, Task, Tasks};
use stack::station::{Charge, WorkLayer};
use wire::addr::Sap;

/// Maximum number of frames queued for transmission in a machine.
const QUEUE_FRAMES: usize = 1_000;

/// A built-in profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BuiltIn {
    /// The name that scenarios use.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
}

/// All of them, in the order in which they are shown.
pub const ALL: [BuiltIn; 6] = [
    BuiltIn { name: "ideal", text: include_str!("../../profiles/ideal.toml") },
    BuiltIn { name: "pc-pronet", text: include_str!("../../profiles/pc-pronet.toml") },
    BuiltIn { name: "at-pronet", text: include_str!("../../profiles/at-pronet.toml") },
    BuiltIn { name: "intel-310", text: include_str!("../../profiles/intel-310.toml") },
    BuiltIn { name: "mvme372", text: include_str!("../../profiles/mvme372.toml") },
    BuiltIn { name: "nbs-1986", text: include_str!("../../profiles/nbs-1986.toml") },
];

/// Returns the built-in profile of this name.
///
/// # Panics
/// Never: a test reads all of them.
#[must_use]
pub fn built_in(name: &str) -> Option<Profile> {
    let BuiltIn { name, text } = ALL.into_iter().find(|profile| profile.name == name)?;
    Some(parse(name, text).expect("built-in profiles are valid"))
}

/// The processing times of one kind of machine for each frame.
#[derive(Clone, PartialEq, Debug)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// The machine in one line.
    pub title: String,
    /// Assumptions that no published figure confirms.
    pub assumptions: Vec<String>,
    /// Inputs of the model.
    pub inputs: Vec<Input>,
    /// Other inputs that fit the same figures.
    pub variants: Vec<Variant>,
    /// Steps of its calibration, each with more figures than the one before; none if there is one.
    pub tiers: Vec<Tier>,
    interface: Interface,
    /// Index of the input with the octets of its memory for received data; unlimited if none.
    memory: Option<usize>,
    resources: Vec<Machinery>,
    works: Vec<Work>,
}

/// Work of a station that may take its machine time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Function {
    /// Class 4 transport, checksums aside.
    #[serde(rename = "class-4")]
    Class4,
    /// CASE, the layers between it and transport included.
    Case,
    /// MMS, the layers between it and transport included.
    Mms,
    /// The checksum of class 4.
    Checksum,
    /// Datagrams of LLC.
    Datagram,
    /// Messages, their CRC aside.
    Message,
    /// The CRC of messages.
    Crc,
}

impl Function {
    /// All of them, by the names that scenarios have for them.
    pub const ALL: [(&'static str, Self); 7] = [
        ("class-4", Self::Class4),
        ("case", Self::Case),
        ("mms", Self::Mms),
        ("checksum", Self::Checksum),
        ("datagram", Self::Datagram),
        ("message", Self::Message),
        ("crc", Self::Crc),
    ];
}

/// An input of the model.
#[derive(Clone, PartialEq, Debug)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Its value, in `unit`.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// The names of the published figures from which it was derived; these figures are no
    /// predictions.
    pub calibrated_on: Vec<String>,
    /// Its source, and the derivation from it.
    pub source: String,
}

/// The unit of an input.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Unit {
    /// Milliseconds.
    Milliseconds,
    /// Microseconds for each octet.
    MicrosecondsPerOctet,
    /// A factor, relative to another.
    Ratio,
    /// Octets.
    Octets,
}

impl Unit {
    /// The limits of an input in this unit: an hour, a second for each octet, and speeds from a
    /// thousandth to a million.
    #[must_use]
    pub const fn limits(self) -> (f64, f64) {
        match self {
            Self::Milliseconds => (0.0, 3_600_000.0),
            Self::MicrosecondsPerOctet => (0.0, 1_000_000.0),
            Self::Ratio => (0.001, 1_000_000.0),
            Self::Octets => (1.0, 1_073_741_824.0),
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Milliseconds => "ms",
            Self::MicrosecondsPerOctet => "us/octet",
            Self::Ratio => "ratio",
            Self::Octets => "octets",
        })
    }
}

/// Other inputs that fit the same figures.
#[derive(Clone, PartialEq, Debug)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// The different reading or split of the figures that justifies it.
    pub why: String,
    /// The inputs that differ, and their values.
    pub inputs: Vec<(String, f64)>,
    /// The name of the last tier whose figures it fits; all of them if none is given.
    pub tier: Option<String>,
}

/// The highest layer that processes a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Layer {
    /// Between the host's memory and the interface.
    Mac,
    /// And by LLC, with the layers above it: users, and the transport, which is charged for frames
    /// of [`Sap::ISO_NETWORK`] alone.
    Llc,
}

/// A resource, and the index of the input that gives its relative speed.
#[derive(Clone, PartialEq, Debug)]
struct Machinery {
    resource: Resource,
    speed: Option<usize>,
}

/// The stage of a frame's processing to which a task belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Submit,
    Deliver,
    Send,
    Write,
    Complete,
    Read,
    Receive,
    /// Work that a layer requests.
    Layer(Charge),
}

/// A task whose costs are inputs, by their numbers.
#[derive(Clone, PartialEq, Debug)]
struct Work {
    name: String,
    stage: Stage,
    layer: Layer,
    /// The only medium on which the task is done; all media if none is given.
    medium: Option<MediumKind>,
    sap: Option<Sap>,
    level: Level,
    uses: Vec<usize>,
    cost: Charges,
}

/// The inputs that the parts of a cost are, by their numbers.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Charges {
    fixed: Option<usize>,
    /// Passage from one task of the front end's software to the next.
    hop: Option<usize>,
    octet: Option<usize>,
    /// Each value that a read returns.
    value: Option<usize>,
    checked_octet: Option<usize>,
    least: Option<usize>,
    unit: Option<usize>,
    unit_octets: Option<usize>,
    divided: Option<usize>,
}

impl Work {
    /// The layer above LLC whose requests it serves; none for the work on frames, and on messages on
    /// their way to and from a front end.
    const fn requested_by(&self) -> Option<WorkLayer> {
        match self.stage {
            Stage::Layer(Charge { at, .. }) => Some(at),
            _ => None,
        }
    }
}

impl Charges {
    /// The parts with their keys.
    const fn parts(&self) -> [(&'static str, Option<usize>); 9] {
        [
            ("fixed", self.fixed),
            ("hop", self.hop),
            ("octet", self.octet),
            ("value", self.value),
            ("checked-octet", self.checked_octet),
            ("least", self.least),
            ("unit", self.unit),
            ("unit-octets", self.unit_octets),
            ("divided", self.divided),
        ]
    }
}

impl Profile {
    /// Returns true if a station on it takes no time.
    #[must_use]
    pub const fn is_ideal(&self) -> bool {
        self.works.is_empty()
    }

    /// Returns true if a task has a cost for this function of a station, if only an input of 0.
    #[must_use]
    pub fn charges(&self, function: Function, medium: MediumKind) -> bool {
        let on_medium = |work: &&Work| work.medium.is_none_or(|only| only == medium);
        self.works.iter().filter(on_medium).any(|work| {
            let at = work.requested_by();
            let is_transport = work.sap.is_some() || at == Some(WorkLayer::Transport);
            let is_mms = matches!(at, Some(WorkLayer::Mms | WorkLayer::Session));
            let is_case = matches!(at, Some(WorkLayer::Case | WorkLayer::Session));
            let is_of_all = at.is_none() && work.sap.is_none();
            let is_checked = work.cost.checked_octet.is_some();
            let parts = work.cost.parts();
            let has_others =
                parts.iter().any(|(part, input)| *part != "checked-octet" && input.is_some());
            match function {
                Function::Class4 => is_transport && has_others,
                Function::Case => is_case,
                Function::Mms => is_mms,
                Function::Checksum => is_transport && is_checked,
                Function::Datagram | Function::Message => is_of_all && has_others,
                Function::Crc => is_of_all && is_checked,
            }
        })
    }

    /// Returns true if a task has a cost for the work of a layer above LLC, if only an input of 0.
    #[must_use]
    pub fn charges_at(&self, layer: WorkLayer) -> bool {
        self.works.iter().any(|work| {
            let is_transport = layer == WorkLayer::Transport && work.sap.is_some();
            is_transport || work.requested_by() == Some(layer)
        })
    }

    /// Memory for received TPDUs in octets; unlimited if none is given.
    #[must_use]
    pub fn memory_octets(&self) -> Option<usize> {
        self.memory.map(|input| self.value(input) as usize)
    }

    /// Returns true if its users and its protocols are on different processors.
    #[must_use]
    pub fn has_front_end(&self) -> bool {
        self.works.iter().any(|work| matches!(work.stage, Stage::Submit | Stage::Deliver))
    }

    /// The input of this name.
    #[must_use]
    pub fn input(&self, name: &str) -> Option<&Input> {
        self.inputs.iter().find(|input| input.name == name)
    }

    /// The same machine with one input multiplied by `factor`; `None` if there is no such input.
    #[must_use]
    pub fn with_input(&self, name: &str, factor: f64) -> Option<Self> {
        let mut changed = self.clone();
        let input = changed.inputs.iter_mut().find(|input| input.name == name)?;
        input.value *= factor;
        Some(changed)
    }

    /// The machine in one of its variants.
    #[must_use]
    pub fn variant(&self, name: &str) -> Option<Self> {
        let variant = self.variants.iter().find(|variant| variant.name == name)?;
        let mut changed = self.clone();
        for (name, value) in &variant.inputs {
            let input = changed.inputs.iter_mut().find(|input| input.name == *name)?;
            input.value = *value;
        }
        Some(changed)
    }

    /// The machine and each of its variants, by the variant's name: the members of a band.
    #[must_use]
    pub fn readings(&self) -> Vec<(Option<String>, Self)> {
        let variants = self.variants.iter().filter_map(|variant| {
            self.variant(&variant.name).map(|profile| (Some(variant.name.clone()), profile))
        });
        core::iter::once((None, self.clone())).chain(variants).collect()
    }

    /// The published figures that its inputs were derived from.
    #[must_use]
    pub fn calibrated_on(&self) -> Vec<&str> {
        let mut rows: Vec<&str> =
            self.inputs.iter().flat_map(|input| &input.calibrated_on).map(String::as_str).collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    }

    /// The machine for the simulator, attached to a medium, with its work up to a layer.
    #[must_use]
    pub fn host(&self, layer: Layer, medium: MediumKind, no_buffer: NoBuffer) -> host::Params {
        let mut tasks = Tasks::default();
        let on_medium = |work: &&Work| work.medium.is_none_or(|only| only == medium);
        for work in self.works.iter().filter(|work| work.layer <= layer).filter(on_medium) {
            let task = self.task(work);
            match work.stage {
                Stage::Submit => tasks.submit.push(task),
                Stage::Deliver => tasks.deliver.push(task),
                Stage::Send => tasks.send.push(task),
                Stage::Write => tasks.write.push(task),
                Stage::Complete => tasks.complete.push(task),
                Stage::Read => tasks.read.push(task),
                Stage::Receive => tasks.receive.push(task),
                // Work without a cost is not requested.
                Stage::Layer(_) if task.cost == Cost::default() => {}
                Stage::Layer(charge) => tasks.layers.entry(charge).or_default().push(task),
            }
        }
        host::Params {
            resources: self.resources.iter().map(|machinery| machinery.resource.clone()).collect(),
            tasks,
            interface: self.interface,
            no_buffer,
            queue_frames: QUEUE_FRAMES,
        }
    }

    fn value(&self, input: usize) -> f64 {
        self.inputs.get(input).map_or(0.0, |input| input.value)
    }

    /// A task with the speed of the slowest of its resources.
    fn task(&self, work: &Work) -> Task {
        let speeds = work.uses.iter().filter_map(|resource| self.resources.get(*resource));
        let speeds = speeds.map(|machinery| machinery.speed.map_or(1.0, |speed| self.value(speed)));
        // A delay uses none.
        let speed = speeds.reduce(f64::min).unwrap_or(1.0);
        let time = |input: Option<usize>| {
            let seconds = input.map_or(0.0, |input| self.value(input) / 1e3 / speed);
            Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
        };
        let picos = |input: Option<usize>| {
            input.map_or(0, |input| (self.value(input) * 1e6 / speed).round() as u64)
        };
        let charges = &work.cost;
        // The extent of an access is its number of values, and of other work its octets.
        let value_picos =
            charges.value.map_or(0.0, |input| self.value(input) * 1e9 / speed).round();
        let cost = Cost {
            fixed: time(charges.fixed).saturating_add(time(charges.hop)),
            octet_picos: picos(charges.octet).saturating_add(value_picos as u64),
            checked_octet_picos: picos(charges.checked_octet),
            least: time(charges.least),
            unit: time(charges.unit),
            // Octets are not times: a faster machine has equally large units.
            unit_octets: charges.unit_octets.map_or(0, |input| self.value(input) as usize),
            divided: time(charges.divided),
        };
        let sap = work.sap;
        Task { name: work.name.clone(), uses: work.uses.clone(), level: work.level, cost, sap }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_profile_is_right_and_makes_a_machine() {
        for BuiltIn { name, text } in ALL {
            let profile = parse(name, text).unwrap_or_else(|error| panic!("{error}"));
            for layer in [Layer::Mac, Layer::Llc] {
                for (_, medium) in MediumKind::WORDS {
                    let host = profile.host(layer, medium, NoBuffer::Refused);
                    assert_eq!(host.check(), Ok(()), "{name}");
                }
            }
            let named = profile.variants.iter().all(|v| profile.variant(&v.name).is_some());
            assert!(named, "{name}: a variant changes an input that there is not");
        }
        assert_eq!(built_in("vax"), None);
    }

    #[test]
    fn every_profile_file_is_built_in() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/profiles");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        let mut known: Vec<String> =
            ALL.iter().map(|built| format!("{}.toml", built.name)).collect();
        known.sort();
        assert_eq!(files, known);
    }

    #[test]
    fn a_faster_processor_divides_its_tasks_and_no_transfer() {
        let at = built_in("at-pronet").unwrap();
        let host = at.host(Layer::Mac, MediumKind::ProNet10, NoBuffer::Refused);
        let [start, transfer] = &host.tasks.write[..] else { panic!("{:?}", host.tasks.write) };
        // 0.8312 ms / 2.5843 = 321.634 us; 4.155 us stay.
        assert_eq!(start.cost.fixed.as_nanos() / 1_000, 321);
        assert_eq!(transfer.cost.octet_picos, 4_155_000);
        assert!(host.tasks.send.is_empty() && host.tasks.receive.is_empty(), "LLC's work is not");
    }

    #[test]
    fn medium_access_costs_time_on_the_token_bus_alone() {
        let nbs = built_in("nbs-1986").unwrap();
        for (_, medium) in MediumKind::WORDS {
            let host = nbs.host(Layer::Llc, medium, NoBuffer::Refused);
            let is_access = |task: &&Task| task.name.starts_with("access");
            let access = host.tasks.send.iter().chain(&host.tasks.receive).filter(is_access);
            let micros: u128 = access.map(|task| task.cost.fixed.as_micros()).sum();
            assert_eq!(micros, if medium == MediumKind::TokenBus { 1_500 } else { 0 });
        }
    }

    #[test]
    fn an_input_is_changed_by_its_name() {
        let pc = built_in("pc-pronet").unwrap();
        let dearer = pc.with_input("interrupt", 1.1).unwrap();
        let ratio = dearer.input("interrupt").unwrap().value / pc.input("interrupt").unwrap().value;
        assert!((ratio - 1.1).abs() < 1e-12);
        assert_eq!(pc.with_input("no such", 1.1), None);
        let rows = ["S003-022", "S003-024", "S003-026", "S003-027", "S003-033"];
        assert_eq!(pc.calibrated_on(), rows);
        assert_eq!(pc.readings().len(), 6);
    }
}

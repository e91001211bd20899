//! From a TOML tree to plain structs: one function per struct, defaults filled in.

use super::fields::{Fields, Placed, Read, pick};
use super::file::FileTransfer;
use super::mms::{self, MmsCall};
use super::problem::Problem;
use super::published::{self, Published};
use super::quantity::{Share, Size, Span};
use super::require;
use super::{
    Architecture, Background, Burst, DamageKind, Eot, Faults, Flow, Group, Scenario, Service,
    Services, Start, Station, Stop, VERSION, Warmup,
};
use crate::profile::Function;
use core::time::Duration;
use toml::de::DeValue;

/// The longest time for a run whose length is counted in messages.
const LONGEST_RUN: Span = Span(Duration::from_secs(600));

/// Version of the format. Files of another version would mean something else, so none is assumed.
fn version(fields: &mut Fields<'_, '_>, problems: &mut Vec<Problem>) -> Option<u64> {
    let version = fields.optional("version", problems);
    if version.is_none() && fields.value("version").is_none() {
        let problem = Problem::error(fields.span(), "missing key `version`".to_owned());
        problems
            .push(problem.help(format!("add `version = {VERSION}`, the format of this program")));
    }
    version
}

/// Reads a document in which `vary` has been carried out already.
pub(super) fn scenario(document: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Scenario> {
    let mut fields = Fields::of(document, problems)?;
    let version = version(&mut fields, problems);
    if let Some(version) = version
        && version != VERSION
    {
        let place = fields.span_of("version");
        let problem = Problem::error(place, format!("version {version} is not known"));
        problems.push(problem.help(format!("this program reads version {VERSION}")));
    }
    let title = fields.required("title", problems);
    let seed = fields.optional("seed", problems);
    let replications = fields.optional("replications", problems);
    let constraint = fields.optional("constraint", problems);
    let stop = fields.required("stop", problems);
    let medium = fields.required("medium", problems);
    let faults = fields.optional("faults", problems);
    let transport = fields.optional("transport", problems);
    let network = fields.optional("network", problems);
    let named_stations = fields.optional("station", problems);
    let stations = fields.optional("stations", problems);
    let directory = fields.optional("directory", problems);
    let free = fields.optional("free", problems);
    let flows = fields.optional("flow", problems);
    let background = fields.optional("background", problems);
    let require = fields.value("require").map(|value| require::read(value, problems));
    fields.value("vary");
    // Merged already.
    fields.value("extends");
    fields.finish(problems);
    let default = Scenario::new(title?, medium?, stop?);
    Some(Scenario {
        version: version?,
        seed: seed.unwrap_or(default.seed),
        replications: replications.unwrap_or(default.replications),
        constraint,
        faults: faults.unwrap_or(default.faults),
        transport: transport.unwrap_or(default.transport),
        network: network.unwrap_or(default.network),
        named_stations: named_stations.unwrap_or_default(),
        stations,
        directory,
        free: free.unwrap_or_default(),
        flows: flows.unwrap_or_default(),
        background,
        require: require.unwrap_or_default(),
        ..default
    })
}

/// Default number of retransmissions of an acknowledged message.
const MESSAGE_RETRIES: u64 = 3;

impl<T: Read> Read for Vec<T> {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let DeValue::Array(items) = value.get_ref() else {
            let problem = Problem::error(value.span(), "expected a list of tables");
            problems.push(problem.help("write its header with two brackets: [[flow]]"));
            return None;
        };
        // Every item is read, so that the problems of all of them are found.
        let mut read = Self::with_capacity(items.len());
        read.extend(items.iter().filter_map(|item| T::read(item, problems)));
        (read.len() == items.len()).then_some(read)
    }
}

impl Read for Stop {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let mut fields = Fields::of(value, problems)?;
        let messages: Option<u64> = fields.optional("messages", problems);
        let after = if fields.has("messages") {
            Some(fields.optional("after", problems).unwrap_or(LONGEST_RUN))
        } else {
            fields.required("after", problems)
        };
        let warmup = fields.optional("warmup", problems);
        fields.finish(problems);
        Some(Self { after: after?, warmup: warmup.unwrap_or(Warmup::None), messages })
    }
}

impl Read for Warmup {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let written = String::read(value, problems)?;
        match written.as_str() {
            "none" => Some(Self::None),
            "mser-5" => Some(Self::Mser5),
            span if span.starts_with(|c: char| c.is_ascii_digit()) => {
                Span::read(value, problems).map(Self::Fixed)
            }
            _ => {
                let words = [("none", Self::None), ("mser-5", Self::Mser5)];
                let span = value.span();
                pick(&written, span, "warm-up", &words, problems)
            }
        }
    }
}

impl Read for Faults {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let mut fields = Fields::of(value, problems)?;
        let none = Self::NONE;
        let mut share = |key, fields: &mut Fields<'_, '_>| -> Share {
            fields.optional(key, problems).unwrap_or_default()
        };
        let loss = share("loss", &mut fields);
        let duplicate = share("duplicate", &mut fields);
        let reorder = share("reorder", &mut fields);
        let corrupt = share("corrupt", &mut fields);
        let damage = share("damage", &mut fields);
        let mut span = |key, default: Span| fields.optional(key, problems).unwrap_or(default);
        let duplicate_delay = span("duplicate-delay", none.duplicate_delay);
        let reorder_delay = span("reorder-delay", none.reorder_delay);
        let delay = span("delay", none.delay);
        let jitter = span("jitter", none.jitter);
        let burst = fields.optional("burst", problems);
        let damage_kind = fields.optional("damage-kind", problems).unwrap_or(none.damage_kind);
        let damage_bits = fields.optional("damage-bits", problems).unwrap_or(none.damage_bits);
        fields.finish(problems);
        Some(Self {
            loss,
            burst,
            duplicate,
            duplicate_delay,
            reorder,
            reorder_delay,
            delay,
            jitter,
            corrupt,
            damage,
            damage_kind,
            damage_bits,
        })
    }
}

impl Read for Burst {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let mut fields = Fields::of(value, problems)?;
        let begin = fields.required("begin", problems);
        let end = fields.required("end", problems);
        let loss = fields.required("loss", problems);
        fields.finish(problems);
        Some(Self { begin: begin?, end: end?, loss: loss? })
    }
}

impl Read for Function {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        pick(&String::read(value, problems)?, value.span(), "function", &Self::ALL, problems)
    }
}

impl Read for Services {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let DeValue::Array(items) = value.get_ref() else {
            return Service::read(value, problems).map(Self::One);
        };
        if items.is_empty() {
            problems.push(Problem::error(value.span(), "a flow needs a service"));
            return None;
        }
        let services: Vec<_> = items.iter().map(|item| Service::read(item, problems)).collect();
        let services: Vec<Service> = services.into_iter().collect::<Option<_>>()?;
        let alone =
            [Service::Mms, Service::File, Service::Goose, Service::SampledValues, Service::Cyclic];
        if let Some(service) = alone.into_iter().find(|service| services.contains(service)) {
            let name = service.name();
            let message = format!("\"{name}\" has no service in its place");
            let problem = Problem::error(value.span(), message);
            problems.push(problem.help(format!("service = \"{name}\"")));
            return None;
        }
        Some(Self::FirstOf(services))
    }
}

impl Read for Service {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        pick(&String::read(value, problems)?, value.span(), "service", &Self::WORDS, problems)
    }
}

impl Read for Architecture {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let written = String::read(value, problems)?;
        pick(&written, value.span(), "architecture", &Self::WORDS, problems)
    }
}

impl Read for Eot {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let words = [("each", Self::Each), ("last", Self::Last)];
        pick(&String::read(value, problems)?, value.span(), "eot", &words, problems)
    }
}

impl Read for DamageKind {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let words = [("bit-flips", Self::BitFlips), ("one-octet", Self::OneOctet)];
        pick(&String::read(value, problems)?, value.span(), "damage", &words, problems)
    }
}

/// Takes a key's value in place of the default, if there is one.
pub(super) fn set<T: Read>(
    slot: &mut T,
    key: &'static str,
    fields: &mut Fields<'_, '_>,
    problems: &mut Vec<Problem>,
) {
    if let Some(value) = fields.optional(key, problems) {
        *slot = value;
    }
}

impl Read for Station {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let mut fields = Fields::of(value, problems)?;
        let name = fields.required("name", problems);
        let address = fields.optional("address", problems);
        let position = fields.optional("position", problems);
        let profile = fields.optional("profile", problems);
        let architecture = fields.optional("architecture", problems);
        let [model, ied] = ["model", "ied"].map(|key| fields.optional(key, problems));
        let enters_at = fields.optional("enters-at", problems);
        let leaves_at = fields.optional("leaves-at", problems);
        let fails_at = fields.optional("fails-at", problems);
        let loses_token_at = fields.optional("loses-token-at", problems);
        fields.finish(problems);
        Some(Self {
            name: name?,
            address,
            position,
            profile,
            architecture,
            model,
            ied,
            enters_at,
            leaves_at,
            fails_at,
            loses_token_at,
        })
    }
}

impl Read for Group {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let mut fields = Fields::of(value, problems)?;
        let count = fields.required("count", problems);
        let prefix = fields.optional("prefix", problems).unwrap_or_else(|| "station".to_owned());
        let profile = fields.optional("profile", problems);
        let architecture = fields.optional("architecture", problems);
        let [model, ied] = ["model", "ied"].map(|key| fields.optional(key, problems));
        fields.finish(problems);
        Some(Self { count: count?, prefix, profile, architecture, model, ied })
    }
}

impl Read for Flow {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let mut fields = Fields::of(value, problems)?;
        let name: Option<String> = fields.required("name", problems);
        let group = fields.optional("group", problems);
        let from = fields.required("from", problems);
        let to = fields.required("to", problems);
        let services: Option<Services> = fields.required("service", problems);
        // MMS and files are in no list: their keys describe other messages.
        let service = services.as_ref().and_then(|services| services.all().first().copied());
        let pattern = fields.required("pattern", problems);
        let is_mms = service == Some(Service::Mms);
        let mms = MmsCall::read(&mut fields, service, problems);
        mms::check_pattern(&fields, service, pattern, problems);
        let file = FileTransfer::read(&mut fields, service, pattern, problems);
        let stream = Published::read(&mut fields, service, problems);
        published::check_pattern(&fields, service, pattern, problems);
        let is_sampled = service == Some(Service::SampledValues);
        let size = match (is_mms, is_sampled && !fields.has("size")) {
            (true, _) => Some(Size(0)),
            (false, true) => Some(stream.sample_size(name.as_deref().unwrap_or_default())),
            (false, false) => fields.required("size", problems),
        };
        let messages = fields.optional("messages", problems);
        let deadline = fields.optional("deadline", problems);
        let start = fields.optional("start", problems);
        let jitter = fields.optional("jitter", problems).unwrap_or_default();
        let stagger = fields.optional("stagger", problems);
        let priority = fields.optional("priority", problems);
        let eot = fields.optional("eot", problems);
        let title = fields.optional("title", problems);
        let acknowledged = fields.optional("acknowledged", problems);
        let crc = fields.optional("crc", problems);
        let retries = fields.optional("retries", problems);
        let timeout = fields.optional("timeout", problems);
        let lacks = |service| services.as_ref().is_some_and(|it| !it.all().contains(&service));
        if lacks(Service::Message) {
            let keys = ["acknowledged", "crc", "retries", "timeout"];
            let keys = keys.into_iter().filter(|key| !(is_mms && *key == "timeout"));
            for key in keys.filter(|key| fields.has(key)) {
                let message = format!("only flows of service \"message\" have `{key}`");
                problems.push(Problem::error(fields.span_of(key), message));
            }
        }
        if lacks(Service::Case) && lacks(Service::File) && fields.has("eot") {
            let message = "only flows of service \"case\" or \"file\" have `eot`";
            problems.push(Problem::error(fields.span_of("eot"), message));
        }
        fields.finish(problems);
        let again = (acknowledged == Some(true)).then_some(MESSAGE_RETRIES);
        let default = Self::with(name?, [from?, to?], services?, pattern?, size?);
        Some(Self {
            group,
            messages,
            deadline,
            start: start.unwrap_or(default.start),
            jitter,
            stagger,
            priority: priority.or(default.priority),
            eot: eot.or(default.eot),
            mms,
            file,
            stream,
            title,
            acknowledged: acknowledged.or(default.acknowledged),
            crc: crc.or(default.crc),
            retries: retries.or(again).or(default.retries),
            timeout,
            ..default
        })
    }
}

impl Read for Start {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let written = String::read(value, problems)?;
        if written.starts_with(|c: char| c.is_ascii_digit()) {
            return Span::read(value, problems).map(Self::At);
        }
        let words = [("together", Self::Together), ("random", Self::Random)];
        pick(&written, value.span(), "start", &words, problems)
    }
}

impl Read for Background {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let mut fields = Fields::of(value, problems)?;
        let load = fields.required("load", problems);
        let stations = fields.required("stations", problems);
        let size = fields.required("size", problems);
        fields.finish(problems);
        Some(Self { load: load?, stations: stations?, size: size? })
    }
}

//! From a profile's TOML to a [`Profile`]: every problem with its line, as for scenarios.

use super::{Input, Layer, Machinery, Profile, Stage, Unit, Variant, Work};
use crate::scenario::fields::{Fields, Placed, Read, pick};
use crate::scenario::{MediumKind, Problem, ScenarioError, Source, meant, not_toml};
use sim::host::{Interface, Level, Resource};
use toml::de::{DeTable, DeValue};
use wire::addr::Sap;

/// The version of the file format that this program reads.
const VERSION: u64 = 1;

/// Reads a profile that is called `name`.
///
/// # Errors
/// Everything that is wrong with it, each with its place.
pub fn parse(name: &str, text: &str) -> Result<Profile, ScenarioError> {
    let source = Source::new(&format!("{name}.toml"), text);
    let (document, faults) = DeTable::parse_recoverable(text);
    let mut problems: Vec<Problem> = faults.iter().map(|fault| not_toml(fault, &source)).collect();
    let profile = if problems.is_empty() {
        read(name, document.get_ref(), document.span(), &mut problems)
    } else {
        None
    };
    problems.sort_by_key(|problem| (problem.span.start, problem.span.end));
    match profile {
        Some(profile) if problems.is_empty() => Ok(profile),
        _ => Err(ScenarioError { source, problems }),
    }
}

fn read(
    name: &str,
    table: &DeTable<'_>,
    span: core::ops::Range<usize>,
    problems: &mut Vec<Problem>,
) -> Option<Profile> {
    let mut fields = Fields::document(table, span);
    let version: Option<u64> = fields.required("version", problems);
    if let Some(version) = version.filter(|version| *version != VERSION) {
        let place = fields.span_of("version");
        problems.push(Problem::error(place, format!("version {version} is not known")));
    }
    let title = fields.required("title", problems);
    let interfaces = [
        ("unlimited", Interface::Unlimited),
        ("separate", Interface::Separate),
        ("shared", Interface::Shared),
    ];
    let interface = fields.word("interface", &interfaces, problems);
    let assumptions = fields.value("assumptions").and_then(|list| texts(list, problems));
    let inputs: Vec<Input> = fields.optional("input", problems).unwrap_or_default();
    let names = Names { inputs: inputs.iter().map(|input| input.name.as_str()).collect() };
    let resources = each(&mut fields, "resource", problems, |value, problems| {
        resource(value, &names, problems)
    });
    let machines: Vec<&str> = resources.iter().map(|one| one.resource.name.as_str()).collect();
    let works = each(&mut fields, "task", problems, |value, problems| {
        work(value, &names, &machines, problems)
    });
    let variants =
        each(&mut fields, "variant", problems, |value, problems| variant(value, &names, problems));
    fields.finish(problems);
    Some(Profile {
        name: name.to_owned(),
        title: title?,
        assumptions: assumptions.unwrap_or_default(),
        interface: interface?,
        resources,
        works,
        variants,
        inputs,
    })
}

/// What inputs are called.
struct Names<'a> {
    inputs: Vec<&'a str>,
}

impl Names<'_> {
    /// The number of the input that a value names.
    fn find(&self, value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<usize> {
        named(value, "input", &self.inputs, problems)
    }

    /// The number of the input that a key names, if the key is there.
    fn of(
        &self,
        fields: &mut Fields<'_, '_>,
        key: &'static str,
        problems: &mut Vec<Problem>,
    ) -> Option<usize> {
        fields.value(key).and_then(|value| self.find(value, problems))
    }
}

/// The place of the name that a value holds among some.
fn named(
    value: &Placed<'_>,
    what: &str,
    known: &[&str],
    problems: &mut Vec<Problem>,
) -> Option<usize> {
    let written = String::read(value, problems)?;
    let place = known.iter().position(|name| *name == written);
    if place.is_none() {
        let problem = Problem::error(value.span(), format!("unknown {what} \"{written}\""));
        problems.push(match meant(&written, known.iter().copied()) {
            Some(name) => problem.help(format!("did you mean \"{name}\"?")),
            None => problem,
        });
    }
    place
}

/// Reads every table of a list.
fn each<T>(
    fields: &mut Fields<'_, '_>,
    key: &'static str,
    problems: &mut Vec<Problem>,
    mut one: impl FnMut(&Placed<'_>, &mut Vec<Problem>) -> Option<T>,
) -> Vec<T> {
    let Some(value) = fields.value(key) else { return Vec::new() };
    match value.get_ref() {
        DeValue::Array(items) => items.iter().filter_map(|item| one(item, problems)).collect(),
        _ => {
            problems.push(Problem::error(value.span(), format!("expected [[{key}]] tables")));
            Vec::new()
        }
    }
}

fn texts(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Vec<String>> {
    let DeValue::Array(items) = value.get_ref() else {
        problems.push(Problem::error(value.span(), "expected a list of strings"));
        return None;
    };
    Some(items.iter().filter_map(|item| String::read(item, problems)).collect())
}

fn resource(
    value: &Placed<'_>,
    names: &Names<'_>,
    problems: &mut Vec<Problem>,
) -> Option<Machinery> {
    let mut fields = Fields::of(value, problems)?;
    let name = fields.required("name", problems);
    let is_processor = fields.required("processor", problems);
    let speed = names.of(&mut fields, "speed", problems);
    fields.finish(problems);
    Some(Machinery { resource: Resource { name: name?, is_processor: is_processor? }, speed })
}

fn work(
    value: &Placed<'_>,
    names: &Names<'_>,
    machines: &[&str],
    problems: &mut Vec<Problem>,
) -> Option<Work> {
    let mut fields = Fields::of(value, problems)?;
    let name = fields.required("name", problems);
    let stages = [
        ("submit", Stage::Submit),
        ("deliver", Stage::Deliver),
        ("send", Stage::Send),
        ("write", Stage::Write),
        ("complete", Stage::Complete),
        ("read", Stage::Read),
        ("receive", Stage::Receive),
    ];
    let stage = fields.word("stage", &stages, problems);
    let layers = [
        ("mac", (Layer::Mac, None)),
        ("llc", (Layer::Llc, None)),
        ("transport", (Layer::Llc, Some(Sap::ISO_NETWORK))),
    ];
    let layer = fields.word("layer", &layers, problems);
    let medium = match fields.value("medium") {
        Some(value) => {
            let word = String::read(value, problems);
            word.and_then(|word| pick(&word, value.span(), "medium", &MediumKind::WORDS, problems))
        }
        None => None,
    };
    let levels = [("base", Level::Base), ("interrupt", Level::Interrupt)];
    let level = fields.word("level", &levels, problems);
    let uses = each(&mut fields, "uses", problems, |value, problems| {
        named(value, "resource", machines, problems)
    });
    if uses.is_empty() {
        problems.push(Problem::error(fields.span_of("uses"), "a task uses a resource"));
    }
    let costs = fields.value("cost").and_then(|value| Fields::of(value, problems));
    if costs.is_none() {
        problems.push(Problem::error(fields.span_of("cost"), "a task has a `cost`"));
    }
    fields.finish(problems);
    let mut costs = costs?;
    let fixed = names.of(&mut costs, "fixed", problems);
    let octet = names.of(&mut costs, "octet", problems);
    let checked_octet = names.of(&mut costs, "checked-octet", problems);
    let least = names.of(&mut costs, "least", problems);
    let unit = names.of(&mut costs, "unit", problems);
    let unit_octets = names.of(&mut costs, "unit-octets", problems);
    let divided = names.of(&mut costs, "divided", problems);
    costs.finish(problems);
    let (layer, sap) = layer?;
    Some(Work {
        name: name?,
        stage: stage?,
        layer,
        medium,
        sap,
        level: level?,
        uses,
        fixed,
        octet,
        checked_octet,
        least,
        unit,
        unit_octets,
        divided,
    })
}

fn variant(value: &Placed<'_>, names: &Names<'_>, problems: &mut Vec<Problem>) -> Option<Variant> {
    let mut fields = Fields::of(value, problems)?;
    let name = fields.required("name", problems);
    let why = fields.required("why", problems);
    let inputs = each(&mut fields, "inputs", problems, |value, problems| {
        let mut fields = Fields::of(value, problems)?;
        let input = names.of(&mut fields, "name", problems);
        let amount = fields.required("value", problems);
        fields.finish(problems);
        let Amount(amount) = amount?;
        let name = names.inputs.get(input?)?;
        Some(((*name).to_owned(), amount))
    });
    fields.finish(problems);
    Some(Variant { name: name?, why: why?, inputs })
}

/// A number that is not negative.
struct Amount(f64);

impl Read for Amount {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let written = match value.get_ref() {
            DeValue::Float(float) => Some(float.as_str()),
            DeValue::Integer(integer) => Some(integer.as_str()),
            _ => None,
        };
        let amount: Option<f64> = written.and_then(|written| written.parse().ok());
        let amount = amount.filter(|amount| amount.is_finite() && *amount >= 0.0);
        if amount.is_none() {
            problems.push(Problem::error(value.span(), "expected a number from 0 upwards"));
        }
        amount.map(Self)
    }
}

impl Read for Input {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let mut fields = Fields::of(value, problems)?;
        let name = fields.required("name", problems);
        let place = fields.span_of("value");
        let amount = fields.required("value", problems);
        let unit = fields.required("unit", problems);
        let calibrated_on = fields.value("calibrated-on").and_then(|list| texts(list, problems));
        let source = fields.required("source", problems);
        fields.finish(problems);
        let (Amount(value), unit) = (amount?, unit?);
        if unit == Unit::Ratio && value <= 0.0 {
            problems.push(Problem::error(place, "a ratio is more than zero"));
        }
        let calibrated_on = calibrated_on.unwrap_or_default();
        Some(Self { name: name?, value, unit, calibrated_on, source: source? })
    }
}

impl Read for Unit {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let words = [
            ("ms", Self::Milliseconds),
            ("us/octet", Self::MicrosecondsPerOctet),
            ("ratio", Self::Ratio),
            ("octets", Self::Octets),
        ];
        pick(&String::read(value, problems)?, value.span(), "unit", &words, problems)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"version = 1
title = "a machine"
interface = "shared"
[[resource]]
name = "cpu"
processor = true
[[task]]
name = "frame"
stage = "send"
layer = "llc"
level = "base"
uses = ["cpu"]
cost = { fixed = "framing" }
[[input]]
name = "framing"
value = 1.5
unit = "ms"
source = "measured"
"#;

    /// What is wrong with the good profile after a change, with the lines.
    #[track_caller]
    fn check(from: &str, to: &str, expected: &[&str]) {
        assert!(GOOD.contains(from));
        let text = GOOD.replace(from, to);
        let shown = parse("a", &text).map_or_else(|error| error.to_string(), |_| String::new());
        for expected in expected {
            assert!(shown.contains(expected), "{shown}");
        }
        assert_eq!(shown.is_empty(), expected.is_empty(), "{shown}");
    }

    #[test]
    fn what_is_wrong_with_a_profile_is_said_with_its_line() {
        check("", "", &[]);
        check("version = 1", "version = 2", &["version 2 is not known", "a.toml:1:11"]);
        check("\"shared\"", "\"shard\"", &["unknown interface \"shard\"", "a.toml:3:13"]);
        let help = "did you mean \"framing\"?";
        check("{ fixed = \"framing\"", "{ fixed = \"framin\"", &["a.toml:13:18", help]);
        check("[\"cpu\"]", "[\"cup\"]", &["unknown resource \"cup\"", "a.toml:12:9"]);
        check("uses = [\"cpu\"]\n", "", &["a task uses a resource"]);
        check("1.5", "-1.5", &["expected a number from 0 upwards", "a.toml:16:9"]);
        check("\"ms\"", "\"s\"", &["unknown unit \"s\"", "a.toml:17:8"]);
        check("source =", "sorce =", &["did you mean `source`?"]);
        check("title = \"a machine\"\n", "", &["missing key `title`"]);
        check("= \"measured\"", "=", &["a.toml:18"]);
    }
}

//! From a profile's TOML to a [`Profile`]: every problem with its line, as for scenarios.

use super::{Charges, Input, Layer, Machinery, Profile, Stage, Unit, Variant, Work};
use crate::scenario::fields::{Fields, Placed, Read, pick};
use crate::scenario::names::{wrong_name, wrong_title};
use crate::scenario::{MediumKind, Problem, ScenarioError, Source, meant, not_toml};
use sim::host::{Interface, Level, Resource};
use std::collections::BTreeSet;
use toml::de::{DeTable, DeValue};
use wire::addr::Sap;

/// The version of the file format that this program reads.
const VERSION: u64 = 1;
/// The most entries of each list.
const MOST_INPUTS: usize = 1_000;
const MOST_RESOURCES: usize = 64;
const MOST_TASKS: usize = 256;
const MOST_VARIANTS: usize = 256;
/// The parts of a task's cost.
const PARTS: [&str; 7] =
    ["fixed", "octet", "checked-octet", "least", "unit", "unit-octets", "divided"];

/// Reads a profile that is called `name`.
///
/// # Errors
/// Everything that is wrong with it, each with its place.
pub fn parse(name: &str, text: &str) -> Result<Profile, ScenarioError> {
    parse_file(name, &format!("{name}.toml"), text)
}

/// Reads a profile that is called `name` from a file, which errors call `file`.
///
/// # Errors
/// Everything that is wrong with it, each with its place.
pub fn parse_file(name: &str, file: &str, text: &str) -> Result<Profile, ScenarioError> {
    let source = Source::new(file, text);
    let (document, faults) = DeTable::parse_recoverable(text);
    let mut problems: Vec<Problem> = faults.iter().map(|fault| not_toml(fault, &source)).collect();
    let profile = if problems.is_empty() {
        read(name, document.get_ref(), document.span(), &mut problems)
    } else {
        None
    };
    problems.sort_by_key(|problem| (problem.place.start, problem.place.end));
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
        let problem = Problem::error(place, format!("version {version} is not known"));
        problems.push(problem.help(format!("this program reads version {VERSION}")));
    }
    let title: Option<String> = fields.required("title", problems);
    if let Some(message) = title.as_deref().and_then(wrong_title) {
        problems.push(Problem::error(fields.span_of("title"), message));
    }
    let interfaces = [
        ("unlimited", Interface::Unlimited),
        ("separate", Interface::Separate),
        ("shared", Interface::Shared),
    ];
    let interface = fields.word("interface", &interfaces, problems);
    let assumptions = fields.value("assumptions").and_then(|list| texts(list, problems));
    let inputs = each(&mut fields, "input", MOST_INPUTS, problems, Input::read);
    let names = Names::of(fields.value("input"), problems);
    let resources = each(&mut fields, "resource", MOST_RESOURCES, problems, |value, problems| {
        resource(value, &names, problems)
    });
    let machines = once("resource", fields.value("resource"), problems);
    let works = each(&mut fields, "task", MOST_TASKS, problems, |value, problems| {
        work(value, &names, &machines, problems)
    });
    once("task", fields.value("task"), problems);
    let variants = each(&mut fields, "variant", MOST_VARIANTS, problems, |value, problems| {
        variant(value, &names, problems)
    });
    once("variant", fields.value("variant"), problems);
    if fields.value("task").is_none() && (fields.has("input") || fields.has("resource")) {
        let problem = Problem::error(fields.span(), "no [[task]] uses what this profile describes");
        problems.push(problem.help("the profile \"ideal\" is a station that takes no time"));
    }
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

/// The name of an entry of a list, if it has one.
fn name_of<'t>(item: &'t Placed<'_>) -> Option<(&'t str, core::ops::Range<usize>)> {
    let name = item.get_ref().get("name")?;
    Some((name.get_ref().as_str()?, name.span()))
}

/// The names of a list's entries in their order, wrong ones included. Each may occur once.
fn once<'t>(what: &str, list: Option<&'t Placed<'_>>, problems: &mut Vec<Problem>) -> Vec<&'t str> {
    let Some(DeValue::Array(items)) = list.map(toml::Spanned::get_ref) else { return Vec::new() };
    let mut seen = BTreeSet::new();
    let mut names = Vec::new();
    for item in items.iter() {
        let (name, span) = name_of(item).unwrap_or(("", item.span()));
        let wrong = wrong_name(name).or_else(|| {
            let is_first = name.is_empty() || seen.insert(name);
            (!is_first).then(|| format!("there are two {what}s \"{name}\""))
        });
        problems.extend(wrong.map(|message| Problem::error(span, message)));
        names.push(name);
    }
    names
}

/// Names of inputs, and their units if they are valid.
struct Names<'a> {
    inputs: Vec<&'a str>,
    units: Vec<Option<Unit>>,
}

impl<'a> Names<'a> {
    fn of(list: Option<&'a Placed<'_>>, problems: &mut Vec<Problem>) -> Self {
        let inputs = once("input", list, problems);
        let items = list.and_then(|list| list.get_ref().as_array());
        // An invalid unit is reported where the input is read.
        let unit = |item: &Placed<'_>| Unit::read(item.get_ref().get("unit")?, &mut Vec::new());
        let units = items.into_iter().flat_map(|items| items.iter()).map(unit).collect();
        Self { inputs, units }
    }

    /// The number of the input that a value names.
    fn find(&self, value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<usize> {
        named(value, "input", &self.inputs, problems)
    }

    /// The number of the input that a key names, if the key is there; its unit must be the key's.
    fn take(
        &self,
        fields: &mut Fields<'_, '_>,
        key: &'static str,
        unit: Unit,
        problems: &mut Vec<Problem>,
    ) -> Option<usize> {
        let value = fields.value(key)?;
        let input = self.find(value, problems)?;
        let found = self.units.get(input).copied().flatten();
        if let Some(found) = found.filter(|found| *found != unit) {
            let message = format!("`{key}` is in {unit}, and this input is in {found}");
            problems.push(Problem::error(value.span(), message));
        }
        Some(input)
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

/// Reads every table of a list of at most `most`.
fn each<T>(
    fields: &mut Fields<'_, '_>,
    key: &'static str,
    most: usize,
    problems: &mut Vec<Problem>,
    mut one: impl FnMut(&Placed<'_>, &mut Vec<Problem>) -> Option<T>,
) -> Vec<T> {
    let Some(value) = fields.value(key) else { return Vec::new() };
    match value.get_ref() {
        DeValue::Array(items) if items.len() > most => {
            let message = format!("{} entries of `{key}` are more than {most}", items.len());
            problems.push(Problem::error(value.span(), message));
            Vec::new()
        }
        DeValue::Array(items) => items.iter().filter_map(|item| one(item, problems)).collect(),
        _ => {
            problems.push(Problem::error(value.span(), format!("expected a list for `{key}`")));
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
    let speed = names.take(&mut fields, "speed", Unit::Ratio, problems);
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
    let mut medium_of = |value: &Placed<'_>| {
        let word = String::read(value, problems)?;
        pick(&word, value.span(), "medium", &MediumKind::WORDS, problems)
    };
    let medium = fields.value("medium").and_then(&mut medium_of);
    let levels = [("base", Level::Base), ("interrupt", Level::Interrupt)];
    let level = fields.word("level", &levels, problems);
    let uses = each(&mut fields, "uses", MOST_RESOURCES, problems, |value, problems| {
        named(value, "resource", machines, problems)
    });
    if uses.is_empty() {
        problems.push(Problem::error(fields.span_of("uses"), "a task uses a resource"));
    } else if uses.iter().collect::<BTreeSet<_>>().len() < uses.len() {
        let message = "a task uses each of its resources once";
        problems.push(Problem::error(fields.span_of("uses"), message));
    }
    let cost = fields.value("cost").and_then(|value| cost(value, names, problems));
    if !fields.has("cost") {
        problems.push(Problem::error(fields.span(), "a task has a `cost`"));
    }
    if let (Some(stage), Some((_, sap)), Some(cost)) = (stage, layer, &cost)
        && let Some(message) = never_charged(stage, sap, cost)
    {
        problems.push(Problem::error(fields.span_of("stage"), message));
    }
    fields.finish(problems);
    let (layer, sap) = layer?;
    let (name, stage, level, cost) = (name?, stage?, level?, cost?);
    Some(Work { name, stage, layer, medium, sap, level, uses, cost })
}

/// Reason why a part of a task's cost is never charged at its stage, if there is such a part.
fn never_charged(stage: Stage, sap: Option<Sap>, cost: &Charges) -> Option<&'static str> {
    match stage {
        Stage::Complete if sap.is_some() => Some(
            "a frame that was sent is of no layer above LLC: `complete` is of \"mac\" or \"llc\"",
        ),
        Stage::Submit | Stage::Deliver | Stage::Complete if cost.checked_octet.is_some() => {
            Some("`checked-octet` is charged at `send`, `write`, `read` and `receive` alone")
        }
        _ => None,
    }
}

/// The inputs that a task's cost names. A part that charges nothing is refused: a part without cost
/// needs an input of 0, with its source.
fn cost(value: &Placed<'_>, names: &Names<'_>, problems: &mut Vec<Problem>) -> Option<Charges> {
    let mut fields = Fields::of(value, problems)?;
    let mut take = |key, unit| names.take(&mut fields, key, unit, problems);
    let charges = Charges {
        fixed: take("fixed", Unit::Milliseconds),
        octet: take("octet", Unit::MicrosecondsPerOctet),
        checked_octet: take("checked-octet", Unit::MicrosecondsPerOctet),
        least: take("least", Unit::Milliseconds),
        unit: take("unit", Unit::Milliseconds),
        unit_octets: take("unit-octets", Unit::Octets),
        divided: take("divided", Unit::Milliseconds),
    };
    let has_unit_cost = fields.has("unit") || fields.has("divided");
    let wrong = match (fields.has("unit-octets"), has_unit_cost) {
        (false, true) => Some("`unit` and `divided` need `unit-octets`: the octets of a unit"),
        (true, false) => Some("`unit-octets` charges nothing without `unit` or `divided`"),
        _ if PARTS.iter().all(|part| !fields.has(part)) => Some("a cost names an input"),
        _ => None,
    };
    if let Some(message) = wrong {
        let problem = Problem::error(fields.span(), message);
        problems.push(problem.help("as in cost = { fixed = \"NAME\" }, of an [[input]]"));
    }
    fields.finish(problems);
    Some(charges)
}

fn variant(value: &Placed<'_>, names: &Names<'_>, problems: &mut Vec<Problem>) -> Option<Variant> {
    let mut fields = Fields::of(value, problems)?;
    let name = fields.required("name", problems);
    let why = fields.required("why", problems);
    once("input", fields.value("inputs"), problems);
    let inputs = each(&mut fields, "inputs", MOST_INPUTS, problems, |value, problems| {
        let mut fields = Fields::of(value, problems)?;
        let input = fields.value("name").and_then(|name| names.find(name, problems));
        if !fields.has("name") {
            problems.push(Problem::error(fields.span(), "missing key `name`"));
        }
        let place = fields.span_of("value");
        let amount = fields.required("value", problems);
        fields.finish(problems);
        let Amount(amount) = amount?;
        let input = input?;
        if let Some(unit) = names.units.get(input).copied().flatten() {
            within(unit, amount, place, problems);
        }
        Some(((*names.inputs.get(input)?).to_owned(), amount))
    });
    fields.finish(problems);
    Some(Variant { name: name?, why: why?, inputs })
}

/// Refuses an amount that no machine has. The longest task is far below the end of simulated time.
fn within(unit: Unit, amount: f64, place: core::ops::Range<usize>, problems: &mut Vec<Problem>) {
    let (least, most) = unit.limits();
    let is_within = (least..=most).contains(&amount);
    let is_whole = unit != Unit::Octets || amount.fract() == 0.0;
    if !is_within || !is_whole {
        let whole = if unit == Unit::Octets { "a whole number" } else { "a number" };
        let message = format!("expected {whole} from {least} to {most} in {unit}");
        problems.push(Problem::error(place, message));
    }
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
        within(unit, value, place, problems);
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

    /// Changes the good profile and compares the problems, with their lines.
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
    fn a_wrong_profile_is_reported_with_its_line() {
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

    /// Checks the one problem of the good profile after a change.
    #[track_caller]
    fn only(from: &str, to: &str, expected: &str) {
        assert!(GOOD.contains(from));
        let error = parse("a", &GOOD.replace(from, to)).unwrap_err();
        let messages: Vec<&str> = error.problems.iter().map(|it| it.message.as_str()).collect();
        assert_eq!(messages, [expected], "{error}");
    }

    #[test]
    fn an_input_has_the_unit_of_its_key_and_a_sane_amount() {
        let wrong = "expected a number from 0 to 3600000 in ms";
        only("1.5", "1e300", wrong);
        only("1.5", "3600001", wrong);
        only("1.5", "inf", "expected a number from 0 upwards");
        only("1.5", "nan", "expected a number from 0 upwards");
        only("1.5", "-1.5", "expected a number from 0 upwards");
        let unit = "`fixed` is in ms, and this input is in us/octet";
        only("\"ms\"", "\"us/octet\"", unit);
        let units = "{ unit = \"framing\", unit-octets = \"half\"";
        let input = "[[input]]\nname = \"half\"\nvalue = 0.5\nunit = \"octets\"\nsource = \"\"\n";
        let half = "expected a whole number from 1 to 1073741824 in octets";
        let text = GOOD.replace("{ fixed = \"framing\"", units) + input;
        assert_eq!(parse("a", &text).unwrap_err().problems[0].message, half);
        assert!(parse("a", &text.replace("= 0.5", "= 512")).is_ok());
    }

    #[test]
    fn a_cost_that_charges_nothing_is_refused() {
        let cost = "{ fixed = \"framing\" }";
        only(cost, "{}", "a cost names an input");
        let needs = "`unit` and `divided` need `unit-octets`: the octets of a unit";
        only(cost, "{ unit = \"framing\" }", needs);
        only(cost, "{ divided = \"framing\" }", needs);
        let text = GOOD.replace("\"ms\"", "\"us/octet\"").replace("fixed =", "checked-octet =");
        assert!(parse("a", &text).is_ok());
        let message = "`checked-octet` is charged at `send`, `write`, `read` and `receive` alone";
        let error = parse("a", &text.replace("\"send\"", "\"submit\"")).unwrap_err();
        assert_eq!(error.problems[0].message, message);
        let text = GOOD.replace("\"llc\"", "\"transport\"").replace("\"send\"", "\"complete\"");
        let error = parse("a", &text).unwrap_err().to_string();
        assert!(
            error.contains("`complete` is of \"mac\" or \"llc\"") && error.contains("a.toml:9:9")
        );
        let idle = "no [[task]] uses what this profile describes";
        let without = GOOD.split("[[task]]").next().unwrap();
        assert_eq!(parse("a", without).unwrap_err().problems[0].message, idle);
    }

    #[test]
    fn names_are_there_once_and_lists_are_bounded() {
        let input = GOOD.split("[[input]]").nth(1).unwrap();
        let messages = |text: &str| {
            let error = parse("a", text).unwrap_err();
            error.problems.into_iter().map(|it| it.message).collect::<Vec<_>>()
        };
        let twice = format!("{GOOD}[[input]]{input}");
        assert_eq!(messages(&twice), ["there are two inputs \"framing\""]);
        only("[\"cpu\"]", "[\"cpu\", \"cpu\"]", "a task uses each of its resources once");
        let many = (0..=MOST_INPUTS)
            .map(|i| format!("[[input]]{}", input.replace("framing", &format!("x{i}"))))
            .collect::<String>();
        assert_eq!(
            messages(&(GOOD.to_owned() + &many)),
            ["1002 entries of `input` are more than 1000"]
        );
    }
}

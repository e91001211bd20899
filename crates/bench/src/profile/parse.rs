//! From a profile's TOML to a [`Profile`]: every problem with its line, as for scenarios.

use super::lists::{MOST_RESOURCES, Names, each, once};
use super::task::work;
use super::{Input, Machinery, Profile, Tier, Unit, Variant};
use crate::scenario::fields::{Fields, Placed, Read, pick};
use crate::scenario::names::wrong_title;
use crate::scenario::{Problem, ScenarioError, Source, not_toml};
use sim::host::{Interface, Resource};
use std::collections::BTreeSet;
use toml::de::{DeTable, DeValue};

/// The version of the file format that this program reads.
const VERSION: u64 = 1;
/// The most entries of each list.
const MOST_INPUTS: usize = 1_000;
const MOST_TASKS: usize = 256;
const MOST_VARIANTS: usize = 256;
const MOST_TIERS: usize = 16;
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
    let memory = names.take(&mut fields, "memory", Unit::Octets, problems);
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
    let tiers = each(&mut fields, "tier", MOST_TIERS, problems, |value, problems| {
        tier(value, &names, problems)
    });
    once("tier", fields.value("tier"), problems);
    contradictions(&fields, &inputs, &variants, &tiers, problems);
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
        memory,
        resources,
        works,
        variants,
        tiers,
        inputs,
    })
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

fn variant(value: &Placed<'_>, names: &Names<'_>, problems: &mut Vec<Problem>) -> Option<Variant> {
    let mut fields = Fields::of(value, problems)?;
    let name = fields.required("name", problems);
    let why = fields.required("why", problems);
    let tier = fields.optional("tier", problems);
    let inputs = values(&mut fields, names, problems);
    fields.finish(problems);
    Some(Variant { name: name?, why: why?, inputs, tier })
}

fn tier(value: &Placed<'_>, names: &Names<'_>, problems: &mut Vec<Problem>) -> Option<Tier> {
    let mut fields = Fields::of(value, problems)?;
    let name = fields.required("name", problems);
    let title = fields.required("title", problems);
    let calibrated_on = fields.value("calibrated-on").and_then(|list| texts(list, problems));
    let inputs = values(&mut fields, names, problems);
    fields.finish(problems);
    let calibrated_on = calibrated_on.unwrap_or_default();
    Some(Tier { name: name?, title: title?, calibrated_on, inputs })
}

/// Refuses tiers, inputs and variants that contradict each other.
fn contradictions(
    fields: &Fields<'_, '_>,
    inputs: &[Input],
    variants: &[Variant],
    tiers: &[Tier],
    problems: &mut Vec<Problem>,
) {
    let mut add = |key, message| problems.push(Problem::error(fields.span_of(key), message));
    let known = |name: &str| tiers.iter().any(|tier| tier.name == name);
    for variant in variants {
        if let Some(tier) = variant.tier.as_deref().filter(|tier| !known(tier)) {
            add("variant", format!("\"{}\" fits an unknown tier \"{tier}\"", variant.name));
        }
    }
    let mut rows = BTreeSet::new();
    for row in tiers.iter().flat_map(|tier| &tier.calibrated_on) {
        if !rows.insert(row.as_str()) {
            add("tier", format!("two tiers add \"{row}\""));
        }
    }
    if tiers.is_empty() {
        return;
    }
    for input in inputs {
        let missing = input.calibrated_on.iter().find(|row| !rows.contains(row.as_str()));
        if let Some(row) = missing {
            add("input", format!("no tier adds \"{row}\", of the input \"{}\"", input.name));
        }
    }
}

/// The values that a variant or a tier gives to inputs.
fn values(
    fields: &mut Fields<'_, '_>,
    names: &Names<'_>,
    problems: &mut Vec<Problem>,
) -> Vec<(String, f64)> {
    once("input", fields.value("inputs"), problems);
    each(fields, "inputs", MOST_INPUTS, problems, |value, problems| {
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
    })
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
        let memory = |name: &str| format!("\"shared\"\nmemory = \"{name}\"");
        let expected = ["`memory` is in octets, and this input is in ms", "a.toml:4:10"];
        check("\"shared\"", &memory("framing"), &expected);
        check("\"shared\"", &memory("board"), &["unknown input \"board\"", "a.toml:4:10"]);
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
    fn a_task_is_of_frames_or_of_a_layer() {
        let of_frames = "stage = \"send\"\nlayer = \"llc\"";
        for (at, kind) in [
            ("user", "confirm"),
            ("case", "down"),
            ("session", "close"),
            ("transport", "make-ack"),
            ("network", "up"),
            ("link", "down"),
        ] {
            let text = GOOD.replace(of_frames, &format!("at = \"{at}\"\nkind = \"{kind}\""));
            assert!(parse("a", &text).is_ok(), "{at} {kind}");
        }
        only(of_frames, "at = \"user\"\nkind = \"make-ack\"", "this layer requests no such work");
        let both = "`stage` is of work on frames, and `at` of work that a layer requests";
        let at = "at = \"case\"\nkind = \"up\"";
        only("layer = \"llc\"", at, both);
        only(of_frames, "at = \"case\"", "missing key `kind`");
    }

    #[test]
    fn tiers_that_contradict_each_other_are_refused() {
        let messages = |more: &str| {
            let input = GOOD.replace("unit = \"ms\"", "unit = \"ms\"\ncalibrated-on = [\"A\"]");
            let error = parse("a", &(input + more)).map_or_else(|error| error.problems, |_| vec![]);
            error.into_iter().map(|it| it.message).collect::<Vec<_>>()
        };
        let tier = |name: &str, row: &str| {
            format!("[[tier]]\nname = \"{name}\"\ntitle = \"t\"\ncalibrated-on = [\"{row}\"]\n")
        };
        let good = tier("one", "A");
        assert_eq!(messages(&good), [""; 0]);
        assert_eq!(messages(&(good.clone() + &tier("two", "A"))), ["two tiers add \"A\""]);
        let missing = ["no tier adds \"A\", of the input \"framing\""];
        assert_eq!(messages(&tier("one", "B")), missing);
        let variant = "[[variant]]\nname = \"v\"\nwhy = \"w\"\ntier = \"three\"\ninputs = []\n";
        assert_eq!(messages(&(good + variant)), ["\"v\" fits an unknown tier \"three\""]);
    }

    #[test]
    fn a_tier_has_its_inputs_and_those_of_the_tiers_before() {
        let text = GOOD.replace("unit = \"ms\"", "unit = \"ms\"\ncalibrated-on = [\"A\", \"B\"]")
            + "[[tier]]\nname = \"one\"\ntitle = \"t\"\ncalibrated-on = [\"A\"]\n\
               inputs = [{ name = \"framing\", value = 2.5 }]\n\
               [[tier]]\nname = \"two\"\ntitle = \"t\"\ncalibrated-on = [\"B\"]\n\
               [[variant]]\nname = \"v\"\nwhy = \"w\"\ntier = \"one\"\ninputs = []\n";
        let profile = parse("a", &text).unwrap_or_else(|error| panic!("{error}"));
        let at = |tier: &str| profile.at_tier(tier).unwrap();
        assert_eq!(profile.input("framing").unwrap().value.to_bits(), 1.5_f64.to_bits());
        assert_eq!(at("two").input("framing").unwrap().value.to_bits(), 2.5_f64.to_bits());
        assert_eq!(
            (at("one").calibrated_on(), at("two").calibrated_on()),
            (vec!["A"], vec!["A", "B"])
        );
        assert_eq!((at("one").readings().len(), at("two").readings().len()), (2, 1));
        assert!(profile.at_tier("three").is_none());
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

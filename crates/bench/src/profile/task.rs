//! From a profile's TOML to its tasks: stage or layer, resources and cost of each.

use super::lists::{MOST_RESOURCES, Names, each, named};
use super::{Charges, Layer, Stage, Unit, Work};
use crate::scenario::fields::{Fields, Placed, Read, pick};
use crate::scenario::{MediumKind, Problem};
use sim::host::Level;
use stack::station::{Charge, WorkKind, WorkLayer};
use std::collections::BTreeSet;
use wire::addr::Sap;

/// The parts of a task's cost.
const PARTS: [&str; 9] =
    ["fixed", "hop", "octet", "value", "checked-octet", "least", "unit", "unit-octets", "divided"];

/// Reads a task.
pub(super) fn work(
    value: &Placed<'_>,
    names: &Names<'_>,
    machines: &[&str],
    problems: &mut Vec<Problem>,
) -> Option<Work> {
    let mut fields = Fields::of(value, problems)?;
    let name = fields.required("name", problems);
    let requested = charge_of(&mut fields, problems);
    let stages = [
        ("submit", Stage::Submit),
        ("deliver", Stage::Deliver),
        ("send", Stage::Send),
        ("write", Stage::Write),
        ("complete", Stage::Complete),
        ("read", Stage::Read),
        ("receive", Stage::Receive),
    ];
    let is_requested = fields.has("at") || fields.has("kind");
    let stage = match is_requested {
        true => requested,
        false => fields.word("stage", &stages, problems),
    };
    let layers = [
        ("mac", (Layer::Mac, None)),
        ("llc", (Layer::Llc, None)),
        ("transport", (Layer::Llc, Some(Sap::ISO_NETWORK))),
    ];
    let layer = match is_requested {
        true => requested.map(|_| (Layer::Llc, None)),
        false => fields.word("layer", &layers, problems),
    };
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
    let is_layer = matches!(requested, Some(Stage::Layer(_)));
    if uses.is_empty() && !(is_layer && fields.has("uses")) {
        let problem = Problem::error(fields.span_of("uses"), "a task uses a resource");
        let help = "uses = [] is a delay, and only work `at` a layer above the link can be one";
        problems.push(problem.help(help));
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
        let key = if is_requested { "kind" } else { "stage" };
        problems.push(Problem::error(fields.span_of(key), message));
    }
    fields.finish(problems);
    let (layer, sap) = layer?;
    let (name, stage, level, cost) = (name?, stage?, level?, cost?);
    Some(Work { name, stage, layer, medium, sap, level, uses, cost })
}

/// Reason why a part of a task's cost is never charged at its stage, if there is such a part.
fn never_charged(stage: Stage, sap: Option<Sap>, cost: &Charges) -> Option<&'static str> {
    let is_access = matches!(stage, Stage::Layer(Charge { kind: WorkKind::Access, .. }));
    match stage {
        _ if is_access && (cost.octet.is_some() || cost.unit.is_some()) => {
            Some("an access is charged by `value`: its octets are those of `down`")
        }
        _ if !is_access && cost.value.is_some() => {
            Some("`value` is charged at \"mms\" with kind \"access\" alone")
        }
        Stage::Complete if sap.is_some() => Some(
            "a frame that was sent is of no layer above LLC: `complete` is of \"mac\" or \"llc\"",
        ),
        Stage::Submit | Stage::Deliver | Stage::Complete | Stage::Layer(_)
            if cost.checked_octet.is_some() =>
        {
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
        hop: take("hop", Unit::Milliseconds),
        octet: take("octet", Unit::MicrosecondsPerOctet),
        value: take("value", Unit::Milliseconds),
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

/// The work that `at` and `kind` name.
fn charge_of(fields: &mut Fields<'_, '_>, problems: &mut Vec<Problem>) -> Option<Stage> {
    if !fields.has("at") && !fields.has("kind") {
        return None;
    }
    for key in ["stage", "layer"] {
        if fields.value(key).is_none() {
            continue;
        }
        let message =
            format!("`{key}` is of work on frames, and `at` of work that a layer requests");
        problems.push(Problem::error(fields.span_of(key), message));
    }
    let layers = [
        ("user", Some(WorkLayer::User)),
        ("case", Some(WorkLayer::Case)),
        ("mms", Some(WorkLayer::Mms)),
        ("session", Some(WorkLayer::Session)),
        ("transport", Some(WorkLayer::Transport)),
        ("network", Some(WorkLayer::Network)),
        ("link", None),
    ];
    let kinds = [
        ("down", WorkKind::Down),
        ("up", WorkKind::Up),
        ("segment", WorkKind::Segment),
        ("make-ack", WorkKind::MakeAk),
        ("take-ack", WorkKind::TakeAk),
        ("confirm", WorkKind::Confirm),
        ("open", WorkKind::Open),
        ("close", WorkKind::Close),
        ("access", WorkKind::Access),
    ];
    let at = fields.word("at", &layers, problems);
    let kind = fields.word("kind", &kinds, problems);
    let (at, kind) = (at?, kind?);
    let stage = match (at, kind) {
        (None, WorkKind::Down) => Some(Stage::Send),
        (None, WorkKind::Up) => Some(Stage::Receive),
        (Some(WorkLayer::User), WorkKind::Down) => Some(Stage::Submit),
        (Some(WorkLayer::User), WorkKind::Up) => Some(Stage::Deliver),
        (Some(WorkLayer::User), WorkKind::Confirm)
        | (Some(WorkLayer::Network), WorkKind::Down | WorkKind::Up)
        | (
            Some(WorkLayer::Case | WorkLayer::Mms | WorkLayer::Session | WorkLayer::Transport),
            WorkKind::Down | WorkKind::Up | WorkKind::Open | WorkKind::Close,
        )
        | (Some(WorkLayer::Mms), WorkKind::Access)
        | (Some(WorkLayer::Transport), WorkKind::Segment | WorkKind::MakeAk | WorkKind::TakeAk) => {
            at.map(|at| Stage::Layer(Charge { at, kind }))
        }
        _ => None,
    };
    if stage.is_none() {
        let problem = Problem::error(fields.span_of("kind"), "this layer requests no such work");
        problems.push(problem.help("tidewire help profiles lists the kinds of each layer"));
    }
    stage
}

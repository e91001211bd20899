//! Rows against the list of targets, sources against the rows, and roles against the tiers.

use super::*;
use crate::published::listed;
use crate::published::row::Kind;
use crate::published::verdict::{Role, Verdict};
use bench::profile::{Profile, built_in};
use bench::scenario::{self, Eot, Point, Scenario, Service};
use bench::scenarios;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Rows at every tier, which several tests look at.
static TIERS: LazyLock<Vec<AtTier>> =
    LazyLock::new(|| tiers(&mut Context::new(&built_in(PROFILE).unwrap(), options())).unwrap());

fn options() -> Options {
    Options { seed: 1, messages: 3, monitor: None }
}

fn context(tier: &str) -> Context {
    let mut context = Context::new(&built_in(PROFILE).unwrap(), options());
    context.tier = context.tiers.iter().position(|it| it.tier.name == tier).unwrap();
    context
}

#[test]
fn all_rows_of_the_list_of_targets_have_its_kind_and_value() {
    listed::check_rows("TR-88-17", ROWS);
}

#[test]
fn the_sources_are_exactly_those_that_rows_use() {
    listed::check_sources(ROWS, &SOURCES.map(|(name, _)| name));
}

#[test]
fn claims_fit_their_column() {
    listed::check_widths(ROWS);
}

/// Role of a row at a tier of a profile.
fn role(profile: &Profile, tier: &str, id: &str) -> Role {
    let here = profile.at_tier(tier).unwrap();
    let inputs: BTreeSet<String> = here.calibrated_on().into_iter().map(str::to_owned).collect();
    let rows = row::parse(ROWS).unwrap();
    Role::of(rows.iter().find(|row| row.id == id).unwrap(), &inputs)
}

#[test]
fn an_input_that_is_dropped_becomes_a_prediction() {
    let profile = built_in(PROFILE).unwrap();
    let last = &profile.tiers.last().unwrap().name;
    let all: Vec<String> =
        profile.tiers.iter().flat_map(|tier| tier.calibrated_on.clone()).collect();
    assert!(all.len() >= 9, "{all:?}");
    for id in &all {
        assert_eq!(role(&profile, last, id), Role::CalibrationInput, "{id}");
        let mut without = profile.clone();
        for tier in &mut without.tiers {
            tier.calibrated_on.retain(|row| row != id);
        }
        // A row that follows from others by arithmetic needs them dropped as well.
        let rows = row::parse(ROWS).unwrap();
        let row = rows.iter().find(|row| row.id == *id).unwrap();
        if row.kind == Kind::D {
            for tier in &mut without.tiers {
                tier.calibrated_on.retain(|other| !row.derived_from.contains(other));
            }
        }
        assert_eq!(role(&without, last, id), Role::Prediction, "{id}");
    }
}

#[test]
fn a_row_is_an_input_from_its_tier_on() {
    let profile = built_in(PROFILE).unwrap();
    let names: Vec<&str> = profile.tiers.iter().map(|tier| tier.name.as_str()).collect();
    assert_eq!(names, ["delays", "rates", "ratio", "segments"]);
    for (id, first) in [("S002-038", 0), ("S002-024", 1), ("S002-001", 2), ("S002-046", 3)] {
        for (place, tier) in names.iter().enumerate() {
            let is_input = role(&profile, tier, id) == Role::CalibrationInput;
            assert_eq!(is_input, place >= first, "{id} at {tier}");
        }
    }
    // Rows that restate inputs, or follow from them alone.
    assert_eq!(role(&profile, "rates", "S002-036"), Role::CalibrationInput);
    assert_eq!(role(&profile, "ratio", "S002-053"), Role::CalibrationInput);
    assert_eq!(role(&profile, "rates", "S002-053"), Role::Prediction);
}

#[test]
fn every_model_returns_its_inputs_at_every_tier() {
    for tier in TIERS.iter() {
        let missed = tier.outcomes.iter().filter(|outcome| outcome.verdict == Verdict::InputMissed);
        let missed: Vec<&str> = missed.map(|outcome| outcome.row.id.as_str()).collect();
        assert_eq!(missed, [""; 0], "tier {}", tier.name);
        let explained = |outcome: &&crate::published::Outcome| {
            let answers = &outcome.answers;
            answers.iter().all(|it| !it.verdict.calls_for_a_reason() || it.why.is_some())
        };
        let silent = tier.outcomes.iter().filter(|outcome| !explained(outcome));
        let silent: Vec<&str> = silent.map(|outcome| outcome.row.id.as_str()).collect();
        assert_eq!(silent, [""; 0], "tier {}: a difference without a reason", tier.name);
    }
}

#[test]
fn eot_on_each_message_equals_a_window_of_one_to_the_digit() {
    let mut context = context("rates");
    for model in context.members() {
        for octets in [LEAST, LONG] {
            let each = context.of(model, Trial::rate(Carrier::CaseEach, octets)).unwrap();
            let one = Trial { window: 1, ..Trial::rate(CASE, octets) };
            let one = context.of(model, one).unwrap();
            assert_eq!(each.value.to_bits(), one.value.to_bits(), "model {model}, {octets}");
        }
    }
}

#[test]
fn eight_predictions_agree_at_tier_rates() {
    let rates = TIERS.iter().find(|tier| tier.name == SHOWN).unwrap();
    let verdict = |id: &str| {
        rates.outcomes.iter().find(|outcome| outcome.row.id == id).map(|it| it.verdict).unwrap()
    };
    for id in ["S002-016", "S002-017", "S002-020", "S002-026", "S002-028", "S002-029"] {
        assert!(verdict(id).agrees(), "{id}: {:?}", verdict(id));
    }
    for id in ["S002-014", "S002-021", "S002-046"] {
        assert_eq!(verdict(id), Verdict::Differs, "{id}");
    }
    for id in ["S002-001", "S002-025"] {
        assert_eq!(verdict(id), Verdict::NotDecided, "{id}");
    }
    let can_succeed =
        |it: &&crate::published::Outcome| it.role.can_succeed() && it.verdict.agrees();
    assert!(rates.outcomes.iter().filter(can_succeed).count() >= 8);
}

#[test]
fn figures_name_the_points_that_are_inputs() {
    let mut context = context("rates");
    let mut plots = figures::all(&mut context, "n = 1.", true).unwrap();
    plot::state_inputs(&mut plots, &TIERS[context.tier].outcomes);
    let observed = |number| {
        let plot = plots.iter().find(|plot| plot.number == number).unwrap();
        plot.observed.as_str()
    };
    // 140 messages/s of CASE are an input of this tier; 130 kbyte/s of datagrams one of the first.
    assert_eq!(observed("3"), "n = 1. Points at 16 octets were calibrated on.");
    assert_eq!(observed("7"), "n = 1. Points at 1000 octets were calibrated on.");
    assert_eq!(observed("10"), "n = 1.");
}

#[test]
fn built_in_scenarios_are_the_trials_of_the_figures() {
    let case = |point: &Point| match point.scenario.flows[0].eot {
        Some(Eot::Each) => Carrier::CaseEach,
        _ => Carrier::CaseLast,
    };
    let service = |point: &Point| match point.scenario.flows[0].service {
        Service::Class4 => Carrier::Transport,
        _ => Carrier::Datalink,
    };
    type Of = fn(&Point) -> Carrier;
    let rates = [("tr-88-17-services", service as Of), ("tr-88-17-case", case as Of)];
    let mut pairs: Vec<(Point, Trial)> = Vec::new();
    let octets = |point: &Point| point.scenario.flows[0].size.0 as usize;
    for (name, carrier) in rates {
        let of = points(name).into_iter();
        pairs.extend(of.map(|it| (it.clone(), Trial::rate(carrier(&it), octets(&it)))));
    }
    let delays = points("tr-88-17-case-delay").into_iter();
    pairs.extend(delays.map(|it| (it.clone(), Trial::delay(octets(&it)))));
    assert_eq!(pairs.len(), 12 + 12 + 6);
    for (Point { scenario: found, .. }, trial) in pairs {
        let options = Options { messages: 200, ..options() };
        let made = context::point(&trial, &options).unwrap().scenario;
        let profile = found.stations.as_ref().and_then(|it| it.profile.clone()).unwrap();
        assert_eq!(profile.as_str(), PROFILE);
        // A figure adds the machine later, and makes its own sweep.
        let (title, stations) = (made.title.clone(), made.stations.clone());
        let (vary, machines) = (made.vary.clone(), made.machines.clone());
        let found = Scenario { title, stations, vary, machines, constraint: None, ..found };
        assert_eq!(found, made, "{trial:?}");
    }
}

/// Points of a built-in scenario.
fn points(name: &str) -> Vec<Point> {
    let built_in = scenarios::get(name).unwrap();
    scenario::load(built_in.text, name).unwrap().points
}

//! Rows against the list of targets, and sources against the rows.

use super::*;
use crate::published::listed;
use crate::published::verdict::Role;
use bench::profile::{self, Profile};
use std::collections::BTreeMap;

#[test]
fn all_rows_of_the_list_of_targets_have_its_kind_and_value() {
    listed::check_rows("TR-88-04", ROWS);
}

#[test]
fn the_sources_are_exactly_those_that_rows_use() {
    listed::check_sources(ROWS, &SOURCES.map(|(name, _)| name));
}

#[test]
fn claims_fit_their_column() {
    listed::check_widths(ROWS);
}

#[test]
fn each_input_of_the_profile_affects_its_own_rows_only() {
    // Each input in turn is a tenth larger.
    let profile = alone();
    let before = found(&profile);
    let mut moved: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for input in &profile.inputs {
        let after = found(&profile.with_input(&input.name, 1.1).unwrap());
        let name = format!("intel-310 {} + 10 %", input.name);
        moved.insert(input.name.clone(), listed::moved(&name, &before, &after));
    }
    for (input, rows) in &moved {
        for row in ["tpdu", "bus-rate", "first-t1"] {
            assert!(!rows.contains(row), "{input} moved {row}");
        }
    }
    for input in ["transport-send", "transport-receive", "transport-octet"] {
        let datalink = moved[input].iter().any(|row| row.starts_with("datalink"));
        assert!(!datalink, "{input} is transport's: {:?}", moved[input]);
    }
    for input in ["host-submit", "host-deliver"] {
        assert!(moved[input].contains("transport-least"), "{:?}", moved[input]);
        assert!(!moved[input].contains("ak-delay"), "an AK never reaches the host");
    }
    assert!(moved["transport-send"].contains("ak-delay"));
    // An input of zero stays zero.
    let idle = ["bus-unit", "first-segmentation", "host-octet"];
    assert!(idle.iter().all(|input| moved[*input].is_empty()));
}

/// First model alone.
fn alone() -> Profile {
    let mut profile = profile::built_in("intel-310").unwrap();
    profile.variants.clear();
    profile
}

/// Results of each source of delays for this machine.
fn found(profile: &Profile) -> Vec<(&'static str, f64)> {
    let options = Options { seed: 1, messages: 3, monitor: None };
    let mut context = Context::new(profile, options, 1);
    let asked = SOURCES.iter().filter(|(name, _)| DELAYS.contains(name));
    asked.map(|(name, source)| (*name, source(&mut context).unwrap().value)).collect()
}

/// Sources that need little time: all but throughput.
const DELAYS: [&str; 11] = [
    "bus-rate",
    "tpdu",
    "first-t1",
    "datalink-intercept",
    "datalink-slope",
    "host-submit",
    "transport-least",
    "largest-unsegmented",
    "first-step",
    "short-ratio",
    "ak-delay",
];

#[test]
fn every_model_reproduces_its_calibration_delays() {
    let options = Options { seed: 1, messages: 10, monitor: None };
    let mut context = Context::new(&profile::built_in("intel-310").unwrap(), options, 1);
    for model in 0..context.count() {
        let mut delay = |of, octets| a::delay(&mut context, model, of, octets).unwrap().value;
        // 7.8 + 20/215 and 7.8 + 1,024/215 ms; 18.0 ms, and 23 ms to two digits.
        for (of, octets, published, error) in [
            (Service::Datalink, LEAST, 7.893, 0.05),
            (Service::Datalink, MOST_DATAGRAM, 12.563, 0.05),
            (Service::Transport, LEAST, 18.0, 0.05),
            (Service::Transport, INFORMATION, 23.0, 0.5),
        ] {
            let ours = delay(of, octets);
            assert!((ours - published).abs() <= error, "model {model}, {of:?}, {octets}: {ours}");
        }
    }
}

#[test]
fn window_4_is_fastest_because_aks_for_two_tpdus_time_out() {
    // In the first model a TPDU takes longer than A_L of 10 ms: the AK for two is sent after one,
    // unless TPDUs arrive in bursts, as they do with a window of 4.
    let rates = |millis: u64, octets: usize| {
        let options = Options { seed: 1, messages: 1, monitor: None };
        let mut context = Context::new(&alone(), options, VOLUME_OCTETS);
        context.set_acknowledgement_delay(Duration::from_millis(millis));
        let large = Trial::new(Service::Transport, Question::Throughput, octets);
        let of = |window| context.of(0, Trial { window, ..large }).unwrap().value;
        [4, 6, 8].map(of)
    };
    // Messages of one TPDU and of eight: the size of the message has no effect.
    for octets in [INFORMATION, LARGE] {
        let [four, six, eight] = rates(10, octets);
        assert!(six < 0.8 * four && eight < 0.8 * four, "{four} {six} {eight}");
        let [four, six, eight] = rates(1_000, octets);
        assert!(four <= six && six <= eight * 1.001, "{four} {six} {eight}");
    }
}

#[test]
fn the_rate_of_datagrams_is_an_input_at_tier_rates_alone() {
    let profile = profile::built_in("intel-310").unwrap();
    let role = |tier: &str, id: &str| {
        let here = profile.at_tier(tier).unwrap();
        let inputs: BTreeSet<String> =
            here.calibrated_on().into_iter().map(str::to_owned).collect();
        let rows = row::parse(ROWS).unwrap();
        Role::of(rows.iter().find(|row| row.id == id).unwrap(), &inputs)
    };
    assert_eq!(role("delays", "S000-024"), Role::Prediction);
    assert_eq!(role("rates", "S000-024"), Role::CalibrationInput);
    assert_eq!(role("delays", "S000-011"), Role::CalibrationInput);
    // Throughput, T1, window and circuits stay predictions.
    for id in ["S000-026", "S000-028", "S000-033", "S000-036", "S000-039"] {
        assert_eq!(role("rates", id), Role::Prediction, "{id}");
    }
    let options = Options { seed: 1, messages: 3, monitor: None };
    let rates = profile.at_tier("rates").unwrap();
    let mut context = Context::new(&rates, options, VOLUME_OCTETS);
    for model in 0..context.count() {
        for octets in [LEAST, MOST_DATAGRAM] {
            let rate = a::datagrams(&mut context, model, octets).unwrap().value;
            assert!((rate - 77.0).abs() <= 0.5, "model {model}, {octets}: {rate}");
        }
    }
}

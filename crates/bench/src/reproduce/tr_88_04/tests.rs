//! The rows beside the list of targets, and the sources beside the rows.

use super::*;
use crate::profile::{self, Profile};
use crate::reproduce::listed;
use std::collections::BTreeMap;

#[test]
fn every_row_of_the_list_of_targets_is_here_with_its_kind_and_its_value() {
    listed::check_rows("TR-88-04", ROWS);
}

#[test]
fn every_source_is_asked_for_and_every_one_asked_for_is_known() {
    listed::check_sources(ROWS, &SOURCES.map(|(name, _)| name));
}

#[test]
fn what_is_asked_fits_its_column() {
    listed::check_widths(ROWS);
}

#[test]
fn each_input_of_the_profile_moves_the_rows_that_rest_on_it_and_no_other() {
    // Each input in turn is a tenth larger.
    let profile = alone();
    let before = found(&profile);
    let mut moved: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for input in &profile.inputs {
        let after = found(&profile.with_input(&input.name, 1.1).unwrap());
        let told = format!("intel-310 {} + 10 %", input.name);
        moved.insert(input.name.clone(), listed::moved(&told, &before, &after));
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
    // Of inputs that are zero a tenth more is zero.
    let idle = ["bus-unit", "first-segmentation", "host-octet"];
    assert!(idle.iter().all(|input| moved[*input].is_empty()));
}

/// The first model alone.
fn alone() -> Profile {
    let mut profile = profile::built_in("intel-310").unwrap();
    profile.variants.clear();
    profile
}

/// What each source of delays finds with this machine.
fn found(profile: &Profile) -> Vec<(&'static str, f64)> {
    let options = Options { seed: 1, messages: 3, monitor: None };
    let mut laboratory = Laboratory::new(profile, options, 1);
    let asked = SOURCES.iter().filter(|(name, _)| DELAYS.contains(name));
    asked.map(|(name, source)| (*name, source(&mut laboratory).unwrap().value)).collect()
}

/// Sources that are quick to ask: all but throughput.
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
fn every_model_gives_back_the_delays_that_it_was_calibrated_on() {
    let options = Options { seed: 1, messages: 10, monitor: None };
    let mut laboratory = Laboratory::new(&profile::built_in("intel-310").unwrap(), options, 1);
    for model in 0..laboratory.count() {
        let mut delay = |of, octets| a::delay(&mut laboratory, model, of, octets).unwrap().value;
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
    // In the first model a TPDU takes longer than A_L of 10 ms: the AK for two goes out after one, unless TPDUs
    // arrive in bursts, as they do with a window of 4.
    let rates = |millis: u64, octets: usize| {
        let options = Options { seed: 1, messages: 1, monitor: None };
        let mut laboratory = Laboratory::new(&alone(), options, VOLUME_OCTETS);
        laboratory.set_acknowledgement_delay(Duration::from_millis(millis));
        let large = Trial::new(Service::Transport, Question::Throughput, octets);
        let of = |window| laboratory.of(0, Trial { window, ..large }).unwrap().value;
        [4, 6, 8].map(of)
    };
    // Messages of one TPDU and of eight: the message has no part in it.
    for octets in [INFORMATION, LARGE] {
        let [four, six, eight] = rates(10, octets);
        assert!(six < 0.8 * four && eight < 0.8 * four, "{four} {six} {eight}");
        let [four, six, eight] = rates(1_000, octets);
        assert!(four <= six && six <= eight * 1.001, "{four} {six} {eight}");
    }
}

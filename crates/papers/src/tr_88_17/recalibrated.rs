//! Calibration of `mvme372` without one of its figures, which thereby becomes a prediction.
//!
//! Each figure fits one input, or several by one factor. Without its figure an input has the value of a
//! plain assumption, and the other figures are fitted again.

use super::*;
use crate::published::verdict::{Role, Verdict};
use bench::profile::{Profile, Tier, built_in};
use std::collections::BTreeSet;

/// A published figure, and the inputs that it fits.
#[derive(Clone, Copy)]
struct Fit {
    row: &'static str,
    source: &'static str,
    published: f64,
    inputs: &'static [&'static str],
    /// Value of the inputs without the figure.
    assumed: f64,
}

/// The copies of an octet: four in all.
const COPIES: [&str; 4] =
    ["kernel-octet-down", "bus-octet-down", "kernel-octet-up", "bus-octet-up"];

/// Figures in the order in which they are fitted. Assumed are: a copy as fast as the medium; hosts that
/// take as long down as up; a task boundary that costs as much as the datalink, an acknowledgement that costs
/// as much to make as to take, and a division that costs nothing.
const FITS: [Fit; 7] = [
    Fit { row: "S002-039", source: "delay-long", published: 25.0, inputs: &COPIES, assumed: 0.8 },
    Fit {
        row: "S002-027",
        source: "datalink-throughput",
        published: 130.0,
        inputs: &["host-down"],
        assumed: 3.369,
    },
    Fit {
        row: "S002-024",
        source: "transport-rate-short",
        published: 163.0,
        inputs: &["transport-send"],
        assumed: f64::NAN,
    },
    Fit {
        row: "S002-018",
        source: "case-rate-short",
        published: 140.0,
        inputs: &["hop"],
        assumed: 0.4,
    },
    Fit {
        row: "S002-038",
        source: "delay-short",
        published: 17.0,
        inputs: &["host-up"],
        assumed: 4.027,
    },
    Fit {
        row: "S002-001",
        source: "gain-short",
        published: 1.4,
        inputs: &["make-ack"],
        assumed: 0.6,
    },
    Fit {
        row: "S002-046",
        source: "transport-megabits-divided",
        published: 0.4,
        inputs: &["divided"],
        assumed: 0.0,
    },
];

/// The intercept of about 16 ms, with which delays of 17 and 25 ms agree only at their lower ends.
const INTERCEPT: &str = "S002-022";
/// Milliseconds below the published delays at which all three agree: the middle of 16.50 ms, the lower end of
/// 17 ± 0.5, and 16.56 ms, the upper end of the intercept and 16 octets of at least 4 us.
const LOWER: f64 = 0.47;
/// The slope, which follows from both delays.
const SLOPE: &str = "S002-040";

fn set(profile: &mut Profile, names: &[&str], value: f64) {
    let named = profile.inputs.iter_mut().filter(|input| names.contains(&input.name.as_str()));
    named.for_each(|input| input.value = value);
}

/// Our figure on one model.
fn ours(profile: &Profile, source: &str) -> f64 {
    let options = Options { seed: 1, messages: 3, monitor: None };
    obtain(&mut Context::new(profile, options), source).unwrap().value
}

/// Figures that fit the inputs if one is dropped. Where another figure can fit its input, it does.
fn fits(dropped: &str) -> Vec<Fit> {
    let fit = |row: &str| FITS.into_iter().find(|fit| fit.row == row).unwrap();
    let kept = FITS.into_iter().filter(|fit| fit.row != dropped);
    match dropped {
        "S002-024" => {
            let other = Fit { inputs: fit(dropped).inputs, ..fit("S002-018") };
            kept.map(|it| if it.row == other.row { other } else { it }).collect()
        }
        "S002-038" => {
            let intercept =
                Fit { row: INTERCEPT, source: "delay-intercept", published: 16.0, ..fit(dropped) };
            kept.chain([intercept]).collect()
        }
        _ => kept.collect(),
    }
}

/// The profile calibrated on all figures but one.
fn without(dropped: &str) -> Profile {
    let mut profile = built_in(PROFILE).unwrap();
    profile.variants.clear();
    let all = FITS.iter().map(|fit| fit.row).chain([INTERCEPT, SLOPE]);
    let delays = ["S002-038", "S002-039"];
    let follows = |row: &str| row == SLOPE && delays.contains(&dropped);
    let kept: Vec<String> =
        all.filter(|row| *row != dropped && !follows(row)).map(str::to_owned).collect();
    let is_tight = dropped != INTERCEPT && dropped != "S002-038";
    profile.tiers = vec![Tier {
        name: "all".to_owned(),
        title: String::new(),
        calibrated_on: kept,
        inputs: Vec::new(),
    }];
    let fits = fits(dropped);
    for fit in FITS {
        if !fits.iter().any(|it| it.inputs == fit.inputs) {
            set(&mut profile, fit.inputs, fit.assumed);
        }
    }
    for _ in 0..4 {
        for fit in &fits {
            let lower = if is_tight && delays.contains(&fit.row) { LOWER } else { 0.0 };
            refit(&mut profile, fit, fit.published - lower);
        }
    }
    profile
}

/// Moves the inputs of a figure until it is as published, by bisection: each figure rises or falls with its
/// inputs, with plateaus where another resource is the bottleneck.
fn refit(profile: &mut Profile, fit: &Fit, published: f64) {
    let start = profile.input(fit.inputs[0]).unwrap().value;
    let mut at = |value: f64| {
        set(profile, fit.inputs, value);
        ours(profile, fit.source) - published
    };
    let is_close = |error: f64| error.abs() < 1e-3 * published;
    let error = at(start);
    if is_close(error) {
        return;
    }
    // The side of the start on which the figure is at the other side of what was published.
    let is_above = |error: f64| error > 0.0;
    let other = [start / 2.0, start * 2.0 + 0.1, 0.0, 20.0];
    let Some(other) = other.into_iter().find(|it| is_above(at(*it)) != is_above(error)) else {
        return set(profile, fit.inputs, start);
    };
    let (mut same, mut other) = (start, other);
    for _ in 0..12 {
        let middle = f64::midpoint(same, other);
        let found = at(middle);
        if is_close(found) {
            return;
        }
        if is_above(found) == is_above(error) {
            same = middle;
        } else {
            other = middle;
        }
    }
}

/// Drops a figure, recalibrates, and compares the verdict on it as a prediction.
#[track_caller]
fn check(dropped: &str, expected: Verdict) {
    let profile = without(dropped);
    let inputs: BTreeSet<String> = profile.tiers[0].calibrated_on.iter().cloned().collect();
    let options = Options { seed: 1, messages: 3, monitor: None };
    let mut context = Context::new(&profile, options);
    let is_asked = |id: &str| inputs.contains(id) || id == dropped;
    let rows = row::parse(ROWS).unwrap().into_iter().filter(|row| is_asked(&row.id)).collect();
    let outcomes = judge(rows, &inputs, |source, _| obtain(&mut context, source));
    for outcome in outcomes {
        let found = (outcome.role, outcome.verdict);
        let expected = match outcome.row.id == dropped {
            true => (Role::Prediction, expected),
            false => (Role::CalibrationInput, Verdict::Input),
        };
        let values: Vec<_> =
            outcome.answers.iter().filter_map(|it| it.ours).map(|it| it.value).collect();
        assert_eq!(found, expected, "{} without {dropped}: {values:?}", outcome.row.id);
    }
}

#[test]
fn without_a_delay_the_others_predict_it() {
    check("S002-022", Verdict::Differs);
    check("S002-038", Verdict::Differs);
    check("S002-039", Verdict::Differs);
}

#[test]
fn without_a_rate_its_input_is_open() {
    check("S002-027", Verdict::WithinReadingError);
    check("S002-024", Verdict::Differs);
    check("S002-018", Verdict::WithinReadingError);
}

#[test]
fn without_ratio_or_segments_their_inputs_are_open() {
    check("S002-001", Verdict::WithinReadingError);
    check("S002-046", Verdict::Differs);
}

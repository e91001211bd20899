//! Rows against the list of targets, sources against the rows, and the model against arithmetic.
//!
//! Runs here are short and few; a release build makes all of them.

use super::experiment::Counted;
use super::*;
use crate::published::row::Kind;
use crate::published::verdict::Role;
use crate::published::{Stopped, listed};
use bench::profile::{self, Profile};
use bench::scenario::{self, Point, Scenario};
use bench::scenarios;
use std::collections::BTreeMap;

#[test]
fn all_rows_of_the_list_of_targets_have_its_kind_and_value() {
    listed::check_rows("NBS-1986", ROWS[0]);
    listed::check_rows("RFC 1008", ROWS[1]);
}

#[test]
fn the_sources_are_exactly_those_that_rows_use() {
    listed::check_sources(&ROWS.concat(), &SOURCES.map(|(name, ..)| name));
}

#[test]
fn claims_fit_their_column() {
    listed::check_widths(&ROWS.concat());
    // Next to "15 to 25 ± 0.5", "0.924 to 0.925" and a verdict there is room for 27.
    for row in row::parse(&ROWS.concat()).unwrap().iter().filter(|row| row.kind != Kind::C) {
        for claim in &row.claims {
            let gap = if claim.unit.is_empty() { 0 } else { 2 };
            let width = claim.asks.chars().count() + gap + claim.unit.chars().count();
            assert!(width <= 27 || claim.unit == "count", "{}: {} is {width}", row.id, claim.asks);
        }
    }
}

fn built_in() -> Profile {
    profile::built_in("nbs-1986").unwrap()
}

fn context(profile: &Profile, messages: u64, trials: u64, jobs: usize) -> Context {
    Context::new(profile, Options { seed: 1, messages, monitor: None }, trials, jobs)
}

/// Cell of the first model.
fn cell(experiment: Experiment, net: Net, load_percent: u64) -> Cell {
    Cell { world: World::DRAWN, experiment, net, load_percent }
}

#[test]
fn the_number_of_parallel_runs_has_no_effect() {
    let cells: Vec<Cell> = Experiment::ALL
        .into_iter()
        .flat_map(|experiment| Net::ALL.map(|net| cell(experiment, net, 60)))
        .collect();
    let of = |jobs| {
        let mut context = context(&built_in(), 3, 15, jobs);
        context.prepare(&cells, 3).unwrap();
        let means = cells.iter().map(|cell| context.mean_of(*cell, Statistic::Mean).unwrap());
        let bits = |found: Value| [found.value, found.low, found.high].map(f64::to_bits);
        means.map(bits).collect::<Vec<_>>()
    };
    let one = of(1);
    assert_eq!(of(2), one);
    assert_eq!(of(7), one);
}

/// Progress and rows of a reproduction with short runs.
fn reported(context: &mut Context) -> (Vec<Progress>, Vec<(u64, Vec<Outcome>)>) {
    let (mut progress, mut rows) = (Vec::new(), Vec::new());
    let mut report = |event: Event<'_>| {
        match event {
            Event::Progress(now) => progress.push(now),
            Event::Rows(now) => {
                let done = progress.last().map_or(0, |last: &Progress| last.done);
                rows.push((done, now.to_vec()));
            }
        }
        Ok(())
    };
    rows_by_stages(context, &mut report).unwrap();
    (progress, rows)
}

#[test]
fn progress_runs_from_none_to_all_and_final_rows_are_reported() {
    let mut context = context(&built_in(), 3, 3, 2);
    let (progress, batches) = reported(&mut context);
    let of = progress[0].of;
    // Two networks, three experiments and 15 loads; as many for a load that counts messages.
    assert!(of > 2 * 3 * 15 * (3 + 3), "{of}");
    let expected: Vec<Progress> = (0..=of).map(|done| Progress { done, of }).collect();
    assert_eq!(progress, expected);
    // The first rows need no run, the next few of them, and the last not all.
    let done: Vec<u64> = batches.iter().map(|(done, _)| *done).collect();
    assert!(done[0] == 0 && done[1] < of / 8 && done[5] < of, "{done:?} of {of}");
    assert!(done.is_sorted() && batches[..6].iter().all(|(_, rows)| !rows.is_empty()));
    // Later runs change no row.
    let inputs = context.inputs();
    for outcome in batches.into_iter().flat_map(|(_, rows)| rows) {
        let repeated = |source: &str, spread| obtain(&mut context, source, spread);
        let repeated = judge(vec![outcome.row.clone()], &inputs, repeated);
        let shown = |outcome: &Outcome| format!("{outcome:?}");
        assert_eq!(shown(&outcome), shown(&repeated[0]));
    }
}

#[test]
fn a_reproduction_ends_when_its_receiver_stops_it() {
    let mut context = context(&built_in(), 3, 3, 1);
    let mut made = 0;
    let stopped = rows_by_stages(&mut context, &mut |event| match event {
        Event::Progress(Progress { done, .. }) => {
            made = made.max(done);
            if done < 2 { Ok(()) } else { Err(Stopped) }
        }
        Event::Rows(_) => Ok(()),
    });
    assert_eq!((stopped, made), (Err(ReproduceError::Stopped(Stopped)), 2));
}

#[test]
fn runs_made_later_equal_those_made_at_once() {
    let cells = [cell(Experiment::Status, Net::CsmaCd, 50)];
    let mut later = context(&built_in(), 4, 20, 2);
    later.prepare(&cells, 2).unwrap();
    later.prepare(&cells, 4).unwrap();
    let mut at_once = context(&built_in(), 4, 20, 1);
    at_once.prepare(&cells, 4).unwrap();
    let band = |context: &Context| context.band_of(cells[0], Statistic::Maximum).unwrap();
    assert_eq!(band(&later), band(&at_once));
    let single = band(&at_once);
    assert!(single.0 < single.1, "four runs are one: {single:?}");
}

#[test]
fn every_reading_reproduces_its_calibration_inputs() {
    let mut context = context(&built_in(), 2, 10, 1);
    for model in 0..context.count() {
        let world = World { model, ..World::DRAWN };
        context.prepare(&of_reading(world), 2).unwrap();
    }
    // 7.25 ms / 1.2475 + 235 octets at 0.8 us + 45 m of cable: 5.8116 + 0.1880 + 0.0002 ms.
    let least = a::least_delay(&context).unwrap();
    assert!((least.low - 5.9998).abs() < 1e-3 && (least.high - 5.9998).abs() < 1e-3, "{least:?}");
    let rotation = a::idle_rotation(&context).unwrap().value;
    // 12 x 83.333 us.
    assert!((rotation - 1.0).abs() < 1e-5, "{rotation}");
    for (names, published) in [(&SEND, 4.0), (&RECEIVE, 3.25)] {
        let sum = a::inputs(&context, names).unwrap();
        assert!((sum.low - published).abs() < 1e-9 && (sum.high - published).abs() < 1e-9);
    }
}

#[test]
fn a_request_waits_behind_the_ak_of_the_previous_answer() {
    // In ms before scaling, from the start of processing of the answer's DT. If the cost of user
    // data is the front end's alone: 0.5133 to deliver it, 3.36825 for its AK; the next request
    // comes after 0.5133 and waits for the whole 3.36825. At the other end the AK arrives 0.63175 +
    // 3.36825 earlier than the request, and takes 2.7367.
    //
    // "even": the front end is busy for 0.07748 + 3.71392; the request comes after 3 x 0.07748 + 2 x 0.09536 =
    // 0.42316, and waits 3.36824.
    let speed = built_in().input("speed").unwrap().value;
    let trials = 500;
    let mut context = context(&built_in(), 1, trials, 2);
    let received = "cheap-acknowledgement-received";
    for (reading, expected) in [(None, 3.36825), (Some("even"), 3.36824), (Some(received), 3.36825)]
    {
        let models = 0..context.count();
        let model = models.into_iter().find(|model| context.reading(*model) == reading);
        let world = World { model: model.unwrap(), ..World::DRAWN };
        context.prepare(&of_reading(world), 1).unwrap();
        let wait = a::behind_acknowledgements(&context, world).unwrap().value;
        // One trial may meet the acknowledgements of the connection's opening, with one wait more
        // or less.
        let expected = expected / speed;
        let within = 2e-3 + expected / trials as f64;
        assert!((wait - expected).abs() < within, "{reading:?}: {wait} and not {expected}");
    }
}

#[test]
fn a_row_is_an_input_only_while_a_cost_was_derived_from_it() {
    let rows = row::parse(&ROWS.concat()).unwrap();
    let role = |profile: &Profile, id: &str| {
        let inputs = context(profile, 1, 1, 1).inputs();
        Role::of(rows.iter().find(|row| row.id == id).unwrap(), &inputs)
    };
    for id in ["R1008-009", "S001-037", "R1008-007"] {
        let mut profile = built_in();
        assert_eq!(role(&profile, id), Role::CalibrationInput, "{id}");
        for input in &mut profile.inputs {
            input.calibrated_on.retain(|row| row != id);
        }
        assert_eq!(role(&profile, id), Role::Prediction, "{id}");
    }
}

#[test]
fn a_load_counts_frames_or_messages() {
    let interval = |net, counted| {
        let world = World { counted, ..World::DRAWN };
        let cell = Cell { world, ..cell(Experiment::Status, net, 50) };
        let scenario = cell.point(&built_in(), 1, 1).unwrap().scenario;
        let interval = scenario.background.unwrap().mean_interval(&scenario.medium).unwrap();
        interval.as_nanos() as f64 / 1e6
    };
    let [csma_cd, token_bus] = Net::ALL;
    // 10 stations x 218, 222 or 200 octets x 8 / (0.5 x 10 Mbit/s).
    for (net, counted, expected) in [
        (csma_cd, Counted::Frames, 3.488),
        (token_bus, Counted::Frames, 3.552),
        (csma_cd, Counted::Messages, 3.2),
        (token_bus, Counted::Messages, 3.2),
    ] {
        let found = interval(net, counted);
        assert!((found - expected).abs() < 1e-5, "{net:?}, {counted:?}: {found}");
    }
}

#[test]
fn the_token_rotates_in_the_time_without_frames() {
    let mut context = context(&built_in(), 3, 100, 2);
    let worlds = [World::DRAWN, MESSAGES];
    for world in worlds {
        let cell = Cell { world, ..cell(Experiment::Status, Net::TokenBus, MOST_LOAD) };
        context.prepare(&[cell], 3).unwrap();
    }
    let rotation = |world| a::rotation(&context, world, MOST_LOAD).unwrap();
    // 1 ms / (1 - 0.7 - 0.010) and, for frames of 222 octets with messages of 200, 1 ms / (1 -
    // 0.777 - 0.010): a DT of 253 octets with its framing and its AK of 35 every 20 ms are 1.2 %.
    let [frames, messages] = worlds.map(rotation);
    assert!(frames.low < 3.48 && 3.4 < frames.high, "{frames:?}");
    assert!(messages.low < 4.8 && 4.6 < messages.high, "{messages:?}");
}

#[test]
fn each_input_of_the_profile_affects_its_own_rows_only() {
    // Each input in turn is doubled, in the reading in which none is zero.
    let mut profile = built_in().variant("even").unwrap();
    profile.variants.clear();
    let before = found(&profile);
    let mut moved: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for input in &profile.inputs {
        let after = found(&profile.with_input(&input.name, 2.0).unwrap());
        let name = format!("nbs-1986, twice {}", input.name);
        moved.insert(input.name.clone(), listed::moved(&name, &before, &after));
    }
    let responses =
        ["response-csma-cd-0", "maximum-rate-csma-cd-0", "maximum-rate-token-bus-0", "dead-time"];
    let others = ["least-delay", "behind-acknowledgements", "acknowledgement"];
    let all_but_token = others.into_iter().chain(responses);
    assert_eq!(moved["speed"], all_but_token.collect());
    assert_eq!(moved["access"], ["maximum-rate-token-bus-0"].into());
    assert!(moved["interface-data-unit"].is_empty(), "no message needs two units");
    assert!(moved["token-pass"].contains("idle-rotation"));
    assert!(moved["token-pass"].contains("rotation-70"));
    for input in ["host-send", "bus-send", "front-end-send"] {
        assert!(moved[input].contains("send") && moved[input].contains("least-delay"), "{input}");
        assert!(!moved[input].contains("receive"), "{input}");
    }
    for input in ["host-receive", "bus-receive", "front-end-receive", "acknowledgement-receive"] {
        assert!(moved[input].contains("receive") && moved[input].contains("least-delay"));
        assert!(!moved[input].contains("send"), "{input}");
    }
    assert!(moved["acknowledgement-send"].contains("behind-acknowledgements"));
    for (input, rows) in &moved {
        for row in ["trials", "loads", "background-size"] {
            assert!(!rows.contains(row), "{input} moved {row}");
        }
        let of_token = ["idle-rotation", "rotation-70"];
        assert!(input == "token-pass" || of_token.iter().all(|row| !rows.contains(row)), "{input}");
    }
}

/// Results of the sources that need few runs, for this machine.
fn found(profile: &Profile) -> Vec<(&'static str, f64)> {
    let mut context = context(profile, 3, 30, 2);
    context.prepare(&of_reading(World::DRAWN), 3).unwrap();
    context.prepare(&[cell(Experiment::Status, Net::TokenBus, MOST_LOAD)], 3).unwrap();
    let asked = SOURCES.iter().filter(|(name, ..)| CHEAP.contains(name));
    asked.map(|(name, _, source)| (*name, source(&context).unwrap().value)).collect()
}

const CHEAP: [&str; 14] = [
    "trials",
    "loads",
    "background-size",
    "least-delay",
    "idle-rotation",
    "rotation-70",
    "response-csma-cd-0",
    "maximum-rate-csma-cd-0",
    "maximum-rate-token-bus-0",
    "dead-time",
    "behind-acknowledgements",
    "send",
    "receive",
    "acknowledgement",
];

/// Points of a built-in scenario.
fn points(name: &str) -> Vec<Point> {
    let built_in = scenarios::get(name).unwrap();
    scenario::load(built_in.text, name).unwrap().points
}

#[test]
fn built_in_scenarios_are_the_cells_of_the_figures() {
    for (name, experiment) in [
        ("nbs-1986-status", Experiment::Status),
        ("nbs-1986-constant-rate", Experiment::ConstantRate),
        ("nbs-1986-maximum-rate", Experiment::MaximumRate),
    ] {
        let cells = loads().flat_map(|load| Net::ALL.map(|net| cell(experiment, net, load)));
        let points = points(name);
        assert_eq!(points.len(), cells.clone().count());
        for (point, cell) in points.into_iter().zip(cells) {
            let made = cell.point(&built_in(), TRIALS, 1).unwrap().scenario;
            let found = point.scenario;
            let profile = found.stations.as_ref().and_then(|it| it.profile.clone()).unwrap();
            assert_eq!(profile.as_str(), "nbs-1986");
            // A figure adds the machine later, and makes its own sweep and number of runs.
            let (title, stations) = (made.title.clone(), made.stations.clone());
            let (vary, machines) = (made.vary.clone(), made.machines.clone());
            let found = Scenario { title, stations, vary, machines, replications: 1, ..found };
            assert_eq!(found, made, "{name}: {cell:?}");
        }
    }
}

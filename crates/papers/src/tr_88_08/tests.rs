//! Rows against the list of targets, and sources against the rows.

use super::*;
use crate::layers::Operation;
use crate::published::diagram::{Span, TimeDiagram};
use crate::published::listed;
use bench::profile;
use std::collections::BTreeMap;

#[test]
fn all_rows_of_the_list_of_targets_have_its_kind_and_value() {
    listed::check_rows("TR-88-08", ROWS);
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
fn each_input_of_a_profile_affects_its_own_rows_only() {
    // Of each machine, each input in turn is a tenth larger.
    let before = answers(&built_in(Machine::Pc), &built_in(Machine::At));
    let mut moved: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for machine in [Machine::Pc, Machine::At] {
        for input in &built_in(machine).inputs {
            let mut profiles = [built_in(Machine::Pc), built_in(Machine::At)];
            let place = usize::from(machine == Machine::At);
            profiles[place] = profiles[place].with_input(&input.name, 1.1).unwrap();
            let after = answers(&profiles[0], &profiles[1]);
            let name = format!("{} {} + 10 %", machine.profile(), input.name);
            let names = listed::moved(&name, &before, &after);
            moved.insert(format!("{machine:?} {}", input.name), names);
        }
    }
    let is = |input: &str, rows: &[&str]| {
        assert_eq!(moved[input], rows.iter().copied().collect(), "{input}");
    };
    // The paper has no AT with a CRC, and the least time of a transfer is zero in the first model.
    let idle: Vec<&String> = moved.keys().filter(|input| moved[*input].is_empty()).collect();
    assert_eq!(idle, ["At crc-octet", "At dma-least", "Pc dma-least"]);
    is("Pc crc-octet", &["pc-both-100", "crc-share"]);
    is("At dma-octet", &["at-rate", "mac-crossover", "llc-crossover"]);
    is("At cpu-speed", &["at-rate", "mac-crossover", "llc-crossover"]);
    let of_llc = ["mac-sum", "mac-crossover", "pc-mac-least", "pc-mac-100", "pc-mac-longest"];
    for input in ["Pc framing", "Pc interrupt"] {
        assert!(moved[input].contains("pc-rate") && moved[input].contains("pc-both-100"));
        assert!(of_llc.iter().all(|row| !moved[input].contains(row)), "{input} is LLC's");
    }
    let unaffected =
        ["phy-slope", "phy-longest", "socket-count", "ring-longest", "interface-buffer"];
    for (input, rows) in &moved {
        assert!(unaffected.iter().all(|row| !rows.contains(row)), "{input} moved {rows:?}");
    }
}

fn built_in(machine: Machine) -> profile::Profile {
    profile::built_in(machine.profile()).unwrap()
}

/// Results of each source that can answer for these machines.
fn answers(pc: &profile::Profile, at: &profile::Profile) -> Vec<(&'static str, f64)> {
    let alone = |profile: &profile::Profile| {
        let mut alone = profile.clone();
        alone.variants.clear();
        alone
    };
    let options = Options { seed: 1, messages: 10, monitor: None };
    let mut context = Context::new(&alone(pc), &alone(at), options);
    let answer = |(name, source): &(&'static str, Source)| {
        source(&mut context).ok().map(|found| (*name, found.value))
    };
    SOURCES.iter().filter_map(answer).collect()
}

#[test]
fn flat_to_100_is_run_and_grows_by_the_time_on_the_ring_alone() {
    let options = Options { seed: 1, messages: 20, monitor: None };
    let mut context = Context::of_built_in(options).unwrap();
    let is_flat = |place: &usize| context.reading((Machine::Pc, *place)) == Some("flat-to-100");
    let place = (0..context.count(Machine::Pc)).find(is_flat).expect("it is a model");
    let mut grown = |operation, octets| {
        let mut at = |octets| {
            let which = (Machine::Pc, place);
            context.time_of(which, operation, figures::PLAIN, octets).unwrap().value
        };
        at(octets) - at(16)
    };
    assert!(grown(Operation::BufferWrite, 100).abs() < 1e-9, "a transfer is flat");
    // 50 octets more at 2.5402 us each.
    assert!((grown(Operation::BufferWrite, 150) - 0.127).abs() < 1e-3);
    // 84 octets at 0.8 us each; the token is at most 2.4 us away.
    assert!((grown(Operation::MacTransmit, 100) - 0.0672).abs() < 0.0025);
    let remark = growths(&mut context).unwrap();
    // 0.927 ms at 16 octets.
    assert!(remark.contains("7.2 % read as \"flat-to-100\""), "{remark}");
}

#[test]
fn time_diagrams_are_of_a_simulated_message() {
    let options = Options { seed: 1, messages: 20, monitor: None };
    let mut context = Context::of_built_in(options).unwrap();
    let [sdn, sda] = services::diagrams(&context, &context.inputs()).unwrap();
    let at = |diagram: &TimeDiagram, name: &str| {
        let found = diagram.moments.iter().find(|moment| moment.name == name);
        found.unwrap_or_else(|| panic!("{name} is missing")).at
    };
    let frames = |diagram: &TimeDiagram| {
        diagram.spans.iter().filter(|span| span.name.ends_with("on the ring")).count()
    };
    assert_eq!((frames(&sdn), frames(&sda)), (1, 2));
    // Without an acknowledgement the sender completes before the receiver has the message, with one
    // after.
    assert!(at(&sdn, "confirm") < at(&sdn, "indication"));
    assert!(at(&sda, "confirm") > at(&sda, "indication"));
    // The token rotates in less than 0.1 ms, and nothing else differs between messages.
    let mut mean = |operation, service| {
        context.time_of((Machine::Pc, 0), operation, service, SHORT).unwrap().value
    };
    for (diagram, name, operation, service) in [
        (&sdn, "confirm", Operation::LlcTransmit, figures::PLAIN),
        (&sdn, "indication", Operation::LlcEndToEnd, figures::PLAIN),
        (&sda, "indication", Operation::LlcEndToEnd, figures::ACK),
        (&sda, "confirm", Operation::LlcTransmit, figures::ACK),
    ] {
        let (followed, mean) = (at(diagram, name), mean(operation, service));
        assert!((followed - mean).abs() < 0.1, "{}: {name} {followed} {mean}", diagram.title);
    }
    for diagram in [sdn, sda] {
        for (lane, name) in diagram.lanes.iter().enumerate() {
            let spans: Vec<&Span> = diagram.spans.iter().filter(|it| it.lane == lane).collect();
            let apart = |pair: &[&Span]| pair[0].end <= pair[1].begin + 1e-9;
            assert!(spans.windows(2).all(apart), "{name} does two things at once: {spans:?}");
        }
    }
}

//! Flows through CASE: EOT, faults, and an acknowledgement that never comes.

use bench::profile::parse;
use bench::run::{run, run_on};
use bench::sample::{FlowSample, Sample};
use bench::scenario;

/// Medium of 10 Mbit/s with a propagation delay of 1 ms.
const FAR: &str = "{ kind = \"ideal\", rate = \"10 Mbit/s\", delay = \"1 ms\" }";

/// Scenario of bulk messages of 100 octets through CASE, from `s-1` to `s-2`.
fn text_of(medium: &str, eot: &str, messages: u64, others: &str) -> String {
    format!(
        "version = 1\ntitle = \"CASE\"\nstop = {{ after = \"10 h\" }}\nmedium = {medium}\n{others}\n\
         stations = {{ count = 2, prefix = \"s\" }}\n[[flow]]\nname = \"bulk\"\n\
         from = \"s-1\"\nto = \"s-2\"\nservice = \"case\"\neot = \"{eot}\"\n\
         pattern = {{ kind = \"bulk\" }}\nsize = \"100 B\"\nmessages = {messages}\n"
    )
}

/// Runs that scenario.
fn case(medium: &str, eot: &str, messages: u64, others: &str) -> Sample {
    let text = text_of(medium, eot, messages, others);
    let study = scenario::load(&text, "case.toml").unwrap_or_else(|error| panic!("{error}"));
    run(&study.points[0], "-", 0).unwrap()
}

fn flow(sample: &Sample) -> &FlowSample {
    &sample.flows[0]
}

fn rate(sample: &Sample) -> f64 {
    flow(sample).throughput_bits_per_second.unwrap() / 800.0
}

#[test]
fn eot_on_each_message_is_a_window_of_one_and_on_the_last_none() {
    let each = case(FAR, "each", 500, "");
    let last = case(FAR, "last", 500, "");
    let one = case(FAR, "last", 500, "transport = { window = 1, acknowledge = \"each\" }");
    let immediate = case(FAR, "each", 500, "transport = { acknowledge = \"each\" }");
    // There and back takes 2 ms: stop-and-wait sends fewer than 500 messages a second.
    assert!(rate(&each) < 500.0 && rate(&last) > 2_000.0, "{} {}", rate(&each), rate(&last));
    assert_eq!(rate(&immediate).to_bits(), rate(&one).to_bits(), "EOT on each is window 1");
    for sample in [&each, &last, &one, &immediate] {
        let flow = flow(sample);
        assert!(flow.done && flow.end.as_ref().unwrap().orderly, "{flow:?}");
        assert_eq!((flow.sent, flow.delivered, flow.lost), (500, 500, 0));
        // CR and CC, CN and AC.
        assert!(flow.setup_ns.unwrap() > 4_000_000, "an association takes two round trips");
    }
}

/// None is lost, none comes twice; returns the number of lost frames.
fn under_faults(messages: u64, eot: &str) -> u64 {
    let faults = "faults = { loss = \"2 %\", duplicate = \"2 %\", reorder = \"2 %\" }";
    let sample = case(FAR, eot, messages, faults);
    let flow = flow(&sample);
    let counts = (flow.sent, flow.delivered, flow.lost, flow.duplicated, flow.damaged);
    assert_eq!(counts, (messages, messages, 0, 0, 0));
    assert!(flow.done && flow.out_of_order == 0, "{flow:?}");
    sample.counts["faults.lost"]
}

/// A nightly search sends more.
#[test]
fn no_message_is_lost_or_duplicated_under_faults_of_two_percent() {
    let messages = std::env::var("TIDEWIRE_CASE").map_or(5_000, |text| text.parse().unwrap());
    for eot in ["each", "last"] {
        let lost = under_faults(messages, eot);
        assert!(lost > messages / 50, "{lost} lost frames");
    }
}

#[test]
fn an_eot_without_acknowledgement_ends_the_flow_with_a_reason() {
    let bus = "{ kind = \"token-bus\", rate = \"10 Mbit/s\", length = \"100 m\" }";
    let text = format!(
        "version = 1\ntitle = \"CASE\"\nstop = {{ after = \"60 s\" }}\nmedium = {bus}\n\
         [[station]]\nname = \"a\"\n[[station]]\nname = \"c\"\n\
         [[station]]\nname = \"b\"\nfails-at = \"1 s\"\n[[flow]]\nname = \"lost\"\n\
         from = \"a\"\nto = \"b\"\nservice = \"case\"\neot = \"each\"\n\
         pattern = {{ kind = \"cyclic\", period = \"100 ms\" }}\nsize = \"100 B\"\n"
    );
    let study = scenario::load(&text, "case.toml").unwrap_or_else(|error| panic!("{error}"));
    let sample = run(&study.points[0], "-", 0).unwrap();
    let flow = flow(&sample);
    let end = flow.end.as_ref().unwrap();
    // The message without acknowledgement, and the two that may wait behind it.
    assert!(!end.orderly && flow.delivered >= 9 && flow.lost <= 3, "{flow:?}");
    assert_eq!(end.reason, "data not acknowledged");
}

/// Milliseconds of a cycle of stop-and-wait on machines that take `fixed` ms for one kind of work.
fn cycle_ms(at: &str, kind: &str, fixed: f64) -> f64 {
    let text = format!(
        "version = 1\ntitle = \"m\"\ninterface = \"unlimited\"\n[[resource]]\nname = \"cpu\"\n\
         processor = true\n[[task]]\nname = \"t\"\nat = \"{at}\"\nkind = \"{kind}\"\n\
         level = \"base\"\nuses = [\"cpu\"]\ncost = {{ hop = \"x\" }}\n[[input]]\nname = \"x\"\n\
         value = {fixed}\nunit = \"ms\"\nsource = \"a test\"\n"
    );
    let machine = parse("m", &text).unwrap_or_else(|error| panic!("{error}"));
    let scenario = text_of(FAR, "each", 200, "transport = { acknowledge = \"each\" }");
    let study = scenario::load(&scenario, "case.toml").unwrap();
    let sample = run_on(&study.points[0], &machine, "-", 0).unwrap();
    assert_eq!((flow(&sample).delivered, flow(&sample).lost), (200, 0), "{at} {kind}");
    if fixed > 0.0 {
        let busy: u64 = sample.machines.iter().map(|it| it.busy_ns).sum();
        assert!(busy as f64 >= 200.0 * fixed * 1e6, "{at} {kind}: {busy} ns");
    }
    1e3 / rate(&sample)
}

#[test]
fn each_kind_of_work_adds_its_time_to_a_cycle() {
    let free = cycle_ms("transport", "down", 0.0);
    for (at, kind, fixed, more) in [
        ("transport", "down", 2.0, 2.0),
        ("transport", "make-ack", 5.0, 5.0),
        ("transport", "take-ack", 3.0, 3.0),
        ("link", "down", 1.0, 2.0),
        ("network", "up", 1.0, 2.0),
        // The next message has had this work when the acknowledgement comes.
        ("case", "down", 1.0, 0.0),
        ("session", "down", 1.0, 0.0),
        ("user", "confirm", 1.0, 0.0),
        // The receiver's AK does not wait for its upper layers.
        ("case", "up", 1.0, 0.0),
    ] {
        let took = cycle_ms(at, kind, fixed) - free;
        assert!((took - more).abs() < 0.1, "{at} {kind}: {took} ms, not {more}");
    }
}

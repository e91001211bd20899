//! Flows through CASE: EOT, faults, and an acknowledgement that never comes.

use bench::run::run;
use bench::sample::{FlowSample, Sample};
use bench::scenario;

/// Medium of 10 Mbit/s with a propagation delay of 1 ms.
const FAR: &str = "{ kind = \"ideal\", rate = \"10 Mbit/s\", delay = \"1 ms\" }";

/// Bulk messages of 100 octets through CASE, from `s-1` to `s-2`.
fn case(medium: &str, eot: &str, messages: u64, others: &str) -> Sample {
    let text = format!(
        "version = 1\ntitle = \"CASE\"\nstop = {{ after = \"10 h\" }}\nmedium = {medium}\n{others}\n\
         stations = {{ count = 2, prefix = \"s\" }}\n[[flow]]\nname = \"bulk\"\n\
         from = \"s-1\"\nto = \"s-2\"\nservice = \"case\"\neot = \"{eot}\"\n\
         pattern = {{ kind = \"bulk\" }}\nsize = \"100 B\"\nmessages = {messages}\n"
    );
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
    assert!(!end.orderly && flow.delivered >= 9 && flow.lost <= 2, "{flow:?}");
    assert_eq!(end.reason, "data not acknowledged");
}

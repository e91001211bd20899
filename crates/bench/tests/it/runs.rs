//! Runs agree with arithmetic, and are reproducible.

use crate::{QUIET, study};
use bench::run::{Plan, Watch, run, run_all, run_watched};
use bench::sample::{FlowSample, Sample};
use bench::scenarios;
use core::cell::Cell;
use core::ops::ControlFlow;
use core::sync::atomic::AtomicBool;

/// Returns the quiet wire with its first message due at 0.
fn at_once() -> String {
    QUIET.replace("deadline =", "start = \"together\"\ndeadline =")
}

fn only_flow(settings: &[(&str, &str)]) -> FlowSample {
    let study = study(&at_once(), settings);
    let mut sample = run(&study.points[0], "hash", 0).unwrap();
    assert_eq!(sample.flows.len(), 1);
    sample.flows.remove(0)
}

fn text(sample: &Sample) -> String {
    serde_json::to_string(sample).unwrap()
}

#[test]
fn a_datagram_takes_its_bits_and_the_way() {
    // 8 preamble + 14 MAC + 3 LLC + 200 + 4 FCS = 229 octets: 183.2 us, and 5 us on the way.
    let flow = only_flow(&[]);
    assert_eq!((flow.delay.min_ns, flow.delay.max_ns), (Some(188_200), Some(188_200)));
    // Due at 0, 20, ..., 980 ms.
    assert_eq!((flow.sent, flow.delivered, flow.lost, flow.missed), (50, 50, 0, Some(0)));
    // 50 x 200 octets in the second that is measured.
    let expected = 50.0 * 1_600.0;
    assert!((flow.throughput_bits_per_second.unwrap() / expected - 1.0).abs() < 1e-12);
}

#[test]
fn a_message_over_a_connection_takes_its_headers_too() {
    // 8 + 14 + 3 + 1 inactive CLNP + 9 DT with checksum + 200 + 4 = 239 octets: 191.2 us, and 5 us.
    // The extended format's DT has 3 octets more, and is 4 shorter without checksum.
    let connected = |extended, checksum| {
        only_flow(&[
            ("flow.status.service", "class-4"),
            ("flow.status.messages", "40"),
            ("transport.extended", extended),
            ("transport.checksum", checksum),
        ])
    };
    assert_eq!(connected("true", "true").delay.min_ns, Some(198_600));
    assert_eq!(connected("true", "false").delay.min_ns, Some(195_400));
    let flow = connected("false", "true");
    assert_eq!(flow.delay.min_ns, Some(196_200));
    assert_eq!((flow.sent, flow.delivered, flow.done), (40, 40, true));
    assert!(flow.setup_ns.is_some() && flow.end.is_some_and(|end| end.orderly));
}

#[test]
fn a_datagram_on_a_ring_waits_for_the_token_and_takes_its_bits() {
    // Due at 0, 20, ..., 980 ms. Two stations, no cable: 2 + 24 bits of 250 ns round, 6.5 us. The
    // token leaves the first station at 0 and is there again at 6.5 us; 8 (3 + 200 + 21) bits take
    // 448 us, and a bit later they are at the second: 454.75 us. Then the token leaves at 454.5 +
    // 6 us, and 20 ms later it is there again after 3,007 rounds: at 20,006 us.
    let medium = |text: &str| {
        let ideal = "kind = \"ideal\", rate = \"10 Mbit/s\", delay = \"5 us\"";
        study(&at_once().replace(ideal, text), &[])
    };
    let ring = medium("kind = \"token-ring\", rate = \"4 Mbit/s\", length = \"0 m\"");
    let sample = run(&ring.points[0], "hash", 0).unwrap();
    let flow = &sample.flows[0];
    assert_eq!((flow.sent, flow.delivered, flow.missed), (50, 50, Some(0)));
    assert_eq!(flow.delay.max_ns, Some(454_750));
    let least = flow.delay.min_ns.unwrap();
    assert!((448_250..454_750).contains(&least), "{least}");
    let counts = &sample.counts;
    assert_eq!((counts["medium.sent"], counts["medium.tokens-used"]), (50, 50));
    assert_eq!(counts["medium.carried-ns"], 50 * 448_000);
    // ProNET-10: 2 + 10 bits of 100 ns round; 37 + 8 x 203 bits take 166.1 us.
    let ring = medium("kind = \"pronet-10\", length = \"0 m\"");
    let sample = run(&ring.points[0], "hash", 0).unwrap();
    assert_eq!(sample.flows[0].delay.max_ns, Some(1_200 + 166_100 + 100));
}

#[test]
fn a_token_bus_datagram_takes_its_token_wait_and_its_bits() {
    // Two stations, no cable: a token is 22 octets and 32 bit times, 20.8 us a hop, 41.6 us round.
    // It leaves the second station at 0, and 8 (3 + 200 + 22) bits take 180 us.
    let ideal = "kind = \"ideal\", rate = \"10 Mbit/s\", delay = \"5 us\"";
    let bus = "kind = \"token-bus\", rate = \"10 Mbit/s\", length = \"0 m\"";
    let study_of = |bus: &str| study(&at_once().replace(ideal, bus), &[]);
    let sample = run(&study_of(bus).points[0], "hash", 0).unwrap();
    let flow = &sample.flows[0];
    assert_eq!((flow.sent, flow.delivered, flow.missed), (50, 50, Some(0)));
    let (least, most) = (flow.delay.min_ns.unwrap(), flow.delay.max_ns.unwrap());
    assert!(least >= 180_000 && (200_800..=221_600).contains(&most), "{least} {most}");
    let counts = &sample.counts;
    assert_eq!((counts["medium.sent"], counts["medium.tokens-used"]), (50, 50));
    assert_eq!(counts["medium.carried-ns"], 50 * 180_000);
    assert!(!counts.contains_key("medium.windows"));
    // With a window at each token a round takes 17.6 and 6.4 us more at each station, and 6.4 us more at
    // the lower: 96 us.
    let bus = format!("{bus}, maintenance = {{ every = 1, target = \"1 s\" }}");
    let sample = run(&study_of(&bus).points[0], "hash", 0).unwrap();
    let most = sample.flows[0].delay.max_ns.unwrap();
    assert!((221_601..=276_000).contains(&most), "{most}");
    assert!(sample.counts["medium.windows"] > 1_000);
}

#[test]
fn on_a_ring_a_connection_works_under_load_and_nothing_is_lost() {
    let toml = scenarios::get("ring").unwrap().text;
    let ring = study(toml, &[("background.load", "60 %"), ("flow.status.messages", "100")]);
    let sample = run(&ring.points[0], "hash", 0).unwrap();
    let flow = &sample.flows[0];
    assert_eq!((flow.sent, flow.delivered, flow.lost, flow.missed), (100, 100, 0, Some(0)));
    let counts = &sample.counts;
    assert_eq!((counts["medium.queue-drops"], counts["medium.refused"]), (0, 0));
    // 60 % of the time are background frames; the reports and their AKs take less than another 10
    // %.
    let carried = counts["medium.carried-ns"] as f64 / sample.ended_at_ns as f64;
    assert!((0.58..0.72).contains(&carried), "{carried}");
}

#[test]
fn a_deadline_shorter_than_the_way_is_always_missed() {
    let flow = only_flow(&[("flow.status.deadline", "188199 ns")]);
    assert_eq!(flow.missed, Some(50));
    assert_eq!(only_flow(&[("flow.status.deadline", "188200 ns")]).missed, Some(0));
}

#[test]
fn faults_befall_datagrams_as_planned() {
    let lost = only_flow(&[("faults.loss", "100 %")]);
    assert_eq!((lost.sent, lost.delivered, lost.lost, lost.missed), (50, 0, 50, Some(50)));
    let copied = only_flow(&[("faults.duplicate", "100 %")]);
    assert_eq!((copied.delivered, copied.duplicated), (50, 50));
    let late = only_flow(&[("faults.delay", "3 ms")]);
    assert_eq!(late.delay.max_ns, Some(3_188_200));
}

#[test]
fn a_connection_survives_loss_duplication_and_reordering() {
    let flow = only_flow(&[
        ("flow.status.service", "class-4"),
        ("faults.loss", "10 %"),
        ("faults.duplicate", "10 %"),
        ("faults.reorder", "10 %"),
        ("flow.status.messages", "40"),
        ("stop.after", "60 s"),
    ]);
    assert_eq!((flow.sent, flow.delivered, flow.lost, flow.done), (40, 40, 0, true));
    assert_eq!((flow.duplicated, flow.out_of_order, flow.damaged), (0, 0, 0));
    assert!(flow.delay.max_ns > Some(100_000_000), "no loss cost a T1");
}

#[test]
fn requests_are_answered() {
    // 64-octet request: 8 + 14 + 3 + 64 + 4 = 93 octets, 74.4 us + 5; the answer of 400 octets:
    // 429, 343.2 us + 5.
    let toml = QUIET.replace("cyclic\", ", "constant-rate-request\", reply = \"400 B\", ");
    let study = study(&toml, &[("flow.status.size", "64 B")]);
    let sample = run(&study.points[0], "hash", 0).unwrap();
    let flow = &sample.flows[0];
    assert_eq!((flow.sent, flow.delivered, flow.answered, flow.missed), (50, 50, 50, Some(0)));
    assert_eq!((flow.response.min_ns, flow.response.max_ns), (Some(427_600), Some(427_600)));
}

#[test]
fn a_run_is_a_function_of_scenario_and_seed() {
    let toml = scenarios::get("status-csma").unwrap().text;
    let settings = [("background.load", "40 %"), ("flow.status.messages", "50")];
    let first = study(toml, &settings);
    let sample = |replication| text(&run(&first.points[0], "hash", replication).unwrap());
    assert_eq!(sample(0), sample(0));
    assert_ne!(sample(0), sample(1));
    let other = study(toml, &[settings[0], settings[1], ("seed", "2")]);
    let other = run(&other.points[0], "hash", 0).unwrap();
    assert_ne!(other.flows[0].delay, run(&first.points[0], "hash", 0).unwrap().flows[0].delay);
}

#[test]
fn threads_do_not_change_samples_nor_their_order() {
    let study = study(scenarios::get("bulk").unwrap().text, &[("flow.transfer.size", "500 B")]);
    let all = |jobs| {
        let mut lines = Vec::new();
        let plan = Plan { replications: Some(1), jobs };
        run_all(&study, plan, &AtomicBool::new(false), |sample| {
            lines.push(text(&sample));
            ControlFlow::Continue(())
        })
        .unwrap();
        lines
    };
    let serial = all(1);
    assert_eq!(serial.len(), 6);
    assert_eq!(serial, all(3));
}

#[test]
fn breaking_off_makes_no_further_samples() {
    let study = study(QUIET, &[]);
    let mut told = 0;
    let plan = Plan { replications: Some(100), jobs: 2 };
    run_all(&study, plan, &AtomicBool::new(false), |_| {
        told += 1;
        if told == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .unwrap();
    assert_eq!(told, 3);
}

#[test]
fn an_interrupted_run_is_incomplete_and_keeps_its_results() {
    let study = study(&at_once(), &[]);
    let asked = Cell::new(0);
    let mut frames = 0;
    let is_interrupted = || {
        asked.set(asked.get() + 1);
        asked.get() > 4
    };
    let mut watch = Watch {
        tap: Some(&mut |_| frames += 1),
        is_interrupted: &is_interrupted,
        messages: None,
        trace: None,
    };
    let sample = run_watched(&study.points[0], "hash", 0, &mut watch).unwrap();
    assert!(!sample.complete);
    // Four slices of 50 ms: due at 0, 20, ..., 200 ms; the last is on the wire when the run stops.
    assert_eq!(sample.flows[0].sent, 11);
    assert_eq!((sample.flows[0].delivered, frames), (10, 10));
}

#[test]
fn a_tap_does_not_change_the_run() {
    for kind in ["csma-cd", "token-bus"] {
        let bus = format!("{{ kind = \"{kind}\", rate = \"10 Mbit/s\", length = \"100 m\" }}");
        let ideal = "{ kind = \"ideal\", rate = \"10 Mbit/s\", delay = \"5 us\" }";
        let study = study(&at_once().replace(ideal, &bus), &[]);
        let (mut frames, is_interrupted) = (0, || false);
        let mut watch = Watch {
            tap: Some(&mut |_| frames += 1),
            is_interrupted: &is_interrupted,
            messages: None,
            trace: None,
        };
        let observed = run_watched(&study.points[0], "hash", 0, &mut watch).unwrap();
        let unobserved = run(&study.points[0], "hash", 0).unwrap();
        assert!(unobserved.counts.contains_key("medium.carried-ns"), "{kind} is a bus");
        assert_eq!(frames, 50, "due at 0, 20, ..., 980 ms on {kind}");
        assert_eq!(text(&observed), text(&unobserved), "{kind}");
    }
}

#[test]
fn the_short_scenario_runs_clean() {
    let study = study(scenarios::get("status-short").unwrap().text, &[]);
    let sample = run(&study.points[0], "hash", 0).unwrap();
    assert!(sample.complete);
    for flow in &sample.flows {
        assert!(flow.sent > 10, "{}: {}", flow.name, flow.sent);
        let clean = (flow.lost, flow.damaged, flow.duplicated, flow.not_taken);
        assert_eq!(clean, (0, 0, 0, 0), "{}", flow.name);
    }
}

#[test]
fn a_machine_delays_its_station_by_its_processing_time() {
    let delay = |settings: &[(&str, &str)]| {
        let settings = [settings, &[("stop.after", "200 ms")]].concat();
        let sample = run(&study(&at_once(), &settings).points[0], "", 0).unwrap();
        let delay = sample.flows[0].delay.mean_ns.unwrap();
        (delay / 1e6, sample.counts.get("machines.processor-ns").copied())
    };
    let (plain, none) = delay(&[]);
    assert_eq!((none, delay(&[("stations.profile", "ideal")]).0), (None, plain));
    // 203 octets of data. Framing 1.4883 + 0.0519, twice 0.8312 + 0.4987, interrupt 1.4883 ms.
    let (on_pc, processor) = delay(&[("stations.profile", "pc-pronet")]);
    assert!((on_pc - plain - 5.6883).abs() < 0.0005, "{on_pc} {plain}");
    // Ten messages: framing, two DMA starts, one interrupt at the sender and one after it.
    // 1.5402 + 2 x 0.8312 + 2 x 1.4883 = 6.1792 ms each.
    assert_eq!(processor.map(|nanos| nanos / 10_000), Some(6_179));
}

#[test]
fn the_crc_of_a_message_takes_time_on_a_machine() {
    let delay = |profile: &str, crc: &str| {
        let settings = [
            ("stations.profile", profile),
            ("flow.status.service", "message"),
            ("flow.status.crc", crc),
            ("stop.after", "200 ms"),
        ];
        let sample = run(&study(&at_once(), &settings).points[0], "", 0).unwrap();
        sample.flows[0].delay.mean_ns.unwrap() / 1e6
    };
    // 29.997 us for each of 200 octets at the sender and 202 at the receiver: 12.0588 ms. The CRC's two
    // octets: framing 0.5116, twice DMA 4.913, and 1.6 us on the wire.
    let more = delay("pc-pronet", "true") - delay("pc-pronet", "false");
    assert!((more - 12.0588 - 0.0119).abs() < 0.0005, "{more}");
    let more = delay("ideal", "true") - delay("ideal", "false");
    assert!((more - 0.0016).abs() < 0.0005, "{more}");
}

#[test]
fn a_machine_that_is_not_known_is_answered_with_those_that_are() {
    let text = QUIET.replace("prefix = \"s\"", "prefix = \"s\", profile = \"pc-pronett\"");
    let error = bench::scenario::load(&text, "a.toml").unwrap_err().to_string();
    assert!(error.contains("unknown profile \"pc-pronett\""), "{error}");
    assert!(error.contains("expected one of \"ideal\", \"pc-pronet\", \"at-pronet\""), "{error}");
    assert!(error.contains("did you mean \"pc-pronet\"?"), "{error}");
}

/// A station offers 163.84 kbit/s to a wire of 100 kbit/s. Arrivals in the measured second are
/// limited by the wire: 80 octets of 109 and a gap of 12, 66,115 bit/s.
#[test]
fn a_saturated_flow_has_the_throughput_of_its_wire() {
    let text = QUIET
        .replace("rate = \"10 Mbit/s\"", "rate = \"100 kbit/s\"")
        .replace("period = \"20 ms\"", "period = \"4 ms\"")
        .replace("size = \"200 B\"", "size = \"80 B\"");
    let throughput = |warmup: &str| {
        let settings = [("stop.after", "10 s"), ("stop.warmup", warmup)];
        let sample = run(&study(&text, &settings).points[0], "", 0).unwrap();
        sample.flows[0].throughput_bits_per_second.unwrap()
    };
    let carried = 100e3 * 80.0 / 121.0;
    for warmup in ["none", "1 s", "9 s"] {
        let found = throughput(warmup);
        assert!((found / carried - 1.0).abs() < 0.01, "{warmup}: {found}, not {carried}");
    }
}

#[test]
fn a_flow_without_arrivals_has_zero_throughput_and_not_none() {
    let study = study(QUIET, &[("faults.loss", "100 %")]);
    let sample = run(&study.points[0], "", 0).unwrap();
    assert_eq!(sample.flows[0].throughput_bits_per_second, Some(0.0));
}

#[test]
fn cyclic_flows_start_at_random_and_together_where_they_say_so() {
    let firsts = |text: &str| -> Vec<u64> {
        let study = study(text, &[]);
        let first =
            |replication| run(&study.points[0], "", replication).unwrap().flows[0].first_due_ns;
        (0..20).map(|replication| first(replication).unwrap()).collect()
    };
    let random = firsts(QUIET);
    assert!(random.iter().all(|first| *first < 20_000_000), "within the period: {random:?}");
    // 20 uniform draws from 20 ms: the smallest and the greatest lie in the outer quarters.
    assert!(random.iter().min() < Some(&5_000_000) && random.iter().max() > Some(&15_000_000));
    assert_eq!(firsts(&at_once()), [0; 20]);
}

/// A token bus carries 8,174 octets of data in a frame, 3 of them LLC's and one of CLNP's inactive subset.
#[test]
fn a_token_bus_carries_a_tpdu_of_4096_octets_in_a_frame() {
    let ideal = "{ kind = \"ideal\", rate = \"10 Mbit/s\", delay = \"5 us\" }";
    let bus = "{ kind = \"token-bus\", rate = \"10 Mbit/s\", length = \"0 m\" }";
    let text = QUIET.replace(ideal, bus).replace("\"datagram\"", "\"class-4\"");
    let large = [("transport.tpdu", "4096 B"), ("flow.status.size", "4000 B")];
    let sample = run(&study(&text, &large).points[0], "", 0).unwrap();
    // 4,000 octets in one DT with a header of 12: 4,016 of data and 22 around them, 3,230.4 us, and
    // the token at once or within two passes of 20.8 us.
    let least = sample.flows[0].delay.min_ns.unwrap();
    assert!((3_230_400..=3_230_400 + 41_600).contains(&least), "{least}");
    assert_eq!(sample.flows[0].missed, Some(50), "the deadline of 1 ms is shorter");
}

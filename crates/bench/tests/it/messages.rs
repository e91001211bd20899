//! Flows over the messaging service: maximum sizes by medium, priorities, and no loss of a message
//! reported delivered.

use bench::run::run;
use bench::sample::{FlowSample, Sample};
use bench::scenario::{self, Setting, Study, Values};
use bench::scenarios;
use bench::session::local;
use core::sync::atomic::AtomicBool;

/// Returns a scenario of two flows between two stations, on a medium, under faults.
fn text(medium: &str, keys: &str, faults: &str) -> String {
    format!(
        r#"
version = 1
title = "messages"
replications = 1
stop = {{ after = "2 s", warmup = "none" }}
medium = {medium}
{faults}
[[station]]
name = "here"
[[station]]
name = "there"
[[flow]]
name = "order"
from = "here"
to = "there"
service = "message"
pattern = {{ kind = "cyclic", period = "10 ms" }}
{keys}
[[flow]]
name = "back"
from = "there"
to = "here"
service = "message"
pattern = {{ kind = "poisson", mean-interval = "10 ms" }}
acknowledged = true
size = "40 B"
"#
    )
}

fn load(text: &str) -> Result<Study, String> {
    scenario::load(text, "m.toml").map_err(|error| error.to_string())
}

fn predicted(study: &Study) -> Sample {
    run(&study.points[0], "", 0).unwrap()
}

const PRONET: &str = r#"{ kind = "pronet-10", length = "500 m" }"#;
const RING: &str = r#"{ kind = "token-ring", rate = "4 Mbit/s", length = "500 m" }"#;
const TOKEN_BUS: &str = r#"{ kind = "token-bus", rate = "10 Mbit/s", length = "500 m" }"#;
const BUS: &str = r#"{ kind = "csma-cd", rate = "10 Mbit/s", length = "500 m" }"#;

#[test]
fn rings_and_token_buses_carry_messages_that_802_3_does_not() {
    // LLC has 3 octets. 1,500 - 3, 2,046 - 3, in 10 ms at 4 Mbit/s (40,000 - 168) / 8 - 3, and
    // 8,191 - 17 - 3.
    for (medium, most) in [(BUS, 1_497), (PRONET, 2_043), (RING, 4_976), (TOKEN_BUS, 8_171)] {
        for (acknowledged, crc) in [(false, false), (true, true)] {
            let most = most - if crc { 2 } else { 0 };
            let keys =
                |size| format!("acknowledged = {acknowledged}\ncrc = {crc}\nsize = \"{size} B\"");
            let sample = predicted(&load(&text(medium, &keys(most), "")).unwrap());
            let flow = &sample.flows[0];
            assert_eq!((flow.sent, flow.delivered, flow.lost), (200, 200, 0), "{medium} {most}");
            assert_eq!(flow.acknowledged, if acknowledged { 200 } else { 0 });
            let error = load(&text(medium, &keys(most + 1), "")).unwrap_err();
            assert!(error.contains(&format!("has at most {most} B")), "{error}");
        }
    }
}

#[test]
fn bad_values_are_named_with_their_line() {
    for (keys, said) in [
        ("priority = 8\nsize = \"40 B\"", "priorities are from 0 to 7\n  --> m.toml:18:12"),
        ("retries = 8\nsize = \"40 B\"", "a message is sent again at most 7 times"),
        ("timeout = \"0 s\"\nsize = \"40 B\"", "`timeout` must be more than zero"),
        ("crc = 1\nsize = \"40 B\"", "expected true or false, found an integer"),
    ] {
        let error = load(&text(BUS, keys, "")).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
    let datagram = |key: &str| {
        let text = text(BUS, &format!("{key}\nsize = \"40 B\""), "");
        load(&text.replacen("service = \"message\"", "service = \"datagram\"", 1))
    };
    let error = datagram("retries = 1").unwrap_err();
    assert!(error.contains("only flows of service \"message\" have `retries`"), "{error}");
    let error = datagram("priority = 8").unwrap_err();
    assert!(error.contains("priorities are from 0 to 7\n  --> m.toml:18:12"), "{error}");
    let asks = text(BUS, "size = \"40 B\"", "").replacen(
        "kind = \"cyclic\", period = \"10 ms\"",
        "kind = \"maximum-rate-request\", reply = \"40 B\"",
        1,
    );
    let error = load(&asks).unwrap_err();
    assert!(error.contains("messages of this service are not answered"), "{error}");
    let none = "{ kind = \"maximum\" }";
    assert!(load(&text(none, "size = \"40 B\"", "")).is_err());
}

#[track_caller]
fn kept_its_word(flow: &FlowSample) {
    assert_eq!(flow.acknowledged_and_lost, 0, "{flow:?}");
    assert_eq!(flow.acknowledged + flow.failed, flow.sent, "each has an outcome: {flow:?}");
    assert!(flow.acknowledged <= flow.delivered && flow.duplicated == 0, "{flow:?}");
}

#[test]
fn no_message_reported_delivered_is_lost_simulated_or_live() {
    let keys = "acknowledged = true\ncrc = true\npriority = 7\nretries = 1\nsize = \"200 B\"";
    for medium in [BUS, PRONET, RING, TOKEN_BUS] {
        let study = load(&text(medium, keys, "faults = { loss = \"20 %\" }")).unwrap();
        let sample = predicted(&study);
        sample.flows.iter().for_each(kept_its_word);
        // With one retransmission, a message or its acknowledgement is lost with 0.36 squared.
        assert!(sample.flows[0].failed > 0, "{:?}", sample.flows[0]);
        assert!(sample.flows[0].lost > 0, "{:?}", sample.flows[0]);
    }
    let study = load(&text(RING, keys, "faults = { loss = \"20 %\" }")).unwrap();
    let stop = AtomicBool::new(false);
    let sample = local::measure(&study.points[0], "", 0, &stop).unwrap();
    sample.flows.iter().for_each(kept_its_word);
    println!("seen: live, {} of {} failed", sample.flows[0].failed, sample.flows[0].sent);
}

#[test]
fn damage_is_found_by_the_crc_and_without_it_by_the_content() {
    let faults = "faults = { damage = \"10 %\" }";
    let checked = text(BUS, "crc = true\nsize = \"200 B\"", faults);
    let checked = checked.replace("acknowledged = true", "acknowledged = true\ncrc = true");
    let [checked, plain] = [checked.clone(), checked.replace("crc = true", "crc = false")]
        .map(|text| predicted(&load(&text).unwrap()));
    assert_eq!(checked.flows[0].damaged, 0);
    assert!(checked.flows[0].lost > 0 && checked.counts["messages.bad-crc"] > 0);
    assert!(plain.flows[0].damaged > 0);
}

#[test]
fn a_priority_7_message_waits_at_most_two_frames_on_802_5() {
    let bulk = |n| {
        format!(
            "[[flow]]\nname = \"bulk-{n}\"\nfrom = \"s-{n}\"\nto = \"s-6\"\nservice = \"message\"\n\
             pattern = {{ kind = \"bulk\" }}\nsize = \"4000 B\"\n"
        )
    };
    let all: String = (1..=5).map(bulk).collect();
    let study = format!(
        "version = 1\ntitle = \"t\"\nstop = {{ after = \"4 s\", warmup = \"100 ms\" }}\n\
         medium = {RING}\nstations = {{ count = 7, prefix = \"s\" }}\n{all}\
         [[flow]]\nname = \"alarm\"\nfrom = \"s-7\"\nto = \"s-6\"\nservice = \"message\"\n\
         pattern = {{ kind = \"cyclic\", period = \"37 ms\" }}\nsize = \"100 B\"\nstart = \"together\"\n\
         [vary]\n\"flow.alarm.priority\" = [0, 7]\n"
    );
    let study = load(&study).unwrap();
    let alarm = |point: usize| {
        let sample = run(&study.points[point], "", 0).unwrap();
        sample.flows.into_iter().find(|flow| flow.name == "alarm").unwrap()
    };
    let (low, high) = (alarm(0), alarm(1));
    // (4003 + 21) octets at 4 Mbit/s take 8.048 ms: the rest of the frame on the ring, and one more
    // if the reservation came too late for it; with five others a turn takes 40.24 ms.
    let frame_ns = 8_048_000;
    assert!(high.delay.max_ns.unwrap() < 2 * frame_ns + 1_000_000, "{:?}", high.delay.max_ns);
    assert!(low.delay.max_ns.unwrap() > 4 * frame_ns, "{:?}", low.delay.max_ns);
    // On average half a frame and at most one more; without priority half a turn of five frames,
    // however many alarms wait, because one token takes them all.
    let in_frames = |flow: &FlowSample| flow.delay.mean_ns.unwrap() / f64::from(frame_ns as u32);
    let (high, low) = (in_frames(&high), in_frames(&low));
    assert!(high < 1.5 && (2.25..2.75).contains(&low), "{high} and {low} frames");
}

#[test]
fn token_bus_serves_class_6_each_round_and_class_0_when_early() {
    let bulk = |n| {
        format!(
            "[[flow]]\nname = \"bulk-{n}\"\nfrom = \"s-{n}\"\nto = \"s-6\"\nservice = \"message\"\n\
             pattern = {{ kind = \"bulk\" }}\nsize = \"4000 B\"\n"
        )
    };
    let all: String = (1..=5).map(bulk).collect();
    let study = format!(
        "version = 1\ntitle = \"t\"\nstop = {{ after = \"4 s\", warmup = \"100 ms\" }}\n{all}\
         stations = {{ count = 7, prefix = \"s\" }}\n\
         [medium]\nkind = \"token-bus\"\nrate = \"10 Mbit/s\"\nlength = \"500 m\"\n\
         classes = {{ class-4 = \"10 ms\", class-2 = \"10 ms\", class-0 = \"10 ms\" }}\n\
         [[flow]]\nname = \"alarm\"\nfrom = \"s-7\"\nto = \"s-6\"\nservice = \"message\"\n\
         pattern = {{ kind = \"cyclic\", period = \"37 ms\" }}\nsize = \"100 B\"\nstart = \"together\"\n\
         [vary]\n\"flow.alarm.priority\" = [0, 7]\n"
    );
    let study = load(&study.replace(&all, "").replacen("[[flow]]", &format!("{all}[[flow]]"), 1));
    let study = study.unwrap();
    let alarm = |point: usize| {
        let sample = run(&study.points[point], "", 0).unwrap();
        sample.flows.into_iter().find(|flow| flow.name == "alarm").unwrap()
    };
    let (low, high) = (alarm(0), alarm(1));
    // A round is at most the target and one frame begun just before its end, 10 + 3.22 ms; then
    // there are tokens of 21 us and the alarm's own 0.1 ms.
    assert!(high.delay.max_ns.unwrap() < 13_600_000, "{:?}", high.delay.max_ns);
    assert_eq!((high.lost, high.failed), (0, 0));
    assert!(high.delay.mean_ns.unwrap() < low.delay.mean_ns.unwrap());
    println!(
        "seen: alarms {:?} ms of class 6, {:?} of class 0",
        high.delay.max_ns, low.delay.max_ns
    );
}

#[test]
fn ship_runs_on_every_medium_with_every_order_acknowledged() {
    let ship = scenarios::get("ship").unwrap();
    let short = |text: &str| {
        let list = Values::List(vec![text.to_owned()]);
        Setting { path: "stop.after".to_owned(), values: list }
    };
    let study = scenario::load_with(ship.text, "ship.toml", &[short("3 s")]).unwrap();
    assert_eq!(study.points.len(), 3);
    for point in &study.points {
        let sample = run(point, "", 0).unwrap();
        assert!(sample.complete, "{:?}", point.settings);
        for (flow, of) in sample.flows.iter().zip(&point.scenario.flows) {
            assert_eq!((flow.lost, flow.failed, flow.not_taken), (0, 0, 0), "{flow:?}");
            let acknowledged = if of.acknowledged == Some(true) { flow.sent } else { 0 };
            assert_eq!(flow.acknowledged, acknowledged, "{flow:?}");
        }
    }
    // On a ring the segments of a route may be larger; on the bus the error shows its place.
    let route = Setting {
        path: "flow.route.size".to_owned(),
        values: Values::List(vec!["2000 B".to_owned()]),
    };
    let error = scenario::load_with(ship.text, "ship.toml", &[short("3 s"), route]).unwrap_err();
    assert!(error.to_string().contains("with CRC has at most 1495 B"), "{error}");
}

/// Results of ten messages of 16 octets: user octets that arrived, answers, and delays from due
/// time and from submission.
fn of_sixteen_octets(service: &str, pattern: &str) -> (u64, u64, u64, u64) {
    let text = format!(
        "version = 1\ntitle = \"short\"\nreplications = 1\nstop = {{ after = \"1 s\" }}\n\
         medium = {BUS}\nstations = {{ count = 2, prefix = \"s\" }}\n[[flow]]\nname = \"order\"\n\
         from = \"s-1\"\nto = \"s-2\"\nservice = \"{service}\"\nsize = \"16 B\"\n\
         pattern = {{ {pattern} }}\n"
    );
    let sample = predicted(&load(&text).unwrap());
    let flow = &sample.flows[0];
    assert_eq!((flow.sent, flow.damaged, flow.lost), (10, 0, 0), "{service}: {pattern}");
    (flow.delivered_octets, flow.answered, flow.delay.count, flow.delay_from_sent.count)
}

#[test]
fn messages_of_sixteen_octets_pass_over_every_service() {
    let bulk = "kind = \"bulk\", total = \"160 B\"";
    let cyclic = "kind = \"cyclic\", period = \"100 ms\"";
    let request = "kind = \"constant-rate-request\", period = \"100 ms\", reply = \"16 B\"";
    // Ten messages of 16 octets, which have no room for the time of submission.
    for (service, pattern, answers) in [
        ("class-4", bulk, 0),
        ("class-4", cyclic, 0),
        ("class-4", request, 10),
        ("datagram", bulk, 0),
        ("datagram", cyclic, 0),
        ("message", cyclic, 0),
    ] {
        assert_eq!(of_sixteen_octets(service, pattern), (160, answers, 10, 0));
    }
    let text = text(BUS, "size = \"15 B\"", "");
    assert!(load(&text).unwrap_err().contains("a message has at least 16 B"));
}

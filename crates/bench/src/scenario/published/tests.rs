use super::super::{load, to_toml};
use super::*;
use crate::run::run;

const SWITCH: &str = "{ kind = \"switched\", rate = \"100 Mbit/s\", length = \"10 m\" }";
const GOOSE: &str = "service = \"goose\"\nappid = 0x3001\nsize = \"120 B\"\n\
                     pattern = { kind = \"retransmission\", min-time = \"4 ms\", max-time = \"100 ms\" }";
const SV: &str = "service = \"sampled-values\"\nappid = 0x4001\n\
                  pattern = { kind = \"cyclic\", period = \"250 us\" }";
const CYCLIC: &str = "service = \"cyclic\"\nsize = \"46 B\"\n\
                      pattern = { kind = \"cyclic\", period = \"2 ms\" }";

fn text(medium: &str, flow: &str) -> String {
    format!(
        "version = 1\ntitle = \"t\"\nstop = {{ after = \"1 s\" }}\nmedium = {medium}\n\
         stations = {{ count = 3, prefix = \"s\" }}\n[[flow]]\nname = \"f\"\nfrom = \"s-1\"\n\
         to = \"s-2\"\nstart = \"0 s\"\n{flow}\n"
    )
}

#[track_caller]
fn check_error(flow: &str, expected: &str) {
    let error = load(&text(SWITCH, flow), "a.toml").unwrap_err().to_string();
    let words = error.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(expected) && error.contains('^'), "{error}");
}

/// Runs a flow, whose messages must all arrive; returns their number.
#[track_caller]
fn sent(flow: &str) -> u64 {
    let study = load(&text(SWITCH, flow), "a.toml").unwrap_or_else(|error| panic!("{error}"));
    let again = load(&to_toml(study.scenario()), "b.toml").unwrap();
    assert_eq!(again.scenario().flows, study.scenario().flows, "written as it is read");
    let sample = run(&study.points[0], "", 0).unwrap();
    let found = &sample.flows[0];
    let rest = (found.lost, found.duplicated, found.damaged);
    assert_eq!((found.delivered, rest), (found.sent, (0, 0, 0)), "{flow}");
    assert_eq!(found.delivered_octets / found.sent, study.scenario().flows[0].size.0);
    found.sent
}

#[test]
fn each_message_of_a_stream_arrives_at_its_subscriber() {
    assert_eq!(sent(SV), 4_000);
    assert_eq!(sent(&format!("{SV}\nsamples = 2\nvlan = 7\nsv-id = \"MU\"")), 4_000);
    assert_eq!(sent(&format!("{CYCLIC}\npriority = 6")), 500);
    assert_eq!(sent(&format!("{CYCLIC}\nethertype = 0x88b5")), 500);
    // On average each period; the frame that is due at the end of the run may come up to 90 us before it.
    let jitter = "jitter = [\"0 % -90 us\", \"50 % 0 us\", \"50 % 10 us\", \"100 % 70 us\"]";
    assert!((500..=501).contains(&sent(&format!("{CYCLIC}\n{jitter}"))));
    // At 0, 100, ... 900 ms.
    assert_eq!(sent(GOOSE), 10);
    // A change at 510 ms: then after 4, 12, 28, 60, 124 (64 is below 100), 224, 324 and 424 ms.
    assert_eq!(sent(&format!("{GOOSE}\nchanges = [\"510 ms\"]")), 6 + 1 + 8);
    // 10 and 20 ms, then 120, ... 420 ms.
    let curve = "curve = [\"10 ms\", \"10 ms\"]\nchanges = [\"510 ms\"]";
    assert_eq!(sent(&format!("{GOOSE}\n{curve}")), 6 + 1 + 6);
}

#[test]
fn keys_and_patterns_of_streams_are_checked_at_their_place() {
    check_error(&GOOSE.replace("120 B", "20 B"), "behind its EtherType");
    let jitter = |flow: &str, table: &str, expected: &str| {
        check_error(&format!("{flow}\njitter = [{table}]"), expected);
    };
    jitter(SV, "\"0 % 1 us\", \"100 % 0 us\"", "shares and deviations of `jitter` must ascend");
    jitter(SV, "\"0 % -251 us\", \"100 % 251 us\"", "earlier than by its period");
    jitter(SV, "\"0 % 1\", \"100 % 2 us\"", "the unit is missing");
    jitter(GOOSE, "\"0 % 0 us\", \"100 % 2 us\"", "intervals of this pattern have no jitter");
    check_error(&GOOSE.replace("appid = 0x3001\n", ""), "missing key `appid`");
    check_error(&GOOSE.replace("0x3001", "0x13001"), "`appid` is at most 0xffff");
    check_error(
        &GOOSE.replace("goose", "cyclic"),
        "streams of this service need the pattern `cyclic`",
    );
    check_error(&format!("{GOOSE}\nsv-id = \"x\""), "\"sampled-values\" have `sv-id`");
    check_error(&format!("{GOOSE}\nvlan = 4095"), "`vlan` is at most");
    check_error(&format!("{GOOSE}\ndestination = \"02:00:00:00:00:01\""), "a group of stations");
    check_error(&format!("{GOOSE}\ndestination = \"nine\""), "expected a MAC address");
    check_error(&format!("{GOOSE}\nchanges = [\"2 ms\", \"1 ms\"]"), "must be in ascending order");
    check_error(&GOOSE.replace("\"4 ms\"", "\"1 s\""), "`min-time` is longer");
    check_error(&format!("{SV}\nsamples = 17"), "from 1 to 16 samples");
    check_error(&format!("{SV}\nframe-id = 1"), "only flows of service \"cyclic\"");
    check_error(&format!("{CYCLIC}\nethertype = 0x0800"), "no EtherType of cyclic data");
    check_error(&format!("{CYCLIC}\nethertype = 0x88b5\nframe-id = 0x8001"), "have a FrameID");
    check_error(&format!("{CYCLIC}\nframe-id = 0x80"), "have FrameIDs from");
    check_error(&CYCLIC.replace("46 B", "45 B"), "at least 46 B");
    let other = "[[station]]\nname = \"s-3\"\naddress = \"02:5e:00:00:00:01\"";
    let both = format!("{CYCLIC}\n{other}\n{}", other.replace("s-3", "s-4"));
    check_error(&both, "02:5e:00:00:00:01 is the address of station \"s-3\"");
    let datagram = "service = \"datagram\"\nsize = \"46 B\"\nappid = 1\n\
                    pattern = { kind = \"cyclic\", period = \"2 ms\" }";
    check_error(datagram, "\"goose\", \"sampled-values\" have `appid`");
    check_error(
        &GOOSE.replace("goose", "datagram").replace("appid = 0x3001\n", ""),
        "of service `goose` alone",
    );
    let list = SV.replace("\"sampled-values\"", "[\"datagram\", \"sampled-values\"]");
    check_error(&list, "has no service in its place");
    let second = "[[flow]]\nname = \"g\"\nfrom = \"s-1\"\nto = \"s-3\"\nsv-id = \"f\"";
    check_error(&format!("{SV}\n{second}\n{SV}"), "frames of \"f\" have the same identity");
    let ring = "{ kind = \"token-ring\", rate = \"4 Mbit/s\", length = \"100 m\" }";
    let error = load(&text(ring, SV), "a.toml").unwrap_err().to_string();
    assert!(error.contains("streams need an Ethernet medium"), "{error}");
}

#[test]
fn two_streams_of_an_experimental_ethertype_arrive_apart() {
    let second = "[[flow]]\nname = \"g\"\nfrom = \"s-1\"\nto = \"s-2\"\nethertype = 0x88b5";
    let fast = CYCLIC.replace("2 ms", "1 ms");
    let both = format!("{CYCLIC}\nethertype = 0x88b5\n{second}\nstart = \"0 s\"\n{fast}");
    let study = load(&text(SWITCH, &both), "a.toml").unwrap();
    let flows = run(&study.points[0], "", 0).unwrap().flows;
    let counts: Vec<_> = flows.iter().map(|flow| (flow.sent, flow.delivered)).collect();
    assert_eq!(counts, [(500, 500), (1_000, 1_000)]);
    let profinet = both.replace("ethertype = 0x88b5\n", "");
    check_error(&profinet, "frames of \"f\" have the same identity");
}

#[test]
fn a_goose_of_known_changes_has_a_bound_and_floods_every_port() {
    let bound = |flow: &str, other: &str| {
        let text = format!("{}\n{other}", text(SWITCH, flow));
        let study = load(&text, "a.toml").unwrap_or_else(|error| panic!("{error}"));
        crate::bound::bounds(study.scenario()).last().copied()
    };
    let other = "[[flow]]\nname = \"d\"\nfrom = \"s-2\"\nto = \"s-3\"\nservice = \"datagram\"\n\
                 size = \"100 B\"\npattern = { kind = \"cyclic\", period = \"10 ms\" }\n";
    let Some(crate::bound::Bound::Longest(alone)) = bound(CYCLIC, other) else {
        panic!("no bound")
    };
    let goose = format!("{GOOSE}\nchanges = [\"510 ms\"]\n");
    let Some(crate::bound::Bound::Longest(both)) = bound(&goose, other) else { panic!("no bound") };
    // Two frames to the group, a retransmission and a change, may be before it at the port of s-3: each of
    // 14 + 4 + 120 + 4 octets, 8 of preamble and 12 of gap take 12.96 us.
    assert_eq!(both - alone, Duration::from_nanos(2 * 12_960));
    // Behind the same frames of its own station: a change more is a frame more at that station's port, and
    // one at the port of s-2, however many stations get the frame.
    let own = other.replace("\"s-2\"", "\"s-1\"").replace("\"s-3\"", "\"s-2\"");
    let [steady, changing] = [GOOSE, &goose].map(|flow| match bound(flow, &own) {
        Some(crate::bound::Bound::Longest(longest)) => longest,
        found => panic!("{found:?}"),
    });
    assert_eq!(changing - steady, Duration::from_nanos(2 * 12_960));
    let random = goose.replace("\"100 ms\" }", "\"100 ms\", mean-interval = \"1 s\" }");
    let unlimited = Some(crate::bound::Bound::None(crate::bound::Reason::Others));
    assert_eq!(bound(&random, other), unlimited);
}

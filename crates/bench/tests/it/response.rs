//! Acknowledged messages over a token bus with request with response.

use bench::bound::{Bound, bounds};
use bench::run::run;
use bench::sample::Sample;
use bench::scenario::load;
use core::time::Duration;

const BUS: &str = "kind = \"token-bus\"\nrate = \"10 Mbit/s\"\nlength = \"0 m\"\n\
    station-delay = \"4 us\"\n";
const AT_ONCE: &str = "request-with-response = { retries = 2 }\n";

/// Returns a scenario in which `b` sends `a` acknowledged messages every 10 ms for a second, and
/// `c` sends it reports; `more` adds keys of `a`.
fn text(bus: &str, more: &str) -> String {
    format!(
        "version = 1\ntitle = \"t\"\nreplications = 1\nstop = {{ after = \"1 s\" }}\n\
         [medium]\n{bus}\n[[station]]\nname = \"a\"\n{more}\n[[station]]\nname = \"b\"\n\
         [[station]]\nname = \"c\"\n[[flow]]\nname = \"order\"\nfrom = \"b\"\nto = \"a\"\n\
         service = \"message\"\nacknowledged = true\n\
         messages = 100\npattern = {{ kind = \"cyclic\", period = \"10 ms\" }}\nsize = \"100 B\"\n\
         [[flow]]\nname = \"report\"\nfrom = \"c\"\nto = \"a\"\nservice = \"datagram\"\n\
         pattern = {{ kind = \"cyclic\", period = \"3 ms\" }}\nsize = \"500 B\"\n"
    )
}

fn sample(bus: &str, more: &str) -> Sample {
    let study = load(&text(bus, more), "a.toml").unwrap_or_else(|error| panic!("{error}"));
    run(&study.points[0], "", 0).unwrap()
}

#[test]
fn each_message_is_acknowledged_during_the_token_that_sent_it() {
    let at_once = sample(&format!("{BUS}{AT_ONCE}"), "");
    let flow = &at_once.flows[0];
    assert_eq!((flow.sent, flow.delivered, flow.acknowledged, flow.failed), (100, 100, 100, 0));
    // One command precedes them to synchronise.
    let count = |name: &str| at_once.counts[&format!("medium.{name}")];
    assert_eq!((count("requests"), count("answers"), count("unanswered")), (101, 101, 0));
    // Without, each acknowledgement is a frame with a token of its own.
    let later = sample(BUS, "");
    assert_eq!(later.flows[0].acknowledged, 100);
    let used = |sample: &Sample| sample.counts["medium.tokens-used"];
    assert_eq!(used(&later), used(&at_once) + 101);
    assert!(!later.counts.contains_key("medium.requests"));
}

#[test]
fn requests_to_a_failed_receiver_are_retried_until_they_fail() {
    let sample = sample(&format!("{BUS}{AT_ONCE}"), "fails-at = \"905 ms\"");
    let flow = &sample.flows[0];
    // Messages due at 0, ... 900 ms are acknowledged; LLC tries each of the others four times, 20
    // ms apart, and each try is three requests.
    assert_eq!((flow.delivered, flow.acknowledged), (91, 91));
    assert!(flow.failed > 0, "{flow:?}");
    let count = |name: &str| sample.counts[&format!("medium.{name}")];
    assert_eq!(count("requests"), 92 + 3 * count("unanswered"));
    assert_eq!(count("answers"), 92);
}

#[test]
fn others_keep_to_a_bound_that_has_the_exchanges_in_it() {
    for (retries, period) in [(0, "2 ms"), (2, "500 us"), (7, "300 us")] {
        let bus = format!(
            "{BUS}holding-time = \"1 ms\"\nrequest-with-response = {{ retries = {retries} }}"
        );
        let text = text(&bus, "").replace("10 ms", period);
        let study = load(&text, "a.toml").unwrap();
        let found = bounds(study.scenario());
        let [Bound::None(_), Bound::Longest(bound)] = found[..] else { panic!("{found:?}") };
        // A rotation: b holds the token for 1 ms and an exchange, c for its frame of 420 us; three passes.
        let exchange = (retries + 1) * (100_000 + 16_000) + 20_800;
        let rotation = 1_000_000 + exchange + 420_000 + 3 * 21_600;
        assert_eq!(bound, Duration::from_nanos(rotation + 420_000));
        let sample = run(&study.points[0], "", 0).unwrap();
        let longest = sample.flows[1].delay.max_ns.unwrap();
        println!("seen: at most {longest} ns of {} ns", bound.as_nanos());
        assert!(u128::from(longest) <= bound.as_nanos());
    }
}

#[test]
fn what_cannot_be_is_refused_where_it_is_written() {
    let bus = format!("{BUS}{AT_ONCE}");
    check(&bus.replace("= 2", "= 8"), "", "a.toml:10:", "at most 7 times");
    check(&bus, "profile = \"nbs-1986\"", "a.toml:14:", "does not answer within two slot times");
}

#[track_caller]
fn check(bus: &str, more: &str, place: &str, expected: &str) {
    let said = load(&text(bus, more), "a.toml").unwrap_err().to_string();
    assert!(said.contains(expected) && said.contains(place), "{said}");
}

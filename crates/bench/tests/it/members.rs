//! Stations of a token bus that enter, leave, fail and lose the token, as set in scenarios: results
//! of their flows, and the recovery time of the ring.
//!
//! At 10 Mbit/s, without cable and with a station's delay of 4 us, a token takes 17.6 + 4 us, a slot is
//! 8 us, and a message of 100 octets (100 + 3 + 22) x 8 bits, 100 us.

use bench::bound::{Bound, Reason, bounds};
use bench::run::run;
use bench::sample::Sample;
use bench::scenario::load;

const BUS: &str = "{ kind = \"token-bus\", rate = \"10 Mbit/s\", length = \"0 m\", \
    station-delay = \"4 us\", maintenance = { every = 1, target = \"100 ms\" } }";

/// Returns a scenario in which `b` sends to `a` every 10 ms for a second, while it is present.
fn text(medium: &str, of_b: &str) -> String {
    format!(
        "version = 1\ntitle = \"t\"\nreplications = 1\nstop = {{ after = \"1 s\" }}\n\
         medium = {medium}\n[[station]]\nname = \"a\"\n[[station]]\nname = \"b\"\n{of_b}\n\
         [[station]]\nname = \"c\"\n[[flow]]\nname = \"status\"\nfrom = \"b\"\nto = \"a\"\n\
         service = \"datagram\"\npattern = {{ kind = \"cyclic\", period = \"10 ms\" }}\nstart = \"together\"\n\
         size = \"100 B\"\ndeadline = \"5 ms\"\n"
    )
}

fn sample(of_b: &str) -> Sample {
    let study = load(&text(BUS, of_b), "a.toml").unwrap_or_else(|error| panic!("{error}"));
    run(&study.points[0], "", 0).unwrap()
}

#[test]
fn messages_of_an_absent_station_are_neither_offered_nor_judged() {
    for (of_b, left, bridged) in [("leaves-at = \"505 ms\"", 1, 0), ("fails-at = \"505 ms\"", 0, 1)]
    {
        let sample = sample(of_b);
        let flow = &sample.flows[0];
        // Due at 0, 10, ... 500 ms, and then at 510, ... 990 ms.
        assert_eq!((flow.sent, flow.delivered, flow.not_offered), (51, 51, 49), "{of_b}");
        assert_eq!((flow.judged(), flow.lost, flow.missed), (51, 0, Some(0)), "{of_b}");
        let counts = &sample.counts;
        assert_eq!((counts["medium.departures"], counts["medium.bridges"]), (left, bridged));
    }
}

#[test]
fn flows_of_an_entering_station_wait_for_its_window() {
    let sample = sample("enters-at = \"300 ms\"");
    let flow = &sample.flows[0];
    // Due at 300, 310, ... 990 ms.
    assert_eq!((flow.sent, flow.delivered, flow.not_offered), (70, 70, 0));
    assert_eq!(sample.counts["medium.entries"], 1);
    // A station that returns after a failure: 300 to 340 ms are not offered.
    let back = self::sample("fails-at = \"295 ms\"\nenters-at = \"345 ms\"");
    let flow = &back.flows[0];
    assert_eq!((flow.sent, flow.delivered, flow.not_offered), (95, 95, 5));
    assert_eq!((back.counts["medium.entries"], back.counts["medium.bridges"]), (1, 1));
}

#[test]
fn a_lost_token_adds_six_slots_and_a_claim_to_the_longest_delay() {
    // The claim of b, 02-00-00-00-00-02: 24 (17.6 + 8) us and 2 x (2 + 2) slots, 678.4 us; 48 us before.
    // The message of 500 ms waits for the token that is lost, for at most a rotation: 3 x 21.6 us, two
    // windows of 17.6 + 8, and one of 17.6 + 16.
    let sample = sample("loses-token-at = \"499 ms\"");
    let recovery = 678_400 + 48_000;
    let (rotation, frame) = (3 * 21_600 + 2 * 25_600 + 33_600, 100_000);
    let longest = sample.flows[0].delay.max_ns.unwrap();
    println!("seen: the longest delay is {longest} ns, of which {recovery} recover the token");
    let others = rotation + frame;
    assert!(longest <= others + recovery, "{longest}");
    assert_eq!((sample.counts["medium.tokens-lost"], sample.counts["medium.claims"]), (1, 1));
    // At 499.95 ms the ring is without a token when the message is due.
    let late = self::sample("loses-token-at = \"499950 us\"").flows[0].delay.max_ns.unwrap();
    assert!(late > others && late <= others + recovery, "{late}");
}

#[test]
fn where_stations_come_and_go_there_is_no_bound_and_it_says_why() {
    let study = load(&text(BUS, "leaves-at = \"505 ms\""), "a.toml").unwrap();
    assert_eq!(bounds(study.scenario()), [Bound::None(Reason::Members)]);
    let study = load(&text(BUS, ""), "a.toml").unwrap();
    assert!(matches!(bounds(study.scenario())[..], [Bound::Longest(_)]));
}

#[test]
fn what_cannot_befall_a_station_is_refused_where_it_is_written() {
    let plain = BUS.replace(", maintenance = { every = 1, target = \"100 ms\" }", "");
    let bus = "{ kind = \"csma-cd\", rate = \"10 Mbit/s\", length = \"100 m\" }";
    check(bus, "leaves-at = \"5 ms\"", "a.toml:10:", "have no `leaves-at`");
    check(&plain, "enters-at = \"5 ms\"", "a.toml:10:", "no station ever opens a window");
    check(BUS, "fails-at = \"1 s\"", "a.toml:10:", "the run ends after 1 s");
    let both = "leaves-at = \"5 ms\"\nfails-at = \"5 ms\"";
    check(BUS, both, "a.toml:11:", "`leaves-at` is at the same time");
    check(BUS, "leaves-at = \"0 ms\"", "a.toml:15:", "\"b\" is away from 0 s to the end");
}

#[track_caller]
fn check(medium: &str, of_b: &str, place: &str, expected: &str) {
    let said = load(&text(medium, of_b), "a.toml").unwrap_err().to_string();
    assert!(said.contains(expected) && said.contains(place), "{said}");
}

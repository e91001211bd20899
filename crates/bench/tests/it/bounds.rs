//! Bounds compared with hand calculation, and never exceeded in random scenarios.

use crate::{QUIET, study};
use bench::bound::{Bound, Reason, assumptions, bounds};
use bench::run::run;
use bench::scenario::load;
use bench::scenarios;
use core::time::Duration;
use std::fmt::Write as _;

/// Returns the bound of the only flow of a quiet scenario with some keys set.
fn quiet(settings: &[(&str, &str)], medium: &str) -> Bound {
    let old = "medium = { kind = \"ideal\", rate = \"10 Mbit/s\", delay = \"5 us\" }";
    let text = QUIET.replace(old, &format!("medium = {medium}"));
    let study = study(&text, settings);
    assert_eq!(
        assumptions(&study.scenario().medium).is_some(),
        !medium.contains("csma") && !medium.contains("false")
    );
    bounds(study.scenario())[0]
}

fn nanos(nanos: u64) -> Bound {
    Bound::Longest(Duration::from_nanos(nanos))
}

#[test]
fn the_bound_of_a_single_flow_is_the_maximum_of_each_medium() {
    // 200 octets in a UI frame: 14 + 3 + 200 + 4 and 8 in front are 229 octets, 183.2 us, and a gap of
    // 9.6 us, which the bound of a wire counts; 5 us on the way.
    assert_eq!(
        quiet(&[], "{ kind = \"ideal\", rate = \"10 Mbit/s\", delay = \"5 us\" }"),
        nanos(197_800)
    );
    // A gap of 96 bits that was just missed, a beacon of 20, the other's opportunity of 32: 14.8 us;
    // 183.2 us; 25 m take 125 ns.
    assert_eq!(quiet(&[], "{ kind = \"t1s\", length = \"25 m\" }"), nanos(198_125));
    // Two passes of 22 octets and 3 us; 225 octets (3 + 200 and 22 around them), 180 us, once for the
    // rotation in which the token has just gone by, and once itself; 100 m take 500 ns, in each pass
    // too: 2 x (17.6 + 3 + 0.5) + 180 + 180 + 0.5 us.
    let bus = "{ kind = \"token-bus\", rate = \"10 Mbit/s\", length = \"100 m\", \
               station-delay = \"3 us\" }";
    assert_eq!(quiet(&[], bus), nanos(402_700));
    // A window before each pass, 17.6 us and a slot, and at the lowest address another slot: twice the
    // way and the delay are 7 us, in whole octets 7.2: 2 x (17.6 + 7.2) + 7.2.
    let windows = bus.replace(" }", ", maintenance = { every = 16, target = \"20 ms\" } }");
    assert_eq!(quiet(&[], &windows), nanos(402_700 + 56_800));
    // With a tag 186.4 us and a gap of 9.6 us at each of two ports; 100 m twice; 10 us.
    let star =
        "{ kind = \"switched\", rate = \"10 Mbit/s\", length = \"100 m\", latency = \"10 us\" }";
    assert_eq!(quiet(&[], star), nanos(2 * 196_000 + 2 * 500 + 10_000));
    let bus = "{ kind = \"csma-cd\", rate = \"10 Mbit/s\", length = \"100 m\" }";
    assert_eq!(quiet(&[], bus), Bound::None(Reason::Contention));
}

#[test]
fn what_theory_does_not_bound_says_why() {
    let segment = "{ kind = \"t1s\", length = \"25 m\" }";
    let check = |settings: &[(&str, &str)], reason| {
        assert_eq!(quiet(settings, segment), Bound::None(reason), "{settings:?}");
    };
    check(&[("flow.status.service", "class-4")], Reason::Connection);
    check(&[("faults.loss", "1 %")], Reason::Faults);
    check(&[("stations.profile", "at-pronet")], Reason::Machines);
    // 192.8 us of every 100 us; and with jitter of what may be due after 100 us.
    check(&[("flow.status.pattern.period", "100 us")], Reason::Load);
    let jitter = "jitter = [\"0 % -900 us\", \"100 % 900 us\"]\n";
    let text = format!("{}{jitter}", QUIET.replace("20 ms", "1 ms"));
    let of = |text: &str| bounds(study(text, &[]).scenario())[0];
    assert_eq!(of(&text), Bound::None(Reason::Load));
    assert!(matches!(of(&text.replace(jitter, "")), Bound::Longest(_)));
    let zone = load(scenarios::get("t1s-zone").unwrap().text, "zone.toml").unwrap();
    let of = |point: usize| bounds(&zone.points[point].scenario);
    let reasons = |bounds: Vec<Bound>| -> Vec<Option<Reason>> {
        let reason = |bound| match bound {
            Bound::Longest(_) => None,
            Bound::None(reason) => Some(reason),
        };
        bounds.into_iter().map(reason).collect()
    };
    let random = Some(Reason::Unlimited);
    let picture = Some(Reason::Connection);
    assert_eq!(reasons(of(0)), [None, None, None, random, None, None, picture]);
    assert_eq!(reasons(of(2)), [Some(Reason::Contention); 7]);
}

/// Returns a scenario of many stations with messages and datagrams of random sizes, periods, phases and
/// jitter, all to one of them or to their neighbours.
fn random(medium: &str, random: &mut stats::rng::Stream, priorities: bool) -> String {
    let stations = 2 + random.below(6);
    let flows = 1 + random.below(8);
    let mut text = format!(
        "version = 1\ntitle = \"random\"\nseed = {}\nstop = {{ after = \"400 ms\" }}\n\
         medium = {medium}\nstations = {{ count = {stations}, prefix = \"s\" }}\n",
        random.below(1 << 40)
    );
    for flow in 0..flows {
        let from = random.below(stations);
        let to = (from + 1 + random.below(stations - 1)) % stations;
        let (period, size) = (3_000 + random.below(20_000), 20 + random.below(1_400));
        let start = random.below(3_000);
        let priority = if priorities { random.below(8) } else { 0 };
        let service = if flow % 3 == 2 { "datagram" } else { "message" };
        let off = random.below(period / 2);
        write!(
            text,
            "[[flow]]\nname = \"f{flow}\"\nfrom = \"s-{}\"\nto = \"s-{}\"\nservice = \"{service}\"\n\
             priority = {priority}\npattern = {{ kind = \"cyclic\", period = \"{period} us\" }}\n\
             size = \"{size} B\"\nstart = \"{start} us\"\n\
             jitter = [\"0 % -{off} us\", \"100 % {off} us\"]\n",
            from + 1,
            to + 1
        )
        .unwrap();
    }
    text
}

/// Runs random scenarios on a medium; returns how close to its bound any message came.
fn never_exceeded(name: &str, medium: &str, priorities: bool, count: u64, near: f64) {
    const SEED: u64 = 0x5EED_B0D5;
    let mut stream = stats::rng::Stream::named(SEED, name);
    let (mut closest, mut bounded, mut all) = (0.0_f64, 0_u32, 0_u32);
    for case in 0..count {
        let text = random(medium, &mut stream, priorities);
        let study = load(&text, "random.toml").unwrap_or_else(|error| panic!("{error}"));
        let sample = run(&study.points[0], "", 0).unwrap();
        for (flow, bound) in sample.flows.iter().zip(bounds(study.scenario())) {
            all += 1;
            let Bound::Longest(longest) = bound else { continue };
            bounded += 1;
            let seen = Duration::from_nanos(flow.delay.max_ns.unwrap());
            assert!(
                seen <= longest,
                "{name} {case} {}: {seen:?} of {longest:?}\n{text}",
                flow.name
            );
            assert_eq!(flow.lost, 0);
            closest = closest.max(seen.as_secs_f64() / longest.as_secs_f64());
        }
    }
    println!(
        "seen: {name}: {bounded} of {all} flows bounded, the nearest at {closest:.3} of its bound"
    );
    assert!(bounded * 10 > all * 3, "{name}: {bounded} of {all} flows have a bound");
    assert!(closest > near, "{name}: {closest} of a bound is the nearest");
}

#[test]
fn no_message_of_random_scenarios_takes_longer_than_its_bound() {
    let mbit = "rate = \"10 Mbit/s\"";
    never_exceeded("ideal", &format!("{{ kind = \"ideal\", {mbit} }}"), true, 100, 0.9);
    never_exceeded("t1s", "{ kind = \"t1s\", length = \"25 m\" }", true, 100, 0.5);
    let burst = "{ kind = \"t1s\", length = \"25 m\", max-burst = 2 }";
    never_exceeded("bursts", burst, true, 100, 0.2);
    let bus = format!("{{ kind = \"token-bus\", {mbit}, length = \"500 m\" }}");
    never_exceeded("token bus", &bus, true, 100, 0.4);
    let ring = "{ kind = \"token-ring\", rate = \"16 Mbit/s\", length = \"500 m\" }";
    never_exceeded("token ring", ring, false, 100, 0.3);
    let pronet = "{ kind = \"pronet-10\", length = \"500 m\" }";
    never_exceeded("pronet-10", pronet, true, 100, 0.3);
    let row = format!("{{ kind = \"switched\", {mbit}, length = \"50 m\", switches = 3 }}");
    never_exceeded("switches", &row, true, 100, 0.6);
}

#[test]
fn urgent_token_bus_messages_stay_within_the_timed_token_bound() {
    let bus = "{ kind = \"token-bus\", rate = \"10 Mbit/s\", length = \"500 m\", holding-time = \"2 ms\", \
               classes = { class-4 = \"4 ms\", class-2 = \"3 ms\", class-0 = \"2 ms\" } }";
    const SEED: u64 = 0x5EED_0806;
    let mut stream = stats::rng::Stream::named(SEED, "classes");
    let mut bounded = 0;
    for _ in 0..100 {
        let text = random(bus, &mut stream, true);
        let study = load(&text, "random.toml").unwrap_or_else(|error| panic!("{error}"));
        let sample = run(&study.points[0], "", 0).unwrap();
        for ((flow, of), bound) in
            study.scenario().flows.iter().zip(&sample.flows).zip(bounds(study.scenario()))
        {
            let Bound::Longest(longest) = bound else { continue };
            bounded += 1;
            assert!(flow.priority >= Some(6), "lower classes have no bound");
            assert!(Duration::from_nanos(of.delay.max_ns.unwrap()) <= longest, "{text}");
        }
    }
    println!("seen: {bounded} flows of class 6 within the bound");
    assert!(bounded > 30, "{bounded}");
}

/// Ten messages of 67 octets, 100 on the wire, and one datagram of 1,485, 1,518 on the wire, over one
/// switch at 100 Mbit/s.
#[test]
fn each_frame_of_a_station_counts_at_its_own_length() {
    let flow = |name: &str, kind: &str, size: u32| {
        format!(
            "[[flow]]\nname = \"{name}\"\nfrom = \"s-1\"\nto = \"s-2\"\n{kind}\n\
             pattern = {{ kind = \"cyclic\", period = \"5 ms\" }}\nsize = \"{size} B\"\n\
             start = \"together\"\n"
        )
    };
    let urgent = "service = \"message\"\npriority = 6";
    let flows: String = (0..10).map(|n| flow(&format!("urgent-{n}"), urgent, 67)).collect();
    let text = format!(
        "version = 1\ntitle = \"t\"\nstop = {{ after = \"100 ms\" }}\n\
         medium = {{ kind = \"switched\", rate = \"100 Mbit/s\", length = \"10 m\" }}\n\
         stations = {{ count = 2, prefix = \"s\" }}\n{flows}{}",
        flow("file", "service = \"datagram\"", 1_485)
    );
    let study = load(&text, "a.toml").unwrap();
    // With a gap of 12 octets 8.96 us each and 122.4 us: 212 us at each of two ports, 50 ns of
    // cable twice. The datagram, alone in its class, waits for the ten as well.
    let expected = 2 * 212_000 + 2 * 50;
    let bounds = bounds(study.scenario());
    assert_eq!(bounds[0], nanos(expected));
    let sample = run(&study.points[0], "", 0).unwrap();
    for flow in &sample.flows {
        assert!(flow.delay.max_ns.unwrap() <= expected, "{}: {:?}", flow.name, flow.delay.max_ns);
    }
    // The datagram was submitted last and is sent last.
    assert!(sample.flows[10].delay.max_ns > sample.flows[9].delay.max_ns);
}

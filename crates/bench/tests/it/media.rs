//! Scenarios on 10BASE-T1S and on switches.

use crate::{QUIET, study};
use bench::medium::{Medium, Model, Site, T1s};
use bench::run::{run, run_on};
use bench::scenario::load;
use bench::scenarios;

/// Returns a quiet scenario on another medium.
fn on(medium: &str) -> String {
    let old = "medium = { kind = \"ideal\", rate = \"10 Mbit/s\", delay = \"5 us\" }";
    assert!(QUIET.contains(old));
    QUIET.replace(old, &format!("medium = {medium}"))
}

#[test]
fn a_status_report_takes_the_frame_time_of_each_medium() {
    // 200 octets and 17 of headers: 8 (217 + 12) = 1,832 bits, 183.2 us.
    let delays = |medium: &str| {
        let study = load(&on(medium), "a.toml").unwrap();
        let sample = run(&study.points[0], "", 0).unwrap();
        let delay = &sample.flows[0].delay;
        (delay.min_ns.unwrap(), delay.max_ns.unwrap())
    };
    // Two nodes: a cycle of 84 bits, 8.4 us, of which a frame waits no more than one; 25 m take
    // 125 ns.
    let (least, most) = delays("{ kind = \"t1s\", length = \"25 m\" }");
    assert!(least >= 183_325 && most <= 183_325 + 8_400, "{least} {most}");
    // There is no other station.
    let bus = "{ kind = \"t1s\", length = \"25 m\", plca = false }";
    assert_eq!(delays(bus), (183_325, 183_325));
    // With a tag 1,864 bits: 186.4 us and 0.5 us of cable, twice, and 10 us.
    let star =
        "{ kind = \"switched\", rate = \"10 Mbit/s\", length = \"100 m\", latency = \"10 us\" }";
    assert_eq!(delays(star), (383_800, 383_800));
    // A trunk of 100 Mbit/s between two switches: 18.64 + 0.5 + 10 us more.
    let row = star.replace(" }", ", switches = 2, trunk-rate = \"100 Mbit/s\" }");
    assert_eq!(delays(&row), (412_940, 412_940));
}

#[test]
fn a_machine_takes_its_time_for_frames_with_a_tag_too() {
    let machine = bench::profile::built_in("nbs-1986").unwrap();
    let delay = |medium: &str| {
        let text = on(medium).replace("\"datagram\"", "\"class-4\"");
        let text = text.replace("[[flow]]", "free = [\"checksum\"]\n[[flow]]");
        let text = text.replace("deadline = \"1 ms\"", "start = \"0 s\"");
        let study = load(&text, "a.toml").unwrap_or_else(|error| panic!("{error}"));
        let sample = run_on(&study.points[0], &machine, "", 0).unwrap();
        sample.flows[0].delay.min_ns.unwrap()
    };
    let wire = delay("{ kind = \"ideal\", rate = \"1000 Mbit/s\" }");
    let star = delay("{ kind = \"switched\", rate = \"1000 Mbit/s\", length = \"1 m\" }");
    // A frame of 250 octets takes 2 us, once more behind the switch; the machine takes milliseconds. Its
    // cost of an octet is charged for the four octets of the tag.
    assert!(wire > 5_000_000 && star.abs_diff(wire) < 30_000, "{wire} {star}");
}

#[test]
fn what_cannot_be_is_refused_where_it_is_written() {
    let check = |medium: &str, changes: &[(&str, &str)], expected: &str| {
        let text = on(medium);
        let text = changes.iter().fold(text, |text, (old, new)| text.replace(old, new));
        let said = load(&text, "a.toml").unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    };
    let many = [("count = 2", "count = 256")];
    check("{ kind = \"t1s\", length = \"25 m\" }", &many, "256 opportunities");
    check("{ kind = \"t1s\", length = \"25 m\", to-timer = 256 }", &[], "1 to 255 bit times");
    let burst = "{ kind = \"t1s\", length = \"25 m\", max-burst = 1, burst-timer = 90 }";
    check(burst, &[], "below the gap");
    check("{ kind = \"t1s\", length = \"400 m\" }", &[], "a round trip takes 4000 ns");
    check("{ kind = \"t1s\", length = \"6 km\", plca = false }", &[], "too long");
    let switches = "{ kind = \"switched\", rate = \"10 Mbit/s\", length = \"1 m\", switches = 0 }";
    check(switches, &[], "from 1 to 100 switches");
    let buffer =
        "{ kind = \"switched\", rate = \"10 Mbit/s\", length = \"1 m\", buffer = \"0 B\" }";
    check(buffer, &[], "no room");
    let study = load(&on("{ kind = \"t1s\", length = \"30 m\" }"), "a.toml").unwrap();
    assert_eq!(study.warnings.len(), 1);
}

#[test]
fn zone_meets_deadlines_with_plca_and_one_frame_per_turn() {
    let zone = scenarios::get("t1s-zone").unwrap();
    let study = study(zone.text, &[("stop.after", "2 s")]);
    assert_eq!(study.points.len(), 4);
    for point in &study.points {
        let sample = run(point, "", 0).unwrap();
        assert!(sample.complete, "{:?}", point.settings);
        let missed: u64 = sample.flows.iter().map(|flow| flow.missed.unwrap()).sum();
        println!("seen: {:?}: {missed} deadlines missed", point.settings);
        for flow in &sample.flows {
            let (mean, max) = (flow.delay.mean_ns, flow.delay.max_ns);
            println!("  {}: mean {mean:?} ns, max {max:?} ns, lost {}", flow.name, flow.lost);
        }
        match point.scenario.medium {
            Medium::T1s(T1s { plca: false, .. }) => {
                assert!(sample.counts["medium.collisions"] > 0);
            }
            // While the camera may send three frames per turn, the other stations wait for three.
            Medium::T1s(T1s { max_burst: 2, .. }) => assert!(missed > 0),
            _ => assert_eq!(missed, 0, "{:?}", point.settings),
        }
        if let Some(longest) = sample.counts.get("medium.longest-access-ns") {
            // A gap, a beacon, and seven other stations, one of which sends frames of at most 14 +
            // 3 + 1 + 1,024 octets, with a burst three of them, and the burst timer.
            let site = Site { positions_metres: vec![0.0; 8], ..Site::default() };
            let Model::Plca(turns) = point.scenario.medium.model(site) else { panic!("no PLCA") };
            let bound = turns.longest_access(1_042).as_nanos();
            assert!(u128::from(*longest) <= bound, "{longest} ns, not {bound}");
        }
    }
}

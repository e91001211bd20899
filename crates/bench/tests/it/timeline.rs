//! Timeline of a run: its events are those that taps and counters of the same run have.

use crate::{QUIET, study};
use bench::run::{Watch, run, run_watched, tap};
use bench::scenario::Study;
use bench::scenarios;
use bench::timeline::{Event, MOST_EVENTS, NoTimeline, Timeline, What, timeline};

/// Media with two stations, whose distances are a few metres.
const MEDIA: [&str; 6] = [
    "{ kind = \"ideal\", rate = \"10 Mbit/s\", delay = \"5 us\" }",
    "{ kind = \"csma-cd\", rate = \"10 Mbit/s\", length = \"100 m\" }",
    "{ kind = \"token-bus\", rate = \"10 Mbit/s\", length = \"100 m\" }",
    "{ kind = \"token-ring\", rate = \"4 Mbit/s\", length = \"100 m\" }",
    "{ kind = \"t1s\", length = \"15 m\", plca = true }",
    "{ kind = \"switched\", rate = \"10 Mbit/s\", length = \"100 m\", switches = 2 }",
];

/// A window that every run fits into.
const WHOLE: &str = "0s..1000s";

fn made(study: &Study, window: &str) -> Timeline {
    let never = || false;
    timeline(&study.points[0], 0, window.parse().unwrap(), &never).unwrap()
}

/// A connection with a message each millisecond.
fn busy(medium: &str, settings: &[(&str, &str)]) -> Study {
    let ideal = MEDIA[0];
    assert!(QUIET.contains(ideal));
    let common = [
        ("stop.after", "30 ms"),
        ("flow.status.service", "class-4"),
        ("flow.status.pattern", "{ kind = \"cyclic\", period = \"1 ms\" }"),
    ];
    let text = QUIET.replace(ideal, medium).replace(
        "{ kind = \"cyclic\", period = \"20 ms\" }",
        "{ kind = \"cyclic\", period = \"1 ms\" }",
    );
    study(&text, &[&common[..2], settings].concat())
}

/// Octets and times of the frames in the capture of a run that began by this time, in nanoseconds.
fn captured(study: &Study, until: u64) -> Vec<(usize, u64)> {
    let mut captured = Vec::new();
    let mut tap = tap(&study.points[0].scenario.medium);
    let mut watch = Watch {
        tap: Some(&mut |passage| {
            if passage.started.as_nanos() <= until {
                captured.extend(tap.capture(passage).map(|it| (it.octets.len(), it.at.as_nanos())));
            }
        }),
        is_interrupted: &|| false,
        messages: None,
        trace: None,
    };
    run_watched(&study.points[0], "hash", 0, &mut watch).unwrap();
    captured
}

fn frames(timeline: &Timeline) -> impl Iterator<Item = &Event> {
    timeline.events.iter().filter(|event| event.what == What::Frame)
}

#[test]
fn bars_of_frames_are_the_frames_of_the_capture() {
    for medium in MEDIA {
        let study = busy(medium, &[]);
        // The messages are due at whole milliseconds, and begin long before its end.
        let whole = made(&study, "0ms..20.9ms");
        // A switched network is captured at the ports to its stations.
        let is_captured = |event: &&Event| {
            let lane = &whole.lanes[event.lane];
            !medium.contains("switched") || lane.contains(" to s-")
        };
        let mut drawn: Vec<(usize, u64)> = frames(&whole)
            .filter(is_captured)
            .map(|event| (event.octets.unwrap(), event.end.as_nanos()))
            .collect();
        drawn.sort_by_key(|(_, at)| *at);
        let captured = captured(&study, 20_900_000);
        assert!(captured.len() > 25, "{medium}: {}", captured.len());
        assert_eq!(drawn.len(), captured.len(), "{medium}");
        for (one, other) in drawn.iter().zip(captured) {
            assert_eq!(one.0, other.0, "{medium}");
            // The observer is at most 100 m, a ring or 5 us away.
            assert!(other.1 >= one.1 && other.1 - one.1 < 20_000, "{medium}: {one:?} {other:?}");
        }
    }
}

#[test]
fn collisions_of_a_whole_run_are_those_that_are_counted() {
    let text = scenarios::get("status-csma").unwrap().text;
    let study = study(text, &[("background.load", "60 %"), ("stop.after", "250 ms")]);
    let sample = run(&study.points[0], "hash", 0).unwrap();
    let whole = made(&study, WHOLE);
    assert_eq!(whole.cut_at, None);
    assert!(sample.counts["medium.collisions"] > 100);
    assert_eq!(whole.count(What::Collision) as u64, sample.counts["medium.collisions"]);
    assert_eq!(whole.count(What::Frame) as u64, sample.counts["medium.sent"]);
    assert_eq!(whole.ended_at.as_nanos(), sample.ended_at_ns);
    assert_eq!(whole.lanes[0], "collisions");
}

#[test]
fn retransmissions_and_lost_frames_are_those_that_are_counted() {
    let study = busy(MEDIA[0], &[("faults.loss", "10 %"), ("stop.after", "500 ms")]);
    let sample = run(&study.points[0], "hash", 0).unwrap();
    let whole = made(&study, WHOLE);
    assert_eq!(whole.count(What::Lost) as u64, sample.counts["faults.lost"]);
    let again: u64 = sample.counts["transport.sent-again"];
    assert!(again > 20, "{again}");
    assert_eq!(whole.retransmitted() as u64, again);
    // A window that begins after the originals still has them as retransmissions.
    let part = made(&study, "200ms..300ms");
    let in_part = |event: &&Event| part.window.has(event.begin, event.end);
    let expected = whole.events.iter().filter(in_part).filter(|it| it.retransmitted == Some(true));
    assert_eq!(part.retransmitted(), expected.count());
}

#[test]
fn frames_are_named_by_their_tpdus_and_connections() {
    let whole = made(&busy(MEDIA[5], &[]), WHOLE);
    let kinds: Vec<&str> = frames(&whole).map(|event| event.kind.as_str()).collect();
    for kind in ["CR", "CC", "AK", "DT"] {
        // Each frame leaves its station and two switches, but for those under way at the end.
        let count = kinds.iter().filter(|other| **other == kind).count();
        assert!(count >= 3, "{kind}: {count}");
    }
    let dts: Vec<&Event> = frames(&whole).filter(|event| event.kind == "DT").collect();
    assert_eq!(dts[0].connection, "s-1>s-2 1");
    let own = |event: &&&Event| whole.lanes[event.lane] == "s-1";
    let numbers: Vec<Option<u32>> = dts.iter().filter(own).map(|it| it.sequence).collect();
    assert_eq!(numbers[..3], [Some(0), Some(1), Some(2)]);
    assert_eq!(
        whole.lanes,
        [
            "s-1",
            "s-2",
            "switch 1 to s-1",
            "switch 1 to switch 2",
            "switch 2 to s-2",
            "switch 2 to switch 1"
        ]
    );
}

#[test]
fn a_window_has_the_events_of_the_whole_that_overlap_it() {
    for medium in MEDIA {
        let study = busy(medium, &[]);
        let (whole, part) = (made(&study, "0ms..20ms"), made(&study, "10ms..15ms"));
        assert_eq!(part, made(&study, "10ms..15ms"), "{medium}");
        let told = |timeline: &Timeline| -> Vec<String> {
            let events = timeline.events.iter();
            let within = events.filter(|event| part.window.has(event.begin, event.end));
            within
                .map(|it| {
                    format!("{:?} {}", Event { lane: 0, ..it.clone() }, timeline.lanes[it.lane])
                })
                .collect()
        };
        assert_eq!(whole.cut_at, None, "{medium}");
        let mut expected = told(&whole);
        let mut found = told(&part);
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "{medium}");
        assert!(found.len() >= 5, "{medium}: {}", found.len());
    }
}

#[test]
fn a_window_behind_the_end_of_the_run_is_refused() {
    let study = busy(MEDIA[0], &[]);
    let window = "2s..3s".parse().unwrap();
    let error = timeline(&study.points[0], 0, window, &|| false).unwrap_err();
    let NoTimeline::AfterEnd { ended_at } = error else { panic!("{error}") };
    assert_eq!(ended_at, made(&study, WHOLE).ended_at);
}

#[test]
fn a_window_with_too_many_events_is_cut_and_has_all_before() {
    let study = busy(MEDIA[4], &[("stop.after", "100 ms")]);
    let whole = made(&study, WHOLE);
    let cut_at = whole.cut_at.unwrap();
    assert!(whole.events.len() <= MOST_EVENTS && whole.events.len() > MOST_EVENTS - 10);
    assert!(whole.events.iter().all(|event| event.begin < cut_at));
    let before = made(&study, "0ms..5ms");
    assert_eq!(before.cut_at, None);
    let in_before = |event: &&Event| before.window.has(event.begin, event.end);
    assert_eq!(before.events.len(), whole.events.iter().filter(in_before).count());
}

//! Scenarios that were never text: their problems stand at the paths of their keys.

use bench::scenario::{Medium, Scenario, Service, Severity, Share, Size, check, load};

fn scenario() -> Scenario {
    let study = load(crate::QUIET, "quiet.toml").unwrap_or_else(|error| panic!("{error}"));
    study.points.into_iter().next().expect("a study has a point").scenario
}

/// The problems after a change, each as `path: message`.
fn problems(change: impl FnOnce(&mut Scenario)) -> Vec<String> {
    let mut scenario = scenario();
    change(&mut scenario);
    check(&scenario).iter().map(ToString::to_string).collect()
}

#[test]
fn a_scenario_made_as_data_is_checked_by_path() {
    assert_eq!(problems(|_| ()), [""; 0]);
    let found = problems(|it| it.flows[0].to = "nowhere".to_owned());
    assert_eq!(found, ["flow.0.to: unknown station \"nowhere\""]);
    let found = problems(|it| it.flows[0].size = Size(1));
    assert_eq!(found, ["flow.0.size: a message has at least 16 B"]);
    let found = problems(|it| it.transport.window = 0);
    assert_eq!(found, ["transport.window: the window is from 1 to 65535 in this format"]);
    let found = problems(|it| it.faults.damage_bits = 0);
    assert_eq!(found, ["faults.damage-bits: from 1 to 255 bits can be changed"]);
    let found = problems(|it| it.replications = 0);
    assert_eq!(found, ["replications: `replications` must be more than zero"]);
}

#[test]
fn a_share_above_one_and_a_wrong_medium_are_found_in_data() {
    let mut wrong = scenario();
    wrong.background = Some(bench::scenario::Background {
        load: Share(Share::WHOLE.0 + 1),
        stations: 2,
        size: Size(100),
    });
    let at = |scenario: &Scenario| -> Vec<(String, Severity)> {
        check(scenario).into_iter().map(|problem| (problem.place, problem.severity)).collect()
    };
    assert!(at(&wrong).contains(&("background.load".to_owned(), Severity::Error)));
    wrong.background = None;
    wrong.medium = load(
        &crate::QUIET.replace(
            "kind = \"ideal\", rate = \"10 Mbit/s\", delay = \"5 us\"",
            "kind = \"switched\", rate = \"100 Mbit/s\", length = \"10 m\"",
        ),
        "switched.toml",
    )
    .expect("the scenario is right")
    .points[0]
        .scenario
        .medium
        .clone();
    assert_eq!(at(&wrong), []);
    if let Medium::Switched(switched) = &mut wrong.medium {
        switched.switches = 101;
    }
    assert_eq!(at(&wrong), [("medium.switches".to_owned(), Severity::Error)]);
}

#[test]
fn flows_of_messages_are_limited_for_each_sender_alone() {
    let found = problems(|it| {
        let [mut there, mut back] = [it.flows[0].clone(), it.flows[0].clone()];
        (back.from, back.to) = (there.to.clone(), there.from.clone());
        it.flows.clear();
        for flow in [&mut there, &mut back] {
            flow.service = Service::Message;
        }
        for nth in 0..70 {
            there.name = format!("there-{nth}");
            it.flows.push(there.clone());
            if nth < 40 {
                back.name = format!("back-{nth}");
                it.flows.push(back.clone());
            }
        }
    });
    let most = |problem: &String| -> Option<usize> {
        problem.split_once("sends at most ")?.1.strip_suffix(" flows of messages")?.parse().ok()
    };
    let limits: Vec<usize> = found.iter().filter_map(most).collect();
    assert_eq!((limits.len(), found.len()), (70 - limits[0], limits.len()), "{found:?}");
    // The first 40 of each alternate.
    assert!(found[0].starts_with(&format!("flow.{}.from", 40 + limits[0])), "{found:?}");
}

//! Associations by title: the time that the directory adds, simulated and on this host.

use crate::session::both_ends_named;
use bench::run::run;
use bench::sample::Sample;
use bench::scenario;
use bench::scenarios;
use bench::titles::{Entries, Entry};
use core::sync::atomic::AtomicBool;

/// Set-up time and reason for the end of each flow, by name.
fn set_up(sample: &Sample, name: &str) -> (u64, Option<String>) {
    let flow = sample.flows.iter().find(|flow| flow.name == name).unwrap();
    (flow.setup_ns.unwrap(), flow.end.as_ref().map(|end| end.reason.clone()))
}

#[track_caller]
fn check(sample: &Sample) {
    let of = |name| set_up(sample, name);
    let [address, cold, cached] = ["address", "cold", "cached"].map(|name| of(name).0);
    assert!(sample.flows.iter().take(3).all(|flow| flow.delivered == 1), "{:?}", sample.flows);
    let unknown = Some("title unknown to the directory".to_owned());
    let (asked, reason) = of("unknown");
    assert_eq!((reason, of("unknown-cached")), (unknown.clone(), (0, unknown)));
    assert!(asked > 0 && address > 0 && cold > 0 && cached > 0);
}

#[test]
fn a_title_costs_a_query_once_on_modelled_machines() {
    let study = scenario::load(scenarios::get("titles").unwrap().text, "titles.toml").unwrap();
    let sample = run(&study.points[0], "-", 0).unwrap();
    check(&sample);
    let [address, cold, cached, unknown] =
        ["address", "cold", "cached", "unknown"].map(|name| set_up(&sample, name).0);
    // A query is an association and two messages; it precedes the association of its flow.
    assert!(unknown > 2 * address && cold > unknown + address, "{address} {cold} {unknown}");
    assert!(cached.abs_diff(address) < address / 20, "{cached} {address}");
    let restart = set_up(&sample, "restart").0;
    assert!(restart.abs_diff(cold) < cold / 20, "the cache is empty again: {restart} {cold}");
}

#[test]
fn titles_are_resolved_by_a_responder_with_a_directory() {
    let study = scenario::load(scenarios::get("titles").unwrap().text, "titles.toml").unwrap();
    let point = &study.points[0];
    let titles = |entries: &[(&str, &str)]| {
        let entry = |target: &str| Entry { target: target.to_owned(), line: 1 };
        let entries = entries.iter().map(|(title, target)| ((*title).to_owned(), entry(target)));
        Entries { by_title: entries.collect(), is_scl: false }
    };
    let (measured, served) = both_ends_named(point, titles(&[("cell4.welder", "welder")]));
    assert!(served.complete && measured.failure.is_none());
    check(&measured.sample);
    let away = titles(&[("cell4.welder", "02:00:00:00:00:77")]);
    let (measured, _) = both_ends_named(point, away);
    let reason = "its title is that of a station that has not agreed";
    let flow = measured.sample.flows.iter().find(|flow| flow.name == "cold").unwrap();
    assert_eq!((flow.sent, flow.end.as_ref().unwrap().reason.as_str()), (0, reason));
}

#[test]
fn titles_are_resolved_on_this_host() {
    let study = scenario::load(scenarios::get("titles").unwrap().text, "titles.toml").unwrap();
    let stop = AtomicBool::new(false);
    check(&bench::session::local::measure(&study.points[0], "-", 0, &stop).unwrap());
}

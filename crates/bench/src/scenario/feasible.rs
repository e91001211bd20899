//! Warnings that need no run: loads beyond the capacity of the medium, and deadlines that no
//! message can make. They are not errors, because a sweep may pass through them on purpose.

use super::problem::Problem;
use super::{Flow, LLC_OCTETS, Medium, Scenario, Size};
use core::time::Duration;
use std::collections::BTreeMap;

/// Adds these warnings.
pub(super) fn check(scenario: &Scenario, problems: &mut Vec<Problem<String>>) {
    if scenario.medium.is_shared() {
        shared(scenario, problems);
    } else {
        links(scenario, problems);
    }
    deadlines(scenario, problems);
}

/// Checks a shared medium: everything due shares one rate.
fn shared(scenario: &Scenario, problems: &mut Vec<Problem<String>>) {
    let medium = &scenario.medium;
    let rate = medium.rate().0.bits_per_second() as f64;
    let background = scenario.background.as_ref().map_or(0.0, |it| it.load.fraction());
    let due: f64 = scenario.flows.iter().map(|flow| bits_due_per_second(flow, medium) / rate).sum();
    let load = background + due;
    if load > 1.0 {
        let path = if background > due { "background.load" } else { "flow" };
        let message = format!("the load is {:.0} % of what the medium carries", load * 100.0);
        let problem = Problem::warning(path, message);
        problems.push(problem.help("queues will grow until frames are dropped"));
    }
}

/// Checks the links: each station has a rate of its own in each direction.
fn links(scenario: &Scenario, problems: &mut Vec<Problem<String>>) {
    let medium = &scenario.medium;
    let rate = medium.rate().0.bits_per_second() as f64;
    // The wire of an ideal medium has no limit where frames arrive.
    let has_last_link = matches!(medium, Medium::Switched(_));
    let mut due: BTreeMap<(&str, &str), (f64, usize)> = BTreeMap::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        let bits = bits_due_per_second(flow, medium);
        let ends = [("from", &flow.from), ("to", &flow.to)];
        for (end, station) in ends.into_iter().filter(|(end, _)| *end == "from" || has_last_link) {
            let sum = due.entry((end, station)).or_insert((0.0, index));
            *sum = (sum.0 + bits, index);
        }
    }
    for ((end, station), (bits, index)) in due {
        let load = bits / rate;
        if load > 1.0 {
            let way = if end == "from" { "sends" } else { "is sent" };
            let message =
                format!("\"{station}\" {way} {:.0} % of what its link carries", load * 100.0);
            let place = format!("flow.{index}.{end}");
            let problem = Problem::warning(place, message);
            problems.push(problem.help("queues will grow until frames are dropped"));
        }
    }
}

/// Checks deadlines: a message needs at least the time of its bits, on switches once for each of
/// two links.
fn deadlines(scenario: &Scenario, problems: &mut Vec<Problem<String>>) {
    for (index, flow) in scenario.flows.iter().enumerate() {
        let Some(deadline) = flow.deadline else { continue };
        let least = least(flow, &scenario.medium);
        // A deadline of zero is reported elsewhere.
        if !deadline.0.is_zero() && deadline.0 < least {
            let nanos = wire::time::nanos(least);
            let message =
                format!("no message can make it: its bits alone take {} us", nanos / 1_000);
            let place = format!("flow.{index}.deadline");
            let problem = Problem::warning(place, message);
            problems.push(problem.help("every message will be counted as missed"));
        }
    }
}

/// The minimum time of the frames of a message, and of its answer.
fn least(flow: &Flow, medium: &Medium) -> Duration {
    let rate = medium.rate().0;
    let hops = if matches!(medium, Medium::Switched(_)) { 2 } else { 1 };
    let of = |size: Size| match size.0 <= medium.most_lsdu_octets() {
        true => rate.bits(medium.frame_bits(size.0 + LLC_OCTETS)) * hops,
        // The frames of a long message follow each other over the links.
        false => rate.bits(size.0.saturating_mul(8)),
    };
    if flow.service.is_published() {
        return rate.bits(medium.frame_bits(flow.data_octets(medium))) * hops;
    }
    of(flow.size) + flow.pattern.reply().map_or(Duration::ZERO, of)
}

/// Minimum bits per second of the frames that a flow has due: headers above LLC and frames sent in
/// answer do not count, nor flows that wait for the service or for answers.
#[must_use]
pub fn bits_due_per_second(flow: &Flow, medium: &Medium) -> f64 {
    let bits = |size: Size| medium.frame_bits(size.0.saturating_add(LLC_OCTETS));
    let Some(interval) = flow.pattern.mean_interval() else { return 0.0 };
    let own = medium.frame_bits(flow.data_octets(medium));
    let bits = own.saturating_add(flow.pattern.reply().map_or(0, bits));
    let seconds = interval.as_secs_f64();
    if seconds > 0.0 { bits as f64 / seconds } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use crate::scenario::load;

    /// Compares the warnings about a flow from `a` to `b`.
    #[track_caller]
    fn check(medium: &str, pattern: &str, size: &str, deadline: &str, expected: &[&str]) {
        let text = format!(
            "version = 1\ntitle = \"t\"\nstop = {{ after = \"1 s\" }}\nmedium = {medium}\n\
             [[station]]\nname = \"a\"\nprofile = \"ideal\"\n[[station]]\nname = \"b\"\n\
             profile = \"ideal\"\n[[flow]]\nname = \"f\"\n\
             from = \"a\"\nto = \"b\"\nservice = \"class-4\"\npattern = {pattern}\n\
             size = \"{size}\"\ndeadline = \"{deadline}\"\n"
        );
        let study = load(&text, "a.toml").unwrap_or_else(|error| panic!("{error}"));
        let said: Vec<String> =
            study.warnings.iter().map(|warning| warning.render(&study.source.lines())).collect();
        assert_eq!(said.len(), expected.len(), "{said:?}");
        for (said, expected) in said.iter().zip(expected) {
            assert!(said.contains(expected) && said.contains("a.toml:"), "{said}");
        }
    }

    const BUS: &str = "{ kind = \"csma-cd\", rate = \"10 Mbit/s\", length = \"100 m\" }";
    const STAR: &str = "{ kind = \"switched\", rate = \"10 Mbit/s\", length = \"100 m\" }";

    #[test]
    fn a_load_beyond_the_medium_or_a_link_is_warned_of_at_its_flow() {
        // 1,018 octets every 500 us are 16.288 Mbit/s.
        let often = "{ kind = \"cyclic\", period = \"500 us\" }";
        check(BUS, often, "997 B", "1 s", &["the load is 163 % of what the medium carries"]);
        // With a tag 1,022 octets.
        let both = ["\"a\" sends 164 % of what its link", "\"b\" is sent 164 % of what its link"];
        check(STAR, often, "997 B", "1 s", &both);
        let seldom = "{ kind = \"cyclic\", period = \"5 ms\" }";
        check(STAR, seldom, "997 B", "1 s", &[]);
    }

    #[test]
    fn a_deadline_below_the_time_of_the_bits_is_warned_of() {
        let cyclic = "{ kind = \"cyclic\", period = \"20 ms\" }";
        // 1,018 octets at 10 Mbit/s: 814.4 us; with a tag 817.6 us over each of two links.
        check(BUS, cyclic, "997 B", "814 us", &["its bits alone take 814 us"]);
        check(BUS, cyclic, "997 B", "815 us", &[]);
        check(STAR, cyclic, "997 B", "1 ms", &["its bits alone take 1635 us"]);
        let request = "{ kind = \"constant-rate-request\", period = \"20 ms\", reply = \"997 B\" }";
        check(BUS, request, "997 B", "1 ms", &["its bits alone take 1628 us"]);
        // 8 x 100,000 bits.
        check(BUS, cyclic, "100000 B", "20 ms", &["load is", "its bits alone take 80000 us"]);
    }
}

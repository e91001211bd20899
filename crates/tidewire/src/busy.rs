//! Effects of this host on its own measurements: load, changing frequencies, and late wakes.
//!
//! A live result is that of a network and of two hosts. Before it measures, tidewire looks at the load
//! and sleeps a few times; the results go into `run.json`, with a warning where they matter.

use crate::{host, quantity};
use bench::folder::LATEST_WAKE;
use bench::scenario::{Scenario, Study};
use live::clock;
use std::collections::BTreeMap;
use std::time::Duration;
use wire::time::nanos;

/// Sleeps, and the length of each: together 50 ms.
const SLEEPS: u32 = 50;
const SLEEP: Duration = Duration::from_millis(1);
/// Programs for each processor, on average over a minute, from which they wait for each other.
const BUSY: f64 = 0.7;
/// A wake that is later than that is a third of a trip's 3 ms.
const LATE: Duration = Duration::from_millis(1);
/// Share of a deadline that a late wake may take unnoticed.
const NOTICED: f64 = 0.1;

/// Key of a run folder's facts about its host.
pub(crate) const LOAD: &str = "load";

/// State of a host at the time of the query.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Host {
    /// Programs that ran or waited for a processor, on average over the last minute; none where the
    /// system does not report it.
    load: Option<f64>,
    processors: usize,
    /// Latest wake of this program.
    latest_wake: Duration,
}

impl Host {
    /// Looks, which takes 50 ms.
    pub(crate) fn look() -> Self {
        let load = host::line("/proc/loadavg").and_then(|line| load_of(&line));
        let latest_wake = clock::latest_wake(SLEEPS, SLEEP);
        Self { load, processors: host::cores(), latest_wake }
    }

    /// For the record of a run.
    pub(crate) fn facts(&self) -> BTreeMap<String, String> {
        let mut facts = host::facts();
        facts.extend(self.load.map(|load| (LOAD.to_owned(), load.to_string())));
        facts.insert(LATEST_WAKE.to_owned(), nanos(self.latest_wake).to_string());
        facts
    }

    /// The load in words, and whether it is too much to measure delays by.
    pub(crate) fn load(&self) -> Option<(String, bool)> {
        let load = self.load?;
        let said = format!("load {} on {} processors", quantity::trimmed(load, 2), self.processors);
        Some((said, load > BUSY * self.processors as f64))
    }

    /// True if wakes are too late for deadlines of a few milliseconds.
    pub(crate) fn is_late(&self) -> bool {
        self.latest_wake > LATE
    }

    /// The latest wake.
    pub(crate) const fn latest_wake(&self) -> Duration {
        self.latest_wake
    }

    /// The latest wake in words.
    pub(crate) fn wake(&self) -> String {
        let late = quantity::span(nanos(self.latest_wake));
        format!("wakes from {SLEEPS} sleeps were at most {late} late")
    }

    /// Warnings for a measurement without deadlines.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = self.of_load();
        if self.is_late() {
            warnings.push(self.wake());
        }
        warnings
    }

    /// Warnings for a measurement of these scenarios, by their shortest deadline.
    pub(crate) fn warnings_for(&self, study: &Study) -> Vec<String> {
        let mut warnings = self.of_load();
        let shortest = study.points.iter().flat_map(|point| deadlines(&point.scenario)).min();
        if let Some((deadline, flow)) = shortest
            && self.latest_wake.as_secs_f64() > deadline.as_secs_f64() * NOTICED
        {
            let deadline = quantity::span(nanos(deadline));
            warnings.push(format!("{}; {flow} has a deadline of {deadline}", self.wake()));
        }
        warnings
    }

    /// Other programs, and frequencies that change.
    fn of_load(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some((load, true)) = self.load() {
            warnings.push(format!("this host is busy ({load}): delays include waiting for others"));
        }
        if host::governors().is_some_and(|governors| governors != ["performance"]) {
            warnings.push(
                "delays vary with the frequency of the processor: tidewire doctor".to_owned(),
            );
        }
        warnings
    }
}

fn deadlines(scenario: &Scenario) -> impl Iterator<Item = (Duration, &str)> {
    scenario.flows.iter().filter_map(|flow| Some((flow.deadline?.0, flow.name.as_str())))
}

/// The first number of `/proc/loadavg` (proc(5)).
fn load_of(line: &str) -> Option<f64> {
    let load: f64 = line.split(' ').next()?.parse().ok()?;
    load.is_finite().then_some(load)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench::scenario::load;

    fn study(deadline: &str) -> Study {
        let text = format!(
            "version = 1\ntitle = \"t\"\nstop = {{ after = \"1 s\" }}\n\
             medium = {{ kind = \"ideal\", rate = \"10 Mbit/s\" }}\nstations = {{ count = 2 }}\n\
             [[flow]]\nname = \"trip\"\nfrom = \"station-1\"\nto = \"station-2\"\n\
             service = \"datagram\"\npattern = {{ kind = \"cyclic\", period = \"20 ms\" }}\n\
             size = \"100 B\"\ndeadline = \"{deadline}\"\n"
        );
        load(&text, "a.toml").unwrap()
    }

    #[track_caller]
    fn check(load: f64, late_micros: u64, deadline: &str, expected: &[&str]) {
        let latest_wake = Duration::from_micros(late_micros);
        let host = Host { load: Some(load), processors: 2, latest_wake };
        let mut found = host.warnings_for(&study(deadline));
        // The test does not depend on the frequency setting of this machine.
        found.retain(|warning| !warning.contains("frequency"));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_busy_or_slow_host_is_warned_of_by_the_shortest_deadline() {
        check(0.3, 100, "3 ms", &[]);
        let busy =
            "this host is busy (load 3.1 on 2 processors): delays include waiting for others";
        check(3.1, 100, "3 ms", &[busy]);
        let late = "wakes from 50 sleeps were at most 400 us late; trip has a deadline of 3.00 ms";
        check(0.3, 400, "3 ms", &[late]);
        check(0.3, 400, "10 ms", &[]);
    }

    #[test]
    fn without_deadlines_a_wake_of_more_than_a_millisecond_is_late() {
        let late = |micros| {
            let latest_wake = Duration::from_micros(micros);
            let host = Host { load: Some(0.1), processors: 2, latest_wake };
            host.warnings().iter().any(|warning| warning.contains("late"))
        };
        assert_eq!([1_000, 1_001].map(late), [false, true]);
    }

    #[test]
    fn the_load_is_the_first_number_of_its_line() {
        assert_eq!(load_of("0.61 0.42 0.40 2/345 6789"), Some(0.61));
        assert_eq!(load_of(""), None);
        assert_eq!(load_of("nan 1 1"), None);
    }
}

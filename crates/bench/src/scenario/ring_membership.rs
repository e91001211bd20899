//! Stations that enter the logical ring of a token bus, leave it, fail, or lose its token, and when
//! their users are away for it.
//!
//! A station whose first change is to enter begins outside. A station that enters after it left or
//! failed is back. Its users offer nothing while it is outside; from the time set for its entry
//! they do, and the messages that they offer wait.

use super::problem::Problem;
use super::{Medium, Scenario, Span, Station};
use crate::medium::TokenBus;
use core::time::Duration;
use sim::medium::token_bus::Kind;
use stack::load::Absence;
use std::collections::BTreeMap;
use wire::time::Instant;

impl Station {
    /// Its changes and their times, in the order of time.
    #[must_use]
    pub fn changes(&self) -> Vec<(Duration, Kind)> {
        let mut changes: Vec<(Duration, Kind)> =
            self.keys().into_iter().filter_map(|(_, at, kind)| Some((at?.0, kind))).collect();
        changes.sort_by_key(|(at, _)| *at);
        changes
    }

    /// The periods in which its users offer nothing, in the order of time.
    #[must_use]
    pub fn absences(&self) -> Vec<Absence> {
        let mut absences: Vec<Absence> = Vec::new();
        let changes = self.changes();
        let mut changes = changes.iter().filter(|(_, kind)| *kind != Kind::LoseToken).peekable();
        if changes.peek().is_some_and(|(_, kind)| *kind == Kind::Join) {
            absences.push(Absence { from: Instant::ZERO, until: None });
        }
        for (at, kind) in changes {
            let at = Instant::ZERO + *at;
            let away = absences.last_mut().filter(|absence| absence.until.is_none());
            match (kind, away) {
                (Kind::Join, Some(absence)) => absence.until = Some(at),
                (Kind::Leave | Kind::Fail, None) => {
                    absences.push(Absence { from: at, until: None });
                }
                (Kind::Join | Kind::LoseToken, None)
                | (Kind::Leave | Kind::Fail | Kind::LoseToken, Some(_)) => {}
            }
        }
        absences
    }

    /// The keys of changes.
    const fn keys(&self) -> [(&'static str, Option<Span>, Kind); 4] {
        [
            ("enters-at", self.enters_at, Kind::Join),
            ("leaves-at", self.leaves_at, Kind::Leave),
            ("fails-at", self.fails_at, Kind::Fail),
            ("loses-token-at", self.loses_token_at, Kind::LoseToken),
        ]
    }
}

impl Scenario {
    /// True if any station enters, leaves, fails or loses the token.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        self.named_stations.iter().any(|station| !station.changes().is_empty())
    }
}

/// The time at which the first message of a flow is due, or its connection is opened, if the flow
/// is to begin at `start`: if its station is away then, the time of its return, or none if it never
/// returns.
#[must_use]
pub fn begins(absences: &[Absence], start: Duration) -> Option<Duration> {
    let start = Instant::ZERO + start;
    match absences.iter().find(|absence| absence.covers(start)) {
        None => Some(start.since(Instant::ZERO)),
        Some(absence) => absence.until.map(|until| until.since(Instant::ZERO)),
    }
}

/// Adds the problems of changes.
pub(super) fn check(scenario: &Scenario, problems: &mut Vec<Problem<String>>) {
    let after = scenario.stop.after;
    for (index, station) in scenario.named_stations.iter().enumerate() {
        let keys = station.keys();
        let given = keys.iter().filter_map(|(key, at, kind)| Some((*key, (*at)?, *kind)));
        let mut before: Vec<(&str, Span)> = Vec::new();
        for (key, at, kind) in given {
            let place = format!("station.{index}.{key}");
            let mut error = |message: String, help: Option<&str>| {
                let problem = Problem::error(place.clone(), message);
                problems.push(match help {
                    Some(help) => problem.help(help),
                    None => problem,
                });
            };
            match scenario.medium {
                Medium::TokenBus(TokenBus { maintenance: None, .. }) if kind == Kind::Join => {
                    error(
                        "no station ever opens a window for others to enter".to_owned(),
                        Some("maintenance = { every = 16, target = \"20 ms\" } under [medium]"),
                    )
                }
                Medium::TokenBus(_) => {}
                _ => error(
                    format!("stations of this medium have no `{key}`"),
                    Some("only those of a token-bus enter, leave, fail or lose the token"),
                ),
            }
            if at >= after {
                error(format!("the run ends after {after}"), None);
            }
            if let Some((other, _)) = before.iter().find(|(_, others)| *others == at) {
                error(format!("`{other}` is at the same time"), None);
            }
            before.push((key, at));
        }
    }
    let away: BTreeMap<&str, Vec<Absence>> = scenario
        .named_stations
        .iter()
        .map(|station| (station.name.as_str(), station.absences()))
        .filter(|(_, absences)| !absences.is_empty())
        .collect();
    for (index, flow) in scenario.flows.iter().enumerate() {
        let start = flow.start.earliest();
        let absences = away.get(flow.from.as_str()).map(Vec::as_slice).unwrap_or_default();
        let begins = begins(absences, start);
        if start < after.0 && begins.is_none_or(|begins| begins >= after.0) {
            let place = format!("flow.{index}.from");
            let message = format!("\"{}\" is away from {} to the end", flow.from, Span(start));
            problems.push(Problem::error(place, message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn station(at: [Option<u64>; 4]) -> Station {
        let [enters_at, leaves_at, fails_at, loses_token_at] =
            at.map(|at| at.map(|millis| Span(Duration::from_millis(millis))));
        Station { enters_at, leaves_at, fails_at, loses_token_at, ..Station::new("a") }
    }

    #[track_caller]
    fn check(at: [Option<u64>; 4], expected: &[(u64, Option<u64>)]) {
        let millis = |at: Instant| at.as_nanos() / 1_000_000;
        let absences = station(at).absences();
        let found = absences.iter().map(|it| (millis(it.from), it.until.map(millis)));
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn users_are_away_while_their_station_is_outside_the_ring() {
        check([None; 4], &[]);
        check([Some(5), None, None, None], &[(0, Some(5))]);
        check([None, Some(5), None, None], &[(5, None)]);
        check([Some(5), Some(9), None, None], &[(0, Some(5)), (9, None)]);
        // It comes back after it left, or after it failed.
        check([Some(9), Some(5), None, None], &[(5, Some(9))]);
        check([Some(9), None, Some(5), None], &[(5, Some(9))]);
        // One that left cannot be further away; a token is lost by a station that stays.
        check([None, Some(5), Some(7), None], &[(5, None)]);
        check([Some(9), Some(5), Some(7), Some(1)], &[(5, Some(9))]);
        check([Some(9), None, None, Some(1)], &[(0, Some(9))]);
    }
}

//! Groups: one table for many stations, or for one flow of each of them.
//!
//! ```text
//!   [[station]] name = "ied-{1..12}"   ied-1 to ied-12; the group is "ied"
//!   [[flow]]    name = "trip"
//!               from = "ied-*"         trip-ied-1 to trip-ied-12; the group is "trip"
//! ```
//!
//! Groups are expanded in the TOML tree after the varying keys were set. So a flow's key is set for
//! its whole group, and each problem is reported at the place of the group.

use super::Scenario;
use super::fields::Placed;
use super::problem::{Problem, meant};
use super::quantity::Span;
use core::ops::Range;
use core::time::Duration;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// The most stations, background included.
pub(super) const MOST_STATIONS: u64 = 10_000;
/// The most flows, background included: stamps number them in 16 bits.
pub(super) const MOST_FLOWS: u64 = 65_536;

/// A name of several stations or flows: `ied-{1..12}`, `bay{01..08}-relay`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Numbered<'n> {
    before: &'n str,
    first: u64,
    last: u64,
    /// Digits of each number, with zeros in front.
    width: usize,
    after: &'n str,
}

impl<'n> Numbered<'n> {
    /// Reads a name; none if it has no braces.
    ///
    /// # Errors
    /// Describes the mistake in the braces.
    pub(super) fn read(name: &'n str) -> Option<Result<Self, &'static str>> {
        let (before, rest) = name.split_once('{')?;
        Some(
            Self::read_from(before, rest)
                .ok_or("a group of stations is named as in \"ied-{1..12}\""),
        )
    }

    fn read_from(before: &'n str, rest: &'n str) -> Option<Self> {
        let (range, after) = rest.split_once('}')?;
        let (first, last) = range.split_once("..")?;
        let number = |text: &str| {
            let is_number = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
            is_number.then(|| text.parse::<u64>().ok()).flatten()
        };
        let width = if first.starts_with('0') { first.len() } else { 0 };
        let (first, last) = (number(first)?, number(last)?);
        let is_whole = first <= last && !after.contains(['{', '}']);
        is_whole.then_some(Self { before, first, last, width, after })
    }

    /// The name of the group: the part before the number.
    pub(super) fn group(&self) -> &'n str {
        self.before.trim_end_matches(['-', '_', '.', ' '])
    }

    /// The name of a group with this many stations.
    pub(super) fn counted(&self, count: u64) -> Option<String> {
        let Self { before, first, width, after, .. } = self;
        let last = first.checked_add(count.checked_sub(1)?)?;
        Some(format!("{before}{{{first:0width$}..{last}}}{after}"))
    }

    const fn count(&self) -> u64 {
        (self.last - self.first).saturating_add(1)
    }

    fn names(&self) -> impl Iterator<Item = String> {
        let Self { before, width, after, .. } = *self;
        (self.first..=self.last).map(move |number| format!("{before}{number:0width$}{after}"))
    }
}

/// True if `name` refers to a flow: by its own name, that of its group, or a pattern in which `*`
/// stands for any characters.
#[must_use]
pub fn means(name: &str, flow: &str, group: Option<&str>) -> bool {
    group == Some(name) || matches(name, flow)
}

impl Scenario {
    /// Returns the form of the file, with groups as written.
    #[must_use]
    pub fn as_written(&self) -> Cow<'_, Self> {
        let Some(grouped) = &self.grouped else { return super::mms::without_lengths(self) };
        Cow::Owned(Self {
            seed: self.seed,
            replications: self.replications,
            transport: self.transport.clone(),
            require: self.require.clone(),
            vary: Arc::clone(&self.vary),
            ..Self::clone(grouped)
        })
    }
}

/// The scenario with every default filled in, as a file that loads to the same.
///
/// # Panics
/// Never: a scenario has only what TOML can hold.
#[must_use]
pub fn to_toml(scenario: &Scenario) -> String {
    toml::to_string(&*scenario.as_written())
        .expect("a scenario holds only tables, strings and small integers")
}

/// True if `name` matches `pattern`, in which `*` stands for any characters.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = name.find(part) else { return false };
        name = &name[at + part.len()..];
    }
    name.ends_with(end)
}

/// Expands groups, or adds their problems; none if a document has no group.
pub(super) fn expand<'a>(document: &Placed<'a>, problems: &mut Vec<Problem>) -> Option<Placed<'a>> {
    let items =
        |key: &str| document.get_ref().get(key).and_then(|value| value.get_ref().as_array());
    let (stations, flows) = (items("station"), items("flow"));
    let has_group = stations.into_iter().flat_map(|items| items.iter()).any(is_numbered)
        || flows.into_iter().flat_map(|items| items.iter()).any(is_patterned);
    if !has_group {
        return None;
    }
    let mut expanded = document.clone();
    let DeValue::Table(table) = expanded.get_mut() else { return None };
    if let Some(DeValue::Array(items)) = table.get_mut("station").map(Spanned::get_mut) {
        *items = items.iter().flat_map(|item| stations_of(item, problems)).collect();
    }
    let names = names(table);
    if let Some(DeValue::Array(items)) = table.get_mut("flow").map(Spanned::get_mut) {
        let mut all = Vec::new();
        for item in items.iter() {
            all.extend(flows_of(item, &names, problems));
            if all.len() as u64 > MOST_FLOWS {
                let message = format!("more than {MOST_FLOWS} flows");
                problems.push(Problem::error(item.span(), message));
                break;
            }
        }
        *items = all.into_iter().collect();
    }
    Some(expanded)
}

/// Leaves of problems that differ only by the name that they quote, as those of the flows of a group do,
/// the first at each place; and each that several points have once.
pub(super) fn merge(problems: &mut Vec<Problem>) {
    let mut known = BTreeSet::new();
    problems.retain(|problem| {
        let Range { start, end } = problem.place;
        let message = match (problem.message.split_once('"'), problem.message.rsplit_once('"')) {
            (Some((before, _)), Some((_, behind))) => format!("{before}\"{behind}"),
            _ => problem.message.clone(),
        };
        known.insert((start, end, problem.severity, message))
    });
}

/// A key's text and its place.
fn text_of<'t>(item: &'t Placed<'_>, key: &str) -> Option<(&'t str, Range<usize>)> {
    let value = item.get_ref().get(key)?;
    Some((value.get_ref().as_str()?, value.span()))
}

fn is_numbered(item: &Placed<'_>) -> bool {
    text_of(item, "name").is_some_and(|(name, _)| name.contains('{'))
}

fn is_patterned(item: &Placed<'_>) -> bool {
    ["from", "to"].into_iter().any(|key| text_of(item, key).is_some_and(|(at, _)| at.contains('*')))
}

/// Returns the table with a key set to a text.
fn set(item: &mut Placed<'_>, key: &'static str, text: String, place: &Range<usize>) {
    if let DeValue::Table(table) = item.get_mut() {
        let value = DeValue::String(DeString::from(text));
        table.insert(
            Spanned::new(place.clone(), Cow::Borrowed(key)),
            Spanned::new(place.clone(), value),
        );
    }
}

/// The stations that a table describes.
fn stations_of<'a>(item: &Placed<'a>, problems: &mut Vec<Problem>) -> Vec<Placed<'a>> {
    let Some((name, place)) = text_of(item, "name") else { return vec![item.clone()] };
    let group = match Numbered::read(name) {
        None => return vec![item.clone()],
        Some(Ok(group)) => group,
        Some(Err(message)) => {
            problems.push(Problem::error(place, message));
            return Vec::new();
        }
    };
    if group.count() > MOST_STATIONS {
        let message = format!("{} stations are more than {MOST_STATIONS}", group.count());
        problems.push(Problem::error(place, message));
        return Vec::new();
    }
    let each = |name: String| {
        let mut station = item.clone();
        set(&mut station, "name", name, &place);
        station
    };
    group.names().map(each).collect()
}

/// The names of all stations that flows can have for their ends.
fn names(table: &DeTable<'_>) -> Vec<String> {
    let named = table.get("station").and_then(|value| value.get_ref().as_array());
    let named = named.into_iter().flat_map(|items| items.iter());
    let mut names: Vec<String> =
        named.filter_map(|item| Some(text_of(item, "name")?.0.to_owned())).collect();
    if let Some(group) = table.get("stations") {
        let count = group.get_ref().get("count").and_then(|value| value.get_ref().as_integer());
        let count = count.and_then(|it| u64::from_str_radix(it.as_str(), it.radix()).ok());
        let prefix = text_of(group, "prefix").map_or("station", |(prefix, _)| prefix);
        names.extend((1..=count.unwrap_or(0).min(MOST_STATIONS)).map(|i| format!("{prefix}-{i}")));
    }
    names
}

/// The flows that a table describes.
fn flows_of<'a>(
    item: &Placed<'a>,
    stations: &[String],
    problems: &mut Vec<Problem>,
) -> Vec<Placed<'a>> {
    let Some((name, place)) = text_of(item, "name").filter(|_| is_patterned(item)) else {
        return vec![item.clone()];
    };
    let [senders, receivers] = ["from", "to"].map(|key| ends_of(item, key, stations, problems));
    if senders.len().saturating_mul(receivers.len()) as u64 > MOST_FLOWS {
        let message = format!("more than {MOST_FLOWS} flows");
        problems.push(Problem::error(item.span(), message));
        return Vec::new();
    }
    let pairs = senders.iter().flat_map(|from| receivers.iter().map(move |to| (from, to)));
    let pairs: Vec<_> = pairs.filter(|(from, to)| from != to).collect();
    if pairs.is_empty() && !senders.is_empty() && !receivers.is_empty() {
        let place = text_of(item, "to").map_or_else(|| item.span(), |(_, place)| place);
        problems
            .push(Problem::error(place, "no two different stations are meant by `from` and `to`"));
    }
    let starts = Starts::of(item, problems);
    let each = |(number, (sender, receiver)): (usize, &(&String, &String))| {
        let mut flow = item.clone();
        let mut member = name.to_owned();
        for (key, chosen) in [("from", sender), ("to", receiver)] {
            if let Some((_, place)) = text_of(item, key).filter(|(end, _)| end.contains('*')) {
                member = format!("{member}-{chosen}");
                set(&mut flow, key, (*chosen).clone(), &place);
            }
        }
        set(&mut flow, "name", member, &place);
        if text_of(item, "group").is_none() {
            set(&mut flow, "group", name.to_owned(), &place);
        }
        if let Some(starts) = &starts {
            starts.apply(&mut flow, number);
        }
        flow
    };
    pairs.iter().enumerate().map(each).collect()
}

/// Returns the stations that an end of a flow names.
fn ends_of(
    item: &Placed<'_>,
    key: &str,
    stations: &[String],
    problems: &mut Vec<Problem>,
) -> Vec<String> {
    let Some((end, place)) = text_of(item, key) else { return Vec::new() };
    if !end.contains('*') {
        return vec![end.to_owned()];
    }
    let found: Vec<String> = stations.iter().filter(|name| matches(end, name)).cloned().collect();
    if found.is_empty() {
        let problem = Problem::error(place, format!("no station has a name like \"{end}\""));
        problems.push(match meant(end, stations.iter().map(String::as_str)) {
            Some(name) => problem.help(format!("did you mean \"{name}\"?")),
            None => problem,
        });
    }
    found
}

/// Starts of the flows of a group, each later than the one before.
struct Starts {
    first: Duration,
    stagger: Duration,
    place: Range<usize>,
}

impl Starts {
    /// The starts of the flows of a table with `stagger`; or adds its problems.
    fn of(item: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let (stagger, place) = text_of(item, "stagger")?;
        // A malformed time is reported where the table is read.
        let stagger = stagger.parse::<Span>().ok()?.0;
        let first =
            text_of(item, "start").map_or(Ok(Span(Duration::ZERO)), |(start, _)| start.parse());
        match first {
            Ok(Span(first)) => Some(Self { first, stagger, place }),
            Err(_) => {
                let problem = Problem::error(place, "`stagger` needs a `start` that is a time");
                problems.push(problem.help("start = \"10 ms\""));
                None
            }
        }
    }

    fn apply(&self, flow: &mut Placed<'_>, number: usize) {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let start = self.first.saturating_add(self.stagger.saturating_mul(number));
        set(flow, "start", Span(start).to_string(), &self.place);
        if let DeValue::Table(table) = flow.get_mut() {
            table.remove("stagger");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Scenario, Setting, load, load_with, to_toml};
    use super::*;
    use crate::scenario::Start;

    /// A scenario with a breaker, this station and this flow.
    fn text(station: &str, flow: &str) -> String {
        format!(
            "version = 1\ntitle = \"t\"\nstop = {{ after = \"1 s\" }}\n\
             medium = {{ kind = \"switched\", rate = \"100 Mbit/s\", length = \"10 m\" }}\n\
             [[station]]\nname = \"breaker\"\n[[station]]\n{station}\n[[flow]]\nname = \"trip\"\n\
             service = \"datagram\"\npattern = {{ kind = \"cyclic\", period = \"10 ms\" }}\n\
             size = \"100 B\"\ndeadline = \"3 ms\"\n{flow}\n"
        )
    }

    const IEDS: &str = "name = \"ied-{1..3}\"";
    const TRIPS: &str = "from = \"ied-*\"\nto = \"breaker\"";

    #[track_caller]
    fn scenario(station: &str, flow: &str) -> Scenario {
        let study = load(&text(station, flow), "a.toml").unwrap_or_else(|error| panic!("{error}"));
        study.scenario().clone()
    }

    /// Each flow as `name: from to`.
    #[track_caller]
    fn flows(station: &str, flow: &str) -> Vec<String> {
        let scenario = scenario(station, flow);
        let flows = scenario.flows.iter();
        flows.map(|it| format!("{}: {} {}", it.name, it.from, it.to)).collect()
    }

    #[track_caller]
    fn check_error(station: &str, flow: &str, expected: &str) {
        let error = load(&text(station, flow), "a.toml").unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn a_group_stands_for_its_stations_and_for_a_flow_of_each() {
        let expected =
            ["trip-ied-1: ied-1 breaker", "trip-ied-2: ied-2 breaker", "trip-ied-3: ied-3 breaker"];
        assert_eq!(flows(IEDS, TRIPS), expected);
        let scenario = scenario(IEDS, TRIPS);
        assert!(scenario.flows.iter().all(|flow| flow.group.as_deref() == Some("trip")));
        let names: Vec<String> = scenario.all_stations().into_iter().map(|it| it.name).collect();
        assert_eq!(names, ["breaker", "ied-1", "ied-2", "ied-3"]);
        // Zeros in front stay, and a word may follow.
        let bays = flows("name = \"bay{08..10}-relay\"", "from = \"bay*\"\nto = \"breaker\"");
        assert_eq!(bays[0], "trip-bay08-relay: bay08-relay breaker");
        assert_eq!(bays[2], "trip-bay10-relay: bay10-relay breaker");
    }

    #[test]
    fn each_station_sends_to_each_other_where_both_ends_are_groups() {
        let all = flows(IEDS, "from = \"ied-*\"\nto = \"ied-*\"");
        assert_eq!(all.len(), 6);
        assert_eq!(all[0], "trip-ied-1-ied-2: ied-1 ied-2");
        assert_eq!(flows(IEDS, "from = \"breaker\"\nto = \"*\"").len(), 3, "not to itself");
    }

    #[test]
    fn flows_of_a_group_start_one_after_the_other() {
        let flow = format!("{TRIPS}\nstart = \"10 ms\"\nstagger = \"2 ms\"");
        let starts = scenario(IEDS, &flow).flows.iter().map(|flow| flow.start).collect::<Vec<_>>();
        let at = |millis| Start::At(Span(Duration::from_millis(millis)));
        assert_eq!(starts, [at(10), at(12), at(14)]);
    }

    #[test]
    fn a_wrong_group_is_reported_once_at_its_own_place() {
        for name in ["ied-{1..}", "ied-{3..1}", "ied-{a..b}", "ied-{1..3", "a{1..2}b{1..2}", "{}"] {
            check_error(&format!("name = \"{name}\""), TRIPS, "is named as in \"ied-{1..12}\"");
        }
        check_error("name = \"ied-{1..20000}\"", TRIPS, "20000 stations are more than 10000");
        check_error(
            IEDS,
            "from = \"plc-*\"\nto = \"breaker\"",
            "no station has a name like \"plc-*\"",
        );
        let all = "from = \"*\"\nto = \"*\"";
        check_error("name = \"ied-{1..300}\"", all, "more than 65536 flows");
        check_error(
            IEDS,
            "from = \"breaker\"\nto = \"break*\"",
            "no two different stations are meant",
        );
        let random = format!("{TRIPS}\nstart = \"random\"\nstagger = \"2 ms\"");
        check_error(IEDS, &random, "`stagger` needs a `start` that is a time");
        let alone = "from = \"ied-1\"\nto = \"breaker\"\nstagger = \"2 ms\"";
        check_error(IEDS, alone, "only a group of flows has `stagger`");
        let error = load(&text(IEDS, &format!("{TRIPS}\nmessages = 0")), "a.toml").unwrap_err();
        assert_eq!(error.problems.len(), 1, "{error}");
    }

    #[test]
    fn a_path_sets_a_whole_group_and_how_many_there_are() {
        let points = |setting: &str| {
            let setting: Setting = setting.parse().unwrap();
            let study = load_with(&text(IEDS, TRIPS), "a.toml", &[setting]);
            study.unwrap_or_else(|error| panic!("{error}")).points
        };
        let counts: Vec<usize> =
            points("stations.ied.count=1..5..2").iter().map(|it| it.scenario.flows.len()).collect();
        assert_eq!(counts, [1, 3, 5]);
        for path in ["flow.trip.size", "flow.*.size", "flow.tr*.size"] {
            let flows = &points(&format!("{path}=200 B"))[0].scenario.flows;
            assert!(flows.iter().all(|flow| flow.size.0 == 200), "{path}");
        }
        let stations = points("station.ied.position=5 m")[0].scenario.all_stations();
        assert_eq!(stations.iter().filter(|it| it.position.is_some()).count(), 3);
        for (wrong, said) in [
            ("stations.ide.count=4", "there is no group of stations \"ide\""),
            ("stations.ied.count=0", "expected a whole number of stations, at least 1"),
            ("stations.ied.count=x", "expected a whole number of stations, at least 1"),
            ("flow.x*.size=200 B", "nothing in the list has the name \"x*\""),
        ] {
            let error = load_with(&text(IEDS, TRIPS), "a.toml", &[wrong.parse().unwrap()]);
            let error = error.unwrap_err().to_string();
            assert!(error.contains(said), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_scenario_is_written_with_its_groups() {
        let vary =
            "[vary]\n\"stations.ied.count\" = [2, 4]\n\"flow.trip.size\" = [\"64 B\", \"99 B\"]";
        let study = load(&text(IEDS, &format!("{TRIPS}\n{vary}")), "a.toml").unwrap();
        let written = to_toml(study.scenario());
        assert!(written.contains("name = \"ied-{1..2}\"") && written.contains("from = \"ied-*\""));
        let again = load(&written, "b.toml").unwrap_or_else(|error| panic!("{error}\n{written}"));
        let scenarios = |points: &[super::super::Point]| -> Vec<Scenario> {
            points.iter().map(|point| point.scenario.clone()).collect()
        };
        assert_eq!(scenarios(&again.points), scenarios(&study.points));
    }

    #[test]
    fn a_requirement_of_a_group_is_one_of_each_flow() {
        let text = text(IEDS, TRIPS).replace("title", "require = [\"miss(trip) < 1 %\"]\ntitle");
        assert!(load(&text, "a.toml").is_ok());
        let error = load(&text.replace("miss(trip)", "miss(tip)"), "a.toml").unwrap_err();
        assert!(error.to_string().contains("there is no flow \"tip\""), "{error}");
    }

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, name, is_match) in [
            ("ied-*", "ied-12", true),
            ("ied-*", "ied-", true),
            ("ied-*", "ied", false),
            ("*-relay", "bay-1-relay", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxcyyb", false),
            ("aa*aa", "aaa", false),
            ("*", "", true),
            ("abc", "abc", true),
            ("abc", "abcd", false),
        ] {
            assert_eq!(matches(pattern, name), is_match, "{pattern} {name}");
        }
    }
}

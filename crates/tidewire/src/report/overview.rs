//! Deadlines of a sweep in one table: a row for each point, a column for each flow.

use super::labels::labels;
use crate::quantity::{self, value};
use crate::table::{Align, Table};
use bench::analysis::{FlowReport, PointReport, Probability, Report, Unit};
use bench::scenario::Span;
use core::time::Duration;
use reports::study::{Met, Ranked, Summed, over_points, summed};
use std::collections::{BTreeMap, BTreeSet};

/// The table and its caption, with columns of at most `top` flows or groups; none for a single point, or if every key that
/// varies is a number, as the limits of the sweep then state the same in a line.
pub(super) fn overview(report: &Report, top: usize) -> Option<String> {
    let keys: BTreeSet<&String> = report.points.iter().flat_map(|it| it.settings.keys()).collect();
    let is_number = |key: &&&String| {
        let starts_with_digit = |text: &String| text.starts_with(|it: char| it.is_ascii_digit());
        report.points.iter().all(|it| it.settings.get(**key).is_some_and(starts_with_digit))
    };
    if report.points.len() < 2 || keys.iter().all(|key| is_number(&key)) {
        return None;
    }
    let mut all = over_points(report);
    let deadline = |group: &Summed<'_>| group.flows.iter().find_map(|flow| flow.deadline_ns);
    all.retain(|group| deadline(group).is_some());
    let Ranked { shown, others } = Ranked::of(all, top);
    let columns = shown.iter().filter_map(|it| Some((it.name, deadline(it)?)));
    let columns: Vec<(&str, u64)> = columns.collect();
    let of_point = |point| summed(point).into_iter().map(|group| (group.name, group)).collect();
    let rows: Vec<BTreeMap<&str, Summed<'_>>> = report.points.iter().map(of_point).collect();
    let mut caption = "missed deadlines and mean times of all points (never: by theory)".to_owned();
    if others > 0 {
        caption += &format!("\nthe {} worst of {} flows", shown.len(), shown.len() + others);
    }
    let mut tables = Vec::new();
    let mut rest = columns.as_slice();
    while !rest.is_empty() {
        // As many columns as a terminal has room for.
        let table = |count: usize| table(report, &keys, &rest[..count], &rows);
        let fits = |count: &usize| !table(*count).is_wide();
        let fitting = (2..=rest.len()).take_while(fits).last().unwrap_or(1);
        tables.push(table(fitting).to_string());
        rest = &rest[fitting..];
    }
    Some(format!("{caption}\n{}", tables.join("\n\n")))
}

/// Some columns of the table.
fn table(
    report: &Report,
    keys: &BTreeSet<&String>,
    columns: &[(&str, u64)],
    rows: &[BTreeMap<&str, Summed<'_>>],
) -> Table {
    let last_parts: Vec<&str> = keys.iter().map(|key| last_part(key)).collect();
    let heading = last_parts.join(", ");
    let named = columns.iter().map(|(name, deadline)| named(name, *deadline));
    let names: Vec<String> = core::iter::once(heading).chain(named).collect();
    let mut table = Table::of(names.iter().map(|name| (name.as_str(), Align::Left)));
    let points = report.points.iter().zip(rows);
    for ((point, groups), label) in points.zip(labels(report, keys)) {
        let cell = |(name, _): &(&str, u64)| {
            groups.get(name).map_or_else(|| "-".to_owned(), |group| cell(group, point))
        };
        table.add(core::iter::once(label).chain(columns.iter().map(cell)).collect());
    }
    table
}

/// Heading of a flow's column: `control, 10 ms`.
fn named(name: &str, deadline_ns: u64) -> String {
    format!("{name}, {}", Span(Duration::from_nanos(deadline_ns)))
}

/// The last key of a path.
fn last_part(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// Messages of a flow that missed their deadline at a point, and its mean: `10 %, 8.93 ms`.
fn cell(group: &Summed<'_>, point: &PointReport) -> String {
    let flow = group.worst();
    let missed = match (Met::of(flow, point), flow.missed) {
        (Met::Missed, Some(Probability { events, trials, .. })) if events == trials => {
            "all".to_owned()
        }
        (Met::Missed, Some(Probability { events, trials, .. })) => {
            format!("{} %", quantity::significant(events as f64 * 100.0 / trials as f64, 2))
        }
        (Met::Always, _) => "never".to_owned(),
        (Met::InTheRuns | Met::Once, _) => "none".to_owned(),
        (met, _) => return met.words().to_owned(),
    };
    let mean = mean(flow).map(|mean| format!(", {}", value(Unit::Nanoseconds, mean)));
    missed + &mean.unwrap_or_default()
}

/// Mean response of a flow, or its mean delay if it is not answered, in nanoseconds.
fn mean(flow: &FlowReport) -> Option<f64> {
    let names = ["response.mean", "delay.mean"];
    names.into_iter().find_map(|name| flow.quantity(name)).map(|found| found.mean)
}

#[cfg(test)]
mod tests {
    use super::overview;
    use bench::analysis::analyse;
    use bench::run::run;
    use bench::scenario;

    /// The overview of a sweep of this key, with messages of 100 octets due within 1 ms.
    fn of(vary: &str) -> Option<String> {
        let text = format!(
            "version = 1\ntitle = \"t\"\nstop = {{ after = \"100 ms\" }}\n\
             medium = {{ kind = \"ideal\", rate = \"10 Mbit/s\", delay = \"5 us\" }}\n\
             stations = {{ count = 2, prefix = \"s\" }}\n\
             [[flow]]\nname = \"trip\"\nfrom = \"s-1\"\nto = \"s-2\"\nservice = \"datagram\"\n\
             pattern = {{ kind = \"cyclic\", period = \"10 ms\" }}\nsize = \"100 B\"\n\
             deadline = \"1 ms\"\nstart = \"0 s\"\n[vary]\n{vary}\n"
        );
        let study = scenario::load(&text, "a.toml").unwrap_or_else(|error| panic!("{error}"));
        let samples: Vec<_> = study.points.iter().map(|it| run(it, "-", 0).unwrap()).collect();
        overview(&analyse(&samples, 0.95).with_groups(&study.points), 20)
    }

    #[test]
    fn a_sweep_of_words_has_a_row_for_each_point() {
        let medium = |delay: &str| {
            format!("{{ kind = \"ideal\", rate = \"10 Mbit/s\", delay = \"{delay}\" }}")
        };
        let found = of(&format!("\"medium\" = [{}, {}]", medium("5 us"), medium("2 ms"))).unwrap();
        let rows: Vec<&str> = found.lines().skip(1).map(str::trim).collect();
        // 129 octets with preamble, at 10 Mbit/s: 103.2 us, and a delay of 5 us or 2 ms.
        assert!(rows[0].starts_with("medium") && rows[0].ends_with("trip, 1 ms"), "{found}");
        assert!(rows[1].ends_with("none, 108 us") && rows[2].ends_with("all, 2.10 ms"), "{found}");
    }

    #[test]
    fn a_sweep_over_media_fits_a_terminal() {
        let medium = |kind: &str| {
            format!("{{ kind = \"{kind}\", rate = \"10 Mbit/s\", length = \"500 m\" }}")
        };
        let bus = "{ kind = \"token-bus\", rate = \"10 Mbit/s\", length = \"500 m\", holding-time = \"500 us\", \
                   classes = { class-4 = \"2 ms\", class-2 = \"2 ms\", class-0 = \"2 ms\" } }";
        let other = bus.replace("length = \"500 m\"", "length = \"400 m\"");
        let lines = |media: [&str; 2]| {
            let found = of(&format!("\"medium\" = [{}]", media.join(", "))).unwrap();
            assert!(found.lines().all(|line| line.chars().count() <= 80), "{found}");
            let lines = found.lines().skip(2).map(|line| line.trim().to_owned());
            lines.collect::<Vec<_>>()
        };
        let kinds = lines([bus, &medium("csma-cd")]);
        assert!(
            kinds[0].starts_with("token-bus ") && kinds[1].starts_with("csma-cd "),
            "{kinds:?}"
        );
        // Kinds that do not tell them apart.
        let buses = lines([bus, &other]);
        assert!(buses[0].starts_with("point 1 ") && buses[1].starts_with("point 2 "), "{buses:?}");
    }

    #[test]
    fn columns_beyond_a_terminal_go_into_more_tables() {
        let text = "version = 1\ntitle = \"t\"\nstop = { after = \"100 ms\" }\n\
             medium = { kind = \"ideal\", rate = \"10 Mbit/s\", delay = \"5 us\" }\n\
             stations = { count = 2, prefix = \"s\" }\n";
        let flow = |number: u64| {
            format!(
                "[[flow]]\nname = \"cell-{number}\"\nfrom = \"s-1\"\nto = \"s-2\"\n\
                 service = \"datagram\"\npattern = {{ kind = \"cyclic\", period = \"10 ms\" }}\n\
                 size = \"100 B\"\ndeadline = \"1 ms\"\nstart = \"0 s\"\n"
            )
        };
        let medium = "{ kind = \"ideal\", rate = \"10 Mbit/s\", delay = \"2 ms\" }";
        let flows: String = (1..=6).map(flow).collect();
        let text = format!("{text}{flows}[vary]\nmedium = [{medium}, {medium}]\n");
        let study = scenario::load(&text, "a.toml").unwrap_or_else(|error| panic!("{error}"));
        let samples: Vec<_> = study.points.iter().map(|it| run(it, "-", 0).unwrap()).collect();
        let found = overview(&analyse(&samples, 0.95).with_groups(&study.points), 20).unwrap();
        assert!(found.lines().all(|line| line.chars().count() <= 80), "{found}");
        assert!((1..=6).all(|it| found.contains(&format!("cell-{it}, 1 ms"))), "{found}");
        let few = overview(&analyse(&samples, 0.95).with_groups(&study.points), 2).unwrap();
        assert!(few.contains("the 2 worst of 6 flows") && !few.contains("cell-3"), "{few}");
        // A label of 34 columns, and three flows of 12, each behind a gap of 2: 78 of 80.
        let headings = found.lines().filter(|line| line.trim().starts_with("medium")).count();
        assert_eq!(headings, 2, "{found}");
    }

    #[test]
    fn a_sweep_of_numbers_has_its_limit_instead() {
        assert_eq!(of("\"flow.trip.size\" = [\"64 B\", \"128 B\"]"), None);
    }
}

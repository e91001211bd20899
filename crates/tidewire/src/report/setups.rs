//! Times to open the associations of a scenario with a directory, in one table.

use crate::quantity::{self, value};
use crate::table::{Align, Table};
use bench::analysis::{FlowReport, PointReport, Unit};

/// The table and its caption, with the `top` flows that take longest where there are more; none for fewer than two flows
/// with such a time.
pub(super) fn table(point: &PointReport, top: usize) -> Option<String> {
    let with_time = |it: &&FlowReport| it.shows_setup && it.quantity("setup").is_some();
    let mut flows: Vec<&FlowReport> = point.flows.iter().filter(with_time).collect();
    let all = flows.len();
    if all < 2 {
        return None;
    }
    if all > top {
        let mean = |flow: &FlowReport| flow.quantity("setup").map_or(0.0, |found| found.mean);
        flows.sort_by(|a, b| mean(b).total_cmp(&mean(a)));
        flows.truncate(top);
    }
    let right = Align::Right;
    let mut table = Table::new([
        ("flow", Align::Left),
        ("set-up", right),
        ("sd", right),
        ("shortest", right),
        ("longest", right),
        ("n", right),
    ]);
    flows.iter().filter_map(|flow| row(flow)).for_each(|row| table.row(row));
    let longest = if all > top { format!("; the {top} longest of {all}") } else { String::new() };
    Some(format!(
        "  time from the start of a flow to its open association, or to a refusal{longest}\n{table}"
    ))
}

fn row(flow: &FlowReport) -> Option<[String; 6]> {
    let found = flow.quantity("setup")?;
    let time =
        |nanos: Option<f64>| nanos.map_or_else(String::new, |it| value(Unit::Nanoseconds, it));
    Some([
        flow.name.clone(),
        quantity::mean(found),
        time(found.values.standard_deviation()),
        time(found.values.min()),
        time(found.values.max()),
        found.n.to_string(),
    ])
}

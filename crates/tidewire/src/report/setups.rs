//! Times to open the associations of a scenario with a directory, in one table.

use crate::quantity::{self, value};
use crate::table::{Align, Table};
use bench::analysis::{FlowReport, PointReport, Unit};

/// The table and its caption; none for fewer than two flows with such a time.
pub(super) fn table(point: &PointReport) -> Option<String> {
    let flows = point.flows.iter().filter(|flow| flow.shows_setup);
    let rows: Vec<_> = flows.filter_map(row).collect();
    if rows.len() < 2 {
        return None;
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
    rows.into_iter().for_each(|row| table.row(row));
    Some(format!(
        "  time from the start of a flow to its open association, or to a refusal\n{table}"
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

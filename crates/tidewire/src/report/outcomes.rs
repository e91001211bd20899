//! Results of a sweep without deadlines in one table: a row for each point and flow.

use super::labels::labels;
use crate::quantity::{self, level};
use crate::table::{Align, Table};
use bench::analysis::{FlowReport, Report};
use reports::study::{over_points, ranked, summed};
use std::collections::BTreeSet;

/// Counter of retransmitted DTs.
const SENT_AGAIN: &str = "transport.sent-again";

/// The table and its caption, with at most `top` flows or groups of each point; none for a single point.
pub(super) fn outcomes(report: &Report, top: usize) -> Option<String> {
    if report.points.len() < 2 {
        return None;
    }
    let is_repeated = report.points.iter().any(|point| point.counts.contains_key(SENT_AGAIN));
    let all = over_points(report).len();
    let cut = if all > top {
        format!("\nthe {top} worst of {all} flows at each point")
    } else {
        String::new()
    };
    let caption = caption(report, is_repeated);
    Some(format!("{caption}{cut}\n{}", table(report, top, is_repeated)))
}

fn table(report: &Report, top: usize, is_repeated: bool) -> Table {
    let keys: BTreeSet<&String> = report.points.iter().flat_map(|it| it.settings.keys()).collect();
    let last_parts: Vec<&str> =
        keys.iter().map(|key| key.rsplit('.').next().unwrap_or(key)).collect();
    let first = last_parts.join(", ");
    let has_flows = report.points.iter().any(|point| summed(point).len() > 1);
    let mut columns = vec![(first.as_str(), Align::Left)];
    columns.extend(has_flows.then_some(("flow", Align::Left)));
    columns.extend([("mean time", Align::Right), ("throughput", Align::Right)]);
    columns.push(("lost", Align::Right));
    columns.extend(is_repeated.then_some(("DTs again", Align::Right)));
    let mut table = Table::of(columns.into_iter());
    for (point, label) in report.points.iter().zip(labels(report, &keys)) {
        for (number, group) in ranked(point, top).shown.iter().enumerate() {
            let flow = group.worst();
            let of_point = |text: String| if number == 0 { text } else { String::new() };
            let mut cells = vec![of_point(label.clone())];
            cells.extend(has_flows.then(|| group.label()));
            cells.extend([time(flow), rate(flow), lost(flow)]);
            let again = point.counts.get(SENT_AGAIN).copied().unwrap_or(0);
            cells.extend(is_repeated.then(|| of_point(again.to_string())));
            table.add(cells);
        }
    }
    table
}

/// Meaning of the columns.
fn caption(report: &Report, is_repeated: bool) -> String {
    let most = report.points.iter().map(|point| point.replications).max().unwrap_or(1);
    let spread = match most {
        1 => "one run".to_owned(),
        n => format!("means of n = {n} runs, {}", level(report.level)),
    };
    let again = if is_repeated { "; DTs retransmitted in all runs" } else { "" };
    format!("results of all points ({spread}{again})")
}

/// Mean response of a flow, or its mean delay, or the time to open its connection.
fn time(flow: &FlowReport) -> String {
    let names = ["response.mean", "delay.mean", "setup"];
    let found = names.into_iter().find_map(|name| flow.quantity(name));
    found.map_or_else(|| "-".to_owned(), quantity::mean)
}

fn rate(flow: &FlowReport) -> String {
    flow.quantity("throughput").map_or_else(|| "-".to_owned(), quantity::mean)
}

/// Messages that were lost or failed, of those sent.
fn lost(flow: &FlowReport) -> String {
    let lost = flow.lost.events.max(flow.failed);
    if flow.sent == 0 { "none sent".to_owned() } else { format!("{lost} of {}", flow.sent) }
}

#[cfg(test)]
mod tests {
    use super::outcomes;
    use bench::analysis::analyse;
    use bench::run::run;
    use bench::scenario;

    /// The table of a sweep of this key, with files of 20,000 octets.
    fn of(vary: &str) -> Option<String> {
        let text = format!(
            "version = 1\ntitle = \"t\"\nreplications = 3\nstop = {{ after = \"1 min\", messages = 2 }}\n\
             medium = {{ kind = \"ideal\", rate = \"10 Mbit/s\", delay = \"5 us\" }}\n\
             stations = {{ count = 2, prefix = \"s\" }}\n\
             [[flow]]\nname = \"file\"\nfrom = \"s-1\"\nto = \"s-2\"\nservice = \"file\"\n\
             pattern = {{ kind = \"bulk\" }}\nsize = \"20 kB\"\n{vary}\n"
        );
        let study = scenario::load(&text, "a.toml").unwrap_or_else(|error| panic!("{error}"));
        let samples = study.points.iter().flat_map(|it| (0..3).map(|n| run(it, "-", n).unwrap()));
        outcomes(&analyse(&samples.collect::<Vec<_>>(), 0.95).with_groups(&study.points), 20)
    }

    #[test]
    fn a_sweep_without_deadlines_has_a_row_for_each_point() {
        let vary = "[vary]\n\"flow.file.eot\" = [\"each\", \"last\"]\n\"faults.loss\" = [\"0 %\", \"10 %\"]";
        let found = of(vary).unwrap();
        let lines: Vec<&str> = found.lines().collect();
        assert!(
            lines[0].contains("n = 3 runs") && lines[0].contains("DTs retransmitted"),
            "{found}"
        );
        assert_eq!(lines.len(), 2 + 4, "{found}");
        assert!(
            lines[1].trim().starts_with("loss, eot") && lines[1].contains("DTs again"),
            "{found}"
        );
        assert!(lines[2].trim().starts_with("0 %, each") && lines[2].ends_with(" 0"), "{found}");
        assert!(!lines[4].ends_with(" 0"), "some were retransmitted: {found}");
        // Without losses, all runs are copies of one.
        assert!(lines[2].contains("0 of 2") && lines[4].contains("0 of 6"), "{found}");
        let delays = "{ kind = \"ideal\", rate = \"10 Mbit/s\", delay = \"5 us\" }";
        let long = of(&format!("{vary}\n\"medium\" = [{delays}]")).unwrap();
        for line in lines.into_iter().chain(long.lines()) {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert_eq!(of(""), None, "a single point has its own table");
    }
}

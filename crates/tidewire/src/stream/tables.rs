//! Totals, hosts and connections of a stream as tables of 80 columns.

use crate::quantity::{self, significant};
use crate::table::{Align, Table};
use bench::paragraph::{COLUMNS, wrapped};
use core::cmp::Reverse;
use core::fmt::Write as _;
use meter::metric::METRICS;
use meter::observation::DelayKind;
use meter::registry::{KindCount, Measure, TABLE_4};
use records::Counts;
use records::ENOUGH;
use records::{Connection, Finding, Host, Named, Replies, Slowness, Text, sum};
use records::{of_all_kinds, shortened, shortened_ends, tpdus};
use wire::tp::Kind;

/// Number of hosts, and of connections, in a table.
const SHOWN: usize = 10;
/// Number of hosts, and of connections, kept for a table.
const KEPT: usize = 64;
/// Columns for the two ends of a connection.
const ENDS_COLUMNS: usize = 41;
/// Columns for the two ends of a connection in the table of delays.
const WAITING_ENDS_COLUMNS: usize = 33;
/// Columns for a host.
const HOST_COLUMNS: usize = 22;

/// Measures that are shown if they are not zero.
const NOTABLE: [Measure; 20] = [
    Measure::ConnectionsAdopted,
    Measure::ResponsesAmbiguous,
    Measure::ConnectionRefusals,
    Measure::ConnectionNegotiationFailures,
    Measure::ConnectionAbruptEnds,
    Measure::ConnectionErroneousEnds,
    Measure::ConnectionSilentEnds,
    Measure::UnassignedTpdus,
    Measure::DtIntoClosedWindow,
    Measure::DtEmptyParts,
    Measure::AkAcknowledging,
    Measure::AkCrediting,
    Measure::AkConfirming,
    Measure::AkKeepingAlive,
    Measure::TcpSegments,
    Measure::TcpSegmentsAgain,
    Measure::TcpSegmentsLate,
    Measure::TcpSegmentsAhead,
    Measure::TcpKeepAlives,
    Measure::TcpCopies,
];

/// TPDUs of both sides of a connection.
fn of_both(Connection { directions, .. }: &Connection) -> u64 {
    sum(directions.iter().map(tpdus))
}

/// The connections with most TPDUs of all reported.
pub(super) struct Busiest {
    kept: Vec<Connection>,
    all: u64,
    /// Number of TPDUs below which a connection is not among them.
    least: u64,
}

impl Busiest {
    /// Creates an empty list.
    pub(super) const fn new() -> Self {
        Self { kept: Vec::new(), all: 0, least: 0 }
    }

    /// Adds a connection.
    pub(super) fn add(&mut self, connection: &Connection) {
        self.all += 1;
        if of_both(connection) < self.least {
            return;
        }
        self.kept.push(connection.clone());
        if self.kept.len() >= KEPT {
            self.sort();
            self.least = self.kept.last().map_or(0, of_both);
        }
    }

    fn sort(&mut self) {
        self.kept.sort_by_cached_key(|known| {
            let Connection { connection, .. } = known;
            (u64::MAX - of_both(known), connection.start_ns(), connection.id)
        });
        self.kept.truncate(SHOWN);
    }

    /// Returns the delays of the busiest connections; none if there were no delays.
    pub(super) fn waits(&mut self) -> Option<Table> {
        self.sort();
        let mut table = Table::new([
            ("connection", Align::Left),
            ("reply", Align::Right),
            ("max", Align::Right),
            ("AK", Align::Right),
            ("max", Align::Right),
            ("closed", Align::Right),
        ]);
        let mut is_empty = true;
        for Connection { connection, directions, .. } in &self.kept {
            let both = |name| sum(directions.iter().map(|sent| sent.count(name)));
            let most = |name| directions.iter().map(|sent| sent.count(name)).max();
            let mean = |total, count| both(total).checked_div(both(count));
            let replies = mean(DelayKind::Response.total(), DelayKind::Response.count());
            let acknowledged =
                mean(DelayKind::Acknowledgement.total(), DelayKind::Acknowledgement.count());
            let told = |span: Option<u64>| span.map_or_else(|| "-".to_owned(), quantity::span);
            let closed = Some(both(DelayKind::ClosedWindow.total()))
                .filter(|_| both(DelayKind::ClosedWindow.count()) > 0);
            if replies.or(acknowledged).or(closed).is_none() {
                continue;
            }
            is_empty = false;
            table.row([
                shortened_ends(&connection.ends, WAITING_ENDS_COLUMNS),
                told(replies),
                told(replies.and_then(|_| most(DelayKind::Response.maximum()))),
                told(acknowledged),
                told(acknowledged.and_then(|_| most(DelayKind::Acknowledgement.maximum()))),
                told(closed),
            ]);
        }
        (!is_empty).then_some(table)
    }

    /// Returns the busiest connections and the number of all.
    pub(super) fn table(&mut self) -> String {
        self.sort();
        let mut table = Table::new([
            ("connection", Align::Left),
            ("user", Align::Left),
            ("state", Align::Left),
            ("TPDUs", Align::Right),
            ("back", Align::Right),
        ]);
        for Connection { connection, directions: [there, back], .. } in &self.kept {
            table.row([
                shortened_ends(&connection.ends, ENDS_COLUMNS),
                connection.user.to_string(),
                connection.outcome().to_owned(),
                tpdus(there).to_string(),
                tpdus(back).to_string(),
            ]);
        }
        let shown = self.kept.len() as u64;
        match self.all - shown {
            0 => table.to_string(),
            more => format!("{table}\n  and {more} more connections"),
        }
    }
}

/// Formats the findings, the worst first, each with its evidence and the command that shows more;
/// none if there are no findings.
pub(super) fn findings(findings: &[Finding]) -> Option<String> {
    let about = "what is wrong here (!!), may be (!), and is worth knowing (-)";
    let mut lines = vec![about.to_owned()];
    for Finding { grade, text, evidence, command, .. } in findings {
        let sign = match grade.as_str() {
            "wrong" => "!!",
            "look" => "! ",
            _ => "- ",
        };
        lines.push(wrapped(&format!("  {sign} "), text));
        lines.extend(evidence.iter().map(|evidence| wrapped("       ", evidence)));
        lines.push(more(command));
    }
    (!findings.is_empty()).then(|| lines.join("\n"))
}

/// Options after the files in the commands of findings.
const BEHIND_FILES: [&str; 4] = [" --events ", " --csv ", " --screen ", " --expect "];

/// Returns the line with the command that shows more. If file names make it wider than a terminal,
/// FILE replaces them, and SCD that of a configuration.
fn more(command: &str) -> String {
    let line = format!("       more: {command}");
    let Some((verb, files)) = command.split_once(" -r ") else { return line };
    if line.chars().count() <= COLUMNS {
        return line;
    }
    let options = BEHIND_FILES.iter().filter_map(|option| files.get(files.rfind(option)?..));
    let options = options.min_by_key(|options| options.len()).unwrap_or_default();
    let line = format!("       more: {verb} -r FILE{options}");
    if line.chars().count() > COLUMNS && options.starts_with(" --expect ") {
        return format!("       more: {verb} -r FILE --expect SCD --json");
    }
    line
}

/// The hosts with the slowest replies of all reported.
pub(super) struct SlowestHosts {
    kept: Vec<(Slowness, Replies, Option<Text>)>,
    all: u64,
}

impl SlowestHosts {
    /// Creates an empty list.
    pub(super) const fn new() -> Self {
        Self { kept: Vec::new(), all: 0 }
    }

    /// Adds a host, if it replied.
    pub(super) fn add(&mut self, Host { host, sent, .. }: &Host) {
        let replies = Replies::of(sent);
        if replies.count == 0 && replies.ambiguous == 0 {
            return;
        }
        self.all += 1;
        self.kept.push((Slowness::of_replies(&replies), replies, host.clone()));
        if self.kept.len() >= KEPT {
            self.sort();
        }
    }

    fn sort(&mut self) {
        self.kept.sort_by_cached_key(|(slowness, _, host)| (Reverse(*slowness), host.clone()));
        self.kept.truncate(SHOWN);
    }

    /// Returns the slowest hosts and the number of all; none if no host replied.
    pub(super) fn table(&mut self) -> Option<String> {
        self.sort();
        let mut table = Table::new([
            ("slowest replies", Align::Left),
            ("count", Align::Right),
            ("mean", Align::Right),
            ("p50", Align::Right),
            ("p99", Align::Right),
            ("max", Align::Right),
            ("ambiguous", Align::Right),
        ]);
        for (_, replies, host) in &self.kept {
            let span = |nanos: Option<u64>| nanos.map_or_else(|| "-".to_owned(), quantity::span);
            table.row([
                shortened(host.as_deref().unwrap_or("others"), HOST_COLUMNS),
                replies.count.to_string(),
                span(replies.mean_ns),
                span(quantity::enough(0.5, replies.count, replies.p50_ns)),
                span(quantity::enough(0.99, replies.count, replies.p99_ns)),
                span(Some(replies.max_ns).filter(|_| replies.count > 0)),
                replies.ambiguous.to_string(),
            ]);
        }
        let more = self.all - self.kept.len() as u64;
        let has_few = self.kept.iter().any(|(slowness, ..)| !slowness.has_enough());
        let mut text = table.to_string();
        if more > 0 {
            let _ = write!(text, "\n  and {more} more hosts");
        }
        if has_few {
            let _ = write!(text, "\n  hosts with fewer than {ENOUGH} replies come last");
        }
        (!self.kept.is_empty()).then_some(text)
    }
}

/// TPDUs that a host sent and received.
fn of_both_ways(Host { sent, received, .. }: &Host) -> u64 {
    sum([tpdus(sent), tpdus(received)])
}

/// The hosts that sent and received most of all reported.
pub(super) struct BusiestHosts {
    kept: Vec<Host>,
    all: u64,
    /// Number of TPDUs below which a host is not among them.
    least: u64,
}

impl BusiestHosts {
    /// Creates an empty list.
    pub(super) const fn new() -> Self {
        Self { kept: Vec::new(), all: 0, least: 0 }
    }

    /// Adds a host.
    pub(super) fn add(&mut self, host: &Host) {
        self.all += 1;
        if of_both_ways(host) < self.least {
            return;
        }
        self.kept.push(host.clone());
        if self.kept.len() >= KEPT {
            self.sort();
            self.least = self.kept.last().map_or(0, of_both_ways);
        }
    }

    /// Returns true if no host was reported.
    pub(super) const fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    fn sort(&mut self) {
        self.kept.sort_by_cached_key(|known| (u64::MAX - of_both_ways(known), known.host.clone()));
        self.kept.truncate(SHOWN);
    }

    /// Returns the busiest hosts and the number of all.
    pub(super) fn table(&mut self) -> String {
        self.sort();
        let table = hosts(&self.kept);
        match self.all.saturating_sub(self.kept.len() as u64) {
            0 => table.to_string(),
            more => format!("{table}\n  and {more} more hosts"),
        }
    }
}

fn hosts(hosts: &[Host]) -> Table {
    let mut table = Table::new([
        ("host", Align::Left),
        ("sent", Align::Right),
        ("octets", Align::Right),
        ("retx", Align::Right),
        ("received", Align::Right),
        ("octets", Align::Right),
        ("R_OM", Align::Right),
        ("R_OA", Align::Right),
        ("R_RA", Align::Right),
    ]);
    for Host { host, sent, received, metrics } in hosts {
        let metric = |symbol| {
            let value = metrics.get(symbol).flatten();
            value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"))
        };
        table.row([
            shortened(host.as_deref().unwrap_or("others"), HOST_COLUMNS),
            tpdus(sent).to_string(),
            of_all_kinds(sent, KindCount::DataOctets).to_string(),
            of_all_kinds(sent, KindCount::Retransmissions).to_string(),
            tpdus(received).to_string(),
            of_all_kinds(received, KindCount::DataOctets).to_string(),
            metric("R_OM"),
            metric("R_OA"),
            metric("R_RA"),
        ]);
    }
    table
}

/// Returns the 17 rows of the paper's Table 4, as far as they are reported.
pub(super) fn measures(values: &Counts, has_tpdus: bool) -> Option<Table> {
    let mut table = Table::new([("measure", Align::Left), ("total", Align::Right)]);
    for measure in TABLE_4 {
        if let Some(value) = values.get(measure).filter(|value| has_tpdus || *value > 0) {
            table.row([measure.to_string(), value.to_string()]);
        }
    }
    (!table.is_empty()).then_some(table)
}

/// Returns the TPDUs by kind.
pub(super) fn kinds(values: &Counts) -> Table {
    let mut table = Table::new([
        ("TPDU", Align::Left),
        ("count", Align::Right),
        ("retx", Align::Right),
        ("header octets", Align::Right),
        ("data octets", Align::Right),
        ("information octets", Align::Right),
    ]);
    for kind in Kind::ALL {
        let of = |count| shown(values, Measure::OfKind(kind, count));
        table.row([
            kind.name().to_owned(),
            of(KindCount::Tpdus),
            of(KindCount::Retransmissions),
            of(KindCount::HeaderOctets),
            of(KindCount::DataOctets),
            of(KindCount::InformationOctets),
        ]);
    }
    table
}

/// Returns the metrics, as far as they are known.
pub(super) fn metrics(values: &Named<Option<f64>>, has_tpdus: bool) -> Option<Table> {
    let mut table = Table::new([
        ("metric", Align::Left),
        ("", Align::Left),
        ("value", Align::Right),
        ("unit", Align::Left),
    ]);
    for definition in &METRICS {
        let value = values.get(definition.symbol).flatten();
        if !has_tpdus && value.is_none_or(|value| value <= 0.0) {
            continue;
        }
        let value = value.map_or_else(|| "n/a".to_owned(), |value| significant(value, 6));
        let unit = if definition.unit == "1" { "" } else { definition.unit };
        table.row([
            definition.symbol.to_owned(),
            definition.name.to_owned(),
            value,
            unit.to_owned(),
        ]);
    }
    (!table.is_empty()).then_some(table)
}

/// Returns the delays that occurred; none if there were none.
pub(super) fn delays(values: &Counts) -> Option<Table> {
    let mut table = Table::new([
        ("delay", Align::Left),
        ("count", Align::Right),
        ("mean", Align::Right),
        ("p50", Align::Right),
        ("p99", Align::Right),
        ("max", Align::Right),
        ("", Align::Left),
    ]);
    let mut is_empty = true;
    for delay in DelayKind::ALL {
        let count = values.count(delay.count());
        let Some(mean) = values.count(delay.total()).checked_div(count) else { continue };
        is_empty = false;
        let ms = |nanos: u64| significant(nanos as f64 / 1e6, 3);
        table.row([
            delay.label().to_owned(),
            count.to_string(),
            ms(mean),
            ms(values.count(delay.p50())),
            ms(values.count(delay.p99())),
            ms(values.count(delay.maximum())),
            "ms".to_owned(),
        ]);
    }
    (!is_empty).then_some(table)
}

/// Returns other notable measures that are not zero: of TCP, DTs, AKs and connections.
pub(super) fn notable(values: &Counts) -> Option<Table> {
    let mut table = Table::new([("also", Align::Left), ("times", Align::Right)]);
    let mut is_empty = true;
    for measure in NOTABLE {
        let times = values.count(measure);
        if times > 0 {
            is_empty = false;
            table.row([measure.to_string(), times.to_string()]);
        }
    }
    (!is_empty).then_some(table)
}

/// Returns the oddities; none if there were none.
pub(super) fn oddities(met: &Named<u64>) -> Option<Table> {
    let mut table = Table::new([("oddity", Align::Left), ("times", Align::Right)]);
    for (name, times) in met.iter() {
        table.row([name.to_owned(), times.to_string()]);
    }
    (!met.0.is_empty()).then_some(table)
}

/// Formats a value, or `n/a` if it is not reported.
pub(super) fn shown(values: &Counts, measure: Measure) -> String {
    // Absent if --only left it out, or if the tap cannot observe the layer.
    values.get(measure).map_or_else(|| "n/a".to_owned(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_with_too_few_replies_to_rank_are_explained() {
        let table = |counts: &[u64]| {
            let mut slowest = SlowestHosts::new();
            for (place, count) in counts.iter().enumerate() {
                let sent = [("responses", *count), ("response_p99_ns", 5), ("response_max_ns", 9)];
                slowest.add(&Host {
                    host: Some(format!("10.0.0.{place}").into()),
                    sent: Counts::named(&sent).unwrap(),
                    received: Counts::default(),
                    metrics: Named(Vec::new()),
                });
            }
            slowest.table().unwrap()
        };
        let note = "hosts with fewer than 20 replies come last";
        assert!(!table(&[20, 30]).contains(note));
        assert!(table(&[20, 19]).ends_with(note));
    }
}

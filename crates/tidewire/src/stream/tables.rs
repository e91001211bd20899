//! Totals, hosts and connections of a stream as tables of 80 columns.

use super::lines::shown;
use super::slowest::ENOUGH;
use super::{Connection, Finding, Host, Named, Replies, Slowness, sum};
use crate::quantity::{self, significant};
use crate::table::{Align, Table};
use core::cmp::Reverse;
use core::fmt::Write as _;
use meter::measure::{Delays, Measures};
use meter::metric::METRICS;
use wire::tp::Kind;

/// Hosts, and connections, that lines show.
const SHOWN: usize = 10;
/// Connections, and hosts, kept for the table.
const KEPT: usize = 64;
/// Columns for the two ends of a connection.
const ENDS_COLUMNS: usize = 41;
/// Columns for them beside how long things took.
const WAITING_ENDS_COLUMNS: usize = 33;
/// Columns for a host.
const HOST_COLUMNS: usize = 22;

/// Measures that are of note where they are not zero.
const NOTABLE: [&str; 20] = [
    "connections_adopted",
    "responses_ambiguous",
    "connection_refusals",
    "connection_negotiation_failures",
    "connection_abrupt_ends",
    "connection_erroneous_ends",
    "connection_silent_ends",
    "unassigned_tpdus",
    "dt_into_closed_window",
    "dt_empty_parts",
    "ak_acknowledging",
    "ak_crediting",
    "ak_confirming",
    "ak_keeping_alive",
    "tcp_segments",
    "tcp_segments_again",
    "tcp_segments_late",
    "tcp_segments_ahead",
    "tcp_keep_alives",
    "tcp_copies",
];

/// TPDUs of all kinds among these values.
pub(crate) fn tpdus(values: &Named<u64>) -> u64 {
    of_all_kinds(values, "tpdus")
}

/// What all kinds of TPDUs have together.
pub(crate) fn of_all_kinds(values: &Named<u64>, what: &str) -> u64 {
    let of = |kind: Kind| values.count(&format!("{}_{what}", kind.name().to_lowercase()));
    sum(Kind::ALL.into_iter().map(of))
}

/// The connections with most TPDUs, of all that were told of.
pub(super) struct Busiest {
    kept: Vec<Connection>,
    all: u64,
}

impl Busiest {
    /// None yet.
    pub(super) const fn new() -> Self {
        Self { kept: Vec::new(), all: 0 }
    }

    /// Takes notice of one.
    pub(super) fn add(&mut self, connection: Connection) {
        self.all += 1;
        self.kept.push(connection);
        if self.kept.len() >= KEPT {
            self.sort();
        }
    }

    fn sort(&mut self) {
        self.kept.sort_by_cached_key(|Connection { connection, directions, .. }| {
            (u64::MAX - sum(directions.iter().map(tpdus)), connection.start_ns(), connection.id)
        });
        self.kept.truncate(SHOWN);
    }

    /// How long things took on the busiest; nothing where nothing did.
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
            let replies = mean("response_total_ns", "responses");
            let acknowledged = mean("ack_delay_total_ns", "ack_delays");
            let told = |span: Option<u64>| span.map_or_else(|| "-".to_owned(), quantity::span);
            let closed = Some(both("closed_window_ns")).filter(|_| both("closed_windows") > 0);
            if replies.or(acknowledged).or(closed).is_none() {
                continue;
            }
            is_empty = false;
            table.row([
                shortened_ends(&connection.ends, WAITING_ENDS_COLUMNS),
                told(replies),
                told(replies.and_then(|_| most("response_max_ns"))),
                told(acknowledged),
                told(acknowledged.and_then(|_| most("ack_delay_max_ns"))),
                told(closed),
            ]);
        }
        (!is_empty).then_some(table)
    }

    /// The busiest, and how many there were.
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
                connection.user.clone(),
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

/// As much of it as has room: its front and its back.
pub(crate) fn shortened(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    let half = columns.saturating_sub(2) / 2;
    let front: String = text.chars().take(half).collect();
    let back: String = text.chars().skip(text.chars().count() - half).collect();
    format!("{front}..{back}")
}

/// The two ends of a connection in so many columns: of each its back, which tells more than its front.
pub(crate) fn shortened_ends([from, to]: &[String; 2], columns: usize) -> String {
    if from.chars().count() + to.chars().count() < columns {
        return format!("{from}>{to}");
    }
    let half = columns.saturating_sub(1) / 2;
    format!("{}>{}", back(from, half), back(to, half))
}

/// The back of an address.
pub(crate) fn back(address: &str, columns: usize) -> String {
    let count = address.chars().count();
    if count <= columns {
        return address.to_owned();
    }
    let kept: String = address.chars().skip(count + 2 - columns.max(2)).collect();
    format!("..{kept}")
}

/// Findings, the worst first, each with its evidence and the command that shows more; nothing where there are none.
pub(super) fn findings(findings: &[Finding]) -> Option<String> {
    let about = "what is wrong here (!!), may be (!), and is worth knowing (-)";
    let mut lines = vec![about.to_owned()];
    for Finding { grade, text, evidence, command, .. } in findings {
        let sign = match grade.as_str() {
            "wrong" => "!!",
            "look" => "! ",
            _ => "- ",
        };
        lines.push(format!("  {sign} {text}"));
        lines.extend(evidence.iter().map(|evidence| format!("       {evidence}")));
        lines.push(format!("       more: {command}"));
    }
    (!findings.is_empty()).then(|| lines.join("\n"))
}

/// The hosts whose replies took longest, of all that were reported.
pub(super) struct SlowestHosts {
    kept: Vec<(Slowness, Replies, Option<String>)>,
    all: u64,
}

impl SlowestHosts {
    /// None yet.
    pub(super) const fn new() -> Self {
        Self { kept: Vec::new(), all: 0 }
    }

    /// Takes in a host, if it replied.
    pub(super) fn add(&mut self, Host { host, sent, .. }: &Host) {
        let replies = Replies::of(sent);
        if replies.count == 0 && replies.ambiguous == 0 {
            return;
        }
        self.all += 1;
        self.kept.push((Slowness::of_values(sent), replies, host.clone()));
        if self.kept.len() >= KEPT {
            self.sort();
        }
    }

    fn sort(&mut self) {
        self.kept.sort_by_cached_key(|(slowness, _, host)| (Reverse(*slowness), host.clone()));
        self.kept.truncate(SHOWN);
    }

    /// The slowest, and how many there were; nothing where no host replied.
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
                span(replies.p50_ns),
                span(replies.p99_ns),
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

/// The hosts that sent and received most, of all that were told of.
pub(super) struct BusiestHosts {
    kept: Vec<Host>,
    all: u64,
}

impl BusiestHosts {
    /// None yet.
    pub(super) const fn new() -> Self {
        Self { kept: Vec::new(), all: 0 }
    }

    /// Takes notice of one.
    pub(super) fn add(&mut self, host: Host) {
        self.all += 1;
        self.kept.push(host);
        if self.kept.len() >= KEPT {
            self.sort();
        }
    }

    /// Whether none was told of.
    pub(super) const fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    fn sort(&mut self) {
        self.kept.sort_by_cached_key(|Host { host, sent, received, .. }| {
            (u64::MAX - sum([tpdus(sent), tpdus(received)]), host.clone())
        });
        self.kept.truncate(SHOWN);
    }

    /// The busiest, and how many there were.
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
        ("again", Align::Right),
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
            of_all_kinds(sent, "data_octets").to_string(),
            of_all_kinds(sent, "retransmissions").to_string(),
            tpdus(received).to_string(),
            of_all_kinds(received, "data_octets").to_string(),
            metric("R_OM"),
            metric("R_OA"),
            metric("R_RA"),
        ]);
    }
    table
}

/// The 17 rows of the paper's Table 4, as far as they are reported.
pub(super) fn measures(values: &Named<u64>) -> Table {
    let mut table = Table::new([("measure", Align::Left), ("total", Align::Right)]);
    for (name, _) in Measures::default().table() {
        if let Some(value) = values.get(name) {
            table.row([name.to_owned(), value.to_string()]);
        }
    }
    table
}

/// TPDUs by kind.
pub(super) fn kinds(values: &Named<u64>) -> Table {
    let mut table = Table::new([
        ("TPDU", Align::Left),
        ("count", Align::Right),
        ("again", Align::Right),
        ("header octets", Align::Right),
        ("data octets", Align::Right),
        ("information octets", Align::Right),
    ]);
    for kind in Kind::ALL {
        let of = |what: &str| shown(values, &format!("{}_{what}", kind.name().to_lowercase()));
        table.row([
            kind.name().to_owned(),
            of("tpdus"),
            of("retransmissions"),
            of("header_octets"),
            of("data_octets"),
            of("information_octets"),
        ]);
    }
    table
}

/// The metrics, as far as they are known here.
pub(super) fn metrics(values: &Named<Option<f64>>) -> Table {
    let mut table = Table::new([
        ("metric", Align::Left),
        ("", Align::Left),
        ("value", Align::Right),
        ("unit", Align::Left),
    ]);
    for definition in &METRICS {
        let value = values.get(definition.symbol).flatten();
        let value = value.map_or_else(|| "n/a".to_owned(), |value| significant(value, 6));
        let unit = if definition.unit == "1" { "" } else { definition.unit };
        table.row([
            definition.symbol.to_owned(),
            definition.name.to_owned(),
            value,
            unit.to_owned(),
        ]);
    }
    table
}

/// The delays that were seen; nothing where there were none.
pub(super) fn delays(values: &Named<u64>) -> Option<Table> {
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
    for (name, [count, total, _, p50, p99, max]) in Delays::names() {
        let count = values.count(count);
        let Some(mean) = values.count(total).checked_div(count) else { continue };
        is_empty = false;
        let ms = |nanos: u64| significant(nanos as f64 / 1e6, 3);
        table.row([
            name.to_owned(),
            count.to_string(),
            ms(mean),
            ms(values.count(p50)),
            ms(values.count(p99)),
            ms(values.count(max)),
            "ms".to_owned(),
        ]);
    }
    (!is_empty).then_some(table)
}

/// What else there was of note, as far as there was any: of TCP, of DTs, of AKs, of connections.
pub(super) fn notable(values: &Named<u64>) -> Option<Table> {
    let mut table = Table::new([("also", Align::Left), ("times", Align::Right)]);
    let mut is_empty = true;
    for name in NOTABLE {
        let times = values.count(name);
        if times > 0 {
            is_empty = false;
            table.row([name.to_owned(), times.to_string()]);
        }
    }
    (!is_empty).then_some(table)
}

/// What was odd; nothing where nothing was.
pub(super) fn oddities(met: &Named<u64>) -> Option<Table> {
    let mut table = Table::new([("oddity", Align::Left), ("times", Align::Right)]);
    for (name, times) in met.iter() {
        table.row([name.to_owned(), times.to_string()]);
    }
    (!met.0.is_empty()).then_some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_note_is_that_of_a_measure() {
        let values = Measures::default().values();
        let is_known = |name: &&str| values.iter().any(|(known, _)| known == name);
        assert!(NOTABLE.iter().all(is_known));
    }

    #[test]
    fn hosts_with_too_few_replies_to_rank_are_explained() {
        let table = |counts: &[u64]| {
            let mut slowest = SlowestHosts::new();
            for (place, count) in counts.iter().enumerate() {
                let sent = [("responses", *count), ("response_p99_ns", 5), ("response_max_ns", 9)];
                slowest.add(&Host {
                    host: Some(format!("10.0.0.{place}")),
                    sent: Named(sent.map(|(name, value)| (name.into(), value)).to_vec()),
                    received: Named(Vec::new()),
                    metrics: Named(Vec::new()),
                });
            }
            slowest.table().unwrap()
        };
        let note = "hosts with fewer than 20 replies come last";
        assert!(!table(&[20, 30]).contains(note));
        assert!(table(&[20, 19]).ends_with(note));
    }

    #[test]
    fn of_two_ends_the_backs_are_kept() {
        let ends = ["02:00:00:00:00:01", "02:00:00:00:00:02"].map(str::to_owned);
        assert_eq!(shortened_ends(&ends, 35), "02:00:00:00:00:01>02:00:00:00:00:02");
        // Nine columns each: two dots and seven letters.
        assert_eq!(shortened_ends(&ends, 19), "..0:00:01>..0:00:02");
        let uneven = ["10.0.0.1:1025", "a"].map(str::to_owned);
        assert_eq!(shortened_ends(&uneven, 15), "10.0.0.1:1025>a");
    }
}

//! The worst rows of a table, kept in bounded memory.

use super::MOST_ROWS;
use crate::document::Table;
use core::cmp::Reverse;
use meter::observation::DelayKind;
use meter::registry::Measure;
use records::associations::Service;
use records::quantity::{self, span};
use records::{Connection, CyclicStream, Host, Replies, Slowness, Transactions, sum, tpdus};

/// A row with a key; the greatest key is the worst.
pub(super) trait Row: Clone {
    /// Key of the order.
    type Key: Ord;
    /// Headings of the columns.
    const HEADS: &'static [&'static str];
    /// Key of the row.
    fn key(&self) -> Self::Key;
    /// Cells of the row.
    fn cells(&self) -> Vec<String>;
}

/// The worst rows, and the number of all.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Ranked<T> {
    kept: Vec<T>,
    pub(super) all: u64,
}

impl<T: Row> Ranked<T> {
    pub(super) const fn new() -> Self {
        Self { kept: Vec::new(), all: 0 }
    }

    /// Adds a row, if it is one.
    pub(super) fn add(&mut self, row: Option<T>) {
        let Some(row) = row else { return };
        self.all += 1;
        self.kept.push(row);
        if self.kept.len() >= MOST_ROWS * 8 {
            self.kept = self.worst().cloned();
        }
    }

    /// The rows that are shown, the worst first.
    pub(super) fn worst(&self) -> Worst<'_, T> {
        let mut rows: Vec<&T> = self.kept.iter().collect();
        // Rows of one key stay in the order of the stream.
        rows.sort_by_cached_key(|row| Reverse(row.key()));
        rows.truncate(MOST_ROWS);
        Worst { rows }
    }

    /// The table; none without rows.
    pub(super) fn table(&self, caption: &str) -> Option<Table> {
        let rows = self.worst().rows.into_iter().map(T::cells);
        let mut table = Table::of(caption, T::HEADS, rows, MOST_ROWS);
        table.left_out = (self.all as usize).saturating_sub(table.rows.len());
        (!table.rows.is_empty()).then_some(table)
    }
}

/// Rows in order.
pub(super) struct Worst<'a, T> {
    pub(super) rows: Vec<&'a T>,
}

impl<T: Row> Worst<'_, T> {
    fn cloned(&self) -> Vec<T> {
        self.rows.iter().map(|row| (*row).clone()).collect()
    }
}

/// Replies of a host.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct HostRow {
    pub(super) host: String,
    pub(super) replies: Replies,
    slowness: Slowness,
}

impl HostRow {
    /// The row of a host that replied; none for others.
    pub(super) fn of(host: &Host) -> Option<Self> {
        let replies = Replies::of(&host.sent);
        if replies.count == 0 && replies.ambiguous == 0 {
            return None;
        }
        let slowness = Slowness::of_values(&host.sent);
        let host = host.host.as_deref().unwrap_or("others").to_owned();
        Some(Self { host, replies, slowness })
    }
}

impl Row for HostRow {
    type Key = (Slowness, u64);
    const HEADS: &'static [&'static str] =
        &["host", "replies", "mean", "p50", "p99", "max", "ambiguous"];
    fn key(&self) -> Self::Key {
        (self.slowness, self.replies.count)
    }
    fn cells(&self) -> Vec<String> {
        let Replies { count, mean_ns, p50_ns, p99_ns, max_ns, ambiguous } = self.replies;
        let time = |nanos: Option<u64>| nanos.map_or_else(|| "-".to_owned(), span);
        let max = time(Some(max_ns).filter(|_| count > 0));
        let [p50_ns, p99_ns] = of_enough(count, p50_ns, p99_ns);
        let [mean, p50, p99] = [mean_ns, p50_ns, p99_ns].map(time);
        vec![self.host.clone(), count.to_string(), mean, p50, p99, max, ambiguous.to_string()]
    }
}

/// Median and 99th percentile, each if `count` values are enough for it.
fn of_enough(count: u64, p50: Option<u64>, p99: Option<u64>) -> [Option<u64>; 2] {
    [(0.5, p50), (0.99, p99)].map(|(share, value)| quantity::enough(share, count, value))
}

/// Retransmissions and closed windows of a connection.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ConnectionRow {
    pub(super) ends: String,
    user: String,
    outcome: String,
    tpdus: u64,
    pub(super) dts: u64,
    pub(super) retransmissions: u64,
    segments_again: u64,
    pub(super) closed_ns: u64,
    pub(super) closed_max_ns: u64,
}

impl ConnectionRow {
    pub(super) fn of(connection: &Connection) -> Option<Self> {
        let Connection { connection, directions, .. } = connection;
        let both = |measure| sum(directions.iter().map(|sent| sent.count(measure)));
        let most = |measure| directions.iter().map(|sent| sent.count(measure)).max().unwrap_or(0);
        Some(Self {
            ends: connection.ends.join(" > "),
            user: connection.user.to_string(),
            outcome: connection.outcome().to_owned(),
            tpdus: sum(directions.iter().map(tpdus)),
            dts: both(Measure::DtTpdus),
            retransmissions: both(Measure::DtRetransmissions),
            segments_again: both(Measure::TcpSegmentsAgain),
            closed_ns: both(DelayKind::ClosedWindow.total()),
            closed_max_ns: most(DelayKind::ClosedWindow.maximum()),
        })
    }
}

impl Row for ConnectionRow {
    type Key = (u64, u64, u64);
    const HEADS: &'static [&'static str] = &[
        "connection",
        "user",
        "state",
        "TPDUs",
        "DTs",
        "DTs retransmitted",
        "TCP segments again",
        "window closed",
    ];
    fn key(&self) -> Self::Key {
        (self.retransmissions + self.segments_again, self.closed_ns, self.tpdus)
    }
    fn cells(&self) -> Vec<String> {
        let closed = if self.closed_ns > 0 { span(self.closed_ns) } else { "-".to_owned() };
        vec![
            self.ends.clone(),
            self.user.clone(),
            self.outcome.clone(),
            self.tpdus.to_string(),
            self.dts.to_string(),
            self.retransmissions.to_string(),
            self.segments_again.to_string(),
            closed,
        ]
    }
}

/// Response times of a service of MMS.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ServiceRow(pub(super) Service);

impl ServiceRow {
    pub(super) fn of(service: &Service) -> Self {
        Self(service.clone())
    }
}

impl Row for ServiceRow {
    type Key = (bool, Option<u64>, Option<u64>);
    const HEADS: &'static [&'static str] = &[
        "service",
        "server",
        "requests",
        "errors",
        "failed accesses",
        "rejects",
        "unanswered",
        "p50",
        "p99",
        "max",
    ];
    fn key(&self) -> Self::Key {
        let Service { answers, response_p99_ns, response_max_ns, .. } = self.0;
        (answers >= records::ENOUGH, response_p99_ns, response_max_ns)
    }
    fn cells(&self) -> Vec<String> {
        let Service { service, server, requests, errors, failed_accesses, .. } = &self.0;
        let Service { rejects, unanswered, .. } = self.0;
        let counts = [*requests, *errors, *failed_accesses, rejects, unanswered];
        let [p50_ns, p99_ns] =
            of_enough(self.0.answers, self.0.response_p50_ns, self.0.response_p99_ns);
        let times = [p50_ns, p99_ns, self.0.response_max_ns];
        let time = |nanos: Option<u64>| nanos.map_or_else(|| "-".to_owned(), span);
        let words = [service, server].map(ToString::to_string).into_iter();
        words.chain(counts.map(|it| it.to_string())).chain(times.map(time)).collect()
    }
}

/// Response times of a function of a unit.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct FunctionRow(pub(super) Transactions);

impl Row for FunctionRow {
    type Key = (bool, bool, Option<u64>, Option<u64>, u64);
    const HEADS: &'static [&'static str] = &[
        "server",
        "unit",
        "function",
        "requests",
        "replies",
        "exceptions",
        "unanswered",
        "retries",
        "p50",
        "p99",
        "max",
        "period p50",
    ];
    fn key(&self) -> Self::Key {
        let Transactions { responses, response_p99_ns, response_max_ns, unanswered, .. } = self.0;
        let has_enough = responses >= records::ENOUGH;
        (!self.0.acknowledgements, has_enough, response_p99_ns, response_max_ns, unanswered)
    }
    fn cells(&self) -> Vec<String> {
        let it = &self.0;
        let time = |nanos: Option<u64>| nanos.map_or_else(|| "-".to_owned(), span);
        let counts = [it.requests, it.replies, it.exceptions, it.unanswered, it.retries];
        let [p50_ns, p99_ns] = of_enough(it.responses, it.response_p50_ns, it.response_p99_ns);
        let period_ns = quantity::enough(0.5, it.periods, it.period_p50_ns);
        let times = [p50_ns, p99_ns, it.response_max_ns, period_ns];
        let words = [it.server.clone(), it.unit.to_string(), it.function_label()].into_iter();
        words.chain(counts.map(|it| it.to_string())).chain(times.map(time)).collect()
    }
}

/// Deviations of a stream of cyclic data.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct StreamRow(pub(super) CyclicStream);

impl StreamRow {
    pub(super) fn of(stream: &CyclicStream) -> Self {
        Self(stream.clone())
    }

    /// Name of the stream.
    pub(super) fn name(&self) -> String {
        let CyclicStream { protocol, source, identifier, .. } = &self.0;
        format!("{protocol} {source}/{identifier:04X}")
    }
}

impl Row for StreamRow {
    type Key = (u64, u64, u64);
    const HEADS: &'static [&'static str] = &[
        "stream",
        "frames",
        "missing",
        "gaps too long",
        "longest gap",
        "period",
        "late p99",
        "late max",
        "early max",
        "stamps to",
        "answer max",
        "no answer",
        "WKC low",
        "transit max",
    ];
    fn key(&self) -> Self::Key {
        let CyclicStream { silences, missing, late_max_ns, period_ns, .. } = self.0;
        let late = late_max_ns.unwrap_or(0).saturating_mul(1_000);
        let wrong = silences.saturating_add(self.0.extra.low_working_counters);
        (wrong, missing, late.checked_div(period_ns.unwrap_or(0)).unwrap_or(0))
    }
    fn cells(&self) -> Vec<String> {
        let time = |nanos: Option<u64>| nanos.map_or_else(|| "-".to_owned(), span);
        let CyclicStream { frames, missing, silences, gap_max_ns, .. } = self.0;
        let CyclicStream { period_ns, late_p99_ns, late_max_ns, early_max_ns, .. } = self.0;
        let counts = [frames, missing, silences].map(|it| it.to_string());
        let late_p99_ns = quantity::enough(0.99, self.0.late_gaps.unwrap_or(0), late_p99_ns);
        let times = [Some(gap_max_ns), period_ns, late_p99_ns, late_max_ns, early_max_ns].map(time);
        let extra = &self.0.extra;
        let special = [
            time(self.0.stamp_step_ns),
            time(extra.round_trip_max_ns),
            extra.unanswered.unwrap_or(0).to_string(),
            extra.low_working_counters.to_string(),
            time(extra.transit_late_max_ns),
        ];
        let words = [self.name()].into_iter().chain(counts);
        words.chain(times).chain(special).collect()
    }
}

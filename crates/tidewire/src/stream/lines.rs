//! The stream as lines of 80 columns on a terminal: one line per interval, then the total in
//! tables.
//!
//! Omitted here, but present in the stream: samples, the hosts and connections of each interval,
//! and all but the busiest.

use super::cyclic::WorstStreams;
use super::publishers::WrongPublishers;
use super::services::{BusiestBlocks, SlowestServices};
use super::tables::{self, Busiest, BusiestHosts, SlowestHosts, shown};
use super::transactions::SlowestFunctions;
use crate::output::Output;
use crate::quantity::{counted, significant, span, trimmed};
use bench::paragraph::wrapped;
use bench::scenario::Span;
use core::time::Duration;
use meter::observation::DelayKind;
use meter::registry::Measure;
use records::calendar;
use records::{BriefConnections, End, Finding, Head, Interval, Record, Total};
use std::io;
use std::sync::LazyLock;
use wire::time::Instant;
use wire::units::BitRate;

/// Counts in the line of an interval.
pub(crate) const COUNTS: [Measure; 6] = [
    Measure::Lpdus,
    Measure::LpduOctets,
    Measure::Tpdus,
    Measure::DtTpdus,
    Measure::DtRetransmissions,
    Measure::AkTpdus,
];

/// Makes records of connections as a whole with the measures that the tables of its end show: besides TPDUs and
/// closed windows, on which findings rest too, two delays.
pub(crate) static BRIEF: LazyLock<BriefConnections> = LazyLock::new(|| {
    let shown = [DelayKind::Response, DelayKind::Acknowledgement];
    BriefConnections::new(
        |measure| matches!(measure, Measure::Delay(delay, _) if shown.contains(&delay)),
    )
});

/// Columns of most lines of intervals.
const ROW_COLUMNS: usize = 80;
/// Spaces to fill a cell; no column is wider.
const SPACES: &str = "               ";

/// Formats records as they come.
pub(crate) struct Lines {
    head: Head,
    has_heading: bool,
    busiest: Busiest,
    hosts: BusiestHosts,
    slowest: SlowestHosts,
    services: SlowestServices,
    streams: WorstStreams,
    publishers: WrongPublishers,
    functions: SlowestFunctions,
    blocks: BusiestBlocks,
    /// Number of the connection that the last record is about, if it is of the whole.
    ended: Option<u32>,
    findings: Vec<Finding>,
    /// True if there were TPDUs, or if their number is unknown.
    has_tpdus: bool,
    /// Start and total length of the intervals.
    all_ns: (u64, u64),
}

impl Lines {
    /// Creates a formatter that has received no record.
    pub(crate) const fn new(head: Head) -> Self {
        Self {
            head,
            has_heading: false,
            busiest: Busiest::new(),
            hosts: BusiestHosts::new(),
            slowest: SlowestHosts::new(),
            services: SlowestServices::new(),
            streams: WorstStreams::new(),
            publishers: WrongPublishers::new(),
            functions: SlowestFunctions::new(),
            blocks: BusiestBlocks::new(),
            ended: None,
            findings: Vec::new(),
            has_tpdus: true,
            all_ns: (0, 0),
        }
    }

    /// Prints a record.
    pub(crate) fn tell(&mut self, record: &Record, output: &Output) -> io::Result<()> {
        self.told(record).into_iter().try_for_each(|line| output.text(line))
    }

    /// Returns the lines of a record; some lines hold whole tables. The output makes them printable.
    pub(crate) fn told(&mut self, record: &Record) -> Vec<String> {
        match record {
            Record::Stream(_)
            | Record::Sample(_)
            | Record::HostInterval(_)
            | Record::ConnectionsRest(_)
            | Record::ServicesInterval(_)
            | Record::CyclicStreams(_)
            | Record::Publishers(_)
            | Record::TransactionsInterval(_)
            | Record::Unknown => Vec::new(),
            Record::ConnectionInterval(_) => {
                self.ended = None;
                Vec::new()
            }
            Record::Services(services) => {
                // Those of an interval come behind its connections.
                if self.ended == Some(services.id) {
                    self.services.add(services);
                }
                Vec::new()
            }
            Record::CyclicStream(stream) => {
                self.streams.add(stream);
                Vec::new()
            }
            Record::Publisher(of) => {
                self.publishers.add(of);
                Vec::new()
            }
            Record::Transactions(of) => {
                self.functions.add(of);
                Vec::new()
            }
            Record::ControlBlocks(blocks) => {
                if self.ended == Some(blocks.id) {
                    self.blocks.add(blocks);
                }
                Vec::new()
            }
            Record::Interval(interval) => self.interval(interval),
            Record::Total(total) => {
                self.has_tpdus = total.measures.get(Measure::Tpdus) != Some(0);
                self.all_ns = (total.start_ns, total.length_ns);
                of_total(total, self.has_tpdus)
            }
            Record::Connection(connection) => {
                self.ended = Some(connection.connection.id);
                self.busiest.add(connection);
                Vec::new()
            }
            Record::Finding(finding) => {
                self.findings.push(finding.clone());
                Vec::new()
            }
            Record::Host(host) => {
                self.slowest.add(host);
                self.hosts.add(host);
                Vec::new()
            }
            Record::End(end) => self.end(end),
        }
    }

    fn interval(&mut self, interval: &Interval) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.has_heading {
            self.has_heading = true;
            lines.extend(self.heading(interval.start_ns));
        }
        let first = interval.index.unwrap_or(0);
        lines.push(if interval.intervals > 1 {
            format!("{first:>4} idle, {} intervals", interval.intervals)
        } else {
            row(interval)
        });
        lines
    }

    fn heading(&self, start_ns: u64) -> [String; 2] {
        let length = Span(Duration::from_nanos(self.head.measure_ns));
        let channel = BitRate::new(self.head.channel_bits_per_second);
        let channel = channel.map_or_else(|| "n/a".to_owned(), |rate| rate.to_string());
        let start = calendar::rfc_3339(Instant::from_nanos(start_ns));
        [
            format!("intervals of {length} from {start}, channel {channel}\n"),
            format!(
                "{:>4} {:<15} {:>7} {:>10} {:>7} {:>7} {:>6} {:>7} {:>7}",
                "", "start (UTC)", "LPDUs", "octets", "TPDUs", "DT", "retx", "AK", "U_C"
            ),
        ]
    }

    /// Returns hosts and connections, oddities, and the outcome.
    fn end(&mut self, end: &End) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.hosts.is_empty() {
            lines.push(format!("\n{}", self.hosts.table()));
            lines.push(format!("\n{}", self.busiest.table()));
            lines.extend(self.busiest.waits().map(|table| format!("\n{table}")));
        }
        if end.frames == 0 && end.error.is_some() {
            // Nothing was metered, and the error says why.
            return lines;
        }
        lines.extend(tables::oddities(&end.oddities).map(|table| format!("\n{table}")));
        let dropped: String =
            end.collected().lost().iter().map(|lost| format!(", {lost}")).collect();
        let left_out = end
            .left_out
            .map(|left_out| format!(", {left_out} more left out by the filter"))
            .unwrap_or_default();
        let none = match [self.streams.count(), self.functions.count()] {
            _ if self.has_tpdus || end.frames == 0 => String::new(),
            [0, 0] => ", none with a TPDU".to_owned(),
            [0, functions] => format!(", {} of servers, no TPDU", counted(functions, "function")),
            [streams, _] => format!(", {}, no TPDU", counted(streams, "cyclic stream")),
        };
        let frames = counted(end.frames, "frame");
        let last = self.last(end).unwrap_or_default();
        let said = format!("{frames}{none}{last}{left_out}{dropped}");
        lines.push(format!("\n{}", wrapped("", &said)));
        lines.extend(self.stamps(end));
        // Last, where they stay visible: the slowest device and the findings.
        lines.extend(self.slowest.table().map(|table| format!("\n{table}")));
        lines.extend(self.streams.table().map(|table| format!("\n{table}")));
        let times = [
            WorstStreams::deviations,
            WorstStreams::answers,
            WorstStreams::clocks,
            WorstStreams::redundancy,
        ];
        let times: Vec<_> = times.into_iter().filter_map(|of| of(&mut self.streams)).collect();
        let times = times.into_iter().chain(self.streams.grandmasters());
        lines.extend(times.map(|table| format!("\n{table}")));
        lines.extend(self.functions.table().map(|table| format!("\n{table}")));
        lines.extend(self.services.table().map(|table| format!("\n{table}")));
        lines.extend(self.blocks.table().map(|table| format!("\n{table}")));
        lines.extend(self.publishers.table().map(|table| format!("\n{table}")));
        lines.extend(tables::findings(&self.findings).map(|text| format!("\n{text}")));
        let error = end.error.iter().map(|error| error.lines().next().unwrap_or_default());
        lines.extend(error.map(|error| format!("not complete: {error}")));
        lines
    }
}

impl Lines {
    /// Returns the source and resolution of the time stamps, and the steps that streams show; none
    /// if neither is known.
    fn stamps(&self, end: &End) -> Option<String> {
        let stated = end.stamps.map(|stamps| stamps.to_string());
        let known: Vec<String> = stated.into_iter().chain(self.streams.steps()).collect();
        (!known.is_empty()).then(|| wrapped("", &format!("times: {}", known.join(", "))))
    }

    /// Returns the time of the last frame, where intervals continue after it: rates cover all of
    /// them.
    fn last(&self, end: &End) -> Option<String> {
        let (start_ns, length_ns) = self.all_ns;
        let heard_ns = end.heard_until_ns?.checked_sub(start_ns)?;
        let [heard, length] = [heard_ns, length_ns].map(span);
        (heard != length).then(|| format!(", the last after {heard} of {length}"))
    }
}

/// Formats one interval as a line of at most 80 columns, as long as its counts stay below millions.
/// A report within an interval has a `+` after its number.
fn row(interval: &Interval) -> String {
    let Interval { measures, metrics, .. } = interval;
    let utilisation = metrics.get("U_C").flatten();
    let utilisation = utilisation.map_or_else(|| "n/a".to_owned(), |share| percent(share * 100.0));
    let mut start = calendar::time_of_day(Instant::from_nanos(interval.start_ns));
    start.truncate("00:00:00.000000".len());
    let more = if interval.complete { "" } else { "+" };
    let index = format!("{}{more}", interval.index.unwrap_or(0));
    // After years of silence the number is long: the next columns give way.
    let more = index.len().saturating_sub(4);
    let (few, many) = (7_usize.saturating_sub(more), 10 - more.saturating_sub(7).min(10));
    let mut line = String::with_capacity(ROW_COLUMNS);
    push_right(&mut line, &index, 4);
    line.push(' ');
    line.push_str(&start);
    line.push_str(fill(&start, 15));
    for (measure, width) in COUNTS.into_iter().zip([few, many, 7, 7, 6, 7]) {
        line.push(' ');
        push_right(&mut line, &shown(measures, measure), width);
    }
    line.push(' ');
    push_right(&mut line, &utilisation, 7);
    line
}

/// Returns the spaces that fill a cell up to a width.
// The formatter takes longer than metering the intervals of some captures.
fn fill(cell: &str, width: usize) -> &'static str {
    SPACES.get(cell.len()..width).unwrap_or_default()
}

fn push_right(line: &mut String, cell: &str, width: usize) {
    line.push_str(fill(cell, width));
    line.push_str(cell);
}

/// Formats a percentage in at most nine characters.
fn percent(value: f64) -> String {
    match value {
        _ if value >= 0.001 || value <= 0.0 => format!("{} %", significant(value, 3)),
        _ if value >= 0.000_01 => format!("{value:.5} %"),
        _ => "< 1e-5 %".to_owned(),
    }
}

/// Returns the tables of the whole; without TPDUs they have no rows of zeros.
fn of_total(total: &Total, has_tpdus: bool) -> Vec<String> {
    if total.intervals == 0 {
        return Vec::new();
    }
    let seconds = trimmed(Duration::from_nanos(total.length_ns).as_secs_f64(), 9);
    let count = counted(total.intervals, "interval");
    let mut lines = vec![format!("\ntotal of {count}, {seconds} s")];
    lines.extend(tables::measures(&total.measures, has_tpdus).map(|table| format!("\n{table}")));
    if has_tpdus {
        lines.push(format!("\n{}", tables::kinds(&total.measures)));
    }
    lines.extend(tables::metrics(&total.metrics, has_tpdus).map(|table| format!("\n{table}")));
    lines.extend(tables::delays(&total.measures).map(|table| format!("\n{table}")));
    lines.extend(tables::notable(&total.measures).map(|table| format!("\n{table}")));
    lines
}

#[cfg(test)]
mod tests {
    use crate::output::printable;

    #[test]
    fn what_a_terminal_would_obey_is_not_written_to_it() {
        let line = "\u{1b}]0;owned\u{7}\n\u{9b}2J\tä".to_owned();
        assert_eq!(printable(line), "\\u{1b}]0;owned\\u{7}\n\\u{9b}2J\\tä");
    }
}

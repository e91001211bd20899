//! What a meter found, as lines on a terminal or as NDJSON.
//!
//! Left out of the lines, and not of NDJSON: connections and hosts beyond the busiest.

use super::detail::{self, Busiest, ConnectionRecord};
use super::export::Export;
use super::require::Requirements;
use crate::calendar;
use crate::metrics::{Exporter, Health};
use crate::output::Output;
use crate::quantity::{significant, trimmed};
use crate::table::{Align, Table};
use bench::scenario::Span;
use bench::verdict::Verdict;
use meter::metric::{Basis, Metric, metrics};
use meter::oddity::Oddities;
use meter::{Connection, Host, Meter, Report, Settings};
use serde::{Serialize, Serializer};
use std::io;
use wire::time::{Instant, nanos};
use wire::units::BitRate;

/// Tells intervals as they come, then the total, then how it ended.
pub(super) struct Teller<'a> {
    output: &'a Output,
    settings: Settings,
    has_heading: bool,
    busiest: Busiest,
    exporter: Option<Exporter>,
    /// Files beside it.
    pub(super) export: Export,
    requirements: Requirements,
}

/// How it ended.
pub(super) struct Ended<'a> {
    pub(super) frames: u64,
    pub(super) dropped_by_kernel: Option<u64>,
    pub(super) oddities: &'a Oddities,
    pub(super) error: Option<String>,
}

/// A line of NDJSON.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Record<'a> {
    Interval {
        index: Option<u64>,
        intervals: u64,
        start_ns: u64,
        length_ns: u64,
        measures: Named<'a, u64>,
        metrics: Named<'a, Option<f64>>,
        oddities: Named<'a, u64>,
    },
    Total {
        intervals: u64,
        start_ns: u64,
        length_ns: u64,
        measures: Named<'a, u64>,
        metrics: Named<'a, Option<f64>>,
    },
    Host {
        host: Option<String>,
        sent: Named<'a, u64>,
        received: Named<'a, u64>,
    },
    Connection(Box<ConnectionRecord>),
    End {
        complete: bool,
        frames: u64,
        oddities: Named<'a, u64>,
        dropped_by_kernel: Option<u64>,
        error: Option<&'a str>,
    },
}

/// Values under their names, in their own order.
pub(super) struct Named<'a, T>(pub(super) Vec<(std::borrow::Cow<'a, str>, T)>);

impl<T: Serialize> Serialize for Named<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

fn measures(report: &Report) -> Named<'static, u64> {
    Named(report.measures.values())
}

fn metric_values(metrics: &[Metric]) -> Named<'static, Option<f64>> {
    Named(metrics.iter().map(|metric| (metric.definition.symbol.into(), metric.value)).collect())
}

fn oddities(oddities: &Oddities) -> Named<'static, u64> {
    let name = |class: meter::oddity::Class, name| format!("{}: {name}", class.name()).into();
    Named(oddities.iter().map(|(class, what, times)| (name(class, what), times)).collect())
}

/// Makes a total end where its last interval was broken off.
pub(super) fn end_with(total: &mut Report, last: &Report, channel: BitRate) {
    total.length = (last.start + last.length).since(total.start);
    total.metrics = metrics(&Basis { measures: &total.measures, length: total.length, channel });
}

impl<'a> Teller<'a> {
    pub(super) fn new(
        output: &'a Output,
        settings: Settings,
        exporter: Option<Exporter>,
        (export, requirements): (Export, Requirements),
    ) -> Self {
        let busiest = Busiest::new();
        Self { output, settings, has_heading: false, busiest, exporter, export, requirements }
    }

    pub(super) const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Publishes what is counted, where somebody asks or it is time.
    pub(super) fn publish(&mut self, meter: &Meter, health: impl FnOnce() -> Health) {
        if let Some(exporter) = &mut self.exporter
            && exporter.wants()
        {
            exporter.publish(meter, health());
        }
    }

    /// Tells every interval that is over.
    pub(super) fn intervals(&mut self, meter: &mut Meter) -> io::Result<()> {
        if let Some(began) = meter.began() {
            self.export.begin(began)?;
        }
        while let Some(report) = meter.take_interval() {
            if let Some(exporter) = &mut self.exporter {
                exporter.add(&report);
            }
            self.interval(&report)?;
        }
        self.connections(meter)
    }

    /// Tells one interval.
    pub(super) fn interval(&mut self, report: &Report) -> io::Result<()> {
        self.export.interval(report)?;
        self.requirements.interval(report, &self.settings);
        self.output.record(&Record::Interval {
            index: report.index,
            intervals: report.intervals,
            start_ns: report.start.as_nanos(),
            length_ns: nanos(report.length),
            measures: measures(report),
            metrics: metric_values(&report.metrics),
            oddities: oddities(&report.oddities),
        })?;
        if !self.has_heading {
            self.has_heading = true;
            self.heading(report.start)?;
        }
        let first = report.index.unwrap_or(0);
        if report.intervals > 1 {
            let last = first + report.intervals - 1;
            return self.output.line(format_args!("{first:>4} to {last}: nothing heard"));
        }
        self.output.line(row(report))
    }

    fn heading(&self, start: Instant) -> io::Result<()> {
        let length = Span(self.settings.interval);
        let (start, channel) = (calendar::rfc_3339(start), self.settings.channel);
        self.output
            .line(format_args!("intervals of {length} from {start}, channel {channel}\n"))?;
        self.output.line(format_args!(
            "{:>4} {:<15} {:>7} {:>10} {:>7} {:>7} {:>6} {:>7} {:>7}",
            "", "start (UTC)", "LPDUs", "octets", "TPDUs", "DT", "again", "AK", "U_C"
        ))
    }

    /// Tells the total.
    pub(super) fn total(&self, total: &Report) -> io::Result<()> {
        self.output.record(&Record::Total {
            intervals: total.intervals,
            start_ns: total.start.as_nanos(),
            length_ns: nanos(total.length),
            measures: measures(total),
            metrics: metric_values(&total.metrics),
        })?;
        if self.output.json || total.intervals == 0 {
            return Ok(());
        }
        let plural = if total.intervals == 1 { "" } else { "s" };
        let seconds = trimmed(total.length.as_secs_f64(), 9);
        let count = total.intervals;
        self.output.line(format_args!("\ntotal of {count} interval{plural}, {seconds} s\n"))?;
        self.output.line(measure_table(total))?;
        self.output.line(format_args!("\n{}", kind_table(total)))?;
        self.output.line(format_args!("\n{}", metric_table(total)))?;
        if let Some(table) = detail::delay_table(total) {
            self.output.line(format_args!("\n{table}"))?;
        }
        Ok(())
    }

    /// Keeps connections that the meter forgets.
    pub(super) fn connections(&mut self, meter: &mut Meter) -> io::Result<()> {
        while let Some(connection) = meter.take_connection() {
            self.connection(connection)?;
        }
        Ok(())
    }

    fn connection(&mut self, connection: Connection) -> io::Result<()> {
        let record = Record::Connection(Box::new(ConnectionRecord::of(&connection)));
        self.output.record(&record)?;
        self.export.connection(&connection)?;
        self.requirements.connection(&connection);
        self.busiest.add(connection);
        Ok(())
    }

    /// Tells of every host and every connection there was.
    pub(super) fn who(&mut self, meter: &mut Meter) -> io::Result<()> {
        self.connections(meter)?;
        let known: Vec<Connection> = meter.each_connection().collect();
        for connection in known {
            self.connection(connection)?;
        }
        let hosts: Vec<Host> = meter.each_host().collect();
        for host in &hosts {
            self.export.host(host)?;
            self.requirements.host(host);
            self.output.record(&Record::Host {
                host: host.address.map(|address| address.to_string()),
                sent: Named(host.sent.values()),
                received: Named(host.received.values()),
            })?;
        }
        if self.output.json || hosts.is_empty() {
            return Ok(());
        }
        self.output.line(format_args!("\n{}", detail::host_table(hosts)))?;
        self.output.line(format_args!("\n{}", self.busiest.table()))
    }

    /// Judges what is required of the whole, and tells what became of every requirement.
    pub(super) fn judge(
        &mut self,
        total: &Report,
        is_missing: bool,
    ) -> io::Result<Option<Verdict>> {
        self.requirements.total(total, is_missing);
        self.requirements.tell(self.output)?;
        Ok(self.requirements.verdict())
    }

    /// Tells what was odd and how it ended.
    pub(super) fn end(&self, ended: &Ended<'_>) -> io::Result<()> {
        let Ended { frames, dropped_by_kernel, oddities: met, error } = ended;
        self.output.record(&Record::End {
            complete: error.is_none(),
            frames: *frames,
            oddities: oddities(met),
            dropped_by_kernel: *dropped_by_kernel,
            error: error.as_deref(),
        })?;
        if *frames == 0 && error.is_some() {
            // There was nothing to meter, and the error says why.
            return Ok(());
        }
        if !met.is_empty() {
            let mut table = Table::new([("oddity", Align::Left), ("times", Align::Right)]);
            for (name, times) in oddities(met).0 {
                table.row([name.into_owned(), times.to_string()]);
            }
            self.output.line(format_args!("\n{table}"))?;
        }
        let dropped = dropped_by_kernel
            .map(|dropped| format!(", {dropped} more dropped by the kernel"))
            .unwrap_or_default();
        self.output.line(format_args!("\n{frames} frames{dropped}"))?;
        let Some(error) = error else { return Ok(()) };
        let error = error.lines().next().unwrap_or_default();
        self.output.line(format_args!("not complete: {error}"))
    }
}

/// One interval in one line of at the most 80 columns, as long as its counts stay below millions.
fn row(report: &Report) -> String {
    let measures = &report.measures;
    let [data, acknowledgements] = measures.transport.data_and_acknowledgements();
    let utilisation = report
        .metrics
        .iter()
        .find(|metric| metric.definition.symbol == "U_C")
        .and_then(|m| m.value);
    let utilisation = utilisation
        .map_or_else(|| "n/a".to_owned(), |share| format!("{} %", significant(share * 100.0, 3)));
    let mut start = calendar::time_of_day(report.start);
    start.truncate("00:00:00.000000".len());
    format!(
        "{:>4} {start:<15} {:>7} {:>10} {:>7} {:>7} {:>6} {:>7} {utilisation:>7}",
        report.index.unwrap_or(0),
        measures.link.lpdus,
        measures.link.octets,
        measures.transport.all().tpdus,
        data.tpdus,
        data.retransmissions,
        acknowledgements.tpdus,
    )
}

/// The 17 rows of the paper's Table 4.
fn measure_table(total: &Report) -> Table {
    let mut table = Table::new([("measure", Align::Left), ("total", Align::Right)]);
    for (name, value) in total.measures.table() {
        table.row([name.to_owned(), value.to_string()]);
    }
    table
}

fn kind_table(total: &Report) -> Table {
    let mut table = Table::new([
        ("TPDU", Align::Left),
        ("count", Align::Right),
        ("again", Align::Right),
        ("header octets", Align::Right),
        ("data octets", Align::Right),
        ("information octets", Align::Right),
    ]);
    for (kind, volume) in total.measures.transport.by_kind() {
        table.row([
            kind.name().to_owned(),
            volume.tpdus.to_string(),
            volume.retransmissions.to_string(),
            volume.header_octets.to_string(),
            volume.data_octets.to_string(),
            volume.information_octets.to_string(),
        ]);
    }
    table
}

fn metric_table(total: &Report) -> Table {
    let mut table = Table::new([
        ("metric", Align::Left),
        ("", Align::Left),
        ("value", Align::Right),
        ("unit", Align::Left),
    ]);
    for Metric { definition, value } in &total.metrics {
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

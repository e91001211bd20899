//! The stream in lines on a terminal, of 80 columns: an interval a line, then the total in tables.
//!
//! Left out of the lines, and not of the stream: samples, hosts and connections interval by interval,
//! and those beyond the busiest.

use super::tables::{self, Busiest};
use super::{End, Head, Host, Interval, Named, Record, Total};
use crate::calendar;
use crate::output::Output;
use crate::quantity::{significant, trimmed};
use bench::scenario::Span;
use core::time::Duration;
use std::io;
use wire::time::Instant;
use wire::units::BitRate;

/// Tells records as they come.
pub(crate) struct Lines {
    head: Head,
    has_heading: bool,
    busiest: Busiest,
    hosts: Vec<Host>,
}

impl Lines {
    /// Nothing has been told yet.
    pub(crate) const fn new(head: Head) -> Self {
        Self { head, has_heading: false, busiest: Busiest::new(), hosts: Vec::new() }
    }

    /// Tells a record.
    pub(crate) fn tell(&mut self, record: &Record, output: &Output) -> io::Result<()> {
        match record {
            Record::Stream(_)
            | Record::Sample(_)
            | Record::HostInterval(_)
            | Record::ConnectionInterval(_)
            | Record::ConnectionsRest(_)
            | Record::Unknown => Ok(()),
            Record::Interval(interval) => self.interval(interval, output),
            Record::Total(total) => tell_total(total, output),
            Record::Connection(connection) => {
                self.busiest.add((**connection).clone());
                Ok(())
            }
            Record::Host(host) => {
                self.hosts.push(host.clone());
                Ok(())
            }
            Record::End(end) => self.end(end, output),
        }
    }

    fn interval(&mut self, interval: &Interval, output: &Output) -> io::Result<()> {
        if !self.has_heading {
            self.has_heading = true;
            self.heading(interval.start_ns, output)?;
        }
        let first = interval.index.unwrap_or(0);
        if interval.intervals > 1 {
            let last = first + interval.intervals - 1;
            return output.line(format_args!("{first:>4} to {last}: nothing heard"));
        }
        output.line(row(interval))
    }

    fn heading(&self, start_ns: u64, output: &Output) -> io::Result<()> {
        let length = Span(Duration::from_nanos(self.head.measure_ns));
        let channel = BitRate::new(self.head.channel_bits_per_second);
        let channel = channel.map_or_else(|| "n/a".to_owned(), |rate| rate.to_string());
        let start = calendar::rfc_3339(Instant::from_nanos(start_ns));
        output.line(format_args!("intervals of {length} from {start}, channel {channel}\n"))?;
        output.line(format_args!(
            "{:>4} {:<15} {:>7} {:>10} {:>7} {:>7} {:>6} {:>7} {:>7}",
            "", "start (UTC)", "LPDUs", "octets", "TPDUs", "DT", "again", "AK", "U_C"
        ))
    }

    /// Tells who took part, what was odd, and how it ended.
    fn end(&mut self, end: &End, output: &Output) -> io::Result<()> {
        if !self.hosts.is_empty() {
            let hosts = core::mem::take(&mut self.hosts);
            output.line(format_args!("\n{}", tables::hosts(hosts)))?;
            output.line(format_args!("\n{}", self.busiest.table()))?;
        }
        if end.frames == 0 && end.error.is_some() {
            // There was nothing to meter, and the error says why.
            return Ok(());
        }
        if let Some(table) = tables::oddities(&end.oddities) {
            output.line(format_args!("\n{table}"))?;
        }
        let dropped: String =
            end.collected().lost().iter().map(|lost| format!(", {lost}")).collect();
        let left_out = end
            .left_out
            .map(|left_out| format!(", {left_out} more left out by the filter"))
            .unwrap_or_default();
        output.line(format_args!("\n{} frames{left_out}{dropped}", end.frames))?;
        let Some(error) = &end.error else { return Ok(()) };
        let error = error.lines().next().unwrap_or_default();
        output.line(format_args!("not complete: {error}"))
    }
}

/// One interval in one line of at the most 80 columns, as long as its counts stay below millions. A
/// report within an interval has a `+` behind its number.
fn row(interval: &Interval) -> String {
    let Interval { measures, metrics, .. } = interval;
    let utilisation = metrics.get("U_C").flatten();
    let utilisation = utilisation
        .map_or_else(|| "n/a".to_owned(), |share| format!("{} %", significant(share * 100.0, 3)));
    let mut start = calendar::time_of_day(Instant::from_nanos(interval.start_ns));
    start.truncate("00:00:00.000000".len());
    let more = if interval.complete { "" } else { "+" };
    let index = format!("{}{more}", interval.index.unwrap_or(0));
    let count = |name| shown(measures, name);
    format!(
        "{index:>4} {start:<15} {:>7} {:>10} {:>7} {:>7} {:>6} {:>7} {utilisation:>7}",
        count("lpdus"),
        count("lpdu_octets"),
        count("tpdus"),
        count("dt_tpdus"),
        count("dt_retransmissions"),
        count("ak_tpdus"),
    )
}

/// A value, or a dash where it is not reported.
pub(super) fn shown(values: &Named<u64>, name: &str) -> String {
    values.get(name).map_or_else(|| "-".to_owned(), |value| value.to_string())
}

fn tell_total(total: &Total, output: &Output) -> io::Result<()> {
    if total.intervals == 0 {
        return Ok(());
    }
    let plural = if total.intervals == 1 { "" } else { "s" };
    let seconds = trimmed(Duration::from_nanos(total.length_ns).as_secs_f64(), 9);
    let count = total.intervals;
    output.line(format_args!("\ntotal of {count} interval{plural}, {seconds} s\n"))?;
    output.line(tables::measures(&total.measures))?;
    output.line(format_args!("\n{}", tables::kinds(&total.measures)))?;
    output.line(format_args!("\n{}", tables::metrics(&total.metrics)))?;
    if let Some(table) = tables::delays(&total.measures) {
        output.line(format_args!("\n{table}"))?;
    }
    Ok(())
}

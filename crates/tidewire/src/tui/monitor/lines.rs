//! The monitor as lines: one per sampling interval, for logs and screen readers. Also as NDJSON.

use super::chart::{amount, quantiles};
use super::gather::Gather;
use super::sample::{Count, Rates, Statistics};
use crate::output::Output;
use bench::paragraph::wrapped;
use bench::scenario::Span;
use meter::measure::Summary as Delays;
use records::calendar;
use serde::Serialize;
use stats::histogram::has_quantile;
use std::io;
use wire::time::nanos;

/// Width of the column of times: more than a day.
const TIME_COLUMNS: usize = 11;

/// Number of samples between two headings.
const HEADING_EVERY: u64 = 20;

/// Number of consecutive silent samples above which they become one line.
const LONG_SILENCE: u64 = 1_000;

/// A line of NDJSON.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Record<'a> {
    Sample {
        number: u64,
        samples: u64,
        start_ns: u64,
        length_ns: u64,
        packets: u64,
        octets: u64,
        average_packets_per_second: f64,
        peak_packets_per_second: f64,
        average_bits_per_second: f64,
        peak_bits_per_second: f64,
        acknowledgement_delays: u64,
        acknowledgement_delay_p50_ns: Option<u64>,
        acknowledgement_delay_p99_ns: Option<u64>,
        acknowledgement_delay_max_ns: Option<u64>,
    },
    Event {
        at_ns: u64,
        text: &'a str,
    },
    End {
        complete: bool,
        frames: u64,
        dropped_by_kernel: Option<u64>,
        error: Option<String>,
    },
}

/// Prints samples as they come, then the outcome.
pub(crate) struct SampleLines<'a> {
    output: &'a Output,
    /// Number of the next sample and of the next notice to print.
    next: u64,
    notices: u64,
    statistics: Statistics,
}

impl<'a> SampleLines<'a> {
    /// Has printed nothing yet.
    pub(crate) fn new(output: &'a Output) -> Self {
        Self { output, next: 0, notices: 0, statistics: Statistics::default() }
    }

    /// Prints everything gathered since the last call.
    pub(crate) fn tell(&mut self, gather: &Gather) -> io::Result<()> {
        let end = gather.end();
        if self.next < end && self.next == 0 {
            self.heading(gather)?;
        }
        while self.next < end {
            let number = self.next;
            // A frame ends at most one non-silent sample, which comes first.
            let silent = if number > 0 && end - number > LONG_SILENCE { end - number } else { 1 };
            self.sample(gather, number, silent)?;
            self.next = number + silent;
        }
        self.tell_notices(gather)
    }

    /// Prints the end; with an error if it was not intended.
    pub(crate) fn end(&self, gather: &Gather, error: Option<String>) -> io::Result<()> {
        let (complete, frames) = (error.is_none(), gather.frames());
        let dropped_by_kernel = gather.dropped();
        self.output.record(&Record::End { complete, frames, dropped_by_kernel, error })
    }

    fn heading(&self, gather: &Gather) -> io::Result<()> {
        let Some(origin) = gather.origin() else { return Ok(()) };
        let (length, start) = (Span(gather.interval().span()), calendar::rfc_3339(origin));
        let (name, filter) = (gather.name(), gather.filter());
        let line = format!("{name}: samples of {length} from {start}, filter: {filter}");
        self.output.line(line)
    }

    fn sample(&mut self, gather: &Gather, number: u64, samples: u64) -> io::Result<()> {
        let count = gather.sample(number).unwrap_or_default();
        self.statistics.add(count);
        self.statistics.add_silent(samples - 1);
        let delays = gather.delays(number, number + 1);
        self.record(gather, number, samples, count, &delays)?;
        let interval = gather.interval();
        let until = interval.times(number + samples).as_secs_f64();
        if samples > 1 {
            return self.line(until, &format!("nothing in {samples} samples"));
        }
        if number.is_multiple_of(HEADING_EVERY) {
            self.output.line(columns([
                "time",
                "packets/s",
                "average",
                "peak",
                "bit/s",
                "average",
                "peak",
            ]))?;
        }
        let current = interval.rates(count, 1);
        let (average, peak) = self.statistics.rates(interval);
        let [packets, bits] = [|rates: Rates| rates.packets, |rates: Rates| rates.bits]
            .map(|of| [current, average, peak].map(|rates| amount(of(rates))));
        let time = shown(until);
        let [a, b, c] = packets.each_ref().map(String::as_str);
        let [d, e, f] = bits.each_ref().map(String::as_str);
        self.output.line(columns([&time, a, b, c, d, e, f]))?;
        if delays.count > 0 {
            self.line(until, &told(&delays))?;
        }
        Ok(())
    }

    /// Prints a text behind its time, in seconds.
    fn line(&self, at: f64, text: &str) -> io::Result<()> {
        self.output.line(wrapped(&format!("{:>TIME_COLUMNS$}  ", shown(at)), text))
    }

    fn record(
        &self,
        gather: &Gather,
        number: u64,
        samples: u64,
        count: Count,
        delays: &Delays,
    ) -> io::Result<()> {
        let interval = gather.interval();
        let (average, peak) = self.statistics.rates(interval);
        let start = gather.origin().unwrap_or_default() + interval.times(number);
        self.output.record(&Record::Sample {
            number,
            samples,
            start_ns: start.as_nanos(),
            length_ns: nanos(interval.span()),
            packets: count.packets,
            octets: count.octets,
            average_packets_per_second: average.packets,
            peak_packets_per_second: peak.packets,
            average_bits_per_second: average.bits,
            peak_bits_per_second: peak.bits,
            acknowledgement_delays: delays.count,
            acknowledgement_delay_p50_ns: (delays.count > 0).then_some(delays.p50_ns),
            acknowledgement_delay_p99_ns: has_quantile(delays.count, 0.99).then_some(delays.p99_ns),
            acknowledgement_delay_max_ns: (delays.count > 0).then_some(delays.max_ns),
        })
    }

    fn tell_notices(&mut self, gather: &Gather) -> io::Result<()> {
        let origin = gather.origin().unwrap_or_default();
        let (notices, end) = gather.notices(self.notices);
        for notice in notices {
            let at_ns = (origin + notice.at).as_nanos();
            self.output.record(&Record::Event { at_ns, text: &notice.text })?;
            self.line(notice.at.as_secs_f64(), &format!("event: {}", notice.text))?;
        }
        self.notices = end;
        Ok(())
    }
}

/// Time of a line, in seconds.
fn shown(at: f64) -> String {
    format!("{at:.2} s")
}

/// One line of the table: the end of the sample, then rates.
fn columns([time, rates @ ..]: [&str; 7]) -> String {
    rates.iter().fold(format!("{time:>TIME_COLUMNS$}"), |line, rate| line + &format!("  {rate:>9}"))
}

/// Describes acknowledgement delays in words.
pub(super) fn told(delays: &Delays) -> String {
    if delays.count == 0 {
        return "no AK delay".to_owned();
    }
    let [p50, p99, max] = quantiles(delays);
    format!("AK delay p50 {p50}, p99 {p99}, max {max}, n {}", delays.count)
}

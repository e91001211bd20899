//! Metric families for Prometheus, in the order in which they are written.

mod followed;

pub use followed::Followed;

use core::fmt::{Display, Write as _};
use core::time::Duration;
use meter::Host;
use meter::measure::{Measures, ServiceCounts, Summary, Times, Traffic};
use meter::metric::Metric;
use meter::metric::{Definition, METRICS};
use meter::observation::DelayKind;
use meter::oddity::Oddities;
use meter::registry::{self, Aggregation, KindCount, Measure, Values};
use wire::time::Instant;

/// Exposition formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Prometheus text format 0.0.4.
    Prometheus,
}

impl Format {
    /// Returns the HTTP content type of the format.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// State of the meter itself.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Health {
    /// Frames that the meter received.
    pub frames: u64,
    /// Frames dropped before the meter; none where they cannot be counted.
    pub dropped_by_kernel: Option<u64>,
    /// CPU time of the thread that meters.
    pub processor: Duration,
    /// Maximum error of the clock of this host; none if nothing sets the clock.
    pub clock_error: Option<Duration>,
    /// Share of the kernel's ring that waits to be read, from 0 to 1; none without a ring of this process.
    pub ring_fill: Option<f64>,
}

/// All exported values at one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Counts of the network since measuring began.
    pub measures: Measures,
    /// Oddities since measuring began.
    pub oddities: Oddities,
    /// Metrics of the last complete interval.
    pub metrics: Vec<Metric>,
    /// Time of the last frame, or of the end of silence on a port.
    pub until: Option<Instant>,
    /// Connections that the meter follows.
    pub connections: usize,
    /// Windows that are closed at this moment.
    pub closed_windows: usize,
    /// Busiest hosts, and hosts with the slowest replies.
    pub hosts: Vec<Host>,
    /// Streams of cyclic data, and requests and replies.
    pub followed: Followed,
    /// State of the meter itself.
    pub health: Health,
}

/// Counters of the busiest hosts, in each direction. Records and tables have the other measures of
/// a host.
const OF_HOSTS: [Measure; 4] =
    [Measure::Tpdus, Measure::TpduDataOctets, Measure::TpduRetransmissions, Measure::Tsdus];

/// Gauges of the busiest second of the busiest hosts, in each direction.
const PEAKS_OF_HOSTS: [Measure; 2] = [Measure::PeakSecondTpdus, Measure::PeakSecondTpduOctets];

/// Returns true for totals over all kinds of TPDUs, which the families by kind replace.
const fn is_total(measure: Measure) -> bool {
    let is_derived = matches!(measure, Measure::TpduOverheadOctets | Measure::TpduTotalOctets);
    is_derived || measure.is_total_of_kinds()
}

/// Exposition text under construction.
struct Text {
    format: Format,
    text: String,
}

impl Text {
    fn counter(&mut self, name: &str, help: &str) {
        // OpenMetrics names the family, the older format the sample.
        let suffix = if self.format == Format::OpenMetrics { "" } else { "_total" };
        self.family(&format!("{name}{suffix}"), "counter", help);
    }

    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        self.push(format_args!("# HELP tidewire_{name} {help}"));
        self.push(format_args!("# TYPE tidewire_{name} {kind}"));
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> =
            labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
        if labels.is_empty() {
            self.push(format_args!("tidewire_{name} {value}"));
        } else {
            self.push(format_args!("tidewire_{name}{{{}}} {value}", labels.join(",")));
        }
    }

    fn push(&mut self, line: impl Display) {
        writeln!(self.text, "{line}").expect("writing to a String cannot fail");
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Returns all families with their samples.
pub fn text(of: &Snapshot, format: Format) -> String {
    let mut text = Text { format, text: String::new() };
    health(&mut text, of);
    network(&mut text, of);
    hosts(&mut text, of);
    delays(&mut text, of);
    delay_buckets(&mut text, of);
    services(&mut text, of);
    followed::write(&mut text, &of.followed);
    meter_metrics(&mut text, of);
    if format == Format::OpenMetrics {
        text.push("# EOF");
    }
    text.text
}

/// Writes counters and gauges of the network: measures without a family of their own, then TPDUs by
/// kind.
fn network(text: &mut Text, of: &Snapshot) {
    let values = registry::of_network(&of.measures);
    let counts = values.iter().filter(|(measure, _)| matches!(measure, Measure::Count(_)));
    for (measure, value) in counts.filter(|(measure, _)| !is_total(*measure)) {
        let (name, help) = (measure.to_string(), sentence(measure.help()));
        match measure.aggregation() {
            Aggregation::Sum => {
                text.counter(&name, &help);
                if !of.measures.is_unseen(*measure) {
                    text.sample(&format!("{name}_total"), &[], value);
                }
            }
            _ => {
                text.family(&name, "gauge", &help);
                if !of.measures.is_unseen(*measure) {
                    text.sample(&name, &[], value);
                }
            }
        }
    }
    for count in KindCount::ALL {
        let name = Measure::from(count.total()).to_string();
        text.counter(&name, &sentence(count.help()));
        for (measure, value) in &values {
            if let Measure::OfKind(kind, of) = measure
                && *of == count
            {
                let kind = kind.name().to_lowercase();
                text.sample(&format!("{name}_total"), &[("kind", &kind)], value);
            }
        }
    }
}

/// Formats a help text as a sentence.
fn sentence(help: &str) -> String {
    let (first, rest) = help.split_at(help.chars().next().map_or(0, char::len_utf8));
    format!("{}{rest}.", first.to_uppercase())
}

fn health(text: &mut Text, of: &Snapshot) {
    text.counter("frames", "Frames that the meter was given.");
    text.sample("frames_total", &[], of.health.frames);
    text.counter("dropped_by_kernel", "Frames dropped before the meter, where that is counted.");
    if let Some(dropped) = of.health.dropped_by_kernel {
        text.sample("dropped_by_kernel_total", &[], dropped);
    }
    text.counter("meter_cpu_seconds", "CPU time of the thread that meters.");
    text.sample("meter_cpu_seconds_total", &[], of.health.processor.as_secs_f64());
    text.family(
        "clock_error_seconds",
        "gauge",
        "Maximum error of this host's clock, if it is set.",
    );
    if let Some(error) = of.health.clock_error {
        text.sample("clock_error_seconds", &[], error.as_secs_f64());
    }
    text.family(
        "ring_fill_ratio",
        "gauge",
        "Share of the kernel's ring of frames that waits to be read, where there is one.",
    );
    if let Some(fill) = of.health.ring_fill {
        text.sample("ring_fill_ratio", &[], fill);
    }
    text.counter("oddities", "What was not as it should be.");
    for (class, what, times) in of.oddities.iter() {
        text.sample("oddities_total", &[("class", class.name()), ("what", what)], times);
    }
    text.family("connections", "gauge", "Connections followed, those ended lately included.");
    text.sample("connections", &[], of.connections);
    text.family("windows_closed_now", "gauge", "Windows whose receiver gives no credit now.");
    text.sample("windows_closed_now", &[], of.closed_windows);
    text.family("heard_until_timestamp_seconds", "gauge", "Frame time up to which this counts.");
    if let Some(until) = of.until {
        let nanos = until.as_nanos();
        let (seconds, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        text.sample("heard_until_timestamp_seconds", &[], format_args!("{seconds}.{rest:09}"));
    }
}

/// Label values of host and direction, and the traffic in that direction.
type Way<'a> = (&'a str, &'static str, &'a Traffic);

/// Writes the traffic sent and received by the busiest hosts.
fn hosts(text: &mut Text, of: &Snapshot) {
    let named = of.hosts.iter().filter_map(|host| Some((host.address?.to_string(), host)));
    let named: Vec<(String, &Host)> = named.collect();
    let ways: Vec<Way<'_>> = named
        .iter()
        .flat_map(|(name, host)| {
            [(name.as_str(), "sent", &host.sent), (name.as_str(), "received", &host.received)]
        })
        .collect();
    let values: Vec<Values> =
        ways.iter().map(|(.., traffic)| registry::of_traffic(traffic)).collect();
    for measure in OF_HOSTS.into_iter().chain(PEAKS_OF_HOSTS) {
        let (name, help) = (format!("host_{measure}"), sentence(measure.help()));
        let is_sum = measure.aggregation() == Aggregation::Sum;
        let suffix = if is_sum { "_total" } else { "" };
        if is_sum {
            text.counter(&name, &help);
        } else {
            text.family(&name, "gauge", &help);
        }
        for ((host, direction, _), values) in ways.iter().zip(&values) {
            let labels = [("host", *host), ("direction", *direction)];
            let value = values.iter().find(|(known, _)| *known == measure);
            text.sample(&format!("{name}{suffix}"), &labels, value.map_or(0, |(_, value)| *value));
        }
    }
    host_delays(text, &ways);
    host_replies(text, &named);
}

/// Writes the distribution of response times of these hosts.
fn host_replies(text: &mut Text, named: &[(String, &Host)]) {
    let family = "host_reply_seconds";
    text.family(family, "summary", "Times that replies of these hosts and of the slowest took.");
    for (name, host) in named.iter().filter(|(_, host)| host.replied.count > 0) {
        let Summary { count, total_ns, p50_ns, p99_ns, max_ns, .. } = host.replied.summary();
        let host = ("host", name.as_str());
        for (quantile, nanos) in [("0.5", p50_ns), ("0.99", p99_ns), ("1.0", max_ns)] {
            text.sample(family, &[host, ("quantile", quantile)], seconds(nanos));
        }
        text.sample(&format!("{family}_sum"), &[host], seconds(total_ns));
        text.sample(&format!("{family}_count"), &[host], count);
    }
}

/// Writes the delays that any of these hosts has.
fn host_delays(text: &mut Text, ways: &[Way<'_>]) {
    let family = "host_delay_seconds";
    text.family(family, "summary", "How long things take with the 20 busiest hosts.");
    for (place, kind) in DelayKind::OF_HOSTS.into_iter().enumerate() {
        let delay = kind.label();
        let times = |traffic: &Traffic| traffic.waits.each()[place];
        if ways.iter().all(|(.., traffic)| times(traffic).count == 0) {
            continue;
        }
        for (host, direction, traffic) in ways {
            let Times { count, total_ns, max_ns } = times(traffic);
            let of = [("host", *host), ("direction", *direction), ("delay", delay)];
            if count > 0 {
                let [host, direction, delay] = of;
                let labels = [host, direction, delay, ("quantile", "1.0")];
                text.sample(family, &labels, seconds(max_ns));
            }
            text.sample(&format!("{family}_sum"), &of, seconds(total_ns));
            text.sample(&format!("{family}_count"), &of, count);
        }
    }
}

/// Writes the services of MMS; their number is that of the standard.
fn services(text: &mut Text, of: &Snapshot) {
    type Value = fn(&ServiceCounts) -> u64;
    let counters: [(&str, &str, Value); 5] = [
        ("mms_service_requests", "Confirmed requests of MMS by service.", |of| of.requests),
        ("mms_service_errors", "Errors by service.", |of| of.errors),
        ("mms_service_failed_accesses", "Failed accesses by service.", |of| of.failed_accesses),
        ("mms_service_rejects", "Rejected requests by service.", |of| of.rejects),
        ("mms_service_unanswered", "Requests never answered by service.", |of| of.unanswered),
    ];
    for (name, help, value) in counters {
        text.counter(name, help);
        for (service, counts) in of.measures.mms.services() {
            let labels = [("service", service.name())];
            text.sample(&format!("{name}_total"), &labels, value(counts));
        }
    }
    let family = "mms_response_seconds";
    text.family(family, "summary", "Times that answers of MMS took, by service.");
    for (service, counts) in of.measures.mms.services().filter(|(_, of)| of.answers > 0) {
        let Summary { count, total_ns, p50_ns, p99_ns, max_ns, .. } = counts.responses.summary();
        let service = ("service", service.name());
        for (quantile, nanos) in [("0.5", p50_ns), ("0.99", p99_ns), ("1.0", max_ns)] {
            text.sample(family, &[service, ("quantile", quantile)], seconds(nanos));
        }
        text.sample(&format!("{family}_sum"), &[service], seconds(total_ns));
        text.sample(&format!("{family}_count"), &[service], count);
    }
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// Writes quantiles since measuring began, accurate to 1/128 of their value; the maximum is exact.
fn delays(text: &mut Text, of: &Snapshot) {
    text.family("delay_seconds", "summary", "How long things take, since measuring began.");
    for (delay, delays) in of.measures.delays.each() {
        let name = delay.label();
        if delays.count > 0 {
            for (quantile, permille) in [("0.5", 500), ("0.99", 990), ("1.0", 1_000)] {
                let labels = [("delay", name), ("quantile", quantile)];
                text.sample("delay_seconds", &labels, seconds(delays.quantile_ns(permille)));
            }
        }
        text.sample("delay_seconds_sum", &[("delay", name)], seconds(delays.total_ns));
        text.sample("delay_seconds_count", &[("delay", name)], delays.count);
    }
}

/// Limits of the buckets of delays, in nanoseconds, and as labels in seconds: 10 us to 1 s.
const BUCKETS: [(u64, &str); 16] = [
    (10_000, "1e-05"),
    (20_000, "2e-05"),
    (50_000, "5e-05"),
    (100_000, "0.0001"),
    (200_000, "0.0002"),
    (500_000, "0.0005"),
    (1_000_000, "0.001"),
    (2_000_000, "0.002"),
    (5_000_000, "0.005"),
    (10_000_000, "0.01"),
    (20_000_000, "0.02"),
    (50_000_000, "0.05"),
    (100_000_000, "0.1"),
    (200_000_000, "0.2"),
    (500_000_000, "0.5"),
    (1_000_000_000, "1.0"),
];

/// Writes the delays once more in buckets, which can be summed over meters; a kind without delays has none.
fn delay_buckets(text: &mut Text, of: &Snapshot) {
    let family = "delay_distribution_seconds";
    text.family(family, "histogram", "Delays since measuring began, by buckets.");
    for (delay, delays) in of.measures.delays.each() {
        if delays.count == 0 {
            continue;
        }
        let (name, bucket) = (delay.label(), format!("{family}_bucket"));
        let counts = delays.up_to(BUCKETS.map(|(limit, _)| limit));
        for ((_, label), count) in BUCKETS.into_iter().zip(counts) {
            text.sample(&bucket, &[("delay", name), ("le", label)], count);
        }
        text.sample(&bucket, &[("delay", name), ("le", "+Inf")], delays.count);
        text.sample(&format!("{family}_sum"), &[("delay", name)], seconds(delays.total_ns));
        text.sample(&format!("{family}_count"), &[("delay", name)], delays.count);
    }
}

/// Writes the thirteen metrics of the meter; a metric without a value has no sample.
fn meter_metrics(text: &mut Text, of: &Snapshot) {
    for definition in &METRICS {
        let name = name(definition);
        let Definition { symbol, formula, .. } = definition;
        text.family(&name, "gauge", &format!("{symbol} of the last interval: {formula}."));
        let found = of.metrics.iter().find(|metric| metric.definition.symbol == *symbol);
        if let Some(value) = found.and_then(|metric| metric.value) {
            text.sample(&name, &[], value);
        }
    }
}

/// Returns a metric name such as `link_information_throughput_bits_per_second`.
fn name(definition: &Definition) -> String {
    let unit = match definition.unit {
        "bit/s" => "_bits_per_second",
        "octet" => "_octets",
        _ => "_ratio",
    };
    definition.name.to_lowercase().replace([' ', '-'], "_") + unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_cannot_end_its_quotes_or_its_line() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}

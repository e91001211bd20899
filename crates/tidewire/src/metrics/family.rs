//! The families of metrics, in the order in which they are written.

use super::Snapshot;
use super::server::Format;
use core::fmt::{Display, Write as _};
use meter::Host;
use meter::measure::{Delays, Measures, Summary, Times, Traffic, Volume};
use meter::metric::{Definition, METRICS};

type Counter<T> = (&'static str, &'static str, fn(&T) -> u64);

/// Counters without labels.
const COUNTERS: [Counter<Measures>; 28] = [
    ("connections_adopted", "Connections found under way.", |m| m.traffic.connections.adopted),
    ("responses_ambiguous", "Replies that pair with no single request.", |m| {
        m.delays.ambiguous_responses
    }),
    ("lpdus", "LLC PDUs.", |m| m.link.lpdus),
    ("lpdu_octets", "Octets of LLC PDUs and their MAC headers.", |m| m.link.octets),
    ("npdus", "Network PDUs.", |m| m.network.npdus),
    ("npdu_octets", "Octets of network PDUs.", |m| m.network.octets),
    ("tsdus", "Messages whose every DT was seen.", |m| m.traffic.tsdus.tsdus),
    ("tsdu_octets", "Octets of those messages.", |m| m.traffic.tsdus.octets),
    ("connection_attempts", "Connections asked for.", |m| m.traffic.connections.requested),
    ("connections_established", "Connections established.", |m| m.traffic.connections.established),
    ("connection_refusals", "Connections refused.", |m| m.traffic.connections.refused),
    ("connection_negotiation_failures", "Sides that could not agree.", |m| {
        m.traffic.connections.not_agreed
    }),
    ("connection_ends", "Connections that ended.", |m| m.traffic.connections.ended),
    ("connection_graceful_ends", "Of the ends, graceful.", |m| m.traffic.connections.graceful),
    ("connection_abrupt_ends", "Of the ends, abrupt.", |m| m.traffic.connections.abrupt),
    ("connection_erroneous_ends", "Of the ends, after an error.", |m| {
        m.traffic.connections.erroneous
    }),
    ("connection_silent_ends", "Connections fallen silent.", |m| m.traffic.connections.silent),
    ("ak_acknowledging", "AKs that acknowledge new data.", |m| m.traffic.roles.acknowledging),
    ("ak_crediting", "AKs that change the credit.", |m| m.traffic.roles.crediting),
    ("ak_confirming", "AKs that confirm an AK.", |m| m.traffic.roles.confirming),
    ("ak_keeping_alive", "AKs that say nothing new.", |m| m.traffic.roles.keeping_alive),
    ("dt_empty_parts", "DTs without data that end nothing.", |m| m.traffic.roles.empty_parts),
    ("dt_into_closed_window", "DTs beyond the credit seen.", |m| m.traffic.windows.into_closed),
    ("unassigned_tpdus", "TPDUs of no known connection.", |m| m.traffic.windows.unassigned),
    ("tcp_segments", "TCP segments of streams with TPKTs.", |m| m.streams.segments),
    ("tcp_segments_again", "Of them, wholly seen before.", |m| m.streams.again),
    ("tcp_segments_late", "Of them, that fill a gap.", |m| m.streams.late),
    ("tcp_copies", "Packets that a mirror port doubled.", |m| m.streams.copies),
];

/// Counters by the kind of TPDU.
const BY_KIND: [Counter<Volume>; 5] = [
    ("tpdus", "TPDUs by kind.", |v| v.tpdus),
    ("tpdu_retransmissions", "TPDUs seen before, by kind.", |v| v.retransmissions),
    ("tpdu_header_octets", "Header octets by kind.", |v| v.header_octets),
    ("tpdu_data_octets", "Data octets by kind.", |v| v.data_octets),
    ("tpdu_information_octets", "Data octets seen first, by kind.", |v| v.information_octets),
];

/// Counters of the busiest hosts, both ways.
const BY_HOST: [Counter<Traffic>; 4] = [
    ("host_tpdus", "TPDUs of the 20 busiest hosts.", |t| t.transport.all().tpdus),
    ("host_data_octets", "Their data octets.", |t| t.transport.all().data_octets),
    ("host_retransmissions", "Their TPDUs seen before.", |t| t.transport.all().retransmissions),
    ("host_tsdus", "Their messages seen whole.", |t| t.tsdus.tsdus),
];

/// Gauges of the busiest second of the network.
const PEAKS: [Counter<Measures>; 4] = [
    ("peak_second_lpdus", "Most LPDUs in one second so far.", |m| m.peak.pdus()),
    ("peak_second_lpdu_octets", "Most octets of LPDUs in one second so far.", |m| m.peak.octets()),
    ("peak_second_tpdus", "Most TPDUs in one second so far.", |m| m.traffic.peak.pdus()),
    ("peak_second_tpdu_octets", "Most octets of TPDUs in one second so far.", |m| {
        m.traffic.peak.octets()
    }),
];

/// Gauges of the busiest second of the busiest hosts, each way.
const HOST_PEAKS: [Counter<Traffic>; 2] = [
    ("host_peak_second_tpdus", "Most TPDUs of these hosts in one second so far.", |t| {
        t.peak.pdus()
    }),
    ("host_peak_second_tpdu_octets", "Most octets of their TPDUs in one second so far.", |t| {
        t.peak.octets()
    }),
];

/// A text that grows family by family.
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
        writeln!(self.text, "{line}").expect("a String takes every text");
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// All families with their samples.
pub(super) fn text(of: &Snapshot, format: Format) -> String {
    let mut text = Text { format, text: String::new() };
    health(&mut text, of);
    for (name, help, value) in COUNTERS {
        text.counter(name, help);
        if !of.measures.is_unseen(name) {
            text.sample(&format!("{name}_total"), &[], value(&of.measures));
        }
    }
    for (name, help, value) in BY_KIND {
        text.counter(name, help);
        for (kind, volume) in of.measures.traffic.transport.by_kind() {
            let kind = kind.name().to_lowercase();
            text.sample(&format!("{name}_total"), &[("kind", &kind)], value(volume));
        }
    }
    for (name, help, value) in PEAKS {
        text.family(name, "gauge", help);
        text.sample(name, &[], value(&of.measures));
    }
    hosts(&mut text, of);
    delays(&mut text, of);
    meter_metrics(&mut text, of);
    if format == Format::OpenMetrics {
        text.push("# EOF");
    }
    text.text
}

fn health(text: &mut Text, of: &Snapshot) {
    text.counter("frames", "Frames that the meter was given.");
    text.sample("frames_total", &[], of.health.frames);
    text.counter(
        "dropped_by_kernel",
        "Frames dropped on their way to the meter, where that is told.",
    );
    if let Some(dropped) = of.health.dropped_by_kernel {
        text.sample("dropped_by_kernel_total", &[], dropped);
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

/// Whose host samples are, and which way: the values of two labels, and what went that way.
type Way<'a> = (&'a str, &'static str, &'a Traffic);

/// What the busiest hosts sent and received.
fn hosts(text: &mut Text, of: &Snapshot) {
    let named = of.hosts.iter().filter_map(|host| Some((host.address?.to_string(), host)));
    let named: Vec<(String, &Host)> = named.collect();
    let ways: Vec<Way<'_>> = named
        .iter()
        .flat_map(|(name, host)| {
            [(name.as_str(), "sent", &host.sent), (name.as_str(), "received", &host.received)]
        })
        .collect();
    for (name, help, value) in BY_HOST {
        text.counter(name, help);
        for (host, direction, traffic) in &ways {
            let labels = [("host", *host), ("direction", *direction)];
            text.sample(&format!("{name}_total"), &labels, value(traffic));
        }
    }
    for (name, help, value) in HOST_PEAKS {
        text.family(name, "gauge", help);
        for (host, direction, traffic) in &ways {
            let labels = [("host", *host), ("direction", *direction)];
            text.sample(name, &labels, value(traffic));
        }
    }
    host_delays(text, &ways);
    host_replies(text, &named);
}

/// Distribution of the times that replies of these hosts took.
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

/// Of the times that any of these hosts has.
fn host_delays(text: &mut Text, ways: &[Way<'_>]) {
    let family = "host_delay_seconds";
    text.family(family, "summary", "How long things take with the 20 busiest hosts.");
    for (place, (delay, _)) in Delays::names().into_iter().enumerate() {
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

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// Quantiles are those since measuring began, to 1/128 of their value; the greatest is exact.
fn delays(text: &mut Text, of: &Snapshot) {
    text.family("delay_seconds", "summary", "How long things take, since measuring began.");
    for (name, delays) in of.measures.delays.each() {
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

/// The thirteen metrics of the meter; one that has no value has no sample.
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

/// `link_information_throughput_bits_per_second` and the like.
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

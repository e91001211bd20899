//! Families of streams of cyclic data and of requests and replies: sums by protocol, and the worst of
//! each with labels of their own.

use super::{Text, seconds};
use crate::{CyclicStream, Transactions};
use meter::{StreamReport, TransactionReport};
use wire::time::Instant;

/// Number of streams, and of functions, with samples of their own.
const MOST: usize = 20;

/// Streams and functions that the meter follows: the worst of each, and sums.
#[derive(Clone, Default, Debug)]
pub struct Followed {
    streams: Vec<CyclicStream>,
    functions: Vec<Transactions>,
    /// Sums by protocol, in the order of their names.
    of_streams: Vec<(String, [u64; 4])>,
    of_functions: Vec<(String, [u64; 6])>,
}

/// Adds values to the sums of a protocol.
fn add<const N: usize>(sums: &mut Vec<(String, [u64; N])>, protocol: &str, values: [u64; N]) {
    let place = sums.partition_point(|(known, _)| known.as_str() < protocol);
    if sums.get(place).is_none_or(|(known, _)| known != protocol) {
        sums.insert(place, (protocol.to_owned(), [0; N]));
    }
    let Some((_, of)) = sums.get_mut(place) else { return };
    of.iter_mut().zip(values).for_each(|(sum, more)| *sum = sum.saturating_add(more));
}

impl Followed {
    /// Selects from all that is followed; `until` is the time up to which it was measured.
    #[must_use]
    pub fn of(streams: &[StreamReport], functions: &[TransactionReport], until: Instant) -> Self {
        let mut followed = Self::default();
        for report in streams {
            let it = CyclicStream::of(report, until, false);
            let sums = [1, it.frames, it.missing, it.silences];
            add(&mut followed.of_streams, &it.protocol, sums);
            followed.streams.push(it);
        }
        for report in functions {
            let it = Transactions::of(report);
            let sums = [1, it.requests, it.replies, it.exceptions, it.unanswered, it.retries];
            add(&mut followed.of_functions, &it.protocol, sums);
            followed.functions.push(it);
        }
        followed.streams.sort_by(CyclicStream::worse);
        followed.streams.truncate(MOST);
        followed.functions.sort_by(Transactions::slower);
        followed.functions.truncate(MOST);
        followed
    }
}

/// Writes all families.
pub(super) fn write(text: &mut Text, of: &Followed) {
    sums_of_streams(text, of);
    streams(text, of);
    sums_of_functions(text, of);
    functions(text, of);
}

fn sums_of_streams(text: &mut Text, of: &Followed) {
    text.family("cyclic_streams", "gauge", "Streams of cyclic data that are followed.");
    for (protocol, [streams, ..]) in &of.of_streams {
        text.sample("cyclic_streams", &[("protocol", protocol)], streams);
    }
    let counters: [(&str, &str, usize); 3] = [
        ("cyclic_frames", "Frames of cyclic data.", 1),
        ("cyclic_missing", "Frames that did not arrive, by their numbers.", 2),
        ("cyclic_silences", "Gaps longer than the time that was allowed.", 3),
    ];
    for (name, help, place) in counters {
        text.counter(name, help);
        for (protocol, sums) in &of.of_streams {
            text.sample(&format!("{name}_total"), &[("protocol", protocol)], sums[place]);
        }
    }
}

/// Writes the worst streams.
fn streams(text: &mut Text, of: &Followed) {
    let named: Vec<_> =
        of.streams.iter().map(|it| (it, format!("{:04x}", it.identifier))).collect();
    let labels = |it: &CyclicStream, identifier: &str| {
        [("protocol", it.protocol.clone()), ("source", it.source.clone())]
            .into_iter()
            .chain([("identifier", identifier.to_owned())])
            .collect::<Vec<_>>()
    };
    type Value = fn(&CyclicStream) -> u64;
    let counters: [(&str, &str, Value); 7] = [
        ("cyclic_stream_frames", "Frames of the worst streams.", |it| it.frames),
        ("cyclic_stream_missing", "Missing frames of the worst streams.", |it| it.missing),
        ("cyclic_stream_silences", "Gaps too long of the worst streams.", |it| it.silences),
        ("cyclic_stream_invalid", "Frames whose data are not valid.", |it| it.invalid),
        ("cyclic_stream_low_working_counters", "EtherCAT frames that a device left out.", |it| {
            it.extra.low_working_counters
        }),
        ("cyclic_stream_unanswered", "Frames and requests without an answer.", |it| {
            it.extra.unanswered.unwrap_or(0)
        }),
        ("cyclic_stream_grandmaster_changes", "Changes of the grandmaster of PTP.", |it| {
            it.extra.grandmaster_changes
        }),
    ];
    for (name, help, value) in counters {
        text.counter(name, help);
        for (it, identifier) in &named {
            sample(text, &format!("{name}_total"), &labels(it, identifier), value(it));
        }
    }
    type Time = fn(&CyclicStream) -> Option<u64>;
    let gauges: [(&str, &str, Time); 8] = [
        ("cyclic_stream_period_seconds", "Learnt period.", |it| it.period_ns),
        ("cyclic_stream_late_p99_seconds", "99th percentile of lateness.", |it| it.late_p99_ns),
        ("cyclic_stream_late_max_seconds", "Most that a frame was late.", |it| it.late_max_ns),
        ("cyclic_stream_worst_gap_seconds", "Gap that used most of its time.", |it| {
            it.worst_gap_ns
        }),
        ("cyclic_stream_answer_p99_seconds", "99th percentile of times to an answer.", |it| {
            it.extra.round_trip_p99_ns
        }),
        ("cyclic_stream_transit_p99_seconds", "99th percentile of longer transits.", |it| {
            it.extra.transit_late_p99_ns
        }),
        ("cyclic_stream_correction_max_seconds", "Greatest correction of Sync.", |it| {
            it.extra.correction_max_ns
        }),
        ("cyclic_stream_peer_delay_seconds", "Median delay of the link to the peer.", |it| {
            it.extra.peer_delay_p50_ns
        }),
    ];
    for (name, help, value) in gauges {
        text.family(name, "gauge", help);
        for (it, identifier) in &named {
            if let Some(nanos) = value(it) {
                sample(text, name, &labels(it, identifier), seconds(nanos));
            }
        }
    }
}

fn sums_of_functions(text: &mut Text, of: &Followed) {
    text.family("transaction_functions", "gauge", "Functions of devices that are followed.");
    for (protocol, [functions, ..]) in &of.of_functions {
        text.sample("transaction_functions", &[("protocol", protocol)], functions);
    }
    let counters: [(&str, &str, usize); 5] = [
        ("transaction_requests", "Requests, retries among them.", 1),
        ("transaction_replies", "Replies, exceptions among them.", 2),
        ("transaction_exceptions", "Replies that report an error.", 3),
        ("transaction_unanswered", "Requests without a reply.", 4),
        ("transaction_retries", "Requests sent again before their reply.", 5),
    ];
    for (name, help, place) in counters {
        text.counter(name, help);
        for (protocol, sums) in &of.of_functions {
            text.sample(&format!("{name}_total"), &[("protocol", protocol)], sums[place]);
        }
    }
}

/// Writes the slowest functions.
fn functions(text: &mut Text, of: &Followed) {
    let labels = |it: &Transactions| {
        vec![
            ("protocol", it.protocol.clone()),
            ("server", it.server.clone()),
            ("unit", it.unit.to_string()),
            ("function", it.function.to_string()),
        ]
    };
    type Value = fn(&Transactions) -> u64;
    let counters: [(&str, &str, Value); 4] = [
        ("function_requests", "Requests of the slowest functions.", |it| it.requests),
        ("function_replies", "Replies of the slowest functions.", |it| it.replies),
        ("function_exceptions", "Exceptions of the slowest functions.", |it| it.exceptions),
        ("function_unanswered", "Their requests without a reply.", |it| it.unanswered),
    ];
    for (name, help, value) in counters {
        text.counter(name, help);
        for it in &of.functions {
            sample(text, &format!("{name}_total"), &labels(it), value(it));
        }
    }
    let family = "function_response_seconds";
    text.family(family, "summary", "Times from a request to its reply, of the slowest functions.");
    for it in of.functions.iter().filter(|it| it.responses > 0) {
        let times = [it.response_p50_ns, it.response_p99_ns, it.response_max_ns];
        for (quantile, nanos) in ["0.5", "0.99", "1.0"].into_iter().zip(times) {
            let mut labels = labels(it);
            labels.push(("quantile", quantile.to_owned()));
            sample(text, family, &labels, seconds(nanos.unwrap_or(0)));
        }
        sample(text, &format!("{family}_sum"), &labels(it), seconds(it.response_total_ns));
        sample(text, &format!("{family}_count"), &labels(it), it.responses);
    }
}

/// Writes a sample whose labels are not known to the program.
fn sample(text: &mut Text, name: &str, labels: &[(&str, String)], value: impl core::fmt::Display) {
    let labels: Vec<(&str, &str)> =
        labels.iter().map(|(label, value)| (*label, value.as_str())).collect();
    text.sample(name, &labels, value);
}

//! Requests and replies: their records.

use crate::findings::{Grade, is_bad_share};
use crate::{ENOUGH, item};
use core::cmp::{Ordering, Reverse};
use meter::measure::Summary;
use meter::{TransactionCounts, TransactionFigures, TransactionReport};
use serde::{Deserialize, Serialize};
use wire::time::Instant;

/// Transactions of a function of a unit of a server, since measuring began or in an interval.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Transactions {
    /// Protocol.
    pub protocol: String,
    /// Address of the server.
    pub server: String,
    /// Unit at the server or behind it.
    pub unit: u32,
    /// Function code.
    pub function: u16,
    /// True if the replies are acknowledgements of numbered frames (IEC 104), which may be delayed.
    pub acknowledgements: bool,
    /// Name of the function; null if the protocol has none for it.
    pub function_name: Option<String>,
    /// Requests, retries among them.
    pub requests: u64,
    /// Requests sent again before their reply.
    pub retries: u64,
    /// Replies, exceptions among them.
    pub replies: u64,
    /// Replies that report an error.
    pub exceptions: u64,
    /// Requests without a reply within ten seconds, or until the server closed the connection.
    pub unanswered: u64,
    /// Requests outstanding at the end.
    pub outstanding: u64,
    /// The most requests outstanding on a connection.
    pub most_outstanding: u64,
    /// Replies that may belong to more than one request.
    pub ambiguous: u64,
    /// Replies to a request that was answered before.
    pub repeated: u64,
    /// Replies to a request that counts as unanswered.
    pub late: u64,
    /// Replies to no request.
    pub unrequested: u64,
    /// Requests dropped because too many were outstanding on their connection.
    pub dropped: u64,
    /// Polls dropped because the function had too many of different data.
    pub polls_dropped: u64,
    /// Replies with a response time.
    pub responses: u64,
    /// Sum of the response times.
    pub response_total_ns: u64,
    /// Least response time; null without responses, as the next ones.
    pub response_min_ns: Option<u64>,
    /// Median.
    pub response_p50_ns: Option<u64>,
    /// 99th percentile.
    pub response_p99_ns: Option<u64>,
    /// Greatest.
    pub response_max_ns: Option<u64>,
    /// Times from a request to the next of its client for the same data.
    pub periods: u64,
    /// Sum of the periods.
    pub period_total_ns: u64,
    /// Least period; null without periods, as the next ones.
    pub period_min_ns: Option<u64>,
    /// Median.
    pub period_p50_ns: Option<u64>,
    /// 99th percentile.
    pub period_p99_ns: Option<u64>,
    /// Greatest.
    pub period_max_ns: Option<u64>,
    /// Time of the first PDU.
    pub first_ns: u64,
    /// Time of the last PDU.
    pub last_ns: u64,
}

/// Transactions at the end of an interval or in it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TransactionsInterval {
    /// Number of the interval.
    pub index: Option<u64>,
    /// Sums over all functions since measuring began.
    pub totals: TransactionTotals,
    /// The slowest functions since measuring began.
    pub slowest: Vec<Transactions>,
    /// Functions with a PDU in the interval, with their counts and times in it; the slowest of them.
    pub in_interval: Vec<Transactions>,
}

/// Sums over all functions.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct TransactionTotals {
    /// Functions.
    pub functions: u64,
    /// Requests.
    pub requests: u64,
    /// Requests sent again.
    pub retries: u64,
    /// Replies.
    pub replies: u64,
    /// Replies that report an error.
    pub exceptions: u64,
    /// Requests without a reply.
    pub unanswered: u64,
    /// Requests outstanding.
    pub outstanding: u64,
    /// Replies that may belong to more than one request.
    pub ambiguous: u64,
    /// Replies to a request that was answered before, that counts as unanswered, or to none.
    pub without_request: u64,
}

impl TransactionTotals {
    /// Totals of a function.
    fn of(counts: &TransactionCounts, outstanding: u64) -> Self {
        Self {
            functions: 1,
            requests: counts.requests,
            retries: counts.retries,
            replies: counts.replies,
            exceptions: counts.exceptions,
            unanswered: counts.unanswered,
            outstanding,
            ambiguous: counts.ambiguous,
            without_request: crate::sum([counts.repeated, counts.late, counts.unrequested]),
        }
    }

    /// Adds others; sums saturate.
    pub(crate) fn add(&mut self, more: &Self) {
        for (sum, more) in [
            (&mut self.functions, more.functions),
            (&mut self.requests, more.requests),
            (&mut self.retries, more.retries),
            (&mut self.replies, more.replies),
            (&mut self.exceptions, more.exceptions),
            (&mut self.unanswered, more.unanswered),
            (&mut self.outstanding, more.outstanding),
            (&mut self.ambiguous, more.ambiguous),
            (&mut self.without_request, more.without_request),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}

impl From<&TransactionReport> for TransactionTotals {
    fn from(report: &TransactionReport) -> Self {
        Self::of(&report.all.counts, report.outstanding)
    }
}

impl From<&Transactions> for TransactionTotals {
    fn from(of: &Transactions) -> Self {
        let Transactions { requests, retries, replies, exceptions, unanswered, .. } = *of;
        let Transactions { outstanding, ambiguous, repeated, late, unrequested, .. } = *of;
        let counts = TransactionCounts {
            requests,
            retries,
            replies,
            exceptions,
            unanswered,
            ambiguous,
            repeated,
            late,
            unrequested,
            ..TransactionCounts::default()
        };
        Self::of(&counts, outstanding)
    }
}

impl TransactionsInterval {
    /// Converts an item of the recorder.
    pub(crate) fn of(item: &item::TransactionsInterval) -> Self {
        let slowest = item.slowest.iter().map(Transactions::of).collect();
        let in_interval = item.in_interval.iter().map(Transactions::in_latest).collect();
        Self { index: item.index, totals: item.totals, slowest, in_interval }
    }
}

impl item::TransactionsInterval {
    /// Sums functions, and keeps the `top` slowest of them, and of those with a PDU since `start`.
    pub(crate) fn of<'a>(
        index: Option<u64>,
        start: Instant,
        followed: impl Iterator<Item = &'a TransactionReport>,
        ended: TransactionTotals,
        top: usize,
    ) -> Self {
        let (mut totals, mut so_far, mut latest) = (ended, Vec::new(), Vec::new());
        for report in followed {
            totals.add(&report.into());
            so_far.push(report);
            if report.latest >= start {
                latest.push(report);
            }
        }
        let slowest = slowest_of(so_far, top, |report| &report.all);
        let in_interval = slowest_of(latest, top, |report| &report.in_latest);
        Self { index, totals, slowest, in_interval }
    }
}

/// The slowest functions by these figures, in order; the lower key first among equals.
fn slowest_of(
    mut all: Vec<&TransactionReport>,
    top: usize,
    figures: fn(&TransactionReport) -> &TransactionFigures,
) -> Vec<TransactionReport> {
    let key = |report: &&TransactionReport| {
        (speed(report.key.is_acknowledgement(), figures(report)), report.key)
    };
    if let Some(last) = top.checked_sub(1)
        && top < all.len()
    {
        all.select_nth_unstable_by_key(last, key);
    }
    all.truncate(top);
    all.sort_unstable_by_key(key);
    all.into_iter().cloned().collect()
}

/// Sort key of a function, the slowest first, acknowledgements last: by the 99th percentile of those
/// with enough responses, then by the greatest response time, then by requests without a reply.
type Speed = Reverse<(bool, bool, (Option<u64>, Option<u64>, u64))>;

fn speed(acknowledges: bool, figures: &TransactionFigures) -> Speed {
    let responses = &figures.responses;
    let time = |nanos: u64| (responses.count > 0).then_some(nanos);
    let times = (time(responses.p99_ns), time(responses.max_ns), figures.counts.unanswered);
    Reverse((!acknowledges, responses.count >= ENOUGH, times))
}

impl Transactions {
    /// Converts a report of the meter: all since measuring began.
    pub(crate) fn of(report: &TransactionReport) -> Self {
        Self::of_figures(report, &report.all)
    }

    /// Converts what the report has of its latest interval.
    fn in_latest(report: &TransactionReport) -> Self {
        Self::of_figures(report, &report.in_latest)
    }

    fn of_figures(report: &TransactionReport, figures: &TransactionFigures) -> Self {
        let TransactionFigures { counts, responses, periods } = figures;
        let TransactionCounts { requests, retries, replies, exceptions, .. } = *counts;
        let TransactionCounts { unanswered, ambiguous, repeated, late, unrequested, .. } = *counts;
        let TransactionCounts { dropped, polls_dropped, most_outstanding, .. } = *counts;
        let key = report.key;
        let name = key.protocol.function_name(key.function);
        let time = |of: &Summary, nanos: u64| (of.count > 0).then_some(nanos);
        Self {
            protocol: key.protocol.name().to_owned(),
            server: key.server.to_string(),
            unit: key.unit,
            function: key.function,
            acknowledgements: key.is_acknowledgement(),
            function_name: name.map(ToOwned::to_owned),
            requests,
            retries,
            replies,
            exceptions,
            unanswered,
            outstanding: report.outstanding,
            most_outstanding,
            ambiguous,
            repeated,
            late,
            unrequested,
            dropped,
            polls_dropped,
            responses: responses.count,
            response_total_ns: responses.total_ns,
            response_min_ns: time(responses, responses.min_ns),
            response_p50_ns: time(responses, responses.p50_ns),
            response_p99_ns: time(responses, responses.p99_ns),
            response_max_ns: time(responses, responses.max_ns),
            periods: periods.count,
            period_total_ns: periods.total_ns,
            period_min_ns: time(periods, periods.min_ns),
            period_p50_ns: time(periods, periods.p50_ns),
            period_p99_ns: time(periods, periods.p99_ns),
            period_max_ns: time(periods, periods.max_ns),
            first_ns: report.first.as_nanos(),
            last_ns: report.last.as_nanos(),
        }
    }

    /// Server and unit, as requirements name them.
    pub fn device(&self) -> String {
        format!("{}/{}", self.server, self.unit)
    }

    /// Function code, and its name if it has one.
    pub fn function_label(&self) -> String {
        match &self.function_name {
            Some(name) => format!("{} {name}", self.function),
            None => self.function.to_string(),
        }
    }

    /// Front of that label.
    pub fn function_front(&self, columns: usize) -> String {
        let front: String = self.function_label().chars().take(columns).collect();
        front.trim_end().to_owned()
    }

    /// Mean response time; none without responses.
    pub fn response_mean_ns(&self) -> Option<u64> {
        self.response_total_ns.checked_div(self.responses)
    }

    /// Severity of what is wrong with the function; none if nothing is.
    pub fn grade(&self) -> Option<Grade> {
        let is_bad = is_bad_share(self.unanswered, self.requests)
            || is_bad_share(self.exceptions, self.replies);
        let odd = crate::sum([self.unanswered, self.exceptions, self.retries, self.late]);
        if is_bad { Some(Grade::Bad) } else { (odd > 0).then_some(Grade::Look) }
    }

    /// Orders functions, the slowest first, acknowledgements last: by the 99th percentile of those with at least 20 responses,
    /// then by the greatest response time, then by requests without a reply.
    pub fn slower(&self, other: &Self) -> Ordering {
        let key = |it: &Self| -> Speed {
            let has_enough = it.responses >= ENOUGH;
            let times = (it.response_p99_ns, it.response_max_ns, it.unanswered);
            Reverse((!it.acknowledgements, has_enough, times))
        };
        key(self).cmp(&key(other))
    }
}

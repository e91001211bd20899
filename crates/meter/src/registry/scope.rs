//! Values of each scope: of the network, of a host, of one side of a connection.

use super::{
    Aggregation, Count, DelayStatistic, KindCount, Measure, SizeBound, SizeCount, TABLE_4,
};
use crate::follow::association::ServiceReport;
use crate::host::Host;
use crate::measure::{
    Measures, NO_BOUND_OCTETS, ServiceCounts, Sizes, Summary, Times, Traffic, Transport, Volume,
    Waits,
};
use crate::observation::DelayKind;
use crate::track::Direction;
use std::sync::LazyLock;
use wire::tp::Kind;

/// Measures with their values.
pub type Values = Vec<(Measure, u64)>;

/// Room for the values of any scope, so that none is moved while they are listed.
const MOST_VALUES: usize = 256;
/// Room for the values of a host or a side without those that are left out, of most.
const CHOSEN_VALUES: usize = 64;

/// All values of the network: the rows of Table 4 of NBSIR 85-3104 first.
#[must_use]
pub fn of_network(measures: &Measures) -> Values {
    let unordered = counts_of_network(measures);
    let mut values = Values::with_capacity(MOST_VALUES);
    values.extend(ORDER.iter().map(|place| unordered[*place]));
    for (delay, distribution) in measures.delays.each() {
        of_summary(delay, &distribution.summary(), &DelayStatistic::ALL, &mut values);
    }
    of_sizes(&measures.traffic.sizes, &mut values);
    values
}

/// Counts of the network, in the order of the registry; always the same measures.
fn counts_of_network(measures: &Measures) -> Values {
    let value = |count: Count| Some((count.into(), count.row().network?(measures)));
    let mut values = Values::with_capacity(MOST_VALUES);
    values.extend(Count::ALL.into_iter().filter_map(value));
    of_kinds(&measures.traffic.transport, &mut values);
    values
}

/// Some counts of the network, in this order; measures that are no counts are left out.
#[must_use]
pub fn some_of_network(measures: &Measures, wanted: &[Measure]) -> Values {
    let transport = &measures.traffic.transport;
    let value = |measure: &Measure| match *measure {
        Measure::Count(count) => Some((*measure, count.row().network?(measures))),
        Measure::OfKind(kind, count) => Some((*measure, count.of(transport.of(kind)))),
        Measure::Delay(..) | Measure::DelaySoFar(..) | Measure::OfSize(..) => None,
    };
    wanted.iter().filter_map(value).collect()
}

/// Places of the counts of the network in the order of their output.
static ORDER: LazyLock<Vec<usize>> = LazyLock::new(|| {
    let values = counts_of_network(&Measures::default());
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by_key(|place| {
        let (measure, _) = values[*place];
        TABLE_4.iter().position(|row| *row == measure).unwrap_or(TABLE_4.len())
    });
    order
});

/// All values of what a host sent or received.
#[must_use]
pub fn of_traffic(traffic: &Traffic) -> Values {
    let mut values = Values::with_capacity(MOST_VALUES);
    values.extend(Count::ALL.into_iter().filter_map(|c| Some((c.into(), c.row().host?(traffic)))));
    of_kinds(&traffic.transport, &mut values);
    values.extend(waits(&traffic.waits));
    of_sizes(&traffic.sizes, &mut values);
    values
}

/// Count of a scope.
#[derive(Debug)]
struct Scoped<F> {
    measure: Measure,
    /// Its value.
    of: F,
    /// True if zero is a value of an interval too, as for a sequence number.
    is_latest: bool,
}

/// Counts of a scope, without those of all kinds of TPDUs together.
fn scoped<F>(of: fn(Count) -> Option<F>) -> Vec<Scoped<F>> {
    let mut counts = Vec::new();
    for count in Count::ALL {
        let measure = Measure::from(count);
        if let Some(of) = of(count).filter(|_| !measure.is_total_of_kinds()) {
            let is_latest = measure.aggregation() == Aggregation::Latest;
            counts.push(Scoped { measure, of, is_latest });
        }
    }
    counts
}

type OfHost = fn(&Traffic) -> u64;
type OfSide = fn(&Direction) -> Option<u64>;

static OF_HOST: LazyLock<Vec<Scoped<OfHost>>> = LazyLock::new(|| scoped(|count| count.row().host));
static OF_SIDE: LazyLock<Vec<Scoped<OfSide>>> = LazyLock::new(|| scoped(|count| count.row().side));

/// Values of what a host sent or received in an interval: those that are not zero, without totals of all kinds of
/// TPDUs and the longest times of the whole.
pub fn interval_of_traffic(traffic: &Traffic) -> Values {
    let mut values = Values::with_capacity(CHOSEN_VALUES);
    for Scoped { measure, of, is_latest } in OF_HOST.iter() {
        let value = of(traffic);
        if value > 0 || *is_latest {
            values.push((*measure, value));
        }
    }
    more_of_interval(&traffic.transport, &traffic.waits, &traffic.sizes, &mut values);
    values
}

/// Values of what one side of a connection sent in an interval, likewise; sequence numbers and times of day are
/// stated if they are zero.
pub fn interval_of_direction(direction: &Direction) -> Values {
    let mut values = Values::with_capacity(CHOSEN_VALUES);
    for Scoped { measure, of, is_latest } in OF_SIDE.iter() {
        if let Some(value) = of(direction)
            && (value > 0 || *is_latest)
        {
            values.push((*measure, value));
        }
    }
    more_of_interval(&direction.transport(), &direction.waits, &direction.sizes, &mut values);
    values
}

/// Values of what one side of a connection sent as a whole, without totals of all kinds of TPDUs: kinds that it did
/// not send, and size classes and busiest seconds without a TPDU, are left out.
pub fn whole_of_direction(direction: &Direction) -> Values {
    static ALL: LazyLock<PartOfSide> = LazyLock::new(|| PartOfSide::new(|_| true));
    let mut values = ALL.of(direction);
    values.extend(whole_replies(&direction.replied));
    for (which, counts) in classes(&direction.sizes) {
        let of = SizeCount::ALL.into_iter().zip(counts).filter(|(_, value)| *value > 0);
        values.extend(of.map(|(count, value)| (Measure::OfSize(count, which), value)));
    }
    values
}

/// Measures of what one side of a connection sent as a whole, those among them that are wanted, without totals of all
/// kinds of TPDUs, sizes and quantiles. They are selected once for thousands of connections.
#[derive(Debug)]
pub struct PartOfSide {
    counts: Vec<Scoped<OfSide>>,
    /// Counts of each kind of TPDU, in the order of [`Kind::ALL`].
    kinds: [Vec<(Measure, KindCount)>; Kind::ALL.len()],
    /// Values of each delay, in the order of [`DelayKind::OF_HOSTS`].
    delays: [Vec<(Measure, OfTimes)>; DelayKind::OF_HOSTS.len()],
}

impl PartOfSide {
    /// Selects the measures that are wanted.
    pub fn new(is_wanted: impl Fn(Measure) -> bool) -> Self {
        let counts = scoped(|count| count.row().side).into_iter();
        let kinds = Kind::ALL.map(|kind| {
            let all = KindCount::ALL.map(|count| (Measure::OfKind(kind, count), count));
            all.into_iter().filter(|(measure, _)| is_wanted(*measure)).collect()
        });
        let delays = DelayKind::OF_HOSTS.map(|delay| {
            let all = TIMES.map(|(statistic, of)| (Measure::Delay(delay, statistic), of));
            all.into_iter().filter(|(measure, _)| is_wanted(*measure)).collect()
        });
        Self { counts: counts.filter(|row| is_wanted(row.measure)).collect(), kinds, delays }
    }

    /// Values of what a side sent: kinds that it did not send, and busiest seconds without a TPDU, are left out.
    #[must_use]
    pub fn of(&self, direction: &Direction) -> Values {
        let mut values = Values::with_capacity(self.room());
        for Scoped { measure, of, .. } in &self.counts {
            if let Some(value) = of(direction)
                && (value > 0 || !measure.is_peak())
            {
                values.push((*measure, value));
            }
        }
        for (counts, volume) in self.kinds.iter().zip(&direction.volumes) {
            if volume.tpdus > 0 {
                values.extend(counts.iter().map(|(measure, count)| (*measure, count.of(volume))));
            }
        }
        for (delays, times) in self.delays.iter().zip(direction.waits.each()) {
            values.extend(delays.iter().map(|(measure, of)| (*measure, of(&times))));
        }
        values
    }

    /// Room for the values of most sides: they send DTs and AKs, and two other kinds.
    fn room(&self) -> usize {
        const KINDS: usize = 4;
        let most = self.kinds.iter().map(Vec::len).max().unwrap_or(0);
        self.counts.len() + KINDS * most + self.delays.iter().map(Vec::len).sum::<usize>()
    }
}

type OfTimes = fn(&Times) -> u64;

/// Statistics of the delays of hosts and connections, which have no quantiles.
const TIMES: [(DelayStatistic, OfTimes); 3] = [
    (DelayStatistic::Count, |times| times.count),
    (DelayStatistic::Total, |times| times.total_ns),
    (DelayStatistic::Maximum, |times| times.max_ns),
];

/// Values by kind of TPDU, by delay and by size of an interval, as far as they are not zero.
fn more_of_interval(transport: &Transport, waits: &Waits, sizes: &Sizes, values: &mut Values) {
    let mut put = |measure: Measure, value: u64| {
        if value > 0 {
            values.push((measure, value));
        }
    };
    for (kind, volume) in transport.by_kind().filter(|(_, volume)| volume.tpdus > 0) {
        for count in KindCount::ALL {
            put(Measure::OfKind(kind, count), count.of(volume));
        }
    }
    for (delay, times) in DelayKind::OF_HOSTS.into_iter().zip(waits.each()) {
        put(delay.count(), times.count);
        put(delay.total(), times.total_ns);
    }
    for (which, counts) in classes(sizes) {
        for (count, value) in SizeCount::ALL.into_iter().zip(counts) {
            put(Measure::OfSize(count, which), value);
        }
    }
}

/// All values of what a host sent, with the distribution of its response times.
#[must_use]
pub fn of_host(host: &Host) -> Values {
    let mut values = of_traffic(&host.sent);
    values.extend(whole_replies(&host.replied.summary()));
    values
}

/// All values of what one side of a connection sent.
#[must_use]
pub fn of_direction(direction: &Direction) -> Values {
    let mut values = Values::with_capacity(MOST_VALUES);
    let value = |count: Count| Some((count.into(), count.row().side?(direction)?));
    values.extend(Count::ALL.into_iter().filter_map(value));
    of_kinds(&direction.transport(), &mut values);
    values.extend(waits(&direction.waits));
    values.extend(whole_replies(&direction.replied));
    of_sizes(&direction.sizes, &mut values);
    values
}

/// All values of a service of MMS. Its response times, until the last octet of the answer, have the
/// name of those of any application too.
#[must_use]
pub fn of_service(counts: &ServiceCounts) -> Values {
    let mut values = vec![
        (Measure::MmsRequests, counts.requests),
        (Measure::MmsErrors, counts.errors),
        (Measure::MmsFailedAccesses, counts.failed_accesses),
        (Measure::MmsRejects, counts.rejects),
        (Measure::MmsUnanswered, counts.unanswered),
    ];
    for delay in [DelayKind::MmsResponse, DelayKind::Response] {
        of_summary(delay, &counts.responses.summary(), &DelayStatistic::ALL, &mut values);
    }
    values
}

/// All values of a service on an association.
#[must_use]
pub fn of_service_report(report: &ServiceReport) -> Values {
    let mut values = vec![
        (Measure::MmsRequests, report.requests),
        (Measure::MmsErrors, report.errors),
        (Measure::MmsFailedAccesses, report.failed_accesses),
        (Measure::MmsRejects, report.rejects),
        (Measure::MmsUnanswered, report.unanswered),
    ];
    let response = DelayKind::MmsResponse;
    of_summary(response, &report.responses, &DelayStatistic::ALL, &mut values);
    values
}

/// Least, median and 99th percentile of the response times of all replies.
pub fn whole_replies(replies: &Summary) -> Values {
    let statistics = [DelayStatistic::Minimum, DelayStatistic::P50, DelayStatistic::P99];
    let mut values = Values::with_capacity(statistics.len());
    of_summary(DelayKind::Response, replies, &statistics, &mut values);
    values
}

/// Adds the response times of all replies up to the end of an interval; none before the first reply.
pub fn add_so_far(replies: &Summary, values: &mut Values) {
    if replies.count == 0 {
        return;
    }
    let value = |measure| match measure {
        Measure::DelaySoFar(_, statistic) => (measure, statistic.of(replies)),
        other => (other, 0),
    };
    values.extend(so_far_of(DelayKind::Response).map(value));
}

/// Statistics of a delay that records of intervals have so far: all but the minimum.
pub fn so_far_of(delay: DelayKind) -> impl Iterator<Item = Measure> {
    let all = DelayStatistic::ALL.into_iter().filter(|of| *of != DelayStatistic::Minimum);
    all.map(move |statistic| Measure::DelaySoFar(delay, statistic))
}

impl DelayStatistic {
    const fn of(self, summary: &Summary) -> u64 {
        match self {
            Self::Count => summary.count,
            Self::Total => summary.total_ns,
            Self::Minimum => summary.min_ns,
            Self::P50 => summary.p50_ns,
            Self::P99 => summary.p99_ns,
            Self::Maximum => summary.max_ns,
        }
    }
}

impl KindCount {
    const fn of(self, volume: &Volume) -> u64 {
        match self {
            Self::Tpdus => volume.tpdus,
            Self::HeaderOctets => volume.header_octets,
            Self::DataOctets => volume.data_octets,
            Self::InformationOctets => volume.information_octets,
            Self::Retransmissions => volume.retransmissions,
        }
    }
}

fn of_kinds(transport: &Transport, values: &mut Values) {
    for (kind, volume) in transport.by_kind() {
        let of = KindCount::ALL.into_iter();
        values.extend(of.map(|count| (Measure::OfKind(kind, count), count.of(volume))));
    }
}

fn of_summary(
    delay: DelayKind,
    summary: &Summary,
    statistics: &[DelayStatistic],
    values: &mut Values,
) {
    let value =
        |statistic: &DelayStatistic| (Measure::Delay(delay, *statistic), statistic.of(summary));
    values.extend(statistics.iter().map(value));
}

/// Values by delay.
fn waits(waits: &Waits) -> impl Iterator<Item = (Measure, u64)> {
    DelayKind::OF_HOSTS.into_iter().zip(waits.each()).flat_map(|(delay, times)| {
        TIMES.map(|(statistic, of)| (Measure::Delay(delay, statistic), of(&times)))
    })
}

fn of_sizes(sizes: &Sizes, values: &mut Values) {
    for (which, counts) in classes(sizes) {
        let of = SizeCount::ALL.into_iter().zip(counts);
        values.extend(of.map(|(count, value)| (Measure::OfSize(count, which), value)));
    }
}

/// Classes of sizes with their counts, in the order of [`SizeCount::ALL`].
fn classes(sizes: &Sizes) -> impl Iterator<Item = (SizeBound, [u64; SizeCount::ALL.len()])> {
    let mut below = 0;
    let bounds = sizes.bounds_octets.iter().copied().chain([NO_BOUND_OCTETS]);
    sizes.classes.iter().zip(bounds).filter_map(move |(class, bound)| {
        let which = match (bound, core::mem::replace(&mut below, bound)) {
            // Fewer bounds than classes: the classes beyond the last bound are empty.
            (NO_BOUND_OCTETS, NO_BOUND_OCTETS) => return None,
            (NO_BOUND_OCTETS, below) => SizeBound::Beyond(below),
            (bound, _) => SizeBound::To(bound),
        };
        Some((which, [class.tpdus, class.dt_tpdus, class.dt_retransmissions, class.tsdus]))
    })
}

impl Measures {
    /// Rows of Table 4 of NBSIR 85-3104, in the paper's order.
    #[must_use]
    pub fn table(&self) -> [(Measure, u64); 17] {
        let values = of_network(self);
        core::array::from_fn(|row| values[row])
    }
}

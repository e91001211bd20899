//! Counts of each sampling interval under consecutive numbers, in bounded memory.

use core::time::Duration;
use std::collections::VecDeque;
use wire::time::nanos;

/// The finest sampling interval; the others are whole multiples of it.
const TICK: Duration = Duration::from_nanos(TICK_NS);
const TICK_NS: u64 = 10_000_000;
/// The longest sampling interval: 60 s.
const LONGEST_TICKS: u64 = 6_000;
/// The intervals that keys step through, in ticks.
const STEPS: [u64; 12] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 3_000, LONGEST_TICKS];

/// Packets and their octets from the destination address on, without FCS.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Count {
    /// Number of packets.
    pub(crate) packets: u64,
    /// Octets of all packets.
    pub(crate) octets: u64,
}

impl Count {
    /// Sum of two counts.
    pub(super) const fn plus(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, octets: self.octets + other.octets }
    }

    /// Greater value of each count.
    fn greatest(self, other: Self) -> Self {
        Self { packets: self.packets.max(other.packets), octets: self.octets.max(other.octets) }
    }
}

/// Rates of the monitor's two charts.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Rates {
    /// Packets per second.
    pub(crate) packets: f64,
    /// Bits per second.
    pub(crate) bits: f64,
}

/// A sampling interval: from 10 ms to 60 s in whole ticks, or that of records.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Interval {
    ticks: u64,
    /// Length of a tick: 10 ms, or the whole interval of records that is no multiple of it.
    tick_ns: u64,
}

impl Interval {
    /// Returns none if the length is too short, too long, or not a whole number of ticks.
    pub(crate) fn new(span: Duration) -> Option<Self> {
        let (span, tick) = (nanos(span), nanos(TICK));
        let ticks = span / tick;
        let is_whole = span.is_multiple_of(tick);
        (is_whole && (1..=LONGEST_TICKS).contains(&ticks)).then_some(Self::of_ticks(ticks))
    }

    /// Returns the interval of records, which may have any length; none if it has no length.
    pub(super) fn of_records(span: Duration) -> Option<Self> {
        let (span, tick) = (nanos(span), nanos(TICK));
        let is_whole = span.is_multiple_of(tick);
        let it =
            if is_whole { Self::of_ticks(span / tick) } else { Self { ticks: 1, tick_ns: span } };
        (span > 0).then_some(it)
    }

    const fn of_ticks(ticks: u64) -> Self {
        Self { ticks, tick_ns: TICK_NS }
    }

    /// Returns the length in ticks.
    pub(super) const fn ticks(self) -> u64 {
        self.ticks
    }

    /// Returns the number of the tick at this time since the origin.
    pub(super) fn tick_at(self, since: Duration) -> u64 {
        nanos(since) / self.tick_ns
    }

    /// Returns the time from the origin to the begin of a tick.
    pub(super) fn begin_of(self, tick: u64) -> Duration {
        Duration::from_nanos(self.tick_ns.saturating_mul(tick))
    }

    /// Returns the length as a duration.
    pub(crate) fn span(self) -> Duration {
        self.times(1)
    }

    /// Returns the length of `count` intervals.
    pub(in crate::tui) fn times(self, count: u64) -> Duration {
        self.begin_of(self.ticks.saturating_mul(count))
    }

    /// Returns the next longer step; the longest returns itself.
    pub(super) fn longer(self) -> Self {
        STEPS.into_iter().find(|step| *step > self.ticks).map_or(self, Self::of_ticks)
    }

    /// Returns the next shorter step; the shortest returns itself.
    pub(super) fn shorter(self) -> Self {
        STEPS.into_iter().rev().find(|step| *step < self.ticks).map_or(self, Self::of_ticks)
    }

    /// Returns the rates of a count within `samples` intervals; zero for no intervals.
    pub(super) fn rates(self, count: Count, samples: u64) -> Rates {
        if samples == 0 {
            return Rates::default();
        }
        let seconds = self.times(samples).as_secs_f64();
        Rates { packets: count.packets as f64 / seconds, bits: count.octets as f64 * 8.0 / seconds }
    }
}

/// Ring of counts under consecutive numbers, of which the latest are kept.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    first: u64,
    counts: VecDeque<Count>,
    capacity: usize,
}

impl Ring {
    /// Creates an empty ring; the first count has number 0.
    pub(super) const fn new(capacity: usize) -> Self {
        Self { first: 0, counts: VecDeque::new(), capacity }
    }

    /// Discards all counts; the next count has this number.
    pub(super) fn restart(&mut self, number: u64) {
        self.counts.clear();
        self.first = number;
    }

    /// Returns the number of the oldest count kept.
    pub(super) const fn first(&self) -> u64 {
        self.first
    }

    /// Returns the number of the next count.
    pub(super) fn end(&self) -> u64 {
        self.first + self.counts.len() as u64
    }

    /// Appends a count.
    pub(super) fn push(&mut self, count: Count) {
        if self.counts.len() == self.capacity {
            self.counts.pop_front();
            self.first += 1;
        }
        self.counts.push_back(count);
    }

    /// Appends `times` empty counts.
    pub(super) fn push_silent(&mut self, times: u64) {
        let capacity = self.capacity as u64;
        if times > capacity {
            let first = self.end() + (times - capacity);
            self.restart(first);
        }
        (0..times.min(capacity)).for_each(|_| self.push(Count::default()));
    }

    /// Returns the count of this number, if it is kept.
    pub(super) fn get(&self, number: u64) -> Option<Count> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.counts.get(place).copied()
    }

    /// Returns the sum of the counts kept from `from` up to `to`.
    pub(super) fn sum(&self, from: u64, to: u64) -> Count {
        (from..to).filter_map(|number| self.get(number)).fold(Count::default(), Count::plus)
    }
}

/// Average and peak over samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Statistics {
    samples: u64,
    total: Count,
    peak: Count,
}

impl Statistics {
    /// Adds a sample.
    pub(super) fn add(&mut self, sample: Count) {
        self.samples += 1;
        self.total = self.total.plus(sample);
        self.peak = self.peak.greatest(sample);
    }

    /// Adds `samples` empty samples.
    pub(super) const fn add_silent(&mut self, samples: u64) {
        self.samples += samples;
    }

    /// Returns average and peak of samples of this length.
    pub(super) fn rates(&self, interval: Interval) -> (Rates, Rates) {
        (interval.rates(self.total, self.samples), interval.rates(self.peak, 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(packets: u64) -> Count {
        Count { packets, octets: 100 * packets }
    }

    #[test]
    fn an_interval_lasts_from_10_ms_to_60_s_in_steps_of_10_ms() {
        let interval = |millis| Interval::new(Duration::from_millis(millis));
        assert_eq!(interval(500), Some(Interval::of_ticks(50)));
        assert_eq!(
            (interval(10), interval(60_000)),
            (Some(Interval::of_ticks(1)), Some(Interval::of_ticks(6_000)))
        );
        for millis in [0, 5, 9, 15, 60_010, 3_600_000] {
            assert_eq!(interval(millis), None, "{millis} ms");
        }
    }

    #[test]
    fn keys_step_an_interval_up_and_down_between_its_limits() {
        let mut interval = Interval::of_ticks(1);
        let mut seen = vec![interval];
        while interval.longer() != interval {
            interval = interval.longer();
            seen.push(interval);
        }
        assert_eq!(seen.len(), STEPS.len());
        seen.iter().rev().skip(1).for_each(|step| {
            interval = interval.shorter();
            assert_eq!(interval, *step);
        });
        assert_eq!(interval.shorter(), interval);
        // A length that no key selects.
        assert_eq!(
            (Interval::of_ticks(7).shorter(), Interval::of_ticks(7).longer()),
            (Interval::of_ticks(5), Interval::of_ticks(10))
        );
    }

    #[test]
    fn a_rate_is_the_count_over_the_time() {
        // 29 packets of 100 octets in 500 ms: 58 /s, 29 x 800 bit x 2.
        let rates = Interval::of_ticks(50).rates(packets(29), 1);
        assert_eq!((rates.packets, rates.bits), (58.0, 46_400.0));
        assert_eq!(Interval::of_ticks(50).rates(packets(29), 0), Rates::default());
    }

    #[test]
    fn a_ring_keeps_the_latest_and_their_numbers() {
        let mut ring = Ring::new(3);
        (1..=5).for_each(|n| ring.push(packets(n)));
        assert_eq!((ring.first(), ring.end()), (2, 5));
        assert_eq!((ring.get(1), ring.get(2), ring.get(5)), (None, Some(packets(3)), None));
        assert_eq!(ring.sum(0, 10), packets(12));
        ring.push_silent(1_000_000_000_000);
        assert_eq!((ring.first(), ring.end()), (1_000_000_000_002, 1_000_000_000_005));
        assert_eq!(ring.get(1_000_000_000_004), Some(Count::default()));
        ring.push_silent(2);
        assert_eq!(ring.end(), 1_000_000_000_007);
    }

    #[test]
    fn average_and_peak_are_those_of_the_samples() {
        let mut statistics = Statistics::default();
        statistics.add(packets(10));
        statistics.add(packets(2));
        statistics.add_silent(2);
        let (average, peak) = statistics.rates(Interval::of_ticks(100));
        // 12 packets in 4 s; the peak sample has 10.
        assert_eq!((average.packets, peak.packets), (3.0, 10.0));
        assert_eq!((average.bits, peak.bits), (2_400.0, 8_000.0));
    }
}

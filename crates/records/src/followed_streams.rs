//! Streams of cyclic data that are followed, as they were last reported.
//!
//! An interval costs time for the streams that changed in it. Sums are kept over all streams, and
//! streams in the order of their badness. Without a frame a stream becomes silent at its deadline, so
//! that those between two intervals are found in the order of deadlines.

use crate::CyclicTotals;
use crate::cyclic::{Badness, CyclicStream, Sums};
use core::mem;
use meter::{ChangedStreams, StreamKey, StreamReport};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use wire::time::Instant;

/// Stream of cyclic data that is followed.
#[derive(Clone, Debug)]
pub struct FollowedStream {
    report: StreamReport,
    /// Its record without ends and name.
    figures: CyclicStream,
}

impl FollowedStream {
    /// Its report.
    pub(crate) fn report(&self) -> &StreamReport {
        #[cfg(test)]
        tests::count_visit();
        &self.report
    }

    /// Its record without ends and name.
    pub(crate) fn figures(&self) -> &CyclicStream {
        #[cfg(test)]
        tests::count_visit();
        &self.figures
    }

    /// Last time at which the stream is not silent, if no frame follows; none if it may be silent.
    fn deadline(&self) -> Option<Instant> {
        let StreamReport { last, allowed_ns, .. } = self.report();
        let at_ns = last.as_nanos().saturating_add(*allowed_ns);
        (*allowed_ns > 0).then_some(Instant::from_nanos(at_ns))
    }
}

/// Streams by their keys.
#[derive(Debug, Default)]
pub(crate) struct FollowedStreams {
    streams: BTreeMap<Arc<StreamKey>, Arc<FollowedStream>>,
    sums: Sums,
    /// The worst first, in the order of keys among equals.
    ranks: BTreeMap<(Badness, Arc<StreamKey>), Arc<FollowedStream>>,
    /// Deadlines with their streams; a time alone, without a stream, is in front of its deadlines.
    deadlines: BTreeSet<(Instant, Option<Arc<StreamKey>>)>,
    /// Time up to which streams were found silent.
    until: Instant,
}

impl FollowedStreams {
    /// Takes the streams that changed, and those that are silent at `until`, up to which the meter
    /// measured; none before the first frame.
    pub(crate) fn update(&mut self, changed: ChangedStreams, until: Option<Instant>) {
        if changed.are_all {
            *self = Self { until: self.until, ..Self::default() };
        }
        for key in &changed.removed {
            self.remove(key);
        }
        if let Some(until) = until {
            self.pass(until);
        }
        for report in changed.reports {
            let known = self.remove(&report.key);
            let key = known.unwrap_or_else(|| Arc::new(report.key.clone()));
            let figures = CyclicStream::figures(&report, until.unwrap_or(report.last));
            self.insert(key, FollowedStream { report, figures });
        }
    }

    /// Changes the streams with a deadline between the last time and this one: a stream is silent
    /// from the nanosecond behind its deadline.
    fn pass(&mut self, until: Instant) {
        let before = mem::replace(&mut self.until, until);
        let span = (before.min(until), None)..(before.max(until), None);
        let due: Vec<_> = self.deadlines.range(span).filter_map(|(_, key)| key.clone()).collect();
        for key in due {
            let Some(stream) = self.streams.get(&key) else { continue };
            let mut stream = FollowedStream::clone(stream);
            stream.figures.silent_at_end = stream.report().is_silent(until);
            self.remove(&key);
            self.insert(key, stream);
        }
    }

    /// Removes a stream; returns its key if it was followed.
    fn remove(&mut self, key: &StreamKey) -> Option<Arc<StreamKey>> {
        let (key, stream) = self.streams.remove_entry(key)?;
        self.sums.subtract(stream.figures());
        if let Some(at) = stream.deadline() {
            self.deadlines.remove(&(at, Some(key.clone())));
        }
        self.ranks.remove(&(stream.figures().badness(), key.clone()));
        Some(key)
    }

    fn insert(&mut self, key: Arc<StreamKey>, stream: FollowedStream) {
        self.sums.add(stream.figures());
        if let Some(at) = stream.deadline() {
            self.deadlines.insert((at, Some(key.clone())));
        }
        let stream = Arc::new(stream);
        self.ranks.insert((stream.figures().badness(), key.clone()), stream.clone());
        self.streams.insert(key, stream);
    }

    /// True if no stream is followed.
    pub(crate) fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// Sums over these streams and those that `ended`.
    pub(crate) fn totals(&self, ended: CyclicTotals) -> CyclicTotals {
        self.sums.and(ended)
    }

    /// The `top` worst streams, in order.
    pub(crate) fn worst(&self, top: usize) -> Vec<Arc<FollowedStream>> {
        self.ranks.values().take(top).cloned().collect()
    }

    /// Reports of all streams, in the order of their keys.
    pub(crate) fn reports(&self) -> impl Iterator<Item = &StreamReport> {
        self.streams.values().map(|stream| stream.report())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;
    use core::time::Duration;
    use meter::{Meter, Settings};
    use wire::dissect::Link;
    use wire::goose::{Pdu, UtcTime};

    thread_local! {
        static VISITS: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn count_visit() {
        VISITS.set(VISITS.get() + 1);
    }

    /// Frame of this control block, which allows this time until the next.
    fn frame(block: u16, sequence: u32, allowed_ms: u32) -> Vec<u8> {
        let name = format!("LD{block}/LLN0$GO$gcb");
        let pdu = Pdu {
            appid: block,
            reserved: [0; 2],
            control_block: name.as_bytes(),
            time_allowed_to_live_ms: allowed_ms,
            data_set: b"set",
            identifier: None,
            time: UtcTime([0; 8]),
            state_number: 1,
            sequence_number: sequence,
            is_simulated: false,
            configuration_revision: 1,
            needs_commissioning: false,
            entries: 0,
            data: &[],
        };
        let ends = [1, 0x0C, 0xCD, 1, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 0xB8];
        [&ends[..], &pdu.encode()].concat()
    }

    fn observe(meter: &mut Meter, nanos: u64, octets: &[u8]) {
        meter.observe(Instant::from_nanos(nanos), Link::Ethernet, octets, octets.len());
    }

    /// Compares the streams with all reports of the meter, summed and sorted.
    #[track_caller]
    fn check(followed: &FollowedStreams, meter: &Meter) {
        let until = meter.last().unwrap();
        let all = meter.each_stream();
        let figures = all.iter().map(|report| CyclicStream::figures(report, until));
        let mut figures: Vec<_> = figures.collect();
        let mut totals = CyclicTotals::default();
        figures.iter().for_each(|it| totals.add(it));
        assert_eq!(followed.totals(CyclicTotals::default()), totals);
        figures.sort_by(CyclicStream::worse);
        let worst: Vec<_> = followed.worst(7).iter().map(|it| it.figures().clone()).collect();
        assert_eq!(worst, figures[..worst.len()]);
        assert_eq!(worst.len(), 7.min(all.len()));
        assert!(followed.reports().eq(&all));
    }

    #[test]
    fn kept_sums_and_ranks_are_those_of_all_streams() {
        let mut meter = Meter::new(Settings::every(Duration::from_secs(1)));
        let (mut followed, mut draw, mut nanos) = (FollowedStreams::default(), 2_026_u64, 0_u64);
        let mut below = |limit: u64| {
            draw = draw
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (draw >> 33) % limit
        };
        let (mut sequences, mut silent) = ([0_u32; 40], 0);
        for _ in 0..400 {
            for _ in 0..below(6) {
                let block = below(40) as usize;
                sequences[block] += 1 + below(8).saturating_sub(5) as u32;
                nanos += below(3_000) * 1_000_000;
                // Multiples of a millisecond, so that frames come at deadlines, too; zero allows any time.
                let octets = frame(block as u16, sequences[block], below(9) as u32 * 1_000);
                observe(&mut meter, nanos, &octets);
            }
            let Some(until) = meter.last() else { continue };
            followed.update(meter.take_changed_streams(), Some(until));
            check(&followed, &meter);
            meter.begin_stream_interval();
            silent += followed.totals(CyclicTotals::default()).silent_at_end;
        }
        assert!(silent > 400, "{silent}");
        // A stream that the meter removes takes its part of the sums along.
        let key = meter.each_stream()[3].key.clone();
        let before = followed.totals(CyclicTotals::default());
        let changed = ChangedStreams { removed: vec![key.clone()], ..ChangedStreams::default() };
        followed.update(changed, meter.last());
        let after = followed.totals(CyclicTotals::default());
        assert_eq!((after.streams, followed.ranks.len()), (before.streams - 1, 39));
        assert!(after.frames < before.frames && followed.reports().all(|it| it.key != key));
        assert!(followed.deadlines.iter().all(|(_, other)| other.as_deref() != Some(&key)));
    }

    #[test]
    fn a_frame_of_one_stream_costs_nothing_for_all_others() {
        const STREAMS: u16 = 2_000;
        let mut meter = Meter::new(Settings::every(Duration::from_secs(1)));
        let mut followed = FollowedStreams::default();
        let mut visits = |meter: &mut Meter| {
            VISITS.set(0);
            followed.update(meter.take_changed_streams(), meter.last());
            assert_eq!(followed.worst(20).len(), 20);
            assert_eq!(followed.totals(CyclicTotals::default()).streams, u64::from(STREAMS));
            VISITS.get()
        };
        for block in 0..STREAMS {
            observe(&mut meter, u64::from(block), &frame(block, 1, 10_000));
        }
        assert!(visits(&mut meter) >= STREAMS.into());
        observe(&mut meter, 2_000_000_000, &frame(7, 2, 10_000));
        let few = visits(&mut meter);
        assert!((1..=10).contains(&few), "{few}");
        // All but the stream of this frame and of the last one are silent.
        observe(&mut meter, 11_000_000_000, &frame(8, 2, 10_000));
        assert!(visits(&mut meter) >= usize::from(STREAMS) - 2);
        assert_eq!(followed.totals(CyclicTotals::default()).silent_at_end, u64::from(STREAMS) - 2);
    }
}

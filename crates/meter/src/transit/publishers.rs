//! One-way transit of the frames of cyclic data between two taps, stream by stream.
//!
//! Definition: a frame is recognised at the other tap by its stream and its number: stNum and sqNum, or
//! the counter of its protocol. Its transit is the difference of the two stamps. A frame that the other
//! tap does not see within 500 ms is alone, so that a counter that rolls over is not taken for a copy: the
//! shortest, smpCnt of SV, does so after a second. Bias: with two clocks their difference is part of each
//! transit; of copies at a tap the first is matched, and others are alone. Left out: EtherCAT, PTP,
//! datagrams, and frames without a number.
//!
//! Memory is bounded: frames of further streams are counted, and a stream whose frames do not reach the
//! other tap keeps the last ones.

use super::Tap;
use crate::follow::cyclic::{Frame, Numbered, StreamKey};
use crate::measure::{Distribution, Summary};
use std::collections::{BTreeMap, VecDeque};
use wire::time::Instant;

/// Longest transit; copies further apart are not matched.
const LONGEST_NS: u64 = 500_000_000;
/// Maximum number of streams.
const STREAMS: usize = 4_096;
/// Maximum number of frames of a stream that wait for the other tap.
const WAITING: usize = 4_096;

/// Frame that waits for the other tap.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    number: u64,
    at: Instant,
}

/// Stream in the making.
#[derive(Clone, Default, Debug)]
struct OfStream {
    frames: [u64; 2],
    alone: [u64; 2],
    waiting: [VecDeque<Waiting>; 2],
    /// Near to far, and far to near.
    transits: [Distribution; 2],
}

/// Transits of a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StreamTransit {
    /// Identity.
    pub key: StreamKey,
    /// Frames at each tap.
    pub frames: [u64; 2],
    /// Frames at each tap that the other did not see within 500 ms.
    pub alone: [u64; 2],
    /// Transits from near to far, and from far to near.
    pub ways: [Summary; 2],
}

/// Streams at both taps.
#[derive(Clone, Default, Debug)]
pub(super) struct Publishers {
    streams: BTreeMap<StreamKey, OfStream>,
    left_out: u64,
}

impl OfStream {
    fn observe(&mut self, tap: Tap, now: Waiting) {
        let (own, other) = (tap as usize, tap.other() as usize);
        self.frames[own] += 1;
        self.expire(now.at);
        let place = self.waiting[other].iter().position(|it| it.number == now.number);
        let Some(first) = place.and_then(|place| self.waiting[other].remove(place)) else {
            if self.waiting[own].len() == WAITING {
                self.waiting[own].pop_front();
                self.alone[own] += 1;
            }
            self.waiting[own].push_back(now);
            return;
        };
        // With two clocks the frames of the taps come in any order.
        let (near, far) = match tap {
            Tap::Near => (now.at, first.at),
            Tap::Far => (first.at, now.at),
        };
        match far.as_nanos().checked_sub(near.as_nanos()) {
            Some(there) => self.transits[0].record_nanos(there),
            None => self.transits[1].record_nanos(near.nanos_since(far)),
        }
    }

    /// Gives up frames that have waited for too long.
    fn expire(&mut self, now: Instant) {
        let least_ns = now.as_nanos().saturating_sub(LONGEST_NS);
        for (waiting, alone) in self.waiting.iter_mut().zip(&mut self.alone) {
            while waiting.pop_front_if(|it| it.at.as_nanos() < least_ns).is_some() {
                *alone += 1;
            }
        }
    }
}

impl Publishers {
    /// Processes a frame at a tap; returns false if it holds no cyclic data.
    pub(super) fn observe(
        &mut self,
        tap: Tap,
        at: Instant,
        octets: &[u8],
        original: usize,
    ) -> bool {
        let Self { streams, left_out } = self;
        Frame::each(octets, original, |frame| {
            let Some(Numbered { key, number }) = Numbered::of(&frame) else { return };
            let now = Waiting { number, at };
            if streams.len() < STREAMS || streams.contains_key(&key) {
                streams.entry(key).or_default().observe(tap, now);
            } else {
                *left_out += 1;
            }
        })
    }

    /// The streams in the order of their keys, and the number of frames of streams beyond the limit.
    pub(super) fn finish(self) -> (Vec<StreamTransit>, u64) {
        let told = |(key, stream): (StreamKey, OfStream)| {
            let OfStream { frames, mut alone, waiting, transits } = stream;
            for (alone, waiting) in alone.iter_mut().zip(&waiting) {
                *alone += waiting.len() as u64;
            }
            let ways = transits.each_ref().map(Distribution::summary);
            StreamTransit { key, frames, alone, ways }
        };
        (self.streams.into_iter().map(told).collect(), self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frame of PROFINET RT with this counter.
    fn frame(counter: u16) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0x92, 0x80, 1];
        frame.extend([0; 40]);
        frame.extend(counter.to_be_bytes());
        frame.extend([0x35, 0]);
        frame
    }

    fn at(micros: u64) -> Instant {
        Instant::from_nanos(micros * 1_000)
    }

    /// Observes frames, each at a tap at a time in microseconds, and returns the only stream.
    fn found(frames: impl IntoIterator<Item = (Tap, u64, u16)>) -> StreamTransit {
        let mut publishers = Publishers::default();
        for (tap, micros, counter) in frames {
            let octets = frame(counter);
            assert!(publishers.observe(tap, at(micros), &octets, octets.len()));
        }
        let (streams, left_out) = publishers.finish();
        let [stream] = &streams[..] else { panic!("{streams:?}") };
        assert_eq!(left_out, 0);
        stream.clone()
    }

    #[test]
    fn a_frame_is_found_at_the_other_tap_by_its_number() {
        // Each of 5,000 takes 100 us, one of a hundred 400 us, so that it is overtaken; one of a
        // thousand is lost. The counter rolls over each 2,048 frames.
        let each = (0..5_000_u64).flat_map(|n| {
            let (sent, counter) = (n * 1_000, (n * 32) as u16);
            let took = if n % 100 == 7 { 1_400 } else { 100 };
            let arrives = (n % 1_000 != 500).then_some((Tap::Far, sent + took, counter));
            [Some((Tap::Near, sent, counter)), arrives].into_iter().flatten()
        });
        let mut all: Vec<_> = each.collect();
        all.sort_by_key(|(_, micros, _)| *micros);
        let stream = found(all);
        assert_eq!((stream.frames, stream.alone), ([5_000, 4_995], [5, 0]));
        let [there, back] = stream.ways;
        assert_eq!((there.count, there.min_ns, there.max_ns), (4_995, 100_000, 1_400_000));
        assert!((100_000..=100_800).contains(&there.p50_ns), "{there:?}");
        assert_eq!(back, Summary::default());
    }

    #[test]
    fn a_frame_that_goes_back_and_one_too_late_are_told_apart() {
        let back = found([(Tap::Far, 10, 0), (Tap::Near, 60, 0)]);
        assert_eq!((back.ways[0].count, back.ways[1].max_ns), (0, 50_000));
        let late = found([(Tap::Near, 0, 0), (Tap::Far, 500_001, 0)]);
        assert_eq!((late.alone, late.ways[0].count), ([1, 1], 0));
        // Read in another order, as two captures are.
        let other = found([(Tap::Far, 90, 32), (Tap::Near, 20, 32)]);
        assert_eq!((other.ways[0].max_ns, other.alone), (70_000, [0; 2]));
    }

    #[test]
    fn frames_that_never_arrive_take_bounded_memory() {
        let mut publishers = Publishers::default();
        for n in 0..20_000_u64 {
            let octets = frame(n as u16);
            publishers.observe(Tap::Near, at(n), &octets, octets.len());
        }
        let stream = publishers.streams.values().next().unwrap();
        assert_eq!(stream.waiting[0].len(), WAITING);
        assert_eq!(stream.alone[0] + stream.waiting[0].len() as u64, 20_000);
    }
}

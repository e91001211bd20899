//! One-way transit of the frames of cyclic data between two taps, stream by stream.
//!
//! Definition: a frame is recognised at the other tap by its stream and its number (`numbered`). Its transit
//! is the difference of the two stamps, of up to 450 ms either way. A number that comes again at a tap within
//! twice that time is repeated, and none of its frames is matched, because nothing tells which of them the
//! other tap saw: so a lost frame never gives the transit of another. A frame directly behind one with its
//! number, within 1 ms and an eighth of the gap before, is a copy of a mirror port: it is repeated too, and
//! the first is matched. smpCnt of SV, which comes again after a second, is not repeated. The two frames of
//! PRP or HSR have a number for each LAN or direction, so that one is never taken for the other.
//!
//! Bias: with two clocks their difference is part of each transit. Left out: frames without a number, which
//! are counted. A device of EtherCAT changes the frame that passes it, and a bridge of 802.1AS sends messages
//! of its own: such frames are not matched across it.
//!
//! Memory is bounded: frames of further streams are counted, and the frame that has waited for longest makes
//! room for another.

use super::Tap;
use crate::follow::cyclic::{
    COPY_NS, COPY_SHARE, EARLY_COPY_NS, Frame, Numbered, StreamKey, is_for,
};
use crate::measure::{Distribution, Summary};
use core::hash::BuildHasher as _;
use foldhash::fast::FixedState;
use std::collections::{BTreeMap, BTreeSet};
use wire::dissect::Datagram;
use wire::prp::{Lan, Marked, may_be_marked};
use wire::time::Instant;

/// Longest transit.
const LONGEST_NS: u64 = 450_000_000;
/// Time within which a number that comes again at a tap is repeated. If it came again later, and the first
/// frame were lost, the second would be further than the longest transit from either, by clocks that are up
/// to as much apart.
const AGAIN_NS: u64 = 2 * LONGEST_NS;
/// Maximum number of streams.
const STREAMS: usize = 4_096;
/// Maximum number of numbers that wait.
pub(super) const WAITING: usize = 1 << 17;

/// Number of a frame of a stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key {
    /// Place of the stream.
    stream: u32,
    number: u64,
}

/// Frame that may still be matched.
#[derive(Clone, Copy, Debug)]
struct Sighting {
    /// Time of the frame at each tap.
    at: [Option<Instant>; 2],
    is_repeated: bool,
    due: Instant,
}

/// Last frame of a stream at a tap that is no copy.
#[derive(Clone, Copy, Debug)]
struct Last {
    number: u64,
    at: Instant,
    /// Time within which a frame with its number is a copy.
    copy_ns: u64,
}

/// Stream in the making.
#[derive(Clone, Default, Debug)]
struct OfStream {
    frames: [u64; 2],
    alone: [u64; 2],
    repeated: [u64; 2],
    unnumbered: [u64; 2],
    last: [Option<Last>; 2],
    /// Near to far, and far to near.
    transits: [Distribution; 2],
}

/// Transits of a stream. At each tap a frame is matched, or one of those that are alone, repeated or
/// unnumbered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StreamTransit {
    /// Identity.
    pub key: StreamKey,
    /// Frames at each tap.
    pub frames: [u64; 2],
    /// Frames at each tap that the other did not see within 450 ms.
    pub alone: [u64; 2],
    /// Copies at each tap, and frames of which the number came again at a tap within 900 ms.
    pub repeated: [u64; 2],
    /// Frames at each tap without a number.
    pub unnumbered: [u64; 2],
    /// Transits from near to far, and from far to near.
    pub ways: [Summary; 2],
}

/// Streams at both taps.
#[derive(Clone, Default, Debug)]
pub(super) struct Publishers {
    places: BTreeMap<StreamKey, u32>,
    streams: Vec<OfStream>,
    waiting: BTreeMap<Key, Sighting>,
    /// The same, by the time at which they are settled.
    due: BTreeSet<(Instant, Key)>,
    left_out: u64,
}

/// Frame that passes a tap.
#[derive(Clone, Copy, Debug)]
struct Passing {
    tap: Tap,
    at: Instant,
    /// LAN or direction of a frame of PRP or HSR.
    lan: Option<Lan>,
}

/// Mark of PRP or HSR of a frame; none if it has none.
fn mark(octets: &[u8], original: usize) -> Option<Marked<'_>> {
    let is_whole = octets.len() >= original;
    may_be_marked(octets).then(|| Marked::of(octets, is_whole)).flatten()
}

impl Last {
    /// True if a frame with this number at this time is a copy; else it takes the place of the last one.
    fn is_copied(last: &mut Option<Self>, number: u64, at: Instant) -> bool {
        let copy_ns = match last {
            None => EARLY_COPY_NS,
            Some(last) => {
                let gap_ns = at.as_nanos().saturating_sub(last.at.as_nanos());
                let is_same = last.number == number;
                if is_same && gap_ns <= last.copy_ns {
                    return true;
                }
                // A number that stands still has no copies.
                if is_same { 0 } else { COPY_NS.min(gap_ns / COPY_SHARE) }
            }
        };
        *last = Some(Self { number, at, copy_ns });
        false
    }
}

impl Sighting {
    /// Time from one tap to the other; none of a frame that one tap alone saw.
    fn took_ns(&self) -> Option<u64> {
        let [Some(near), Some(far)] = self.at else { return None };
        Some(near.as_nanos().abs_diff(far.as_nanos()))
    }
}

impl OfStream {
    /// Counts a frame of which no number came again.
    fn settle(&mut self, sighting: &Sighting) {
        let Sighting { at, is_repeated: false, .. } = sighting else { return };
        if let Some(took_ns) = sighting.took_ns() {
            let [near, far] = at;
            self.transits[usize::from(far < near)].record_nanos(took_ns);
            return;
        }
        for (alone, at) in self.alone.iter_mut().zip(at) {
            *alone += u64::from(at.is_some());
        }
    }
}

impl Publishers {
    /// Processes a frame of Ethernet at a tap; returns false if it holds no cyclic data, or a datagram with
    /// some.
    pub(super) fn observe(
        &mut self,
        tap: Tap,
        at: Instant,
        octets: &[u8],
        original: usize,
    ) -> bool {
        let marked = mark(octets, original);
        let passing = Passing { tap, at, lan: marked.map(|marked| marked.lan) };
        match marked {
            Some(marked) => {
                let plain = marked.plain();
                let original = plain.len() + original.saturating_sub(octets.len());
                Frame::each(&plain, original, |frame| self.frame(passing, &frame))
            }
            None => Frame::each(octets, original, |frame| self.frame(passing, &frame)),
        }
    }

    /// Processes a datagram of UDP at a tap, in a frame of these octets.
    pub(super) fn datagram(
        &mut self,
        tap: Tap,
        at: Instant,
        octets: &[u8],
        original: usize,
        datagram: Datagram<'_>,
    ) {
        if is_for(&datagram) {
            let lan = mark(octets, original).map(|marked| marked.lan);
            let passing = Passing { tap, at, lan };
            Frame::each_of_datagram(datagram, 0, None, |frame| self.frame(passing, &frame));
        }
    }

    fn frame(&mut self, passing: Passing, frame: &Frame<'_>) {
        let Passing { tap, at, lan } = passing;
        let Some(Numbered { key, number }) = Numbered::of(frame) else { return };
        let Some(place) = self.place(key) else {
            self.left_out += 1;
            return;
        };
        let Some(stream) = self.streams.get_mut(place as usize) else { return };
        let own = tap as usize;
        stream.frames[own] += 1;
        let Some(number) = number else {
            stream.unnumbered[own] += 1;
            return;
        };
        let of_lan = |lan: Lan| FixedState::with_seed(1).hash_one((number, lan == Lan::B));
        let number = lan.map_or(number, of_lan);
        if Last::is_copied(&mut stream.last[own], number, at) {
            stream.repeated[own] += 1;
        } else {
            self.numbered(tap, at, Key { stream: place, number });
        }
    }

    /// Place of a stream, new if need be; none if there is no room for it.
    fn place(&mut self, key: StreamKey) -> Option<u32> {
        if let Some(place) = self.places.get(&key) {
            return Some(*place);
        }
        if self.streams.len() == STREAMS {
            return None;
        }
        let place = self.streams.len() as u32;
        self.streams.push(OfStream::default());
        self.places.insert(key, place);
        Some(place)
    }

    fn numbered(&mut self, tap: Tap, now: Instant, key: Key) {
        self.settle_due(now);
        let due = Instant::from_nanos(now.as_nanos().saturating_add(AGAIN_NS));
        let own = tap as usize;
        let Some(sighting) = self.waiting.get_mut(&key) else {
            if self.waiting.len() == WAITING {
                self.settle_first();
            }
            self.wait(own, now, key);
            return;
        };
        let first = &mut sighting.at[own];
        if first.is_none() && !sighting.is_repeated {
            *first = Some(now);
            if sighting.took_ns().is_some_and(|took_ns| took_ns > LONGEST_NS) {
                // The other tap saw an earlier frame.
                self.begin_again(own, now, key);
            }
            return;
        }
        // Whatever comes within the time from here on may belong to this frame or to an earlier one.
        self.due.remove(&(sighting.due, key));
        sighting.due = due.max(sighting.due);
        self.due.insert((sighting.due, key));
        let Some(stream) = self.streams.get_mut(key.stream as usize) else { return };
        stream.repeated[own] += 1;
        if !core::mem::replace(&mut sighting.is_repeated, true) {
            for (repeated, at) in stream.repeated.iter_mut().zip(sighting.at) {
                *repeated += u64::from(at.is_some());
            }
        }
    }

    /// Settles the frame that the other tap saw, and lets that of this tap wait.
    fn begin_again(&mut self, own: usize, now: Instant, key: Key) {
        let Some(mut before) = self.waiting.remove(&key) else { return };
        self.due.remove(&(before.due, key));
        before.at[own] = None;
        if let Some(stream) = self.streams.get_mut(key.stream as usize) {
            stream.settle(&before);
        }
        self.wait(own, now, key);
    }

    /// Lets a frame wait, of whose number none does.
    fn wait(&mut self, own: usize, now: Instant, key: Key) {
        let due = Instant::from_nanos(now.as_nanos().saturating_add(AGAIN_NS));
        let mut at = [None; 2];
        at[own] = Some(now);
        self.waiting.insert(key, Sighting { at, is_repeated: false, due });
        self.due.insert((due, key));
    }

    /// Settles what has waited for long enough.
    fn settle_due(&mut self, now: Instant) {
        while self.due.first().is_some_and(|(due, _)| *due < now) {
            self.settle_first();
        }
    }

    /// Settles what has waited for longest.
    fn settle_first(&mut self) {
        let Some((_, key)) = self.due.pop_first() else { return };
        let Some(sighting) = self.waiting.remove(&key) else { return };
        if let Some(stream) = self.streams.get_mut(key.stream as usize) {
            stream.settle(&sighting);
        }
    }

    /// Number of numbers that wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The streams in the order of their keys, and the number of frames of streams beyond the limit.
    pub(super) fn finish(mut self) -> (Vec<StreamTransit>, u64) {
        while !self.due.is_empty() {
            self.settle_first();
        }
        let Self { places, streams, left_out, .. } = self;
        let told = |(key, place): (StreamKey, u32)| {
            let stream = streams.get(place as usize)?;
            let OfStream { frames, alone, repeated, unnumbered, transits, .. } = stream;
            let ways = transits.each_ref().map(Distribution::summary);
            let [frames, alone, repeated, unnumbered] =
                [frames, alone, repeated, unnumbered].map(|counts| *counts);
            Some(StreamTransit { key, frames, alone, repeated, unnumbered, ways })
        };
        (places.into_iter().filter_map(told).collect(), left_out)
    }
}

#[cfg(test)]
mod kinds;
#[cfg(test)]
mod tests;

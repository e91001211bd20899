//! Governor: limits a station's load on a LAN with two token buckets and a queue.
//!
//! Time is an argument, so that the arithmetic can be tested without waiting.

use super::is_rendezvous;
use core::time::Duration;
use stack::station::Frame;
use std::collections::VecDeque;
use wire::control::Limits;
use wire::time::{Instant, nanos};
use wire::units::BitRate;

const NANOS_PER_SECOND: i128 = 1_000_000_000;
/// Octets of preamble and start delimiter, and of the FCS.
const AROUND: usize = 8 + 4;
/// Minimum frame length without FCS.
const SHORTEST: usize = 60;
/// A bucket holds the tokens of this fraction of a second: a tenth.
const BURSTS_PER_SECOND: u64 = 10;

/// Load allowed on a LAN without its owner's consent: 100 frames/s and 1 % of the link's bits. Both
/// limits apply. A link of unknown rate counts as 10 Mbit/s.
#[must_use]
pub fn default_limits(link: Option<BitRate>) -> Limits {
    let link = link.unwrap_or(BitRate::mbps(10));
    Limits { frames_per_second: 100, bits_per_second: link.bits_per_second() / 100 }
}

/// Bits of a frame on an 802.3 wire, with preamble, padding and FCS, without the gap.
fn wire_bits(frame: &Frame) -> u64 {
    (frame.len().max(SHORTEST) + AROUND) as u64 * 8
}

/// Token bucket. It may fall into debt, which later tokens pay off first.
#[derive(Clone, Debug)]
pub struct Bucket {
    per_second: u64,
    /// Level in units of 1e-9 token, so that a nanosecond adds a whole number of them.
    level: i128,
    full: i128,
    at: Instant,
}

impl Bucket {
    /// Creates a full bucket that gains `per_second` tokens a second and holds `burst`.
    #[must_use]
    pub fn new(now: Instant, per_second: u64, burst: u64) -> Self {
        let full = i128::from(burst.max(1)) * NANOS_PER_SECOND;
        Self { per_second, level: full, full, at: now }
    }

    /// Time at which `tokens` may be taken: `now` or later. More tokens than the bucket holds may be
    /// taken once it is full. `None` if the rate is 0 and the level does not suffice.
    #[must_use]
    pub fn ready(&mut self, now: Instant, tokens: u64) -> Option<Instant> {
        let grown = i128::from(nanos(now - self.at)) * i128::from(self.per_second);
        self.level = (self.level + grown).min(self.full);
        self.at = self.at.max(now);
        let missing = (i128::from(tokens) * NANOS_PER_SECOND).min(self.full) - self.level;
        if missing <= 0 {
            return Some(now);
        }
        let rate = i128::from(self.per_second);
        let wait = (missing + rate - 1).checked_div(rate)?;
        Some(now + Duration::from_nanos(u64::try_from(wait).unwrap_or(u64::MAX)))
    }

    /// Takes tokens, into debt if need be.
    pub fn take(&mut self, tokens: u64) {
        self.level -= i128::from(tokens) * NANOS_PER_SECOND;
    }
}

/// Decision about a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Send it now.
    Go,
    /// It was queued.
    Queued,
    /// The queue was full: the frame is lost.
    Dropped,
}

/// Two buckets, one of frames and one of bits, and a queue for frames that exceed them.
#[derive(Clone, Debug)]
pub struct Governor {
    limits: Limits,
    frames: Bucket,
    bits: Bucket,
    queue: VecDeque<Frame>,
    capacity: usize,
}

impl Governor {
    /// Creates a governor with full buckets, each for a tenth of a second.
    #[must_use]
    pub fn new(now: Instant, limits: Limits, queue_frames: usize) -> Self {
        let frames = u64::from(limits.frames_per_second);
        let bits = limits.bits_per_second;
        Self {
            limits,
            frames: Bucket::new(now, frames, frames / BURSTS_PER_SECOND),
            bits: Bucket::new(now, bits, bits / BURSTS_PER_SECOND),
            queue: VecDeque::new(),
            capacity: queue_frames,
        }
    }

    /// Limits in force.
    #[must_use]
    pub const fn limits(&self) -> Limits {
        self.limits
    }

    /// Frames in the queue.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Changes the limits from now on. The queue stays.
    pub fn set(&mut self, now: Instant, limits: Limits) {
        let queue = core::mem::take(&mut self.queue);
        *self = Self { queue, ..Self::new(now, limits, self.capacity) };
    }

    /// Decides about a frame to be sent. Frames of the control session are always sent, on credit
    /// if need be: behind a full queue an Alive or a Stop would come too late.
    pub fn offer(&mut self, now: Instant, frame: &Frame) -> Verdict {
        if is_rendezvous(frame) {
            self.charge(frame);
            return Verdict::Go;
        }
        if self.queue.is_empty() && self.ready(now, frame).is_some_and(|at| at <= now) {
            self.charge(frame);
            return Verdict::Go;
        }
        if self.queue.len() >= self.capacity {
            return Verdict::Dropped;
        }
        self.queue.push_back(frame.clone());
        Verdict::Queued
    }

    /// Returns the next frame of the queue, if it may be sent now.
    pub fn release(&mut self, now: Instant) -> Option<Frame> {
        if self.due(now)? > now {
            return None;
        }
        let frame = self.queue.pop_front()?;
        self.charge(&frame);
        Some(frame)
    }

    /// Empties the queue; returns the number of discarded frames.
    pub fn discard(&mut self) -> usize {
        core::mem::take(&mut self.queue).len()
    }

    /// Time at which the next frame of the queue may be sent; `None` if the queue is empty.
    pub fn due(&mut self, now: Instant) -> Option<Instant> {
        let frame = self.queue.front()?.clone();
        Some(self.ready(now, &frame).unwrap_or(Instant::MAX))
    }

    fn ready(&mut self, now: Instant, frame: &Frame) -> Option<Instant> {
        let frames = self.frames.ready(now, 1)?;
        Some(frames.max(self.bits.ready(now, wire_bits(frame))?))
    }

    fn charge(&mut self, frame: &Frame) {
        self.frames.take(1);
        self.bits.take(wire_bits(frame));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    const START: Instant = Instant::from_nanos(7_000_000_000);

    fn frame(octets: usize) -> Frame {
        Frame::new(Bytes::from(vec![0; octets]))
    }

    fn alive() -> Frame {
        let mut octets = vec![2; 12];
        octets.extend([0, 3, 0x7C, 0x7C, 3]);
        Frame::new(Bytes::from(octets))
    }

    /// Number of frames sent in a second with continuous demand.
    fn frames_in_a_second(mut governor: Governor, size: usize) -> u64 {
        let end = START + Duration::from_secs(1);
        let (mut now, mut sent) = (START, 0);
        loop {
            match governor.offer(now, &frame(size)) {
                Verdict::Go => sent += 1,
                Verdict::Queued => {}
                Verdict::Dropped => unreachable!("one frame at a time is queued"),
            }
            while let Some(due) = governor.due(now) {
                now = due;
                if now >= end {
                    return sent;
                }
                sent += u64::from(governor.release(now).is_some());
            }
        }
    }

    #[test]
    fn a_second_carries_the_rate_and_one_burst() {
        let limits = Limits { frames_per_second: 100, bits_per_second: u64::MAX >> 1 };
        // A burst of 10, then one every 10 ms: at 10, 20, ... 990 ms.
        assert_eq!(frames_in_a_second(Governor::new(START, limits, 8), 60), 10 + 99);
        let limits = Limits { frames_per_second: u32::MAX, bits_per_second: 576_000 };
        // A frame of 60 octets takes 72 x 8 = 576 bits: 1,000 a second. A burst of 100, then one
        // every millisecond: at 1, 2, ... 999 ms.
        assert_eq!(frames_in_a_second(Governor::new(START, limits, 8), 60), 100 + 999);
    }

    #[test]
    fn a_frame_larger_than_the_bucket_waits_until_it_is_full() {
        // 1,000 bits/s, so the bucket holds 100; a frame of 113 octets takes (113 + 12) x 8 =
        // 1,000.
        let limits = Limits { frames_per_second: 1_000, bits_per_second: 1_000 };
        let mut governor = Governor::new(START, limits, 8);
        assert_eq!(governor.offer(START, &frame(113)), Verdict::Go);
        assert_eq!(governor.offer(START, &frame(113)), Verdict::Queued);
        // The debt of 900 and the bucket of 100 take one second.
        assert_eq!(governor.due(START), Some(START + Duration::from_secs(1)));
        assert!(governor.release(START + Duration::from_nanos(999_999_999)).is_none());
        assert!(governor.release(START + Duration::from_secs(1)).is_some());
    }

    #[test]
    fn the_queue_is_bounded_and_control_frames_bypass_it() {
        let limits = Limits { frames_per_second: 1, bits_per_second: 1_000_000 };
        let mut governor = Governor::new(START, limits, 2);
        let verdicts = [(); 4].map(|()| governor.offer(START, &frame(60)));
        let expected = [Verdict::Go, Verdict::Queued, Verdict::Queued, Verdict::Dropped];
        assert_eq!(verdicts, expected);
        assert_eq!(governor.offer(START, &alive()), Verdict::Go);
        // The first frame and the Alive must be paid for before the next may be sent.
        assert_eq!(governor.due(START), Some(START + Duration::from_secs(2)));
    }

    #[test]
    fn without_new_tokens_no_frame_is_sent() {
        let mut governor = Governor::new(START, Limits::NONE, 2);
        // A bucket holds at least one token, so one frame is sent and no second one.
        assert_eq!(governor.offer(START, &frame(60)), Verdict::Go);
        assert_eq!(governor.offer(START, &frame(60)), Verdict::Queued);
        assert_eq!(governor.due(START), Some(Instant::MAX));
        assert_eq!(governor.offer(START, &alive()), Verdict::Go);
    }

    #[test]
    fn limits_may_change_while_frames_wait() {
        let mut governor = Governor::new(START, Limits::NONE, 2);
        assert_eq!(governor.offer(START, &frame(60)), Verdict::Go);
        assert_eq!(governor.offer(START, &frame(60)), Verdict::Queued);
        governor.set(START, Limits { frames_per_second: 10, bits_per_second: 1_000_000 });
        assert!(governor.release(START).is_some());
    }

    #[test]
    fn without_consent_a_link_carries_a_hundredth() {
        let limits = default_limits(Some(BitRate::mbps(100)));
        assert_eq!(limits, Limits { frames_per_second: 100, bits_per_second: 1_000_000 });
        assert_eq!(default_limits(None).bits_per_second, 100_000);
    }
}

//! Fast path: common frames, read at fixed offsets and counted in batches.
//!
//! The meter has one entry for each frame, [`Meter::count`]. It counts the frame, or leaves it
//! untouched for dissection (`Meter::dissect`, the slow path). The rest of the crate sees this
//! folder as two fields, which it settles and never looks into: [`RecentSides`] in the tracker,
//! and [`Frames`] in the intervals. The test `two_fields_hold_the_state_of_the_fast_path` compares
//! the sources with that list.
//!
//! Between the two lies a second path, for frames that the fast path cannot take: a
//! TCP segment of any kind (`pieces`), an NSDU of any network layer (`nsdus`), and cyclic data
//! (`cyclic`). Their headers are read once; then the code that processes a dissected frame processes
//! them, or, for a DT or AK, that of a common frame.
//!
//! # Invariants
//!
//! 1. **Frames that it may take.** A frame that is (a) one DT or AK over LLC on Ethernet and the
//!    inactive network layer, or in an unsegmented NSDU that was dissected, with valid parameters and
//!    no bad checksum, or (b) a TCP segment over IPv4
//!    without options, in sequence, with ACK and perhaps PSH; on Ethernet with at most one tag, Linux
//!    cooked, raw IP or BSD loopback. If its data is one DT of class 0 in a TPKT, some of it may be
//!    cut. Other data, and a stream without TPKTs, count apart with the code of dissection. Its
//!    connection or stream must be known already: new ones, and their ends, are made by dissection
//!    or on the second path. A DT that is not the next expected one, or beyond its credit, is
//!    processed by the function that processes a dissected one. While a caller asks for remarks,
//!    [`Meter::observe`] dissects every frame, because batches hold no observations.
//! 2. **All or nothing.** An entry that returns [`Handled::No`] has changed no count. It may have
//!    evicted connections that fell silent, as dissection would at the same time, and cached a
//!    lookup.
//! 3. **What it may remember.** Handles of a stream and of a connection, and the format of numbers,
//!    by the words of a frame that identify them. Each use asks the table if the handle is valid.
//!    It is not once the stream or connection was removed, or the keys of the connection changed;
//!    two connections never have the same key. The name of an NSDU is a hash, so each use compares
//!    the addresses and the reference too. The cache has at most 16,384 entries and evicts within
//!    sets of two.
//! 4. **Pending counts.** TPDUs of one kind and in the same size classes, to one side, are one
//!    [`Batch`](crate::measure::Batch). Batches are settled before a frame of another interval
//!    counts, before a connection is evicted and its place reused, before an entry with batches is
//!    replaced, and at the end of measuring. A report of the interval under way adds them to its
//!    copy and keeps them pending. For the busiest second, the TPDUs of the second that is over
//!    count before a frame of another second does, whether their batch is settled or stays pending.
//! 5. **Identical results.** A batch holds what the counters of its TPDUs have in common and the
//!    sums of the rest. All counters are sums, and maxima are per second; so the order of TPDUs
//!    within a second has no effect. State that depends on order (numbers, windows, delays, pairs
//!    of requests and replies) is not batched: both paths call the same functions of `track` and
//!    `stream` for it.
//! 6. **Proof.** `common_frames_count_as_they_do_dissected` and
//!    `common_segments_count_as_they_do_dissected`, next to the code, hold a meter of each path
//!    against the other on damaged, cut, late and doubled frames. `tests/it/ordinary.rs` writes such
//!    scripts, and the fuzz target `meter` searches for others. On the second path,
//!    `segments_are_read_as_they_are_dissected` compares what is read, and
//!    `cyclic_frames_count_as_they_do_dissected` the streams.

mod cache;
mod cyclic;
mod datagrams;
mod frames;
mod nsdus;
mod pieces;
mod segments;
mod sides;
mod tpdu;

pub(crate) use frames::Frames;
pub(crate) use sides::RecentSides;

use crate::Meter;
use datagrams::{BEFORE_NPDU, CommonFrame};
use segments::{CommonSegment, Counted};
use wire::dissect::Link;
use wire::time::Instant;

/// Result of the fast path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Handled {
    /// The frame is counted.
    Yes,
    /// The frame must be dissected; nothing was counted.
    No,
}

impl Meter {
    /// Counts a frame: here if it is common, otherwise by dissection.
    // Always inline, and the last call of each function has the arguments of its caller, so that a
    // common frame saves registers once.
    #[inline(always)]
    pub(crate) fn count(&mut self, at: Instant, link: Link, octets: &[u8], original_octets: usize) {
        // An 802.3 length begins with an octet of 5 at most, an EtherType with a greater one.
        match octets.get(12) {
            Some(..=5) if link.is_ethernet() => {
                self.count_datagram(at, link, octets, original_octets);
            }
            _ => self.count_segment(at, link, octets, original_octets),
        }
    }

    #[inline(never)]
    fn count_datagram(&mut self, at: Instant, link: Link, octets: &[u8], original_octets: usize) {
        let handled = match CommonFrame::of(link, octets, original_octets) {
            Some(frame) => self.common_frame(at, &frame),
            None => Handled::No,
        };
        if handled == Handled::No {
            self.other_datagram(at, link, octets, original_octets);
        }
    }

    #[inline(never)]
    fn count_segment(&mut self, at: Instant, link: Link, octets: &[u8], original_octets: usize) {
        if self.segment_in_turn(at, link, octets, original_octets) == Handled::No {
            self.plain_segment(at, link, octets, original_octets);
        }
    }

    /// Counts a TCP segment.
    #[inline(always)]
    fn segment_in_turn(
        &mut self,
        at: Instant,
        link: Link,
        octets: &[u8],
        original_octets: usize,
    ) -> Handled {
        let Some(segment) = CommonSegment::of(link, octets, original_octets) else {
            return Handled::No;
        };
        let Self { streams, tracker, intervals, .. } = self;
        let (before_packet, octets) = (segment.before_packet as u64, segment.lpdu_octets as u64);
        match streams.common_segment(at, &segment, tracker, intervals) {
            Counted::No => return Handled::No,
            Counted::Apart => {
                self.intervals.frames().apart(before_packet, octets);
                return Handled::Yes;
            }
            Counted::Common => {}
        }
        let is_cut = segment.is_cut() && self.intervals.has_data();
        self.intervals.frames().segment(before_packet, octets, segment.stream_octets(), is_cut);
        Handled::Yes
    }

    /// Counts a frame over LLC.
    #[inline]
    fn common_frame(&mut self, at: Instant, frame: &CommonFrame<'_>) -> Handled {
        if !self.tracker.common_frame(at, frame, &mut self.intervals) {
            return Handled::No;
        }
        let is_cut = frame.tpdu.is_cut() && self.intervals.has_data();
        self.intervals.frames().datagram(BEFORE_NPDU, frame.lpdu_octets as u64, is_cut);
        Handled::Yes
    }
}

//! Send window and receive window of a connection.
//!
//! Sequence numbers count modulo the format's modulus. Only the distance between two of them has a
//! meaning. Windows are far shorter than half the modulus, so the distance distinguishes old
//! numbers from new ones.

use super::ring::Ring;
use super::selective::{Blocks, Marks, Runs};
use bytes::Bytes;
use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use wire::time::Instant;
use wire::tp::{Format, selective_block};

/// `number + count`, modulo. The moduli of both formats are powers of two, so no division is
/// needed.
const fn advance(number: u32, count: u32, modulus: u32) -> u32 {
    number.wrapping_add(count) & (modulus - 1)
}

/// Distance of `number` from `from`, modulo.
const fn distance(from: u32, number: u32, modulus: u32) -> u32 {
    number.wrapping_sub(from) & (modulus - 1)
}

/// Maximum credit of the normal format.
const NORMAL_CREDIT: usize = 15;

/// Number of DTs after which a number may be mistaken for a later one: the modulus of the normal
/// format minus a window. Numbers of the extended format are not reused for hours, at any rate of a
/// LAN.
const fn reuse_after(modulus: u32) -> usize {
    if modulus == 128 { 128 - NORMAL_CREDIT } else { 0 }
}

/// DT that was sent and is retained until it is acknowledged (retention, ISO 8073 6.13). It stores
/// the position of its user data in its TSDU, so the octets have one owner, whatever the number of
/// DTs.
#[derive(Clone, Copy, Debug)]
struct Retained {
    /// Time of the last transmission.
    sent: Instant,
    /// Octets of its TSDU before it.
    from: usize,
    octets: u32,
    /// Number of TSDUs queued before its TSDU, modulo.
    tsdu: u32,
    transmissions: u32,
    end_of_tsdu: bool,
    /// True while the last copy is in a queue of this station.
    below: bool,
}

/// DT to be sent or retransmitted, with the position of its user data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    /// TPDU-NR.
    pub(super) number: u32,
    pub(super) end_of_tsdu: bool,
    /// Index of its TSDU, and position of its octets in that.
    tsdu: usize,
    from: usize,
    to: usize,
}

/// Result of an AK for the send window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Acknowledged {
    /// It is older than one already received, or acknowledges a DT never sent: ignored.
    OutOfSequence,
    /// It was in sequence and newly acknowledged `newly` DTs, possibly none.
    InSequence {
        newly: u32,
        /// True if a closed window was opened.
        opened: bool,
        /// Content that the peer may need to have confirmed.
        news: News,
        /// Round trip information.
        trip: Trip,
    },
}

/// Round trip information from the DTs that an AK newly covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Trip {
    /// None: each of them was sent more than once, or there are none.
    Unknown,
    /// One was sent once, but others were retransmitted after it: the AK may have waited for those.
    Waited,
    /// The one sent last was sent once, at this time: the AK answers that one.
    Since(Instant),
}

/// Classification of an AK that may require a flow control confirmation (12.2.3.9).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum News {
    /// No confirmation required.
    None,
    /// It repeats the one before it (12.2.3.9 a).
    Duplicate,
    /// It opened a closed or reduced window without acknowledging (12.2.3.9 b, c).
    Opened,
}

/// Send window, from lower window edge to upper window edge.
#[derive(Clone, Debug)]
pub(super) struct SendWindow {
    modulus: u32,
    /// LWE: first unacknowledged DT.
    lower_edge: u32,
    /// UWE, as a distance from the lower edge.
    credit: u32,
    /// Subsequence number and credit of the latest AK with the current lower edge.
    latest: (u16, u32),
    /// True if the peer closed or reduced its window and may be waiting for a confirmation of its
    /// AKs.
    in_doubt: bool,
    /// Highest upper edge received, as a distance from the lower edge (12.2.3.9 c).
    highest: u32,
    retained: VecDeque<Retained>,
    retained_octets: usize,
    /// Maximum octets that may be retained.
    most_octets: usize,
    /// TSDUs not acknowledged to their end, as queued by the user.
    tsdus: Ring<Option<Bytes>>,
    /// Number of TSDUs queued before the first of these, modulo.
    first_tsdu: u32,
    /// Number of these that were sent to their end, and octets sent of the next.
    sent_tsdus: usize,
    sent_octets: usize,
    queued_octets: usize,
    /// Times of the last transmission of the latest DTs, as far as their numbers may be mistaken
    /// for later ones.
    sent_at: VecDeque<Instant>,
    /// Maximum length of `sent_at`; 0 if numbers are not reused within any DT's lifetime.
    reuse_after: usize,
    /// Marks of the outstanding DTs, with selective acknowledgement.
    marks: Option<Box<Marks>>,
}

impl SendWindow {
    pub(super) fn new(modulus: u32, credit: u32) -> Self {
        Self {
            modulus,
            lower_edge: 0,
            credit,
            latest: (0, credit),
            in_doubt: false,
            highest: credit,
            retained: VecDeque::new(),
            retained_octets: 0,
            most_octets: usize::MAX,
            tsdus: Ring::new(),
            first_tsdu: 0,
            sent_tsdus: 0,
            sent_octets: 0,
            queued_octets: 0,
            sent_at: VecDeque::new(),
            reuse_after: reuse_after(modulus),
            marks: None,
        }
    }

    /// Marks outstanding DTs from now on; none is yet.
    pub(super) fn mark_arrivals(&mut self) {
        self.marks = Some(Box::default());
    }

    /// Opens the window with the peer's first credit; data already queued by the user stays queued.
    /// At most `most_octets` are ever sent and not acknowledged.
    pub(super) fn open(&mut self, modulus: u32, credit: u32, most_octets: usize) {
        (self.modulus, self.credit, self.latest) = (modulus, credit, (0, credit));
        (self.highest, self.most_octets) = (credit, most_octets);
        self.reuse_after = reuse_after(modulus);
    }

    /// Queues a TSDU for segmenting into DTs (6.3). An empty one still takes one DT.
    pub(super) fn queue(&mut self, tsdu: Bytes) {
        self.queued_octets += tsdu.len();
        *self.tsdus.append() = Some(tsdu);
    }

    /// Number of TSDUs not sent to their end.
    const fn queued_tsdus(&self) -> usize {
        self.tsdus.len() - self.sent_tsdus
    }

    /// Octets accepted from the user and not sent yet.
    pub(super) const fn queued_octets(&self) -> usize {
        self.queued_octets
    }

    pub(super) fn is_drained(&self) -> bool {
        self.retained.is_empty() && self.queued_tsdus() == 0
    }

    /// Returns true if data waits that the peer's credit does not permit.
    pub(super) fn is_blocked(&self) -> bool {
        self.queued_tsdus() > 0 && self.retained.len() as u32 >= self.credit
    }

    /// Earliest time for the next new DT, given the lifetime of an NSDU (M_LR).
    ///
    /// 12.2.3.5: a number must not be reused while a DT with it may be in transit. The peer accepts
    /// any number within its window, so a number counts as reused one window before it is sent
    /// again.
    pub(super) fn reusable_at(&self, lifetime: Duration) -> Option<Instant> {
        let full = self.reuse_after > 0 && self.sent_at.len() >= self.reuse_after;
        self.sent_at.front().filter(|_| full).map(|oldest| *oldest + lifetime)
    }

    /// Returns true if there is a new DT to send and credit for it.
    pub(super) fn has_new(&self) -> bool {
        self.queued_tsdus() > 0
            && (self.retained.len() as u32) < self.credit
            && self.retained_octets < self.most_octets
    }

    /// Returns true if the DT that [`SendWindow::take_new`] is about to take is the last for now:
    /// no further data, or no further credit.
    pub(super) fn next_is_last(&self, octets: usize) -> bool {
        let all = self.queued_tsdus() == 1 && self.queued_octets <= octets;
        all || self.retained.len() as u32 + 1 >= self.credit
    }

    /// Takes the next new DT with at most `octets` octets of user data, if there is one and credit
    /// for it.
    #[inline]
    pub(super) fn take_new(&mut self, now: Instant, octets: usize) -> Option<Segment> {
        if !self.has_new() || octets == 0 {
            return None;
        }
        let number = advance(self.lower_edge, self.retained.len() as u32, self.modulus);
        let (tsdu, from) = (self.sent_tsdus, self.sent_octets);
        let left = self.tsdus.get(tsdu)?.as_ref()?.len() - from;
        let end_of_tsdu = left <= octets;
        let octets = octets.min(left);
        self.sent_tsdus += usize::from(end_of_tsdu);
        self.sent_octets = if end_of_tsdu { 0 } else { from + octets };
        self.queued_octets -= octets;
        self.retained_octets += octets;
        if self.reuse_after > 0 {
            if self.sent_at.len() >= self.reuse_after {
                self.sent_at.pop_front();
            }
            self.sent_at.push_back(now);
        }
        if let Some(marks) = &mut self.marks {
            marks.sent();
        }
        self.retained.push_back(Retained {
            sent: now,
            from,
            octets: octets as u32,
            tsdu: self.first_tsdu.wrapping_add(tsdu as u32),
            transmissions: 1,
            end_of_tsdu,
            below: false,
        });
        Some(Segment { number, end_of_tsdu, tsdu, from, to: from + octets })
    }

    /// User data of a segment, shared with its TSDU.
    #[inline(always)]
    pub(super) fn data(&self, segment: Segment) -> Bytes {
        let tsdu = self.tsdus.get(segment.tsdu).and_then(Option::as_ref);
        tsdu.expect("a TSDU is kept until it is acknowledged").slice(segment.from..segment.to)
    }

    /// Takes the retained DT at `place`, 0 the oldest, for one more transmission, if it is within
    /// the window.
    pub(super) fn take_again(&mut self, now: Instant, place: usize) -> Option<Segment> {
        if place as u32 >= self.credit {
            return None;
        }
        let number = advance(self.lower_edge, place as u32, self.modulus);
        let outstanding = self.retained.len();
        let retained = self.retained.get_mut(place)?;
        retained.transmissions += 1;
        if let Some(marks) = &mut self.marks {
            marks.sent_again(place);
        }
        retained.sent = now;
        let index = (self.sent_at.len() + place).checked_sub(outstanding);
        if let Some(sent_at) = index.and_then(|index| self.sent_at.get_mut(index)) {
            *sent_at = now;
        }
        let Retained { from, octets, end_of_tsdu, .. } = *retained;
        let tsdu = retained.tsdu.wrapping_sub(self.first_tsdu) as usize;
        Some(Segment { number, end_of_tsdu, tsdu, from, to: from + octets as usize })
    }

    /// Records that the last copy of a DT is in a queue of this station; returns its place, if it
    /// is retained.
    pub(super) fn set_below(&mut self, number: u32) -> Option<usize> {
        let place = distance(self.lower_edge, number, self.modulus) as usize;
        self.retained.get_mut(place)?.below = true;
        Some(place)
    }

    /// Returns true if the last copy of the DT at `place` is in a queue of this station.
    pub(super) fn is_below(&self, place: usize) -> bool {
        self.retained.get(place).is_some_and(|retained| retained.below)
    }

    /// Records that the last copy of a DT left a queue of this station at `now`; returns its place,
    /// if it is retained and was queued.
    pub(super) fn left_station(&mut self, number: u32, now: Instant) -> Option<usize> {
        let place = distance(self.lower_edge, number, self.modulus) as usize;
        let outstanding = self.retained.len();
        let retained = self.retained.get_mut(place).filter(|retained| retained.below)?;
        (retained.below, retained.sent) = (false, now);
        let index = (self.sent_at.len() + place).checked_sub(outstanding);
        if let Some(sent_at) = index.and_then(|index| self.sent_at.get_mut(index)) {
            *sent_at = now;
        }
        Some(place)
    }

    /// Number of transmissions of the oldest retained DT; `None` if nothing is outstanding.
    pub(super) fn oldest_transmissions(&self) -> Option<u32> {
        self.retained.front().map(|retained| retained.transmissions)
    }

    pub(super) fn outstanding(&self) -> usize {
        self.retained.len()
    }

    /// Applies an AK, in sequence or not (12.2.3.7 a to c).
    pub(super) fn acknowledge(&mut self, next: u32, subsequence: u16, credit: u32) -> Acknowledged {
        let newly = distance(self.lower_edge, next, self.modulus);
        // 12.2.3.6: it cannot acknowledge a DT never sent; a greater distance is an old number.
        if newly > self.retained.len() as u32 {
            return Acknowledged::OutOfSequence;
        }
        if newly == 0 && (subsequence, credit) < self.latest {
            return Acknowledged::OutOfSequence;
        }
        let was_closed = self.retained.len() as u32 >= self.credit;
        let news = self.news(newly, subsequence, credit);
        let trip = self.release(newly);
        self.lower_edge = next;
        // A credit of zero closes the window; an upper edge that moves back reduces it. Later DTs
        // resolve the doubt.
        let reduces = credit == 0 || newly + credit < self.credit;
        self.highest = self.highest.saturating_sub(newly).max(credit);
        self.in_doubt = reduces || (self.in_doubt && (newly == 0 || self.highest > credit));
        self.credit = credit;
        self.latest = (subsequence, credit);
        let opened = was_closed && (self.retained.len() as u32) < credit;
        Acknowledged::InSequence { newly, opened, news, trip }
    }

    /// Releases the oldest DTs; returns their round trip information.
    fn release(&mut self, count: u32) -> Trip {
        if let Some(marks) = &mut self.marks {
            marks.release(count as usize);
        }
        let (mut latest, mut since, mut any_once) = (Instant::ZERO, None, false);
        for retained in self.retained.drain(..count as usize) {
            self.retained_octets -= retained.octets as usize;
            if retained.end_of_tsdu {
                self.tsdus.take_first().map(Option::take);
                self.first_tsdu = self.first_tsdu.wrapping_add(1);
                self.sent_tsdus -= 1;
            }
            let once = retained.transmissions == 1;
            any_once |= once;
            if retained.sent >= latest {
                latest = retained.sent;
                since = once.then_some(latest);
            }
        }
        match since {
            Some(sent) => Trip::Since(sent),
            None if any_once => Trip::Waited,
            None => Trip::Unknown,
        }
    }

    fn news(&self, newly: u32, subsequence: u16, credit: u32) -> News {
        if newly > 0 {
            return News::None;
        }
        if (subsequence, credit) == self.latest {
            // Without a reduction the peer does not wait for a confirmation: the duplicate is
            // caused by W, and answering each would double the traffic of an idle connection.
            return if self.in_doubt { News::Duplicate } else { News::None };
        }
        let raises = credit > self.credit;
        if raises && (self.credit == 0 || self.highest > self.credit) {
            News::Opened
        } else {
            News::None
        }
    }

    /// Values of the latest AK in sequence for a flow control confirmation: YR-TU-NR, subsequence
    /// number, CDT.
    pub(super) const fn latest(&self) -> (u32, u16, u32) {
        (self.lower_edge, self.latest.0, self.latest.1)
    }

    /// Releases the memory that an idle connection does not need.
    pub(super) fn rest(&mut self, now: Instant, lifetime: Duration) {
        if !self.is_drained() {
            return;
        }
        (self.retained, self.tsdus) = (VecDeque::new(), Ring::new());
        if let Some(marks) = &mut self.marks {
            marks.rest();
        }
        if self.sent_at.iter().all(|sent| *sent + lifetime <= now) {
            self.sent_at = VecDeque::new();
        }
    }

    /// Marks the DTs in the blocks of a selective acknowledgement, given by their edges.
    pub(super) fn mark(&mut self, blocks: impl Iterator<Item = [u32; 2]>) {
        let place = |edge| distance(self.lower_edge, edge, self.modulus) as usize;
        if let Some(marks) = &mut self.marks {
            marks.mark(blocks.map(|edges| edges.map(place)));
        }
    }

    /// Forgets the marks, because T1 expired.
    pub(super) fn forget_marks(&mut self) {
        if let Some(marks) = &mut self.marks {
            marks.forget();
        }
    }

    /// Place of the first DT at `from` or beyond that is missing and was sent less than `most` times.
    pub(super) fn missing(&self, from: usize, most: u32) -> Option<usize> {
        let marks = self.marks.as_deref()?;
        let mut place = marks.missing(from)?;
        while self.retained.get(place).is_some_and(|retained| retained.transmissions >= most) {
            place = marks.missing(place + 1)?;
        }
        Some(place)
    }

    /// Returns true if an outstanding DT may be retransmitted within the window.
    pub(super) fn may_send_again(&self) -> bool {
        !self.retained.is_empty() && self.credit > 0
    }

    /// Returns true if numbers wrap between the lower edges before and after `newly`
    /// acknowledgements.
    pub(super) const fn wrapped(&self, newly: u32) -> bool {
        newly > self.lower_edge
    }
}

/// Result of a received DT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arrival {
    /// It was the expected one, and can be delivered now.
    InSequence,
    /// It is kept until those before it arrive (resequencing, 6.20).
    OutOfOrder {
        /// True if it shows no other gap than several DTs before it did, and is not the last within
        /// the credit.
        follows: bool,
    },
    /// It was received before.
    Duplicate,
    /// It lies beyond the granted credit.
    OutsideWindow,
}

/// Receive window: expected number, DTs out of sequence, credit granted.
#[derive(Clone, Debug)]
pub(super) struct ReceiveWindow {
    modulus: u32,
    /// Next DT expected.
    next: u32,
    /// Free buffers.
    free: u32,
    /// Upper edge granted so far, as a distance from `next`.
    granted: u32,
    /// DTs beyond a gap, by their unwrapped number.
    waiting: BTreeMap<u64, (Bytes, bool)>,
    /// Runs of these.
    runs: Runs,
    /// Number of DTs delivered: the unwrapped form of `next`.
    delivered: u64,
}

impl ReceiveWindow {
    /// Creates a window with `window` buffers, of which the CR or CC granted `granted`.
    pub(super) const fn new(modulus: u32, window: u32, granted: u32) -> Self {
        let waiting = BTreeMap::new();
        let runs = Runs::new();
        Self { modulus, next: 0, free: window, granted, waiting, runs, delivered: 0 }
    }

    /// YR-TU-NR of an AK sent now.
    pub(super) const fn next(&self) -> u32 {
        self.next
    }

    /// CDT of an AK sent now: never less than granted before, and at most `max`.
    ///
    /// Every DT uses a buffer when it is delivered, so the upper edge never moves back.
    pub(super) fn grant(&mut self, max: u32) -> u32 {
        self.granted = self.granted.max(self.free.min(max));
        self.granted
    }

    /// Returns true if the peer has used up its credit.
    pub(super) const fn is_closed(&self) -> bool {
        self.granted == 0
    }

    /// Number of free buffers not granted yet.
    pub(super) const fn ungranted(&self) -> u32 {
        self.free.saturating_sub(self.granted)
    }

    /// DTs delivered since the connection opened: YR-TU-NR, unwrapped.
    pub(super) const fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Withdraws free buffers; returns true if granted credit is reduced with them. Waiting DTs
    /// beyond the new upper edge are dropped: their sender retains them.
    pub(super) fn withdraw(&mut self, buffers: u32) -> bool {
        self.free = self.free.saturating_sub(buffers);
        let reduced = self.granted > self.free;
        if reduced {
            self.granted = self.free;
            let edge = self.delivered + u64::from(self.granted);
            drop(self.waiting.split_off(&edge));
            self.runs.drop_from(edge);
        }
        reduced
    }

    /// Records a DT's number, and its contents if it is new; deliver with [`ReceiveWindow::pop`].
    pub(super) fn arrive(&mut self, number: u32, data: Bytes, end: bool) -> Arrival {
        let ahead = distance(self.next, number, self.modulus);
        if ahead >= self.granted {
            // A number up to half the modulus back was received before.
            let old = ahead >= self.modulus / 2;
            return if old { Arrival::Duplicate } else { Arrival::OutsideWindow };
        }
        let place = self.delivered + u64::from(ahead);
        if self.waiting.contains_key(&place) {
            return Arrival::Duplicate;
        }
        self.waiting.insert(place, (data, end));
        let follows = self.runs.add(place) && ahead + 1 < self.granted;
        if ahead == 0 { Arrival::InSequence } else { Arrival::OutOfOrder { follows } }
    }

    /// Blocks of a selective acknowledgement sent now; empty without a gap.
    pub(super) fn blocks(&self, format: Format) -> Blocks {
        let number = |edge: u64| (edge - self.delivered) as u32;
        let edges = |edge| advance(self.next, number(edge), self.modulus);
        self.runs.first().flat_map(|run| selective_block(run.map(edges), format)).collect()
    }

    /// Returns true if a DT with this number is the expected one and there is no gap. In this
    /// common case [`ReceiveWindow::pass`] handles it without storing anything.
    pub(super) fn passes(&self, number: u32) -> bool {
        number == self.next && self.granted > 0 && self.waiting.is_empty()
    }

    /// Counts the expected DT as delivered.
    pub(super) const fn pass(&mut self) {
        self.next = advance(self.next, 1, self.modulus);
        self.delivered += 1;
        self.granted -= 1;
        self.free -= 1;
    }

    /// Takes the next DT in sequence, if it is there.
    pub(super) fn pop(&mut self) -> Option<(Bytes, bool)> {
        let first = self.waiting.remove(&self.delivered)?;
        self.pass();
        self.runs.release(self.delivered);
        Some(first)
    }

    /// Releases the memory that a connection without a gap does not need.
    pub(super) fn rest(&mut self) {
        if self.waiting.is_empty() {
            (self.waiting, self.runs) = (BTreeMap::new(), Runs::new());
        }
    }

    /// Returns the buffers of delivered DTs; at most `window` are ever free.
    pub(super) fn give_back(&mut self, buffers: u32, window: u32) {
        self.free = self.free.saturating_add(buffers).min(window);
    }
}

#[cfg(test)]
mod tests;

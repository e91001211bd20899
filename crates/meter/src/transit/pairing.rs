//! Pairing of copies at the two taps.

use super::clock::{Reading, Readings};
use super::pace::Pace;
use super::window::{Key, Name, Seen, Waiting, Window};
use super::{Limits, Stamps, Tap};
use core::time::Duration;
use std::collections::BTreeMap;
use wire::time::{Instant, nanos};

/// Number of TPDUs in one direction after which the tap that their ends pass first is known.
const SURE: i8 = 8;
/// Longest transit with two clocks; a longer one may be settled before its copy arrives. The
/// shorter this is, the sooner a reused number is recognised as another TPDU.
const LONGEST: Duration = Duration::from_secs(1);
/// With two clocks, time of continuous reuse after which a number has new TPDUs.
const LONG_NS: u64 = 4_000_000_000;

/// Numbers of TPDUs matched, and of those not matched by reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Matching {
    /// TPDUs seen at the near tap, and at the far one.
    pub tpdus: [u64; 2],
    /// Pairs: the same copy at both taps.
    pub matched: u64,
    /// Copies of TPDUs that only one tap saw: lost between the taps or not captured.
    pub unmatched: [u64; 2],
    /// Copies of TPDUs that each tap saw, but a different number of times: the pairs are unknown.
    pub ambiguous: [u64; 2],
    /// Copies in TCP segments with different boundaries at the two taps.
    pub recut: [u64; 2],
    /// Pairs beyond the limit, whose times are not kept one by one.
    pub beyond: u64,
    /// TPDUs settled to make room while copies of them may have been on their way.
    pub crowded: u64,
}

impl Matching {
    /// Counts since `before`, an earlier state.
    pub(super) fn since(&self, before: &Self) -> Self {
        let both = |now: [u64; 2], then: [u64; 2]| [now[0] - then[0], now[1] - then[1]];
        Self {
            tpdus: both(self.tpdus, before.tpdus),
            matched: self.matched - before.matched,
            unmatched: both(self.unmatched, before.unmatched),
            ambiguous: both(self.ambiguous, before.ambiguous),
            recut: both(self.recut, before.recut),
            beyond: self.beyond - before.beyond,
            crowded: self.crowded - before.crowded,
        }
    }
}

/// Matcher of copies.
#[derive(Clone, Debug)]
pub(super) struct Pairing {
    stamps: Stamps,
    pub(super) window: Window,
    pub(super) pace: Pace,
    /// Tap that TPDUs of these ends pass first, with one clock: the near tap above zero.
    leanings: BTreeMap<[u32; 2], i8>,
    most_leanings: usize,
    pub(super) matching: Matching,
    pub(super) readings: Readings,
    /// Counts at the last interval taken, and the readings since then, if an interval was taken.
    pub(super) taken: Option<(Matching, Readings)>,
}

impl Pairing {
    /// Creates a matcher without copies.
    pub(super) fn new(stamps: Stamps, limits: Limits) -> Self {
        Self {
            stamps,
            window: Window::new(limits.waiting),
            pace: Pace::new(limits.waiting / 4),
            leanings: BTreeMap::new(),
            most_leanings: limits.waiting,
            matching: Matching::default(),
            readings: match stamps {
                Stamps::TwoClocks => Readings::of_two(limits.pairs),
                Stamps::OneClock { .. } => Readings::of_one(limits.pairs),
            },
            taken: None,
        }
    }

    /// Processes a copy of a TPDU between these ends.
    pub(super) fn tpdu(&mut self, tap: Tap, seen: Seen, (name, ends): (Name, [u32; 2])) {
        self.matching.tpdus[tap as usize] += 1;
        self.settle_due(seen.at);
        let mut found = self.window.find(name);
        if let Some(key) = found.filter(|key| self.is_at_rest(*key, seen.at)) {
            self.settle(key);
            found = None;
        }
        if found.is_none() && self.is_orphan(tap, seen.at, ends) {
            self.matching.unmatched[tap as usize] += 1;
            return;
        }
        self.pace.note_alone(tap);
        while self.window.is_full() {
            let Some(oldest) = self.window.oldest() else { break };
            let [near, far] = self.window.at(oldest).counts;
            self.matching.crowded += u64::from(near != far);
            self.settle(oldest);
            found = found.filter(|found| *found != oldest);
        }
        let now = match self.stamps {
            Stamps::TwoClocks => self.pace.age(tap),
            Stamps::OneClock { .. } => seen.at,
        };
        let Some(key) = found else {
            return self.window.insert((name, ends), tap, seen, now);
        };
        let counts = self.window.add(key, tap, seen);
        match self.stamps {
            Stamps::OneClock { .. } if counts[0] == counts[1] => self.settle(key),
            Stamps::OneClock { .. } => {}
            Stamps::TwoClocks => self.note_copy(key, tap, counts, now),
        }
    }

    /// Processes a copy of a TPDU that counts only if the tap has seen the TPDU before.
    pub(super) fn repeated(&mut self, tap: Tap, seen: Seen, named: (Name, [u32; 2])) {
        let known = self.window.find(named.0);
        if known.is_some_and(|key| self.window.at(key).counts[tap as usize] > 0) {
            self.tpdu(tap, seen, named);
        }
    }

    /// True if no copy of a waiting TPDU can be on its way at this time. With one clock: the first
    /// was seen too long before or after. With two: copies have come for long, and both taps are
    /// past the last of them by more than half the mean time between copies.
    fn is_at_rest(&mut self, key: Key, at: Instant) -> bool {
        if let Stamps::OneClock { longest } = self.stamps {
            // A TPDU held beyond a gap is reported late.
            let first = self.window.heard(key);
            return at.since(first).max(first.since(at)) > longest;
        }
        let together = self.pace.together(key.tap());
        let Waiting { counts: [near, far], since, changed, .. } = self.window.at(key);
        let for_ns = together.nanos_since(*since);
        for_ns > LONG_NS && together.nanos_since(*changed) > for_ns / 2 / u64::from(*near.max(far))
    }

    /// Records the time of a copy, and the progress of both taps if it was at the other tap.
    fn note_copy(&mut self, key: Key, tap: Tap, counts: [u32; 2], now: Instant) {
        let age = self.pace.age(key.tap());
        let waiting = self.window.at(key);
        waiting.changed = age;
        if tap != key.tap() {
            waiting.other_heard = now;
        }
        let (there, firsts) = (waiting.other_heard, Window::firsts(waiting));
        if tap == key.tap() {
            self.window.touch(key, now);
        }
        if counts[0] == counts[1] {
            let here = self.window.heard(key);
            let ages = if key.tap() == Tap::Near { [here, there] } else { [there, here] };
            let [near, far] = firsts.map(|seen| seen.at);
            let is_one = counts == [1, 1];
            self.pace.note_pair(ages, is_one.then(|| difference_ns(near, far)));
        }
    }

    /// Settles TPDUs that have waited long enough.
    #[inline]
    pub(super) fn settle_due(&mut self, now: Instant) {
        match self.stamps {
            Stamps::OneClock { longest } => self.settle_older(now.saturating_sub(longest)),
            Stamps::TwoClocks => self.settle_silent(),
        }
    }

    /// Settles TPDUs first seen before `then`.
    fn settle_older(&mut self, then: Instant) {
        for tap in [Tap::Near, Tap::Far] {
            while let Some(key) = self.window.expired(tap, then) {
                self.settle(key);
            }
        }
    }

    /// Settles TPDUs so old at both taps that no copy is on its way between them.
    #[inline]
    fn settle_silent(&mut self) {
        for tap in [Tap::Near, Tap::Far] {
            let before = |tap| self.pace.together(tap).earlier_by(nanos(LONGEST));
            let (here, there) = (before(tap), before(tap.other()));
            while let Some(key) = self.window.expired(tap, here) {
                let waiting = self.window.at(key);
                if waiting.counts[tap.other() as usize] > 0 && waiting.other_heard >= there {
                    break;
                }
                self.settle(key);
            }
        }
    }

    /// Settles all waiting TPDUs, returns the counts and the readings, and frees all other memory.
    pub(super) fn finish(mut self) -> (Matching, Readings) {
        while let Some(oldest) = self.window.oldest() {
            self.settle(oldest);
        }
        (self.matching, self.readings)
    }

    /// True if a TPDU not seen at the other tap will never be. With two clocks, it is out of reach;
    /// with one, it comes at the tap that TPDUs of its ends pass last.
    fn is_orphan(&mut self, tap: Tap, at: Instant, ends: [u32; 2]) -> bool {
        if self.stamps == Stamps::TwoClocks {
            return self.pace.is_out_of_reach(tap, at, nanos(LONGEST));
        }
        let Some(leaning) = self.leanings.get_mut(&ends) else { return false };
        let is_orphan = match tap {
            Tap::Near => *leaning <= -SURE,
            Tap::Far => *leaning >= SURE,
        };
        if is_orphan {
            // Many such TPDUs would mean that the leaning is wrong.
            *leaning -= leaning.signum();
        }
        is_orphan
    }

    /// Pairs the copies of a TPDU, if possible.
    fn settle(&mut self, key: Key) {
        let Some(waiting) = self.window.remove(key) else { return };
        if waiting.counts == [1, 1] {
            return self.pair(&waiting, &[Window::firsts(&waiting)]);
        }
        let pairs = match Window::has_more(&waiting) {
            true => self.window.pairs(&waiting),
            false => Vec::new(),
        };
        let counts = waiting.counts.map(u64::from);
        if counts[0] == counts[1] {
            return self.pair(&waiting, &pairs);
        }
        let Matching { unmatched, ambiguous, .. } = &mut self.matching;
        let kind = if counts.contains(&0) { unmatched } else { ambiguous };
        kind.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }

    fn pair(&mut self, waiting: &Waiting, pairs: &[[Seen; 2]]) {
        if pairs.iter().any(|[near, far]| near.segment != far.segment) {
            self.matching.recut.iter_mut().for_each(|sum| *sum += pairs.len() as u64);
            return;
        }
        self.matching.matched += pairs.len() as u64;
        for [Seen { at: near, .. }, Seen { at: far, .. }] in pairs {
            let difference_ns = difference_ns(*near, *far);
            self.lean(waiting.ends, difference_ns);
            let reading = Reading { near_ns: near.as_nanos(), difference_ns, ends: waiting.ends };
            if let Some((_, recent)) = &mut self.taken {
                recent.push(reading);
            }
            self.readings.push(reading);
        }
        self.matching.beyond = self.readings.dropped();
    }

    /// Records the tap that was passed first, with one clock.
    fn lean(&mut self, ends: [u32; 2], difference_ns: i64) {
        if self.stamps == Stamps::TwoClocks {
            return;
        }
        let is_known = self.leanings.contains_key(&ends);
        if is_known || self.leanings.len() < self.most_leanings {
            let leaning = self.leanings.entry(ends).or_default();
            *leaning = (*leaning + difference_ns.signum() as i8).clamp(-2 * SURE, 2 * SURE);
        }
    }
}

/// Far clock minus near clock, saturating.
fn difference_ns(near: Instant, far: Instant) -> i64 {
    let difference = i128::from(far.as_nanos()) - i128::from(near.as_nanos());
    i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
}

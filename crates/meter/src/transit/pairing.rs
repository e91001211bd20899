//! Which copies at the two taps are the same.

use super::clock::{Reading, Readings};
use super::pace::Pace;
use super::window::{Key, Name, Seen, Waiting, Window};
use super::{Limits, Stamps, Tap};
use core::time::Duration;
use std::collections::BTreeMap;
use wire::time::{Instant, nanos};

/// After so many TPDUs that passed one tap first it is known which tap those of their ends pass first.
const SURE: i8 = 8;
/// Of two clocks, what takes longer from tap to tap may be settled before it has come. The shorter this is, the
/// sooner a number that comes back is known for another TPDU.
const LONGEST: Duration = Duration::from_secs(1);
/// Of two clocks, a number that comes back all the time has new copies once it did so for so long.
const LONG_NS: u64 = 4_000_000_000;

/// How many TPDUs were matched, and why others were not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Matching {
    /// TPDUs that the near tap saw, and the far one.
    pub tpdus: [u64; 2],
    /// Pairs: the same copy at both taps.
    pub matched: u64,
    /// Copies that one tap alone saw, all of them: lost between the taps or not captured.
    pub unmatched: [u64; 2],
    /// Copies of TPDUs that the taps saw a different number of times, each at least once: which of
    /// them are pairs cannot be told.
    pub ambiguous: [u64; 2],
    /// Copies in TCP segments of which the two taps saw different ones.
    pub recut: [u64; 2],
    /// Pairs beyond the limit, whose times are not kept one by one.
    pub beyond: u64,
    /// TPDUs that were let go for want of room while copies of them may have been on their way.
    pub crowded: u64,
}

impl Matching {
    /// What came since an earlier count.
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

/// Matches copies.
#[derive(Clone, Debug)]
pub(super) struct Pairing {
    stamps: Stamps,
    pub(super) window: Window,
    pub(super) pace: Pace,
    /// Which tap TPDUs of these ends pass first, where one clock tells: the near one above zero.
    leanings: BTreeMap<[u32; 2], i8>,
    most_leanings: usize,
    pub(super) matching: Matching,
    pub(super) readings: Readings,
    /// What was known when an interval was taken last, and the readings since, where any was.
    pub(super) taken: Option<(Matching, Readings)>,
}

impl Pairing {
    /// Nothing seen yet.
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

    /// Takes notice of a copy of a TPDU between these ends.
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

    /// Takes notice of a copy of a TPDU that counts only if the tap has seen the TPDU before.
    pub(super) fn again(&mut self, tap: Tap, seen: Seen, named: (Name, [u32; 2])) {
        let known = self.window.find(named.0);
        if known.is_some_and(|key| self.window.at(key).counts[tap as usize] > 0) {
            self.tpdu(tap, seen, named);
        }
    }

    /// Whether nothing of a TPDU is on its way that could be a copy seen at this time: by one clock the first was seen
    /// too long before or after. By two, copies have come for long, and both taps are past the last of them by
    /// more than half the time that one takes to follow another.
    fn is_at_rest(&mut self, key: Key, at: Instant) -> bool {
        if let Stamps::OneClock { longest } = self.stamps {
            // What was held behind a gap is told of late.
            let first = self.window.heard(key);
            return at.since(first).max(first.since(at)) > longest;
        }
        let together = self.pace.together(key.tap());
        let Waiting { counts: [near, far], since, changed, .. } = self.window.at(key);
        let for_ns = together.nanos_since(*since);
        for_ns > LONG_NS && together.nanos_since(*changed) > for_ns / 2 / u64::from(*near.max(far))
    }

    /// Notes when a TPDU was heard again, and how far both taps have come if that was at the other tap.
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

    /// Settles what has waited long enough.
    #[inline]
    pub(super) fn settle_due(&mut self, now: Instant) {
        match self.stamps {
            Stamps::OneClock { longest } => self.settle_older(now.saturating_sub(longest)),
            Stamps::TwoClocks => self.settle_silent(),
        }
    }

    /// Settles what was first seen before then.
    fn settle_older(&mut self, then: Instant) {
        for tap in [Tap::Near, Tap::Far] {
            while let Some(key) = self.window.expired(tap, then) {
                self.settle(key);
            }
        }
    }

    /// Settles what both taps have left so far behind that no copy of it is on its way between them.
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

    /// Settles all that wait: what was matched, and the readings, and nothing else takes memory any more.
    pub(super) fn finish(mut self) -> (Matching, Readings) {
        while let Some(oldest) = self.window.oldest() {
            self.settle(oldest);
        }
        (self.matching, self.readings)
    }

    /// Whether a TPDU that was not seen at the other tap is not going to be: by two clocks it is out of reach,
    /// by one it comes to the tap that its like pass last.
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
            // Many of them would mean that the leaning is wrong.
            *leaning -= leaning.signum();
        }
        is_orphan
    }

    /// Pairs the copies of a TPDU, if they can be.
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

    /// Notes which tap was passed first, where one clock tells.
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

/// What the far clock said less what the near one did; the greatest there is where it is more.
fn difference_ns(near: Instant, far: Instant) -> i64 {
    let difference = i128::from(far.as_nanos()) - i128::from(near.as_nanos());
    i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
}

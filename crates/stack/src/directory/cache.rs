//! Cache of a resolver: answers with the time until which they hold, bounded in number.

use core::time::Duration;
use std::collections::BTreeMap;
use wire::addr::Mac;
use wire::time::Instant;

/// Limits of a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheParams {
    /// Maximum number of titles; the least recently used one is evicted for a further one.
    pub titles: usize,
    /// Time for which a station holds.
    pub known: Duration,
    /// Time for which the answer holds that a title is unknown.
    pub unknown: Duration,
}

impl CacheParams {
    /// 1,024 titles; stations hold for 60 s, unknown titles for 5 s.
    pub const DEFAULT: Self =
        Self { titles: 1_024, known: Duration::from_secs(60), unknown: Duration::from_secs(5) };
}

/// Counts of a cache.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Look-ups that found a station.
    pub hits: u64,
    /// Look-ups that found that the title is unknown.
    pub unknown: u64,
    /// Look-ups without an answer that holds.
    pub misses: u64,
    /// Answers evicted because the cache was full.
    pub evictions: u64,
}

/// Answer, the end of its time, and its place in the order of use.
#[derive(Clone, Debug)]
struct Kept {
    station: Option<Mac>,
    until: Instant,
    used: u64,
}

/// Cache of answers by title.
#[derive(Clone, Debug)]
pub struct Cache {
    params: CacheParams,
    kept: BTreeMap<String, Kept>,
    /// Titles in the order of use, the least recent first.
    order: BTreeMap<u64, String>,
    uses: u64,
    counts: Counts,
}

impl Cache {
    /// Creates an empty cache.
    #[must_use]
    pub const fn new(params: CacheParams) -> Self {
        let counts = Counts { hits: 0, unknown: 0, misses: 0, evictions: 0 };
        Self { params, kept: BTreeMap::new(), order: BTreeMap::new(), uses: 0, counts }
    }

    /// Number of titles.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Returns true if it has no title.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Counts so far.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Answer about a title that still holds: a station, or none if the title is unknown.
    pub fn get(&mut self, now: Instant, title: &str) -> Option<Option<Mac>> {
        let uses = self.uses + 1;
        let Some(kept) = self.kept.get_mut(title).filter(|kept| now < kept.until) else {
            self.counts.misses += 1;
            return None;
        };
        if let Some(title) = self.order.remove(&kept.used) {
            self.order.insert(uses, title);
        }
        (kept.used, self.uses) = (uses, uses);
        match kept.station {
            Some(_) => self.counts.hits += 1,
            None => self.counts.unknown += 1,
        }
        Some(kept.station)
    }

    /// Keeps an answer of the directory.
    pub fn put(&mut self, now: Instant, title: &str, station: Option<Mac>) {
        self.remove(title);
        if self.kept.len() >= self.params.titles
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.kept.remove(&oldest);
            self.counts.evictions += 1;
        }
        if self.params.titles == 0 {
            return;
        }
        self.uses += 1;
        let holds = if station.is_some() { self.params.known } else { self.params.unknown };
        self.order.insert(self.uses, title.to_owned());
        self.kept.insert(title.to_owned(), Kept { station, until: now + holds, used: self.uses });
    }

    /// Drops all answers, as a station does that restarts; its counts go on.
    pub fn clear(&mut self) {
        self.kept.clear();
        self.order.clear();
    }

    /// Drops the answer about a title, because it proved false.
    pub fn remove(&mut self, title: &str) {
        if let Some(kept) = self.kept.remove(title) {
            self.order.remove(&kept.used);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn answers_hold_for_their_time() {
        let mut cache = Cache::new(CacheParams::DEFAULT);
        cache.put(at(0), "welder", Some(Mac::local(1)));
        cache.put(at(0), "nothing", None);
        assert_eq!(cache.get(at(4_999), "nothing"), Some(None));
        assert_eq!(cache.get(at(5_000), "nothing"), None);
        assert_eq!(cache.get(at(59_999), "welder"), Some(Some(Mac::local(1))));
        assert_eq!(cache.get(at(60_000), "welder"), None);
        let counts = Counts { hits: 1, unknown: 1, misses: 2, evictions: 0 };
        assert_eq!(cache.counts(), counts);
    }

    #[test]
    fn the_least_recently_used_title_is_evicted() {
        let params = CacheParams { titles: 2, ..CacheParams::DEFAULT };
        let mut cache = Cache::new(params);
        cache.put(at(0), "a", None);
        cache.put(at(0), "b", None);
        assert!(cache.get(at(1), "a").is_some());
        cache.put(at(2), "c", None);
        let held = ["a", "b", "c"].map(|title| cache.get(at(3), title).is_some());
        assert_eq!((held, cache.counts().evictions), ([true, false, true], 1));
        cache.remove("a");
        assert_eq!((cache.get(at(4), "a"), cache.len()), (None, 1));
    }

    #[test]
    fn a_million_titles_leave_a_bounded_cache() {
        let mut cache = Cache::new(CacheParams::DEFAULT);
        for number in 0..1_000_000_u64 {
            let title = number.to_string();
            assert_eq!(cache.get(at(number), &title), None);
            cache.put(at(number), &title, None);
            assert!(cache.len() <= CacheParams::DEFAULT.titles);
        }
        assert_eq!((cache.len(), cache.order.len()), (1_024, 1_024));
        assert_eq!(cache.counts().evictions, 1_000_000 - 1_024);
    }
}

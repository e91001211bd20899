//! Pace of the requests: a burst, then pauses, so that the average stays below a limit.

use core::time::Duration;
use wire::time::Instant;

/// Pace: at most `per_second` requests in any second.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    per_second: u32,
    /// Times of the last requests, as many as a second permits; the oldest first.
    last: std::collections::VecDeque<Instant>,
}

impl Pace {
    pub(super) fn new(per_second: u32) -> Self {
        Self { per_second: per_second.max(1), last: std::collections::VecDeque::new() }
    }

    /// Number of requests that a second permits.
    pub(super) const fn burst(&self) -> u32 {
        self.per_second
    }

    /// Time from one request to the next at an even pace.
    pub(super) fn period(&self) -> Duration {
        Duration::from_secs(1) / self.per_second
    }

    /// Earliest time for `count` further requests at once.
    pub(super) fn ready(&self, count: u32) -> Instant {
        let free = self.per_second as usize - self.last.len();
        let missing = (count.min(self.per_second) as usize).saturating_sub(free);
        match missing.checked_sub(1).and_then(|last| self.last.get(last)) {
            Some(time) => *time + Duration::from_secs(1),
            None => Instant::ZERO,
        }
    }

    /// Records a request.
    pub(super) fn sent(&mut self, now: Instant) {
        if self.last.len() == self.per_second as usize {
            self.last.pop_front();
        }
        self.last.push_back(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_second_has_more_requests_than_permitted() {
        let mut pace = Pace::new(3);
        let mut now = Instant::ZERO;
        let mut sent = Vec::new();
        for _ in 0..12 {
            now = now.max(pace.ready(1));
            pace.sent(now);
            sent.push(now);
            now += Duration::from_millis(100);
        }
        for window in sent.windows(4) {
            assert!(window[3] - window[0] >= Duration::from_secs(1), "{window:?}");
        }
    }

    #[test]
    fn a_burst_waits_until_all_of_it_is_permitted() {
        let mut pace = Pace::new(2);
        let second = Instant::ZERO + Duration::from_secs(1);
        pace.sent(second);
        assert_eq!(pace.ready(1), Instant::ZERO);
        assert_eq!(pace.ready(2), second + Duration::from_secs(1));
        assert_eq!(pace.ready(9), second + Duration::from_secs(1));
    }
}

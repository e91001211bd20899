//! Scheduling of flows: flows with work, and the wait conditions of the others.
//!
//! A flow that was examined and did nothing waits for a time, for room in its connection, for an
//! answer, or for frames to be transmitted. The event that ends the wait wakes it, so that one
//! event costs O(log n) for n flows.

use crate::messaging::Priority;
use crate::station::PRIORITIES;
use std::collections::{BTreeSet, VecDeque};
use wire::time::Instant;

#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    /// Flows to be examined, in this order, each once.
    woken: VecDeque<usize>,
    is_woken: Vec<bool>,
    /// Times at which other flows have work.
    due: BTreeSet<(Instant, usize)>,
    due_at: Vec<Option<Instant>>,
    /// Flows that wait for transmissions, each once, by priority.
    for_frames: [VecDeque<usize>; PRIORITIES],
    is_for_frames: Vec<bool>,
    /// Number of them.
    count_for_frames: usize,
}

impl Waiting {
    /// Marks a flow for examination.
    pub(super) fn wake(&mut self, place: usize) {
        self.grow(place);
        if !self.is_woken[place] {
            self.is_woken[place] = true;
            self.woken.push_back(place);
        }
    }

    /// Sets the time before which a flow has no work; with `None`, it has none before it is woken.
    pub(super) fn until(&mut self, place: usize, at: Option<Instant>) {
        self.grow(place);
        if self.due_at[place] == at {
            return;
        }
        if let Some(before) = core::mem::replace(&mut self.due_at[place], at) {
            self.due.remove(&(before, place));
        }
        if let Some(at) = at {
            self.due.insert((at, place));
        }
    }

    /// Lets a flow wait for a transmission.
    pub(super) fn for_frames(&mut self, place: usize, priority: Priority) {
        if !self.is_for_frames[place] {
            self.is_for_frames[place] = true;
            self.count_for_frames += 1;
            self.for_frames[usize::from(priority.number())].push_back(place);
        }
    }

    /// Returns true if any flow waits for transmissions.
    pub(super) const fn is_for_frames(&self) -> bool {
        self.count_for_frames > 0
    }

    /// Wakes up to `count` flows of this priority that wait for transmissions.
    pub(super) fn frames_left(&mut self, priority: Priority, count: usize) {
        for _ in 0..count {
            let flows = &mut self.for_frames[usize::from(priority.number())];
            let Some(place) = flows.pop_front() else { return };
            self.is_for_frames[place] = false;
            self.count_for_frames -= 1;
            self.wake(place);
        }
    }

    /// Wakes the flows whose time has come.
    pub(super) fn come_due(&mut self, now: Instant) {
        while let Some((at, place)) = self.due.first().copied()
            && at <= now
        {
            self.due.pop_first();
            self.due_at[place] = None;
            self.wake(place);
        }
    }

    /// Next time at which a flow has work without being woken.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Number of flows to be examined.
    pub(super) fn woken(&self) -> usize {
        self.woken.len()
    }

    /// Next flow to be examined.
    pub(super) fn next(&mut self) -> Option<usize> {
        let place = self.woken.pop_front()?;
        self.is_woken[place] = false;
        Some(place)
    }

    fn grow(&mut self, place: usize) {
        if self.is_woken.len() <= place {
            self.is_woken.resize(place + 1, false);
            self.is_for_frames.resize(place + 1, false);
            self.due_at.resize(place + 1, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn a_flow_is_woken_once_by_the_first_event() {
        let mut waiting = Waiting::default();
        waiting.until(3, Some(at(50)));
        waiting.until(1, Some(at(50)));
        waiting.until(2, Some(at(20)));
        waiting.until(2, Some(at(60)));
        assert_eq!(waiting.next_due(), Some(at(50)), "the earlier time is replaced");
        waiting.wake(3);
        waiting.come_due(at(50));
        let woken: Vec<_> = core::iter::from_fn(|| waiting.next()).collect();
        assert_eq!(woken, [3, 1]);
        assert_eq!(waiting.next_due(), Some(at(60)));
    }

    #[test]
    fn flows_take_turns_at_frames_that_have_left() {
        let mut waiting = Waiting::default();
        (0..3).for_each(|place| waiting.until(place, None));
        for place in [2, 0, 2, 1] {
            waiting.for_frames(place, Priority::LOWEST);
        }
        waiting.frames_left(Priority::LOWEST, 2);
        let woken: Vec<_> = core::iter::from_fn(|| waiting.next()).collect();
        assert_eq!(woken, [2, 0]);
        assert!(waiting.is_for_frames());
    }
}

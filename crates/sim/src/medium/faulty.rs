//! Medium followed by a bad path: every frame it carries is subject to the faults of a plan.
//!
//! The sender is not affected. All receivers of a frame share its fate. So does the observer, who
//! sits behind the bad path and also sees the frames that are lost there.
//!
//! Not modelled: faults that differ between receivers, and faults that depend on other traffic. The
//! faults are described in [`stack::fault`].

use super::trace::Slot;
use super::{Delivery, Event, Medium, Misfit, Passage};
use smallvec::SmallVec;
use stack::fault::{Counts, Faults, Outcome};
use stack::machine::Deadline;
use stack::station::Frame;
use std::collections::{BTreeMap, VecDeque};
use wire::addr::Mac;
use wire::time::Instant;

/// Medium whose frames are subject to faults.
#[derive(Clone, Debug)]
pub struct Faulty<M> {
    inner: M,
    faults: Faults,
    /// Frames that the observer has yet to see, in order of time.
    held: BTreeMap<(Instant, u64), Passage>,
    sequence: u64,
    events: VecDeque<Event>,
}

impl<M: Medium> Faulty<M> {
    /// Puts a bad path behind `inner`.
    pub const fn new(inner: M, faults: Faults) -> Self {
        Self { inner, faults, held: BTreeMap::new(), sequence: 0, events: VecDeque::new() }
    }

    /// Medium in front of the bad path.
    pub const fn inner(&self) -> &M {
        &self.inner
    }

    /// Counters of the faults so far.
    pub const fn counts(&self) -> &Counts {
        self.faults.counts()
    }

    /// Takes all events of the inner medium, and releases passages that are due.
    fn absorb(&mut self, now: Instant) {
        let mut next = self.inner.poll();
        while let Some(event) = next.take() {
            next = self.inner.poll();
            let Event::Passage(passage) = event else {
                self.events.push_back(event);
                continue;
            };
            let mut recipients: SmallVec<[(usize, Instant); 2]> = SmallVec::new();
            while let Some(Event::Delivery(Delivery { station, at, .. })) = next {
                recipients.push((station, at));
                next = self.inner.poll();
            }
            self.pass(passage, &recipients);
        }
        while let Some(entry) = self.held.first_entry()
            && entry.key().0 <= now
        {
            self.events.push_back(Event::Passage(entry.remove()));
        }
    }

    /// Sends a frame over the bad path.
    fn pass(&mut self, passage: Passage, recipients: &[(usize, Instant)]) {
        let Passage { started, at: passed, source, frame, .. } = passage;
        for Outcome { at, frame, fate } in self.faults.apply(passed, frame) {
            let late = at.since(passed);
            if fate.arrives() {
                for (station, due) in recipients {
                    let delivery =
                        Delivery { at: *due + late, station: *station, frame: frame.clone() };
                    self.events.push_back(Event::Delivery(delivery));
                }
            }
            let passage = Passage { started: started + late, at, source, frame, fate };
            self.held.insert((at, self.sequence), passage);
            self.sequence += 1;
        }
    }
}

impl<M: Medium> Medium for Faulty<M> {
    fn attach(&mut self, addresses: &[Mac]) -> Result<(), Misfit> {
        self.inner.attach(addresses)
    }

    fn offer(&mut self, now: Instant, station: usize, frame: Frame) {
        self.inner.offer(now, station, frame);
        self.absorb(now);
    }

    fn expire(&mut self, now: Instant) {
        self.inner.expire(now);
        self.absorb(now);
    }

    fn deadline(&self) -> Option<Deadline> {
        let held = self.held.first_key_value();
        let held = held.map(|((at, _), _)| Deadline { at: *at, timer: "observer" });
        Deadline::earlier(self.inner.deadline(), held)
    }

    fn poll(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn set_receive_buffer(&mut self, now: Instant, station: usize, has: bool) {
        self.inner.set_receive_buffer(now, station, has);
    }

    fn trace(&mut self) -> Option<&mut Slot> {
        self.inner.trace()
    }

    fn complete_trace(&mut self, now: Instant) {
        self.inner.complete_trace(now);
    }

    fn counts(&self, count: &mut dyn FnMut(&str, u64)) {
        self.inner.counts(count);
        let Counts { frames, lost, bad_fcs, damaged, duplicated, held_back } =
            *self.faults.counts();
        count("faults.frames", frames);
        count("faults.lost", lost);
        count("faults.corrupt", bad_fcs);
        count("faults.damaged", damaged);
        count("faults.duplicated", duplicated);
        count("faults.reordered", held_back);
    }
}

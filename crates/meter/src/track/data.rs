//! Detection of retransmitted DTs of one direction (ISO 8073 6.10: numbering).
//!
//! A DT is a retransmission if its number was seen before on its direction. Numbers wrap, so they
//! are unwrapped against the next expected number: up to half the modulus ahead is new, the other
//! half lies behind. All DTs below the next expected number have been seen or given up. DTs beyond
//! it are stored as runs of consecutive numbers, so memory grows with holes, not with the window.
//!
//! A hole that is never filled is given up once the peer acknowledges past it, or once a DT lies so
//! far beyond it that no credit could reach there from an unacknowledged hole. A single DT far
//! beyond all others is not believed until its successor follows it.
//!
//! Bias: a DT that is late and more than half the modulus old is taken for a new one. If 64 or more
//! consecutive DTs in the normal format are missing from a capture, the next counts as a step back.

use super::tsdu::{Finished, Open, Stretch};
use wire::tp::Format;

/// Runs kept at the same time; beyond this number the oldest hole is given up.
const MAXIMUM_RUNS: usize = 64;

/// Unwrapped value of the first number of a direction, 0: a multiple of every modulus, with room
/// below it.
const FIRST: u64 = 1 << 32;

/// Largest number of DTs under way at once: the largest credit of the format.
const fn window(format: Format) -> u64 {
    match format {
        Format::Class0 | Format::Normal => 15,
        Format::Extended => 65_535,
    }
}

/// Consecutive DTs beyond a hole.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: u64,
    /// One past its last number.
    end: u64,
    stretch: Stretch,
}

/// Result of the arrival of a DT.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Arrival {
    /// Its number was seen before.
    pub(super) retransmitted: bool,
    /// Its number lies further ahead than any credit reaches.
    pub(super) out_of_window: bool,
    /// TSDUs that it completes.
    pub(super) finished: Finished,
    /// Numbers given up as never seen.
    pub(super) unseen: u64,
}

/// DTs of one direction. Packed, so that its alignment is 4 octets.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed(4))]
pub(crate) struct DataOrder {
    /// Next expected number, unwrapped; zero before the first DT of a connection found under way.
    /// Includes the flag [`HOLES`].
    next: u64,
}

/// Flag: there are holes below the highest DT seen. No unwrapped number has this bit.
const HOLES: u64 = 1 << 63;

/// DTs beyond the next expected number; boxed because most directions never have a hole.
#[derive(Clone, Debug, Default)]
pub(super) struct Beyond {
    /// Runs in ascending order, with holes between them.
    runs: Vec<Run>,
    /// Number that would confirm that the last DT out of window was no error.
    suspect: Option<u64>,
}

impl DataOrder {
    /// Direction whose first DT will have number 0.
    pub(super) const fn from_the_start() -> Self {
        Self { next: FIRST }
    }

    /// Direction found under way.
    pub(super) const fn under_way() -> Self {
        Self { next: 0 }
    }

    const fn next(&self) -> u64 {
        self.next & !HOLES
    }

    /// One past the highest DT seen, and the unwrapped value of `next` near it, each counted from
    /// the first DT; none before the first DT of a direction found under way.
    pub(super) fn numbers(
        &self,
        format: Format,
        next: Option<u32>,
        beyond: Option<&Beyond>,
    ) -> Option<(u64, Option<u64>)> {
        let end = beyond.and_then(|beyond| beyond.runs.last()).map_or(self.next(), |run| run.end);
        let unwrapped = |number| unwrap(self.next(), number, format).saturating_sub(FIRST);
        (self.next > 0).then(|| (end.saturating_sub(FIRST), next.map(unwrapped)))
    }

    /// Number expected next: all numbers below were seen or given up; `first` before the first DT
    /// of a direction found under way.
    pub(super) const fn expected(&self, format: Format, first: u32) -> u32 {
        if self.next == 0 { first } else { self.next as u32 & (format.modulus() - 1) }
    }

    /// Processes a DT; `beyond` returns the state of DTs beyond a hole.
    pub(super) fn arrive<'a>(
        &mut self,
        format: Format,
        number: u32,
        stretch: Stretch,
        open: &mut Open,
        beyond: impl FnOnce() -> &'a mut Beyond,
    ) -> Arrival {
        if self.next == 0 {
            self.next = FIRST + u64::from(number);
        }
        let place = unwrap(self.next(), number, format);
        if self.has_holes() || place > self.next {
            return self.with(beyond(), open, |edge| edge.arrive(place, window(format), stretch));
        }
        if place < self.next {
            return Arrival { retransmitted: true, ..Arrival::default() };
        }
        self.next += 1;
        Arrival { finished: open.absorb(stretch), ..Arrival::default() }
    }

    /// Processes a DT if it is the next expected one and there are no holes, with its TSDU as
    /// [`Open::go_on`] does. Returns none, without effect, otherwise.
    #[inline]
    pub(super) fn arrive_in_turn(
        &mut self,
        format: Format,
        number: u32,
        open: &mut Open,
        data_octets: u64,
        ends: bool,
    ) -> Option<Option<u64>> {
        let is_next = u64::from(number) == self.next & u64::from(format.modulus() - 1);
        if !is_next || self.has_holes() || self.next == 0 {
            return None;
        }
        let finished = open.go_on(data_octets, ends)?;
        self.next += 1;
        Some(finished)
    }

    /// True if there are holes below the highest DT seen.
    #[inline]
    pub(crate) const fn has_holes(&self) -> bool {
        self.next & HOLES != 0
    }

    /// Processes an acknowledgement of every DT before `number`.
    pub(super) fn acknowledged(
        &mut self,
        format: Format,
        number: u32,
        open: &mut Open,
        beyond: Option<&mut Beyond>,
    ) -> Arrival {
        match beyond.filter(|_| self.has_holes()) {
            Some(beyond) => self.with(beyond, open, |edge| edge.close(format, number)),
            None => Arrival::default(),
        }
    }

    /// Runs `act` on the holes.
    #[cold]
    fn with(
        &mut self,
        beyond: &mut Beyond,
        open: &mut Open,
        act: impl FnOnce(&mut Edge<'_>) -> Arrival,
    ) -> Arrival {
        let mut edge = Edge { next: self.next(), open, beyond };
        let arrival = act(&mut edge);
        let Edge { next, beyond, .. } = edge;
        let holes = if beyond.runs.is_empty() { 0 } else { HOLES };
        self.next = next | holes;
        if beyond.runs.is_empty() {
            beyond.runs = Vec::new();
        }
        arrival
    }
}

/// Next expected number, and the DTs beyond it.
struct Edge<'a> {
    next: u64,
    open: &'a mut Open,
    beyond: &'a mut Beyond,
}

impl Edge<'_> {
    /// Processes a DT that is not the next one, or that has holes beyond it.
    fn arrive(&mut self, place: u64, window: u64, stretch: Stretch) -> Arrival {
        let (next, mut arrival) = (self.next, Arrival::default());
        let is_among = |run: &Run| (run.first..run.end).contains(&place);
        if place < next || self.beyond.runs.iter().any(is_among) {
            arrival.retransmitted = true;
        } else if place == next {
            arrival.finished = self.open.absorb(stretch);
            self.next = next + 1;
            self.absorb_reached(&mut arrival);
        } else {
            self.jump(place, window, stretch, &mut arrival);
        }
        arrival
    }

    /// Gives up the holes before `number`.
    fn close(&mut self, format: Format, number: u32) -> Arrival {
        let mut arrival = Arrival::default();
        // An AK beyond all DTs seen proves nothing about holes, and may be damaged or forged.
        let (next, Some(last)) = (self.next, self.beyond.runs.last()) else { return arrival };
        let place = unwrap(next, number, format);
        if place > last.end {
            return arrival;
        }
        while self.beyond.runs.first().is_some_and(|run| run.first <= place) {
            self.give_up_hole(&mut arrival);
        }
        if self.next < place {
            arrival.unseen += place - self.next;
            self.next = place;
            *self.open = Open::BROKEN;
        }
        arrival
    }

    /// Processes a DT beyond a hole.
    fn jump(&mut self, place: u64, window: u64, stretch: Stretch, arrival: &mut Arrival) {
        let reach = self.beyond.runs.last().map_or(0, |run| run.end) + window;
        while self.is_beyond(place, window) && place < reach && !self.beyond.runs.is_empty() {
            self.give_up_hole(arrival);
        }
        if self.is_beyond(place, window) {
            arrival.out_of_window = true;
            let suspect = &mut self.beyond.suspect;
            if *suspect == Some(place + 1) {
                arrival.retransmitted = true;
                return;
            }
            if suspect.replace(place + 1) != Some(place) {
                return;
            }
            while !self.beyond.runs.is_empty() {
                self.give_up_hole(arrival);
            }
            arrival.unseen += place.saturating_sub(self.next + 1);
            self.next = place;
            *self.open = Open::BROKEN;
        }
        self.insert(Run { first: place, end: place + 1, stretch }, arrival);
        self.absorb_reached(arrival);
        if self.beyond.runs.len() > MAXIMUM_RUNS {
            self.give_up_hole(arrival);
        }
    }

    fn is_beyond(&self, place: u64, window: u64) -> bool {
        place >= self.next + window
    }

    /// Inserts a run in order and joins it with the neighbours it touches.
    fn insert(&mut self, run: Run, arrival: &mut Arrival) {
        let runs = &mut self.beyond.runs;
        let at = runs.partition_point(|other| other.first < run.first);
        runs.insert(at, run);
        join(runs, at, arrival);
        if let Some(before) = at.checked_sub(1) {
            join(runs, before, arrival);
        }
    }

    /// Absorbs the runs that no hole separates any more.
    fn absorb_reached(&mut self, arrival: &mut Arrival) {
        while let Some(run) = self.beyond.runs.first().copied().filter(|run| run.first == self.next)
        {
            self.beyond.runs.remove(0);
            self.next = run.end;
            arrival.finished = arrival.finished.and(self.open.absorb(run.stretch));
        }
    }

    /// Gives up the numbers before the first run.
    fn give_up_hole(&mut self, arrival: &mut Arrival) {
        let Some(first) = self.beyond.runs.first().map(|run| run.first) else { return };
        arrival.unseen += first - self.next;
        self.next = first;
        *self.open = Open::BROKEN;
        self.absorb_reached(arrival);
    }
}

/// Joins the run at this index with the one after it, if they touch.
fn join(runs: &mut Vec<Run>, at: usize, arrival: &mut Arrival) {
    let (Some(run), Some(after)) = (runs.get(at), runs.get(at + 1)) else { return };
    if run.end != after.first {
        return;
    }
    let (stretch, whole) = run.stretch.followed_by(after.stretch);
    runs[at] = Run { first: run.first, end: after.end, stretch };
    runs.remove(at + 1);
    if let Some(octets) = whole {
        arrival.finished.whole(octets);
    }
}

/// Unwraps `number` to the value nearest to `next`: less than half the modulus ahead of it, or at
/// most half behind.
const fn unwrap(next: u64, number: u32, format: Format) -> u64 {
    let modulus = format.modulus() as u64;
    let ahead = (number as u64).wrapping_sub(next) & (modulus - 1);
    if ahead < modulus / 2 { next + ahead } else { next + ahead - modulus }
}

#[cfg(test)]
mod tests;

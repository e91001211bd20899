//! Intervals of a publisher of GOOSE, by the number of the frame within its state, and the times at
//! which the state changed.
//!
//! Definition: the interval n is the mean gap from sqNum n to n + 1, for n below 16, from the first
//! change of state on that was seen. All other gaps are of the steady interval, which is their mean. A gap over
//! missing frames, or to a change of state, is none of them. Bias: the path to the tap is part of the
//! gaps.

use super::numbers::Numbers;
use wire::time::Instant;

/// Intervals that are kept apart.
const CURVE: usize = 16;
/// Changes whose times are kept.
const CHANGES: usize = 256;

/// Intervals of a publisher of GOOSE, and the changes of its state.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Retransmissions {
    /// Mean interval from each frame of a state to the next, in nanoseconds, up to the first that was
    /// not seen; at most 16.
    pub curve_ns: Vec<u64>,
    /// Mean interval behind them, in nanoseconds; none if no state lasted for so long.
    pub steady_ns: Option<u64>,
    /// Longest gap that a change of state ended, in nanoseconds; zero without one.
    pub longest_cut_ns: u64,
    /// Times of the frames of sqNum 0 and of other first frames of a state; at most 256.
    pub changes: Vec<Instant>,
}

/// Mean in the making.
#[derive(Clone, Copy, Default, Debug)]
struct Mean {
    total_ns: u64,
    count: u64,
}

impl Mean {
    fn add(&mut self, gap_ns: u64) {
        self.total_ns = self.total_ns.saturating_add(gap_ns);
        self.count += 1;
    }

    fn value(self) -> Option<u64> {
        self.total_ns.checked_div(self.count)
    }
}

/// Intervals and changes in the making. Memory is taken as they are seen.
#[derive(Clone, Default, Debug)]
pub(super) struct Intervals {
    curve: Vec<Mean>,
    steady: Mean,
    longest_cut_ns: u64,
    changes: Vec<Instant>,
}

impl Intervals {
    /// Begins with the first frame that was seen.
    pub(super) fn new(at: Instant, first: Numbers) -> Self {
        let changes = if first.sequence == 0 { vec![at] } else { Vec::new() };
        Self { changes, ..Self::default() }
    }

    /// Adds a frame behind one with the numbers `before`.
    pub(super) fn add(&mut self, at: Instant, before: Numbers, frame: Numbers, gap_ns: u64) {
        if frame.state != before.state {
            if frame.state > before.state {
                self.longest_cut_ns = self.longest_cut_ns.max(gap_ns);
                if self.changes.len() < CHANGES && self.changes.last() < Some(&at) {
                    self.changes.push(at);
                }
            }
            return;
        }
        if before.sequence.checked_add(1) != Some(frame.sequence) {
            return;
        }
        match usize::try_from(before.sequence) {
            Ok(place) if place < CURVE && !self.changes.is_empty() => {
                let length = self.curve.len().max(place + 1);
                self.curve.resize(length, Mean::default());
                if let Some(mean) = self.curve.get_mut(place) {
                    mean.add(gap_ns);
                }
            }
            _ => self.steady.add(gap_ns),
        }
    }

    pub(super) fn report(&self) -> Option<Retransmissions> {
        let curve_ns: Vec<u64> = self.curve.iter().map_while(|mean| mean.value()).collect();
        let (steady_ns, longest_cut_ns) = (self.steady.value(), self.longest_cut_ns);
        let changes = self.changes.clone();
        let is_any = !curve_ns.is_empty() || steady_ns.is_some() || !changes.is_empty();
        is_any.then_some(Retransmissions { curve_ns, steady_ns, longest_cut_ns, changes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_kept_by_number_and_changes_by_time() {
        let mut intervals = Intervals::new(Instant::ZERO, Numbers { state: 1, sequence: 9 });
        let mut before = Numbers { state: 1, sequence: 9 };
        let mut at = 0;
        // A steady gap, a change, its curve with a lost frame, and another change.
        for (state, sequence, gap_ns) in
            [(1, 10, 100), (2, 0, 30), (2, 1, 4), (2, 2, 8), (2, 4, 40), (3, 0, 5), (3, 1, 6)]
        {
            at += gap_ns;
            let frame = Numbers { state, sequence };
            intervals.add(Instant::from_nanos(at), before, frame, gap_ns);
            before = frame;
        }
        let changes = [130, 187].map(Instant::from_nanos).to_vec();
        let expected = Retransmissions {
            curve_ns: vec![5, 8],
            steady_ns: Some(100),
            longest_cut_ns: 30,
            changes,
        };
        assert_eq!(intervals.report(), Some(expected));
        let first = Numbers { state: 1, sequence: 0 };
        let begun = Intervals::new(Instant::from_nanos(7), first).report().unwrap();
        assert_eq!(begun.changes, [Instant::from_nanos(7)], "a state that begins is a change");
        assert_eq!(Intervals::default().report(), None);
    }
}

//! Times at which a publisher of GOOSE sends a state, and retransmits it (IEC 61850-8-1, 18.1.2.5).
//!
//! ```text
//!   change   curve ...........   maximum        maximum
//!   |─────|─────|────────|────────────────|────────────────|──
//!   sqNum 0     1        2                3
//! ```
//!
//! The standard leaves the intervals to the publisher: here they are a list, behind which the last one
//! repeats. A change of state comes at given times, or at random, and cuts the interval before it.

use core::time::Duration;
use stats::rng::Stream;
use wire::time::Instant;

/// Intervals of a publisher, and the changes of its state.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Retransmissions {
    /// Intervals after a change of state, in their order.
    pub curve: Vec<Duration>,
    /// Interval behind them.
    pub maximum: Duration,
    /// Times of changes, in their order. One at the first frame or before it begins the first state
    /// with its curve; without one that state is steady from the first frame on.
    pub changes: Vec<Instant>,
    /// Mean interval between changes at random, in addition.
    pub mean_interval: Option<Duration>,
}

/// Frame of a publisher.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn {
    /// Time at which it is due.
    pub due: Instant,
    /// stNum: 1 for the first state. Zero does not come back at its roll-over.
    pub state: u32,
    /// sqNum: 0 in the first frame of a state; 1 in the first frame of all, if its state is steady.
    pub sequence: u32,
    /// Time of the last change of state; of the first state, time of its first frame.
    pub changed: Instant,
    /// Interval to the next frame, unless a change comes before it.
    pub interval: Duration,
}

/// Frames of a publisher, one after the other.
#[derive(Clone, Debug)]
pub struct Turns {
    plan: Retransmissions,
    chance: Stream,
    /// Changes at given times that were passed.
    passed: usize,
    /// Next change at random.
    random: Option<Instant>,
    turn: Turn,
    /// Intervals of the curve that were used.
    used: usize,
}

impl Turns {
    /// Begins with a first frame at `at`. `seed` is that of the changes at random.
    #[must_use]
    pub fn new(plan: Retransmissions, seed: u64, at: Instant) -> Self {
        let mut chance = Stream::named(seed, "changes");
        let random = plan.mean_interval.map(|mean| at + chance.exponential(mean));
        let passed = plan.changes.iter().filter(|change| **change <= at).count();
        let is_steady = passed == 0;
        let used = if is_steady { plan.curve.len() } else { 0 };
        let turn = Turn {
            due: at,
            state: 1,
            sequence: u32::from(is_steady),
            changed: at,
            interval: plan.maximum,
        };
        let mut turns = Self { plan, chance, passed, random, turn, used };
        turns.take_interval();
        turns
    }

    /// Takes the next interval of the curve, or the one behind it.
    fn take_interval(&mut self) {
        let next = self.plan.curve.get(self.used).copied();
        self.used += usize::from(next.is_some());
        self.turn.interval = next.unwrap_or(self.plan.maximum);
    }

    /// Present frame.
    #[must_use]
    pub const fn turn(&self) -> &Turn {
        &self.turn
    }

    /// Goes on to the next frame.
    pub fn advance(&mut self) {
        let due = self.turn.due + self.turn.interval;
        let given = self.plan.changes.get(self.passed).copied();
        let change = match (given, self.random) {
            (Some(given), Some(random)) => Some(given.min(random)),
            (given, random) => given.or(random),
        };
        if let Some(change) = change.filter(|change| *change <= due) {
            self.passed += usize::from(given == Some(change));
            if let (Some(random), Some(mean)) = (self.random, self.plan.mean_interval)
                && random == change
            {
                self.random = Some(change + self.chance.exponential(mean));
            }
            let state = self.turn.state.checked_add(1).unwrap_or(1);
            self.used = 0;
            self.turn = Turn { due: change, state, sequence: 0, changed: change, ..self.turn };
        } else {
            let sequence = self.turn.sequence.checked_add(1).unwrap_or(1);
            self.turn = Turn { due, sequence, ..self.turn };
        }
        self.take_interval();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn plan(changes: &[u64]) -> Retransmissions {
        Retransmissions {
            curve: [4, 8, 16].map(Duration::from_millis).to_vec(),
            maximum: Duration::from_millis(100),
            changes: changes.iter().copied().map(ms).collect(),
            mean_interval: None,
        }
    }

    fn turns(mut turns: Turns, count: usize) -> Vec<(u64, u32, u32, u64)> {
        let mut seen = Vec::new();
        for _ in 0..count {
            let Turn { due, state, sequence, interval, .. } = *turns.turn();
            let interval_ms = u64::try_from(interval.as_millis()).unwrap();
            seen.push((due.as_nanos() / 1_000_000, state, sequence, interval_ms));
            turns.advance();
        }
        seen
    }

    #[test]
    fn a_change_is_sent_at_once_and_its_curve_follows() {
        // The change at 130 ms cuts the curve of that at 125 ms.
        let seen = turns(Turns::new(plan(&[125, 130]), 1, ms(10)), 8);
        let expected = [
            (10, 1, 1, 100),
            (110, 1, 2, 100),
            (125, 2, 0, 4),
            (129, 2, 1, 8),
            (130, 3, 0, 4),
            (134, 3, 1, 8),
            (142, 3, 2, 16),
            (158, 3, 3, 100),
        ];
        assert_eq!(seen, expected);
        // The change at 5 ms precedes the first frame, whose state begins with its curve.
        let begun = turns(Turns::new(plan(&[5]), 1, ms(10)), 3);
        assert_eq!(begun, [(10, 1, 0, 4), (14, 1, 1, 8), (22, 1, 2, 16)]);
    }

    #[test]
    fn changes_at_random_have_their_mean_and_follow_from_the_seed() {
        let random =
            || Retransmissions { mean_interval: Some(Duration::from_secs(1)), ..plan(&[]) };
        let of = |seed| {
            let mut turns = Turns::new(random(), seed, ms(0));
            while turns.turn().due < ms(1_000_000) {
                turns.advance();
            }
            (turns.turn().state, turns.turn().due)
        };
        assert_eq!(of(7), of(7));
        assert_ne!(of(7), of(8));
        // 1,000 s at a mean of 1 s: 1,000 changes, standard deviation 32; five of those either way.
        assert!((840..=1_160).contains(&of(7).0), "{:?}", of(7));
    }

    #[test]
    fn numbers_roll_over_without_a_state_of_zero() {
        let mut turns = Turns::new(plan(&[50]), 1, ms(0));
        (turns.turn.state, turns.turn.sequence) = (u32::MAX, u32::MAX);
        turns.advance();
        assert_eq!((turns.turn().state, turns.turn().sequence), (1, 0));
        turns.turn.sequence = u32::MAX;
        turns.advance();
        assert_eq!((turns.turn().state, turns.turn().sequence), (1, 1));
    }
}

//! Order of the frames of a stream, by the numbers that its publisher counts.
//!
//! A change of state increments stNum and begins sqNum at 0; each repetition increments sqNum. Both
//! skip 0 when they roll over (IEC 61850-8-1, 18.1.2.5). Definition: a frame is missing if a higher
//! number of its state arrived; it is taken back out if it arrives late. Bias: frames at the end of
//! a state that another follows are not missed, because nothing tells how many there were.

/// Maximum number of frames by which a frame is late; one further behind belongs to a new count.
const LATE: u32 = 64;

/// Numbers of a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Numbers {
    /// stNum.
    pub(super) state: u32,
    /// sqNum.
    pub(super) sequence: u32,
}

/// Findings from the numbers of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Order {
    /// Frames that did not arrive.
    pub missing: u64,
    /// Frames that arrived behind a higher number of their state.
    pub out_of_order: u64,
    /// Frames with the number of an earlier one.
    pub repeated: u64,
    /// Changes of state.
    pub state_changes: u64,
    /// States of which no frame arrived.
    pub missed_states: u64,
    /// Frames with lower numbers than expected, of an earlier state or long before: late or replayed.
    pub backwards: u64,
    /// Times that the publisher began to count anew.
    pub restarts: u64,
}

/// Highest numbers so far, and what they show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sequence {
    highest: Numbers,
    /// Frames of the present state that are missing.
    missing: u64,
    /// Last frame of an earlier state.
    rival: Option<Numbers>,
    pub(super) order: Order,
}

/// Number of steps from one number to a higher one; `None` if it is not higher. Half of the range
/// is higher.
const fn steps(from: u32, to: u32) -> Option<u64> {
    match to.wrapping_sub(from) {
        0 => None,
        // A roll-over skips zero; a publisher that does not is one step further all the same.
        ahead if ahead <= 1 << 31 => Some((ahead - (to < from && to > 0) as u32) as u64),
        _ => None,
    }
}

impl Sequence {
    /// Begins with the first frame that was seen.
    pub(super) fn new(first: Numbers) -> Self {
        Self { highest: first, missing: 0, rival: None, order: Order::default() }
    }

    /// Numbers of the last frame in order.
    pub(super) const fn highest(&self) -> Numbers {
        self.highest
    }

    /// True if the frame has the numbers of the last one.
    pub(super) fn is_last(&self, numbers: Numbers) -> bool {
        self.highest == numbers
    }

    /// Adds a frame.
    pub(super) fn add(&mut self, numbers: Numbers) {
        let Numbers { state, sequence } = numbers;
        if state != self.highest.state {
            return match steps(self.highest.state, state) {
                Some(states) => {
                    self.order.state_changes += 1;
                    self.order.missed_states += states - 1;
                    self.begin(numbers, sequence.into());
                }
                None => self.back(numbers),
            };
        }
        let behind = self.highest.sequence.wrapping_sub(sequence);
        match steps(self.highest.sequence, sequence) {
            Some(ahead) => self.begin(numbers, self.missing.saturating_add(ahead - 1)),
            None if behind == 0 => self.order.repeated += 1,
            None if behind <= LATE && self.missing > 0 => {
                self.missing -= 1;
                self.order.missing -= 1;
                self.order.out_of_order += 1;
            }
            None => self.back(numbers),
        }
    }

    /// Goes on with a frame, with the missing frames of its state.
    fn begin(&mut self, numbers: Numbers, missing: u64) {
        let is_same = numbers.state == self.highest.state;
        let before = if is_same { self.missing } else { 0 };
        self.order.missing = self.order.missing.saturating_add(missing - before);
        (self.highest, self.missing, self.rival) = (numbers, missing, None);
    }

    /// Adds a frame with lower numbers. One such frame is late or replayed; a second one that goes on
    /// from it shows that the publisher counts anew.
    fn back(&mut self, numbers: Numbers) {
        let ahead = |rival: Numbers| {
            if rival.state == numbers.state {
                steps(rival.sequence, numbers.sequence).map(|ahead| ahead - 1)
            } else {
                steps(rival.state, numbers.state).map(|_| numbers.sequence.into())
            }
        };
        if let Some(missing) = self.rival.and_then(ahead) {
            self.order.backwards -= 1;
            self.order.restarts += 1;
            self.missing = 0;
            self.begin(numbers, missing);
        } else {
            self.order.backwards += 1;
            self.rival = Some(numbers);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Draw;

    /// Adds frames, each with its state and number.
    fn order(frames: &[(u32, u32)]) -> Order {
        let numbers = |&(state, sequence)| Numbers { state, sequence };
        let mut sequence = Sequence::new(numbers(&frames[0]));
        frames[1..].iter().map(numbers).for_each(|numbers| sequence.add(numbers));
        sequence.order
    }

    #[test]
    fn a_late_frame_is_not_missing() {
        let found = order(&[(5, 7), (5, 8), (5, 11), (5, 9), (5, 12), (5, 12)]);
        assert_eq!(found, Order { missing: 1, out_of_order: 1, repeated: 1, ..Order::default() });
    }

    #[test]
    fn a_state_begins_at_zero() {
        // The first two frames of state 6 are missing, and all of state 7.
        let found = order(&[(5, 7), (6, 2), (8, 0), (8, 1)]);
        let expected = Order { missing: 2, state_changes: 2, missed_states: 1, ..Order::default() };
        assert_eq!(found, expected);
    }

    #[test]
    fn both_numbers_roll_over_to_one() {
        let last = u32::MAX;
        assert_eq!(order(&[(3, last - 1), (3, last), (3, 1), (3, 2)]), Order::default());
        let found = order(&[(last, 4), (1, 0), (1, 1)]);
        assert_eq!(found, Order { state_changes: 1, ..Order::default() });
    }

    #[test]
    fn any_numbers_are_counted() {
        assert_eq!(order(&[(3, u32::MAX), (3, 0), (3, 1)]), Order::default());
        let mut draw = Draw(2_026);
        let near = |draw: &mut Draw| match draw.below(4) {
            0 => draw.below(4),
            1 => u32::MAX - draw.below(4),
            _ => draw.below(u64::from(u32::MAX)),
        };
        for _ in 0..2_000 {
            let frames: Vec<_> = (0..40).map(|_| (near(&mut draw) % 5, near(&mut draw))).collect();
            let found = order(&frames);
            let ordinary = found.out_of_order + found.repeated + found.backwards + found.restarts;
            assert!(ordinary + found.state_changes < 40, "{frames:?} {found:?}");
        }
    }

    #[test]
    fn a_publisher_that_starts_again_is_followed() {
        // One old frame is no start; two that go on are.
        let old = order(&[(40, 0), (39, 9), (40, 1), (40, 2)]);
        assert_eq!(old, Order { backwards: 1, ..Order::default() });
        let between = order(&[(40, 1), (40, 4), (39, 9), (40, 6)]);
        assert_eq!(between, Order { missing: 3, backwards: 1, ..Order::default() });
        let again = order(&[(40, 0), (1, 0), (1, 1), (1, 2), (2, 0)]);
        assert_eq!(again, Order { restarts: 1, state_changes: 1, ..Order::default() });
        // In the same state, as of a device whose state did not change while it was off.
        let same = order(&[(1, 12), (1, 1), (1, 2), (1, 4)]);
        assert_eq!(same, Order { restarts: 1, missing: 1, ..Order::default() });
    }
}

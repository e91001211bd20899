//! Priority and reservation on a ring (IEEE 802.5): a station raises the priority of the token, and
//! the same station lowers it again.
//!
//! ```text
//!   token  P R                         P: only frames of this priority and above may use it
//!   frame  P R  ──▶ R = max(R, Pm) ──▶ R: the highest priority that waits anywhere
//!
//!   the sender's next token:  P' = max(R, Pm) if that is above P; it becomes a stacking station,
//!                             with Sr = P (the old priority) and Sx = P' (the new one)
//!   at the stacking station:  a token with P = Sx that it cannot use goes on with P = max(R, Sr)
//! ```
//!
//! Not modelled: the zero-length frame by which a stacking station keeps the ring while it changes
//! a token; the token takes its own length again instead. Stacks left behind by a lost token do not
//! occur.

/// Access control field of a token: PPP and RRR.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Access {
    /// P: priority of the ring.
    pub priority: u8,
    /// R: highest reservation since the token was sent.
    pub reservation: u8,
}

/// One step by which a station raised the priority of the ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Step {
    /// Sr: priority before.
    before: u8,
    /// Sx: priority after.
    raised: u8,
}

/// Priorities that one station has raised and not yet lowered. At most seven steps, because each is
/// above the last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Stack(Vec<Step>);

impl Stack {
    /// Creates an empty stack.
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Returns whether the station has no priority left to lower.
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Token that a station sends after its frames. It used a token of priority `used`; `wanted` is
    /// the higher of the returned reservation and its own next frame's priority.
    pub(super) fn release(&mut self, used: u8, wanted: u8) -> Access {
        if wanted <= used {
            return Access { priority: used, reservation: wanted };
        }
        match self.0.last_mut() {
            Some(top) if top.raised == used => top.raised = wanted,
            _ => self.0.push(Step { before: used, raised: wanted }),
        }
        Access { priority: wanted, reservation: 0 }
    }

    /// Token that a stacking station makes of one that it cannot use; `None` if the token does not
    /// have the priority to which this station raised it.
    pub(super) fn lower(&mut self, token: Access) -> Option<Access> {
        let top = self.0.last_mut().filter(|top| top.raised == token.priority)?;
        if token.reservation > top.before {
            top.raised = token.reservation;
            return Some(Access { priority: token.reservation, reservation: 0 });
        }
        let priority = top.before;
        self.0.pop();
        Some(Access { priority, reservation: token.reservation })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn access(priority: u8, reservation: u8) -> Access {
        Access { priority, reservation }
    }

    #[test]
    fn a_reservation_not_above_the_priority_is_passed_on() {
        let mut stack = Stack::new();
        assert_eq!(stack.release(0, 0), access(0, 0));
        assert_eq!(stack.release(4, 2), access(4, 2));
        assert_eq!(stack.release(4, 4), access(4, 4));
        assert!(stack.is_empty());
    }

    #[test]
    fn the_station_that_raised_the_priority_lowers_it() {
        let mut stack = Stack::new();
        assert_eq!(stack.release(0, 5), access(5, 0));
        assert_eq!(stack.lower(access(6, 0)), None, "another station raised it further");
        assert_eq!(stack.lower(access(5, 0)), Some(access(0, 0)));
        assert!(stack.is_empty());
        assert_eq!(stack.lower(access(0, 0)), None);
    }

    #[test]
    fn a_priority_is_lowered_stepwise_to_the_highest_reservation() {
        // Raised from 0 to 2 and on to 6: with 4 reserved it goes down to 4, then to 3, 2, 1 and 0.
        let mut stack = Stack::new();
        assert_eq!(stack.release(0, 2), access(2, 0));
        // Another station raises it to 3 in between, so this is a separate step.
        assert_eq!(stack.release(3, 6), access(6, 0));
        assert_eq!(stack.lower(access(6, 4)), Some(access(4, 0)));
        assert_eq!(
            stack.lower(access(4, 1)),
            Some(access(3, 1)),
            "3 is lowered by another station"
        );
        assert_eq!(stack.lower(access(3, 1)), None);
        assert_eq!(stack.lower(access(2, 1)), Some(access(1, 0)));
        assert_eq!(stack.lower(access(1, 0)), Some(access(0, 0)));
        assert!(stack.is_empty());
    }

    #[test]
    fn raising_a_priority_raised_by_oneself_adds_no_step() {
        let mut stack = Stack::new();
        assert_eq!(stack.release(0, 2), access(2, 0));
        assert_eq!(stack.release(2, 6), access(6, 0));
        assert_eq!(stack.lower(access(6, 0)), Some(access(0, 0)));
        assert!(stack.is_empty());
    }
}

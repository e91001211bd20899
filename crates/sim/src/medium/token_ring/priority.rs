//! Priority and reservation on a ring (IEEE 802.5): how a station raises the priority of the token,
//! and how the same station lets it down again.
//!
//! ```text
//!   token  P R                         P: only frames of this priority and above may use it
//!   frame  P R  ──▶ R = max(R, Pm) ──▶ R: the highest priority that waits anywhere
//!
//!   the sender's next token:  P' = max(R, Pm) if that is above P; it becomes a stacking station,
//!                             with Sr = P (what was) and Sx = P' (what it made of it)
//!   at the stacking station:  a token with P = Sx that it cannot use goes on with P = max(R, Sr)
//! ```
//!
//! Not modelled: the transmission of the zero-length frame by which a stacking station keeps the
//! ring while it changes a token; the token takes its own length again instead. Stacks that a lost
//! token leaves behind do not occur.

/// The access control field of a token: PPP and RRR.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Access {
    /// P: the priority of the ring.
    pub priority: u8,
    /// R: the highest reservation since the token was sent.
    pub reservation: u8,
}

/// One step by which a station raised the priority of the ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Step {
    /// Sr: the priority before.
    before: u8,
    /// Sx: the priority it was raised to.
    raised: u8,
}

/// What one station remembers of the priorities it raised. At most seven steps: each is above the
/// last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Stack(Vec<Step>);

impl Stack {
    /// A station that raised nothing.
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Whether the station has yet to let the priority down.
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The token that a station sends after its frames: it used a token of priority `used`, and
    /// `wanted` is the higher of the reservation that came back and its own next frame's priority.
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

    /// The token that a stacking station makes of one that it cannot use; `None` where it is not of
    /// the priority that this station raised it to.
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
    fn a_reservation_not_above_the_priority_is_handed_on() {
        let mut stack = Stack::new();
        assert_eq!(stack.release(0, 0), access(0, 0));
        assert_eq!(stack.release(4, 2), access(4, 2));
        assert_eq!(stack.release(4, 4), access(4, 4));
        assert!(stack.is_empty());
    }

    #[test]
    fn who_raises_the_priority_lets_it_down_again() {
        let mut stack = Stack::new();
        assert_eq!(stack.release(0, 5), access(5, 0));
        assert_eq!(stack.lower(access(6, 0)), None, "another station raised it further");
        assert_eq!(stack.lower(access(5, 0)), Some(access(0, 0)));
        assert!(stack.is_empty());
        assert_eq!(stack.lower(access(0, 0)), None);
    }

    #[test]
    fn a_priority_is_let_down_in_steps_to_what_still_waits() {
        // Raised from 0 to 2 and on to 6: with 4 reserved it goes down to 4, then to 2, then to 0.
        let mut stack = Stack::new();
        assert_eq!(stack.release(0, 2), access(2, 0));
        // Another station raises it to 3 in between, so this is a step of its own.
        assert_eq!(stack.release(3, 6), access(6, 0));
        assert_eq!(stack.lower(access(6, 4)), Some(access(4, 0)));
        assert_eq!(stack.lower(access(4, 1)), Some(access(3, 1)), "3 is another's to let down");
        assert_eq!(stack.lower(access(3, 1)), None);
        assert_eq!(stack.lower(access(2, 1)), Some(access(1, 0)));
        assert_eq!(stack.lower(access(1, 0)), Some(access(0, 0)));
        assert!(stack.is_empty());
    }

    #[test]
    fn raising_again_what_one_raised_oneself_is_no_new_step() {
        let mut stack = Stack::new();
        assert_eq!(stack.release(0, 2), access(2, 0));
        assert_eq!(stack.release(2, 6), access(6, 0));
        assert_eq!(stack.lower(access(6, 0)), Some(access(0, 0)));
        assert!(stack.is_empty());
    }
}

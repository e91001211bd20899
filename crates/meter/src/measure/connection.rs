//! Transport connections: asked for, established, refused, ended.
//!
//! Definition: a connection is asked for by its first CR, established by its first CC, refused by a
//! DR that answers the CR, not agreed on where a DR gives negotiation as the reason, and ended by
//! its first DR otherwise; one of class 0 is ended by the end of its TCP connection too, and an
//! attempt is refused by it. [`Ending`] says which ends are graceful, abrupt and erroneous. One of
//! which nothing is heard for too long has fallen silent. Bias: whether the CC ever reached the
//! other side is not seen; connections found under way (adopted) count as ended when they end, but never as
//! established; class 4 has no release that waits for data, so graceful means no more than normal and
//! with nothing seen unacknowledged; in classes 2 to 4 the end of a TCP connection is no end.

use super::{Measure, Values};
use crate::sight::{Ending, Sight, Step};

/// Steps in the lives of connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Connections {
    /// Asked for.
    pub requested: u64,
    /// Established.
    pub established: u64,
    /// Refused.
    pub refused: u64,
    /// Given up because the sides could not agree.
    pub not_agreed: u64,
    /// Ended.
    pub ended: u64,
    /// Of those, gracefully.
    pub graceful: u64,
    /// Of those, abruptly.
    pub abrupt: u64,
    /// Of those, because a protocol was not kept.
    pub erroneous: u64,
    /// Fallen silent.
    pub silent: u64,
    /// Found under way.
    pub adopted: u64,
}

impl Connections {
    /// What was counted since an earlier count of the same.
    pub(super) const fn since(&self, earlier: &Self) -> Self {
        Self {
            requested: self.requested - earlier.requested,
            established: self.established - earlier.established,
            refused: self.refused - earlier.refused,
            not_agreed: self.not_agreed - earlier.not_agreed,
            ended: self.ended - earlier.ended,
            graceful: self.graceful - earlier.graceful,
            abrupt: self.abrupt - earlier.abrupt,
            erroneous: self.erroneous - earlier.erroneous,
            silent: self.silent - earlier.silent,
            adopted: self.adopted - earlier.adopted,
        }
    }

    /// Takes notice of a step, if there is one.
    #[inline]
    pub(super) fn step(&mut self, step: Option<Step>) {
        match step {
            None => {}
            Some(Step::Requested) => self.requested += 1,
            Some(Step::Established) => self.established += 1,
            Some(Step::Refused) => self.refused += 1,
            Some(Step::NotAgreed) => self.not_agreed += 1,
            Some(Step::Silent) => self.silent += 1,
            Some(Step::Adopted) => self.adopted += 1,
            Some(Step::Ended(ending)) => {
                self.ended += 1;
                match ending {
                    Ending::Graceful => self.graceful += 1,
                    Ending::Abrupt => self.abrupt += 1,
                    Ending::Erroneous => self.erroneous += 1,
                }
            }
        }
    }
}

impl Measure for Connections {
    fn observe(&mut self, sight: &Sight) {
        let step = match sight {
            Sight::Tpdu(tpdu) => tpdu.step,
            Sight::Step(step) => Some(*step),
            _ => return,
        };
        self.step(step);
    }

    fn add(&mut self, other: &Self) {
        self.requested += other.requested;
        self.established += other.established;
        self.refused += other.refused;
        self.not_agreed += other.not_agreed;
        self.ended += other.ended;
        self.graceful += other.graceful;
        self.abrupt += other.abrupt;
        self.erroneous += other.erroneous;
        self.silent += other.silent;
        self.adopted += other.adopted;
    }

    fn values(&self) -> Values {
        vec![
            ("transport_connections".into(), self.established),
            ("connection_attempts".into(), self.requested),
            ("connection_refusals".into(), self.refused),
            ("connection_negotiation_failures".into(), self.not_agreed),
            ("connection_ends".into(), self.ended),
            ("connection_graceful_ends".into(), self.graceful),
            ("connection_abrupt_ends".into(), self.abrupt),
            ("connection_erroneous_ends".into(), self.erroneous),
            ("connection_silent_ends".into(), self.silent),
            ("connections_adopted".into(), self.adopted),
        ]
    }
}

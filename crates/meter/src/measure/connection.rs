//! Transport connections: requested, established, refused, ended.
//!
//! Definition: a connection is requested by its first CR, established by its first CC, refused by a
//! DR that answers the CR, not agreed on if a DR gives negotiation as the reason, and ended by its
//! first DR otherwise. A connection of class 0 is also ended by the end of its TCP connection, and
//! a request is refused by it. [`Ending`] defines graceful, abrupt and erroneous ends. A connection
//! without a TPDU for too long is silent. Bias: whether the CC reached the other side is not seen.
//! Connections found under way (adopted) count as ended when they end, but never as established.
//! Class 4 has no release that waits for data, so graceful means no more than a normal reason with
//! nothing seen unacknowledged. In classes 2 to 4 the end of a TCP connection is no end.

use crate::observation::{Ending, Observation, Step};

counters! {
    /// Steps of connections.
    pub struct Connections {
        /// Requested.
        pub requested,
        /// Established.
        pub established,
        /// Refused.
        pub refused,
        /// Ended because the sides could not agree.
        pub not_agreed,
        /// Ended.
        pub ended,
        /// Of those, gracefully.
        pub graceful,
        /// Of those, abruptly.
        pub abrupt,
        /// Of those, by a protocol violation.
        pub erroneous,
        /// Silent for too long.
        pub silent,
        /// Found under way.
        pub adopted,
    }
}

impl Connections {
    /// Counts a step, if there is one.
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

impl Connections {
    /// Counts what an observation adds.
    pub fn observe(&mut self, observation: &Observation) {
        let step = match observation {
            Observation::Tpdu(tpdu) => tpdu.step,
            Observation::Step(step) => Some(*step),
            _ => return,
        };
        self.step(step);
    }
}

//! Where what is found goes: measures, oddities, and whoever wants to know what a frame was.

use crate::measure::Measures;
use crate::oddity::Oddities;
use crate::sight::{Between, Sight, Step};
use core::time::Duration;

/// Where what is found goes.
pub(crate) struct Sink<'a> {
    /// What is measured.
    pub(crate) measures: &'a mut Measures,
    /// What is odd.
    pub(crate) oddities: &'a mut Oddities,
    /// Where each sight is kept, for whoever wants to know what a frame was.
    pub(crate) witness: Option<&'a mut Vec<Sight>>,
    /// Whether frames hold user data; where they do not, missing user data is not odd.
    pub(crate) has_data: bool,
}

impl Sink<'_> {
    /// Takes notice of how long something took, in nanoseconds.
    // Always: where the kind is known, choosing among them falls away.
    #[inline(always)]
    pub(crate) fn span(&mut self, between: Between, nanos: u64) {
        self.measures.delays.of(between).record_nanos(nanos);
        self.witness(|| Sight::Span(between, Duration::from_nanos(nanos)));
    }

    /// Counts a reply that pairs with no single request.
    pub(crate) fn ambiguous_response(&mut self) {
        self.measures.delays.ambiguous_responses += 1;
        self.witness(|| Sight::AmbiguousResponse);
    }

    /// A window was closed for so many nanoseconds.
    pub(crate) fn closed_window(&mut self, nanos: u64) {
        self.span(Between::ClosedWindow, nanos);
    }

    pub(crate) fn step(&mut self, step: Step) {
        self.measures.observe(&Sight::Step(step));
        self.witness(|| Sight::Step(step));
    }

    /// Keeps a sight, where somebody wants it.
    #[inline]
    pub(crate) fn witness(&mut self, sight: impl FnOnce() -> Sight) {
        if let Some(witness) = &mut self.witness {
            keep(witness, sight);
        }
    }
}

#[cold]
fn keep(witness: &mut Vec<Sight>, sight: impl FnOnce() -> Sight) {
    witness.push(sight());
}

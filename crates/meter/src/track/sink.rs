//! Destination of results: measures, oddities, and optionally the list of observations.

use crate::measure::Measures;
use crate::observation::{DelayKind, MmsEvent, Observation, Step};
use crate::oddity::Oddities;
use crate::tsdu::Tsdus;
use core::time::Duration;

/// Destination of results.
pub(crate) struct Sink<'a> {
    /// Measures.
    pub(crate) measures: &'a mut Measures,
    /// Anomalies.
    pub(crate) oddities: &'a mut Oddities,
    /// List of observations, if the caller asked for them.
    pub(crate) witness: Option<&'a mut Vec<Observation>>,
    /// Collected TSDUs, if the caller asked for them.
    pub(crate) tsdus: Option<&'a mut Tsdus>,
    /// True if frames hold user data; otherwise missing user data is no oddity.
    pub(crate) has_data: bool,
}

impl Sink<'_> {
    /// Counts a delay in nanoseconds.
    // Always inline: where the kind is known, the selection is eliminated.
    #[inline(always)]
    pub(crate) fn span(&mut self, between: DelayKind, nanos: u64) {
        self.measures.delays.of(between).record_nanos(nanos);
        self.witness(|| Observation::Span(between, Duration::from_nanos(nanos)));
    }

    /// Counts a reply that pairs with no single request.
    pub(crate) fn ambiguous_response(&mut self) {
        self.measures.delays.ambiguous_responses += 1;
        self.witness(|| Observation::AmbiguousResponse);
    }

    /// Counts an event of an association.
    pub(crate) fn mms(&mut self, event: MmsEvent) {
        self.measures.mms.observe(&event);
        self.measures.delays.mms(&event);
        self.witness(|| Observation::Mms(event));
    }

    /// Counts a window that was closed for this number of nanoseconds.
    pub(crate) fn closed_window(&mut self, nanos: u64) {
        self.span(DelayKind::ClosedWindow, nanos);
    }

    pub(crate) fn step(&mut self, step: Step) {
        self.measures.observe(&Observation::Step(step));
        self.witness(|| Observation::Step(step));
    }

    /// Records an observation, if the caller asked for them.
    #[inline]
    pub(crate) fn witness(&mut self, observation: impl FnOnce() -> Observation) {
        if let Some(witness) = &mut self.witness {
            keep(witness, observation);
        }
    }
}

#[cold]
fn keep(witness: &mut Vec<Observation>, observation: impl FnOnce() -> Observation) {
    witness.push(observation());
}

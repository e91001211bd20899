//! Destination of results: measures, oddities, and optionally the list of observations.

use crate::follow::transactions::Transactions;
use crate::measure::Measures;
use crate::observation::{DelayKind, MmsEvent, Observation, Step};
use crate::oddity::Oddities;
use crate::tsdu::Tsdus;
use core::time::Duration;
use wire::time::Instant;

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
    /// Requests and replies.
    pub(crate) transactions: &'a mut Transactions,
    /// True if frames hold user data; otherwise missing user data is no oddity.
    pub(crate) has_data: bool,
    /// Start of the interval under way.
    pub(crate) interval: Instant,
}

/// Destination of the results of DTs, AKs and segments: a [`Sink`], or the intervals themselves,
/// whose fields the fast path reads where it needs them.
pub(crate) trait Results {
    /// Measures.
    fn measures(&mut self) -> &mut Measures;

    /// Records an observation, if the caller asked for them.
    fn witness(&mut self, observation: impl FnOnce() -> Observation);

    /// All of the destination.
    fn sink(&mut self) -> Sink<'_>;

    /// Counts a delay in nanoseconds.
    // Always inline: where the kind is known, the selection is eliminated.
    #[inline(always)]
    fn span(&mut self, between: DelayKind, nanos: u64) {
        self.measures().delays.of(between).record_nanos(nanos);
        self.witness(|| Observation::Span(between, Duration::from_nanos(nanos)));
    }

    /// Counts a reply that pairs with no single request.
    fn ambiguous_response(&mut self) {
        self.measures().delays.ambiguous_responses += 1;
        self.witness(|| Observation::AmbiguousResponse);
    }
}

impl Results for Sink<'_> {
    #[inline(always)]
    fn measures(&mut self) -> &mut Measures {
        self.measures
    }

    #[inline]
    fn witness(&mut self, observation: impl FnOnce() -> Observation) {
        if let Some(witness) = &mut self.witness {
            keep(witness, observation);
        }
    }

    fn sink(&mut self) -> Sink<'_> {
        Sink {
            measures: self.measures,
            oddities: self.oddities,
            witness: self.witness.as_deref_mut(),
            tsdus: self.tsdus.as_deref_mut(),
            transactions: self.transactions,
            has_data: self.has_data,
            interval: self.interval,
        }
    }
}

impl Sink<'_> {
    /// Counts an event of an association.
    // Always inline: where the event is known, the selections are eliminated.
    #[inline(always)]
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
}

#[cold]
fn keep(witness: &mut Vec<Observation>, observation: impl FnOnce() -> Observation) {
    witness.push(observation());
}

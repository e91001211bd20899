//! Figures of a stream in an interval: those so far, less a copy from its start.

use super::report::{StreamFigures, StreamReport};
use crate::follow::period::{Deviations, Period};
use crate::measure::Distribution;

/// Figures at the start of an interval.
#[derive(Clone, Debug)]
pub(super) struct Start {
    figures: StreamFigures,
    late_and_early: Option<Box<[Distribution; 2]>>,
}

impl Start {
    fn new(figures: StreamFigures, period: &Period) -> Self {
        Self { figures, late_and_early: period.distributions().cloned().map(Box::new) }
    }

    /// Begins an interval of a stream. The start of one that has had no frame since stays, so that
    /// distributions are copied as often as they change. Returns true if it is new.
    pub(super) fn begin(
        start: &mut Option<Box<Self>>,
        report: &StreamReport,
        missing: u64,
        period: &Period,
    ) -> bool {
        let figures = StreamFigures::of(report, missing);
        let has_distributions = period.distributions().is_some();
        let is_there = |start: &Self| {
            start.figures == figures && start.late_and_early.is_some() == has_distributions
        };
        let is_new = !start.as_deref().is_some_and(is_there);
        if is_new {
            *start = Some(Box::new(Self::new(figures, period)));
        }
        is_new
    }
}

/// Figures since `start`; since the first frame without one.
pub(super) fn since(
    start: Option<&Start>,
    report: &StreamReport,
    missing: u64,
    period: &Period,
) -> StreamFigures {
    let Some(start) = start else {
        let deviations = period.deviations();
        return StreamFigures { deviations, ..StreamFigures::of(report, missing) };
    };
    let (now, before) = (StreamFigures::of(report, missing), &start.figures);
    let deviations = period.distributions().map(|now| {
        let [late, early] = [0, 1].map(|side: usize| {
            let before = start.late_and_early.as_deref().and_then(|both| both.get(side));
            let none = Distribution::default();
            now.get(side).map(|now| now.since(before.unwrap_or(&none)).summary())
        });
        Deviations { late: late.unwrap_or_default(), early: early.unwrap_or_default() }
    });
    StreamFigures {
        frames: now.frames.saturating_sub(before.frames),
        missing: now.missing.saturating_sub(before.missing),
        silences: now.silences.saturating_sub(before.silences),
        gaps: now.gaps.saturating_sub(before.gaps),
        gap_total_ns: now.gap_total_ns.saturating_sub(before.gap_total_ns),
        deviations,
    }
}

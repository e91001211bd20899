//! Runs on the medium of a scenario, under its faults.

use super::{Ran, RunError, Watch, simulate};
use crate::layout::Layout;
use crate::medium::{Site, Visitor};
use crate::scenario::{Faults, Point};
use sim::medium::Medium;
use sim::medium::faulty::Faulty;
use stack::fault;

/// Runs a layout on the medium of its scenario.
pub(super) fn drive(
    point: &Point,
    layout: Layout,
    seed: u64,
    watch: &mut Watch<'_>,
) -> Result<Ran, RunError> {
    let site = Site {
        positions_metres: layout.places.iter().map(|place| place.metres).collect(),
        seed,
        changes: layout.changes.clone(),
    };
    point.scenario.medium.model(site).visit(Run { point, layout, seed, watch })?
}

/// A run that only lacks its medium.
struct Run<'a, 'w> {
    point: &'a Point,
    layout: Layout,
    seed: u64,
    watch: &'a mut Watch<'w>,
}

impl Visitor for Run<'_, '_> {
    type Output = Result<Ran, RunError>;

    /// Applies the scenario's faults to frames that the medium delivers, if there are any.
    fn visit<M: Medium>(self, medium: M) -> Self::Output {
        let Self { point, layout, seed, watch } = self;
        if point.scenario.faults == Faults::NONE {
            return simulate(medium, point, layout, watch);
        }
        let plan = point.scenario.faults.plan(point.scenario.transport.m.0);
        let faulty = Faulty::new(medium, fault::Faults::new(plan, seed, "medium")?);
        simulate(faulty, point, layout, watch)
    }
}

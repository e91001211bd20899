//! Breadth-first search over the states of a model.

use core::fmt::Debug;
use stats::rng::fnv1a_128;
use std::collections::BTreeSet;

/// Machines with their users and the line between them, in one state.
pub(crate) trait Model: Clone + Debug {
    /// Event that can come next.
    type Act;
    /// Limits of the search.
    type Bounds: Copy;

    /// Events that can come next within the limits.
    fn acts(&self, bounds: Self::Bounds) -> Vec<Self::Act>;

    /// Performs an event, and checks what must hold in every state.
    fn perform(&mut self, act: Self::Act);

    /// Lets everything arrive and be answered, and checks what must hold then.
    fn settle(self);
}

/// Explores everything within the bounds, until no new state is left; returns the number of states.
pub(crate) fn explore<M: Model>(first: M, bounds: M::Bounds) -> usize {
    let mut seen = BTreeSet::new();
    let mut layer = vec![first];
    while !layer.is_empty() {
        let mut next = Vec::new();
        for model in layer {
            for act in model.acts(bounds) {
                let mut model = model.clone();
                model.perform(act);
                if seen.insert(fnv1a_128(format!("{model:?}").bytes())) {
                    model.clone().settle();
                    next.push(model);
                }
            }
        }
        layer = next;
    }
    seen.len()
}

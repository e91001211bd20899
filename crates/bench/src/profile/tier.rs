//! Tiers of a profile: steps of its calibration, each with more published figures than the one
//! before.
//!
//! At a tier the figures of this tier and of those before it are inputs, and all others are
//! predictions. A tier changes inputs; a variant fits the figures up to its own tier. Scenarios take
//! the profile's first values.

use super::Profile;
use std::collections::BTreeSet;

/// A step of a calibration.
#[derive(Clone, PartialEq, Debug)]
pub struct Tier {
    /// Its name.
    pub name: String,
    /// The figures that it adds, in words.
    pub title: String,
    /// The names of the published figures that it adds.
    pub calibrated_on: Vec<String>,
    /// The inputs that it changes from this tier on, and their values.
    pub inputs: Vec<(String, f64)>,
}

impl Profile {
    /// The machine at one of its tiers: with the inputs and variants that fit the figures up to this
    /// tier, and calibrated on these alone. `None` if there is no such tier.
    #[must_use]
    pub fn at_tier(&self, name: &str) -> Option<Self> {
        let last = self.place_of_tier(name)?;
        let mut changed = self.clone();
        changed.tiers.truncate(last + 1);
        changed.apply_tiers();
        changed.variants.retain(|variant| {
            variant
                .tier
                .as_deref()
                .and_then(|tier| self.place_of_tier(tier))
                .is_none_or(|at| at >= last)
        });
        let rows: BTreeSet<String> =
            changed.tiers.iter().flat_map(|tier| tier.calibrated_on.iter().cloned()).collect();
        for input in &mut changed.inputs {
            input.calibrated_on.retain(|row| rows.contains(row));
        }
        changed.tiers.clear();
        Some(changed)
    }

    fn place_of_tier(&self, name: &str) -> Option<usize> {
        self.tiers.iter().position(|tier| tier.name == name)
    }

    fn apply_tiers(&mut self) {
        let changes = self.tiers.iter().flat_map(|tier| &tier.inputs);
        for (name, value) in changes {
            if let Some(input) = self.inputs.iter_mut().find(|input| input.name == *name) {
                input.value = *value;
            }
        }
    }
}

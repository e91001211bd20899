//! Costs of layers of modelled machines.

mod layers;

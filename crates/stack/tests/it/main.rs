//! What the machines do together.

mod hosts;
mod tp4_pair;

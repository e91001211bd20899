//! Records as text on a terminal.

mod cyclic;
#[cfg(test)]
pub(crate) mod hostile;
pub(crate) mod lines;
mod publishers;
mod services;
mod tables;
mod transactions;

pub(crate) use lines::Lines;

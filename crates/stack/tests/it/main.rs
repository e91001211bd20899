//! Interaction tests of the machines.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail by panicking")]

mod association_entry;
mod association_explore;
mod association_pdus;
mod case_explore;
mod clauses;
mod connected;
mod corpus;
mod dialogue;
mod entry;
mod explore;
mod hostile;
mod hosts;
mod lone;
mod mms;
mod mms_flows;
mod session_entry;
mod session_explore;
mod titles;
mod tp4_bad_input;
mod tp4_explore;
mod tp4_memory;
mod tp4_options;
mod tp4_pair;
mod tp4_queue;
mod trace_of_1990;
mod transport;

//! What the machines do together.

mod tp4_pair;

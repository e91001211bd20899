//! Simulator against arithmetic, against a slow model of the same standard, and against itself.

mod bit_by_bit;
mod ceilings;
mod contention;
mod crowd;
mod faults;
mod host;
mod lossy_path;
mod messages;
mod own_queue;
mod plca;
mod polling;
mod refusals;
mod runs;
mod skew;
mod swarm;
mod switched;
mod talker;
mod timelines;
mod token_bus;
mod token_bus_members;
mod token_bus_response;
mod token_ring;
mod token_ring_hop_by_hop;
mod traces;

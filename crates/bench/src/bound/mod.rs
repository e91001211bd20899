//! Theoretical upper bound of a message's delay, reported next to the results of simulations.
//!
//! A message of a cyclic flow that is one frame waits for the frames before it at its own station,
//! for its turn on the medium, and at each port on its path for frames of equal or higher priority.
//! The number of frames before it in a busy period follows from the recurrence of response-time
//! analysis (Joseph and Pandya 1986; for stations and ports in a row Tindell and Clark 1994). A
//! turn is bounded by the medium: an opportunity of PLCA (IEEE 802.3cg, clause 148), the rotation
//! of a token, or a strict-priority port (IEEE 802.1Q). Each bound holds for the whole queue of the
//! station, not for its head alone.
//!
//! Not covered, and reported as such: connections, requests, acknowledged messages, messages at
//! random, stations that enter and leave, machines that take time, faults, CSMA/CD, and the lower
//! access classes of a token bus.

mod shared;
mod stream;
mod switched;

use crate::layout::{lay_out, seed_of};
use crate::medium::{Site, Theory};
use crate::scenario::{Faults, Pattern, Scenario, Service};
use core::time::Duration;
use schemars::JsonSchema;
use serde::Serialize;
use stream::Streams;

pub use shared::assumptions;

/// Upper bound of the delay of a flow's messages from their due time to their arrival, or the
/// reason why there is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// No message takes longer, under the medium's [`assumptions`].
    Longest(Duration),
    /// Theory gives no bound.
    None(Reason),
}

/// Reason why a flow has no bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Stations of CSMA/CD may collide repeatedly and discard a frame.
    Contention,
    /// Messages of a connection wait for credit, and are retransmitted.
    Connection,
    /// An answer depends on another message.
    Answered,
    /// A message waits until the previous one is acknowledged.
    Acknowledged,
    /// Messages at random, or as fast as they are accepted, are not limited in number.
    Unlimited,
    /// A bad path delays and duplicates frames.
    Faults,
    /// Stations enter the ring, leave it, fail, or lose its token.
    Members,
    /// Processors and buses of stations take time.
    Machines,
    /// A lower access class of a token bus may always find the token late.
    AccessClass,
    /// On a ring with priorities other stations may always be served first.
    RingPriority,
    /// Frames served before it at its station, or at a port, are not limited.
    Others,
    /// The load is so high that queues need not empty.
    Load,
}

impl Reason {
    /// Reason in words.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Contention => "contention promises nothing",
            Self::Connection => "a connection waits for credit and repeats",
            Self::Answered => "an answer is another message",
            Self::Acknowledged => "each waits for an acknowledgement",
            Self::Unlimited => "its messages come without limit",
            Self::Faults => "a bad path delays and repeats",
            Self::Members => "the ring is mended as stations come and go",
            Self::Machines => "stations take time of their own",
            Self::AccessClass => "its access class may wait for ever",
            Self::RingPriority => "more urgent frames may always go first",
            Self::Others => "what goes first comes without limit",
            Self::Load => "queues need not empty",
        }
    }
}

/// Bound of each flow of a scenario, in order.
#[must_use]
pub fn bounds(scenario: &Scenario) -> Vec<Bound> {
    let layout = lay_out(scenario, seed_of(scenario, 0));
    let streams = Streams::of(&layout.places, &scenario.medium);
    let general = general(scenario);
    let site = Site {
        positions_metres: layout.places.iter().map(|place| place.metres).collect(),
        ..Site::default()
    };
    let model = scenario.medium.model(site);
    let of_medium = match (general, model.theory()) {
        (Some(_), _) => Vec::new(),
        (None, Theory::Ports(network)) => switched::bounds(scenario, network, &streams),
        (None, theory) => shared::bounds(scenario, theory, &streams),
    };
    let flows = scenario.flows.iter().enumerate();
    flows
        .map(|(index, flow)| {
            let own = match (flow.service, flow.pattern) {
                _ if general.is_some() => general,
                (Service::Class4 | Service::Case | Service::Mms | Service::File, _) => {
                    Some(Reason::Connection)
                }
                (_, pattern) if pattern.is_answered() => Some(Reason::Answered),
                (_, Pattern::Retransmission { mean_interval: None, .. }) => None,
                (_, pattern) if pattern.period().is_none() => Some(Reason::Unlimited),
                _ if flow.acknowledged == Some(true) => Some(Reason::Acknowledged),
                _ => None,
            };
            match own {
                Some(reason) => Bound::None(reason),
                None => of_medium.get(index).copied().unwrap_or(Bound::None(Reason::Others)),
            }
        })
        .collect()
}

/// Reason why no flow of a scenario has a bound.
fn general(scenario: &Scenario) -> Option<Reason> {
    let stations = scenario.all_stations();
    let mut machines = stations.iter().filter_map(|station| scenario.machine_of(station));
    match &scenario.medium {
        medium if medium.has_collisions() => Some(Reason::Contention),
        _ if scenario.faults != Faults::NONE => Some(Reason::Faults),
        _ if scenario.has_changes() => Some(Reason::Members),
        _ if machines.next().is_some() => Some(Reason::Machines),
        _ => None,
    }
}

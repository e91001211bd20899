//! Flows of a scenario that stand for what was watched in other protocols: those that poll functions of
//! servers, with the simulated connections that carry them, and those of test load.
//!
//! A frame of test load carries the number of its flow. The name of the flow tells protocol, identifier
//! and name of the stream for which it stands, and its stations are the ends of that stream. Not matched: streams
//! of which several have all of these in common.
//!
//! A scenario of watched traffic polls over class 4, and the name of such a flow tells its function.
//! Frames do not carry that name: of the flows between two stations, each with a connection of its own,
//! connections are in the order of their starts. Not matched: flows of two stations of which one starts at
//! random, or two at one time, or of which one needed more than one connection.

use super::subject::Subject;
use crate::plant::{function_flow, receiver, stream_flow};
use bench::scenario::{Scenario, Service, Start};
use std::collections::BTreeMap;

/// Flow over class 4.
#[derive(Debug)]
struct Flow {
    name: String,
    /// Time of its start; none if it is random.
    start_ns: Option<u64>,
}

/// Flow of test load.
#[derive(Debug)]
struct Load {
    /// Number in each of its frames: its place in the scenario.
    number: u32,
    name: String,
    ends: [String; 2],
}

/// Flows over class 4, by their stations, and those of test load.
#[derive(Default, Debug)]
pub(super) struct Flows {
    of_stations: BTreeMap<[String; 2], Vec<Flow>>,
    loads: Vec<Load>,
}

impl Flows {
    /// Flows of a scenario.
    pub(super) fn of(scenario: &Scenario) -> Self {
        let mut of_stations: BTreeMap<_, Vec<Flow>> = BTreeMap::new();
        for flow in scenario.flows.iter().filter(|flow| flow.service == Service::Class4) {
            let start_ns = match flow.start {
                Start::At(span) => Some(wire::time::nanos(span.0)),
                Start::Together => Some(0),
                Start::Random => None,
            };
            let ends = [flow.from.clone(), flow.to.clone()];
            let name = flow.name.clone();
            of_stations.entry(ends).or_default().push(Flow { name, start_ns });
        }
        for flows in of_stations.values_mut() {
            flows.sort_by_key(|flow| flow.start_ns);
        }
        let is_load = |flow: &bench::scenario::Flow| {
            flow.stream.ethertype == Some(u64::from(wire::load::ETHERTYPE))
        };
        let numbered = (0..).zip(&scenario.flows).filter(|(_, flow)| is_load(flow));
        let loads = numbered.map(|(number, flow)| Load {
            number,
            name: flow.name.clone(),
            ends: [flow.from.clone(), flow.to.clone()],
        });
        Self { of_stations, loads: loads.collect() }
    }

    /// Number of the only flow of test load that stands for a stream.
    pub(super) fn load_of(&self, stream: &Subject) -> Option<u32> {
        let Subject::Stream { protocol, source, destination, identifier, name } = stream else {
            return None;
        };
        let name = stream_flow(protocol, *identifier, name.as_deref());
        let to = receiver(destination);
        let is_of = |load: &&Load| {
            let rest = load.name.strip_prefix(&name);
            // A number keeps the names of flows apart.
            rest.is_some_and(|rest| rest.is_empty() || is_suffix(rest)) && load.ends == [source, to]
        };
        let mut all = self.loads.iter().filter(is_of);
        all.next().filter(|_| all.next().is_none()).map(|load| load.number)
    }

    /// Stations of the flow that polls a function, and its place among the flows between them; none if
    /// their order is not known.
    pub(super) fn place(&self, function: &Subject) -> Option<Place<'_>> {
        let Subject::Function { protocol, server, unit, function } = function else { return None };
        let name = function_flow(protocol, server, *unit, *function);
        self.of_stations.iter().find_map(|(ends, flows)| {
            let place = flows.iter().position(|flow| flow.name == name)?;
            let starts = || flows.iter().map(|flow| flow.start_ns);
            let is_ordered = starts().all(|start| start.is_some())
                && starts().zip(starts().skip(1)).all(|(one, next)| one != next);
            is_ordered.then_some(Place { ends, place, flows: flows.len() })
        })
    }

    /// True if several flows poll a function: each is of one client.
    pub(super) fn are_several(&self, function: &Subject) -> bool {
        let Subject::Function { protocol, server, unit, function } = function else { return false };
        let second = format!("{}-2", function_flow(protocol, server, *unit, *function));
        self.of_stations.values().flatten().any(|flow| flow.name == second)
    }
}

fn is_suffix(rest: &str) -> bool {
    rest.strip_prefix('-').is_some_and(|number| number.parse::<u64>().is_ok())
}

/// Place of a flow among those between two stations, in the order of their starts.
pub(super) struct Place<'a> {
    pub(super) ends: &'a [String; 2],
    pub(super) place: usize,
    pub(super) flows: usize,
}

//! From a layout's places to simulated stations, with or without the machines that they are on.

use crate::layout::Place;
use crate::profile::Layer;
use sim::host::{Costed, Invalid, NoBuffer, Params};
use stack::load::Flow;
use stack::profile::{Host, HostParams};
use stack::station::Station;
use std::collections::{BTreeMap, BTreeSet};
use wire::time::nanos;

/// A simulated station that is, or has in it, a host.
pub(super) trait Hosted: Station {
    /// The host, to be read.
    fn host(&self) -> &Host;
    /// The host.
    fn host_mut(&mut self) -> &mut Host;
}

impl Hosted for Host {
    fn host(&self) -> &Host {
        self
    }

    fn host_mut(&mut self) -> &mut Host {
        self
    }
}

impl Hosted for Costed<Host> {
    fn host(&self) -> &Host {
        self.station()
    }

    fn host_mut(&mut self) -> &mut Host {
        self.station_mut()
    }
}

/// Stations that take no time.
pub(super) fn plain(places: Vec<Place>) -> Vec<Host> {
    places.into_iter().map(|place| Host::new(place.host, place.flows)).collect()
}

/// Stations on their machines; those that name none take no time. On a ring a frame without a
/// buffer is refused, elsewhere it is lost.
pub(super) fn costed(places: Vec<Place>, is_ring: bool) -> Result<Vec<Costed<Host>>, Invalid> {
    let no_buffer = if is_ring { NoBuffer::Refused } else { NoBuffer::Lost };
    let on_machine = |place: Place| {
        let params =
            place.profile.map_or_else(Params::ideal, |profile| profile.host(Layer::Llc, no_buffer));
        Costed::new(host(place.host, place.flows, &params), params, BTreeSet::new())
    };
    places.into_iter().map(on_machine).collect()
}

/// A host whose user data cross to its protocols where the machine takes something for that.
fn host(params: HostParams, flows: Vec<Flow>, machine: &Params) -> Host {
    let host = Host::new(params, flows);
    let has_front_end = !machine.tasks.submit.is_empty() || !machine.tasks.deliver.is_empty();
    if has_front_end { host.behind_front_end() } else { host }
}

/// Notes what the machines of all stations were busy for and what they lost.
pub(super) fn count_machines(stations: &[Costed<Host>], counts: &mut BTreeMap<String, u64>) {
    let mut note = |name: &str, of: fn(&Costed<Host>) -> u64| {
        counts.insert(format!("machines.{name}"), stations.iter().map(of).sum());
    };
    note("processor-ns", |station| nanos(station.processor_time()));
    note("queue-drops", |station| station.counters().queue_drops);
    note("lost", |station| station.counters().lost);
    note("late", |station| station.counters().late);
    for usage in stations.iter().flat_map(|station| station.usage()) {
        let name = format!("machines.busy-ns.{}", usage.name);
        *counts.entry(name).or_default() += nanos(usage.busy);
    }
}

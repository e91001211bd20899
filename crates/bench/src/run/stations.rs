//! Conversion of a layout's places to simulated stations, with or without their machines.

use crate::layout::{Place, equip};
use crate::medium::{Medium, Model, Site};
use crate::profile::Layer;
use crate::sample::Occupied;
use sim::host::{Invalid, NoBuffer, Params, Usage, WithCpu};
use stack::host::{CHECKED_SAP, Host, HostParams, MmsParams};
use stack::load::Flow;
use stack::machine::Deadline;
use stack::station::{Frame, MacQueues, Station, Transmission};
use stack::tcp;
use std::collections::{BTreeMap, BTreeSet};
use wire::addr::{Mac, Sap};
use wire::time::{Instant, nanos};

/// Simulated station that is, or contains, a host.
pub(super) trait Hosted: Station {
    /// Host.
    fn host(&self) -> &Host;
    /// Mutable access to the host.
    fn host_mut(&mut self) -> &mut Host;
    /// Machine that the host is on, if it takes time.
    fn machine(&self) -> Option<&WithCpu<Host>> {
        None
    }
}

impl Hosted for Host {
    fn host(&self) -> &Host {
        self
    }

    fn host_mut(&mut self) -> &mut Host {
        self
    }
}

/// Station with or without a machine. Without one it behaves as on a machine that takes no time,
/// and costs the simulator less.
pub(super) enum Placed {
    /// Takes no time.
    Bare(Box<Host>),
    /// Takes its machine's time.
    On(Box<WithCpu<Host>>),
}

impl Placed {
    fn station(&self) -> &dyn Station {
        match self {
            Self::Bare(host) => &**host,
            Self::On(costed) => &**costed,
        }
    }

    fn station_mut(&mut self) -> &mut dyn Station {
        match self {
            Self::Bare(host) => &mut **host,
            Self::On(costed) => &mut **costed,
        }
    }
}

impl Station for Placed {
    fn addr(&self) -> Mac {
        self.station().addr()
    }

    fn receive(&mut self, now: Instant, frame: Frame) {
        self.station_mut().receive(now, frame);
    }

    fn expire(&mut self, now: Instant) {
        self.station_mut().expire(now);
    }

    fn deadline(&self) -> Option<Deadline> {
        self.station().deadline()
    }

    fn poll(&mut self) -> Option<Frame> {
        self.station_mut().poll()
    }

    fn queue_of(&self, frame: &Frame) -> u8 {
        self.station().queue_of(frame)
    }

    fn transmitted(&mut self, now: Instant, queue: u8, outcome: Transmission) {
        self.station_mut().transmitted(now, queue, outcome);
    }

    fn has_receive_buffer(&self) -> bool {
        self.station().has_receive_buffer()
    }
}

impl Hosted for Placed {
    fn host(&self) -> &Host {
        match self {
            Self::Bare(host) => host,
            Self::On(costed) => costed.station(),
        }
    }

    fn host_mut(&mut self) -> &mut Host {
        match self {
            Self::Bare(host) => host,
            Self::On(costed) => costed.station_mut(),
        }
    }

    fn machine(&self) -> Option<&WithCpu<Host>> {
        match self {
            Self::Bare(_) => None,
            Self::On(costed) => Some(costed),
        }
    }
}

/// Stations that take no time.
pub(super) fn plain(places: Vec<Place>) -> Vec<Host> {
    places.into_iter().map(bare).collect()
}

/// Station that takes no time: its MAC has queues by priority if frames carry one.
fn bare(mut place: Place) -> Host {
    let carries = place.host.framing.carries_priority();
    let queues = if carries { MacQueues::ByPriority } else { MacQueues::One };
    if let Some(messaging) = &mut place.host.messaging {
        messaging.queues = queues;
    }
    let host = host_of(place.host, place.flows, place.mms, place.tcp);
    let host = place.streams.equip(host, Instant::ZERO);
    let host = equip(host, place.naming, Instant::ZERO).absent(&place.absences);
    if place.has_priorities { host.above(queues) } else { host }
}

fn host_of(
    params: HostParams,
    flows: Vec<Flow>,
    mms: Option<MmsParams>,
    tcp: Option<tcp::Params>,
) -> Host {
    let host = Host::new(params, flows);
    let host = match tcp {
        Some(tcp) => host.over_tcp(tcp),
        None => host,
    };
    match mms {
        Some(mms) => host.with_mms(mms),
        None => host,
    }
}

/// Stations on their machines; those without one take no time. On a ring a frame without a buffer
/// is refused, on other media it is lost.
pub(super) fn costed(places: Vec<Place>, medium: &Medium) -> Result<Vec<Placed>, Invalid> {
    let is_ring = matches!(medium.model(Site::default()), Model::TokenRing(_));
    let no_buffer = if is_ring { NoBuffer::Refused } else { NoBuffer::Lost };
    let on_machine = |mut place: Place| {
        let Some(profile) = place.profile.take() else {
            return Ok(Placed::Bare(Box::new(bare(place))));
        };
        place.host.transport.memory_octets = profile.memory_octets();
        let params = profile.host(Layer::Llc, medium.kind(), no_buffer);
        let mut checked = BTreeSet::from([CHECKED_SAP]);
        if place.host.transport.checksum {
            checked.insert(Sap::ISO_NETWORK);
        }
        let host = host(place, &params);
        Ok(Placed::On(Box::new(WithCpu::new(host, params, checked)?)))
    };
    places.into_iter().map(on_machine).collect()
}

/// Host that waits for the work of its layers if the machine takes time for it. A machine
/// processes frames in order, so the host gives it one frame at a time, the most urgent first.
fn host(place: Place, machine: &Params) -> Host {
    let host = host_of(place.host, place.flows, place.mms, place.tcp);
    let host = place.streams.equip(host, Instant::ZERO);
    let host = equip(host, place.naming, Instant::ZERO).absent(&place.absences);
    let host = if place.has_priorities { host.above(MacQueues::One) } else { host };
    host.charging(machine.tasks.charged())
}

/// Busy time of each resource of the stations' machines; `names` are those of the stations.
pub(super) fn occupied<S: Hosted>(stations: &[S], names: &[String]) -> Vec<Occupied> {
    let machines = stations.iter().zip(names).filter_map(|(it, name)| Some((it.machine()?, name)));
    let of = |(machine, name): (&WithCpu<Host>, &String)| {
        let usage = machine.usage().iter();
        let one = |usage: &Usage| Occupied {
            station: name.clone(),
            resource: usage.name.clone(),
            busy_ns: nanos(usage.busy),
        };
        usage.map(one).collect::<Vec<_>>()
    };
    machines.flat_map(of).collect()
}

/// Adds the busy times and losses of all stations' machines, if there are any.
pub(super) fn count_machines<S: Hosted>(stations: &[S], counts: &mut BTreeMap<String, u64>) {
    let machines = || stations.iter().filter_map(Hosted::machine);
    if machines().next().is_none() {
        return;
    }
    let mut note = |name: &str, of: fn(&WithCpu<Host>) -> u64| {
        counts.insert(format!("machines.{name}"), machines().map(of).sum());
    };
    note("processor-ns", |station| nanos(station.processor_time()));
    note("queue-drops", |station| station.counters().queue_drops);
    note("lost", |station| station.counters().lost);
    note("late", |station| station.counters().late);
    for usage in machines().flat_map(WithCpu::usage) {
        let name = format!("machines.busy-ns.{}", usage.name);
        *counts.entry(name).or_default() += nanos(usage.busy);
    }
}

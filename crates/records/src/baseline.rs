//! Counts of connections and hosts at the start of the measurement interval, from which their
//! activity within the interval is computed.
//!
//! Kept only for connections that the meter follows, so memory is bounded as the meter's is.

use super::associations;
use super::item::{ConnectionInterval, HostInterval, Item, Rest};
use super::ranking::Ranking;
use meter::measure::{Distribution, Summary, Traffic, Waits};
use meter::{Address, Connection, Direction, Host, Meter};
use std::collections::BTreeMap;
use wire::time::Instant;

/// A connection and the counts of each of its sides.
type Done = (Connection, [Direction; 2]);

/// Counts at the start of the interval.
#[derive(Clone, Debug)]
pub(crate) struct Baseline {
    /// Number of connections, and of hosts, that are reported individually.
    top: usize,
    /// Start of the interval.
    start: Instant,
    connections: BTreeMap<u32, [Direction; 2]>,
    hosts: BTreeMap<Option<Address>, [Traffic; 2]>,
    /// Connections that the meter evicted since the interval began, with their counts.
    forgotten: Ranking<Done>,
    others: Others,
}

/// Sum of the connections that are not reported individually.
#[derive(Clone, Default, Debug)]
struct Others {
    connections: u64,
    sum: Option<[Direction; 2]>,
}

impl Others {
    fn add(&mut self, (_, directions): Done) {
        self.connections += 1;
        match &mut self.sum {
            Some(sum) => sum.iter_mut().zip(&directions).for_each(|(sum, more)| sum.add(more)),
            None => self.sum = Some(directions),
        }
    }
}

fn tpdus(directions: &[Direction; 2]) -> u64 {
    directions.iter().map(|direction| direction.all().tpdus).sum()
}

/// Returns true if TCP acknowledged octets in either direction.
fn is_acknowledged<'a>(ways: impl IntoIterator<Item = &'a Waits>) -> bool {
    !ways.into_iter().all(Waits::is_without_tcp)
}

/// Returns true if a TPDU passed after `since`, or a window was closed throughout.
fn is_something((connection, directions): &Done, since: Instant) -> bool {
    tpdus(directions) > 0
        || connection.history.iter().flatten().any(|at| *at >= since)
        || directions.iter().any(|direction| direction.waits.closed_window.total_ns > 0)
        || is_acknowledged(directions.iter().map(|direction| &direction.waits))
}

/// Returns true if nothing changed for a host, closed windows included.
fn is_same(host: &Host, [sent, received]: &[Traffic; 2]) -> bool {
    host.sent == *sent && host.received == *received
}

/// Traffic that a host sent and received since `before`; none if no TPDU passed and TCP
/// acknowledged nothing.
fn activity(host: &Host, before: Option<&[Traffic; 2]>) -> Option<[Traffic; 2]> {
    let traffic = match before {
        None => [host.sent.clone(), host.received.clone()],
        Some(before) if is_same(host, before) => return None,
        Some([sent, received]) => [host.sent.since(sent), host.received.since(received)],
    };
    let passed =
        tpdus_of(&traffic) > 0 || is_acknowledged(traffic.iter().map(|traffic| &traffic.waits));
    passed.then_some(traffic)
}

fn tpdus_of(traffic: &[Traffic; 2]) -> u64 {
    traffic.iter().map(|traffic| traffic.transport.all().tpdus).sum()
}

/// Hosts of an interval: the busiest, and the sum of the rest.
struct HostRanking {
    index: Option<u64>,
    ranking: Ranking<HostInterval>,
    rest: Option<HostInterval>,
}

impl HostRanking {
    const fn new(index: Option<u64>, top: usize) -> Self {
        Self { index, ranking: Ranking::new(top), rest: None }
    }

    /// Adds a host; without an address it is the sum of the hosts beyond the meter's limit.
    fn put(&mut self, address: Option<Address>, traffic: [Traffic; 2], replied: &Distribution) {
        let (tpdus, hosts) = (tpdus_of(&traffic), u64::from(address.is_some()));
        let replied = replied.summary();
        let told = HostInterval { index: self.index, address, hosts, traffic, replied };
        let rest = &mut self.rest;
        match address {
            Some(_) => self.ranking.put(tpdus, told, |host| add_to(rest, host)),
            None => add_to(rest, told),
        }
    }

    fn finish(self) -> Vec<Item> {
        let Self { ranking, mut rest, .. } = self;
        let told = ranking.finish(|host| add_to(&mut rest, host));
        let each = told.into_iter().chain(rest);
        each.map(|host| Item::HostInterval(Box::new(host))).collect()
    }
}

/// Adds a host to the sum of the hosts that are not reported individually. Percentiles of several
/// hosts cannot be combined.
fn add_to(rest: &mut Option<HostInterval>, host: HostInterval) {
    match rest {
        Some(rest) => {
            rest.hosts += host.hosts;
            rest.traffic.iter_mut().zip(&host.traffic).for_each(|(sum, more)| sum.add(more));
        }
        None => *rest = Some(HostInterval { address: None, replied: Summary::default(), ..host }),
    }
}

impl Baseline {
    /// Creates an empty baseline; measuring begins at `start`.
    pub(crate) const fn new(top: usize, start: Instant) -> Self {
        Self {
            top,
            start,
            connections: BTreeMap::new(),
            hosts: BTreeMap::new(),
            forgotten: Ranking::new(top),
            others: Others { connections: 0, sum: None },
        }
    }

    /// Returns the start of the interval.
    pub(crate) const fn start(&self) -> Instant {
        self.start
    }

    fn done(&self, connection: &Connection) -> [Direction; 2] {
        match self.connections.get(&connection.serial) {
            None => connection.directions.clone(),
            Some(before) => {
                [0, 1].map(|side: usize| connection.directions[side].since(&before[side]))
            }
        }
    }

    /// Records that the meter evicted a connection.
    pub(crate) fn forget(&mut self, connection: &Connection) {
        let done = (connection.clone(), self.done(connection));
        self.connections.remove(&connection.serial);
        if is_something(&done, self.start) {
            self.forgotten.put(tpdus(&done.1), done, |done| self.others.add(done));
        }
    }

    /// Returns the activity of hosts and connections from the start of the interval until `now`.
    pub(crate) fn tell(
        &self,
        index: Option<u64>,
        meter: &Meter,
        has_names: bool,
        now: Instant,
    ) -> Vec<Item> {
        let mut ranking = HostRanking::new(index, self.top);
        for host in meter.each_host() {
            let before = self.hosts.get(&host.address);
            if let Some(traffic) = activity(&host, before) {
                ranking.put(host.address, traffic, &host.replied);
            }
        }
        let mut items = ranking.finish();
        items.extend(self.tell_connections(index, meter, has_names, now));
        items
    }

    /// Does the same, and begins another interval at `now`: hosts are visited once for both.
    pub(crate) fn turn(
        &mut self,
        index: Option<u64>,
        meter: &Meter,
        has_names: bool,
        now: Instant,
    ) -> Vec<Item> {
        let mut ranking = HostRanking::new(index, self.top);
        for host in meter.each_host() {
            let before = self.hosts.get(&host.address);
            let Some(traffic) = activity(&host, before) else {
                if before.is_none_or(|before| !is_same(&host, before)) {
                    self.hosts.insert(host.address, [host.sent, host.received]);
                }
                continue;
            };
            ranking.put(host.address, traffic, &host.replied);
            self.hosts.insert(host.address, [host.sent, host.received]);
        }
        let mut items = ranking.finish();
        items.extend(self.tell_connections(index, meter, has_names, now));
        self.begin_connections(meter, now);
        items
    }

    fn tell_connections(
        &self,
        index: Option<u64>,
        meter: &Meter,
        has_names: bool,
        now: Instant,
    ) -> Vec<Item> {
        let mut items = Vec::new();
        let (mut ranking, mut others) = (self.forgotten.clone(), self.others.clone());
        for connection in meter.each_active_connection(self.start, now) {
            let directions = self.done(&connection);
            let done = (connection, directions);
            if is_something(&done, self.start) {
                ranking.put(tpdus(&done.1), done, |done| others.add(done));
            }
        }
        for (connection, directions) in ranking.finish(|done| others.add(done)) {
            let associated: Vec<Item> = associations::items(&connection, has_names).collect();
            let told = ConnectionInterval { index, connection, directions };
            items.push(Item::ConnectionInterval(Box::new(told)));
            items.extend(associated);
        }
        if let Others { connections, sum: Some(directions) } = others {
            items.push(Item::Rest(Box::new(Rest { index, connections, directions })));
        }
        items
    }

    /// Begins another interval at `now`, without a report of the one before.
    pub(crate) fn begin(&mut self, meter: &Meter, now: Instant) {
        for Host { address, sent, received, .. } in meter.each_host() {
            self.hosts.insert(address, [sent, received]);
        }
        self.begin_connections(meter, now);
    }

    fn begin_connections(&mut self, meter: &Meter, now: Instant) {
        for connection in meter.each_active_connection(self.start, now) {
            self.connections.insert(connection.serial, connection.directions);
        }
        self.start = now;
        self.forgotten = Ranking::new(self.top);
        self.others = Others::default();
    }
}

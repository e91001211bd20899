//! Counts of connections and hosts at the start of the measurement interval, from which their
//! activity within the interval is computed.
//!
//! Kept only for connections that the meter follows, so memory is bounded as the meter's is.

use super::associations;
use super::item::{ConnectionInterval, HostInterval, Item, Rest};
use super::ranking::Ranking;
use meter::measure::{Summary, Traffic, Waits};
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
        let mut items = self.tell_hosts(index, meter);
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

    fn tell_hosts(&self, index: Option<u64>, meter: &Meter) -> Vec<Item> {
        let mut ranking = Ranking::new(self.top);
        let mut rest: Option<HostInterval> = None;
        let mut add = |host: HostInterval| match &mut rest {
            Some(rest) => {
                rest.hosts += host.hosts;
                rest.traffic.iter_mut().zip(&host.traffic).for_each(|(sum, more)| sum.add(more));
            }
            // Percentiles of several hosts cannot be combined.
            None => {
                rest = Some(HostInterval { address: None, replied: Summary::default(), ..host });
            }
        };
        for Host { address, sent, received, replied } in meter.each_host() {
            let traffic = match self.hosts.get(&address) {
                None => [sent, received],
                Some([before_sent, before_received]) => {
                    [sent.since(before_sent), received.since(before_received)]
                }
            };
            let tpdus = traffic.iter().map(|traffic| traffic.transport.all().tpdus).sum();
            if tpdus == 0 && !is_acknowledged(traffic.iter().map(|traffic| &traffic.waits)) {
                continue;
            }
            let hosts = u64::from(address.is_some());
            let replied = replied.summary();
            let told = HostInterval { index, address, hosts, traffic, replied };
            if address.is_some() {
                ranking.put(tpdus, told, &mut add);
            } else {
                add(told);
            }
        }
        let told = ranking.finish(&mut add);
        let each = told.into_iter().chain(rest);
        each.map(|host| Item::HostInterval(Box::new(host))).collect()
    }

    /// Begins another interval at `now`.
    pub(crate) fn begin(&mut self, meter: &Meter, now: Instant) {
        for connection in meter.each_active_connection(self.start, now) {
            self.connections.insert(connection.serial, connection.directions);
        }
        for Host { address, sent, received, .. } in meter.each_host() {
            self.hosts.insert(address, [sent, received]);
        }
        self.start = now;
        self.forgotten = Ranking::new(self.top);
        self.others = Others::default();
    }
}

//! Counts of connections and hosts at the start of the measurement interval, from which their
//! activity within the interval is computed.
//!
//! Kept only for connections that the meter follows, so memory is bounded as the meter's is.

use super::associations;
use super::item::{Associated, ConnectionInterval, HostInterval, Item, Rest};
use super::ranking::Ranking;
use meter::measure::{Distribution, Summary, Traffic, Waits};
use meter::{Address, ChangedHost, Connection, Direction, HostKey, Meter};
use std::collections::BTreeMap;
use wire::time::Instant;

/// Maximum number of connections of which the last report is kept.
const MOST_REPORTED: usize = 1_024;

/// A connection and the counts of each of its sides, of an interval whose number is set at its end.
/// Boxed, because it is moved between lists.
type Done = Box<ConnectionInterval>;

/// Time at which an interval is reported.
#[derive(Clone, Copy)]
struct IntervalEnd {
    now: Instant,
    /// True if another interval begins.
    is_over: bool,
}

/// Counts at the start of the interval.
#[derive(Clone, Debug)]
pub(crate) struct Baseline {
    /// Number of connections, and of hosts, that are reported individually.
    top: usize,
    /// Start of the interval.
    start: Instant,
    connections: BTreeMap<u32, Box<[Direction; 2]>>,
    hosts: BTreeMap<HostKey, Box<[Traffic; 2]>>,
    /// Connections that the meter evicted since the interval began, with their counts.
    forgotten: Ranking<Done>,
    others: Others,
    /// Connections that were reported and that the meter follows, by their numbers.
    reported: BTreeMap<u32, Reported>,
    /// Numbers of those that it evicted since the interval began, and that are reported once more.
    evicted: Vec<u32>,
}

/// Last report of a connection at the end of an interval.
#[derive(Clone, Debug)]
struct Reported {
    /// Response times of both sides. Boxed, because maps move their values.
    replied: Box<[Distribution; 2]>,
    association: Option<Associated>,
}

impl Reported {
    fn new(replied: [Distribution; 2]) -> Self {
        Self { replied: Box::new(replied), association: None }
    }
}

/// Sum of the connections that are not reported individually.
#[derive(Clone, Default, Debug)]
struct Others {
    connections: u64,
    sum: Option<Box<[Direction; 2]>>,
}

impl Others {
    fn add(&mut self, done: Done) {
        let directions = done.connection.directions;
        self.connections += 1;
        match &mut self.sum {
            Some(sum) => sum.iter_mut().zip(&*directions).for_each(|(sum, more)| sum.add(more)),
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
fn is_something(done: &ConnectionInterval, since: Instant) -> bool {
    let Connection { directions, history, .. } = &done.connection;
    tpdus(directions) > 0
        || history.iter().flatten().any(|at| *at >= since)
        || directions.iter().any(|direction| direction.waits.closed_window.total_ns > 0)
        || is_acknowledged(directions.iter().map(|direction| &direction.waits))
}

/// Returns true if a TPDU passed, or TCP acknowledged something.
fn has_passed(traffic: &[Traffic; 2]) -> bool {
    tpdus_of(traffic) > 0 || is_acknowledged(traffic.iter().map(|traffic| &traffic.waits))
}

fn tpdus_of(traffic: &[Traffic; 2]) -> u64 {
    traffic.iter().map(|traffic| traffic.transport.all().tpdus).sum()
}

/// Hosts of an interval: the busiest, and the sum of the rest.
struct HostRanking {
    index: Option<u64>,
    ranking: Ranking<(HostKey, Box<HostInterval>)>,
    rest: Option<Box<HostInterval>>,
}

impl HostRanking {
    const fn new(index: Option<u64>, top: usize) -> Self {
        Self { index, ranking: Ranking::new(top), rest: None }
    }

    /// Adds the traffic of a host; without an address it is the sum of the hosts beyond the meter's
    /// limit.
    fn put(&mut self, key: HostKey, address: Option<Address>, traffic: Box<[Traffic; 2]>) {
        let (index, replied) = (self.index, Summary::default());
        let (tpdus, hosts) = (tpdus_of(&traffic), u64::from(address.is_some()));
        let told = Box::new(HostInterval { index, address, hosts, traffic, replied });
        let rest = &mut self.rest;
        match address {
            Some(_) => self.ranking.put(tpdus, (key, told), |(_, host)| add_to(rest, host)),
            None => add_to(rest, told),
        }
    }

    /// Returns the hosts; `meter` knows their response times.
    fn finish(self, meter: &Meter) -> Vec<Item> {
        let Self { ranking, mut rest, .. } = self;
        let told = ranking.finish(|(_, host)| add_to(&mut rest, host));
        let (keys, mut told): (Vec<_>, Vec<_>) = told.into_iter().unzip();
        for (host, replied) in told.iter_mut().zip(meter.replies_of(&keys)) {
            host.replied = replied.summary();
        }
        let each = told.into_iter().chain(rest);
        each.map(Item::HostInterval).collect()
    }
}

/// Adds a host to the sum of the hosts that are not reported individually. Percentiles of several
/// hosts cannot be combined.
fn add_to(rest: &mut Option<Box<HostInterval>>, mut host: Box<HostInterval>) {
    match rest {
        Some(rest) => {
            rest.hosts += host.hosts;
            rest.traffic.iter_mut().zip(&*host.traffic).for_each(|(sum, more)| sum.add(more));
        }
        None => {
            (host.address, host.replied) = (None, Summary::default());
            *rest = Some(host);
        }
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
            reported: BTreeMap::new(),
            evicted: Vec::new(),
        }
    }

    /// Returns the start of the interval.
    pub(crate) const fn start(&self) -> Instant {
        self.start
    }

    /// Replaces the counts of a connection until now by those in the interval. If the interval
    /// `is_over`, the counts until now are those at the start of the next one.
    fn end_connection(&mut self, connection: &mut Connection, is_over: bool) {
        let Connection { serial, directions, .. } = connection;
        match self.connections.get_mut(serial) {
            Some(before) if is_over => {
                core::mem::swap(before, directions);
                directions.iter_mut().zip(&**before).for_each(|(sent, now)| sent.end(now));
            }
            Some(before) => {
                let now = core::mem::replace(directions, before.clone());
                directions.iter_mut().zip(&*now).for_each(|(sent, now)| sent.end(now));
            }
            None if is_over => _ = self.connections.insert(*serial, directions.clone()),
            None => {}
        }
    }

    /// Returns the traffic of a host in the interval, from that until now; none if nothing of it
    /// changed. If the interval `is_over`, the counts until now are those at the start of the next one.
    fn end_host(
        &mut self,
        key: HostKey,
        now: Box<[Traffic; 2]>,
        is_over: bool,
    ) -> Option<Box<[Traffic; 2]>> {
        let Some(before) = self.hosts.get_mut(&key) else {
            if is_over {
                self.hosts.insert(key, now.clone());
            }
            return Some(now);
        };
        if *before == now {
            return None;
        }
        let (mut traffic, now) = if is_over {
            (core::mem::replace(before, now), &**before)
        } else {
            (before.clone(), &*now)
        };
        traffic.iter_mut().zip(now).for_each(|(traffic, now)| traffic.end(now));
        Some(traffic)
    }

    /// Records that the meter evicted a connection.
    pub(crate) fn forget(&mut self, connection: &Connection) {
        let (connection, replied) = (connection.clone(), [Summary::default(); 2]);
        let mut done = Box::new(ConnectionInterval { index: None, connection, replied });
        self.end_connection(&mut done.connection, false);
        let serial = done.connection.serial;
        self.connections.remove(&serial);
        if self.reported.contains_key(&serial) {
            self.evicted.push(serial);
        }
        if is_something(&done, self.start) {
            let size = tpdus(&done.connection.directions);
            self.forgotten.put(size, done, |done| self.others.add(done));
        }
    }

    /// Returns the activity of hosts and connections from the start of the interval until `now`.
    pub(crate) fn tell(
        &mut self,
        index: Option<u64>,
        meter: &mut Meter,
        has_names: bool,
        now: Instant,
    ) -> Vec<Item> {
        self.activities(index, meter, has_names, IntervalEnd { now, is_over: false })
    }

    /// Does the same, and begins another interval at `now`: hosts are visited once for both.
    pub(crate) fn turn(
        &mut self,
        index: Option<u64>,
        meter: &mut Meter,
        has_names: bool,
        now: Instant,
    ) -> Vec<Item> {
        let items = self.activities(index, meter, has_names, IntervalEnd { now, is_over: true });
        self.restart(now);
        items
    }

    /// Returns the activity of hosts and connections. If the interval `is_over`, their counts are
    /// those at the start of the next one.
    fn activities(
        &mut self,
        index: Option<u64>,
        meter: &mut Meter,
        has_names: bool,
        end: IntervalEnd,
    ) -> Vec<Item> {
        let mut ranking = HostRanking::new(index, self.top);
        for host in meter.changed_hosts(self.start) {
            let ChangedHost { key, address, traffic } = host;
            let traffic = self.end_host(key, traffic, end.is_over);
            if let Some(traffic) = traffic.filter(|traffic| has_passed(traffic)) {
                ranking.put(key, address, traffic);
            }
        }
        if end.is_over {
            meter.forget_changes();
        }
        let mut items = ranking.finish(meter);
        items.extend(self.tell_connections(index, meter, has_names, end));
        items
    }

    /// Returns the activity of connections; if the interval `is_over`, their counts are those at
    /// the start of the next one.
    fn tell_connections(
        &mut self,
        index: Option<u64>,
        meter: &Meter,
        has_names: bool,
        end: IntervalEnd,
    ) -> Vec<Item> {
        let mut items = Vec::new();
        let (mut ranking, mut others) = (self.forgotten.clone(), self.others.clone());
        meter.each_active_connection(self.start, end.now).for_each(|connection| {
            let replied = [Summary::default(); 2];
            let mut done = Box::new(ConnectionInterval { index, connection, replied });
            self.end_connection(&mut done.connection, end.is_over);
            if is_something(&done, self.start) {
                let size = tpdus(&done.connection.directions);
                ranking.put(size, done, |done| others.add(done));
            }
        });
        let mut told = ranking.finish(|done| others.add(done));
        let mut reported = self.replies(&mut told, meter);
        for mut done in told {
            done.index = index;
            let serial = done.connection.serial;
            let association = associations::associated(&done.connection, has_names);
            // Its records follow that of the connection.
            done.connection.association = None;
            items.push(Item::ConnectionInterval(done));
            let before = self.reported.get(&serial).and_then(|it| it.association.as_ref());
            items.extend(
                association
                    .iter()
                    .flat_map(|of| associations::in_interval(of, before, index, self.start)),
            );
            if let Some(reported) = reported.get_mut(&serial) {
                reported.association = association;
            }
        }
        if end.is_over {
            self.keep_reported(reported);
        }
        if let Others { connections, sum: Some(directions) } = others {
            items.push(Item::Rest(Box::new(Rest { index, connections, directions })));
        }
        items
    }

    /// Sets the response times in the interval of the connections that are reported, and returns their response times
    /// so far. Those that were not reported before have none, unless they began in the interval.
    fn replies(&self, told: &mut [Done], meter: &Meter) -> BTreeMap<u32, Reported> {
        let mut serials: Vec<u32> = told.iter().map(|done| done.connection.serial).collect();
        serials.sort_unstable();
        let replied = meter.replied_by(&serials);
        let now = serials.into_iter().zip(replied);
        let now: BTreeMap<u32, Reported> =
            now.map(|(serial, replied)| (serial, Reported::new(replied))).collect();
        let none = <[Distribution; 2]>::default();
        for done in told {
            let Connection { serial, .. } = done.connection;
            let Some(Reported { replied, .. }) = now.get(&serial) else { continue };
            let before = match self.reported.get(&serial) {
                Some(before) => &*before.replied,
                None if done.connection.start() >= self.start => &none,
                None => continue,
            };
            done.replied = [0, 1].map(|side: usize| replied[side].since(&before[side]).summary());
        }
        now
    }

    /// Keeps these reports, and those of connections that were silent, up to the limit.
    fn keep_reported(&mut self, mut now: BTreeMap<u32, Reported>) {
        now.retain(|serial, _| self.connections.contains_key(serial));
        let serials: Vec<u32> = now.keys().copied().collect();
        self.reported.extend(now);
        let over = self.reported.len().saturating_sub(MOST_REPORTED);
        let silent = self.reported.keys().rev().filter(|it| serials.binary_search(it).is_err());
        let forgotten: Vec<u32> = silent.take(over).copied().collect();
        forgotten.iter().for_each(|serial| _ = self.reported.remove(serial));
    }

    /// Begins another interval at `now`, without a report of the one before.
    pub(crate) fn begin(&mut self, meter: &mut Meter, now: Instant) {
        let hosts = meter.changed_hosts(self.start).into_iter();
        self.hosts.extend(hosts.map(|host| (host.key, host.traffic)));
        meter.forget_changes();
        for mut connection in meter.each_active_connection(self.start, now) {
            self.end_connection(&mut connection, true);
        }
        self.restart(now);
    }

    /// Numbers of the connections whose last report is kept.
    #[cfg(test)]
    pub(crate) fn reported(&self) -> Vec<u32> {
        self.reported.keys().copied().collect()
    }

    /// Begins another interval at `now`, with the counts that are kept.
    fn restart(&mut self, now: Instant) {
        self.start = now;
        self.evicted.drain(..).for_each(|serial| _ = self.reported.remove(&serial));
        self.forgotten = Ranking::new(self.top);
        self.others = Others::default();
    }
}

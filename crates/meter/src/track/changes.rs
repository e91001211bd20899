//! Hosts that changed since the last report.
//!
//! A report of an interval needs the hosts that took part in it, and the meter may know thousands of
//! others. A host has changed if its own counts did, or if a connection or a stream that keeps
//! delays for it did. Both are visited, but those of hosts that did not change only for a comparison
//! of their times.

use super::connection::Connection;
use super::side::other;
use super::table::{Key, Party};
use super::{Known, Tracker};
use crate::Meter;
use crate::host::{ChangedHost, HostKey};
use crate::lru_slab::Place;
use crate::measure::{Distribution, Waits};
use wire::time::Instant;
use wire::tp::Reference;

/// True if a connection had a TPDU or a change of state at or after `since`, or has a closed window.
fn is_active(connection: &Connection, heard: Instant, since: Instant) -> bool {
    heard >= since
        || connection.history().into_iter().flatten().any(|at| at >= since)
        || [0, 1].into_iter().any(|side| connection.closed_since(side).is_some())
}

/// Adds delays to one of some hosts, in the order of their keys, if it is among them.
fn add_to(hosts: &mut [ChangedHost], key: HostKey, way: usize, waits: &Waits) {
    if let Ok(place) = hosts.binary_search_by_key(&key, |host| host.key) {
        hosts[place].traffic[way].waits.add(waits);
    }
}

impl Tracker {
    /// Reports of the connections with a TPDU or a change of state at or after `since`, with a
    /// segment of their stream since then, or with a closed window, as of `now`. `streams` are the
    /// ends of the streams with such a segment; `carried` returns the TCP delays of a stream.
    pub(crate) fn active(
        &self,
        since: Instant,
        now: Instant,
        streams: impl Iterator<Item = [Party; 2]>,
        carried: impl Fn(&[Party; 2]) -> Option<[Waits; 2]>,
    ) -> impl Iterator<Item = Known> {
        let of_stream = |[owner, peer]: [Party; 2]| {
            let key = Key { owner: &owner, peer: &peer, reference: Reference(0) };
            self.table.find(&key, &self.hosts).map(|(place, _)| place)
        };
        let mut of_streams: Vec<Place> = streams.filter_map(of_stream).collect();
        of_streams.sort_unstable();
        let spell_out = self.spelling_out(now, carried);
        self.table
            .slab
            .iter()
            .filter(move |(place, connection, heard)| {
                is_active(connection, *heard, since) || of_streams.binary_search(place).is_ok()
            })
            .map(spell_out)
    }

    /// Hosts that may have changed since their changes were forgotten, in the order of their first
    /// TPDU, with their traffic as of `now`. Pending batches must be settled. `since` is a time at or
    /// before which the changes were forgotten; `streams` are the hosts of all streams, which are
    /// marked, with their TCP delays.
    pub(crate) fn changed_hosts<W: Fn() -> [Waits; 2]>(
        &mut self,
        since: Instant,
        now: Instant,
        streams: impl Iterator<Item = ([HostKey; 2], W)>,
    ) -> Vec<ChangedHost> {
        let Self { table, hosts, .. } = self;
        for (_, connection, heard) in table.slab.iter() {
            if is_active(connection, heard, since) {
                let [first, second] = [0, 1].map(|side: usize| connection.senders[side].end().host);
                for host in [first, second] {
                    let key = hosts.counts.key(Some(host));
                    hosts.counts.mark(key);
                }
            }
        }
        let mut changed = hosts.changed();
        let counts = &hosts.counts;
        for (_, connection, _) in table.slab.iter() {
            let keys =
                [0, 1].map(|side: usize| counts.key(Some(connection.senders[side].end().host)));
            if keys.iter().any(|key| counts.has_changed(*key)) {
                for side in [0, 1] {
                    let waits = connection.waits(side, now);
                    add_to(&mut changed, keys[side], 0, &waits);
                    add_to(&mut changed, keys[other(side)], 1, &waits);
                }
            }
        }
        for (keys, waits) in streams {
            if keys.iter().any(|key| counts.has_changed(*key)) {
                let waits = waits();
                for side in [0, 1] {
                    add_to(&mut changed, keys[side], 0, &waits[side]);
                    add_to(&mut changed, keys[other(side)], 1, &waits[side]);
                }
            }
        }
        changed
    }

    /// Response times of some hosts.
    pub(crate) fn replies_of(&self, hosts: &[HostKey]) -> Vec<Distribution> {
        let mut replied: Vec<Distribution> =
            hosts.iter().map(|key| self.hosts.replied(*key)).collect();
        if hosts.is_empty() {
            return replied;
        }
        for (_, connection, _) in self.table.slab.iter() {
            for side in [0, 1] {
                let key = self.hosts.counts.key(Some(connection.senders[side].end().host));
                if let Some(place) = hosts.iter().position(|host| *host == key) {
                    connection.add_replied_to(side, &mut replied[place]);
                }
            }
        }
        replied
    }

    /// Response times of both sides of some connections, by their numbers in ascending order.
    pub(crate) fn replied_by(&self, serials: &[u32]) -> Vec<[Distribution; 2]> {
        let mut replied = vec![<[Distribution; 2]>::default(); serials.len()];
        if serials.is_empty() {
            return replied;
        }
        for (_, connection, _) in self.table.slab.iter() {
            if let Ok(place) = serials.binary_search(&connection.serial) {
                replied[place] = [connection.replied(0), connection.replied(1)];
            }
        }
        replied
    }
}

impl Meter {
    /// Response times of both sides of some connections, by their numbers in ascending order.
    #[must_use]
    pub fn replied_by(&self, serials: &[u32]) -> Vec<[Distribution; 2]> {
        self.tracker.replied_by(serials)
    }
}

//! Table of connections: found by reference, evicted by age.
//!
//! A TPDU identifies its connection by the receiver's reference, which is unique only between that
//! receiver and that sender. So each side with a known reference has an entry under (receiver,
//! sender, reference). The DTs of class 0 carry no reference: a connection of class 0 also has an
//! entry under reference zero. It is the same for both sides, and the only one of its network
//! connection.
//!
//! An entry is four octets: the place of the connection and the side. Its key is read from the
//! connection.

use super::connection::{Connection, End};
use super::side::{Side, other};
use crate::host::{Address, Hosts};
use crate::lru_slab::{LruSlab, Place};
use core::hash::{BuildHasher, Hash, Hasher};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use wire::addr::Socket;
use wire::time::Instant;
use wire::tp::Reference;

/// Place of a connection, and one of its sides; the function that returns it defines which.
pub(crate) type Found = (Place, Side);

/// Sender or receiver of a TPDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Party {
    /// Host.
    pub(crate) address: Address,
    /// TCP port; zero if there are no ports.
    pub(crate) port: u16,
}

impl Party {
    /// Its end of a TCP connection, if it has a port.
    pub(crate) const fn socket(&self) -> Option<Socket> {
        match self.address {
            Address::Internet(address) => Some(Socket { address, port: self.port }),
            Address::Station { .. } => None,
        }
    }
}

/// Key of a side of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Key<'a> {
    /// Side that assigned the reference.
    pub(crate) owner: &'a Party,
    /// Peer that uses it.
    pub(crate) peer: &'a Party,
    pub(crate) reference: Reference,
}

impl Hash for Party {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.address.hash(state);
        state.write_u16(self.port);
    }
}

impl Key<'_> {
    /// Hash of the key; without a reference, it is the same for both sides as owner.
    #[inline]
    fn hash(&self, state: &FixedState) -> u64 {
        let Self { owner, peer, reference } = *self;
        if reference == Reference(0) {
            return state.hash_one(owner).wrapping_add(state.hash_one(peer));
        }
        state.hash_one((owner, peer, reference.0))
    }
}

/// Place, side, and the flag for reference zero: the side is then the first, and stands for both.
type Entry = u32;

const fn entry(place: Place, side: Side, by_network: bool) -> Entry {
    place << 2 | (by_network as u32) << 1 | side as u32
}

const fn place_and_side(entry: Entry) -> (Place, Side) {
    (entry >> 2, (entry & 1) as Side)
}

const fn is_by_network(entry: Entry) -> bool {
    entry & 2 != 0
}

/// Connection that was removed.
#[derive(Debug)]
pub(super) struct Removed {
    /// Place that it had.
    pub(super) place: Place,
    pub(super) connection: Connection,
}

/// Table of connections.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// For lookups only, never iterated, so its order cannot show.
    entries: HashTable<Entry>,
    state: FixedState,
    pub(crate) slab: LruSlab<Connection>,
}

/// Side of an entry, its peer, and its reference.
fn ends(slab: &LruSlab<Connection>, entry: Entry) -> Option<(End, End, Reference)> {
    let (place, side) = place_and_side(entry);
    let senders = &slab.get(place)?.senders;
    let reference = if is_by_network(entry) { Reference(0) } else { senders[side].reference };
    Some((senders[side].end(), senders[other(side)].end(), reference))
}

/// Key of an entry, with copies of its addresses.
fn looked_up_by(
    slab: &LruSlab<Connection>,
    hosts: &Hosts,
    entry: Entry,
) -> Option<(Party, Party, Reference)> {
    let (owner, peer, reference) = ends(slab, entry)?;
    let party = |End { host, port }| Party { address: *hosts.address(host), port };
    Some((party(owner), party(peer), reference))
}

/// Place of the connection and side of the owner, if an entry has this key. The most selective
/// fields are compared first, and no address is copied.
#[inline]
fn found_under(
    slab: &LruSlab<Connection>,
    hosts: &Hosts,
    entry: Entry,
    wanted: &Key<'_>,
) -> Option<Found> {
    let is_party = |end: End, party: &Party| {
        end.port == party.port && *hosts.address(end.host) == party.address
    };
    let (first, second, reference) = ends(slab, entry)?;
    let (place, side) = place_and_side(entry);
    if reference != wanted.reference {
        None
    } else if is_party(first, wanted.owner) && is_party(second, wanted.peer) {
        Some((place, side))
    } else if is_by_network(entry) && is_party(first, wanted.peer) && is_party(second, wanted.owner)
    {
        Some((place, other(side)))
    } else {
        None
    }
}

impl Table {
    pub(super) fn new(maximum: usize, silence_nanos: u64, seed: u64) -> Self {
        Self {
            entries: HashTable::new(),
            state: FixedState::with_seed(seed),
            slab: LruSlab::expiring(maximum, silence_nanos),
        }
    }

    /// Connection with this key, and the side that owns the reference.
    pub(crate) fn find(&self, wanted: &Key<'_>, hosts: &Hosts) -> Option<Found> {
        let found = |entry: Entry| found_under(&self.slab, hosts, entry, wanted);
        let entry = self.entries.find(wanted.hash(&self.state), |entry| found(*entry).is_some());
        entry.and_then(|entry| found(*entry))
    }

    /// Connection at a place that was found.
    pub(crate) fn get(&mut self, place: Place) -> &mut Connection {
        self.slab.at(place)
    }

    /// Number of connections.
    pub(super) const fn count(&self) -> usize {
        self.slab.count()
    }

    /// Adds a connection under the known references of its sides. If the table is full, the least
    /// recently used connection is evicted. Returns the place, and the connections that were
    /// removed.
    pub(super) fn insert(
        &mut self,
        connection: Connection,
        at: Instant,
        hosts: &Hosts,
    ) -> (Place, Vec<Removed>) {
        let oldest = self.slab.oldest().filter(|_| self.slab.is_full());
        let mut evicted: Vec<Removed> =
            oldest.and_then(|oldest| self.remove(oldest, hosts)).into_iter().collect();
        let place = self.slab.insert(connection, at);
        evicted.extend(self.bind(place, 0, hosts));
        evicted.extend(self.bind(place, 1, hosts));
        (place, evicted)
    }

    /// Adds the entries of a side: under its reference, if known, and under the network connection,
    /// if the class needs it. Other connections with the same keys are over, and are removed.
    pub(super) fn bind(&mut self, place: Place, side: Side, hosts: &Hosts) -> Vec<Removed> {
        let connection = self.slab.at(place);
        let is_named = connection.senders[side].reference != Reference(0);
        let by_network = connection.is_by_network();
        let named = is_named.then_some(entry(place, side, false));
        let of_network = by_network.then_some(entry(place, 0, true));
        let entries = named.into_iter().chain(of_network);
        entries.filter_map(|entry| self.enter(entry, hosts)).collect()
    }

    fn enter(&mut self, new: Entry, hosts: &Hosts) -> Option<Removed> {
        let (owner, peer, reference) = looked_up_by(&self.slab, hosts, new)?;
        let wanted = Key { owner: &owner, peer: &peer, reference };
        let mut evicted = None;
        if let Some((before, _)) = self.find(&wanted, hosts) {
            let (place, _) = place_and_side(new);
            if before == place {
                return None;
            }
            evicted = self.remove(before, hosts);
        }
        let (slab, state) = (&self.slab, &self.state);
        self.entries.insert_unique(wanted.hash(state), new, |entry| {
            looked_up_by(slab, hosts, *entry).map_or(0, |(owner, peer, reference)| {
                Key { owner: &owner, peer: &peer, reference }.hash(state)
            })
        });
        evicted
    }

    /// Removes the entries of a side, and invalidates the handles of its connection. Call it before
    /// its references change.
    pub(super) fn unbind(&mut self, place: Place, side: Side, hosts: &Hosts) {
        for entry in [entry(place, side, false), entry(place, 0, true)] {
            let by = looked_up_by(&self.slab, hosts, entry);
            let Some((owner, peer, reference)) = by else { continue };
            let hash = Key { owner: &owner, peer: &peer, reference }.hash(&self.state);
            if let Ok(found) = self.entries.find_entry(hash, |found| *found == entry) {
                found.remove();
            }
        }
        // What was found under its keys is no longer.
        self.slab.renew(place);
    }

    /// Removes a connection.
    pub(super) fn remove(&mut self, place: Place, hosts: &Hosts) -> Option<Removed> {
        self.unbind(place, 0, hosts);
        self.unbind(place, 1, hosts);
        self.slab.remove(place).map(|connection| Removed { place, connection })
    }

    /// Evicts the least recently used connection if it was silent for too long at this time.
    pub(super) fn expire(&mut self, at: Instant, hosts: &Hosts) -> Option<(Removed, Instant)> {
        let place = self.slab.expired_at(at)?;
        let heard = self.slab.heard(place);
        Some((self.remove(place, hosts)?, heard))
    }
}

#[cfg(test)]
mod tests {
    use super::super::apart::Apart;
    use super::super::counter_store::CounterStore;
    use super::*;
    use crate::measure::BOUNDS_OCTETS;
    use crate::stream::Flow;
    use crate::track::State;
    use wire::addr::{Mac, Nsap};

    fn party(station: u32) -> Party {
        let address = Address::Station { mac: Mac::local(station), nsap: Nsap::default() };
        Party { address, port: 0 }
    }

    fn hosts() -> Hosts {
        let mut hosts = Hosts::new(16, BOUNDS_OCTETS, 0);
        assert_eq!([1, 2].map(|n| hosts.number(party(n).address)), [Some(0), Some(1)]);
        hosts
    }

    fn find(table: &Table, hosts: &Hosts, reference: u16) -> Option<Found> {
        let (owner, peer) = (&party(1), &party(2));
        table.find(&Key { owner, peer, reference: Reference(reference) }, hosts)
    }

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * 1_000_000_000)
    }

    fn insert(table: &mut Table, hosts: &Hosts, reference: u16, seconds: u64) -> Vec<State> {
        let [from, to] = [0, 1].map(|host| End { host, port: 0 });
        let connection = Connection::requested(from, to, Reference(reference), 0, at(seconds));
        let (_, evicted) = table.insert(connection, at(seconds), hosts);
        evicted.iter().map(|gone| gone.connection.state).collect()
    }

    fn known(table: &Table, hosts: &Hosts) -> Vec<u16> {
        (1..=9).filter(|r| find(table, hosts, *r).is_some()).collect()
    }

    #[test]
    fn the_least_recently_used_is_evicted() {
        let (mut table, hosts) = (Table::new(2, u64::MAX, 0), hosts());
        assert_eq!(insert(&mut table, &hosts, 1, 1), []);
        assert_eq!(insert(&mut table, &hosts, 2, 2), []);
        let (first, _) = find(&table, &hosts, 1).unwrap();
        table.slab.touch(first, at(3));
        assert_eq!(insert(&mut table, &hosts, 3, 4), [State::Opening], "there is room for two");
        assert_eq!((known(&table, &hosts), table.count()), (vec![1, 3], 2));
    }

    #[test]
    fn a_reused_reference_names_the_new_connection_only() {
        let (mut table, hosts) = (Table::new(8, u64::MAX, 0), hosts());
        insert(&mut table, &hosts, 7, 1);
        assert_eq!(insert(&mut table, &hosts, 7, 2), [State::Opening]);
        assert_eq!(table.count(), 1);
        let (place, side) = find(&table, &hosts, 7).unwrap();
        assert_eq!((table.slab.heard(place), side), (at(2), 0));
    }

    #[test]
    fn a_connection_with_the_keys_of_two_removes_both() {
        let (mut table, hosts) = (Table::new(8, u64::MAX, 0), hosts());
        insert(&mut table, &hosts, 7, 1);
        let [from, to] = [0, 1].map(|host| End { host, port: 0 });
        let mut of_network = Connection::adopted(from, to, Reference(0), at(2));
        of_network.format = Some(wire::tp::Format::Class0);
        assert_eq!(table.insert(of_network, at(2), &hosts).1.len(), 0);
        let mut of_both = Connection::requested(from, to, Reference(7), 0, at(3));
        of_both.format = Some(wire::tp::Format::Class0);
        let (_, evicted) = table.insert(of_both, at(3), &hosts);
        let states: Vec<State> = evicted.iter().map(|gone| gone.connection.state).collect();
        assert_eq!((states, table.count()), (vec![State::Opening, State::Established], 1));
    }

    #[test]
    fn silent_connections_expire_in_order_with_their_keys() {
        let (mut table, hosts) = (Table::new(8, 2_000_000_000, 0), hosts());
        (1..=3).for_each(|n| {
            insert(&mut table, &hosts, n, u64::from(n));
        });
        while table.expire(at(5), &hosts).is_some() {}
        assert_eq!(known(&table, &hosts), [3]);
    }

    /// Octets of an index of a million connections with some entries each, for a connection: an
    /// octet and an entry for each slot, of which there are a power of two at a load factor of seven
    /// eighths at most.
    fn index_octets(entries: usize) -> usize {
        (entries * 1_000_000 * 8 / 7).next_power_of_two() * (1 + size_of::<Entry>()) / 1_000_000
    }

    #[test]
    fn a_connection_of_class_4_takes_less_than_420_octets() {
        // State apart is allocated, with a word of the allocator, in units of 16 octets.
        let apart_octets = (size_of::<Apart>() + 8).next_multiple_of(16);
        let inline_octets = LruSlab::<Connection>::SLOT_OCTETS + index_octets(2);
        let octets = inline_octets + apart_octets + CounterStore::OCTETS.iter().sum::<usize>();
        println!("seen: {octets} octets for a connection at a million connections");
        assert!(octets < 420, "{octets}");
    }

    #[test]
    fn one_of_class_0_with_its_stream_takes_less_than_450() {
        let [counters, _] = CounterStore::OCTETS;
        let of_transport = LruSlab::<Connection>::SLOT_OCTETS + counters + index_octets(3);
        let of_stream = LruSlab::<Flow>::SLOT_OCTETS + index_octets(1);
        let octets = of_transport + of_stream;
        println!("seen: {octets} octets for a connection with its TCP connection");
        assert!(octets < 450, "{octets}");
    }

    #[test]
    fn connections_are_found_after_the_index_has_grown() {
        let (mut table, hosts) = (Table::new(100_000, u64::MAX, 9), hosts());
        (1..=60_000).for_each(|n| {
            insert(&mut table, &hosts, n, u64::from(n));
        });
        assert!((1..=60_000).all(|n| find(&table, &hosts, n).is_some()));
        assert_eq!(find(&table, &hosts, 60_001), None);
    }
}

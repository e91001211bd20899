//! Connections found by reference, forgotten by age.
//!
//! A TPDU names its connection by the receiver's reference, which means something only between that
//! receiver and that sender. So each side whose reference is known has an entry under (receiver,
//! sender, reference). Connections themselves stand in a slab, strung together by when they were
//! heard last: the longest silent is forgotten first.

use super::connection::{Address, Connection, Side, State, other};
use core::hash::{Hash, Hasher};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use wire::time::Instant;
use wire::tp::Reference;

/// Under what a side of a connection is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Key {
    /// Whose reference it is.
    pub(super) owner: Address,
    /// Whom it was told.
    pub(super) peer: Address,
    pub(super) reference: Reference,
}

impl Hash for Key {
    /// Two words where there are no NSAPs, as on a LAN without network layer.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let word = |address: &Address, low: u16| {
            let [a, b, c, d, e, f] = address.mac.0;
            let [g, h] = low.to_be_bytes();
            u64::from_be_bytes([a, b, c, d, e, f, g, h])
        };
        state.write_u64(word(&self.owner, self.reference.0));
        state.write_u64(word(&self.peer, 0));
        for nsap in [&self.owner.nsap, &self.peer.nsap] {
            if !nsap.octets().is_empty() {
                state.write(nsap.octets());
            }
        }
    }
}

/// Where a connection stands in the slab.
pub(super) type Place = u32;

/// No place: the end of a string.
const NOWHERE: Place = Place::MAX;

#[derive(Clone, Debug)]
struct Slot {
    connection: Connection,
    /// The next one heard before this one.
    older: Place,
    /// The next one heard after this one.
    newer: Place,
}

/// All connections that are known.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// Looked up only, never iterated, so its order cannot show.
    places: HashMap<Key, (Place, Side), FixedState>,
    slots: Vec<Option<Slot>>,
    free: Vec<Place>,
    oldest: Place,
    newest: Place,
    maximum: usize,
}

impl Table {
    pub(super) fn new(maximum: usize, seed: u64) -> Self {
        Self {
            places: HashMap::with_hasher(FixedState::with_seed(seed)),
            slots: Vec::new(),
            free: Vec::new(),
            oldest: NOWHERE,
            newest: NOWHERE,
            maximum: maximum.clamp(1, NOWHERE as usize - 1),
        }
    }

    /// The connection under this key and whose reference the key holds.
    pub(super) fn find(&self, key: &Key) -> Option<(Place, Side)> {
        self.places.get(key).copied()
    }

    /// The connection at a place that was found.
    pub(super) fn get(&mut self, place: Place) -> &mut Connection {
        let slot = self.slots.get_mut(place as usize).and_then(Option::as_mut);
        &mut slot.expect("a place found under a key is occupied").connection
    }

    /// How many connections are known.
    pub(super) fn count(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Notes that a connection was heard.
    pub(super) fn touch(&mut self, place: Place, at: Instant) {
        self.get(place).last = at;
        if self.newest != place {
            self.unlink(place);
            self.link_newest(place);
        }
    }

    /// Adds a connection under the references its sides have; where there is no room the one
    /// longest silent makes way. Returns where it stands and how far the one that was forgotten had
    /// come.
    pub(super) fn insert(&mut self, connection: Connection) -> (Place, Option<State>) {
        let is_full = self.count() >= self.maximum;
        let forgotten = is_full.then(|| self.remove(self.oldest));
        let slot = Some(Slot { connection, older: NOWHERE, newer: NOWHERE });
        let place = if let Some(place) = self.free.pop() {
            self.slots[place as usize] = slot;
            place
        } else {
            self.slots.push(slot);
            Place::try_from(self.slots.len() - 1).expect("the table's maximum fits a place")
        };
        self.link_newest(place);
        self.bind(place, 0);
        self.bind(place, 1);
        (place, forgotten)
    }

    /// Enters a side under its reference, if it is known. Another connection that is found under
    /// the same key is over, and forgotten.
    pub(super) fn bind(&mut self, place: Place, side: Side) {
        let Some(key) = self.key(place, side) else { return };
        if let Some((before, _)) = self.places.insert(key, (place, side))
            && before != place
        {
            self.remove(before);
        }
    }

    /// Takes a side out from under its reference.
    fn unbind(&mut self, place: Place, side: Side) {
        let Some(key) = self.key(place, side) else { return };
        if self.find(&key).is_some_and(|(found, _)| found == place) {
            self.places.remove(&key);
        }
    }

    /// Forgets a connection, and tells how far it had come.
    fn remove(&mut self, place: Place) -> State {
        let state = self.get(place).state;
        self.unbind(place, 0);
        self.unbind(place, 1);
        self.unlink(place);
        self.slots[place as usize] = None;
        self.free.push(place);
        state
    }

    /// Forgets the connection longest silent if it was not heard since `before`, and tells how far
    /// it had come.
    pub(super) fn expire(&mut self, before: Instant) -> Option<State> {
        let is_old = self.oldest != NOWHERE && self.get(self.oldest).last < before;
        is_old.then(|| self.remove(self.oldest))
    }

    fn key(&mut self, place: Place, side: Side) -> Option<Key> {
        let senders = &self.get(place).senders;
        let reference = senders[side].reference?;
        Some(Key { owner: senders[side].address, peer: senders[other(side)].address, reference })
    }

    fn slot(&mut self, place: Place) -> Option<&mut Slot> {
        self.slots.get_mut(place as usize)?.as_mut()
    }

    fn unlink(&mut self, place: Place) {
        let Some(Slot { older, newer, .. }) = self.slot(place) else { return };
        let (older, newer) = (*older, *newer);
        match self.slot(older) {
            Some(slot) => slot.newer = newer,
            None => self.oldest = newer,
        }
        match self.slot(newer) {
            Some(slot) => slot.older = older,
            None => self.newest = older,
        }
    }

    fn link_newest(&mut self, place: Place) {
        let newest = self.newest;
        if let Some(slot) = self.slot(place) {
            (slot.older, slot.newer) = (newest, NOWHERE);
        }
        match self.slot(newest) {
            Some(slot) => slot.newer = place,
            None => self.oldest = place,
        }
        self.newest = place;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::addr::{Mac, Nsap};

    fn address(station: u32) -> Address {
        Address { mac: Mac::local(station), nsap: Nsap::default() }
    }

    fn key(reference: u16) -> Key {
        Key { owner: address(1), peer: address(2), reference: Reference(reference) }
    }

    fn insert(table: &mut Table, reference: u16, seconds: u64) -> Option<State> {
        let at = Instant::from_nanos(seconds * 1_000_000_000);
        let source = Reference(reference);
        table.insert(Connection::requested(address(1), address(2), source, 0, at)).1
    }

    #[test]
    fn the_longest_silent_makes_way() {
        let mut table = Table::new(2, 0);
        assert_eq!((insert(&mut table, 1, 1), insert(&mut table, 2, 2)), (None, None));
        let (first, _) = table.find(&key(1)).unwrap();
        table.touch(first, Instant::from_nanos(3_000_000_000));
        assert_eq!(insert(&mut table, 3, 4), Some(State::Opening), "there is room for two");
        let known: Vec<u16> = (1..=3).filter(|r| table.find(&key(*r)).is_some()).collect();
        assert_eq!(known, [1, 3]);
        assert_eq!(table.count(), 2);
    }

    #[test]
    fn a_reference_used_anew_means_the_new_connection_alone() {
        let mut table = Table::new(8, 0);
        insert(&mut table, 7, 1);
        insert(&mut table, 7, 2);
        assert_eq!(table.count(), 1);
        let (place, side) = table.find(&key(7)).unwrap();
        assert_eq!((table.get(place).last.as_nanos(), side), (2_000_000_000, 0));
    }

    #[test]
    fn the_silent_expire_in_order_and_their_keys_with_them() {
        let mut table = Table::new(8, 0);
        (1..=3).for_each(|n| {
            insert(&mut table, n, u64::from(n));
        });
        let before = Instant::from_nanos(2_500_000_000);
        while table.expire(before).is_some() {}
        let known: Vec<u16> = (1..=3).filter(|r| table.find(&key(*r)).is_some()).collect();
        assert_eq!(known, [3]);
    }
}

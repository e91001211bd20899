//! Numbers of hosts, in the order of their first TPDU.

use crate::host::Address;
use core::hash::BuildHasher;
use foldhash::fast::FixedState;
use hashbrown::HashTable;

/// Numbered hosts.
#[derive(Clone, Debug)]
pub(super) struct Hosts {
    /// For lookups only, never iterated, so its order cannot show.
    index: HashTable<u32>,
    state: FixedState,
    addresses: Vec<Address>,
    limit: usize,
}

impl Hosts {
    /// Empty table for up to `limit` hosts.
    pub(super) fn new(limit: usize) -> Self {
        let state = FixedState::with_seed(0);
        Self { index: HashTable::new(), state, addresses: Vec::new(), limit }
    }

    /// Number of hosts with a number.
    pub(super) const fn count(&self) -> usize {
        self.addresses.len()
    }

    /// Number of a host. Hosts beyond the limit share one; the headers of their TPDUs still
    /// distinguish them.
    #[inline]
    pub(super) fn number(&mut self, address: &Address) -> u32 {
        let hash = self.state.hash_one(address);
        let addresses = &self.addresses;
        let is_it = |number: &u32| addresses.get(*number as usize) == Some(address);
        if let Some(number) = self.index.find(hash, is_it) {
            return *number;
        }
        if self.addresses.len() >= self.limit {
            return u32::MAX;
        }
        let number = self.addresses.len() as u32;
        self.addresses.push(*address);
        let (addresses, state) = (&self.addresses, &self.state);
        self.index.insert_unique(hash, number, |number| {
            addresses.get(*number as usize).map_or(0, |address| state.hash_one(address))
        });
        number
    }
}

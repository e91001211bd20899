//! Hosts: whoever sends or receives TPDUs, and what each sent and received.
//!
//! A host is a station with its NSAP, or an internet address. Its address is kept once, under a
//! number. Addresses are kept up to a limit; what the hosts beyond a smaller one sent and received
//! counts together.

use crate::measure::{Alike, Distribution, Places, Sizes, Sort, Traffic, Waits};
use crate::sight::Tpdu;
use core::fmt;
use core::hash::{BuildHasher, Hash, Hasher};
use core::net::{Ipv4Addr, Ipv6Addr};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::collections::BTreeMap;
use wire::addr::{Mac, Nsap};

/// Who sends or receives TPDUs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Address {
    /// A station of a LAN.
    Station {
        /// Its address on the LAN.
        mac: Mac,
        /// The network entity's user; empty with the inactive network layer.
        nsap: Nsap,
    },
    /// A host of an internet; one of IPv4 in its mapped form.
    Internet(Ipv6Addr),
}

impl Address {
    /// The station, where it is one.
    #[must_use]
    pub const fn mac(&self) -> Option<Mac> {
        match self {
            Self::Station { mac, .. } => Some(*mac),
            Self::Internet(_) => None,
        }
    }
}

impl Hash for Address {
    /// One word where there is no NSAP, as on a LAN without network layer; two of an internet.
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Station { mac: Mac([a, b, c, d, e, f]), nsap } => {
                state.write_u64(u64::from_be_bytes([*a, *b, *c, *d, *e, *f, 0, 0]));
                if !nsap.octets().is_empty() {
                    state.write(nsap.octets());
                }
            }
            Self::Internet(address) => state.write_u128(address.to_bits()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Station { mac, nsap } if nsap.octets().is_empty() => mac.fmt(f),
            // Of TPDUs without link header: an address of IPv4 is four octets.
            Self::Station { mac: Mac([0, 0, 0, 0, 0, 0]), nsap } => match *nsap.octets() {
                [a, b, c, d] => Ipv4Addr::new(a, b, c, d).fmt(f),
                _ => nsap.fmt(f),
            },
            Self::Station { mac, nsap } => write!(f, "{mac}/{nsap}"),
            Self::Internet(address) => match address.to_ipv4_mapped() {
                Some(address) => address.fmt(f),
                None => address.fmt(f),
            },
        }
    }
}

/// What a host sent and received since measuring began.
#[derive(Clone, PartialEq, Debug)]
pub struct Host {
    /// Who it is; none of the hosts beyond the limit, which are counted together.
    pub address: Option<Address>,
    /// What it sent.
    pub sent: Traffic,
    /// What was sent to it.
    pub received: Traffic,
    /// Times that its replies took.
    pub replied: Distribution,
}

/// A host's number.
pub(crate) type HostNumber = u32;

/// A host that was met: its number, or none where there was no room for it.
pub(crate) type Met = Option<HostNumber>;

/// Addresses kept for each host that has measures of its own.
const ADDRESSES_PER_HOST: usize = 64;

/// All hosts.
#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    /// Looked up only, never iterated, so its order cannot show.
    index: HashTable<HostNumber>,
    state: FixedState,
    addresses: Vec<Address>,
    pub(crate) counts: Counts,
    maximum: usize,
}

/// What was counted of hosts: what each sent and received.
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    /// By their numbers.
    measured: Vec<[Traffic; 2]>,
    /// Of those beyond the limit.
    others: [Traffic; 2],
    /// Times that replies took: by the numbers of hosts, then, under none, of those beyond the limit.
    replied: BTreeMap<Option<HostNumber>, Distribution>,
    bounds: [u64; 9],
}

impl Counts {
    /// Nothing of nobody, with the same bounds.
    pub(crate) fn none(&self) -> Self {
        let others = [Traffic::new(self.bounds), Traffic::new(self.bounds)];
        Self { measured: Vec::new(), others, replied: BTreeMap::new(), bounds: self.bounds }
    }

    /// Sizes of nothing, with the same bounds.
    pub(crate) fn sizes(&self) -> Sizes {
        Sizes::new(self.bounds)
    }

    /// One more host has measures of its own.
    fn push(&mut self) {
        self.measured.push([Traffic::new(self.bounds), Traffic::new(self.bounds)]);
    }

    /// What counts for a host that sends or receives, as `way` tells; one without a number is one of the
    /// others.
    #[inline]
    fn of(&mut self, number: Option<HostNumber>, way: usize) -> &mut Traffic {
        let own = number.and_then(|number| self.measured.get_mut(number as usize));
        &mut own.unwrap_or(&mut self.others)[way]
    }

    /// Counts a TPDU from one host to another.
    #[inline]
    pub(crate) fn observe(&mut self, ends: [Option<HostNumber>; 2], tpdu: &Tpdu, places: Places) {
        for (way, end) in ends.into_iter().enumerate() {
            self.of(end, way).sized(tpdu, places);
        }
    }

    /// Counts how long what went from one host to another took.
    pub(crate) fn waited(&mut self, ends: [Option<HostNumber>; 2], waits: &Waits) {
        for (way, end) in ends.into_iter().enumerate() {
            self.of(end, way).waits.add(waits);
        }
    }

    /// Times that the replies of a host took.
    pub(crate) fn replied(&mut self, number: Option<HostNumber>) -> &mut Distribution {
        let own = number.filter(|number| (*number as usize) < self.measured.len());
        self.replied.entry(own).or_default()
    }

    /// Counts TPDUs of one sort from one host to another in a second.
    pub(crate) fn alike(
        &mut self,
        second: u64,
        ends: [HostNumber; 2],
        (sort, alike): (Sort, &Alike),
    ) {
        for (way, end) in ends.into_iter().enumerate() {
            self.of(Some(end), way).alike(second, sort, alike);
        }
    }
}

impl Hosts {
    pub(crate) fn new(maximum: usize, bounds: [u64; 9], seed: u64) -> Self {
        Self {
            index: HashTable::new(),
            state: FixedState::with_seed(seed),
            addresses: Vec::new(),
            counts: Counts {
                measured: Vec::new(),
                others: [Traffic::new(bounds), Traffic::new(bounds)],
                replied: BTreeMap::new(),
                bounds,
            },
            maximum: maximum.clamp(1, 1 << 24),
        }
    }

    /// The number of a host, which it is given now if it has none; none where there is no room.
    pub(crate) fn number(&mut self, address: Address) -> Option<HostNumber> {
        let hash = self.state.hash_one(address);
        let addresses = &self.addresses;
        if let Some(found) =
            self.index.find(hash, |number| addresses.get(*number as usize) == Some(&address))
        {
            return Some(*found);
        }
        if self.addresses.len() >= self.maximum * ADDRESSES_PER_HOST {
            return None;
        }
        let number = HostNumber::try_from(self.addresses.len()).ok()?;
        self.addresses.push(address);
        let (addresses, state) = (&self.addresses, &self.state);
        self.index.insert_unique(hash, number, |number| {
            addresses.get(*number as usize).map_or(0, |address| state.hash_one(address))
        });
        if self.counts.measured.len() < self.maximum {
            self.counts.push();
        }
        Some(number)
    }

    /// A host, if it was met; where there is no room, whoever has no number counts as met.
    pub(crate) fn met(&self, address: Address) -> Option<Met> {
        let addresses = &self.addresses;
        let is_it = |number: &HostNumber| addresses.get(*number as usize) == Some(&address);
        match self.index.find(self.state.hash_one(address), is_it) {
            Some(found) => Some(Some(*found)),
            None => (addresses.len() >= self.maximum * ADDRESSES_PER_HOST).then_some(None),
        }
    }

    /// The address under a number that was given.
    pub(crate) fn address(&self, number: HostNumber) -> &Address {
        self.addresses.get(number as usize).expect("a number that was given has an address")
    }

    /// Each host with what was counted, in the order in which they were met; those beyond the limit as one at
    /// the end.
    pub(crate) fn iter(&self, counts: Counts) -> impl Iterator<Item = Host> {
        let Counts { measured, others: [sent, received], mut replied, .. } = counts;
        let others = (self.addresses.len() > measured.len()).then(|| Host {
            address: None,
            sent,
            received,
            replied: replied.remove(&None).unwrap_or_default(),
        });
        let own = (0..).zip(&self.addresses).zip(measured);
        let own = own.map(move |((number, address), [sent, received])| Host {
            address: Some(*address),
            sent,
            received,
            replied: replied.remove(&Some(number)).unwrap_or_default(),
        });
        own.chain(others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_link_is_printed_alone() {
        let station = |mac, nsap: &[u8]| Address::Station { mac, nsap: Nsap::new(nsap).unwrap() };
        assert_eq!(station(Mac([0; 6]), &[192, 0, 2, 3]).to_string(), "192.0.2.3");
        assert_eq!(station(Mac([0; 6]), &[0x49, 1, 2, 3, 4]).to_string(), "4901020304");
        assert_eq!(station(Mac::local(1), &[0x49]).to_string(), "02:00:00:00:00:01/49");
    }

    #[test]
    fn who_is_not_met_is_nobody_while_there_is_room_and_one_of_the_others_after() {
        let mut hosts = Hosts::new(2, [0; 9], 0);
        let address = |number| Address::Internet(Ipv6Addr::from_bits(u128::from(number)));
        // 64 addresses for each of two.
        for number in 0..128 {
            assert_eq!(hosts.met(address(number)), None);
            assert_eq!(hosts.number(address(number)), Some(number));
            assert_eq!(hosts.met(address(number)), Some(Some(number)));
        }
        assert_eq!(hosts.number(address(128)), None);
        assert_eq!(hosts.met(address(128)), Some(None));
    }
}

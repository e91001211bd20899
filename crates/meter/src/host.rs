//! Hosts: senders and receivers of TPDUs, and what each sent and received.
//!
//! A host is a station with its NSAP, or an IP address. Each address is stored once, under a
//! number. The number of addresses is limited; so is, further, the number of hosts with measures of
//! their own, and the traffic of the remaining hosts is summed.

use crate::measure::{Distribution, Places, Sizes, Summary, Sums, Traffic, Waits};
use crate::observation::Tpdu;
use core::fmt;
use core::hash::{BuildHasher, Hash, Hasher};
use core::net::{Ipv4Addr, Ipv6Addr};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::collections::BTreeMap;
use wire::addr::{Mac, Nsap};

/// Address of a sender or receiver of TPDUs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Address {
    /// Station of a LAN.
    Station {
        /// MAC address.
        mac: Mac,
        /// NSAP of the network entity's user; empty with the inactive network layer.
        nsap: Nsap,
    },
    /// IP host; IPv4 addresses are in their IPv4-mapped form.
    Internet(Ipv6Addr),
}

impl Address {
    /// MAC address of a station.
    #[must_use]
    pub const fn mac(&self) -> Option<Mac> {
        match self {
            Self::Station { mac, .. } => Some(*mac),
            Self::Internet(_) => None,
        }
    }
}

impl Hash for Address {
    /// Hashes one word if there is no NSAP, as on a LAN without network layer; two for an IP
    /// address.
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
            // TPDUs without link header: an IPv4 address is four octets.
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

/// Traffic that a host sent and received since measuring began.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Host {
    /// Address; none for the sum of all hosts beyond the limit.
    pub address: Option<Address>,
    /// Traffic that it sent.
    pub sent: Traffic,
    /// Traffic sent to it.
    pub received: Traffic,
    /// Response times of its replies.
    pub replied: Distribution,
}

/// Name of a host within one meter; of all hosts beyond the limit, one name together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct HostKey(u32);

impl HostKey {
    /// Hosts beyond the limit; after all others in order.
    pub(crate) const OTHERS: Self = Self(u32::MAX);

    /// Number of the host; none for the hosts beyond the limit.
    const fn number(self) -> Met {
        if self.0 == Self::OTHERS.0 { None } else { Some(self.0) }
    }
}

/// Host whose counts may have changed, with its traffic since measuring began.
#[derive(Clone, PartialEq, Debug)]
pub struct ChangedHost {
    /// Name of the host in this meter.
    pub key: HostKey,
    /// Address; none for the sum of all hosts beyond the limit.
    pub address: Option<Address>,
    /// Traffic that it sent, and traffic sent to it: thousands of octets, which are moved in their box.
    pub traffic: Box<[Traffic; 2]>,
}

/// Hosts as of one time, each in its place in the order of their first TPDU; last the sum of the hosts beyond the
/// limit.
#[derive(Clone, Debug)]
pub struct HostReports {
    /// Addresses of the hosts with counts of their own.
    addresses: Vec<Address>,
    counts: Counts,
    /// True if there are hosts beyond the limit.
    has_others: bool,
}

impl HostReports {
    /// Number of places.
    #[must_use]
    pub fn places(&self) -> usize {
        self.addresses.len() + usize::from(self.has_others)
    }

    /// Address of the host in a place; none for the hosts beyond the limit.
    #[must_use]
    pub fn address(&self, place: usize) -> Option<&Address> {
        self.addresses.get(place)
    }

    /// Response times of the replies of the host in a place.
    #[must_use]
    pub fn replied(&self, place: usize) -> Summary {
        let replied = self.counts.replied.get(&self.number(place));
        replied.map(Distribution::summary).unwrap_or_default()
    }

    /// Takes the host in a place, which is left without counts; none beyond the last.
    pub fn take(&mut self, place: usize) -> Option<Host> {
        let number = self.number(place);
        let address = self.addresses.get(place).copied();
        let traffic = match number {
            Some(_) => &mut **self.counts.measured.get_mut(place)?,
            None if self.has_others && place == self.addresses.len() => &mut self.counts.others,
            None => return None,
        };
        let [sent, received] = core::mem::take(traffic);
        let replied = self.counts.replied.remove(&number).unwrap_or_default();
        Some(Host { address, sent, received, replied })
    }

    /// Number of the host in a place; none for the hosts beyond the limit.
    fn number(&self, place: usize) -> Met {
        HostNumber::try_from(place).ok().filter(|_| place < self.addresses.len())
    }
}

/// Number of a host.
pub(crate) type HostNumber = u32;

/// Known host: its number, or none if there was no room for it.
pub(crate) type Met = Option<HostNumber>;

/// Addresses stored per host that has measures of its own.
const ADDRESSES_PER_HOST: usize = 64;

/// Table of hosts.
#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    /// For lookups only, never iterated, so its order cannot show.
    index: HashTable<HostNumber>,
    state: FixedState,
    addresses: Vec<Address>,
    pub(crate) counts: Counts,
    maximum: usize,
}

/// Counts of hosts: traffic that each sent and received.
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    /// Traffic sent and received, by host number.
    #[expect(clippy::vec_box, reason = "thousands of octets, which would be moved to make room")]
    measured: Vec<Box<[Traffic; 2]>>,
    /// Traffic of the hosts beyond the limit.
    others: [Traffic; 2],
    /// Response times by host number; those of the hosts beyond the limit under none.
    replied: BTreeMap<Option<HostNumber>, Distribution>,
    changes: Changes,
    bounds: [u64; 9],
}

/// Hosts whose counts changed since the changes were forgotten.
#[derive(Clone, Debug, Default)]
struct Changes {
    /// True for a host that changed, by its number.
    has_changed: Vec<bool>,
    /// Numbers of the hosts that changed, in the order of their first change.
    list: Vec<HostNumber>,
    /// True if a host beyond the limit changed.
    others: bool,
}

impl Changes {
    #[inline]
    fn mark(&mut self, number: HostNumber) {
        if let Some(has_changed) = self.has_changed.get_mut(number as usize)
            && !core::mem::replace(has_changed, true)
        {
            self.list.push(number);
        }
    }
}

impl Counts {
    /// Empty counts with the same bounds.
    pub(crate) fn none(&self) -> Self {
        let others = [Traffic::new(self.bounds), Traffic::new(self.bounds)];
        let (replied, changes) = (BTreeMap::new(), Changes::default());
        Self { measured: Vec::new(), others, replied, changes, bounds: self.bounds }
    }

    /// Empty size classes with the same bounds.
    pub(crate) fn sizes(&self) -> Sizes {
        Sizes::new(self.bounds)
    }

    /// Adds a host with measures of its own.
    fn push(&mut self) {
        self.measured.push(Box::new([Traffic::new(self.bounds), Traffic::new(self.bounds)]));
        self.changes.has_changed.push(false);
    }

    /// Name of a host, by its number.
    pub(crate) fn key(&self, met: Met) -> HostKey {
        let own = met.filter(|number| (*number as usize) < self.measured.len());
        own.map_or(HostKey::OTHERS, HostKey)
    }

    /// Records that the counts of a host changed, apart from those here.
    pub(crate) fn mark(&mut self, key: HostKey) {
        match key.number() {
            Some(number) => self.changes.mark(number),
            None => self.changes.others = true,
        }
    }

    /// True if the counts of a host changed since the changes were forgotten.
    pub(crate) fn has_changed(&self, key: HostKey) -> bool {
        match key.number() {
            Some(number) => self.changes.has_changed.get(number as usize).is_some_and(|it| *it),
            None => self.changes.others,
        }
    }

    /// Forgets which hosts changed.
    pub(crate) fn forget_changes(&mut self) {
        for number in self.changes.list.drain(..) {
            self.changes.has_changed[number as usize] = false;
        }
        self.changes.others = false;
    }

    /// Traffic that a host sent or received, as `way` says; a host without a number is one beyond
    /// the limit.
    #[inline]
    fn of(&mut self, number: Option<HostNumber>, way: usize) -> &mut Traffic {
        if let Some(number) = number
            && let Some(own) = self.measured.get_mut(number as usize)
        {
            self.changes.mark(number);
            return &mut own[way];
        }
        self.changes.others = true;
        &mut self.others[way]
    }

    /// Counts a TPDU between two hosts.
    #[inline]
    pub(crate) fn observe(&mut self, ends: [Option<HostNumber>; 2], tpdu: &Tpdu, places: Places) {
        for (way, end) in ends.into_iter().enumerate() {
            self.of(end, way).sized(tpdu, places);
        }
    }

    /// Counts delays of the traffic between two hosts.
    pub(crate) fn waited(&mut self, ends: [Option<HostNumber>; 2], waits: &Waits) {
        for (way, end) in ends.into_iter().enumerate() {
            self.of(end, way).waits.add(waits);
        }
    }

    /// Response times of the replies of a host.
    pub(crate) fn replied(&mut self, number: Option<HostNumber>) -> &mut Distribution {
        let own = number.filter(|number| (*number as usize) < self.measured.len());
        self.replied.entry(own).or_default()
    }

    /// Counts a batch of TPDUs between two hosts, except for the busiest second.
    #[inline]
    pub(crate) fn batch(&mut self, ends: [HostNumber; 2], batch: &Sums) {
        for (way, end) in ends.into_iter().enumerate() {
            self.of(Some(end), way).batch(batch);
        }
    }

    /// Counts TPDUs between two hosts in a second, for the busiest second alone.
    #[inline]
    pub(crate) fn pass(&mut self, second: u64, ends: [HostNumber; 2], tpdus: u64, octets: u64) {
        for (way, end) in ends.into_iter().enumerate() {
            let own = self.measured.get_mut(end as usize);
            own.map_or(&mut self.others[way], |own| &mut own[way]).pass(second, tpdus, octets);
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
                changes: Changes::default(),
                bounds,
            },
            maximum: maximum.clamp(1, 1 << 24),
        }
    }

    /// Number of a host, assigned now if it has none; none if there is no room.
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

    /// Number of a known host. If the table is full, a host without a number counts as known.
    pub(crate) fn met(&self, address: Address) -> Option<Met> {
        let addresses = &self.addresses;
        let is_it = |number: &HostNumber| addresses.get(*number as usize) == Some(&address);
        match self.index.find(self.state.hash_one(address), is_it) {
            Some(found) => Some(Some(*found)),
            None => (addresses.len() >= self.maximum * ADDRESSES_PER_HOST).then_some(None),
        }
    }

    /// Address of the host with an assigned number.
    pub(crate) fn address(&self, number: HostNumber) -> &Address {
        self.addresses.get(number as usize).expect("a number that was given has an address")
    }

    /// Hosts that changed, in the order of their first TPDU; last the sum of the hosts beyond the
    /// limit. Without delays that connections and streams keep.
    pub(crate) fn changed(&self) -> Vec<ChangedHost> {
        let Counts { measured, others, changes, .. } = &self.counts;
        let mut list = changes.list.clone();
        list.sort_unstable();
        let has_others = changes.others && self.addresses.len() > measured.len();
        let others = has_others.then(|| ChangedHost {
            key: HostKey::OTHERS,
            address: None,
            traffic: Box::new(others.clone()),
        });
        // Hosts have many counts, and are not moved to make room.
        let mut changed = Vec::with_capacity(list.len() + 1);
        changed.extend(list.into_iter().filter_map(|number| {
            let traffic = measured.get(number as usize)?.clone();
            Some(ChangedHost {
                key: HostKey(number),
                address: Some(*self.address(number)),
                traffic,
            })
        }));
        changed.extend(others);
        changed
    }

    /// Response times of a host, without those that connections keep.
    pub(crate) fn replied(&self, key: HostKey) -> Distribution {
        self.counts.replied.get(&key.number()).cloned().unwrap_or_default()
    }

    /// Hosts with these counts.
    pub(crate) fn reports(&self, counts: Counts) -> HostReports {
        let own = counts.measured.len();
        let addresses = self.addresses.get(..own).unwrap_or_default().to_vec();
        HostReports { addresses, counts, has_others: self.addresses.len() > own }
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
    fn an_unknown_host_counts_as_known_once_the_table_is_full() {
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

//! Cache of recently seen sides of connections, by the words that identify them in a frame, and
//! batches of their TPDUs.
//!
//! Common TPDUs of one kind are batched here. A batch is counted for hosts and network when a
//! different TPDU or another side takes its place, before any report, and at the end of each
//! second.

use super::cache::{Name, Slot, TwoWayCache};
use crate::host::{Counts, HostNumber};
use crate::lru_slab::Place;
use crate::measure::{Batch, BatchKind, Sizes, Traffic, second as second_of};
use crate::track::counter_store::CounterStore;
use crate::track::side::{Side, other};
use crate::track::table::Found;
use wire::time::Instant;
use wire::tp::Format;

/// Destination of batches: counts of hosts, network and connections.
pub(super) struct Totals<'a> {
    pub(super) hosts: &'a mut Counts,
    pub(super) all: &'a mut Traffic,
    pub(super) sides: &'a mut CounterStore,
}

impl Totals<'_> {
    /// Counts a batch of TPDUs that were sent to a side in a second.
    fn batch(&mut self, second: u64, known: &CachedSide, kind: BatchKind, batch: &Batch) {
        self.hosts.batch(second, known.hosts, kind, batch);
        self.all.batch(second, kind, batch);
        self.sides.batch(second, (known.place, other(known.side.into())), kind, batch);
    }
}

/// Side of a connection and its sequence-number format; the format changes only when a connection
/// opens or closes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SideKey {
    pub(super) found: Found,
    pub(super) format: Format,
}

/// Cached side of a connection with its pending batches.
#[derive(Clone, Copy, Debug)]
struct CachedSide {
    place: Place,
    /// Side.
    side: u8,
    format: Format,
    /// True if it is on the list of sides with pending batches.
    is_listed: bool,
    /// Sender to this side, and the side itself.
    hosts: [HostNumber; 2],
    /// Pending batches of TPDUs sent to it, by kind.
    batch: [Batch; BatchKind::ALL.len()],
}

impl CachedSide {
    #[inline]
    fn whose(&self) -> SideKey {
        SideKey { found: (self.place, Side::from(self.side)), format: self.format }
    }

    /// Counts its batches of a second.
    fn count(&self, second: u64, tally: &mut Totals<'_>) {
        for (kind, batch) in BatchKind::ALL.into_iter().zip(&self.batch) {
            if batch.tpdus > 0 {
                tally.batch(second, self, kind, batch);
            }
        }
    }
}

/// Sizes below this have a table, because comparing them with the bounds takes longer.
const COMMON_OCTETS: usize = 2_048;

/// Cache of recently seen sides.
#[derive(Clone, Debug)]
pub(crate) struct RecentSides {
    cache: TwoWayCache<CachedSide>,
    /// Class of each common size.
    classes: Box<[u8; COMMON_OCTETS]>,
    /// Slots with pending batches.
    listed: Vec<Slot>,
    /// Second of all pending batches.
    second: u64,
}

impl RecentSides {
    /// Empty cache, with the bounds of `sizes`.
    pub(crate) fn new(sizes: &Sizes) -> Self {
        let mut classes = Box::new([0; COMMON_OCTETS]);
        for (octets, class) in classes.iter_mut().enumerate() {
            *class = sizes.class(octets as u64) as u8;
        }
        Self { cache: TwoWayCache::default(), classes, listed: Vec::new(), second: 0 }
    }

    /// Class of a size.
    #[inline]
    pub(super) fn class(&self, octets: u64, sizes: &Sizes) -> u8 {
        let common = usize::try_from(octets).ok().and_then(|octets| self.classes.get(octets));
        common.copied().unwrap_or_else(|| sizes.class(octets) as u8)
    }

    /// Side with this name and its cache slot, if cached and valid.
    #[inline]
    pub(super) fn find(&self, name: Name, changes: u64) -> Option<(Slot, SideKey)> {
        let (slot, known) = self.cache.find(name, changes)?;
        Some((slot, known.whose()))
    }

    /// Side with this name in this cache slot, if valid.
    #[inline]
    pub(super) fn find_in(&self, slot: Slot, name: Name, changes: u64) -> Option<SideKey> {
        self.cache.find_in(slot, name, changes).map(CachedSide::whose)
    }

    /// Caches a side and returns its slot. `hosts` are the sender to it and itself. The pending
    /// batches of the side that it evicts are counted first.
    pub(super) fn insert(
        &mut self,
        name: Name,
        changes: u64,
        whose: SideKey,
        hosts: [HostNumber; 2],
        mut tally: Totals<'_>,
    ) -> Slot {
        let SideKey { found: (place, side), format } = whose;
        self.cache.insert(name, changes, |before| {
            if let Some(before) = before {
                before.count(self.second, &mut tally);
            }
            let is_listed = before.is_some_and(|before| before.is_listed);
            let batch = Default::default();
            CachedSide { place, side: side as u8, format, is_listed, hosts, batch }
        })
    }

    /// Batches a TPDU sent to the side in a slot. All pending batches are of one second; batches of
    /// another second or in other size classes are counted first.
    // Always inline: so the TPDU need not be in memory.
    #[inline(always)]
    pub(super) fn add<'a>(
        &mut self,
        at: Instant,
        slot: Slot,
        kind: BatchKind,
        one: Batch,
        tally: impl FnOnce() -> Totals<'a>,
    ) {
        let known = self.cache.at(slot);
        if !known.is_listed || !known.batch[kind as usize].add(&one) {
            self.make_way(at, slot, kind, tally());
            self.cache.at(slot).batch[kind as usize] = one;
        }
    }

    /// Counts the batch of one kind of the side in a slot, so that another can begin at this time.
    #[cold]
    fn make_way(&mut self, at: Instant, slot: Slot, kind: BatchKind, mut tally: Totals<'_>) {
        let known = self.cache.at(slot);
        if !known.is_listed {
            known.is_listed = true;
            self.listed.push(slot);
            self.second = second_of(at);
        }
        let batch = known.batch[kind as usize];
        if batch.tpdus > 0 {
            tally.batch(self.second, known, kind, &batch);
        }
    }

    /// Counts all pending batches.
    pub(crate) fn settle(
        &mut self,
        hosts: &mut Counts,
        all: &mut Traffic,
        sides: &mut CounterStore,
    ) {
        let mut tally = Totals { hosts, all, sides };
        for slot in self.listed.drain(..) {
            let known = self.cache.at(slot);
            known.count(self.second, &mut tally);
            (known.is_listed, known.batch) = (false, Default::default());
        }
    }

    /// Adds all pending batches to other counts, and keeps them pending.
    pub(crate) fn add_pending_to(
        &self,
        hosts: &mut Counts,
        all: &mut Traffic,
        sides: &mut CounterStore,
    ) {
        let mut tally = Totals { hosts, all, sides };
        self.cache.each(&self.listed).for_each(|known| known.count(self.second, &mut tally));
    }
}

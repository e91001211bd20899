//! Cache of recently seen sides of connections, by the words that identify them in a frame, and
//! batches of their TPDUs.
//!
//! Common TPDUs of one kind are batched here. A batch is counted for hosts and network when a
//! different TPDU or another side takes its place, before any report, and at the end of each
//! second.

use super::cache::{Name, Slot, TwoWayCache};
use crate::host::{Counts, HostNumber};
use crate::lru_slab::Handle;
use crate::measure::{Batch, BatchKind, Sizes, Traffic, second as second_of};
use crate::track::counter_store::CounterStore;
use crate::track::side::{Side, other};
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
    fn batch(&mut self, second: u64, known: &CachedSide, batch: &Batch) {
        let sums = &batch.sums();
        self.hosts.batch(second, known.hosts, sums);
        self.all.batch(second, sums);
        self.sides.batch(second, (known.connection.place(), other(known.side.into())), sums);
    }
}

/// Side of a connection and its sequence-number format; the format changes only when a connection
/// opens or closes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SideKey {
    pub(super) connection: Handle,
    pub(super) side: Side,
    pub(super) format: Format,
}

/// Direction of a stream: the stream, and the end that sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Way {
    pub(super) stream: Handle,
    pub(super) way: u8,
}

impl Way {
    /// No direction, of frames over LLC.
    pub(super) const NONE: Self = Self { stream: Handle::NONE, way: 0 };
}

/// Cached side of a connection with its pending batches. A direction of a stream may have no
/// connection yet. In the order of its fields: with the name, all up to the first batch is one
/// cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct CachedSide {
    connection: Handle,
    stream: Handle,
    /// Sender to this side, and the side itself.
    hosts: [HostNumber; 2],
    /// Side.
    side: u8,
    format: Format,
    /// Sender in the stream.
    way: u8,
    /// True if it is on the list of sides with pending batches.
    is_listed: bool,
    /// Pending batches of TPDUs sent to it, by the places of their kinds.
    batch: [Batch; BatchKind::PLACES],
}

/// The name, and all of a side up to its first batch.
const _: () = assert!(size_of::<Name>() + core::mem::offset_of!(CachedSide, batch) == 44);
const _: () = assert!(size_of::<Batch>() == 20);

impl CachedSide {
    /// Direction of a stream without a connection.
    const fn of(way: Way, is_listed: bool) -> Self {
        Self {
            connection: Handle::NONE,
            stream: way.stream,
            hosts: [0; 2],
            side: 0,
            format: Format::Class0,
            way: way.way,
            is_listed,
            batch: [Batch::NONE; BatchKind::PLACES],
        }
    }

    #[inline]
    fn key(&self) -> SideKey {
        let Self { connection, side, format, .. } = *self;
        SideKey { connection, side: side.into(), format }
    }

    /// Counts its batches of a second.
    fn count(&self, second: u64, tally: &mut Totals<'_>) {
        for batch in self.batch.iter().filter(|batch| batch.tpdus > 0) {
            tally.batch(second, self, batch);
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

    /// Direction of a stream with this name and its cache slot, if cached; its stream may be over.
    #[inline]
    pub(super) fn find_way(&self, name: Name) -> Option<(Slot, Way)> {
        let (slot, known) = self.cache.find(name)?;
        Some((slot, Way { stream: known.stream, way: known.way }))
    }

    /// Cache slot of a direction without a stream, cached now if it is not.
    pub(super) fn slot_of<'a>(&mut self, name: Name, tally: impl FnOnce() -> Totals<'a>) -> Slot {
        match self.cache.find(name) {
            Some((slot, _)) => slot,
            None => self.insert_way(name, Way::NONE, tally()),
        }
    }

    /// Side with this name and its cache slot, if cached; its connection may be over.
    #[inline]
    pub(super) fn find(&self, name: Name) -> Option<(Slot, SideKey)> {
        let (slot, known) = self.cache.find(name)?;
        Some((slot, known.key()))
    }

    /// Side in this cache slot; its connection may be over, or none.
    #[inline]
    pub(super) fn side_in(&mut self, slot: Slot) -> SideKey {
        self.cache.at(slot).key()
    }

    /// Caches a direction of a stream, without a connection yet, and returns its slot. The pending
    /// batches of the side that it evicts are counted first.
    pub(super) fn insert_way(&mut self, name: Name, way: Way, mut tally: Totals<'_>) -> Slot {
        let second = self.second;
        self.cache.insert(name, |before| {
            if let Some(before) = before {
                before.count(second, &mut tally);
            }
            CachedSide::of(way, before.is_some_and(|before| before.is_listed))
        })
    }

    /// Caches a side in the slot of a direction. `hosts` are the sender to it and itself. The
    /// pending batches of the side that it replaces are counted first.
    pub(super) fn set_side(
        &mut self,
        slot: Slot,
        key: SideKey,
        hosts: [HostNumber; 2],
        mut tally: Totals<'_>,
    ) {
        let SideKey { connection, side, format } = key;
        let known = self.cache.at(slot);
        known.count(self.second, &mut tally);
        let (batch, side) = (Default::default(), side as u8);
        *known = CachedSide { connection, side, format, hosts, batch, ..*known };
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
        let place = kind.place();
        if !known.is_listed || !known.batch[place].add(&one) {
            self.make_way(at, slot, place, tally());
            self.cache.at(slot).batch[place] = one;
        }
    }

    /// Counts the batch in one place of the side in a slot, so that another can begin at this time.
    #[cold]
    fn make_way(&mut self, at: Instant, slot: Slot, place: usize, mut tally: Totals<'_>) {
        let known = self.cache.at(slot);
        if !known.is_listed {
            known.is_listed = true;
            self.listed.push(slot);
            self.second = second_of(at);
        }
        let batch = known.batch[place];
        if batch.tpdus > 0 {
            tally.batch(self.second, known, &batch);
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

//! Cache of recently seen sides of connections, by the words that identify them in a frame, and
//! batches of their TPDUs.
//!
//! Common TPDUs of one kind are batched here. A batch is counted for hosts and network when a
//! different TPDU or another side takes its place, and before any report. For the busiest second,
//! all TPDUs of a side count together at the end of each second.

use super::cache::{Name, Slot, TwoWayCache};
use crate::host::{Counts, HostNumber};
use crate::lru_slab::{Handle, Place};
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
    /// Counts a batch of TPDUs that were sent to a side, except for the busiest second.
    #[inline]
    fn batch(&mut self, known: &CachedSide, batch: &Batch) {
        let sums = &batch.sums();
        self.hosts.batch(known.hosts, sums);
        self.all.batch(sums);
        self.sides.batch(known.sender(), sums);
    }

    /// Counts TPDUs of the network in a second, for the busiest second alone.
    fn pass_all(&mut self, second: u64, Amount { tpdus, octets }: Amount) {
        if tpdus > 0 {
            self.all.pass(second, tpdus, octets);
        }
    }

    /// Does the same for hosts and for the connection of a side, to which the TPDUs were sent.
    #[inline]
    fn pass(&mut self, second: u64, known: &CachedSide, more: Amount) {
        let Amount { tpdus, octets } = more;
        if tpdus > 0 {
            self.hosts.pass(second, known.hosts, tpdus, octets);
            self.sides.pass(second, known.sender(), tpdus, octets);
        }
    }
}

/// Some TPDUs, and their octets. A difference wraps, so that it can be added again.
#[derive(Clone, Copy, Debug, Default)]
struct Amount {
    tpdus: u64,
    octets: u64,
}

impl Amount {
    #[inline]
    const fn of(batch: &Batch) -> Self {
        Self { tpdus: batch.tpdus as u64, octets: batch.octets() }
    }

    #[inline]
    const fn without(self, other: Self) -> Self {
        let tpdus = self.tpdus.wrapping_sub(other.tpdus);
        Self { tpdus, octets: self.octets.wrapping_sub(other.octets) }
    }
}

/// Standing of a cached side on the lists of those with pending batches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum Standing {
    /// On no list: it has no pending batches.
    Idle,
    /// On the list of all that may have pending batches.
    Pending,
    /// On the list of this second too.
    ThisSecond,
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
    standing: Standing,
    /// Pending batches of TPDUs sent to it, by the places of their kinds.
    batch: [Batch; BatchKind::PLACES],
}

/// The name, and all of a side up to its first batch.
const _: () = assert!(size_of::<Name>() + core::mem::offset_of!(CachedSide, batch) == 44);
const _: () = assert!(size_of::<Batch>() == 20);

impl CachedSide {
    /// Direction of a stream without a connection.
    const fn of(way: Way, standing: Standing) -> Self {
        Self {
            connection: Handle::NONE,
            stream: way.stream,
            hosts: [0; 2],
            side: 0,
            format: Format::Class0,
            way: way.way,
            standing,
            batch: [Batch::NONE; BatchKind::PLACES],
        }
    }

    #[inline]
    fn key(&self) -> SideKey {
        let Self { connection, side, format, .. } = *self;
        SideKey { connection, side: side.into(), format }
    }

    /// Place of its connection, and the side that sends to it.
    fn sender(&self) -> (Place, Side) {
        (self.connection.place(), other(self.side.into()))
    }

    /// TPDUs of its pending batches.
    fn amount(&self, pending: &Pending) -> Amount {
        let mut all = Amount::default();
        for place in pending.places() {
            let Amount { tpdus, octets } = Amount::of(&self.batch[place]);
            (all.tpdus, all.octets) = (all.tpdus + tpdus, all.octets + octets);
        }
        all
    }

    /// Counts TPDUs that do not count in their second yet, for the busiest second of all but the
    /// network, and returns them.
    fn pass(&self, second: u64, pending: &mut Pending, tally: &mut Totals<'_>) -> Amount {
        let amount = self.amount(pending);
        let counted = core::mem::replace(&mut pending.counted, amount);
        let more = amount.without(counted);
        tally.pass(second, self, more);
        more
    }

    /// Counts its pending batches.
    fn count(&self, second: u64, mut pending: Pending, tally: &mut Totals<'_>) {
        let more = self.pass(second, &mut pending, tally);
        tally.pass_all(second, more);
        for place in pending.places() {
            tally.batch(self, &self.batch[place]);
        }
    }
}

/// Pending batches of a cached side: which there are, and how far they count.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    /// Those of their TPDUs that count in their second already, less those of former batches that do
    /// not yet.
    counted: Amount,
    /// Bit set of the places of the batches.
    used: u16,
}

const _: () = assert!(BatchKind::PLACES <= u16::BITS as usize);

impl Pending {
    /// Places of the batches.
    fn places(&self) -> impl Iterator<Item = usize> + use<> {
        let mut used = self.used;
        core::iter::from_fn(move || {
            let place = used.trailing_zeros() as usize;
            used &= used.wrapping_sub(1);
            (place < BatchKind::PLACES).then_some(place)
        })
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
    /// Slots that may have pending batches.
    pending: Vec<Slot>,
    /// Those of them with TPDUs in this second.
    this_second: Vec<Slot>,
    /// Pending batches of each slot.
    batches: Vec<Pending>,
    /// Second of all others.
    second: u64,
}

impl RecentSides {
    /// Empty cache, with the bounds of `sizes`.
    pub(crate) fn new(sizes: &Sizes) -> Self {
        let mut classes = Box::new([0; COMMON_OCTETS]);
        for (octets, class) in classes.iter_mut().enumerate() {
            *class = sizes.class(octets as u64) as u8;
        }
        let [pending, this_second] = [Vec::new(), Vec::new()];
        let (cache, batches) = (TwoWayCache::default(), Vec::new());
        Self { cache, classes, pending, this_second, batches, second: 0 }
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
        let Self { cache, batches, second, .. } = self;
        let mut replaced = |slot: Slot, before: &CachedSide| {
            before.count(*second, core::mem::take(&mut batches[slot]), &mut tally);
            before.standing
        };
        let slot = cache.insert(name, |before| {
            let standing = before.map_or(Standing::Idle, |(slot, it)| replaced(slot, it));
            CachedSide::of(way, standing)
        });
        if slot >= self.batches.len() {
            self.batches.resize_with(slot + 1, Pending::default);
        }
        slot
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
        known.count(self.second, core::mem::take(&mut self.batches[slot]), &mut tally);
        let (batch, side) = (Default::default(), side as u8);
        *known = CachedSide { connection, side, format, hosts, batch, ..*known };
    }

    /// Batches a TPDU sent to the side in a slot. A batch in other size classes is counted first.
    // Always inline: so the TPDU need not be in memory.
    #[inline(always)]
    pub(super) fn add<'a>(
        &mut self,
        at: Instant,
        slot: Slot,
        one: Batch,
        tally: impl FnOnce() -> Totals<'a>,
    ) {
        let known = self.cache.at(slot);
        let place = one.place();
        if known.standing != Standing::ThisSecond || !known.batch[place].add(&one) {
            self.add_apart(at, slot, place, one, tally());
        }
    }

    /// Batches a TPDU where the side has none in this second, or where another batch is in its place.
    #[cold]
    fn add_apart(
        &mut self,
        at: Instant,
        slot: Slot,
        place: usize,
        one: Batch,
        mut tally: Totals<'_>,
    ) {
        let known = self.cache.at(slot);
        if known.standing != Standing::ThisSecond {
            if known.standing == Standing::Idle {
                self.pending.push(slot);
            }
            known.standing = Standing::ThisSecond;
            self.this_second.push(slot);
            self.second = second_of(at);
            if known.batch[place].add(&one) {
                return;
            }
        }
        let pending = &mut self.batches[slot];
        let batch = core::mem::replace(&mut known.batch[place], one);
        if batch.tpdus > 0 {
            tally.batch(known, &batch);
            // What of it does not count in its second yet still does not.
            pending.counted = pending.counted.without(Amount::of(&batch));
        }
        pending.used |= 1 << place;
    }

    /// Counts the pending TPDUs of a second that is over, for the busiest second. The batches stay
    /// pending.
    pub(crate) fn end_second(
        &mut self,
        hosts: &mut Counts,
        all: &mut Traffic,
        sides: &mut CounterStore,
    ) {
        let mut tally = Totals { hosts, all, sides };
        let mut sum = Amount::default();
        for slot in self.this_second.drain(..) {
            let known = self.cache.at(slot);
            let more = known.pass(self.second, &mut self.batches[slot], &mut tally);
            (sum.tpdus, sum.octets) = (sum.tpdus + more.tpdus, sum.octets + more.octets);
            known.standing = Standing::Pending;
        }
        tally.pass_all(self.second, sum);
    }

    /// Counts all pending batches.
    pub(crate) fn settle(
        &mut self,
        hosts: &mut Counts,
        all: &mut Traffic,
        sides: &mut CounterStore,
    ) {
        let mut tally = Totals { hosts, all, sides };
        for slot in self.pending.drain(..) {
            let (known, pending) = (self.cache.at(slot), core::mem::take(&mut self.batches[slot]));
            known.count(self.second, pending, &mut tally);
            known.standing = Standing::Idle;
            for place in pending.places() {
                known.batch[place] = Batch::NONE;
            }
        }
        self.this_second.clear();
    }

    /// Adds all pending batches to other counts, and keeps them pending.
    pub(crate) fn add_pending_to(
        &self,
        hosts: &mut Counts,
        all: &mut Traffic,
        sides: &mut CounterStore,
    ) {
        let mut tally = Totals { hosts, all, sides };
        for slot in &self.pending {
            self.cache.get(*slot).count(self.second, self.batches[*slot], &mut tally);
        }
    }
}

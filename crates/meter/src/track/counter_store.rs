//! Counters of what each side of a connection sent: TPDUs and TSDUs with their octets, by size and
//! in the busiest second, and the TCP delays of the stream that carried them. Stored apart from the
//! connections.
//!
//! A connection has an entry from its first TPDU on, and a class of sizes from the first TPDU in
//! it. The numbers of DTs, AKs and TSDUs follow from their classes. Sums are narrow; their carry
//! goes to wide sums, which few connections need.

use super::pair_counters::{AkSums, Class, Overflow, PairCounters, Seconds, Sum, Sums, add};
use super::side::Side;
use crate::lru_slab::Place;
use crate::measure::{
    BatchKind, Peak, Places, SizeClass, Sizes, Sums as BatchSums, Waits, second as second_of,
};
use crate::observation::{Role, Tpdu};
use std::collections::BTreeMap;
use wire::tp::Kind;

/// Side of the connection in a place.
pub(super) type OfSide = (Place, Side);

/// Counters of a side, unpacked.
#[derive(Clone, Copy, Debug)]
pub(super) struct SideCounters {
    pub(super) sizes: Sizes,
    sums: Sums<u64>,
    pub(super) peak: Peak,
    /// TCP delays of the stream, as far as handed over.
    pub(super) carried: Waits,
}

impl SideCounters {
    /// Value of a sum.
    pub(super) const fn sum(&self, which: Sum) -> u64 {
        self.sums[which as usize]
    }

    /// Numbers of TPDUs, DTs, retransmitted DTs and TSDUs.
    pub(super) fn counts(&self) -> Class<u64> {
        let mut all = [0; 4];
        for class in &self.sizes.classes {
            let SizeClass { tpdus, dt_tpdus, dt_retransmissions, tsdus } = *class;
            let more = [tpdus, dt_tpdus, dt_retransmissions, tsdus];
            all.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
        all
    }
}

/// Counters of one side, open for updates.
struct Entry<'a> {
    of: OfSide,
    both: &'a mut PairCounters,
    aks: &'a mut Storage<[AkSums; 2]>,
    wide: &'a mut BTreeMap<Place, Box<[Overflow; 2]>>,
}

impl Entry<'_> {
    /// Counts TPDUs and their octets in a second.
    #[inline]
    fn pass(&mut self, second: u64, tpdus: u32, octets: u64) {
        let octets = u32::try_from(octets).unwrap_or(u32::MAX);
        self.both.seconds.pass(second as u32, self.of.1, [tpdus, octets]);
    }

    /// Adds to a sum.
    #[inline]
    fn sum(&mut self, which: Sum, more: u64) {
        let (place, side) = self.of;
        let sums = &mut self.both.sums[side];
        let sum = match (which as usize).checked_sub(sums.len()) {
            None => &mut sums[which as usize],
            Some(of_aks) => &mut self.aks.of(place)[side][of_aks],
        };
        let carry = add(sum, more);
        if carry > 0 {
            self.wide().sums[which as usize] += carry;
        }
    }

    /// Adds to the count `nth` of a class of sizes.
    #[inline]
    fn class(&mut self, class: usize, nth: usize, more: u64) {
        let carry = add(&mut self.both.class(self.of.1, class)[nth], more);
        if carry > 0 {
            self.wide().classes[class][nth] += carry;
        }
    }

    #[cold]
    fn wide(&mut self) -> &mut Overflow {
        let (place, side) = self.of;
        &mut self.wide.entry(place).or_default()[side]
    }
}

/// Counters of both sides of each connection.
#[derive(Clone, Debug)]
pub(crate) struct CounterStore {
    /// Empty size classes, with the bounds in use.
    none: Sizes,
    each: Storage<PairCounters>,
    /// Sums of AKs. Of a dense storage only up to the last place with an AK, so that connections of
    /// class 0 alone need none.
    aks: Storage<[AkSums; 2]>,
    /// Carry of the narrow sums.
    wide: BTreeMap<Place, Box<[Overflow; 2]>>,
    /// TCP delays that were handed over because the stream was evicted before its connection.
    carried: BTreeMap<Place, [Waits; 2]>,
}

/// Values by the place of the connection: dense for all connections, or a map for a few.
#[derive(Clone, Debug)]
enum Storage<T> {
    All(Vec<T>),
    Few(BTreeMap<Place, T>),
}

impl<T: Default> Storage<T> {
    // Always inline: each count takes this way, and mostly to a value that is there.
    #[inline(always)]
    fn of(&mut self, place: Place) -> &mut T {
        match self {
            Self::Few(few) => of_few(few, place),
            Self::All(all) => {
                let place = place as usize;
                if place >= all.len() {
                    make_room(all, place);
                }
                &mut all[place]
            }
        }
    }

    fn get(&self, place: Place) -> Option<&T> {
        match self {
            Self::Few(few) => few.get(&place),
            Self::All(all) => all.get(place as usize),
        }
    }

    /// Clears the value in a place.
    fn clear(&mut self, place: Place) {
        match self {
            Self::Few(few) => {
                few.remove(&place);
            }
            Self::All(all) => {
                if let Some(value) = all.get_mut(place as usize) {
                    *value = T::default();
                }
            }
        }
    }
}

#[cold]
fn of_few<T: Default>(few: &mut BTreeMap<Place, T>, place: Place) -> &mut T {
    few.entry(place).or_default()
}

#[cold]
fn make_room<T: Default>(all: &mut Vec<T>, place: usize) {
    all.resize_with(place + 1, T::default);
}

impl CounterStore {
    /// Octets per connection, and those of a connection with AKs in addition.
    #[cfg(test)]
    pub(super) const OCTETS: [usize; 2] = [size_of::<PairCounters>(), size_of::<[AkSums; 2]>()];

    /// Empty store for all connections, with the size classes of `none`.
    pub(super) fn new(none: Sizes) -> Self {
        let (each, aks) = (Storage::All(Vec::new()), Storage::All(Vec::new()));
        Self { none, each, aks, wide: BTreeMap::new(), carried: BTreeMap::new() }
    }

    /// Empty store for a few connections, with the same bounds.
    pub(super) fn empty(&self) -> Self {
        let (each, aks) = (Storage::Few(BTreeMap::new()), Storage::Few(BTreeMap::new()));
        Self { none: self.none, each, aks, wide: BTreeMap::new(), carried: BTreeMap::new() }
    }

    /// Counts TPDUs that a side sent in a second, for the busiest second alone.
    #[inline]
    pub(crate) fn pass(&mut self, second: u64, of: OfSide, tpdus: u64, octets: u64) {
        let tpdus = u32::try_from(tpdus).unwrap_or(u32::MAX);
        self.account(of).pass(second, tpdus, octets);
    }

    /// Counts a batch of TPDUs that a side sent, as [`Traffic::batch`] does.
    #[inline]
    pub(crate) fn batch(&mut self, of: OfSide, batch: &BatchSums) {
        let mut account = self.account(of);
        let BatchSums { kind, classes: [whole, data, finished], tpdus, .. } = *batch;
        account.class(whole, 0, tpdus);
        if !batch.is_data {
            account.sum(Sum::Aks, batch.header_octets);
            if kind == BatchKind::Crediting {
                account.sum(Sum::Crediting, tpdus);
            }
            return;
        }
        account.class(data, 1, tpdus);
        account.sum(Sum::DtHeaders, batch.header_octets);
        account.sum(Sum::DtData, batch.data_octets);
        match kind {
            BatchKind::End => {
                account.class(finished, 3, tpdus);
                account.sum(Sum::Tsdus, batch.tsdu_octets);
            }
            BatchKind::Again => account.class(data, 2, tpdus),
            BatchKind::Part
            | BatchKind::Empty
            | BatchKind::Acknowledging
            | BatchKind::Crediting
            | BatchKind::Confirming
            | BatchKind::KeepingAlive => {}
        }
    }

    /// Counts a TPDU that a side sent.
    pub(super) fn count(&mut self, of: OfSide, tpdu: &Tpdu, places: Places) {
        let mut account = self.account(of);
        account.pass(second_of(tpdu.at), 1, tpdu.header_octets + tpdu.data_octets);
        account.class(places.whole, 0, 1);
        for (class, octets) in places.finished.into_iter().zip(tpdu.finished()) {
            account.class(class, 3, 1);
            account.sum(Sum::Tsdus, *octets);
        }
        match tpdu.kind {
            Kind::Dt => {
                account.class(places.data, 1, 1);
                if tpdu.retransmitted {
                    account.class(places.data, 2, 1);
                }
                account.sum(Sum::DtHeaders, tpdu.header_octets);
                account.sum(Sum::DtData, tpdu.data_octets);
            }
            Kind::Ak => {
                account.sum(Sum::Aks, tpdu.header_octets);
                account.sum(Sum::Crediting, (tpdu.role == Some(Role::Crediting)).into());
            }
            _ => {}
        }
    }

    #[inline]
    fn account(&mut self, of: OfSide) -> Entry<'_> {
        Entry { of, both: self.each.of(of.0), aks: &mut self.aks, wide: &mut self.wide }
    }

    /// Adds the TCP delays of the stream that carried both sides of the connection in a place.
    pub(super) fn carried(&mut self, place: Place, waits: &[Waits; 2]) {
        let carried = self.carried.entry(place).or_default();
        carried.iter_mut().zip(waits).for_each(|(sum, more)| sum.add(more));
    }

    /// Adds the counters of the connection in a place to `sums`.
    fn add_to(&self, place: Place, sums: &mut [Overflow; 2]) {
        if let Some(both) = self.get(place) {
            both.add_to(sums);
        }
        for (sums, aks) in sums.iter_mut().zip(self.aks.get(place).into_iter().flatten()) {
            let [.., octets, crediting] = &mut sums.sums;
            *octets += u64::from(aks[0]);
            *crediting += u64::from(aks[1]);
        }
        let Some(wide) = self.wide.get(&place) else { return };
        for (sums, wide) in sums.iter_mut().zip(wide.iter()) {
            sums.sums.iter_mut().zip(wide.sums).for_each(|(sum, more)| *sum += more);
            let (sums, wide) = (sums.classes.as_flattened_mut(), wide.classes.as_flattened());
            sums.iter_mut().zip(wide).for_each(|(sum, more)| *sum += more);
        }
    }

    fn get(&self, place: Place) -> Option<&PairCounters> {
        self.each.get(place)
    }

    /// Counters of both sides of the connection in a place, including those that `more` counted
    /// later.
    pub(super) fn with(&self, more: &Self, place: Place) -> [SideCounters; 2] {
        let mut seconds = self.get(place).map_or_else(Seconds::default, |both| both.seconds);
        if let Some(more) = more.get(place) {
            seconds.add(&more.seconds);
        }
        let mut wide = [Overflow::default(); 2];
        self.add_to(place, &mut wide);
        more.add_to(place, &mut wide);
        let carried = self.carried.get(&place).copied().unwrap_or_default();
        [0, 1].map(|side| {
            let [tpdus, octets] = seconds.busiest()[side].map(u64::from);
            let Overflow { sums, classes } = wide[side];
            let classes = classes.map(|[tpdus, dt_tpdus, dt_retransmissions, tsdus]| SizeClass {
                tpdus,
                dt_tpdus,
                dt_retransmissions,
                tsdus,
            });
            let (sizes, peak) = (Sizes { classes, ..self.none }, Peak::of(tpdus, octets));
            SideCounters { sizes, sums, peak, carried: carried[side] }
        })
    }

    /// Number of connections with counters.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        let Storage::All(all) = &self.each else { return 0 };
        all.iter().filter(|both| both.classes() != 0).count()
    }

    /// Removes and returns the counters of a connection that is evicted from this place.
    pub(super) fn take(&mut self, place: Place) -> [SideCounters; 2] {
        let kept = self.with(&self.empty(), place);
        self.each.clear(place);
        self.aks.clear(place);
        self.wide.remove(&place);
        self.carried.remove(&place);
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Draw;

    #[test]
    fn classes_are_allocated_on_use_and_keep_counts_apart() {
        let (mut draw, mut sides) = (Draw(3), CounterStore::new(Sizes::default()));
        let mut expected = [[Class::<u64>::default(); 10]; 2];
        for n in 0..200 {
            let [side, class, count] = [2, 10, 4].map(|below| usize::from(draw.octet_below(below)));
            // Now and then more than two octets hold.
            sides.account((7, side)).class(class, count, n * n * 3);
            expected[side][class][count] += n * n * 3;
            let used = expected.as_flattened().iter().filter(|counts| **counts != [0; 4]).count();
            // A count of zero was added to one class.
            let room = sides.get(7).map_or(0, |both| both.classes());
            assert!((used..=used + 1).contains(&room));
        }
        assert_eq!(sides.wide.len(), 1);
        for (more, times) in [(&sides.empty(), 1), (&sides, 2)] {
            for (kept, expected) in sides.with(more, 7).iter().zip(&expected) {
                for (kept, expected) in kept.sizes.classes.iter().zip(expected) {
                    let SizeClass { tpdus, dt_tpdus, dt_retransmissions, tsdus } = *kept;
                    let counts = [tpdus, dt_tpdus, dt_retransmissions, tsdus];
                    assert_eq!(counts, expected.map(|count| times * count));
                }
            }
        }
        let whole = sides.with(&sides.empty(), 7).map(|kept| kept.counts());
        assert_eq!(sides.take(7).map(|kept| kept.counts()), whole);
        assert_eq!((sides.wide.len(), sides.take(7).map(|kept| kept.counts())), (0, [[0; 4]; 2]));
    }

    #[test]
    fn the_carry_of_a_narrow_sum_goes_to_a_wide_one() {
        let mut sides = CounterStore::new(Sizes::default());
        for more in [u64::from(u32::MAX) - 1, 1, 1, 5, 1 << 40] {
            sides.account((0, 1)).sum(Sum::DtData, more);
        }
        let [first, second] = sides.with(&sides.empty(), 0);
        // 2^32 - 1, then 1 + 5, then 2^40.
        assert_eq!(second.sum(Sum::DtData), (1 << 32) + 5 + (1 << 40));
        assert_eq!([Sum::DtHeaders, Sum::Aks].map(|sum| second.sum(sum)), [0, 0]);
        assert_eq!(first.sum(Sum::DtData), 0);
    }

    #[test]
    fn sums_of_aks_go_with_their_connection_and_need_no_room_before() {
        let mut sides = CounterStore::new(Sizes::default());
        sides.account((0, 0)).sum(Sum::DtData, 9);
        assert!(sides.aks.get(0).is_none(), "a connection without AKs has no sums of them");
        sides.account((1, 1)).sum(Sum::Aks, 5);
        sides.account((1, 1)).sum(Sum::Crediting, 2);
        let of_aks = |sides: [SideCounters; 2]| {
            sides.map(|side| [Sum::Aks, Sum::Crediting].map(|sum| side.sum(sum)))
        };
        assert_eq!(of_aks(sides.take(1)), [[0, 0], [5, 2]]);
        assert_eq!(of_aks(sides.take(1)), [[0, 0]; 2]);
    }

    #[test]
    fn a_connection_whose_sums_are_narrow_has_no_wide_ones() {
        let mut sides = CounterStore::new(Sizes::default());
        // One DT more than a count of two octets holds, and an octet more than a sum of four, at another connection.
        for (place, [tpdus, octets]) in
            [(0, [u16::MAX.into(), u32::MAX.into()]), (1, [1 << 16, 1]), (2, [1, 1 << 32])]
        {
            sides.account((place, 0)).class(3, 1, tpdus);
            sides.account((place, 0)).sum(Sum::DtData, octets);
            let [kept, _] = sides.with(&sides.empty(), place);
            assert_eq!((kept.counts()[1], kept.sum(Sum::DtData)), (tpdus, octets));
        }
        assert!(sides.wide.keys().eq(&[1, 2]));
    }
}

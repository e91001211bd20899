//! What the sides of connections sent: TPDUs and TSDUs with their octets, by size and in the busiest second, and what TCP
//! took to carry it; kept apart from the connections.
//!
//! A connection has room here from its first TPDU on, and a class of sizes from the first TPDU in it. How many DTs,
//! AKs and TSDUs there were is told by their classes. Sums are narrow; what one cannot hold is carried over to wide ones,
//! which few connections have.

use super::both::{Both, Class, Seconds, Sum, Sums, Wide, add};
use super::connection::{Connection, Side};
use super::delays::Carried;
use super::remembered::Tally;
use super::table::Party;
use super::{Known, Tracker};
use crate::measure::{
    Alike, Peak, Places, SizeClass, Sizes, Sort, Traffic, Waits, second as second_of,
};
use crate::sight::{Role, Tpdu};
use crate::slab::Place;
use std::collections::BTreeMap;
use wire::time::Instant;
use wire::tp::Kind;

/// A side of the connection in a place.
pub(super) type OfSide = (Place, Side);

/// What is kept of a side, spelled out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub(super) sizes: Sizes,
    sums: Sums<u64>,
    pub(super) peak: Peak,
    /// What TCP took, as far as it was handed over.
    pub(super) carried: Waits,
}

impl Kept {
    /// A sum.
    pub(super) const fn sum(&self, which: Sum) -> u64 {
        self.sums[which as usize]
    }

    /// TPDUs, DTs, DTs that were sent again, and TSDUs.
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

/// Where a side's TPDUs count.
struct Account<'a> {
    of: OfSide,
    both: &'a mut Both,
    wide: &'a mut BTreeMap<Place, Box<[Wide; 2]>>,
}

impl Account<'_> {
    /// Counts TPDUs and their octets in a second.
    #[inline]
    fn pass(&mut self, second: u64, tpdus: u32, octets: u64) {
        let octets = u32::try_from(octets).unwrap_or(u32::MAX);
        self.both.seconds.pass(second as u32, self.of.1, [tpdus, octets]);
    }

    /// Adds to a sum.
    #[inline]
    fn sum(&mut self, which: Sum, more: u64) {
        let carry = add(&mut self.both.sums[self.of.1][which as usize], more);
        if carry > 0 {
            self.wide().sums[which as usize] += carry;
        }
    }

    /// Adds to a count of a class.
    #[inline]
    fn class(&mut self, class: usize, nth: usize, more: u64) {
        let carry = add(&mut self.both.class(self.of.1, class)[nth], more);
        if carry > 0 {
            self.wide().classes[class][nth] += carry;
        }
    }

    #[cold]
    fn wide(&mut self) -> &mut Wide {
        let (place, side) = self.of;
        &mut self.wide.entry(place).or_default()[side]
    }
}

/// What both sides of each connection sent.
#[derive(Clone, Debug)]
pub(super) struct Sides {
    /// Sizes of nothing.
    none: Sizes,
    each: Each,
    /// What narrow sums could not hold.
    wide: BTreeMap<Place, Box<[Wide; 2]>>,
    /// What TCP took, where it was handed over: when the stream was forgotten before its connection.
    carried: BTreeMap<Place, [Waits; 2]>,
}

/// By the places of connections: of all of them, or of a few.
#[derive(Clone, Debug)]
enum Each {
    All(Vec<Both>),
    Few(BTreeMap<Place, Both>),
}

impl Each {
    #[inline]
    fn of(&mut self, place: Place) -> &mut Both {
        match self {
            Self::Few(few) => few.entry(place).or_default(),
            Self::All(all) => {
                let place = place as usize;
                if place >= all.len() {
                    all.resize_with(place + 1, Both::default);
                }
                &mut all[place]
            }
        }
    }

    fn get(&self, place: Place) -> Option<&Both> {
        match self {
            Self::Few(few) => few.get(&place),
            Self::All(all) => all.get(place as usize),
        }
    }
}

impl Sides {
    /// Octets of what every connection has here.
    #[cfg(test)]
    pub(super) const OCTETS: usize = size_of::<Both>();

    /// Of no connection yet, sizes classed as those of nothing are.
    pub(super) const fn new(none: Sizes) -> Self {
        Self::of(none, Each::All(Vec::new()))
    }

    /// Of no connection, with the same bounds, and with room for a few of them.
    pub(super) const fn nobody(&self) -> Self {
        Self::of(self.none, Each::Few(BTreeMap::new()))
    }

    const fn of(none: Sizes, each: Each) -> Self {
        Self { none, each, wide: BTreeMap::new(), carried: BTreeMap::new() }
    }

    /// Counts TPDUs of one sort that a side sent in a second, as [`Traffic::alike`] does.
    pub(super) fn alike(&mut self, second: u64, of: OfSide, (sort, alike): (Sort, &Alike)) {
        let mut account = self.account(of);
        account.pass(second, alike.tpdus, alike.octets());
        let [whole, data, finished] = alike.classes().map(usize::from);
        let tpdus = u64::from(alike.tpdus);
        account.class(whole, 0, tpdus);
        if sort.kind() == Kind::Ak {
            account.sum(Sum::Aks, alike.header_octets);
            if sort == Sort::Crediting {
                account.sum(Sum::Crediting, tpdus);
            }
            return;
        }
        account.class(data, 1, tpdus);
        account.sum(Sum::DtHeaders, alike.header_octets);
        account.sum(Sum::DtData, alike.data_octets);
        if sort == Sort::End {
            account.class(finished, 3, tpdus);
            account.sum(Sum::Tsdus, alike.tsdu_octets);
        }
    }

    /// Counts a TPDU that a side sent.
    pub(super) fn count(&mut self, of: OfSide, tpdu: &Tpdu, places: Places) {
        let mut more = self.none;
        more.count(tpdu, places);
        let mut account = self.account(of);
        account.pass(second_of(tpdu.at), 1, tpdu.header_octets + tpdu.data_octets);
        let used = more.classes.iter().enumerate();
        for (class, more) in used.filter(|(_, more)| **more != SizeClass::default()) {
            let SizeClass { tpdus, dt_tpdus, dt_retransmissions, tsdus } = *more;
            for (nth, more) in [tpdus, dt_tpdus, dt_retransmissions, tsdus].into_iter().enumerate()
            {
                account.class(class, nth, more);
            }
        }
        account.sum(Sum::Tsdus, tpdu.finished().iter().sum());
        match tpdu.kind {
            Kind::Dt => {
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
    fn account(&mut self, of: OfSide) -> Account<'_> {
        Account { of, both: self.each.of(of.0), wide: &mut self.wide }
    }

    /// Takes over what TCP took to carry what both sides of the connection in a place sent.
    pub(super) fn carried(&mut self, place: Place, waits: &[Waits; 2]) {
        let carried = self.carried.entry(place).or_default();
        carried.iter_mut().zip(waits).for_each(|(sum, more)| sum.add(more));
    }

    /// Adds the sums and counts of both sides of the connection in a place to others.
    fn add_to(&self, place: Place, sums: &mut [Wide; 2]) {
        if let Some(both) = self.get(place) {
            both.add_to(sums);
        }
        let Some(wide) = self.wide.get(&place) else { return };
        for (sums, wide) in sums.iter_mut().zip(wide.iter()) {
            sums.sums.iter_mut().zip(wide.sums).for_each(|(sum, more)| *sum += more);
            let (sums, wide) = (sums.classes.as_flattened_mut(), wide.classes.as_flattened());
            sums.iter_mut().zip(wide).for_each(|(sum, more)| *sum += more);
        }
    }

    fn get(&self, place: Place) -> Option<&Both> {
        self.each.get(place)
    }

    /// What both sides of the connection in a place sent, together with what was counted elsewhere after it.
    pub(super) fn with(&self, more: &Self, place: Place) -> [Kept; 2] {
        let mut seconds = self.get(place).map_or_else(Seconds::default, |both| both.seconds);
        if let Some(more) = more.get(place) {
            seconds.add(&more.seconds);
        }
        let mut wide = [Wide::default(); 2];
        self.add_to(place, &mut wide);
        more.add_to(place, &mut wide);
        let carried = self.carried.get(&place).copied().unwrap_or_default();
        [0, 1].map(|side| {
            let [tpdus, octets] = seconds.busiest()[side].map(u64::from);
            let Wide { sums, classes } = wide[side];
            let classes = classes.map(|[tpdus, dt_tpdus, dt_retransmissions, tsdus]| SizeClass {
                tpdus,
                dt_tpdus,
                dt_retransmissions,
                tsdus,
            });
            let (sizes, peak) = (Sizes { classes, ..self.none }, Peak::of(tpdus, octets));
            Kept { sizes, sums, peak, carried: carried[side] }
        })
    }

    /// What both sides of a connection sent that had this place and is forgotten.
    pub(super) fn take(&mut self, place: Place) -> [Kept; 2] {
        let kept = self.with(&self.nobody(), place);
        *self.each.of(place) = Both::default();
        self.wide.remove(&place);
        self.carried.remove(&place);
        kept
    }
}

impl Tracker {
    /// Of how many connections something is kept.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> usize {
        let Each::All(all) = &self.sides.each else { return 0 };
        all.iter().filter(|both| both.classes() != 0).count()
    }

    /// Spells connections out as they are at `now`, with what was added up and not counted yet; `carried` tells it of
    /// streams.
    pub(super) fn spelling_out(
        &self,
        now: Instant,
        carried: impl Fn(&[Party; 2]) -> Option<Carried>,
    ) -> impl Fn((Place, &Connection, Instant)) -> Known {
        let (mut hosts, mut pending) = (self.hosts.counts.none(), self.sides.nobody());
        let all = &mut Traffic::default();
        self.remembered.tell(Tally { hosts: &mut hosts, all, sides: &mut pending });
        move |(place, connection, last)| {
            let mut kept = self.sides.with(&pending, place);
            if let Some(more) = self.stream_of(connection).and_then(|ends| carried(&ends)) {
                kept.iter_mut().zip(more.waits).for_each(|(side, more)| side.carried.add(&more));
            }
            Known::of(connection, (last, now), &self.hosts, kept)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Draw;

    #[test]
    fn classes_have_room_once_they_are_used_and_keep_their_counts_apart() {
        let (mut draw, mut sides) = (Draw(3), Sides::new(Sizes::default()));
        let mut plain = [[Class::<u64>::default(); 10]; 2];
        for n in 0..200 {
            let [side, class, count] = [2, 10, 4].map(|below| usize::from(draw.octet_below(below)));
            // Beyond what two octets hold, now and then by itself.
            sides.account((7, side)).class(class, count, n * n * 3);
            plain[side][class][count] += n * n * 3;
            let used = plain.as_flattened().iter().filter(|counts| **counts != [0; 4]).count();
            // A count of zero was added to one class.
            let room = sides.get(7).map_or(0, |both| both.classes());
            assert!((used..=used + 1).contains(&room));
        }
        assert_eq!(sides.wide.len(), 1);
        for (more, times) in [(&sides.nobody(), 1), (&sides, 2)] {
            for (kept, plain) in sides.with(more, 7).iter().zip(&plain) {
                for (kept, plain) in kept.sizes.classes.iter().zip(plain) {
                    let SizeClass { tpdus, dt_tpdus, dt_retransmissions, tsdus } = *kept;
                    let counts = [tpdus, dt_tpdus, dt_retransmissions, tsdus];
                    assert_eq!(counts, plain.map(|count| times * count));
                }
            }
        }
        let whole = sides.with(&sides.nobody(), 7).map(|kept| kept.counts());
        assert_eq!(sides.take(7).map(|kept| kept.counts()), whole);
        assert_eq!((sides.wide.len(), sides.take(7).map(|kept| kept.counts())), (0, [[0; 4]; 2]));
    }

    #[test]
    fn what_a_narrow_sum_cannot_hold_is_carried_over() {
        let mut sides = Sides::new(Sizes::default());
        for more in [u64::from(u32::MAX) - 1, 1, 1, 5, 1 << 40] {
            sides.account((0, 1)).sum(Sum::DtData, more);
        }
        let [first, second] = sides.with(&sides.nobody(), 0);
        // 2^32 - 1, then 1 + 5, then 2^40.
        assert_eq!(second.sum(Sum::DtData), (1 << 32) + 5 + (1 << 40));
        assert_eq!([Sum::DtHeaders, Sum::Aks].map(|sum| second.sum(sum)), [0, 0]);
        assert_eq!(first.sum(Sum::DtData), 0);
    }

    #[test]
    fn a_connection_whose_sums_are_narrow_has_no_wide_ones() {
        let mut sides = Sides::new(Sizes::default());
        // One DT more than a count of two octets holds, and an octet more than a sum of four, at another connection.
        for (place, [tpdus, octets]) in
            [(0, [u16::MAX.into(), u32::MAX.into()]), (1, [1 << 16, 1]), (2, [1, 1 << 32])]
        {
            sides.account((place, 0)).class(3, 1, tpdus);
            sides.account((place, 0)).sum(Sum::DtData, octets);
            let [kept, _] = sides.with(&sides.nobody(), place);
            assert_eq!((kept.counts()[1], kept.sum(Sum::DtData)), (tpdus, octets));
        }
        assert!(sides.wide.keys().eq(&[1, 2]));
    }
}

//! Sizes and the busiest second of what the sides of connections sent, and what TCP took to carry it, kept apart from
//! the connections.
//!
//! A connection has room here from its first TPDU on, so that its own octets stay as few as they are, and a class of
//! sizes from the first TPDU in it. Counts stop at four thousand million.

use super::connection::{Connection, Side};
use super::delays::Carried;
use super::remembered::Tally;
use super::table::Party;
use super::{Known, Tracker};
use crate::measure::{
    Alike, Peak, Places, SizeClass, Sizes, Sort, Traffic, Waits, second as second_of,
};
use crate::sight::Tpdu;
use crate::slab::Place;
use std::collections::BTreeMap;
use wire::time::Instant;

/// A side of the connection in a place.
pub(super) type OfSide = (Place, Side);

/// The counts of a class: TPDUs, DTs, DTs that were sent again, TSDUs.
type Class = [u32; 4];

/// TPDUs and their octets.
type Amount = [u32; 2];

/// What is kept of a side, spelled out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub(super) sizes: Sizes,
    pub(super) peak: Peak,
    /// What TCP took, as far as it was handed over.
    pub(super) carried: Waits,
}

/// What both sides of a connection sent.
#[derive(Clone, Debug, Default)]
struct Both {
    /// Which classes have counts: a bit for each of one side, then, from [`BITS_OF_SIDE`] on, of the other.
    used: u32,
    /// Those counts, in the order of the bits.
    classes: Box<[Class]>,
    /// The second under way of both; wraps after 136 years.
    second: u32,
    this_second: [Amount; 2],
    /// The most in a second that is over.
    most: [Amount; 2],
}

const BITS_OF_SIDE: usize = 16;

impl Both {
    /// The counts of a class of a side.
    fn class(&mut self, side: Side, class: usize) -> &mut Class {
        let bit = 1 << (side * BITS_OF_SIDE + class);
        let place = (self.used & (bit - 1)).count_ones() as usize;
        if self.used & bit == 0 {
            self.used |= bit;
            let mut classes = core::mem::take(&mut self.classes).into_vec();
            classes.reserve_exact(1);
            classes.insert(place, Class::default());
            self.classes = classes.into_boxed_slice();
        }
        &mut self.classes[place]
    }

    /// Each class that has counts: whose it is, which, and the counts.
    fn each_class(&self) -> impl Iterator<Item = (Side, usize, &Class)> {
        let used = (0..2 * BITS_OF_SIDE).filter(|bit| self.used >> bit & 1 != 0);
        used.zip(&self.classes)
            .map(|(bit, counts)| (bit / BITS_OF_SIDE, bit % BITS_OF_SIDE, counts))
    }

    /// Counts what a side sent in a second; one that is over already goes to the one under way.
    fn pass(&mut self, second: u32, side: Side, more: Amount) {
        if second > self.second {
            self.most = self.busiest();
            (self.second, self.this_second) = (second, Default::default());
        }
        for (sum, more) in self.this_second[side].iter_mut().zip(more) {
            *sum = sum.saturating_add(more);
        }
    }

    /// The most in a second, of either side.
    fn busiest(&self) -> [Amount; 2] {
        let of =
            |side: Side, which: usize| self.most[side][which].max(self.this_second[side][which]);
        [0, 1].map(|side| [0, 1].map(|which| of(side, which)))
    }

    /// Adds what was counted after it.
    fn add(&mut self, more: &Self) {
        for (side, class, counts) in more.each_class() {
            for (sum, more) in self.class(side, class).iter_mut().zip(counts) {
                *sum = sum.saturating_add(*more);
            }
        }
        for side in [0, 1] {
            self.pass(more.second, side, more.this_second[side]);
        }
    }

    fn spelled_out(&self, none: Sizes) -> [Kept; 2] {
        let mut kept = self.busiest().map(|busiest| {
            let [tpdus, octets] = busiest.map(u64::from);
            Kept { sizes: none, peak: Peak::of(tpdus, octets), carried: Waits::default() }
        });
        for (side, class, counts) in self.each_class() {
            let [tpdus, dt_tpdus, dt_retransmissions, tsdus] = counts.map(u64::from);
            kept[side].sizes.classes[class] =
                SizeClass { tpdus, dt_tpdus, dt_retransmissions, tsdus };
        }
        kept
    }
}

/// What both sides of each connection sent.
#[derive(Clone, Debug)]
pub(super) struct Sides {
    /// Sizes of nothing.
    none: Sizes,
    each: Each,
    /// What TCP took, where it was handed over: when the stream was forgotten before its connection.
    carried: BTreeMap<Place, [Waits; 2]>,
}

/// By the places of connections: of all of them, or of a few.
#[derive(Clone, Debug)]
enum Each {
    All(Vec<Both>),
    Few(BTreeMap<Place, Both>),
}

impl Sides {
    /// Of no connection yet, sizes classed as those of nothing are.
    pub(super) const fn new(none: Sizes) -> Self {
        Self { none, each: Each::All(Vec::new()), carried: BTreeMap::new() }
    }

    /// Of no connection, with the same bounds, and with room for a few of them.
    pub(super) const fn nobody(&self) -> Self {
        Self { none: self.none, each: Each::Few(BTreeMap::new()), carried: BTreeMap::new() }
    }

    fn of(&mut self, place: Place) -> &mut Both {
        match &mut self.each {
            Each::Few(few) => few.entry(place).or_default(),
            Each::All(all) => {
                let place = place as usize;
                if place >= all.len() {
                    all.resize_with(place + 1, Both::default);
                }
                &mut all[place]
            }
        }
    }

    fn get(&self, place: Place) -> Option<&Both> {
        match &self.each {
            Each::Few(few) => few.get(&place),
            Each::All(all) => all.get(place as usize),
        }
    }

    /// Counts TPDUs of one sort that a side sent in a second, as [`Traffic::alike`] does.
    pub(super) fn alike(
        &mut self,
        second: u64,
        (place, side): OfSide,
        (sort, alike): (Sort, &Alike),
    ) {
        let both = self.of(place);
        let octets = u32::try_from(alike.octets()).unwrap_or(u32::MAX);
        both.pass(second as u32, side, [alike.tpdus, octets]);
        let [whole, data, finished] = alike.classes().map(usize::from);
        let mut add = |class: usize, count: usize| {
            let sum = &mut both.class(side, class)[count];
            *sum = sum.saturating_add(alike.tpdus);
        };
        add(whole, 0);
        if matches!(sort, Sort::Part | Sort::End) {
            add(data, 1);
        }
        if sort == Sort::End {
            add(finished, 3);
        }
    }

    /// Counts a TPDU that a side sent, in its classes of sizes.
    pub(super) fn count(&mut self, (place, side): OfSide, tpdu: &Tpdu, places: Places) {
        let mut more = self.none;
        more.count(tpdu, places);
        let both = self.of(place);
        let octets = u32::try_from(tpdu.header_octets + tpdu.data_octets).unwrap_or(u32::MAX);
        both.pass(second_of(tpdu.at) as u32, side, [1, octets]);
        let used = more.classes.iter().enumerate();
        for (class, more) in used.filter(|(_, more)| **more != SizeClass::default()) {
            let SizeClass { tpdus, dt_tpdus, dt_retransmissions, tsdus } = *more;
            let counts = both.class(side, class);
            for (sum, more) in counts.iter_mut().zip([tpdus, dt_tpdus, dt_retransmissions, tsdus]) {
                *sum = sum.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
            }
        }
    }

    /// Takes over what TCP took to carry what both sides of the connection in a place sent.
    pub(super) fn carried(&mut self, place: Place, waits: &[Waits; 2]) {
        let carried = self.carried.entry(place).or_default();
        carried.iter_mut().zip(waits).for_each(|(sum, more)| sum.add(more));
    }

    /// What both sides of the connection in a place sent, together with what was counted elsewhere after it.
    pub(super) fn with(&self, more: &Self, place: Place) -> [Kept; 2] {
        let mut both = self.get(place).cloned().unwrap_or_default();
        if let Some(more) = more.get(place) {
            both.add(more);
        }
        let kept = both.spelled_out(self.none);
        self.carried.get(&place).map_or(kept, |carried| with_carried(kept, carried))
    }

    /// What both sides of a connection sent that had this place and is forgotten.
    pub(super) fn take(&mut self, place: Place) -> [Kept; 2] {
        let kept = core::mem::take(self.of(place)).spelled_out(self.none);
        self.carried.remove(&place).map_or(kept, |carried| with_carried(kept, &carried))
    }
}

fn with_carried(mut kept: [Kept; 2], carried: &[Waits; 2]) -> [Kept; 2] {
    kept.iter_mut().zip(carried).for_each(|(side, carried)| side.carried.add(carried));
    kept
}

impl Tracker {
    /// Of how many connections something is kept.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> usize {
        let Each::All(all) = &self.sides.each else { return 0 };
        all.iter().filter(|both| both.used != 0).count()
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
        let (mut draw, mut both) = (Draw(3), Both::default());
        let mut plain = [[Class::default(); 10]; 2];
        for n in 0..200 {
            let [side, class, count] = [2, 10, 4].map(|below| usize::from(draw.octet_below(below)));
            both.class(side, class)[count] += n;
            plain[side][class][count] += n;
            let used = plain.as_flattened().iter().filter(|counts| **counts != [0; 4]).count();
            // A count of zero was added to one class.
            assert!((used..=used + 1).contains(&both.classes.len()));
        }
        let mut twice = both.clone();
        twice.add(&both);
        for (both, times) in [(both, 1), (twice, 2)] {
            let kept = both.spelled_out(Sizes::default());
            for (kept, plain) in kept.iter().zip(&plain) {
                for (kept, plain) in kept.sizes.classes.iter().zip(plain) {
                    let SizeClass { tpdus, dt_tpdus, dt_retransmissions, tsdus } = *kept;
                    let counts = [tpdus, dt_tpdus, dt_retransmissions, tsdus];
                    assert_eq!(counts, plain.map(|count| times * u64::from(count)));
                }
            }
        }
    }

    #[test]
    fn a_connection_of_four_classes_takes_less_than_150_octets_here() {
        let mut both = Both::default();
        for (side, class) in [(0, 0), (1, 0), (0, 1), (1, 3)] {
            both.class(side, class)[0] += 1;
        }
        let octets = size_of::<Both>() + size_of_val(&*both.classes);
        println!("seen: {octets} octets for sizes and busiest seconds in four classes");
        assert!(octets < 150, "{octets}");
    }
}

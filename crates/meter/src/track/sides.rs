//! Sizes and the busiest second of what the sides of connections sent, kept apart from the connections.
//!
//! A connection has room here from its first TPDU on, so that its own octets stay as few as they are. Counts stop at
//! four thousand million.

use super::connection::Connection;
use super::remembered::Tally;
use super::{Known, Tracker};
use crate::measure::{Alike, Peak, Places, SizeClass, Sizes, Sort, Traffic, second as second_of};
use crate::sight::Tpdu;
use std::collections::BTreeMap;
use wire::time::Instant;

/// A side of a connection, by its number.
pub(super) type OfSide = (u32, usize);

/// The counts of a class: TPDUs, DTs, DTs that were sent again, TSDUs.
type Class = [u32; 4];

/// TPDUs and their octets.
type Amount = [u32; 2];

/// What is kept of a side, spelled out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub(super) sizes: Sizes,
    pub(super) peak: Peak,
}

/// What both sides of a connection sent.
#[derive(Clone, Debug, Default)]
struct Both {
    classes: [[Class; 10]; 2],
    /// The second under way of both.
    second: u64,
    this_second: [Amount; 2],
    /// The most in a second that is over.
    most: [Amount; 2],
}

impl Both {
    /// Counts what a side sent in a second; one that is over already goes to the one under way.
    fn pass(&mut self, second: u64, side: usize, more: Amount) {
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
            |side: usize, which: usize| self.most[side][which].max(self.this_second[side][which]);
        [0, 1].map(|side| [0, 1].map(|which| of(side, which)))
    }

    /// Adds what was counted after it.
    fn add(&mut self, more: &Self) {
        let counts = self.classes.iter_mut().flatten().flatten();
        for (sum, more) in counts.zip(more.classes.iter().flatten().flatten()) {
            *sum = sum.saturating_add(*more);
        }
        for side in [0, 1] {
            self.pass(more.second, side, more.this_second[side]);
        }
    }

    fn spelled_out(&self, none: Sizes) -> [Kept; 2] {
        let busiest = self.busiest();
        [0, 1].map(|side: usize| {
            let classes = self.classes[side].map(|counts| {
                let [tpdus, dt_tpdus, dt_retransmissions, tsdus] = counts.map(u64::from);
                SizeClass { tpdus, dt_tpdus, dt_retransmissions, tsdus }
            });
            let [tpdus, octets] = busiest[side].map(u64::from);
            Kept { sizes: Sizes { classes, ..none }, peak: Peak::of(tpdus, octets) }
        })
    }
}

/// What both sides of each connection sent.
#[derive(Clone, Debug)]
pub(super) struct Sides {
    /// Sizes of nothing.
    none: Sizes,
    /// By the numbers of connections.
    each: BTreeMap<u32, Box<Both>>,
}

impl Sides {
    /// Of no connection yet, sizes classed as those of nothing are.
    pub(super) const fn new(none: Sizes) -> Self {
        Self { none, each: BTreeMap::new() }
    }

    /// Of no connection, with the same bounds.
    pub(super) const fn nobody(&self) -> Self {
        Self::new(self.none)
    }

    /// Counts TPDUs of one sort that a side sent in a second, as [`Traffic::alike`] does.
    pub(super) fn alike(
        &mut self,
        second: u64,
        (serial, side): OfSide,
        (sort, alike): (Sort, &Alike),
    ) {
        let both = self.each.entry(serial).or_default();
        let octets = u32::try_from(alike.octets()).unwrap_or(u32::MAX);
        both.pass(second, side, [alike.tpdus, octets]);
        let classes = &mut both.classes[side];
        let [whole, data, finished] = alike.classes().map(usize::from);
        let mut add = |class: usize, count: usize| {
            let sum = &mut classes[class][count];
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
    pub(super) fn count(&mut self, (serial, side): OfSide, tpdu: &Tpdu, places: Places) {
        let mut more = self.none;
        more.count(tpdu, places);
        let both = self.each.entry(serial).or_default();
        let octets = u32::try_from(tpdu.header_octets + tpdu.data_octets).unwrap_or(u32::MAX);
        both.pass(second_of(tpdu.at), side, [1, octets]);
        for (class, more) in both.classes[side].iter_mut().zip(&more.classes) {
            let SizeClass { tpdus, dt_tpdus, dt_retransmissions, tsdus } = *more;
            for (sum, more) in class.iter_mut().zip([tpdus, dt_tpdus, dt_retransmissions, tsdus]) {
                *sum = sum.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
            }
        }
    }

    /// What both sides of a connection sent, together with what was counted elsewhere after it.
    pub(super) fn with(&self, more: &Self, serial: u32) -> [Kept; 2] {
        let mut both = self.each.get(&serial).map_or_else(Both::default, |both| (**both).clone());
        if let Some(more) = more.each.get(&serial) {
            both.add(more);
        }
        both.spelled_out(self.none)
    }

    /// What both sides of a connection sent that is forgotten.
    pub(super) fn take(&mut self, serial: u32) -> [Kept; 2] {
        self.each.remove(&serial).unwrap_or_default().spelled_out(self.none)
    }
}

impl Tracker {
    /// Of how many connections something is kept.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> usize {
        self.sides.each.len()
    }

    /// Spells connections out as they are at `now`, with what was added up and not counted yet.
    pub(super) fn spelling_out(&self, now: Instant) -> impl Fn(&Connection, Instant) -> Known {
        let (mut hosts, mut pending) = (self.hosts.counts.none(), self.sides.nobody());
        let all = &mut Traffic::default();
        self.remembered.tell(Tally { hosts: &mut hosts, all, sides: &mut pending });
        move |connection, last| {
            let kept = self.sides.with(&pending, connection.serial);
            Known::of(connection, (last, now), &self.hosts, kept)
        }
    }
}

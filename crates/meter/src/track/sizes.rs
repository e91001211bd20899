//! Sizes of what the sides of connections sent, kept apart from the connections.
//!
//! A connection has room here from its first TPDU on, so that its own octets stay as few as they are. Counts stop at
//! four thousand million.

use super::connection::Connection;
use super::remembered::Tally;
use super::{Known, Tracker};
use crate::measure::{Alike, Measure as _, SizeClass, Sizes, Sort, Traffic};
use std::collections::BTreeMap;
use wire::time::Instant;

/// A side of a connection, by its number.
pub(super) type OfSide = (u32, usize);

/// The counts of a class: TPDUs, DTs, DTs that were sent again, TSDUs.
type Class = [u32; 4];

/// What both sides of each connection sent, by size.
#[derive(Clone, Debug)]
pub(super) struct SizesOf {
    /// Of nothing.
    none: Sizes,
    /// By the numbers of connections.
    each: BTreeMap<u32, Box<[[Class; 10]; 2]>>,
}

impl SizesOf {
    /// Of no connection yet, classed as those of nothing are.
    pub(super) const fn new(none: Sizes) -> Self {
        Self { none, each: BTreeMap::new() }
    }

    /// Of no connection, with the same bounds.
    pub(super) const fn nobody(&self) -> Self {
        Self::new(self.none)
    }

    /// Counts TPDUs of one sort that a side sent, as [`Sizes::alike`] does.
    pub(super) fn alike(&mut self, (serial, side): OfSide, sort: Sort, alike: &Alike) {
        let classes = &mut self.each.entry(serial).or_default()[side];
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

    /// Counts what a side sent, by what `count` makes of sizes of nothing.
    pub(super) fn count(&mut self, (serial, side): OfSide, count: impl FnOnce(&mut Sizes)) {
        let mut more = self.none;
        count(&mut more);
        let classes = &mut self.each.entry(serial).or_default()[side];
        for (class, more) in classes.iter_mut().zip(&more.classes) {
            let SizeClass { tpdus, dt_tpdus, dt_retransmissions, tsdus } = *more;
            for (sum, more) in class.iter_mut().zip([tpdus, dt_tpdus, dt_retransmissions, tsdus]) {
                *sum = sum.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
            }
        }
    }

    /// What both sides of a connection sent.
    pub(super) fn of(&self, serial: u32) -> [Sizes; 2] {
        self.each.get(&serial).map_or([self.none; 2], |sides| self.spelled_out(sides))
    }

    /// The same together with what was counted elsewhere.
    pub(super) fn with(&self, more: &Self, serial: u32) -> [Sizes; 2] {
        let mut sides = self.of(serial);
        sides.iter_mut().zip(more.of(serial)).for_each(|(side, more)| side.add(&more));
        sides
    }

    /// What both sides of a connection sent that is forgotten.
    pub(super) fn take(&mut self, serial: u32) -> [Sizes; 2] {
        let sides = self.each.remove(&serial);
        sides.map_or([self.none; 2], |sides| self.spelled_out(&sides))
    }

    fn spelled_out(&self, sides: &[[Class; 10]; 2]) -> [Sizes; 2] {
        let classes = |side: &[Class; 10]| {
            side.map(|counts| {
                let [tpdus, dt_tpdus, dt_retransmissions, tsdus] = counts.map(u64::from);
                SizeClass { tpdus, dt_tpdus, dt_retransmissions, tsdus }
            })
        };
        sides.each_ref().map(|side| Sizes { classes: classes(side), ..self.none })
    }
}

impl Tracker {
    /// How many connections have room for sizes.
    #[cfg(test)]
    pub(crate) fn sized(&self) -> usize {
        self.sizes.each.len()
    }

    /// Spells connections out as they are at `now`, with what was added up and not counted yet.
    pub(super) fn spelling_out(&self, now: Instant) -> impl Fn(&Connection, Instant) -> Known {
        let (mut hosts, mut pending) = (self.hosts.counts.none(), self.sizes.nobody());
        let all = &mut Traffic::default();
        self.remembered.tell(Tally { hosts: &mut hosts, all, sizes: &mut pending });
        move |connection, last| {
            let sizes = self.sizes.with(&pending, connection.serial);
            Known::of(connection, (last, now), &self.hosts, sizes)
        }
    }
}

//! Whose TPDUs passed lately: sides of connections, under what names them in a frame.
//!
//! Ordinary TPDUs of one sort are added up here first. They count for their hosts and the network when others
//! come in their place, and before anybody is told what was counted, and when the whole second ends.

use super::connection::{Side, other};
use super::sides::Sides;
use super::table::Found;
use crate::host::{Counts, HostNumber};
use crate::measure::{Alike, Sizes, Sort, Traffic, second as second_of};
use crate::memo::{Memo, Name, Slot};
use crate::slab::Place;
use wire::time::Instant;
use wire::tp::Format;

/// Where what was added up counts: for hosts, the network and connections.
pub(super) struct Tally<'a> {
    pub(super) hosts: &'a mut Counts,
    pub(super) all: &'a mut Traffic,
    pub(super) sides: &'a mut Sides,
}

impl Tally<'_> {
    /// Counts TPDUs of one sort that were sent to a side in a second.
    fn alike(&mut self, second: u64, known: &Known, sort: Sort, alike: &Alike) {
        self.hosts.alike(second, known.hosts, (sort, alike));
        self.all.alike(second, sort, alike);
        self.sides.alike(second, (known.place, other(known.side.into())), (sort, alike));
    }
}

/// A side of a connection, and how the connection writes its numbers: that cannot change but when something comes or
/// goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Whose {
    pub(super) found: Found,
    pub(super) format: Format,
}

/// A side of a connection.
#[derive(Clone, Copy, Debug)]
struct Known {
    place: Place,
    /// Which side.
    side: u8,
    format: Format,
    /// Whether it is on the list of those with TPDUs that have to be counted.
    is_listed: bool,
    /// Who sends to it, and itself.
    hosts: [HostNumber; 2],
    /// What was sent to it, by sort.
    alike: [Alike; Sort::ALL.len()],
}

impl Known {
    #[inline]
    fn whose(&self) -> Whose {
        Whose { found: (self.place, Side::from(self.side)), format: self.format }
    }

    /// Counts what was added up in a second.
    fn count(&self, second: u64, tally: &mut Tally<'_>) {
        for (sort, alike) in Sort::ALL.into_iter().zip(&self.alike) {
            if alike.tpdus > 0 {
                tally.alike(second, self, sort, alike);
            }
        }
    }
}

/// Sizes below this are looked up, since comparing them with bounds takes longer.
const COMMON_OCTETS: usize = 2_048;

/// The sides that were found lately.
#[derive(Clone, Debug)]
pub(super) struct Remembered {
    memo: Memo<Known>,
    /// The class of each common size.
    classes: Box<[u8; COMMON_OCTETS]>,
    /// Those with TPDUs that have to be counted.
    listed: Vec<Slot>,
    /// The second of all those TPDUs.
    second: u64,
}

impl Remembered {
    /// None yet, with sizes as those of nothing are classed.
    pub(super) fn new(sizes: &Sizes) -> Self {
        let mut classes = Box::new([0; COMMON_OCTETS]);
        for (octets, class) in classes.iter_mut().enumerate() {
            *class = sizes.class(octets as u64) as u8;
        }
        Self { memo: Memo::default(), classes, listed: Vec::new(), second: 0 }
    }

    /// The class of a size.
    #[inline]
    pub(super) fn class(&self, octets: u64, sizes: &Sizes) -> u8 {
        let common = usize::try_from(octets).ok().and_then(|octets| self.classes.get(octets));
        common.copied().unwrap_or_else(|| sizes.class(octets) as u8)
    }

    /// Who goes by this name, and where that is remembered, if nothing has come or gone since.
    #[inline]
    pub(super) fn find(&self, name: Name, changes: u64) -> Option<(Slot, Whose)> {
        let (slot, known) = self.memo.find(name, changes)?;
        Some((slot, known.whose()))
    }

    /// Who goes by this name, if that is remembered in this place and nothing has come or gone since.
    #[inline]
    pub(super) fn find_in(&self, slot: Slot, name: Name, changes: u64) -> Option<Whose> {
        self.memo.find_in(slot, name, changes).map(Known::whose)
    }

    /// Remembers a side, and tells where. `hosts` are who sends to it and who it is. What was added up for the one in whose
    /// place it comes counts first.
    pub(super) fn remember(
        &mut self,
        (name, changes): (Name, u64),
        Whose { found: (place, side), format }: Whose,
        hosts: [HostNumber; 2],
        mut tally: Tally<'_>,
    ) -> Slot {
        self.memo.remember((name, changes), |before| {
            if let Some(before) = before {
                before.count(self.second, &mut tally);
            }
            let is_listed = before.is_some_and(|before| before.is_listed);
            let alike = Default::default();
            Known { place, side: side as u8, format, is_listed, hosts, alike }
        })
    }

    /// Adds a TPDU that was sent to the side in a place. All that are added are of one second, until they are
    /// counted; those that are not like it count first.
    // Always: so the TPDU need not lie in memory.
    #[inline(always)]
    pub(super) fn add<'a>(
        &mut self,
        (at, slot): (Instant, Slot),
        (sort, one): (Sort, Alike),
        tally: impl FnOnce() -> Tally<'a>,
    ) {
        let known = self.memo.at(slot);
        if !known.is_listed || !known.alike[sort as usize].add(&one) {
            self.make_way((at, slot), sort, tally());
            self.memo.at(slot).alike[sort as usize] = one;
        }
    }

    /// Counts those of one sort that were sent to the side in a place, for another to begin anew at this time.
    #[cold]
    fn make_way(&mut self, (at, slot): (Instant, Slot), sort: Sort, mut tally: Tally<'_>) {
        let known = self.memo.at(slot);
        if !known.is_listed {
            known.is_listed = true;
            self.listed.push(slot);
            self.second = second_of(at);
        }
        let alike = known.alike[sort as usize];
        if alike.tpdus > 0 {
            tally.alike(self.second, known, sort, &alike);
        }
    }

    /// Counts everything that was added up.
    pub(super) fn settle(&mut self, mut tally: Tally<'_>) {
        for slot in self.listed.drain(..) {
            let known = self.memo.at(slot);
            known.count(self.second, &mut tally);
            (known.is_listed, known.alike) = (false, Default::default());
        }
    }

    /// Counts everything that was added up elsewhere, and leaves it as it is.
    pub(super) fn tell(&self, mut tally: Tally<'_>) {
        self.memo.each(&self.listed).for_each(|known| known.count(self.second, &mut tally));
    }
}

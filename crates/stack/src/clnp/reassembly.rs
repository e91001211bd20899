//! Segments that are put together again (ISO 8473 6.8).
//!
//! A data unit is told from others by its two addresses and its identifier. It is kept for no longer
//! than the segment that may live the shortest. Segments may come in any order, more than once, and
//! overlap, if they agree on where their data unit ends.

use bytes::{Bytes, BytesMut};
use core::ops::Range;
use wire::addr::{Mac, Nsap};
use wire::clnp::Pdu;
use wire::time::Instant;

/// Data units of which some segments are there and others are not.
#[derive(Clone, Debug)]
pub(super) struct Reassembly {
    units: Vec<Unit>,
    most: usize,
}

/// A data unit that is not complete.
#[derive(Clone, Debug)]
struct Unit {
    key: (Nsap, Nsap, u16),
    ends: Instant,
    held: Held,
    data: BytesMut,
    /// What is there, in order and apart from each other.
    there: Vec<Range<usize>>,
}

/// What is left of a data unit that is given up.
#[derive(Clone, Debug)]
pub(super) struct Held {
    /// Where its first segment came from.
    pub station: Mac,
    /// The header of the segment that came first.
    pub first: Bytes,
}

/// What came of a segment.
#[derive(Debug)]
pub(super) enum Taken {
    /// It was the last that was missing.
    Whole(Bytes),
    /// Others are missing still.
    Kept,
    /// It does not go with those that are there.
    Interference,
    /// It is kept, and the oldest data unit had to give way.
    Displaced(Held),
}

impl Reassembly {
    pub(super) const fn new(most: usize) -> Self {
        Self { units: Vec::new(), most }
    }

    pub(super) fn len(&self) -> usize {
        self.units.len()
    }

    /// When the next data unit is given up.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.units.iter().map(|unit| unit.ends).min()
    }

    /// A data unit whose time is over by `now`, if there is one; the earliest first.
    pub(super) fn expire(&mut self, now: Instant) -> Option<Held> {
        let over = self.units.iter().enumerate().filter(|(_, unit)| unit.ends <= now);
        let (place, _) = over.min_by_key(|(_, unit)| unit.ends)?;
        Some(self.units.remove(place).held)
    }

    /// Takes a segment of `octets` that may live until `ends`.
    pub(super) fn take(
        &mut self,
        pdu: &Pdu<'_>,
        station: Mac,
        ends: Instant,
        octets: &[u8],
    ) -> Taken {
        let Some(part) = pdu.segmentation else { return Taken::Interference };
        let total = usize::from(part.total_octets).checked_sub(pdu.header_octets);
        let start = usize::from(part.offset);
        let range = start..start + pdu.data.len();
        let Some(total) = total.filter(|total| range.end <= *total) else {
            return Taken::Interference;
        };
        // The last says that it is, and no other may.
        if pdu.more_segments == (range.end == total) || range.is_empty() {
            return Taken::Interference;
        }
        let key = (pdu.source, pdu.destination, part.identifier);
        let mut displaced = None;
        let place = self.units.iter().position(|unit| unit.key == key).unwrap_or_else(|| {
            if self.units.len() >= self.most.max(1) {
                displaced = Some(self.units.remove(0).held);
            }
            let header = octets.get(..pdu.header_octets).unwrap_or(octets);
            let held = Held { station, first: Bytes::copy_from_slice(header) };
            let data = BytesMut::zeroed(total);
            self.units.push(Unit { key, ends, held, data, there: Vec::new() });
            self.units.len() - 1
        });
        let unit = &mut self.units[place];
        if unit.data.len() != total {
            return Taken::Interference;
        }
        unit.ends = unit.ends.min(ends);
        unit.data[range.clone()].copy_from_slice(pdu.data);
        unit.add(range);
        if unit.there == [Range { start: 0, end: total }] {
            return Taken::Whole(self.units.remove(place).data.freeze());
        }
        displaced.map_or(Taken::Kept, Taken::Displaced)
    }
}

impl Unit {
    /// Notes that this range is there.
    fn add(&mut self, mut range: Range<usize>) {
        self.there.retain(|other| {
            let apart = other.end < range.start || range.end < other.start;
            if !apart {
                range = range.start.min(other.start)..range.end.max(other.end);
            }
            apart
        });
        let place = self.there.partition_point(|other| other.start < range.start);
        self.there.insert(place, range);
    }
}

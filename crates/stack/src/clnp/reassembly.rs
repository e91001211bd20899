//! Reassembly of segments (ISO 8473 6.8).
//!
//! A data unit is identified by its two addresses and its identifier. It is kept no longer than the
//! shortest remaining lifetime of its segments. Segments may arrive in any order, more than once,
//! and overlapping, if they agree on the end of their data unit.

use bytes::{Bytes, BytesMut};
use core::ops::Range;
use wire::addr::{Mac, Nsap};
use wire::clnp::Pdu;
use wire::time::Instant;

/// Data units under reassembly.
#[derive(Clone, Debug)]
pub(super) struct Reassembly {
    units: Vec<Unit>,
    most: usize,
}

/// Incomplete data unit.
#[derive(Clone, Debug)]
struct Unit {
    key: (Nsap, Nsap, u16),
    ends: Instant,
    held: Held,
    data: BytesMut,
    /// Received ranges, in order and not touching each other.
    there: Vec<Range<usize>>,
}

/// Remains of an abandoned data unit, for an error report.
#[derive(Clone, Debug)]
pub(super) struct Held {
    /// Source station of its first segment.
    pub station: Mac,
    /// Header of the first segment received.
    pub first: Bytes,
}

/// Result of a segment.
#[derive(Debug)]
pub(super) enum Taken {
    /// The data unit is complete.
    Whole(Bytes),
    /// Further segments are missing.
    Kept,
    /// The segment is inconsistent with those already received.
    Interference,
    /// The segment is kept, and the oldest data unit was evicted.
    Displaced(Held),
}

impl Reassembly {
    pub(super) const fn new(most: usize) -> Self {
        Self { units: Vec::new(), most }
    }

    pub(super) fn len(&self) -> usize {
        self.units.len()
    }

    /// Time at which the next data unit expires.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.units.iter().map(|unit| unit.ends).min()
    }

    /// Removes a data unit that has expired by `now`, the earliest first.
    pub(super) fn expire(&mut self, now: Instant) -> Option<Held> {
        let over = self.units.iter().enumerate().filter(|(_, unit)| unit.ends <= now);
        let (place, _) = over.min_by_key(|(_, unit)| unit.ends)?;
        Some(self.units.remove(place).held)
    }

    /// Adds a segment of `octets`, whose lifetime ends at `ends`.
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
        // Only the last segment may clear the more-segments flag, and it must.
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
    /// Adds a received range.
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

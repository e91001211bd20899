//! Reassembly of NSDUs from CLNP segments (ISO 8473 6.8).
//!
//! An NSDU is identified by its two addresses and stations and its data unit identifier. Its
//! missing octets are a list of holes. It is dropped when the lifetime of the first segment that
//! was seen has expired, by frame time: a receiver would not accept it either.
//!
//! Bias: a copy of a segment whose NSDU is already complete starts an NSDU that is never completed,
//! and is counted as such. So is an NSDU of which one segment was lost on its way.

use crate::oddity::{Class, Oddities};
use core::iter;
use core::ops::Range;
use std::collections::BTreeMap;
use wire::addr::{Mac, Nsap};
use wire::dissect::{Nsdu, Segment};
use wire::time::Instant;

/// NSDUs reassembled at the same time; the oldest is evicted for a further one.
const MOST: usize = 64;
/// Segment offsets are multiples of this number of octets (6.7).
const UNIT_OCTETS: usize = 8;

/// Key of an NSDU: addresses, identifier, stations.
type Key = (Nsap, Nsap, u16, Mac, Mac);

/// NSDU of which some segments have been seen.
#[derive(Clone, Debug)]
struct Unit {
    began: Instant,
    ends: Instant,
    octets: Vec<u8>,
    holes: Vec<Range<usize>>,
    /// Octets from the front up to the first that was not captured.
    captured_octets: usize,
}

/// Complete NSDU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Whole {
    /// Captured octets, from the front.
    pub octets: Vec<u8>,
    /// Number of octets missing after them.
    pub missing_octets: usize,
}

/// NSDUs under reassembly.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reassembly {
    units: BTreeMap<Key, Unit>,
}

impl Reassembly {
    /// Adds a segment; returns the NSDU if the segment completed it.
    pub(crate) fn take(
        &mut self,
        at: Instant,
        nsdu: &Nsdu<'_>,
        segment: Segment,
        oddities: &mut Oddities,
    ) -> Option<Whole> {
        self.expire(at, oddities);
        let Segment { identifier, offset, nsdu_octets, more, lifetime } = segment;
        let end = offset + nsdu.octets.len() + nsdu.missing_octets;
        let is_aligned =
            offset.is_multiple_of(UNIT_OCTETS) && (!more || end.is_multiple_of(UNIT_OCTETS));
        if !is_aligned || end > nsdu_octets || end == offset || more == (end == nsdu_octets) {
            oddities.count(Class::Malformed, "segment offset");
            return None;
        }
        let key =
            (nsdu.source_nsap, nsdu.destination_nsap, identifier, nsdu.source, nsdu.destination);
        if self.units.get(&key).is_some_and(|unit| unit.octets.len() != nsdu_octets) {
            oddities.count(Class::Malformed, "total length");
            return None;
        }
        if !self.units.contains_key(&key) && self.units.len() >= MOST {
            self.evict_oldest(oddities);
        }
        let unit = self.units.entry(key).or_insert_with(|| Unit {
            began: at,
            ends: at + lifetime,
            octets: vec![0; nsdu_octets],
            holes: iter::once(0..nsdu_octets).collect(),
            captured_octets: nsdu_octets,
        });
        unit.fill(offset, end, nsdu.octets);
        if !unit.holes.is_empty() {
            return None;
        }
        let Unit { mut octets, captured_octets, .. } = self.units.remove(&key)?;
        octets.truncate(captured_octets);
        Some(Whole { octets, missing_octets: nsdu_octets - captured_octets })
    }

    /// Drops NSDUs whose lifetime has expired.
    fn expire(&mut self, now: Instant, oddities: &mut Oddities) {
        let before = self.units.len();
        self.units.retain(|_, unit| now < unit.ends);
        let over = before - self.units.len();
        oddities.add(Class::Transport, INCOMPLETE, over as u64);
    }

    /// Drops all NSDUs.
    pub(crate) fn finish(&mut self, oddities: &mut Oddities) {
        oddities.add(Class::Transport, INCOMPLETE, self.units.len() as u64);
        self.units.clear();
    }

    fn evict_oldest(&mut self, oddities: &mut Oddities) {
        let oldest = self.units.iter().min_by_key(|(_, unit)| unit.began).map(|(key, _)| *key);
        if let Some(key) = oldest {
            self.units.remove(&key);
            oddities.count(Class::Meter, "segments forgotten for want of room");
        }
    }
}

/// Name of the oddity of an NSDU that was never completed.
const INCOMPLETE: &str = "NSDU not wholly seen";

impl Unit {
    /// Fills the hole between `start` and `end`, of which the first octets were captured.
    fn fill(&mut self, start: usize, end: usize, captured: &[u8]) {
        let captured_end = start + captured.len();
        if let Some(place) = self.octets.get_mut(start..captured_end) {
            place.copy_from_slice(captured);
        }
        if captured_end < end {
            self.captured_octets = self.captured_octets.min(captured_end);
        }
        let holes = core::mem::take(&mut self.holes);
        for hole in holes {
            let before = hole.start..hole.end.min(start);
            let behind = hole.start.max(end)..hole.end;
            self.holes.extend([before, behind].into_iter().filter(|rest| !rest.is_empty()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    const NSDU: [u8; 20] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20];

    /// Octets of [`NSDU`] in this range, at `ms` milliseconds; `cut` of them were not captured.
    fn part(
        reassembly: &mut Reassembly,
        oddities: &mut Oddities,
        ms: u64,
        identifier: u16,
        range: Range<usize>,
        cut: usize,
    ) -> Option<Whole> {
        let nsdu = Nsdu {
            source: Mac::local(1),
            destination: Mac::local(2),
            source_nsap: Nsap::of_station(Mac::local(1)),
            destination_nsap: Nsap::of_station(Mac::local(2)),
            octets: &NSDU[range.start..range.end - cut],
            missing_octets: cut,
            segment: None,
        };
        let segment = Segment {
            identifier,
            offset: range.start,
            nsdu_octets: NSDU.len(),
            more: range.end < NSDU.len(),
            lifetime: Duration::from_millis(500),
        };
        reassembly.take(Instant::from_nanos(ms * 1_000_000), &nsdu, segment, oddities)
    }

    #[test]
    fn segments_make_an_nsdu_in_any_order_and_with_copies() {
        let (mut reassembly, mut oddities) = (Reassembly::default(), Oddities::default());
        let mut take = |range| part(&mut reassembly, &mut oddities, 0, 7, range, 0);
        assert_eq!(take(16..20), None);
        assert_eq!(take(0..8), None);
        assert_eq!(take(0..16).map(|whole| whole.octets), Some(NSDU.to_vec()));
        assert_eq!((reassembly.units.len(), oddities.is_empty()), (0, true));
    }

    #[test]
    fn what_a_capture_cut_off_is_missing_from_there_on() {
        let (mut reassembly, mut oddities) = (Reassembly::default(), Oddities::default());
        assert_eq!(part(&mut reassembly, &mut oddities, 0, 7, 8..20, 5), None);
        let whole = part(&mut reassembly, &mut oddities, 0, 7, 0..8, 2);
        let octets = NSDU[..6].to_vec();
        assert_eq!(whole, Some(Whole { octets, missing_octets: 14 }));
    }

    #[test]
    fn an_nsdu_is_given_up_when_its_life_is_over() {
        let (mut reassembly, mut oddities) = (Reassembly::default(), Oddities::default());
        assert_eq!(part(&mut reassembly, &mut oddities, 0, 7, 0..8, 0), None);
        assert_eq!(part(&mut reassembly, &mut oddities, 500, 7, 8..20, 0), None);
        assert_eq!(oddities.get(Class::Transport, INCOMPLETE), 1);
        reassembly.finish(&mut oddities);
        assert_eq!(oddities.get(Class::Transport, INCOMPLETE), 2);
    }

    #[test]
    fn a_further_nsdu_takes_the_room_of_the_oldest() {
        let (mut reassembly, mut oddities) = (Reassembly::default(), Oddities::default());
        for identifier in 0..=MOST as u16 {
            let ms = u64::from(identifier);
            assert_eq!(part(&mut reassembly, &mut oddities, ms, identifier, 0..8, 0), None);
        }
        assert_eq!(reassembly.units.len(), MOST);
        assert_eq!(oddities.get(Class::Meter, "segments forgotten for want of room"), 1);
        assert_eq!(
            part(&mut reassembly, &mut oddities, 99, 0, 8..20, 0),
            None,
            "its start is gone"
        );
    }

    #[test]
    fn a_segment_that_cannot_be_is_counted() {
        let (mut reassembly, mut oddities) = (Reassembly::default(), Oddities::default());
        for range in [4..12, 0..12] {
            assert_eq!(part(&mut reassembly, &mut oddities, 0, 7, range, 0), None);
        }
        assert_eq!(oddities.get(Class::Malformed, "segment offset"), 2);
    }
}

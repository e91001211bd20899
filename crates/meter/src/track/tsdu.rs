//! Reassembly of TSDU lengths from the DTs seen so far, without storing the DTs.
//!
//! A run of consecutive DTs is summarised by whether TSDUs end in it, and by the octets before the
//! first and after the last of those ends. Where two runs meet, the TSDU between them is complete,
//! so DTs that arrive out of order need no memory of their own.

/// Summary of the TSDUs in a run of consecutive DTs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Stretch {
    /// True if any of its DTs carries EOT.
    has_end: bool,
    /// Octets up to the first EOT, or all if there is none.
    head_octets: u64,
    /// Octets after the last EOT.
    tail_octets: u64,
}

impl Stretch {
    pub(super) const fn of(data_octets: u64, end_of_tsdu: bool) -> Self {
        Self { has_end: end_of_tsdu, head_octets: data_octets, tail_octets: 0 }
    }

    /// Joins this run with the one that follows it; also returns the octets of the TSDU that is now
    /// complete.
    pub(super) const fn followed_by(self, next: Self) -> (Self, Option<u64>) {
        let (head_octets, tail_octets) = (self.head_octets, self.tail_octets);
        match (self.has_end, next.has_end) {
            (false, _) => (Self { head_octets: head_octets + next.head_octets, ..next }, None),
            (true, false) => (Self { tail_octets: tail_octets + next.head_octets, ..self }, None),
            (true, true) => {
                let stretch = Self { has_end: true, head_octets, tail_octets: next.tail_octets };
                (stretch, Some(tail_octets + next.head_octets))
            }
        }
    }
}

/// TSDUs that ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Finished {
    /// TSDUs of which every DT was seen: a DT completes the one it belongs to and, at most, the
    /// one before and the one after it.
    pub(super) tsdus: u64,
    /// Octets of each.
    pub(super) octets: [u64; 3],
    /// TSDUs of which a DT was never seen.
    pub(super) incomplete: u64,
}

impl Finished {
    /// Adds a complete TSDU of this number of octets.
    pub(super) fn whole(&mut self, octets: u64) {
        if let Some(place) = self.octets.get_mut(self.tsdus as usize) {
            *place = octets;
            self.tsdus += 1;
        }
    }

    /// Sum of both.
    pub(super) fn and(mut self, more: Self) -> Self {
        more.octets.iter().take(more.tsdus as usize).for_each(|octets| self.whole(*octets));
        self.incomplete += more.incomplete;
        self
    }
}

/// TSDU under way on one direction of a connection: its octets so far, zero between TSDUs. Stored as
/// two halves, the lower first, so that its alignment is 4 octets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Open([u32; 2]);

impl Open {
    /// Between TSDUs.
    pub(super) const WHOLE: Self = Self::of(0);
    /// A part of the TSDU under way was not seen, so its length is unknown.
    pub(super) const BROKEN: Self = Self::of(u64::MAX);

    const fn of(octets: u64) -> Self {
        Self([octets as u32, (octets >> 32) as u32])
    }

    const fn octets(self) -> u64 {
        let [lower, upper] = self.0;
        (upper as u64) << 32 | lower as u64
    }

    /// Adds the DT that comes next; returns the octets of its TSDU if the DT ends it. Returns the
    /// outer none, without effect, if a part of the TSDU was not seen.
    #[inline]
    pub(super) fn go_on(&mut self, data_octets: u64, end_of_tsdu: bool) -> Option<Option<u64>> {
        let octets = self.octets().checked_add(data_octets).filter(|_| *self != Self::BROKEN)?;
        *self = if end_of_tsdu { Self::WHOLE } else { Self::of(octets) };
        Some(end_of_tsdu.then_some(octets))
    }

    /// Adds the run that comes next.
    pub(super) fn absorb(&mut self, stretch: Stretch) -> Finished {
        let Stretch { has_end, head_octets, tail_octets } = stretch;
        let mut finished = Finished::default();
        if !has_end {
            if *self != Self::BROKEN {
                *self = Self::of(self.octets() + head_octets);
            }
            return finished;
        }
        match core::mem::replace(self, Self::of(tail_octets)) {
            Self::BROKEN => finished.incomplete = 1,
            open => finished.whole(open.octets() + head_octets),
        }
        finished
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_give_the_same_sum_in_any_order_of_joining() {
        // TSDUs of 3, 5 + 7 and 11 octets, then 13 octets of one that goes on.
        let parts = [(3, true), (5, false), (7, true), (11, true), (13, false)];
        let stretches = parts.map(|(octets, end)| Stretch::of(octets, end));
        let (mut left, mut right) = (Vec::new(), Vec::new());
        let join = |found: &mut Vec<u64>, (stretch, whole): (Stretch, Option<u64>)| {
            found.extend(whole);
            stretch
        };
        let forwards =
            stretches.into_iter().reduce(|a, b| join(&mut left, a.followed_by(b))).unwrap();
        let backwards =
            stretches.into_iter().rev().reduce(|b, a| join(&mut right, a.followed_by(b))).unwrap();
        right.reverse();
        assert_eq!((forwards, &left), (backwards, &right));
        // 5 + 7, then 11, as they are joined; 2 + 3 once the part before is known.
        assert_eq!(left, [12, 11]);
        let mut open = Open::of(2);
        let finished = Finished { tsdus: 1, octets: [5, 0, 0], incomplete: 0 };
        assert_eq!(open.absorb(forwards), finished);
        assert_eq!(open, Open::of(13));
    }

    #[test]
    fn a_tsdu_with_a_missing_part_is_not_counted_as_complete() {
        let mut open = Open::BROKEN;
        let (stretch, whole) = Stretch::of(40, true).followed_by(Stretch::of(60, true));
        assert_eq!(whole, Some(60));
        assert_eq!(open.absorb(stretch), Finished { incomplete: 1, ..Finished::default() });
        assert_eq!(open, Open::WHOLE);
    }
}

//! TSDUs put together from the DTs seen so far, without keeping the DTs.
//!
//! A stretch of consecutive DTs is summed up by how many TSDUs end in it and how many octets lie
//! before, between and behind those ends. Two stretches that meet are summed up by adding, so DTs
//! that arrive out of order cost no memory of their own.

/// A stretch of consecutive DTs, as TSDUs see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Stretch {
    /// How many of its DTs carry EOT.
    ends: u64,
    /// Octets up to the first EOT, or all where there is none.
    head_octets: u64,
    /// Octets from the first EOT to the last.
    inner_octets: u64,
    /// Octets after the last EOT.
    tail_octets: u64,
}

impl Stretch {
    pub(super) fn of(data_octets: u64, end_of_tsdu: bool) -> Self {
        Self { ends: u64::from(end_of_tsdu), head_octets: data_octets, ..Self::default() }
    }

    /// This stretch with the one that begins where it ends.
    pub(super) const fn followed_by(self, next: Self) -> Self {
        match (self.ends, next.ends) {
            (0, _) => Self { head_octets: self.head_octets + next.head_octets, ..next },
            (_, 0) => Self { tail_octets: self.tail_octets + next.head_octets, ..self },
            _ => Self {
                ends: self.ends + next.ends,
                head_octets: self.head_octets,
                inner_octets: self.inner_octets
                    + self.tail_octets
                    + next.head_octets
                    + next.inner_octets,
                tail_octets: next.tail_octets,
            },
        }
    }
}

/// TSDUs that came to their end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Finished {
    /// Those of which every DT was seen.
    pub(super) tsdus: u64,
    /// Their octets.
    pub(super) octets: u64,
    /// Those of which a DT was never seen.
    pub(super) incomplete: u64,
}

impl Finished {
    pub(super) const fn and(self, more: Self) -> Self {
        Self {
            tsdus: self.tsdus + more.tsdus,
            octets: self.octets + more.octets,
            incomplete: self.incomplete + more.incomplete,
        }
    }
}

/// The TSDU under way on one direction of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Open {
    /// Its octets so far; zero between TSDUs.
    Whole(u64),
    /// A part of it was not seen, so how long it is cannot be told.
    Broken,
}

impl Open {
    /// Goes on with the stretch that comes next.
    pub(super) const fn absorb(&mut self, stretch: Stretch) -> Finished {
        let Stretch { ends, head_octets, inner_octets, tail_octets } = stretch;
        if ends == 0 {
            if let Self::Whole(octets) = self {
                *octets += head_octets;
            }
            return Finished { tsdus: 0, octets: 0, incomplete: 0 };
        }
        let before = core::mem::replace(self, Self::Whole(tail_octets));
        match before {
            Self::Whole(octets) => {
                Finished { tsdus: ends, octets: octets + head_octets + inner_octets, incomplete: 0 }
            }
            Self::Broken => Finished { tsdus: ends - 1, octets: inner_octets, incomplete: 1 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_add_up_the_same_in_whatever_order_they_are_joined() {
        // TSDUs of 3, 5 + 7 and 11 octets, then 13 octets of one that goes on.
        let parts = [(3, true), (5, false), (7, true), (11, true), (13, false)];
        let stretches: Vec<Stretch> = parts.iter().map(|(o, e)| Stretch::of(*o, *e)).collect();
        let left = stretches.iter().copied().reduce(Stretch::followed_by).unwrap();
        let right = stretches.iter().rev().copied().reduce(|b, a| a.followed_by(b)).unwrap();
        assert_eq!(left, right);
        let mut open = Open::Whole(2);
        // 2 + 3, then 5 + 7, then 11.
        assert_eq!(open.absorb(left), Finished { tsdus: 3, octets: 28, incomplete: 0 });
        assert_eq!(open, Open::Whole(13));
    }

    #[test]
    fn a_tsdu_with_a_part_unseen_is_not_counted_among_the_whole() {
        let mut open = Open::Broken;
        let stretch = Stretch::of(40, true).followed_by(Stretch::of(60, true));
        assert_eq!(open.absorb(stretch), Finished { tsdus: 1, octets: 60, incomplete: 1 });
        assert_eq!(open, Open::Whole(0));
    }
}

//! End of deference of an IEEE 802.3 station (half duplex, the Deference process of clause 4.2.8).
//!
//! ```text
//!   carrier ▇▇▇▇▇▇▇▇▇▇┐                      ┌ start of a frame that waits
//!                     │←─ part 1 ─→│← part 2 →│
//!                      carrier begins  carrier is not
//!                      part 1 again    looked at
//! ```
//!
//! A station that has itself been sending does not look at the carrier in part 1 either. A carrier
//! that rises in the very instant in which a station starts is detected too late.
//!
//! Not modelled: the station's delay in detecting that a carrier rose or fell.

use wire::time::Instant;

/// Interframe gap, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap {
    /// Part 1, in which a carrier restarts the gap.
    pub part_1: u64,
    /// Parts 1 and 2 together.
    pub whole: u64,
}

/// Carrier as seen by one station.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Carrier {
    /// Time at which it rises.
    pub rises: Instant,
    /// Time at which it falls, as known so far.
    pub falls: Instant,
    /// True if the carrier is the station's own.
    pub own: bool,
}

/// Deference state of a station up to some carrier.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Deference {
    /// Last busy period: its end, and whether the station sent in it.
    busy: Option<(Instant, bool)>,
}

impl Deference {
    /// State after a busy period that consists of this carrier alone.
    pub(super) const fn after(carrier: Carrier) -> Self {
        Self { busy: Some((carrier.falls, carrier.own)) }
    }

    /// Adds the next carrier; carriers come in the order in which they rise.
    pub(super) fn hear(&mut self, carrier: Carrier, gap: Gap) {
        match self.busy {
            Some((falls, own)) if self.is_extended_by(carrier, gap) => {
                self.busy = Some((falls.max(carrier.falls), own || carrier.own));
            }
            Some(_) if carrier.falls <= self.free(gap) => {}
            Some(_) | None => self.busy = Some((carrier.falls, carrier.own)),
        }
    }

    /// Time at which the station starts a frame that is ready at `ready`, given the next `carriers`
    /// in the order in which they rise.
    pub(super) fn start(mut self, ready: Instant, carriers: &[Carrier], gap: Gap) -> Instant {
        for carrier in carriers {
            if !self.is_extended_by(*carrier, gap) {
                let free = self.free(gap);
                if ready <= free {
                    return free;
                }
                if ready <= carrier.rises {
                    return ready;
                }
            }
            self.hear(*carrier, gap);
        }
        ready.max(self.free(gap))
    }

    /// Time at which the station stops deferring.
    fn free(self, gap: Gap) -> Instant {
        self.busy.map_or(Instant::ZERO, |(falls, _)| later(falls, gap.whole))
    }

    /// Returns whether the carrier belongs to the last busy period.
    fn is_extended_by(self, carrier: Carrier, gap: Gap) -> bool {
        self.busy.is_some_and(|(falls, own)| {
            carrier.rises <= falls || (!own && carrier.rises < later(falls, gap.part_1))
        })
    }
}

/// Returns the instant `nanos` nanoseconds after `at`.
pub(super) const fn later(at: Instant, nanos: u64) -> Instant {
    Instant::from_nanos(at.as_nanos().saturating_add(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: Gap = Gap { part_1: 64, whole: 96 };

    const fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[track_caller]
    fn check(ready: u64, carriers: &[(u64, u64, bool)], starts: u64) {
        let carriers: Vec<_> = carriers
            .iter()
            .map(|(rises, falls, own)| Carrier { rises: at(*rises), falls: at(*falls), own: *own })
            .collect();
        assert_eq!(Deference::default().start(at(ready), &carriers, GAP), at(starts));
        // Feeding some carriers earlier makes no difference to a frame that is ready later.
        let mut deference = Deference::default();
        let (heard, rest) = carriers.split_at(carriers.len() / 2);
        if heard.iter().all(|carrier| carrier.rises < at(ready)) {
            heard.iter().for_each(|carrier| deference.hear(*carrier, GAP));
            assert_eq!(deference.start(at(ready), rest, GAP), at(starts));
        }
    }

    #[test]
    fn a_frame_waits_for_the_carrier_and_the_gap_and_no_longer() {
        check(50, &[], 50);
        check(50, &[(100, 700, false)], 50);
        check(100, &[(100, 700, false)], 100);
        check(101, &[(100, 700, false)], 796);
        check(750, &[(100, 700, false)], 796);
        check(797, &[(100, 700, false)], 797);
    }

    #[test]
    fn a_carrier_in_part_1_restarts_the_gap_but_not_in_part_2() {
        check(101, &[(100, 700, false), (763, 900, false)], 996);
        check(101, &[(100, 700, false), (764, 900, false)], 796);
        // A frame that is ready after the gap finds the ignored carrier still there.
        check(800, &[(100, 700, false), (764, 900, false)], 996);
        // A carrier that rose and fell within the gap is no reason to defer.
        check(800, &[(100, 700, false), (764, 790, false)], 800);
    }

    #[test]
    fn a_station_that_has_sent_does_not_restart_the_gap() {
        check(700, &[(100, 700, true), (701, 900, false)], 796);
        check(700, &[(100, 600, true), (300, 700, false), (701, 900, false)], 796);
        check(700, &[(100, 600, true), (600, 700, false)], 796);
    }
}

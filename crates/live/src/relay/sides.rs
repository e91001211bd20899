//! On which side of the relay each station is, as far as it has been heard.

use core::time::Duration;
use stack::station::Frame;
use std::collections::BTreeMap;
use wire::addr::Mac;
use wire::time::Instant;

/// Stations that are remembered; frames for others cross.
const STATIONS: usize = 4_096;
/// So many changes of side within [`WINDOW`] are a loop. A station that is moved changes once.
const CHANGES: u32 = 100;
const WINDOW: Duration = Duration::from_secs(1);

/// What is to be done with a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// It goes to the other side.
    Crosses,
    /// Its receiver is on the side it came from.
    Stays,
    /// Frames of this station go round.
    Loop(Mac),
}

#[derive(Debug, Default)]
pub(super) struct Sides {
    stations: BTreeMap<Mac, usize>,
    /// When the changes that are counted began.
    since: Instant,
    changes: u32,
}

impl Sides {
    /// Learns from a frame that came in at `side`, and says whether it has to cross.
    pub(super) fn heard(&mut self, at: Instant, side: usize, frame: &Frame) -> Verdict {
        // What is shorter is no frame of a station; the other side may see it.
        let Some(addresses) = frame.first::<12>() else { return Verdict::Crosses };
        let [a, b, c, d, e, f, source @ ..] = addresses;
        let (destination, source) = (Mac([a, b, c, d, e, f]), Mac(source));
        if !source.is_group() && self.learn(at, side, source) {
            return Verdict::Loop(source);
        }
        let is_local = !destination.is_group() && self.stations.get(&destination) == Some(&side);
        if is_local { Verdict::Stays } else { Verdict::Crosses }
    }

    /// Says whether this is one change of side too many.
    fn learn(&mut self, at: Instant, side: usize, station: Mac) -> bool {
        let Some(known) = self.stations.get_mut(&station) else {
            if self.stations.len() < STATIONS {
                self.stations.insert(station, side);
            }
            return false;
        };
        if *known == side {
            return false;
        }
        *known = side;
        if at - self.since > WINDOW {
            self.since = at;
            self.changes = 0;
        }
        self.changes += 1;
        self.changes >= CHANGES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    const A: Mac = Mac([2, 0, 0, 0, 0, 1]);
    const B: Mac = Mac([2, 0, 0, 0, 0, 2]);
    const ALL: Mac = Mac([0xFF; 6]);

    fn frame(to: Mac, from: Mac) -> Frame {
        Frame::new(Bytes::from([&to.0[..], &from.0, &[0; 48]].concat()))
    }

    #[test]
    fn a_frame_for_a_station_of_its_own_side_stays_and_any_other_crosses() {
        let mut sides = Sides::default();
        let now = Instant::ZERO;
        assert_eq!(sides.heard(now, 0, &frame(B, A)), Verdict::Crosses, "B was never heard");
        assert_eq!(sides.heard(now, 1, &frame(A, B)), Verdict::Crosses);
        assert_eq!(sides.heard(now, 0, &frame(A, Mac([2, 0, 0, 0, 0, 3]))), Verdict::Stays);
        assert_eq!(sides.heard(now, 0, &frame(ALL, A)), Verdict::Crosses);
        assert_eq!(sides.heard(now, 0, &Frame::new(Bytes::from_static(&[1]))), Verdict::Crosses);
    }

    #[test]
    fn a_station_may_be_moved_but_one_that_is_heard_on_both_sides_is_a_loop() {
        let mut sides = Sides::default();
        let mut now = Instant::ZERO;
        for change in 0..150 {
            now += Duration::from_millis(20);
            assert_eq!(sides.heard(now, change % 2, &frame(ALL, A)), Verdict::Crosses);
        }
        // 50 changes a second are fewer than a loop makes; now one every millisecond.
        let verdicts = (0..150).map(|change| {
            now += Duration::from_millis(1);
            sides.heard(now, change % 2, &frame(ALL, A))
        });
        assert!(verdicts.into_iter().any(|verdict| verdict == Verdict::Loop(A)));
    }
}

//! Side of the relay on which each station is, as learnt from its frames.

use core::time::Duration;
use stack::station::Frame;
use std::collections::{BTreeMap, BTreeSet};
use wire::addr::Mac;
use wire::time::Instant;

/// Maximum number of stations. A further one evicts the station with the oldest frame.
const STATIONS: usize = 4_096;
/// Number of changes of side of one station within [`WINDOW`] at which its frames are held back. A
/// station that is moved changes once; one whose frames loop, or are forged on the other side,
/// keeps changing.
const CHANGES: u32 = 10;
const WINDOW: Duration = Duration::from_secs(1);
/// Time for which the frames of such a station do not cross.
const HELD_BACK: Duration = Duration::from_secs(1);

/// Decision about a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// It goes to the other side.
    Crosses,
    /// Its receiver is on the side it came from.
    Stays,
    /// Its sender keeps changing sides: its frames do not cross for a while.
    HeldBack,
}

/// Entry of a station.
#[derive(Clone, Copy, Debug)]
struct Place {
    side: usize,
    heard: Instant,
    /// Start of the period in which changes are counted.
    since: Instant,
    changes: u32,
    held_until: Instant,
}

#[derive(Debug, Default)]
pub(super) struct Sides {
    stations: BTreeMap<Mac, Place>,
    /// Stations by the time of their latest frame, to within [`WINDOW`].
    by_age: BTreeSet<(Instant, Mac)>,
}

impl Sides {
    /// Learns from a frame that came in at `side`; returns whether it has to cross.
    pub(super) fn heard(&mut self, at: Instant, side: usize, frame: &Frame) -> Verdict {
        // A shorter frame has no addresses, and crosses.
        let Some(addresses) = frame.first::<12>() else { return Verdict::Crosses };
        let [a, b, c, d, e, f, source @ ..] = addresses;
        let (destination, source) = (Mac([a, b, c, d, e, f]), Mac(source));
        if !source.is_group() && self.learn(at, side, source) {
            return Verdict::HeldBack;
        }
        let known = self.stations.get(&destination).filter(|_| !destination.is_group());
        let is_local = known.is_some_and(|place| place.side == side);
        if is_local { Verdict::Stays } else { Verdict::Crosses }
    }

    /// Learns the side of a station; returns whether its frames are held back.
    fn learn(&mut self, at: Instant, side: usize, station: Mac) -> bool {
        let Some(place) = self.stations.get_mut(&station) else {
            self.enter(at, side, station);
            return false;
        };
        if at - place.heard > WINDOW {
            self.by_age.remove(&(place.heard, station));
            self.by_age.insert((at, station));
            place.heard = at;
        }
        if place.side != side {
            if at - place.since > WINDOW {
                (place.since, place.changes) = (at, 0);
            }
            place.side = side;
            place.changes += 1;
            if place.changes >= CHANGES {
                place.held_until = at + HELD_BACK;
            }
        }
        at < place.held_until
    }

    fn enter(&mut self, at: Instant, side: usize, station: Mac) {
        if self.stations.len() >= STATIONS
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            self.stations.remove(&oldest);
        }
        let held_until = Instant::ZERO;
        self.stations.insert(station, Place { side, heard: at, since: at, changes: 0, held_until });
        self.by_age.insert((at, station));
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
    fn a_frame_for_its_own_side_stays_and_any_other_crosses() {
        let mut sides = Sides::default();
        let now = Instant::ZERO;
        assert_eq!(sides.heard(now, 0, &frame(B, A)), Verdict::Crosses, "B is unknown");
        assert_eq!(sides.heard(now, 1, &frame(A, B)), Verdict::Crosses);
        assert_eq!(sides.heard(now, 0, &frame(A, Mac([2, 0, 0, 0, 0, 3]))), Verdict::Stays);
        assert_eq!(sides.heard(now, 0, &frame(ALL, A)), Verdict::Crosses);
        assert_eq!(sides.heard(now, 0, &Frame::new(Bytes::from_static(&[1]))), Verdict::Crosses);
    }

    /// Sends frames of A from both sides in turn, `apart` from each other; returns the number held
    /// back.
    fn alternating(sides: &mut Sides, start: Instant, apart: Duration) -> usize {
        let verdicts = (0..150).map(|change| {
            sides.heard(start + apart * change, (change % 2) as usize, &frame(ALL, A))
        });
        verdicts.into_iter().filter(|verdict| *verdict == Verdict::HeldBack).count()
    }

    #[test]
    fn a_moved_station_crosses_and_a_looping_one_is_held_back() {
        let mut sides = Sides::default();
        // Eight changes a second are fewer than a loop makes; then one every millisecond.
        assert_eq!(alternating(&mut sides, Instant::ZERO, Duration::from_millis(125)), 0);
        let start = Instant::ZERO + Duration::from_secs(60);
        // A was on side 1, so each frame is a change; the tenth is held back and so are those after
        // it.
        assert_eq!(alternating(&mut sides, start, Duration::from_millis(1)), 150 - 9);
        let later = start + Duration::from_secs(2);
        assert_eq!(
            sides.heard(later, 1, &frame(ALL, A)),
            Verdict::Crosses,
            "after a second without changes"
        );
    }

    #[test]
    fn forged_frames_hold_back_only_the_station_they_name() {
        let mut sides = Sides::default();
        let far = Mac([2, 0, 0, 0, 0, 9]);
        // The relay has learnt the other stations before.
        assert_eq!(sides.heard(Instant::ZERO, 0, &frame(far, B)), Verdict::Crosses);
        assert_eq!(sides.heard(Instant::ZERO, 1, &frame(B, far)), Verdict::Crosses);
        alternating(&mut sides, Instant::ZERO, Duration::from_millis(1));
        let now = Instant::ZERO + Duration::from_millis(150);
        assert_eq!(sides.heard(now, 0, &frame(ALL, A)), Verdict::HeldBack);
        assert_eq!(sides.heard(now, 0, &frame(far, B)), Verdict::Crosses);
        assert_eq!(sides.heard(now, 1, &frame(B, far)), Verdict::Crosses);
    }

    #[test]
    fn invented_stations_evict_the_oldest_and_memory_is_bounded() {
        let mut sides = Sides::default();
        for number in 0..3 * STATIONS as u32 {
            let now = Instant::from_nanos(u64::from(number) * 1_000_000);
            sides.heard(now, 0, &frame(ALL, Mac::local(number)));
        }
        assert_eq!((sides.stations.len(), sides.by_age.len()), (STATIONS, STATIONS));
        let now = Instant::from_nanos(3 * STATIONS as u64 * 1_000_000);
        sides.heard(now, 0, &frame(ALL, A));
        assert_eq!(sides.heard(now, 0, &frame(A, B)), Verdict::Stays, "a new station is learnt");
    }
}

//! One direction of the relay: selection of frames for faults, and frames held back.

use crate::port::is_rendezvous;
use stack::fault::{self, Fate, Faults};
use stack::station::Frame;
use std::collections::BTreeMap;
use wire::dissect::{Link, levels};
use wire::time::Instant;
use wire::tp::{self, Kind};

/// Selection of frames that the faults may touch. Frames of the control session are always spared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Selection {
    /// All frames.
    Every,
    /// Frames that carry a TPDU of one of these kinds over LLC, alone or with others. Segments of
    /// CLNP PDUs and packets over IP are not inspected.
    Tpdus(Vec<Kind>),
}

impl Selection {
    /// Returns whether the faults may touch this frame.
    #[must_use]
    pub fn selects(&self, frame: &[u8]) -> bool {
        let Self::Tpdus(kinds) = self else { return true };
        let Ok(nsdu) = levels(Link::Ethernet, frame, frame.len()).nsdu else { return false };
        nsdu.segment.is_none()
            && tp::tpdus(nsdu.octets).map_while(Result::ok).any(|raw| kinds.contains(&raw.kind))
    }
}

/// Effect on a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RelayAction {
    /// Effect of the faults; a frame that is [`Fate::Whole`] was delayed.
    Fate(Fate),
    /// The frame was to be held back, but there was no room.
    NoRoom,
}

impl RelayAction {
    /// Name in a log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fate(Fate::Whole) => "late",
            Self::Fate(Fate::Damaged) => "damaged",
            Self::Fate(Fate::Copied) => "copied",
            Self::Fate(Fate::Lost) => "lost",
            Self::Fate(Fate::BadFcs) => "bad FCS",
            Self::NoRoom => "no room",
        }
    }
}

/// Effect on one frame.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// Side at which the frame came in.
    pub side: usize,
    /// Serial number, from 1, among the selected frames that came in at this side.
    pub number: u64,
    /// Arrival time.
    pub arrived: Instant,
    /// Time at which it leaves, or would have left.
    pub leaves: Instant,
    /// Effect.
    pub action: RelayAction,
    /// Frame as it leaves.
    pub frame: &'a Frame,
}

#[derive(Debug)]
pub(super) struct Path {
    faults: Option<Faults>,
    selection: Selection,
    /// Frames by the time they leave, then by serial number.
    held: BTreeMap<(Instant, u64), Frame>,
    turn: u64,
    limit: usize,
}

impl Path {
    pub(super) const fn new(faults: Option<Faults>, selection: Selection, limit: usize) -> Self {
        Self { faults, selection, held: BTreeMap::new(), turn: 0, limit }
    }

    /// Applies the faults to a frame and holds the results until they are due; returns the number
    /// of frames that had no room.
    pub(super) fn apply(
        &mut self,
        side: usize,
        arrived: Instant,
        frame: Frame,
        tell: &mut dyn FnMut(&Event<'_>),
    ) -> u64 {
        let selected = !is_rendezvous(&frame) && self.selection.selects(frame.payload());
        let Some(faults) = self.faults.as_mut().filter(|_| selected) else {
            return u64::from(!self.hold(arrived, frame));
        };
        let outcomes = faults.apply(arrived, frame);
        let number = faults.counts().frames;
        let mut no_room = 0;
        for fault::Outcome { at: leaves, frame, fate } in outcomes {
            let mut event = Event {
                side,
                number,
                arrived,
                leaves,
                action: RelayAction::Fate(fate),
                frame: &frame,
            };
            if fate.arrives() && !self.hold(leaves, frame.clone()) {
                no_room += 1;
                event.action = RelayAction::NoRoom;
            }
            if event.action != RelayAction::Fate(Fate::Whole) || leaves > arrived {
                tell(&event);
            }
        }
        no_room
    }

    /// Holds a frame until it is due; returns whether there was room.
    fn hold(&mut self, leaves: Instant, frame: Frame) -> bool {
        if self.held.len() >= self.limit {
            return false;
        }
        self.turn += 1;
        self.held.insert((leaves, self.turn), frame);
        true
    }

    /// Takes the next frame that is due.
    pub(super) fn due(&mut self, now: Instant) -> Option<Frame> {
        let entry = self.held.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(entry.remove())
    }

    /// Time at which the next frame is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.held.first_key_value().map(|((at, _), _)| *at)
    }

    pub(super) fn counts(&self) -> fault::Counts {
        self.faults.as_ref().map_or_else(fault::Counts::default, |faults| *faults.counts())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use core::time::Duration;
    use stack::fault::{Plan, Reordering};

    /// 802.3 frame with a DT of the normal format, over LLC and inactive CLNP.
    const DT: [u8; 60] = {
        let mut frame = [0; 60];
        let head =
            [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0, 10, 0xFE, 0xFE, 3, 0, 4, 0xF0, 0, 1, 0x80, 7];
        let mut at = 0;
        while at < head.len() {
            frame[at] = head[at];
            at += 1;
        }
        frame
    };

    fn faults(plan: Plan) -> Faults {
        Faults::new(plan, 7, "a path").unwrap()
    }

    fn applied(path: &mut Path, at: Instant) -> Vec<(u64, RelayAction)> {
        let mut told = Vec::new();
        let frame = Frame::new(Bytes::from_static(&DT));
        path.apply(0, at, frame, &mut |event| told.push((event.number, event.action)));
        told
    }

    #[test]
    fn faults_touch_only_frames_with_the_selected_tpdus() {
        let only = |kinds: &[Kind]| Selection::Tpdus(kinds.to_vec());
        assert!(only(&[Kind::Ak, Kind::Dt]).selects(&DT));
        assert!(!only(&[Kind::Ak]).selects(&DT));
        assert!(!only(&[Kind::Dt]).selects(&[0; 60]), "no LPDU");
        assert!(Selection::Every.selects(&[]));

        let everything = Plan { loss: 1.0, ..Plan::harmless(Duration::from_millis(500)) };
        let mut path = Path::new(Some(faults(everything)), only(&[Kind::Ak]), 8);
        assert_eq!(applied(&mut path, Instant::ZERO), []);
        assert!(path.due(Instant::ZERO).is_some());
        let mut path = Path::new(Some(faults(everything)), only(&[Kind::Dt]), 8);
        assert_eq!(applied(&mut path, Instant::ZERO), [(1, RelayAction::Fate(Fate::Lost))]);
        assert!(path.due(Instant::MAX).is_none());
    }

    #[test]
    fn a_delayed_frame_leaves_when_due_and_lack_of_room_is_reported() {
        let held_back = Duration::from_millis(2);
        let reordering = Some(Reordering { probability: 1.0, held_back });
        let plan = Plan { reordering, ..Plan::harmless(Duration::from_millis(500)) };
        let mut path = Path::new(Some(faults(plan)), Selection::Every, 1);
        assert_eq!(applied(&mut path, Instant::ZERO), [(1, RelayAction::Fate(Fate::Whole))]);
        assert_eq!(applied(&mut path, Instant::ZERO), [(2, RelayAction::NoRoom)]);
        assert_eq!(path.next(), Some(Instant::ZERO + held_back));
        assert!(path.due(Instant::ZERO).is_none());
        assert!(path.due(Instant::ZERO + held_back).is_some());
    }
}

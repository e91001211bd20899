//! Trace of a medium: who sends, collides, backs off or holds the token, and when.
//!
//! A medium keeps a trace only on request. Without one it checks an `Option` at each frame, and is otherwise as it was:
//! a trace changes no result. Times are those at the station or port, without the way to an observer.
//!
//! Not modelled: signals along the cable. An activity that has not ended is not in the trace.

use stack::station::Frame;
use wire::time::Instant;

/// Maximum number of activities other than frames in a trace.
pub const MOST_ACTIVITIES: usize = 10_000;

/// Activity of a station, or of a port of a switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Activity {
    /// Station that acts; of a port of a switch, the station that sent the frame.
    pub station: usize,
    /// Port of a switch, if it is not the station that acts.
    pub port: Option<Port>,
    /// Start.
    pub begin: Instant,
    /// End.
    pub end: Instant,
    /// Kind.
    pub kind: Kind,
}

/// Port of a switch at which frames leave it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Port {
    /// Number of the switch.
    pub switch: usize,
    /// Receiver of its frames.
    pub to: Neighbour,
}

/// Other end of the link of a port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Neighbour {
    /// Station.
    Station(usize),
    /// Switch.
    Switch(usize),
}

/// Kinds of activities.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Complete transmission of a frame, preamble included.
    Frame {
        /// The frame, without the MAC's pad.
        frame: Frame,
        /// Number that a frame keeps from port to port of a switched network; elsewhere 0.
        number: u32,
    },
    /// Transmission that ended in a jam.
    Fragment(Frame),
    /// Start of a collision: earliest time at which a station detects it. Fragments that met directly or through others
    /// are of one collision.
    Collision,
    /// Backoff, counted from the end of the jam.
    Backoff {
        /// Number of slots that the station drew.
        slots: u64,
    },
    /// Hold of the token, from its arrival to its release.
    Hold,
    /// Transmission of the token.
    Token,
    /// Transmit opportunity of a node of PLCA.
    Opportunity {
        /// True if the node sent in it.
        is_used: bool,
    },
    /// Beacon of the coordinator of PLCA.
    Beacon,
}

impl Kind {
    const fn is_frame(&self) -> bool {
        matches!(self, Self::Frame { .. })
    }
}

/// Trace of a medium.
///
/// It has all frames, and of the rest what lies within its window, up to [`MOST_ACTIVITIES`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    from: Instant,
    until: Instant,
    activities: Vec<Activity>,
    room: usize,
    cut_at: Option<Instant>,
}

/// Trace of a medium, if it keeps one.
pub type Slot = Option<Box<Trace>>;

impl Trace {
    /// Creates an empty trace of the time from `from` until `until`.
    #[must_use]
    pub const fn new(from: Instant, until: Instant) -> Self {
        Self { from, until, activities: Vec::new(), room: MOST_ACTIVITIES, cut_at: None }
    }

    /// Takes the activities so far, in the order in which they ended.
    pub fn take(&mut self) -> Vec<Activity> {
        core::mem::take(&mut self.activities)
    }

    /// Start of the first activity that found no room; all that began before are in the trace.
    #[must_use]
    pub const fn cut_at(&self) -> Option<Instant> {
        self.cut_at
    }

    /// Adds an activity.
    pub(super) fn add(&mut self, activity: Activity) {
        let Activity { begin, end, ref kind, .. } = activity;
        if !kind.is_frame() {
            if begin > self.until || end < self.from {
                return;
            }
            if self.room == 0 {
                self.cut_at = Some(self.cut_at.map_or(begin, |at| at.min(begin)));
                return;
            }
            self.room -= 1;
        }
        self.activities.push(activity);
    }

    /// Start of the window.
    pub(super) const fn from(&self) -> Instant {
        self.from
    }

    /// Returns whether an activity that begins at `at`, other than a frame, can be in the trace, and later ones too.
    pub(super) fn takes_more(&self, at: Instant) -> bool {
        at <= self.until && self.cut_at.is_none()
    }
}

/// Adds an activity of a station to a trace, if one is kept.
pub(super) fn note(
    slot: &mut Slot,
    station: usize,
    span: impl FnOnce() -> (Instant, Instant),
    kind: impl FnOnce() -> Kind,
) {
    if let Some(trace) = slot {
        let (begin, end) = span();
        trace.add(Activity { station, port: None, begin, end, kind: kind() });
    }
}

/// Adds the complete transmission of a frame by a station to a trace, if one is kept.
pub(super) fn note_frame(
    slot: &mut Slot,
    station: usize,
    span: impl FnOnce() -> (Instant, Instant),
    frame: &Frame,
) {
    note(slot, station, span, || Kind::Frame { frame: frame.clone(), number: 0 });
}

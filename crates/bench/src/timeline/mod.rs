//! Timeline of a run: who sends, collides, backs off or holds the token within a window of simulated time.
//!
//! The run is made once more for it, with a trace of its medium and a meter on all frames from its start. So TPDUs are
//! known as retransmissions even if the window begins between them and their originals.
//!
//! Bias: times are those at the station or port. A capture has the time at its observer, later by the propagation delay.

mod frames;
mod window;

pub use window::{NoWindow, Unit, Window};

use crate::layout::{lay_out, seed_of};
use crate::run::{RunError, Tracing, Watch, run_watched, tap};
use crate::scenario::Point;
use core::time::Duration;
use frames::{Frames, Sent};
use meter::{Meter, Settings};
use sim::medium::Passage;
use sim::medium::trace::{Activity, Kind, Neighbour, Port};
use stack::fault::Fate;
use std::collections::BTreeMap;
use wire::addr::Mac;
use wire::time::Instant;

/// Maximum number of events in a timeline.
pub const MOST_EVENTS: usize = 10_000;

/// Timeline of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timeline {
    /// Window.
    pub window: Window,
    /// Names of the lanes: stations and ports of switches that have events in the window.
    pub lanes: Vec<String>,
    /// Stations without an event in the window.
    pub silent_stations: usize,
    /// Events, in the order in which they begin.
    pub events: Vec<Event>,
    /// Time from which events are left out, because there are more than [`MOST_EVENTS`].
    pub cut_at: Option<Instant>,
    /// End of the run.
    pub ended_at: Instant,
    /// Seed of the run.
    pub seed: u64,
}

/// Event of a timeline.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Event {
    /// Start.
    pub begin: Instant,
    /// End; the start if it takes no time.
    pub end: Instant,
    /// Index of its lane.
    pub lane: usize,
    /// Kind.
    pub what: What,
    /// Kinds of its PDUs, such as `DT`, `AK+DT` or `GOOSE`; for a backoff, its slots.
    pub kind: String,
    /// Names of sender and receiver, and the number of the transport connection: `A>B 0`.
    pub connection: String,
    /// Octets of the frame with the MAC's pad, without the FCS.
    pub octets: Option<usize>,
    /// TPDU-NR or YR-TU-NR.
    pub sequence: Option<u32>,
    /// True for TPDUs other than AKs that the station sent before; none if the frame has no TPDUs.
    pub retransmitted: Option<bool>,
}

/// Kinds of events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum What {
    /// Hold of the token.
    Hold,
    /// Transmit opportunity of PLCA in which the node sent.
    Opportunity,
    /// Transmit opportunity of PLCA in which the node did not send.
    Unused,
    /// Beacon of PLCA.
    Beacon,
    /// Complete transmission of a frame.
    Frame,
    /// Transmission of the token.
    Token,
    /// Transmission that ended in a jam.
    Fragment,
    /// Backoff.
    Backoff,
    /// Start of a collision.
    Collision,
    /// Frame lost on the bad path.
    Lost,
    /// Frame whose FCS is wrong behind the bad path.
    BadFcs,
    /// Frame with changed octets behind the bad path.
    Damaged,
    /// Second copy of a frame behind the bad path.
    Copied,
}

impl What {
    /// Word of the kind in tables.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Hold => "hold",
            Self::Opportunity => "opportunity",
            Self::Unused => "unused-opportunity",
            Self::Beacon => "beacon",
            Self::Frame => "frame",
            Self::Token => "token",
            Self::Fragment => "fragment",
            Self::Backoff => "backoff",
            Self::Collision => "collision",
            Self::Lost => "lost",
            Self::BadFcs => "bad-fcs",
            Self::Damaged => "damaged",
            Self::Copied => "copied",
        }
    }

    /// Kind of what happened to a frame on a bad path.
    const fn of_fate(fate: Fate) -> Option<Self> {
        match fate {
            Fate::Whole => None,
            Fate::Lost => Some(Self::Lost),
            Fate::BadFcs => Some(Self::BadFcs),
            Fate::Damaged => Some(Self::Damaged),
            Fate::Copied => Some(Self::Copied),
        }
    }
}

/// Error that prevents a timeline.
#[derive(Debug, thiserror::Error)]
pub enum NoTimeline {
    /// The run cannot be made.
    #[error("{0}")]
    Run(#[from] RunError),
    /// The window begins after the end of the run.
    #[error("the run ended at {}", crate::scenario::Span(ended_at.since(Instant::ZERO)))]
    AfterEnd {
        /// End of the run.
        ended_at: Instant,
    },
}

impl Timeline {
    /// Number of events of a kind.
    #[must_use]
    pub fn count(&self, what: What) -> usize {
        self.events.iter().filter(|event| event.what == what).count()
    }

    /// Shorter window from the same start that has about `most` events at the rate of these; none if there are no
    /// more. Its length has one significant digit.
    #[must_use]
    pub fn shorter_window(&self, most: usize) -> Option<Window> {
        let n = self.events.len();
        if n <= most || most == 0 {
            return None;
        }
        let Window { from, until, unit } = self.window;
        let end = self.cut_at.unwrap_or(until).min(self.ended_at).max(from);
        let length = end.since(from).as_nanos() * most as u128 / n as u128;
        let length = u64::try_from(length).ok().filter(|length| *length > 0)?;
        let digit = 10_u64.pow(length.ilog10());
        let until = from + Duration::from_nanos(length / digit * digit);
        Some(Window { from, until, unit })
    }

    /// Number of frames with retransmitted TPDUs.
    #[must_use]
    pub fn retransmitted(&self) -> usize {
        self.events.iter().filter(|event| event.retransmitted == Some(true)).count()
    }
}

/// Makes the timeline of one repetition of a point. It is incomplete if the run is interrupted.
///
/// # Errors
/// The run cannot be made, or it ends before the window begins.
pub fn timeline(
    point: &Point,
    repetition: u64,
    window: Window,
    is_interrupted: &dyn Fn() -> bool,
) -> Result<Timeline, NoTimeline> {
    let seed = seed_of(&point.scenario, repetition);
    let layout = lay_out(&point.scenario, seed);
    let stations = layout.places.iter().map(|place| (place.host.address, place.name.clone()));
    let stations: Vec<(Mac, String)> = stations.collect();
    let meter = Meter::new(Settings::every(Duration::from_secs(1)));
    let frames = Frames::new(meter, tap(&point.scenario.medium), stations.clone());
    let mut gathering = Gathering::new(frames, window);
    let mut fates: Vec<Fallen> = Vec::new();
    let mut watch = Watch {
        tap: Some(&mut |passage| {
            let has_room = fates.len() <= MOST_EVENTS;
            fates.extend(Fallen::of(passage, window).filter(|_| has_room));
        }),
        is_interrupted,
        messages: None,
        trace: Some(Tracing {
            from: window.from,
            until: window.until,
            sink: &mut |activity| gathering.take(activity),
            cut_at: None,
        }),
    };
    let sample = run_watched(point, "", repetition, &mut watch)?;
    let cut_at = watch.trace.and_then(|trace| trace.cut_at);
    let ended_at = Instant::from_nanos(sample.ended_at_ns);
    if sample.complete && window.from > ended_at {
        return Err(NoTimeline::AfterEnd { ended_at });
    }
    for fallen in fates {
        gathering.add(Lane::Station(fallen.source), fallen.event());
    }
    let names: Vec<String> = stations.into_iter().map(|(_, name)| name).collect();
    Ok(gathering.finish(&names, cut_at, Ended { at: ended_at, seed }))
}

/// Frame to which something happened on a bad path.
struct Fallen {
    at: Instant,
    source: usize,
    what: What,
}

impl Fallen {
    fn of(passage: &Passage, window: Window) -> Option<Self> {
        let what = What::of_fate(passage.fate)?;
        let at = passage.at;
        window.has(at, at).then_some(Self { at, source: passage.source, what })
    }

    fn event(&self) -> Event {
        plain(self.what, self.at, self.at)
    }
}

/// Event without a frame.
const fn plain(what: What, begin: Instant, end: Instant) -> Event {
    Event {
        begin,
        end,
        lane: 0,
        what,
        kind: String::new(),
        connection: String::new(),
        octets: None,
        sequence: None,
        retransmitted: None,
    }
}

/// Lane of a timeline; the derived order is that of the lanes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Lane {
    /// All stations on the medium: collisions.
    Medium,
    Station(usize),
    Port(Port),
}

impl Lane {
    fn name(self, stations: &[String]) -> String {
        let station = |station: usize| stations.get(station).cloned().unwrap_or_default();
        match self {
            Self::Medium => "collisions".to_owned(),
            Self::Station(index) => station(index),
            Self::Port(Port { switch, to }) => {
                let to = match to {
                    Neighbour::Station(index) => station(index),
                    Neighbour::Switch(index) => format!("switch {}", index + 1),
                };
                format!("switch {} to {to}", switch + 1)
            }
        }
    }
}

/// End of a run, and its seed.
struct Ended {
    at: Instant,
    seed: u64,
}

/// Events so far.
struct Gathering {
    frames: Frames,
    window: Window,
    events: Vec<(Lane, Event)>,
    /// Start of the first event that found no room.
    cut_at: Option<Instant>,
}

impl Gathering {
    const fn new(frames: Frames, window: Window) -> Self {
        Self { frames, window, events: Vec::new(), cut_at: None }
    }

    /// Takes an activity of the medium.
    fn take(&mut self, activity: &Activity) {
        let Activity { station, port, begin, end, ref kind } = *activity;
        let is_within = self.window.has(begin, end);
        let lane = port.map_or(Lane::Station(station), Lane::Port);
        let event = match kind {
            Kind::Frame { frame, number } => {
                if begin > self.window.until {
                    return;
                }
                let sent = Sent { frame, number: *number, station, is_first: port.is_none() };
                let Some(event) = self.frames.event(&sent, (begin, end), is_within) else { return };
                event
            }
            Kind::Fragment(frame) => self.frames.fragment(frame, (begin, end)),
            Kind::Collision => return self.add(Lane::Medium, plain(What::Collision, begin, end)),
            Kind::Backoff { slots } => Event {
                kind: format!("{slots} {}", if *slots == 1 { "slot" } else { "slots" }),
                ..plain(What::Backoff, begin, end)
            },
            Kind::Hold => plain(What::Hold, begin, end),
            Kind::Token => plain(What::Token, begin, end),
            Kind::Opportunity { is_used: true } => plain(What::Opportunity, begin, end),
            Kind::Opportunity { is_used: false } => plain(What::Unused, begin, end),
            Kind::Beacon => plain(What::Beacon, begin, end),
        };
        if is_within {
            self.add(lane, event);
        }
    }

    fn add(&mut self, lane: Lane, event: Event) {
        if self.events.len() < 2 * MOST_EVENTS {
            self.events.push((lane, event));
        } else {
            self.cut(event.begin);
        }
    }

    fn cut(&mut self, at: Instant) {
        self.cut_at = Some(self.cut_at.map_or(at, |cut_at| cut_at.min(at)));
    }

    /// Timeline of the events so far, of which those from `cut_at` on are not complete.
    fn finish(mut self, names: &[String], cut_at: Option<Instant>, ended: Ended) -> Timeline {
        cut_at.into_iter().for_each(|at| self.cut(at));
        self.events.sort_by(|(lane, event), (other_lane, other)| {
            (event.begin, lane, event).cmp(&(other.begin, other_lane, other))
        });
        if let Some((_, first)) = self.events.get(MOST_EVENTS) {
            let at = first.begin;
            self.cut(at);
        }
        if let Some(at) = self.cut_at {
            self.events.retain(|(_, event)| event.begin < at);
        }
        let mut lanes: BTreeMap<Lane, usize> =
            self.events.iter().map(|(lane, _)| (*lane, 0)).collect();
        lanes.values_mut().enumerate().for_each(|(place, lane)| *lane = place);
        let busy = lanes.keys().filter(|lane| matches!(lane, Lane::Station(_))).count();
        let place = |lane: &Lane| lanes.get(lane).copied().unwrap_or_default();
        Timeline {
            window: self.window,
            lanes: lanes.keys().map(|lane| lane.name(names)).collect(),
            silent_stations: names.len().saturating_sub(busy),
            events: self
                .events
                .into_iter()
                .map(|(lane, event)| Event { lane: place(&lane), ..event })
                .collect(),
            cut_at: self.cut_at,
            ended_at: ended.at,
            seed: ended.seed,
        }
    }
}

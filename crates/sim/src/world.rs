//! Event loop: stations on a medium, and a clock that jumps from one deadline to the next.
//!
//! ```text
//!   agenda ─▶ expire or receive ─▶ station.poll ─▶ medium.offer ─▶ medium.poll ─┬▶ tap
//!     ▲                                                                         └▶ arrivals
//!     └──────────── deadlines of the touched, arrival times ◀───────────────────────┘
//! ```
//!
//! Each turn takes the earliest deadline, calls its owner, and drains the resulting outputs. Only
//! the deadlines of the nodes it touched are read again. Deadlines at one instant are served in the
//! order in which they were set, so a run is a function of its stations, its medium and their
//! seeds. Three queue heads are compared: the stations', the arrivals', and the medium's, which
//! changes in nearly every turn.
//!
//! Not modelled: processing time in a station. A station acts in zero time unless it is wrapped in
//! [`crate::host::WithCpu`].

use crate::agenda::{Agenda, Turn};
use crate::medium::trace::{Activity, Trace};
use crate::medium::{Delivery, Event, Medium, Misfit, Passage};
use core::fmt;
use stack::station::{Frame, Station};
use std::collections::VecDeque;
use wire::time::Instant;

/// Maximum number of calls of one station, or of the medium, within one instant.
const TURNS_WITHOUT_TIME: u32 = 100_000;

/// Stations on a medium, numbered from 0.
#[derive(Clone, Debug)]
pub struct World<M, S> {
    stations: Vec<S>,
    medium: M,
    now: Instant,
    /// Next deadline of each station.
    agenda: Agenda,
    /// Next deadline of the medium.
    medium_due: Turn,
    arrivals: Arrivals,
    /// Number of deadlines set so far, for stations, arrivals and medium together.
    sequence: u64,
    /// For each station, and last the medium: instant of the latest call, and number of calls in
    /// it.
    turns: Vec<(Instant, u32)>,
}

/// Frames under way to their receivers, in slots that are reused.
#[derive(Clone, Default, Debug)]
struct Arrivals {
    /// Arrival time and slot of each frame, the earliest first.
    order: VecDeque<(Turn, usize)>,
    slots: Vec<Option<(usize, Frame)>>,
    free: Vec<usize>,
}

impl Arrivals {
    fn put(&mut self, turn: Turn, station: usize, frame: Frame) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[slot] = Some((station, frame));
        // Media deliver nearly in order, so the position is at the end or close to it.
        let before = self.order.iter().rev().take_while(|(other, _)| turn.is_before(*other));
        match before.count() {
            0 => self.order.push_back((turn, slot)),
            count => self.order.insert(self.order.len() - count, (turn, slot)),
        }
    }

    fn first(&self) -> Turn {
        self.order.front().map_or(Turn::NEVER, |(turn, _)| *turn)
    }

    fn take(&mut self) -> Option<(usize, Frame)> {
        let (_, slot) = self.order.pop_front()?;
        self.free.push(slot);
        self.slots[slot].take()
    }
}

/// Owner of the next deadline.
#[derive(Clone, Copy, Debug)]
enum Who {
    Station(usize),
    /// Receiver of the next frame.
    Receiver,
    Medium,
}

/// Simulated time does not advance: a station or the medium acts again and again within one
/// instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stuck {
    /// The instant.
    pub at: Instant,
    /// Index of the station that acts; `None` if it is the medium.
    pub station: Option<usize>,
    /// Timer that is due next there.
    pub timer: Option<&'static str>,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.station {
            Some(station) => write!(f, "station {station}")?,
            None => f.write_str("the medium")?,
        }
        write!(f, " acted {TURNS_WITHOUT_TIME} times at {} s", self.at)?;
        self.timer.map_or(Ok(()), |timer| write!(f, " (next timer: {timer})"))
    }
}

impl core::error::Error for Stuck {}

impl<M: Medium, S: Station> World<M, S> {
    /// Connects the stations to the medium. The run begins with a call of each.
    ///
    /// # Errors
    /// Fails if the medium was made for another number of stations.
    pub fn new(mut medium: M, stations: Vec<S>) -> Result<Self, Misfit> {
        let addresses: Vec<_> = stations.iter().map(Station::addr).collect();
        medium.attach(&addresses)?;
        let nodes = stations.len() + 1;
        let mut agenda = Agenda::new(stations.len());
        (0..stations.len()).for_each(|station| {
            agenda.enter_turn(station, Turn { at: Instant::ZERO, sequence: station as u64 });
        });
        Ok(Self {
            sequence: nodes as u64,
            agenda,
            medium_due: Turn { at: Instant::ZERO, sequence: stations.len() as u64 },
            arrivals: Arrivals::default(),
            now: Instant::ZERO,
            turns: vec![(Instant::ZERO, 0); nodes],
            stations,
            medium,
        })
    }

    /// Current simulated time.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// The stations.
    #[must_use]
    pub fn stations(&self) -> &[S] {
        &self.stations
    }

    /// Mutable access to the stations between two runs. After a request to a station, call
    /// [`World::wake`].
    #[must_use]
    pub fn stations_mut(&mut self) -> &mut [S] {
        &mut self.stations
    }

    /// The medium.
    #[must_use]
    pub const fn medium(&self) -> &M {
        &self.medium
    }

    /// Sets whether passages are observed; initially they are. If not, the medium may skip the
    /// tap's calls, which saves time; the run is otherwise identical.
    pub fn set_observed(&mut self, is_observed: bool) {
        self.medium.set_observed(is_observed);
    }

    /// Keeps a trace of the medium from now on, which changes nothing else. Returns false if the medium keeps none.
    pub fn begin_trace(&mut self, trace: Trace) -> bool {
        let slot = self.medium.trace();
        slot.map(|slot| *slot = Some(Box::new(trace))).is_some()
    }

    /// Takes the activities in the trace so far. To be called often: a trace has all frames.
    pub fn take_activities(&mut self) -> Vec<Activity> {
        let trace = self.medium.trace().and_then(Option::as_mut);
        trace.map(|trace| trace.take()).unwrap_or_default()
    }

    /// Ends the trace of the medium, and returns it with the rest of the activities.
    pub fn end_trace(&mut self) -> Option<Trace> {
        self.medium.complete_trace(self.now);
        self.medium.trace()?.take().map(|trace| *trace)
    }

    /// Schedules the station to be called and drained as soon as the run continues.
    ///
    /// # Panics
    /// Panics if there is no such station.
    pub fn wake(&mut self, station: usize) {
        assert!(station < self.stations.len(), "there is no station {station}");
        self.set(station, self.now);
    }

    /// Runs until `end`, including events at `end`.
    ///
    /// # Errors
    /// Fails if simulated time stops advancing.
    pub fn run(&mut self, end: Instant, mut tap: impl FnMut(&Passage)) -> Result<(), Stuck> {
        while let Some((at, who)) = self.first()
            && at <= end
        {
            self.turn(at, who, &mut tap)?;
        }
        self.now = self.now.max(end);
        Ok(())
    }

    /// Runs until `end`, or for at most `turns` turns; returns whether `end` was reached.
    ///
    /// # Errors
    /// Fails if simulated time stops advancing.
    pub fn run_some(
        &mut self,
        end: Instant,
        turns: u32,
        mut tap: impl FnMut(&Passage),
    ) -> Result<bool, Stuck> {
        for _ in 0..turns {
            match self.first() {
                Some((at, who)) if at <= end => self.turn(at, who, &mut tap)?,
                _ => {
                    self.now = self.now.max(end);
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Takes one turn and returns its time; `None` if nothing is due any more.
    ///
    /// # Errors
    /// Fails if simulated time stops advancing.
    pub fn step(&mut self, mut tap: impl FnMut(&Passage)) -> Result<Option<Instant>, Stuck> {
        let Some((at, who)) = self.first() else { return Ok(None) };
        self.turn(at, who, &mut tap)?;
        Ok(Some(self.now))
    }

    /// Time and owner of the next deadline.
    fn first(&self) -> Option<(Instant, Who)> {
        let (mut turn, station) = self.agenda.first_turn();
        let mut who = Who::Station(station);
        let arrival = self.arrivals.first();
        if arrival.is_before(turn) {
            (turn, who) = (arrival, Who::Receiver);
        }
        if self.medium_due.is_before(turn) {
            (turn, who) = (self.medium_due, Who::Medium);
        }
        (turn != Turn::NEVER).then_some((turn.at, who))
    }

    /// Sets the station's deadline.
    fn set(&mut self, station: usize, at: Instant) {
        self.agenda.enter_turn(station, Turn { at, sequence: self.sequence });
        self.sequence += 1;
    }

    /// Sets the medium's deadline, if it has one; an unchanged deadline keeps its turn.
    fn set_medium(&mut self, deadline: Option<Instant>) {
        match deadline.map(|at| at.max(self.now)) {
            Some(at) if self.medium_due != Turn::NEVER && self.medium_due.at == at => {}
            Some(at) => {
                self.medium_due = Turn { at, sequence: self.sequence };
                self.sequence += 1;
            }
            None => self.medium_due = Turn::NEVER,
        }
    }

    fn turn(&mut self, at: Instant, who: Who, tap: &mut impl FnMut(&Passage)) -> Result<(), Stuck> {
        self.now = self.now.max(at);
        let station = match who {
            Who::Medium => {
                self.count(self.stations.len())?;
                self.medium.expire(self.now);
                return self.drain_medium(tap);
            }
            Who::Station(station) => {
                self.stations[station].expire(self.now);
                station
            }
            Who::Receiver => {
                let (station, frame) = self.arrivals.take().expect("a frame is due");
                self.stations[station].receive(self.now, frame);
                station
            }
        };
        if self.drain_station(station)? { self.drain_medium(tap) } else { Ok(()) }
    }

    /// Moves the station's pending frames to the medium; returns whether there were any.
    fn drain_station(&mut self, station: usize) -> Result<bool, Stuck> {
        self.count(station)?;
        let mut offered = false;
        while let Some(frame) = self.stations[station].poll() {
            self.count(station)?;
            self.medium.offer(self.now, station, frame);
            offered = true;
        }
        let has_buffer = self.stations[station].has_receive_buffer();
        self.medium.set_receive_buffer(self.now, station, has_buffer);
        match self.stations[station].deadline() {
            Some(deadline) => self.set(station, deadline.at.max(self.now)),
            None => self.agenda.cancel(station),
        }
        Ok(offered)
    }

    /// Dispatches the medium's events, and the frames that stations send in reply.
    fn drain_medium(&mut self, tap: &mut impl FnMut(&Passage)) -> Result<(), Stuck> {
        while let Some(event) = self.medium.poll() {
            match event {
                Event::Passage(passage) => tap(&passage),
                Event::Delivery(Delivery { at, station, frame }) => {
                    let turn = Turn { at: at.max(self.now), sequence: self.sequence };
                    self.arrivals.put(turn, station, frame);
                    self.sequence += 1;
                }
                Event::Transmitted { station, queue, outcome } => {
                    self.stations[station].transmitted(self.now, queue, outcome);
                    self.drain_station(station)?;
                }
            }
        }
        self.set_medium(self.medium.deadline().map(|deadline| deadline.at));
        Ok(())
    }

    /// Counts a call of a station, or of the medium, within the current instant.
    fn count(&mut self, node: usize) -> Result<(), Stuck> {
        let (at, calls) = &mut self.turns[node];
        if *at != self.now {
            (*at, *calls) = (self.now, 0);
        }
        *calls += 1;
        if *calls <= TURNS_WITHOUT_TIME {
            return Ok(());
        }
        let station = (node < self.stations.len()).then_some(node);
        let deadline = station.map_or(self.medium.deadline(), |s| self.stations[s].deadline());
        Err(Stuck { at: self.now, station, timer: deadline.map(|deadline| deadline.timer) })
    }
}

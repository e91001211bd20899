//! The loop: stations on a medium, and the clock that jumps from one deadline to the next.
//!
//! ```text
//!   agenda ─▶ expire or receive ─▶ station.poll ─▶ medium.offer ─▶ medium.poll ─┬▶ tap
//!     ▲                                                                         └▶ arrivals
//!     └──────────── deadlines of the touched, arrival times ◀───────────────────────┘
//! ```
//!
//! Each turn takes the earliest deadline, calls whom it belongs to, and drains what comes of it;
//! only deadlines of those it touched are read again. Deadlines of one instant come in the order in
//! which they were set, so a run is a function of its stations, its medium and their seeds.
//!
//! Not modelled: the time a station's machine takes; a station acts in no time unless it stands
//! behind a [`crate::host::Costed`].

use crate::agenda::Agenda;
use crate::medium::{Delivery, Event, Medium, Misfit, Passage};
use core::fmt;
use stack::station::{Frame, Station};
use wire::time::Instant;

/// How often one station, or the medium, may be called within one instant.
const TURNS_WITHOUT_TIME: u32 = 100_000;

/// Stations on a medium, numbered from 0.
#[derive(Clone, Debug)]
pub struct World<M, S> {
    stations: Vec<S>,
    medium: M,
    now: Instant,
    /// Deadlines: first those of the stations, then the medium's, then those of the arrivals.
    agenda: Agenda,
    arrivals: Arrivals,
    /// How often each station and the medium were called, and in which instant.
    turns: Vec<(Instant, u32)>,
}

/// Frames that are yet to arrive, in slots that are used again.
#[derive(Clone, Default, Debug)]
struct Arrivals {
    slots: Vec<Option<(usize, Frame)>>,
    free: Vec<usize>,
}

impl Arrivals {
    fn put(&mut self, station: usize, frame: Frame) -> usize {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[slot] = Some((station, frame));
        slot
    }

    fn take(&mut self, slot: usize) -> (usize, Frame) {
        self.free.push(slot);
        self.slots[slot].take().expect("a slot on the agenda holds a frame")
    }
}

/// Time stands still: somebody acts again and again within one instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stuck {
    /// The instant.
    pub at: Instant,
    /// The station that acts, or the medium.
    pub station: Option<usize>,
    /// The timer that is due next there.
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
    /// Connects the stations to the medium; each is called for the first time when the run begins.
    ///
    /// # Errors
    /// Where the medium was made for another number of stations.
    pub fn new(mut medium: M, stations: Vec<S>) -> Result<Self, Misfit> {
        let addresses: Vec<_> = stations.iter().map(Station::addr).collect();
        medium.attach(&addresses)?;
        let nodes = stations.len() + 1;
        let mut agenda = Agenda::new(nodes);
        (0..nodes).for_each(|node| agenda.schedule(node, Instant::ZERO));
        let turns = vec![(Instant::ZERO, 0); nodes];
        let arrivals = Arrivals::default();
        Ok(Self { stations, medium, now: Instant::ZERO, agenda, arrivals, turns })
    }

    /// How far the run has come.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// The stations.
    #[must_use]
    pub fn stations(&self) -> &[S] {
        &self.stations
    }

    /// The stations, between two runs: [`World::wake`] one that has been asked for something.
    #[must_use]
    pub fn stations_mut(&mut self) -> &mut [S] {
        &mut self.stations
    }

    /// The medium.
    #[must_use]
    pub const fn medium(&self) -> &M {
        &self.medium
    }

    /// Has the station called, and drained, as soon as the run goes on.
    ///
    /// # Panics
    /// Where there is no such station.
    pub fn wake(&mut self, station: usize) {
        assert!(station < self.stations.len(), "there is no station {station}");
        self.agenda.schedule(station, self.now);
    }

    /// Runs until `end`, what happens then included.
    ///
    /// # Errors
    /// Where time stands still.
    pub fn run(&mut self, end: Instant, mut tap: impl FnMut(&Passage)) -> Result<(), Stuck> {
        while let Some((at, node)) = self.agenda.first()
            && at <= end
        {
            self.turn(at, node, &mut tap)?;
        }
        self.now = self.now.max(end);
        Ok(())
    }

    /// Takes one turn, and tells when it was; `None` where nothing will ever happen again.
    ///
    /// # Errors
    /// Where time stands still.
    pub fn step(&mut self, mut tap: impl FnMut(&Passage)) -> Result<Option<Instant>, Stuck> {
        let Some((at, node)) = self.agenda.first() else { return Ok(None) };
        self.turn(at, node, &mut tap)?;
        Ok(Some(self.now))
    }

    fn turn(
        &mut self,
        at: Instant,
        node: usize,
        tap: &mut impl FnMut(&Passage),
    ) -> Result<(), Stuck> {
        self.now = self.now.max(at);
        let medium = self.stations.len();
        if node == medium {
            self.count(medium)?;
            self.medium.expire(self.now);
            return self.drain_medium(tap);
        }
        let station = if node < medium {
            self.stations[node].expire(self.now);
            node
        } else {
            self.agenda.cancel(node);
            let (station, frame) = self.arrivals.take(node - medium - 1);
            self.stations[station].receive(self.now, frame);
            station
        };
        if self.drain_station(station)? { self.drain_medium(tap) } else { Ok(()) }
    }

    /// Hands the medium what the station has to send; tells whether that was anything.
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
            Some(deadline) => self.agenda.schedule(station, deadline.at.max(self.now)),
            None => self.agenda.cancel(station),
        }
        Ok(offered)
    }

    /// Passes on what the medium has to tell, and what the stations make of it.
    fn drain_medium(&mut self, tap: &mut impl FnMut(&Passage)) -> Result<(), Stuck> {
        let medium = self.stations.len();
        while let Some(event) = self.medium.poll() {
            match event {
                Event::Passage(passage) => tap(&passage),
                Event::Delivery(Delivery { at, station, frame }) => {
                    let node = medium + 1 + self.arrivals.put(station, frame);
                    self.agenda.schedule(node, at.max(self.now));
                }
                Event::Transmitted { station, outcome } => {
                    self.stations[station].transmitted(self.now, outcome);
                    self.drain_station(station)?;
                }
            }
        }
        match self.medium.deadline() {
            Some(deadline) => self.agenda.schedule(medium, deadline.at.max(self.now)),
            None => self.agenda.cancel(medium),
        }
        Ok(())
    }

    /// Counts a call of a station or of the medium.
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

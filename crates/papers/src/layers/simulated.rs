//! Layer cost experiment on two modelled machines on a ProNET-10 ring.
//!
//! The messages use [`stack::messaging`], the service that programs link; the machine below is a
//! [`Profile`]. The ring is that of the experiment: each station on 3 m of cable, and no other
//! sender. Before each message that is timed from its call, the ring turns for a random time, so
//! that the token is at a random place; messages for a rate follow each other at once.
//!
//! Layers above LLC are those of [`Layered`](stack::profile::Layered) stations, which `upper` puts on
//! the machines. Machines with a front end are on a token bus, and so is their LLC.
//!
//! Not modelled: the time of the user's program between two calls.

mod upper;

pub use upper::missing;

use super::{Measurement, Operation, Service};
use bench::profile::{Layer, Profile};
use bench::scenario::MediumKind;
use bytes::Bytes;
use core::fmt;
use core::time::Duration;
use sim::host::{NoBuffer, WithCpu, Work};
use sim::medium::Medium;
use sim::medium::token_ring::{Params as Ring, TokenRing};
use sim::world::World;
use stack::llc::type3::{self, First};
use stack::machine::Deadline;
use stack::messaging::{Address, Completion, Indication, Options, Params};
use stack::profile::{Framing, Messenger};
use stack::station::{Frame, Station, Transmission};
use stats::histogram::Histogram;
use stats::rng::Stream;
use std::collections::{BTreeSet, VecDeque};
use wire::addr::{Mac, Sap};
use wire::crc16::CHECK_OCTETS;
use wire::mac;
use wire::time::Instant;

/// Limit of octets of data in a frame.
pub const MOST_DATA_OCTETS: usize = 2_046;
/// Octets of the LLC header before a message.
const LLC_OCTETS: usize = 3;
/// Two stations, each on 3 m of cable in both directions.
const RING_METRES: f64 = 12.0;
/// Socket at both ends.
const SOCKET: u8 = 2;
/// Timeout for an acknowledgement: far longer than any of these machines takes.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest time that the ring turns before a message, in nanoseconds: many rotations.
const PAUSE_NANOS: u64 = 1_000_000;
/// Time for the machines to finish after the last message.
const AFTERWARDS: Duration = Duration::from_secs(5);

/// Reason why an operation cannot be measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// The message does not fit into a frame.
    TooLong {
        /// Limit of octets.
        most_octets: usize,
    },
    /// There are no such machines, or they act without end.
    Machine(String),
    /// A message was not delivered.
    Undelivered(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { most_octets } => write!(f, "at most {most_octets} octets fit"),
            Self::Machine(why) => f.write_str(why),
            Self::Undelivered(why) => write!(f, "a message was not delivered: {why}"),
        }
    }
}

impl core::error::Error for Error {}

/// Limit of octets of a message, or of a frame's data for operations below LLC.
#[must_use]
pub const fn most_octets(operation: Operation, service: Service) -> usize {
    match operation.layer() {
        // Transport divides longer messages.
        Layer::Llc if operation.top().is_some() => MOST_DATA_OCTETS,
        Layer::Mac => MOST_DATA_OCTETS,
        Layer::Llc if service.crc => MOST_DATA_OCTETS - LLC_OCTETS - CHECK_OCTETS,
        Layer::Llc => MOST_DATA_OCTETS - LLC_OCTETS,
    }
}

impl Operation {
    /// Layer whose work it includes.
    #[must_use]
    pub const fn layer(self) -> Layer {
        match self {
            Self::BufferWrite
            | Self::BufferTransmit
            | Self::BufferRead
            | Self::MacEndToEnd
            | Self::MacTransmit => Layer::Mac,
            Self::LlcTransmit
            | Self::LlcReceive
            | Self::LlcEndToEnd
            | Self::TransportEndToEnd
            | Self::SessionEndToEnd
            | Self::CaseEndToEnd
            | Self::MmsEndToEnd => Layer::Llc,
        }
    }

    /// True if it is the inverse of a rate, so that messages follow each other at once.
    const fn is_rate(self) -> bool {
        matches!(self, Self::MacTransmit | Self::LlcTransmit)
    }
}

/// Repeats an operation on two machines of this profile, after one repetition that is not counted.
///
/// # Errors
/// Returns an error if a message does not fit or does not arrive, or the profile has no valid
/// machine.
pub fn measure(
    profile: &Profile,
    operation: Operation,
    service: Service,
    octets: usize,
    messages: u64,
    seed: u64,
) -> Result<Measurement, Error> {
    let most_octets = most_octets(operation, service);
    if octets > most_octets {
        return Err(Error::TooLong { most_octets });
    }
    let stream = Stream::named(seed, &format!("layers/{operation}/{service}/{octets}"));
    let run = Plan { operation, service, octets, messages, stream, is_followed: false }
        .carry_out(profile)?;
    let mut times = Histogram::new();
    run.times(operation).for_each(|time| times.record(time));
    let count = u32::try_from(messages + 1).unwrap_or(u32::MAX);
    let [sender, receiver] = run.processors.map(|busy| busy / count);
    let processor = match operation {
        Operation::BufferWrite | Operation::MacTransmit | Operation::LlcTransmit => Some(sender),
        Operation::BufferRead | Operation::LlcReceive => Some(receiver),
        Operation::BufferTransmit => None,
        _ => Some(sender + receiver),
    };
    Ok(Measurement { operation, service, octets, times, processor })
}

/// Course of one message of the messaging service through sender, ring and receiver.
#[derive(Clone, PartialEq, Debug)]
pub struct Course {
    /// Call of the sender's user.
    pub request: Instant,
    /// End of the transmission, as the sender's user sees it: with the acknowledgement if one was asked for.
    pub confirm: Instant,
    /// Delivery to the receiver's user.
    pub indication: Instant,
    /// Work of the sender's machine, then of the receiver's.
    pub work: [Vec<Work>; 2],
    /// Frames on the ring, in their order.
    pub frames: Vec<OnTheRing>,
}

/// Frame on the ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OnTheRing {
    /// True for a frame of the message's sender.
    pub is_message: bool,
    /// First bit.
    pub begin: Instant,
    /// Last bit.
    pub end: Instant,
}

/// Sends one message between two idle machines of this profile and follows it.
///
/// # Errors
/// As [`measure`].
pub fn follow(
    profile: &Profile,
    service: Service,
    octets: usize,
    seed: u64,
) -> Result<Course, Error> {
    let operation = Operation::LlcEndToEnd;
    let most_octets = most_octets(operation, service);
    if octets > most_octets {
        return Err(Error::TooLong { most_octets });
    }
    let stream = Stream::named(seed, &format!("course/{service}/{octets}"));
    let run = Plan { operation, service, octets, messages: 0, stream, is_followed: true }
        .carry_out(profile)?;
    let first = |instants: &[Instant]| {
        let missing = || Error::Undelivered("nothing happens any more".to_owned());
        instants.first().copied().ok_or_else(missing)
    };
    Ok(Course {
        request: first(&run.given)?,
        confirm: first(&run.completed)?,
        indication: first(&run.delivered)?,
        work: run.work,
        frames: run.frames,
    })
}

/// Station at the upper edge of a layer.
trait Edge: Station {
    /// Opens its connection, if it needs one.
    fn open(&mut self, _now: Instant) {}
    /// Returns true if messages can be submitted.
    fn is_ready(&self) -> bool {
        true
    }
    /// Submits a message.
    fn give(&mut self, now: Instant, octets: usize);
    /// Number of messages completed so far.
    fn completed(&self) -> usize;
    /// Number of messages delivered so far.
    fn delivered(&self) -> usize;
    /// Processes the station's outputs.
    ///
    /// # Errors
    /// Returns an error if a message failed.
    fn look(&mut self, now: Instant) -> Result<(), Error>;
}

/// Parameters of the repetitions.
struct Plan {
    operation: Operation,
    service: Service,
    octets: usize,
    messages: u64,
    stream: Stream,
    /// True if tasks and frames are recorded.
    is_followed: bool,
}

/// Times of the events of each message, the first included.
#[derive(Default)]
struct Run {
    given: Vec<Instant>,
    written: Vec<Instant>,
    on_the_ring: Vec<Duration>,
    frames: Vec<OnTheRing>,
    work: [Vec<Work>; 2],
    completed: Vec<Instant>,
    arrived: Vec<Instant>,
    delivered: Vec<Instant>,
    processors: [Duration; 2],
}

impl Run {
    /// Times of an operation for each message but the first.
    fn times(&self, operation: Operation) -> Box<dyn Iterator<Item = Duration> + '_> {
        let from = |begins: &'_ [Instant], ends: &'_ [Instant]| {
            let times: Vec<Duration> =
                begins.iter().zip(ends).map(|(begin, end)| end.since(*begin)).collect();
            Box::new(times.into_iter().skip(1))
        };
        match operation {
            Operation::BufferWrite => from(&self.given, &self.written),
            Operation::BufferTransmit => Box::new(self.on_the_ring.iter().copied().skip(1)),
            Operation::BufferRead | Operation::LlcReceive => from(&self.arrived, &self.delivered),
            Operation::MacEndToEnd
            | Operation::LlcEndToEnd
            | Operation::TransportEndToEnd
            | Operation::SessionEndToEnd
            | Operation::CaseEndToEnd
            | Operation::MmsEndToEnd => from(&self.given, &self.delivered),
            // From the end of one message to the end of the next, which is submitted then.
            Operation::MacTransmit | Operation::LlcTransmit => from(&self.given, &self.completed),
        }
    }

    /// Appends `now` until there are `count` instants.
    fn note(instants: &mut Vec<Instant>, count: usize, now: Instant) {
        instants.resize(count.max(instants.len()), now);
    }
}

impl Plan {
    fn carry_out(self, profile: &Profile) -> Result<Run, Error> {
        if let Some(top) = upper::top(self.operation, profile) {
            return self.above_llc(profile, top);
        }
        let [one, two] = [Mac::local(1), Mac::local(2)];
        match self.operation.layer() {
            Layer::Mac => {
                let stations = [Bare::new(one, two), Bare::new(two, one)];
                self.run(profile, stations, &BTreeSet::new())
            }
            Layer::Llc => {
                let service = self.service;
                let stations = [User::new(one, two, service)?, User::new(two, one, service)?];
                let checked =
                    if service.crc { BTreeSet::from([Sap(SOCKET)]) } else { BTreeSet::new() };
                self.run(profile, stations, &checked)
            }
        }
    }

    fn run<S: Edge>(
        self,
        profile: &Profile,
        stations: [S; 2],
        checked: &BTreeSet<Sap>,
    ) -> Result<Run, Error> {
        let host = profile.host(self.operation.layer(), MediumKind::ProNet10, NoBuffer::Refused);
        let medium = TokenRing::new(Ring::pronet_10(2, RING_METRES)).map_err(machine)?;
        let costed = |station| WithCpu::new(station, host.clone(), checked.clone());
        let stations: Result<Vec<_>, _> = stations.into_iter().map(costed).collect();
        self.run_on(medium, stations.map_err(machine)?)
    }

    /// Carries it out on this medium.
    fn run_on<M: Medium, S: Edge>(
        mut self,
        medium: M,
        mut stations: Vec<WithCpu<S>>,
    ) -> Result<Run, Error> {
        if self.is_followed {
            stations.iter_mut().for_each(WithCpu::record_work);
        }
        let mut world = World::new(medium, stations).map_err(machine)?;
        open(&mut world)?;
        let before: Vec<Duration> = world.stations().iter().map(WithCpu::processor_time).collect();
        let mut run = Run::default();
        for number in 1..=usize::try_from(self.messages).unwrap_or(usize::MAX).saturating_add(1) {
            if number == 1 || !self.operation.is_rate() {
                let pause = Duration::from_nanos(self.stream.below(PAUSE_NANOS));
                world.run(world.now() + pause, |_| {}).map_err(machine)?;
            }
            let now = world.now();
            run.given.push(now);
            world.stations_mut()[0].station_mut().give(now, self.octets);
            world.wake(0);
            let mut is_over = false;
            while !is_over {
                let Run { on_the_ring, frames, .. } = &mut run;
                let step = world.step(|passage| {
                    let (begin, end) = (passage.started, passage.at);
                    let is_message = passage.source == 0;
                    if is_message {
                        on_the_ring.push(end.since(begin));
                    }
                    if self.is_followed {
                        frames.push(OnTheRing { is_message, begin, end });
                    }
                });
                let Some(now) = step.map_err(machine)? else {
                    return Err(Error::Undelivered("nothing happens any more".to_owned()));
                };
                run.look(&mut world, now)?;
                is_over = run.completed.len() >= number
                    && (self.operation.is_rate() || run.delivered.len() >= number);
            }
        }
        world.run(world.now() + AFTERWARDS, |_| {}).map_err(machine)?;
        let stations = world.stations().iter().zip(before);
        for (slot, (station, before)) in run.processors.iter_mut().zip(stations) {
            *slot = station.processor_time() - before;
        }
        for (slot, station) in run.work.iter_mut().zip(world.stations()) {
            *slot = station.recorded().to_vec();
        }
        Ok(run)
    }
}

impl Run {
    fn look<M: Medium, S: Edge>(
        &mut self,
        world: &mut World<M, WithCpu<S>>,
        now: Instant,
    ) -> Result<(), Error> {
        let [sender, receiver] = world.stations_mut() else { return Ok(()) };
        sender.station_mut().look(now)?;
        receiver.station_mut().look(now)?;
        let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        Self::note(&mut self.written, count(sender.counters().written), now);
        Self::note(&mut self.completed, sender.station().completed(), now);
        Self::note(&mut self.arrived, count(receiver.counters().arrived), now);
        Self::note(&mut self.delivered, receiver.station().delivered(), now);
        Ok(())
    }
}

/// Opens the connection between the stations, if there is one, and lets them come to rest.
fn open<M: Medium, S: Edge>(world: &mut World<M, WithCpu<S>>) -> Result<(), Error> {
    let is_ready = |world: &World<M, WithCpu<S>>| {
        world.stations().iter().all(|station| station.station().is_ready())
    };
    if is_ready(world) {
        return Ok(());
    }
    let now = world.now();
    world.stations_mut()[0].station_mut().open(now);
    world.wake(0);
    while !is_ready(world) {
        if world.step(|_| {}).map_err(machine)?.is_none() {
            return Err(Error::Undelivered("no connection opened".to_owned()));
        }
    }
    world.run(world.now() + AFTERWARDS, |_| {}).map_err(machine)
}

fn machine(error: impl fmt::Display) -> Error {
    Error::Machine(error.to_string())
}

/// Station without LLC: sends frames that are ready, and accepts any frame.
struct Bare {
    address: Mac,
    peer: Mac,
    frames: VecDeque<Frame>,
    completed: usize,
    refused: bool,
    delivered: usize,
}

impl Bare {
    const fn new(address: Mac, peer: Mac) -> Self {
        let frames = VecDeque::new();
        Self { address, peer, frames, completed: 0, refused: false, delivered: 0 }
    }
}

impl Station for Bare {
    fn addr(&self) -> Mac {
        self.address
    }

    fn receive(&mut self, _now: Instant, _frame: Frame) {
        self.delivered += 1;
    }

    fn expire(&mut self, _now: Instant) {}

    fn deadline(&self) -> Option<Deadline> {
        None
    }

    fn poll(&mut self) -> Option<Frame> {
        self.frames.pop_front()
    }

    fn transmitted(&mut self, _now: Instant, _queue: u8, outcome: Transmission) {
        self.completed += 1;
        self.refused |= outcome != Transmission::Sent;
    }
}

impl Edge for Bare {
    fn give(&mut self, _now: Instant, octets: usize) {
        let mut frame = Frame::new(Bytes::from(vec![0; octets]));
        frame.prepend(&mac::header(self.peer, self.address, 0));
        self.frames.push_back(frame);
    }

    fn completed(&self) -> usize {
        self.completed
    }

    fn delivered(&self) -> usize {
        self.delivered
    }

    fn look(&mut self, _now: Instant) -> Result<(), Error> {
        if self.refused {
            return Err(Error::Undelivered("it was refused".to_owned()));
        }
        Ok(())
    }
}

/// Station with the messaging service.
struct User {
    messenger: Messenger,
    peer: Address,
    crc: bool,
    completed: usize,
    delivered: usize,
}

impl User {
    fn new(address: Mac, peer: Mac, service: Service) -> Result<Self, Error> {
        let link = type3::Params {
            acknowledgement_time: PATIENCE,
            transmissions: 1,
            receive_lifetime: PATIENCE * 2,
            information_octets: MOST_DATA_OCTETS - LLC_OCTETS,
            first: First::AtZero,
            ..type3::Params::lan()
        };
        let params = Params { sockets: 1, link, ..Params::lan() };
        let mut messenger =
            Messenger::framed(address, params, Framing::WholeFrame).map_err(machine)?;
        let options = Options {
            transmit_indication: true,
            receive_indication: true,
            crc: service.crc,
            acknowledged: service.acknowledgement,
            ..Options::plain()
        };
        let sockets = &mut messenger.sockets;
        let opened = sockets.open(Instant::ZERO, SOCKET).is_accepted()
            && sockets.option(SOCKET, options).is_accepted();
        let peer = Address { station: peer, socket: SOCKET };
        let mut user = Self { messenger, peer, crc: service.crc, completed: 0, delivered: 0 };
        if !opened || !user.enable(Instant::ZERO) {
            return Err(Error::Machine("there is no socket".to_owned()));
        }
        Ok(user)
    }

    /// Enables a receive buffer.
    fn enable(&mut self, now: Instant) -> bool {
        let check_octets = if self.crc { CHECK_OCTETS } else { 0 };
        let octets = MOST_DATA_OCTETS - LLC_OCTETS - check_octets;
        self.messenger.sockets.enable_reception(now, SOCKET, octets).is_accepted()
    }
}

impl Station for User {
    fn addr(&self) -> Mac {
        self.messenger.addr()
    }

    fn receive(&mut self, now: Instant, frame: Frame) {
        self.messenger.receive(now, frame);
    }

    fn expire(&mut self, now: Instant) {
        self.messenger.expire(now);
    }

    fn deadline(&self) -> Option<Deadline> {
        self.messenger.deadline()
    }

    fn poll(&mut self) -> Option<Frame> {
        self.messenger.poll()
    }

    fn queue_of(&self, frame: &Frame) -> u8 {
        self.messenger.queue_of(frame)
    }

    fn transmitted(&mut self, now: Instant, queue: u8, outcome: Transmission) {
        self.messenger.transmitted(now, queue, outcome);
    }
}

impl Edge for User {
    fn give(&mut self, now: Instant, octets: usize) {
        let data = Bytes::from(vec![0; octets]);
        let outcome = self.messenger.sockets.transmit(now, SOCKET, self.peer, data);
        assert!(outcome.is_accepted(), "the message before is over and this one fits: {outcome}");
    }

    fn completed(&self) -> usize {
        self.completed
    }

    fn delivered(&self) -> usize {
        self.delivered
    }

    fn look(&mut self, now: Instant) -> Result<(), Error> {
        while let Some(indication) = self.messenger.indication() {
            let (Indication::Transmitted { completion, .. }
            | Indication::Received { completion, .. }) = indication;
            match completion {
                Completion::Done => {}
                Completion::Failed(why) => return Err(Error::Undelivered(why.to_string())),
                Completion::TimedOut => return Err(Error::Undelivered("it timed out".to_owned())),
            }
            match indication {
                Indication::Transmitted { .. } => self.completed += 1,
                Indication::Received { .. } => {
                    self.messenger.sockets.take(SOCKET);
                    self.delivered += 1;
                    self.enable(now);
                }
            }
        }
        Ok(())
    }
}

//! Station wrapped in its machine's processing costs.

use super::buffers::{Arrival, Buffers};
use super::schedule::{self, Schedule, Step, Usage};
use super::{Invalid, Params, Task};
use core::time::Duration;
use stack::machine::Deadline;
use stack::station::{Frame, PRIORITIES, Station, Transmission, Work};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use wire::addr::{Mac, Sap};
use wire::crc16::CHECK_OCTETS;
use wire::llc::RESPONSE;
use wire::mac;
use wire::time::Instant;

/// Octets of an LLC header in U format: DSAP, SSAP, control.
const LLC_OCTETS: usize = 3;
/// Octets of a tag of 802.1Q.
const TAG_OCTETS: usize = 4;

/// Counters of frames between the medium and the station.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Frames written to the interface's buffer for transmission.
    pub written: u64,
    /// Frames that arrived from the medium, including those without a buffer.
    pub arrived: u64,
    /// Frames of the station that were dropped because the outgoing queue was full.
    pub queue_drops: u64,
    /// Frames that arrived and found no buffer.
    pub lost: u64,
    /// Frames that arrived just after the buffer was taken, and got it next.
    pub late: u64,
}

/// Processing stage of a frame, or work of a layer.
#[derive(Clone, Debug)]
enum Stage {
    Layer(Work),
    Send(Frame),
    Write(Frame),
    Complete { queue: u8, outcome: Transmission },
    Read(Frame),
    Receive(Frame),
}

#[derive(Clone, Debug)]
struct Job {
    stage: Stage,
    /// Number of the stage's tasks that are done.
    done: usize,
    octets: usize,
    checked_octets: usize,
    /// Service access point of the frame's LPDU.
    sap: Option<Sap>,
}

/// Station whose frames cost processing time on its machine.
#[derive(Clone, Debug)]
pub struct WithCpu<S> {
    station: S,
    params: Params,
    checked: BTreeSet<Sap>,
    schedule: Schedule,
    buffers: Buffers,
    jobs: BTreeMap<u64, Job>,
    next_job: u64,
    /// Frames of the station that the medium has not yet been given.
    outgoing: usize,
    /// Frames that the medium gets next.
    ready: VecDeque<Frame>,
    /// Lengths in octets of the frames that the medium has, by MAC queue.
    away: [VecDeque<usize>; PRIORITIES],
    counters: Counters,
}

impl<S: Station> WithCpu<S> {
    /// Puts a station on a machine. `checked` lists the SAPs whose LSDUs end with a CRC made and
    /// checked in software; it contains [`Sap::ISO_NETWORK`] if TPDUs have a checksum.
    ///
    /// # Errors
    /// Fails if the parameters are inconsistent.
    pub fn new(station: S, params: Params, checked: BTreeSet<Sap>) -> Result<Self, Invalid> {
        params.check()?;
        Ok(Self {
            station,
            checked,
            schedule: Schedule::new(&params.resources),
            buffers: Buffers::new(params.interface, params.no_buffer),
            params,
            jobs: BTreeMap::new(),
            next_job: 0,
            outgoing: 0,
            ready: VecDeque::new(),
            away: Default::default(),
            counters: Counters::default(),
        })
    }

    /// Wrapped station.
    #[must_use]
    pub const fn station(&self) -> &S {
        &self.station
    }

    /// Mutable access to the wrapped station, to fetch its users' results.
    #[must_use]
    pub const fn station_mut(&mut self) -> &mut S {
        &mut self.station
    }

    /// Busy time of each resource, completed work only.
    #[must_use]
    pub fn usage(&self) -> &[Usage] {
        self.schedule.usage()
    }

    /// Time of each task so far, summed over all frames, regardless of the resources it used.
    #[must_use]
    pub const fn time_by_task(&self) -> &BTreeMap<String, Duration> {
        self.schedule.by_task()
    }

    /// Records each task with its times from now on. Memory grows with every task.
    pub fn record_work(&mut self) {
        self.schedule.record();
    }

    /// Recorded tasks, in the order in which they ended; a suspended task appears in parts.
    #[must_use]
    pub fn recorded(&self) -> &[schedule::Work] {
        self.schedule.work()
    }

    /// Busy time of all processors together.
    #[must_use]
    pub fn processor_time(&self) -> Duration {
        self.usage().iter().filter(|usage| usage.is_processor).map(|usage| usage.busy).sum()
    }

    /// Counters of the run so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Number of octets of a frame over which software computes a CRC, or transport its checksum; 0
    /// for LLC's own responses.
    fn checked_octets(&self, frame: &Frame, is_outgoing: bool) -> usize {
        let Some(Llc { destination: to, source, before }) = Llc::of(frame) else { return 0 };
        if source & RESPONSE != 0 || !self.checked.contains(&to) {
            return 0;
        }
        // A sender has yet to append the CRC that a receiver checks as well. A TPDU has its
        // checksum among its parameters.
        let appended = if is_outgoing && to != Sap::ISO_NETWORK { CHECK_OCTETS } else { 0 };
        frame.len().saturating_sub(before + LLC_OCTETS + appended)
    }

    fn begin(&mut self, now: Instant, job: u64) {
        let Some(Job { stage, done, octets, checked_octets, sap }) = self.jobs.get_mut(&job) else {
            return;
        };
        let tasks = &self.params.tasks;
        let list: &[Task] = match stage {
            Stage::Layer(work) => tasks.of(work.charge),
            Stage::Send(_) => &tasks.send,
            Stage::Write(_) => &tasks.write,
            Stage::Complete { .. } => &tasks.complete,
            Stage::Read(_) => &tasks.read,
            Stage::Receive(_) => &tasks.receive,
        };
        // Skips tasks that belong to other SAPs.
        let is_due = |task: &Task| task.sap.is_none() || task.sap == *sap;
        *done += list.iter().skip(*done).take_while(|task| !is_due(task)).count();
        match list.get(*done) {
            Some(task) => self.schedule.put(Step {
                job,
                task: task.name.clone(),
                uses: task.uses.clone(),
                level: task.level,
                left: task.cost.of(*octets, task.checked(*sap, *checked_octets)),
            }),
            None => self.end_stage(now, job),
        }
    }

    /// Handles the end of a stage: all its tasks for this frame are done.
    fn end_stage(&mut self, now: Instant, job: u64) {
        let Some(Job { stage, octets, checked_octets, sap, .. }) = self.jobs.remove(&job) else {
            return;
        };
        let go_on = |stage| Job { stage, done: 0, octets, checked_octets, sap };
        match stage {
            Stage::Layer(work) => self.station.worked(now, work),
            Stage::Send(frame) => {
                self.jobs.insert(job, go_on(Stage::Write(frame)));
                if self.buffers.claim(job) {
                    self.begin(now, job);
                }
            }
            Stage::Write(frame) => {
                self.counters.written += 1;
                let queue = usize::from(self.station.queue_of(&frame));
                if let Some(away) = self.away.get_mut(queue) {
                    away.push_back(octets);
                }
                self.ready.push_back(frame);
            }
            Stage::Complete { queue, outcome } => self.station.transmitted(now, queue, outcome),
            Stage::Read(frame) => {
                self.buffers.read();
                self.jobs.insert(job, go_on(Stage::Receive(frame)));
                self.begin(now, job);
                self.hand_on_buffers(now);
            }
            Stage::Receive(frame) => self.station.receive(now, frame),
        }
    }

    fn hand_on_buffers(&mut self, now: Instant) {
        while let Some(job) = self.buffers.admit().or_else(|| self.buffers.grant()) {
            self.begin(now, job);
        }
    }

    fn add(&mut self, stage: Stage, octets: usize, checked_octets: usize) -> u64 {
        let job = self.next_job;
        self.next_job += 1;
        let sap = match &stage {
            Stage::Send(frame)
            | Stage::Write(frame)
            | Stage::Read(frame)
            | Stage::Receive(frame) => sap(frame),
            Stage::Layer(work) => Some(work.sap),
            Stage::Complete { .. } => None,
        };
        self.jobs.insert(job, Job { stage, done: 0, octets, checked_octets, sap });
        job
    }

    /// Does all work that is possible now.
    fn settle(&mut self, now: Instant) {
        loop {
            while let Some(job) = self.schedule.finished(now) {
                if let Some(job) = self.jobs.get_mut(&job) {
                    job.done += 1;
                }
                self.begin(now, job);
            }
            if let Some(work) = self.station.work() {
                let job = self.add(Stage::Layer(work), work.octets, 0);
                self.begin(now, job);
                continue;
            }
            let Some(frame) = self.station.poll() else { return };
            if self.outgoing >= self.params.queue_frames {
                self.counters.queue_drops += 1;
                let queue = self.station.queue_of(&frame);
                self.station.transmitted(now, queue, Transmission::NotTaken);
                continue;
            }
            self.outgoing += 1;
            let octets = frame.len().saturating_sub(mac::HEADER_OCTETS);
            let checked = self.checked_octets(&frame, true);
            let job = self.add(Stage::Send(frame), octets, checked);
            self.begin(now, job);
        }
    }
}

/// LLC header of a frame.
struct Llc {
    /// DSAP.
    destination: Sap,
    /// SSAP, with the bit of a response.
    source: u8,
    /// Octets in front of it: addresses, the tag of 802.1Q if there is one, and length or type.
    before: usize,
}

impl Llc {
    /// Header of a frame; `None` for one with an EtherType.
    fn of(frame: &Frame) -> Option<Self> {
        // Frames of rings and token buses have other fields after their addresses, which is_type knows.
        const TAG: [u8; 2] = [0x81, 0];
        let [.., kind_1, kind_2, destination, source, _] =
            frame.first::<{ mac::HEADER_OCTETS + LLC_OCTETS }>()?;
        if [kind_1, kind_2] != TAG {
            let found = Self { destination: Sap(destination), source, before: mac::HEADER_OCTETS };
            return (!is_type([kind_1, kind_2])).then_some(found);
        }
        let [.., kind_1, kind_2, destination, source, _] =
            frame.first::<{ mac::HEADER_OCTETS + TAG_OCTETS + LLC_OCTETS }>()?;
        let before = mac::HEADER_OCTETS + TAG_OCTETS;
        let found = Self { destination: Sap(destination), source, before };
        (!is_type([kind_1, kind_2])).then_some(found)
    }
}

/// True for an EtherType of other data than LLC. AC of a ring has its token bit set, before an FC of
/// 01YYYYYY, and on a token bus the octet before FC is zero: neither is one.
const fn is_type([high, low]: [u8; 2]) -> bool {
    const TOKEN: u8 = 0x10;
    let is_ring = high & TOKEN != 0 && low & 0xC0 == 0x40;
    let number = u16::from_be_bytes([high, low]);
    number >= mac::FIRST_TYPE && number != mac::LLC_ENCAPSULATION && !is_ring
}

/// Service access point to which a frame's LPDU goes.
fn sap(frame: &Frame) -> Option<Sap> {
    Llc::of(frame).map(|llc| llc.destination)
}

impl<S: Station> Station for WithCpu<S> {
    fn addr(&self) -> Mac {
        self.station.addr()
    }

    fn receive(&mut self, now: Instant, frame: Frame) {
        let octets = frame.len().saturating_sub(mac::HEADER_OCTETS);
        let checked = self.checked_octets(&frame, false);
        let job = self.add(Stage::Read(frame), octets, checked);
        self.counters.arrived += 1;
        match self.buffers.arrive(job) {
            Arrival::Taken => self.begin(now, job),
            Arrival::Late => self.counters.late += 1,
            Arrival::Lost => {
                self.counters.lost += 1;
                self.jobs.remove(&job);
            }
        }
        self.settle(now);
    }

    fn expire(&mut self, now: Instant) {
        self.settle(now);
        self.station.expire(now);
        self.settle(now);
    }

    fn deadline(&self) -> Option<Deadline> {
        let task = self.schedule.deadline().map(|at| Deadline { at, timer: "end of task" });
        Deadline::earlier(task, self.station.deadline())
    }

    fn poll(&mut self) -> Option<Frame> {
        let frame = self.ready.pop_front()?;
        self.outgoing -= 1;
        Some(frame)
    }

    fn queue_of(&self, frame: &Frame) -> u8 {
        self.station.queue_of(frame)
    }

    fn transmitted(&mut self, now: Instant, queue: u8, outcome: Transmission) {
        // Later frames of the station may already be queued here, so this frame is not its newest
        // one.
        let outcome = match outcome {
            Transmission::NotTaken => Transmission::GivenUp,
            Transmission::Sent | Transmission::GivenUp | Transmission::Refused => outcome,
        };
        let away = self.away.get_mut(usize::from(queue));
        let octets = away.and_then(VecDeque::pop_front).unwrap_or(0);
        self.buffers.sent();
        let job = self.add(Stage::Complete { queue, outcome }, octets, 0);
        self.begin(now, job);
        self.hand_on_buffers(now);
        self.settle(now);
    }

    fn has_receive_buffer(&self) -> bool {
        self.buffers.has_receive_buffer() && self.station.has_receive_buffer()
    }
}

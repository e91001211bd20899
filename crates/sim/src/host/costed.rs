//! A station behind its machine.

use super::buffers::{Arrival, Buffers};
use super::schedule::{Schedule, Step, Usage, Work};
use super::{Invalid, Params, Task};
use core::time::Duration;
use stack::machine::Deadline;
use stack::station::{Crossing, Frame, PRIORITIES, Station, Transmission, Way};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use wire::addr::{Mac, Sap};
use wire::crc16::CHECK_OCTETS;
use wire::llc::RESPONSE;
use wire::mac;
use wire::time::Instant;

/// Octets of an LLC header in U format: DSAP, SSAP, control.
const LLC_OCTETS: usize = 3;

/// How often things happened to frames between the medium and the station.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Frames that are in the interface's buffer, or were: written, for the medium to send.
    pub written: u64,
    /// Frames that arrived from the medium, those without a buffer included.
    pub arrived: u64,
    /// Frames that the station sent and that were given up, since too many were on their way out.
    pub queue_drops: u64,
    /// Frames that arrived and found no buffer.
    pub lost: u64,
    /// Frames that arrived just after the buffer was taken, and got it next.
    pub late: u64,
}

/// Where a frame is on its way.
#[derive(Clone, Debug)]
enum Stage {
    Cross(Crossing),
    Send(Frame),
    Write(Frame),
    Complete { queue: u8, outcome: Transmission },
    Read(Frame),
    Receive(Frame),
}

#[derive(Clone, Debug)]
struct Job {
    stage: Stage,
    /// How many of the stage's tasks are done.
    done: usize,
    octets: usize,
    checked_octets: usize,
    /// The service access point of a frame's LPDU.
    sap: Option<Sap>,
}

/// A station whose frames cost its machine time.
#[derive(Clone, Debug)]
pub struct Costed<S> {
    station: S,
    params: Params,
    checked: BTreeSet<Sap>,
    schedule: Schedule,
    buffers: Buffers,
    jobs: BTreeMap<u64, Job>,
    next_job: u64,
    /// Frames of the station that the medium has not been given yet.
    outgoing: usize,
    /// What the medium gets next.
    ready: VecDeque<Frame>,
    /// Octets of the frames that the medium has, by MAC queue.
    away: [VecDeque<usize>; PRIORITIES],
    counters: Counters,
}

impl<S: Station> Costed<S> {
    /// A station on a machine. `checked` are the SAPs to which LSDUs go that end with a CRC, which
    /// software makes and checks; [`Sap::ISO_NETWORK`] is among them where TPDUs have a checksum.
    ///
    /// # Errors
    /// Where there cannot be such a machine.
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

    /// The station itself.
    #[must_use]
    pub const fn station(&self) -> &S {
        &self.station
    }

    /// The station itself, to fetch what it has for its users.
    #[must_use]
    pub const fn station_mut(&mut self) -> &mut S {
        &mut self.station
    }

    /// How long each resource was busy with what is over.
    #[must_use]
    pub fn usage(&self) -> &[Usage] {
        self.schedule.usage()
    }

    /// How long each task took so far, all frames together, whatever resources it used.
    #[must_use]
    pub const fn time_by_task(&self) -> &BTreeMap<String, Duration> {
        self.schedule.by_task()
    }

    /// Records each task with its times from now on; memory grows with every task.
    pub fn record_work(&mut self) {
        self.schedule.record();
    }

    /// Tasks that were recorded, in the order in which they ended; a suspended one in parts.
    #[must_use]
    pub fn work(&self) -> &[Work] {
        self.schedule.work()
    }

    /// How long its processors were busy, all together.
    #[must_use]
    pub fn processor_time(&self) -> Duration {
        self.usage().iter().filter(|usage| usage.is_processor).map(|usage| usage.busy).sum()
    }

    /// How often things happened.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Octets of a frame over which software makes or checks a CRC, or transport its checksum. LLC's
    /// own responses have none.
    fn checked_octets(&self, frame: &Frame, is_outgoing: bool) -> usize {
        let Some(header) = frame.first::<{ mac::HEADER_OCTETS + LLC_OCTETS }>() else { return 0 };
        let [.., destination, source, _] = header;
        let to = Sap(destination);
        if source & RESPONSE != 0 || !self.checked.contains(&to) {
            return 0;
        }
        // A sender has yet to append the CRC that a receiver goes over as well; a TPDU has its checksum
        // among its parameters.
        let appended = if is_outgoing && to != Sap::ISO_NETWORK { CHECK_OCTETS } else { 0 };
        frame.len().saturating_sub(header.len() + appended)
    }

    fn begin(&mut self, now: Instant, job: u64) {
        let Some(Job { stage, done, octets, checked_octets, sap }) = self.jobs.get_mut(&job) else {
            return;
        };
        let tasks = &self.params.tasks;
        let list: &[Task] = match stage {
            Stage::Cross(Crossing { way: Way::Down, .. }) => &tasks.submit,
            Stage::Cross(Crossing { way: Way::Up, .. }) => &tasks.deliver,
            Stage::Send(_) => &tasks.send,
            Stage::Write(_) => &tasks.write,
            Stage::Complete { .. } => &tasks.complete,
            Stage::Read(_) => &tasks.read,
            Stage::Receive(_) => &tasks.receive,
        };
        // Work for other frames is left out.
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

    /// All tasks of a frame's stage are done.
    fn end_stage(&mut self, now: Instant, job: u64) {
        let Some(Job { stage, octets, checked_octets, sap, .. }) = self.jobs.remove(&job) else {
            return;
        };
        let go_on = |stage| Job { stage, done: 0, octets, checked_octets, sap };
        match stage {
            Stage::Cross(crossing) => self.station.crossed(now, crossing),
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
            Stage::Cross(crossing) => Some(crossing.sap),
            Stage::Complete { .. } => None,
        };
        self.jobs.insert(job, Job { stage, done: 0, octets, checked_octets, sap });
        job
    }

    /// Does everything that can be done now.
    fn settle(&mut self, now: Instant) {
        loop {
            while let Some(job) = self.schedule.finished(now) {
                if let Some(job) = self.jobs.get_mut(&job) {
                    job.done += 1;
                }
                self.begin(now, job);
            }
            if let Some(crossing) = self.station.crossing() {
                let job = self.add(Stage::Cross(crossing), crossing.octets, 0);
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

/// To which service access point a frame's LPDU goes.
fn sap(frame: &Frame) -> Option<Sap> {
    let [.., destination, _, _] = frame.first::<{ mac::HEADER_OCTETS + LLC_OCTETS }>()?;
    Some(Sap(destination))
}

impl<S: Station> Station for Costed<S> {
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
        // Later frames of the station may be on their way here already: it is not its last one.
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

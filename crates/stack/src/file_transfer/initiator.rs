//! Initiator: requests each service of a regime, and transfers one file after the other.

use super::moving::{Receiving, Sending};
use super::service::{Apdu, Failure, Indication, Job, Note, Request};
use super::store::Store;
use crate::machine::{Deadline, Machine, Output, Timer};
use bytes::Bytes;
use core::time::Duration;
use std::collections::VecDeque;
use wire::file_transfer::{Mode, Pdu, Status, VERSION};
use wire::time::Instant;

/// Maximum number of jobs that wait.
const MOST_JOBS: usize = 16;

/// Service whose response is awaited, or regime without any.
#[derive(Clone, Debug)]
enum State {
    /// No regime.
    Idle,
    /// F-INITIALIZE.
    Initializing,
    /// Regime of the association, without a file.
    Initialized,
    /// F-SELECT.
    Selecting(Job),
    /// F-OPEN.
    Opening(Job, u64),
    /// F-DATA and F-DATA-END of the peer.
    Reading(Job, Receiving),
    /// This side sends F-DATA.
    Writing(Job, Sending),
    /// F-TRANSFER-END.
    Ending(Job, Progress),
    /// F-CLOSE.
    Closing,
    /// F-DESELECT.
    Deselecting,
    /// F-TERMINATE.
    Terminating,
    /// The regime has ended, or failed.
    Over,
}

/// Result of the data of a file, from this side.
#[derive(Clone, Copy, Debug)]
struct Progress {
    status: Status,
    octets: u64,
}

/// Initiator on one association.
#[derive(Clone, Debug)]
pub struct Initiator {
    state: State,
    store: Store,
    patience: Duration,
    timer: Timer,
    jobs: VecDeque<Job>,
    /// True if the regime is to be terminated after the last job.
    terminates: bool,
    outputs: VecDeque<Output<Apdu, Indication, Note>>,
}

impl Initiator {
    /// Creates an initiator with files to write, and room for those to read. It waits up to `patience`
    /// for each response, and for each F-DATA.
    #[must_use]
    pub const fn new(store: Store, patience: Duration) -> Self {
        Self {
            state: State::Idle,
            store,
            patience,
            timer: Timer::new("patience"),
            jobs: VecDeque::new(),
            terminates: false,
            outputs: VecDeque::new(),
        }
    }

    /// Files.
    #[must_use]
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// Mutable access to the files.
    pub const fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    /// Returns true if it has data to send as soon as there is room.
    #[must_use]
    pub const fn wants_room(&self) -> bool {
        matches!(self.state, State::Writing(..))
    }

    /// Sends the next F-DATA, or the end of the file: called when there is room for one more.
    pub fn fill(&mut self, now: Instant) {
        let State::Writing(job, sending) = &mut self.state else { return };
        self.timer.start(now + self.patience);
        match sending.next(&self.store) {
            Ok(data) => {
                let eot = sending.each_eot;
                self.outputs.push_back(Output::Send(Apdu { data, eot }));
            }
            Err(status) => {
                let octets = sending.offset;
                let job = job.clone();
                self.state = State::Ending(job, Progress { status, octets });
                self.send(&Pdu::DataEnd { status, octets });
                self.ask(now, &Pdu::TransferEnd);
            }
        }
    }

    fn send(&mut self, pdu: &Pdu<'_>) {
        let data = Bytes::from(pdu.encode());
        self.outputs.push_back(Output::Send(Apdu { data, eot: false }));
    }

    /// Sends a request, and waits for its response.
    fn ask(&mut self, now: Instant, pdu: &Pdu<'_>) {
        self.send(pdu);
        self.timer.start(now + self.patience);
    }

    /// Begins the next job, or terminates, if it is time for either.
    fn go_on(&mut self, now: Instant) {
        match self.state {
            State::Idle if !self.jobs.is_empty() => {
                self.state = State::Initializing;
                self.ask(now, &Pdu::Initialize { version: VERSION });
            }
            State::Initialized => {
                self.timer.stop();
                while let Some(job) = self.jobs.pop_front() {
                    if job.mode == Mode::Write && self.store.length(&job.name).is_none() {
                        self.transferred(&job, Status::NoSuchFile, 0);
                        continue;
                    }
                    let name = job.name.clone();
                    self.state = State::Selecting(job);
                    return self.ask(now, &Pdu::Select { name: &name });
                }
                if self.terminates {
                    self.state = State::Terminating;
                    self.ask(now, &Pdu::Terminate);
                }
            }
            State::Idle if self.terminates => self.over(Indication::Terminated),
            _ => {}
        }
    }

    fn over(&mut self, indication: Indication) {
        self.state = State::Over;
        self.timer.stop();
        self.jobs.clear();
        self.outputs.push_back(Output::Deliver(indication));
    }

    fn transferred(&mut self, job: &Job, status: Status, octets: u64) {
        let (name, mode) = (job.name.clone(), job.mode);
        let indication = Indication::Transferred { name, mode, status, octets };
        self.outputs.push_back(Output::Deliver(indication));
    }

    /// Processes a PDU; returns false if it is not permitted now.
    fn step(&mut self, now: Instant, pdu: Pdu<'_>) -> bool {
        let state = core::mem::replace(&mut self.state, State::Over);
        match (state, pdu) {
            (State::Initializing, Pdu::Initialized(Status::Ok)) => {
                self.state = State::Initialized;
                self.go_on(now);
            }
            (State::Initializing, Pdu::Initialized(_)) => {
                self.over(Indication::Failed(Failure::Refused));
            }
            (State::Selecting(job), Pdu::Selected { status: Status::Ok, octets }) => {
                let mode = job.mode;
                self.state = State::Opening(job, octets);
                self.ask(now, &Pdu::Open(mode));
            }
            (State::Selecting(job), Pdu::Selected { status, .. }) => {
                self.transferred(&job, status, 0);
                self.state = State::Initialized;
                self.go_on(now);
            }
            (State::Opening(job, octets), Pdu::Opened(Status::Ok)) => self.open(now, job, octets),
            (State::Opening(job, _), Pdu::Opened(status)) => {
                self.transferred(&job, status, 0);
                self.state = State::Deselecting;
                self.ask(now, &Pdu::Deselect);
            }
            (State::Reading(job, mut receiving), Pdu::Data(data)) => {
                receiving.take(data, &mut self.store);
                self.state = State::Reading(job, receiving);
                self.timer.start(now + self.patience);
            }
            (State::Reading(job, mut receiving), Pdu::DataEnd { status, octets }) => {
                receiving.end(status, octets);
                let progress = Progress { status: receiving.status, octets: receiving.offset };
                self.state = State::Ending(job, progress);
                self.ask(now, &Pdu::TransferEnd);
            }
            (State::Ending(job, own), Pdu::TransferEnded { status, octets }) => {
                let status = match (own.status, status) {
                    (Status::Ok, Status::Ok) if octets != own.octets => Status::Differs,
                    (Status::Ok, other) => other,
                    (first, _) => first,
                };
                self.transferred(&job, status, own.octets);
                self.state = State::Closing;
                self.ask(now, &Pdu::Close);
            }
            (State::Closing, Pdu::Closed) => {
                self.state = State::Deselecting;
                self.ask(now, &Pdu::Deselect);
            }
            (State::Deselecting, Pdu::Deselected) => {
                self.state = State::Initialized;
                self.go_on(now);
            }
            (State::Terminating, Pdu::Terminated) => self.over(Indication::Terminated),
            _ => return false,
        }
        true
    }

    /// Begins the data of an open file.
    fn open(&mut self, now: Instant, job: Job, octets: u64) {
        let name = job.name.clone();
        match job.mode {
            Mode::Read => {
                let (each_eot, block_octets) = (job.each_eot, job.block_octets.max(1));
                let receiving = Receiving::new(name, octets, &mut self.store);
                self.state = State::Reading(job, receiving);
                self.ask(now, &Pdu::Read { each_eot, block_octets });
            }
            Mode::Write => {
                let announced = self.store.length(&name).unwrap_or(0);
                let (block_octets, each_eot) = (job.block_octets, job.each_eot);
                let sending = Sending { name, offset: 0, announced, block_octets, each_eot };
                self.state = State::Writing(job, sending);
                self.ask(now, &Pdu::Write { octets: announced });
            }
        }
    }
}

impl Machine for Initiator {
    type Request = Request;
    type Indication = Indication;
    type Pdu = Apdu;
    type Note = Note;

    fn request(&mut self, now: Instant, request: Request) {
        match request {
            Request::Transfer(_) if self.jobs.len() >= MOST_JOBS => {
                self.outputs.push_back(Output::Note(Note::Full));
            }
            Request::Transfer(job) => self.jobs.push_back(job),
            Request::Terminate => self.terminates = true,
        }
        self.go_on(now);
    }

    fn receive(&mut self, now: Instant, apdu: Apdu) {
        if matches!(self.state, State::Over) {
            return;
        }
        let note = match Pdu::decode(&apdu.data) {
            Ok(pdu) if self.step(now, pdu) => return,
            Ok(_) => Note::OutOfPlace,
            Err(malformed) => Note::Malformed(malformed),
        };
        self.outputs.push_back(Output::Note(note));
        self.over(Indication::Failed(Failure::Protocol));
    }

    fn expire(&mut self, now: Instant) {
        if self.timer.ran_out(now) {
            self.over(Indication::Failed(Failure::NoAnswer));
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        self.timer.deadline()
    }

    fn poll(&mut self) -> Option<Output<Apdu, Indication, Note>> {
        self.outputs.pop_front()
    }
}

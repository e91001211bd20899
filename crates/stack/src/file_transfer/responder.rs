//! Responder: answers each service of a regime, and sends or receives the octets of the file.

use super::moving::{Receiving, Sending};
use super::service::{Apdu, Failure, Indication, Note, Request};
use super::store::Store;
use crate::machine::{Deadline, Machine, Output};
use bytes::Bytes;
use std::collections::VecDeque;
use wire::file_transfer::{Mode, Pdu, Status, VERSION};
use wire::time::Instant;

/// Regime, as far as it was established.
#[derive(Clone, Debug)]
enum State {
    /// None.
    Idle,
    /// Of the association.
    Initialized,
    /// Of a selected file.
    Selected(Bytes),
    /// Of an open file.
    Open(Bytes, Mode),
    /// This side sends the file.
    Sending(Sending),
    /// This side receives the file.
    Receiving(Receiving),
    /// All data has passed; F-TRANSFER-END is to follow.
    Ended(Ended),
    /// The regime has ended, or failed.
    Over,
}

/// Transfer whose data has passed.
#[derive(Clone, Debug)]
struct Ended {
    name: Bytes,
    mode: Mode,
    status: Status,
    octets: u64,
}

/// Responder on one association. Its time-outs are those of the initiator, and of the transport.
#[derive(Clone, Debug)]
pub struct Responder {
    state: State,
    store: Store,
    outputs: VecDeque<Output<Apdu, Indication, Note>>,
}

impl Responder {
    /// Creates a responder with files to read, and room for those to be written.
    #[must_use]
    pub const fn new(store: Store) -> Self {
        Self { state: State::Idle, store, outputs: VecDeque::new() }
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
        matches!(self.state, State::Sending(_))
    }

    /// Octets of each F-DATA of the file that it sends; zero without one.
    #[must_use]
    pub fn block_octets(&self) -> usize {
        match &self.state {
            State::Sending(sending) => usize::from(sending.block_octets),
            _ => 0,
        }
    }

    /// Sends the next F-DATA, or the end of the file: called when there is room for one more.
    pub fn fill(&mut self, _now: Instant) {
        let State::Sending(sending) = &mut self.state else { return };
        match sending.next(&self.store) {
            Ok(data) => {
                let eot = sending.each_eot;
                self.outputs.push_back(Output::Send(Apdu { data, eot }));
            }
            Err(status) => {
                let (name, octets) = (sending.name.clone(), sending.offset);
                self.state = State::Ended(Ended { name, mode: Mode::Read, status, octets });
                self.send(&Pdu::DataEnd { status, octets });
            }
        }
    }

    fn send(&mut self, pdu: &Pdu<'_>) {
        let data = Bytes::from(pdu.encode());
        self.outputs.push_back(Output::Send(Apdu { data, eot: false }));
    }

    fn over(&mut self, indication: Indication) {
        self.state = State::Over;
        self.outputs.push_back(Output::Deliver(indication));
    }

    /// Goes to a state, and answers.
    fn answer(&mut self, state: State, pdu: &Pdu<'_>) {
        self.state = state;
        self.send(pdu);
    }

    /// Processes a PDU; returns false if it is not permitted now.
    fn step(&mut self, pdu: Pdu<'_>) -> bool {
        let state = core::mem::replace(&mut self.state, State::Over);
        match (state, pdu) {
            (State::Idle, Pdu::Initialize { version: VERSION }) => {
                self.answer(State::Initialized, &Pdu::Initialized(Status::Ok));
            }
            (State::Idle, Pdu::Initialize { .. }) => {
                self.answer(State::Over, &Pdu::Initialized(Status::OutOfPlace));
            }
            (State::Initialized, Pdu::Select { name }) => {
                let octets = self.store.length(name).unwrap_or(0);
                let selected = Pdu::Selected { status: Status::Ok, octets };
                self.answer(State::Selected(Bytes::copy_from_slice(name)), &selected);
            }
            (State::Selected(name), Pdu::Open(mode)) => {
                if mode == Mode::Read && self.store.length(&name).is_none() {
                    self.answer(State::Selected(name), &Pdu::Opened(Status::NoSuchFile));
                } else {
                    self.answer(State::Open(name, mode), &Pdu::Opened(Status::Ok));
                }
            }
            (State::Open(name, Mode::Read), Pdu::Read { each_eot, block_octets }) => {
                let announced = self.store.length(&name).unwrap_or(0);
                let sending = Sending { name, offset: 0, announced, block_octets, each_eot };
                self.state = State::Sending(sending);
            }
            (State::Open(name, Mode::Write), Pdu::Write { octets }) => {
                self.state = State::Receiving(Receiving::new(name, octets, &mut self.store));
            }
            (State::Receiving(mut receiving), Pdu::Data(data)) => {
                receiving.take(data, &mut self.store);
                self.state = State::Receiving(receiving);
            }
            (State::Receiving(mut receiving), Pdu::DataEnd { status, octets }) => {
                receiving.end(status, octets);
                let Receiving { name, offset: octets, status, .. } = receiving;
                self.state = State::Ended(Ended { name, mode: Mode::Write, status, octets });
            }
            (State::Ended(Ended { name, mode, status, octets }), Pdu::TransferEnd) => {
                let ended = Pdu::TransferEnded { status, octets };
                self.answer(State::Open(name.clone(), mode), &ended);
                let indication = Indication::Transferred { name, mode, status, octets };
                self.outputs.push_back(Output::Deliver(indication));
            }
            (State::Open(name, _), Pdu::Close) => self.answer(State::Selected(name), &Pdu::Closed),
            (State::Selected(_), Pdu::Deselect) => {
                self.answer(State::Initialized, &Pdu::Deselected);
            }
            (State::Initialized, Pdu::Terminate) => {
                self.answer(State::Over, &Pdu::Terminated);
                self.outputs.push_back(Output::Deliver(Indication::Terminated));
            }
            _ => return false,
        }
        true
    }
}

impl Machine for Responder {
    type Request = Request;
    type Indication = Indication;
    type Pdu = Apdu;
    type Note = Note;

    /// A responder requests nothing.
    fn request(&mut self, _now: Instant, _request: Request) {}

    fn receive(&mut self, _now: Instant, apdu: Apdu) {
        if matches!(self.state, State::Over) {
            return;
        }
        let note = match Pdu::decode(&apdu.data) {
            Ok(pdu) if self.step(pdu) => return,
            Ok(_) => Note::OutOfPlace,
            Err(malformed) => Note::Malformed(malformed),
        };
        self.outputs.push_back(Output::Note(note));
        self.over(Indication::Failed(Failure::Protocol));
    }

    fn expire(&mut self, _now: Instant) {}

    fn deadline(&self) -> Option<Deadline> {
        None
    }

    fn poll(&mut self) -> Option<Output<Apdu, Indication, Note>> {
        self.outputs.pop_front()
    }
}

//! Association of CASE: A-TRANSFER and EOT above the layers of [`crate::upper`].

use super::service::{Indication, MOST_HELD, Note, Params, Request};
use crate::acse::{self, Source};
use crate::machine::{Deadline, Machine, Output};
use crate::presentation::Pdv;
use crate::session::Below;
use crate::upper::{self, Joint};
use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;
use wire::case::{self, LONGEST, Pdu};
use wire::time::Instant;

/// Association; the value may be used for several, one after the other.
#[derive(Clone, Debug)]
pub struct Case {
    joint: Joint,
    /// True while a message with EOT is not acknowledged.
    is_holding: bool,
    /// Requests that follow a message with EOT.
    held: VecDeque<Request>,
    /// True if both users requested the release while this side's request was held: the response
    /// to the peer then confirms it.
    confirms_release: bool,
    outputs: VecDeque<Output<Below, Indication, Note>>,
}

impl Case {
    /// Creates an association that is not requested yet.
    #[must_use]
    pub fn new(params: Params) -> Self {
        let joint = Joint::new(params.joint);
        Self {
            joint,
            is_holding: false,
            held: VecDeque::new(),
            confirms_release: false,
            outputs: VecDeque::new(),
        }
    }

    /// State of the association.
    #[must_use]
    pub const fn state(&self) -> acse::State {
        self.joint.association()
    }

    /// Number of requests that wait for the acknowledgement of a message with EOT.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Returns true while a message with EOT is not acknowledged.
    #[must_use]
    pub const fn is_holding(&self) -> bool {
        self.is_holding
    }

    /// Processes an acknowledgement: the peer's transport has all data passed on so far.
    pub fn acknowledged(&mut self, now: Instant) {
        if !self.is_holding {
            return;
        }
        self.is_holding = false;
        self.outputs.push_back(Output::Deliver(Indication::Acknowledged));
        while !self.is_holding
            && let Some(request) = self.held.pop_front()
        {
            self.pass_on(now, request);
        }
    }

    // ---- requests -------------------------------------------------------------------------------

    /// Holds a request behind a message with EOT, or passes it on.
    fn enqueue(&mut self, now: Instant, request: Request) {
        if !self.is_holding {
            self.pass_on(now, request);
        } else if self.held.len() < MOST_HELD {
            self.held.push_back(request);
        } else {
            self.note(Note::Full);
        }
    }

    fn pass_on(&mut self, now: Instant, request: Request) {
        match request {
            Request::Transfer { data, eot } => {
                self.is_holding = eot;
                let value = Pdv { context: 0, octets: apdu(&data) };
                self.joint.request(now, upper::Primitive::Data(value));
            }
            Request::Association(primitive) => {
                let is_response = primitive == acse::Primitive::Released;
                self.joint.request(now, upper::Primitive::Association(primitive));
                if is_response && core::mem::take(&mut self.confirms_release) {
                    self.deliver(Indication::Association(acse::Primitive::Released));
                }
            }
        }
        self.drain(now);
    }

    /// Answers the peer's release in place of the user, whose own request is still held; returns
    /// true if there is such a request. The answer follows the held data.
    fn answer_release(&mut self) -> bool {
        let is_release =
            |held: &&mut Request| matches!(held, Request::Association(acse::Primitive::Release));
        let Some(request) = self.held.iter_mut().find(is_release) else { return false };
        *request = Request::Association(acse::Primitive::Released);
        self.confirms_release = true;
        true
    }

    /// Returns true if the user may transfer: associated, and no release was requested.
    fn may_transfer(&self) -> bool {
        self.state() == acse::State::Sta5
            && self.held.iter().all(|held| matches!(held, Request::Transfer { .. }))
    }

    // ---- the loop -------------------------------------------------------------------------------

    fn drain(&mut self, now: Instant) {
        while let Some(output) = self.joint.poll() {
            match output {
                Output::Send(below) => self.outputs.push_back(Output::Send(below)),
                Output::Deliver(upper::Primitive::Data(value)) => self.transfer(now, &value.octets),
                Output::Deliver(upper::Primitive::Association(primitive)) => {
                    if ends(&primitive) {
                        self.drop_held();
                    }
                    if primitive == acse::Primitive::Release && self.answer_release() {
                        continue;
                    }
                    self.deliver(Indication::Association(primitive));
                }
                Output::Note(note) => self.note(Note::Below(note)),
            }
        }
    }

    fn transfer(&mut self, now: Instant, ssdu: &Bytes) {
        let note = match Pdu::decode(ssdu) {
            Ok(Pdu::Transfer(data)) => {
                return self.deliver(Indication::Transfer { data: ssdu.slice_ref(data) });
            }
            Ok(Pdu::Control(_)) => Note::OutOfPlace,
            Err(malformed) => Note::Malformed(malformed),
        };
        self.note(note);
        self.drop_held();
        let abort = acse::Primitive::Abort { source: Source::Provider };
        self.deliver(Indication::Association(abort.clone()));
        self.joint.request(now, upper::Primitive::Association(abort));
    }

    fn drop_held(&mut self) {
        (self.is_holding, self.confirms_release) = (false, false);
        let dropped = self.held.len();
        if dropped > 0 {
            self.held.clear();
            self.note(Note::Dropped(dropped));
        }
    }

    fn deliver(&mut self, indication: Indication) {
        self.outputs.push_back(Output::Deliver(indication));
    }

    fn note(&mut self, note: Note) {
        self.outputs.push_back(Output::Note(note));
    }
}

/// A-TRANSFER with its data.
fn apdu(data: &[u8]) -> Bytes {
    let mut octets = BytesMut::with_capacity(case::HEADER_OCTETS + data.len());
    octets.extend_from_slice(&case::header(data.len() as u16));
    octets.extend_from_slice(data);
    octets.freeze()
}

/// Returns true if no association is left after a primitive to the user.
const fn ends(primitive: &acse::Primitive) -> bool {
    matches!(
        primitive,
        acse::Primitive::Reject { .. }
            | acse::Primitive::Released
            | acse::Primitive::Abort { .. }
            | acse::Primitive::ProviderAbort { .. }
    )
}

impl Machine for Case {
    type Request = Request;
    type Indication = Indication;
    type Pdu = Below;
    type Note = Note;

    fn request(&mut self, now: Instant, request: Request) {
        match &request {
            Request::Transfer { .. } if !self.may_transfer() => self.note(Note::Refused),
            Request::Transfer { data, .. } if data.len() > LONGEST => self.note(Note::TooLong),
            // A release follows all data; an abort follows none.
            Request::Transfer { .. }
            | Request::Association(acse::Primitive::Release | acse::Primitive::Released) => {
                self.enqueue(now, request);
            }
            Request::Association(primitive) => {
                if matches!(primitive, acse::Primitive::Abort { .. }) {
                    self.drop_held();
                }
                self.pass_on(now, request);
            }
        }
    }

    fn receive(&mut self, now: Instant, below: Below) {
        self.joint.receive(now, below);
        self.drain(now);
    }

    fn expire(&mut self, now: Instant) {
        self.joint.expire(now);
        self.drain(now);
    }

    fn deadline(&self) -> Option<Deadline> {
        self.joint.deadline()
    }

    fn poll(&mut self) -> Option<Output<Below, Indication, Note>> {
        self.outputs.pop_front()
    }
}

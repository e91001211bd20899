//! Session, presentation and association control of one transport connection.

use crate::acse::{self, Association};
use crate::machine::{Deadline, Machine, Output};
use crate::presentation::{self, Kernel, Null, Pdv, Presentation, Syntax};
use crate::session::{self, Below};
use std::collections::VecDeque;
use wire::time::Instant;

/// Parameters of the three layers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Params {
    /// Session layer.
    pub session: session::Params,
    /// Presentation layer; `None` for the null layer.
    pub presentation: Option<presentation::Params>,
    /// Association control.
    pub association: acse::Params,
}

impl Params {
    /// MAP 3.0 with MMS: session version 2, presentation kernel.
    #[must_use]
    pub fn mms() -> Self {
        Self {
            session: session::Params::version_2(),
            presentation: Some(presentation::Params::mms()),
            association: acse::Params::mms(),
        }
    }
}

/// Primitive between an application and the layers: a request or response of the application, or an
/// indication or confirm to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Primitive {
    /// Primitive of association control.
    Association(acse::Primitive),
    /// P-DATA.
    Data(Pdv),
}

/// Note for observers, by layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// Session layer.
    Session(session::Note),
    /// Presentation layer.
    Presentation(presentation::Note),
    /// Association control.
    Association(acse::Note),
}

/// The three layers, joined.
#[derive(Clone, Debug)]
pub struct Joint {
    association: Association,
    presentation: Presentation,
    session: session::Connection,
    outputs: VecDeque<Output<Below, Primitive, Note>>,
}

impl Joint {
    /// Creates the layers, without a connection.
    #[must_use]
    pub fn new(params: Params) -> Self {
        let presentation = match params.presentation {
            Some(params) => Presentation::Kernel(Kernel::new(params)),
            None => Presentation::Null(Null::new()),
        };
        Self {
            association: Association::new(params.association),
            presentation,
            session: session::Connection::new(params.session),
            outputs: VecDeque::new(),
        }
    }

    /// State of the association.
    #[must_use]
    pub const fn association(&self) -> acse::State {
        self.association.state()
    }

    /// State of the session connection.
    #[must_use]
    pub const fn session(&self) -> session::State {
        self.session.state()
    }

    /// Presentation context agreed for an abstract syntax, or proposed by this side.
    #[must_use]
    pub fn context_of(&self, syntax: Syntax) -> Option<i64> {
        self.presentation.context_of(syntax)
    }

    // ---- the loop ---------------------------------------------------------------------------------

    /// Passes the outputs of the layers on until there are none.
    fn drain(&mut self, now: Instant) {
        while self.poll_association(now) || self.poll_presentation(now) || self.poll_session(now) {}
    }

    fn poll_association(&mut self, now: Instant) -> bool {
        let Some(output) = self.association.poll() else { return false };
        match output {
            Output::Send(primitive) => self.presentation.request(now, primitive),
            Output::Deliver(primitive) => {
                self.outputs.push_back(Output::Deliver(Primitive::Association(primitive)));
            }
            Output::Note(note) => {
                self.outputs.push_back(Output::Note(Note::Association(note)));
            }
        }
        true
    }

    fn poll_presentation(&mut self, now: Instant) -> bool {
        let Some(output) = self.presentation.poll() else { return false };
        match output {
            Output::Send(primitive) => self.session.request(now, primitive),
            Output::Deliver(presentation::Primitive::Data(value)) => {
                self.outputs.push_back(Output::Deliver(Primitive::Data(value)));
            }
            Output::Deliver(primitive) => self.association.receive(now, primitive),
            Output::Note(note) => {
                self.outputs.push_back(Output::Note(Note::Presentation(note)));
            }
        }
        true
    }

    fn poll_session(&mut self, now: Instant) -> bool {
        let Some(output) = self.session.poll() else { return false };
        match output {
            Output::Send(below) => self.outputs.push_back(Output::Send(below)),
            Output::Deliver(primitive) => self.presentation.receive(now, primitive),
            Output::Note(note) => self.outputs.push_back(Output::Note(Note::Session(note))),
        }
        true
    }
}

impl Machine for Joint {
    type Request = Primitive;
    type Indication = Primitive;
    type Pdu = Below;
    type Note = Note;

    fn request(&mut self, now: Instant, request: Primitive) {
        match request {
            Primitive::Association(primitive) => self.association.request(now, primitive),
            Primitive::Data(data) => {
                self.presentation.request(now, presentation::Primitive::Data(data));
            }
        }
        self.drain(now);
    }

    fn receive(&mut self, now: Instant, below: Below) {
        self.session.receive(now, below);
        self.drain(now);
    }

    fn expire(&mut self, now: Instant) {
        self.session.expire(now);
        self.drain(now);
    }

    fn deadline(&self) -> Option<Deadline> {
        self.session.deadline()
    }

    fn poll(&mut self) -> Option<Output<Below, Primitive, Note>> {
        self.outputs.pop_front()
    }
}

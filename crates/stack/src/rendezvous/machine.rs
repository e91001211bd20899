//! The machine that carries the table out.

use super::table::{Action, Event, State, transition};
use crate::machine::{Deadline, Machine, Output, Timer};
use bytes::{Bytes, BytesMut};
use core::time::Duration;
use std::collections::VecDeque;
use wire::addr::Mac;
use wire::packet::Packet;
use wire::read::Malformed;
use wire::rendezvous::{
    Agree, Body, Counts, HELLO, Hello, Limits, MAX_OCTETS, Pdu, Refusal, Role, Text,
};
use wire::time::Instant;

/// How a station behaves in a rendezvous.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Params {
    /// From one Hello or Stop to its repetition.
    pub repeat: Duration,
    /// How often a Hello is sent before nobody is taken to be there.
    pub hello_transmissions: u32,
    /// How often a Stop is sent before the peer is taken for gone; it may be collecting its counts.
    pub stop_transmissions: u32,
    /// From one Alive to the next.
    pub alive: Duration,
    /// How long the peer may be silent.
    pub silence: Duration,
    /// How long a session that is over is remembered, to answer a Stop that comes again.
    pub linger: Duration,
    /// The most this station allows an initiator; `None` where it takes part in nothing.
    pub maximum: Option<Limits>,
    /// The program and its version.
    pub program: Text<16>,
}

impl Params {
    /// The times every tidewire uses, with this policy: a dead peer is noticed within a second, and
    /// four Alives in a row must be lost for a live one to be taken for dead.
    #[must_use]
    pub const fn new(maximum: Option<Limits>, program: Text<16>) -> Self {
        Self {
            repeat: Duration::from_millis(250),
            hello_transmissions: 8,
            stop_transmissions: 40,
            alive: Duration::from_millis(250),
            silence: Duration::from_secs(1),
            linger: Duration::from_secs(3),
            maximum,
            program,
        }
    }
}

/// Octets to or from a peer, as LLC's unitdata service carries them on the rendezvous' SAP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unitdata {
    /// Whom they go to or come from.
    pub peer: Mac,
    /// One rendezvous PDU.
    pub packet: Packet,
}

/// What an initiator asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// The responder.
    pub peer: Mac,
    /// The session's name: never the same twice, so that PDUs of an older session are not mistaken.
    pub nonce: u64,
    /// Which way the load will go.
    pub role: Role,
    /// The most it would send or receive.
    pub offered: Limits,
    /// The least with which it makes sense.
    pub least: Limits,
    /// What it is for.
    pub purpose: Text<64>,
}

/// What a user asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// A session with a peer. Ignored while there is one.
    Open(Call),
    /// The session's end. The user sends no load from now on.
    Stop,
    /// The peer is told what was counted so far.
    Counts(Counts),
    /// The peer is told what was counted in all: the answer to [`Indication::StopAsked`], and
    /// ignored where that was not said.
    Final(Counts),
}

/// What a user is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Indication {
    /// At the responder: an initiator was agreed with. Load may come in; none may be sent yet.
    Called {
        /// The initiator.
        peer: Mac,
        /// What was agreed.
        limits: Limits,
        /// What it said of itself.
        hello: Hello,
    },
    /// Both sides know that both agree: load may be sent, within these limits.
    Opened {
        /// The peer.
        peer: Mac,
        /// What was agreed.
        limits: Limits,
        /// The peer's program and its version.
        program: Text<16>,
    },
    /// At the initiator: the responder does not take part.
    Refused(Refusal),
    /// At the initiator: nobody answered.
    NoAnswer,
    /// The peer wants to end: send no more load, then say [`Request::Final`].
    StopAsked,
    /// What the peer has counted so far.
    Counts(Counts),
    /// The session is over as both wished, and this is what the peer counted in all.
    Over(Counts),
    /// The peer is gone: everything must stop at once.
    Lost,
    /// The session is forgotten; the next may come.
    Idle,
}

/// What watchers are told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// A Hello or Stop was sent again.
    Repeated,
    /// Somebody was turned down.
    TurnedDown(Mac, Refusal),
    /// A PDU came in that belongs to no session here.
    Stray(Mac),
    /// Octets came in that are no PDU.
    Malformed(Mac, Malformed),
}

/// The session there is, or was last.
#[derive(Clone, Copy, Debug)]
struct Session {
    peer: Mac,
    nonce: u64,
    /// What the Hello said: this side's own, or the peer's.
    hello: Hello,
    limits: Limits,
    program: Text<16>,
    refusal: Refusal,
    /// Whether the user was asked for its final counts.
    asked: bool,
    interim: Counts,
    mine: Option<Counts>,
    theirs: Counts,
    transmissions: u32,
    alives: u32,
}

impl Session {
    fn new(peer: Mac, nonce: u64, hello: Hello, limits: Limits) -> Self {
        Self {
            peer,
            nonce,
            hello,
            limits,
            program: hello.program,
            refusal: Refusal::Unwilling,
            asked: false,
            interim: Counts::default(),
            mine: None,
            theirs: Counts::default(),
            transmissions: 0,
            alives: 0,
        }
    }
}

/// A station's part in the rendezvous, as initiator or responder.
#[derive(Clone, Debug)]
pub struct Rendezvous {
    params: Params,
    state: State,
    session: Option<Session>,
    repeat: Timer,
    alive: Timer,
    silence: Timer,
    linger: Timer,
    outputs: VecDeque<Output<Unitdata, Indication, Note>>,
}

impl Rendezvous {
    /// A station in no session.
    #[must_use]
    pub const fn new(params: Params) -> Self {
        Self {
            params,
            state: State::Idle,
            session: None,
            repeat: Timer::new("repeat"),
            alive: Timer::new("alive"),
            silence: Timer::new("silence"),
            linger: Timer::new("linger"),
            outputs: VecDeque::new(),
        }
    }

    /// Where the session stands.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// The peer load may be sent to now, and how much; `None` where none may be sent to anybody.
    #[must_use]
    pub fn permitted(&self) -> Option<(Mac, Limits)> {
        let open = self.state == State::Open;
        self.session.filter(|_| open).map(|session| (session.peer, session.limits))
    }

    fn hello_received(&mut self, now: Instant, peer: Mac, nonce: u64, hello: Hello) {
        let current = self.session.filter(|_| self.state != State::Idle);
        if let Some(session) = current {
            let is_its_own = session.peer == peer && session.nonce == nonce;
            let is_the_next = session.peer == peer && self.state == State::Reported;
            if is_its_own {
                return self.step(now, Event::HelloAgain);
            }
            if !is_the_next {
                return self.turn_down(peer, nonce, Refusal::Busy);
            }
        }
        let Some(maximum) = self.params.maximum else {
            return self.turn_down(peer, nonce, Refusal::Unwilling);
        };
        let limits = hello.offered.both(maximum);
        let is_nothing = limits.frames_per_second == 0 || limits.bits_per_second == 0;
        if is_nothing || !limits.meet(hello.least) {
            return self.turn_down(peer, nonce, Refusal::Limits);
        }
        self.session = Some(Session::new(peer, nonce, hello, limits));
        self.step(now, Event::HelloReceived);
    }

    /// A PDU other than a Hello, from the session's peer and with its nonce.
    fn answered(&mut self, now: Instant, body: Body) {
        if self.silence.is_running() {
            self.silence.start(now + self.params.silence);
        }
        let session = self.session.as_mut().expect("the caller found the session");
        let event = match body {
            Body::Agree(agree) if self.state == State::Calling => {
                session.program = agree.program;
                let hello = &session.hello;
                if hello.offered.meet(agree.limits) && agree.limits.meet(hello.least) {
                    session.limits = agree.limits;
                    Event::AgreeReceived
                } else {
                    session.refusal = Refusal::Limits;
                    Event::BadAgreeReceived
                }
            }
            Body::Refuse(refusal) => {
                session.refusal = refusal;
                Event::RefuseReceived
            }
            Body::Alive { .. } => Event::AliveReceived,
            Body::Stop => Event::StopReceived,
            Body::Counts { counts, is_final } => {
                session.theirs = counts;
                if is_final { Event::FinalReceived } else { Event::CountsReceived }
            }
            // An Agree that comes again changes nothing; the rest is of a later version.
            Body::Agree(_) | Body::Hello(_) | Body::Foreign { .. } => return,
        };
        self.step(now, event);
    }

    fn step(&mut self, now: Instant, event: Event) {
        let Some((next, action)) = transition(self.state, event) else { return };
        self.state = next;
        match action {
            Action::Call | Action::Stop => self.transmit_first(now),
            Action::Repeat => {
                self.note(Note::Repeated);
                self.transmit_again(now);
            }
            Action::Agree => self.agree(now),
            Action::AgreeAgain => {
                self.silence.start(now + self.params.silence);
                self.send_agree();
            }
            Action::Confirm | Action::Establish => self.establish(now),
            Action::Live => self.live(now),
            Action::Refused => {
                let refusal = self.session.map_or(Refusal::Unwilling, |session| session.refusal);
                self.end(Indication::Refused(refusal));
            }
            Action::NoAnswer => self.end(Indication::NoAnswer),
            Action::Lose => self.end(Indication::Lost),
            Action::Forget => self.end(Indication::Idle),
            Action::Answer => self.answer(),
            Action::SendCounts => {
                if let Some(session) = self.session {
                    self.send(Body::Counts { counts: session.interim, is_final: false });
                }
            }
            Action::SendFinal => {
                self.send_final();
                if self.state == State::Reported {
                    self.stop_timers();
                    self.linger.start(now + self.params.linger);
                }
            }
            Action::Deliver => {
                if let Some(session) = self.session {
                    self.deliver(Indication::Counts(session.theirs));
                }
            }
            Action::Finish => {
                self.stop_timers();
                self.linger.start(now + self.params.linger);
                if let Some(session) = self.session {
                    self.deliver(Indication::Over(session.theirs));
                }
            }
        }
    }

    /// Sends the Hello or the Stop for the first time.
    fn transmit_first(&mut self, now: Instant) {
        self.linger.stop();
        self.alive.stop();
        if let Some(session) = &mut self.session {
            session.transmissions = 0;
        }
        self.transmit_again(now);
    }

    fn transmit_again(&mut self, now: Instant) {
        self.repeat.start(now + self.params.repeat);
        let Some(session) = &mut self.session else { return };
        session.transmissions += 1;
        let hello = session.hello;
        self.send(if self.state == State::Calling { Body::Hello(hello) } else { Body::Stop });
    }

    fn agree(&mut self, now: Instant) {
        self.stop_timers();
        self.silence.start(now + self.params.silence);
        self.send_agree();
        if let Some(Session { peer, limits, hello, .. }) = self.session {
            self.deliver(Indication::Called { peer, limits, hello });
        }
    }

    fn send_agree(&mut self) {
        if let Some(session) = self.session {
            let agree = Agree { limits: session.limits, program: self.params.program };
            self.send(Body::Agree(agree));
        }
    }

    fn establish(&mut self, now: Instant) {
        self.repeat.stop();
        self.silence.start(now + self.params.silence);
        self.live(now);
        if let Some(Session { peer, limits, program, .. }) = self.session {
            self.deliver(Indication::Opened { peer, limits, program });
        }
    }

    fn live(&mut self, now: Instant) {
        self.alive.start(now + self.params.alive);
        if let Some(session) = &mut self.session {
            let counter = session.alives;
            session.alives = counter.wrapping_add(1);
            self.send(Body::Alive { counter });
        }
    }

    fn answer(&mut self) {
        let Some(session) = &mut self.session else { return };
        if session.mine.is_some() {
            self.send_final();
        } else if !session.asked {
            session.asked = true;
            self.deliver(Indication::StopAsked);
        }
    }

    fn send_final(&mut self) {
        if let Some(counts) = self.session.and_then(|session| session.mine) {
            self.send(Body::Counts { counts, is_final: true });
        }
    }

    /// Ends the session, whatever is under way.
    fn end(&mut self, indication: Indication) {
        self.stop_timers();
        self.session = None;
        self.deliver(indication);
    }

    const fn stop_timers(&mut self) {
        self.repeat.stop();
        self.alive.stop();
        self.silence.stop();
        self.linger.stop();
    }

    fn send(&mut self, body: Body) {
        if let Some(session) = self.session {
            self.send_to(session.peer, Pdu { nonce: session.nonce, body });
        }
    }

    fn send_to(&mut self, peer: Mac, pdu: Pdu) {
        let mut octets = BytesMut::with_capacity(MAX_OCTETS);
        pdu.encode(&mut octets);
        let packet = Packet::new(octets.freeze());
        self.outputs.push_back(Output::Send(Unitdata { peer, packet }));
    }

    fn turn_down(&mut self, peer: Mac, nonce: u64, refusal: Refusal) {
        self.note(Note::TurnedDown(peer, refusal));
        self.send_to(peer, Pdu { nonce, body: Body::Refuse(refusal) });
    }

    fn deliver(&mut self, indication: Indication) {
        self.outputs.push_back(Output::Deliver(indication));
    }

    fn note(&mut self, note: Note) {
        self.outputs.push_back(Output::Note(note));
    }
}

impl Machine for Rendezvous {
    type Request = Request;
    type Indication = Indication;
    type Pdu = Unitdata;
    type Note = Note;

    fn request(&mut self, now: Instant, request: Request) {
        match request {
            Request::Open(call) => {
                if transition(self.state, Event::OpenRequested).is_none() {
                    return;
                }
                let hello = Hello {
                    role: call.role,
                    offered: call.offered,
                    least: call.least,
                    program: self.params.program,
                    purpose: call.purpose,
                };
                self.session = Some(Session::new(call.peer, call.nonce, hello, Limits::NONE));
                self.step(now, Event::OpenRequested);
            }
            Request::Stop => self.step(now, Event::StopRequested),
            Request::Counts(counts) => {
                if let Some(session) = &mut self.session {
                    session.interim = counts;
                }
                self.step(now, Event::CountsRequested);
            }
            Request::Final(counts) => {
                let is_due = transition(self.state, Event::FinalRequested).is_some();
                if let Some(session) = self.session.as_mut().filter(|_| is_due) {
                    session.mine = Some(counts);
                }
                self.step(now, Event::FinalRequested);
            }
        }
    }

    fn receive(&mut self, now: Instant, unitdata: Unitdata) {
        let peer = unitdata.peer;
        let octets: Bytes = unitdata.packet.to_bytes();
        let pdu = match Pdu::decode(&octets) {
            Ok(pdu) => pdu,
            Err(malformed) => return self.note(Note::Malformed(peer, malformed)),
        };
        match pdu.body {
            // A group cannot be a party to an agreement.
            _ if peer.is_group() => self.note(Note::Stray(peer)),
            Body::Hello(hello) => self.hello_received(now, peer, pdu.nonce, hello),
            Body::Foreign { kind: HELLO, .. } => {
                self.turn_down(peer, pdu.nonce, Refusal::Version);
            }
            body => {
                let is_the_session =
                    self.session.is_some_and(|s| s.peer == peer && s.nonce == pdu.nonce);
                if is_the_session {
                    self.answered(now, body);
                } else {
                    self.note(Note::Stray(peer));
                }
            }
        }
    }

    fn expire(&mut self, now: Instant) {
        if self.silence.ran_out(now) {
            self.step(now, Event::SilenceRanOut);
        }
        if self.repeat.ran_out(now) {
            let allowed = match self.state {
                State::Calling => self.params.hello_transmissions,
                _ => self.params.stop_transmissions,
            };
            let sent = self.session.map_or(u32::MAX, |session| session.transmissions);
            let event = if sent < allowed { Event::RepeatRanOut } else { Event::GaveUp };
            self.step(now, event);
        }
        if self.alive.ran_out(now) {
            self.step(now, Event::AliveRanOut);
        }
        if self.linger.ran_out(now) {
            self.step(now, Event::LingerRanOut);
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        [self.silence, self.repeat, self.alive, self.linger]
            .iter()
            .map(Timer::deadline)
            .fold(None, Deadline::earlier)
    }

    fn poll(&mut self) -> Option<Output<Unitdata, Indication, Note>> {
        self.outputs.pop_front()
    }
}

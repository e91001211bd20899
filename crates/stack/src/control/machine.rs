//! State machine of the protocol of control sessions, which executes the table.

use super::cookie::Strangers;
use super::service::{Indication, Name, Note, Params, Request, Unitdata};
use super::table::{Action, Event, State, transition};
use crate::machine::{Deadline, Machine, Output, Timer};
use bytes::{Bytes, BytesMut};
use core::time::Duration;
use std::collections::VecDeque;
use wire::addr::Mac;
use wire::control::{
    Accept, Body, Counts, HELLO, Hello, Limits, MAX_OCTETS, Pdu, REFUSE_OCTETS, ReceivePolicy,
    Refusal, Text, VERSION,
};
use wire::packet::Packet;
use wire::time::Instant;

/// Current or last session.
#[derive(Clone, Copy, Debug)]
struct Session {
    peer: Mac,
    nonce: u64,
    /// Hello of the session: this side's own, or the peer's.
    hello: Hello,
    limits: Limits,
    program: Text<16>,
    refusal: Refusal,
    /// True once the user was asked for its final counts.
    asked: bool,
    interim: Counts,
    mine: Option<Counts>,
    theirs: Counts,
    transmissions: u32,
    alives: u32,
    /// True if the peer must confirm the policy of the Hello.
    is_policy_needed: bool,
    /// True once a Challenge was answered at once. Further ones wait for the next repetition, so a
    /// responder cannot make an initiator send faster.
    has_proved: bool,
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
            is_policy_needed: false,
            has_proved: false,
        }
    }
}

/// Protocol machine of control sessions of a station, as initiator or responder.
#[derive(Clone, Debug)]
pub struct ControlSession {
    params: Params,
    state: State,
    session: Option<Session>,
    repeat: Timer,
    alive: Timer,
    silence: Timer,
    linger: Timer,
    strangers: Strangers,
    outputs: VecDeque<Output<Unitdata, Indication, Note>>,
}

impl ControlSession {
    /// Creates a machine without a session.
    #[must_use]
    pub const fn new(params: Params) -> Self {
        Self {
            strangers: Strangers::new(params.secret),
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

    /// State of the session.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// Peer to which load may be sent now, and its limits; `None` if no load may be sent.
    #[must_use]
    pub fn permitted(&self) -> Option<(Mac, Limits)> {
        let open = self.state == State::Open;
        self.session.filter(|_| open).map(|session| (session.peer, session.limits))
    }

    /// Session from which load is accepted now; `None` before both sides agree, and after the final
    /// counts were sent.
    #[must_use]
    pub fn loaded(&self) -> Option<Name> {
        match self.state {
            State::Agreed | State::Open | State::Stopping | State::Reporting => self.name(),
            State::Idle | State::Calling | State::Reported => None,
        }
    }

    /// Puts off the judgement on the peer's silence, and the end of an ended session, by a time in which this side did
    /// not run.
    pub fn stood_still(&mut self, for_time: Duration) {
        self.silence.put_off(for_time);
        self.linger.put_off(for_time);
    }

    /// Returns true if this session has ended and may be read. This restarts its linger timer.
    pub fn reads(&mut self, now: Instant, name: Name) -> bool {
        let is_read = self.state == State::Reported && self.name() == Some(name);
        if is_read {
            self.linger.start(now + self.params.linger);
        }
        is_read
    }

    fn name(&self) -> Option<Name> {
        self.session.map(|Session { peer, nonce, .. }| Name { peer, nonce })
    }

    fn hello_received(&mut self, now: Instant, from: Name, hello: Hello) {
        let Name { peer, nonce } = from;
        match self.state {
            State::Idle => {}
            _ if self.name() == Some(from) => return self.step(now, Event::HelloAgain),
            // The session ends within a second, and the Hello is repeated.
            State::Reported => return self.note(Note::Ignored(peer)),
            State::Calling | State::Agreed | State::Open | State::Stopping | State::Reporting => {
                return self.turn_down(now, VERSION, from, Refusal::Busy);
            }
        }
        let Some(maximum) = self.params.maximum else {
            return self.turn_down(now, VERSION, from, Refusal::Unwilling);
        };
        let limits = hello.offered.both(maximum);
        let is_nothing = limits.frames_per_second == 0 || limits.bits_per_second == 0;
        if is_nothing || !limits.meet(hello.least) {
            return self.turn_down(now, VERSION, from, Refusal::Limits);
        }
        if !self.strangers.proves(now, from, hello.cookie) {
            return self.challenge(now, from);
        }
        let has_streams = hello.has_streams && self.params.takes_streams;
        let hello = Hello { receive: self.followed(&hello), has_streams, ..hello };
        self.session = Some(Session::new(peer, nonce, hello, limits));
        self.step(now, Event::HelloReceived);
    }

    /// Policy of a Hello, if the buffers suffice to follow it.
    fn followed(&self, hello: &Hello) -> Option<ReceivePolicy> {
        let buffers = |policy: &ReceivePolicy| u32::from(policy.window) * u32::from(hello.flows);
        hello.receive.filter(|policy| buffers(policy) <= self.params.buffers)
    }

    /// Challenges the sender of a Hello to prove that it receives at its address.
    fn challenge(&mut self, now: Instant, from: Name) {
        if !self.strangers.answers(now, from.peer) {
            return self.note(Note::Ignored(from.peer));
        }
        self.note(Note::Challenged(from.peer));
        let cookie = self.strangers.cookie(now, from);
        self.send_to(from.peer, Pdu { nonce: from.nonce, body: Body::Challenge { cookie } });
    }

    /// Processes a PDU other than a Hello, from the session's peer and with its nonce.
    fn answered(&mut self, now: Instant, body: Body) {
        if self.silence.is_running() {
            self.silence.start(now + self.params.silence);
        }
        let session = self.session.as_mut().expect("the caller checked that the session exists");
        let event = match body {
            Body::Accept(agree) if self.state == State::Calling => {
                session.program = agree.program;
                let hello = &session.hello;
                if !hello.offered.meet(agree.limits) || !agree.limits.meet(hello.least) {
                    session.refusal = Refusal::Limits;
                    Event::BadAgreeReceived
                } else if session.is_policy_needed && agree.receive != hello.receive {
                    session.refusal = Refusal::Policy;
                    Event::BadAgreeReceived
                } else if hello.has_streams && !agree.has_streams {
                    session.refusal = Refusal::Streams;
                    Event::BadAgreeReceived
                } else {
                    session.limits = agree.limits;
                    Event::AcceptReceived
                }
            }
            Body::Refuse(refusal) => {
                session.refusal = refusal;
                Event::RefuseReceived
            }
            Body::Challenge { cookie } if self.state == State::Calling => {
                session.hello.cookie = cookie;
                if core::mem::replace(&mut session.has_proved, true) {
                    return;
                }
                Event::ChallengeReceived
            }
            Body::KeepAlive { .. } => Event::KeepAliveReceived,
            Body::Done => Event::DoneReceived,
            Body::Stop => Event::StopReceived,
            Body::Counts { counts, is_final } => {
                session.theirs = counts;
                if is_final { Event::FinalReceived } else { Event::CountsReceived }
            }
            // A repeated Accept or Challenge has no effect; the others belong to a later version.
            Body::Accept(_) | Body::Hello(_) | Body::Challenge { .. } | Body::Foreign { .. } => {
                return;
            }
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
            Action::Prove => self.transmit_again(now),
            Action::Accept => self.agree(now),
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
            Action::SendDone => {
                self.send(Body::Done);
                self.end(Indication::Idle);
            }
            Action::Answer => {
                if self.state == State::Reported {
                    self.linger.start(now + self.params.linger);
                }
                self.answer();
            }
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

    /// Sends the first Hello or Stop.
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
            let Session { limits, hello: Hello { receive, has_streams, .. }, .. } = session;
            let agree = Accept { limits, program: self.params.program, receive, has_streams };
            self.send(Body::Accept(agree));
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
            self.send(Body::KeepAlive { counter });
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

    /// Ends the session in any state.
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

    /// Refuses in the version of the caller, which accepts no other.
    fn turn_down(&mut self, now: Instant, version: u8, from: Name, refusal: Refusal) {
        if !self.strangers.answers(now, from.peer) {
            return self.note(Note::Ignored(from.peer));
        }
        self.note(Note::TurnedDown(from.peer, refusal));
        let mut octets = BytesMut::with_capacity(REFUSE_OCTETS);
        Pdu::encode_refuse(version, from.nonce, refusal, &mut octets);
        let packet = Packet::new(octets.freeze());
        self.outputs.push_back(Output::Send(Unitdata { peer: from.peer, packet }));
    }

    fn deliver(&mut self, indication: Indication) {
        self.outputs.push_back(Output::Deliver(indication));
    }

    fn note(&mut self, note: Note) {
        self.outputs.push_back(Output::Note(note));
    }
}

impl Machine for ControlSession {
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
                    flows: call.flows,
                    cookie: 0,
                    purpose: call.purpose,
                    receive: call.receive,
                    has_streams: call.has_streams,
                };
                let session = Session::new(call.peer, call.nonce, hello, Limits::NONE);
                let is_policy_needed = call.is_policy_needed;
                self.session = Some(Session { is_policy_needed, ..session });
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
            Request::Done => self.step(now, Event::DoneRequested),
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
            Body::Hello(hello) => {
                self.hello_received(now, Name { peer, nonce: pdu.nonce }, hello);
            }
            // An answer is never longer than the PDU it answers.
            Body::Foreign { kind: HELLO, version } if octets.len() >= REFUSE_OCTETS => {
                let from = Name { peer, nonce: pdu.nonce };
                self.turn_down(now, version, from, Refusal::Version);
            }
            body => {
                if self.name() == Some(Name { peer, nonce: pdu.nonce }) {
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

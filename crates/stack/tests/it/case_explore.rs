//! Breadth-first search over all ways in which two associations of CASE use a transport connection
//! that loses nothing. Any user may abort at any moment, and the acknowledgement of the transport
//! may come at any moment after all data has arrived.
//!
//! Every state within the bounds is visited, and in each of them:
//!
//! 1. Each primitive to a user is one that the service permits in the state of that user.
//! 2. No layer of two sides that keep to the protocol reports an error.
//! 3. Data arrives once and in order, and none of another association.
//! 4. Nothing but an abort follows a message with EOT before its acknowledgement.
//! 5. If everything arrives, is acknowledged and answered, both sides are associated and have all
//!    data, or neither is associated.
//! 6. If then nothing happens, no timer is left and the transport connection is released.

use crate::explore::{Model, explore};
use bytes::Bytes;
use core::time::Duration;
use stack::acse::{self, Associate, Entity, Primitive, Rejection, Source};
use stack::case::{Case, Indication, Note, Params, Request};
use stack::machine::{Machine as _, Output};
use stack::presentation::Addresses;
use stack::session::{self, Below};
use stack::upper;
use std::collections::VecDeque;
use wire::session::{DATA, Kind};
use wire::time::Instant;

/// Knowledge of a user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum User {
    Idle,
    Asked,
    Indicated,
    Open,
    /// Has requested a release.
    Releasing,
    /// Has a release to answer.
    Released,
    /// Has requested a release, and has one to answer; may do so at the initiating side alone.
    Crossed,
    /// Has answered a release; the answer waits behind a message with EOT.
    Answering,
    /// Has answered a crossing release, and waits for its own confirm.
    Answered,
}

#[derive(Clone, Debug)]
struct Transit {
    generation: u32,
    below: Below,
}

#[derive(Clone, Debug)]
struct World {
    sides: [Case; 2],
    users: [User; 2],
    lines: [Option<u32>; 2],
    generation: u32,
    to: [VecDeque<Transit>; 2],
    /// Data sent by each side, and received from the other one, in this association.
    sent: [u8; 2],
    got: [u8; 2],
    /// Data passed to the transport that it has not acknowledged.
    is_unacknowledged: [bool; 2],
    /// A message with EOT is among it.
    is_awaited: [bool; 2],
    associations: u8,
    now: Instant,
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Arrive(usize),
    Acknowledge(usize),
    Associate,
    Accept(usize),
    Reject(usize),
    Transfer(usize, bool),
    Release(usize),
    Respond(usize),
    Abort(usize),
}

/// Bounds of the search.
#[derive(Clone, Copy)]
struct Bounds {
    associations: u8,
    /// Messages of each side in an association.
    messages: [u8; 2],
}

impl World {
    fn new() -> Self {
        Self {
            sides: [Case::new(Params::map_2_1()), Case::new(Params::map_2_1())],
            users: [User::Idle; 2],
            lines: [None; 2],
            generation: 0,
            to: Default::default(),
            sent: [0; 2],
            got: [0; 2],
            is_unacknowledged: [false; 2],
            is_awaited: [false; 2],
            associations: 0,
            now: Instant::ZERO,
        }
    }

    fn may_acknowledge(&self, side: usize) -> bool {
        self.is_unacknowledged[side]
            && self.lines[side].is_some()
            && self.lines[side] == self.lines[1 - side]
            && self.to[1 - side].is_empty()
    }

    fn arrive(&mut self, side: usize) {
        let Transit { generation, below } = self.to[side].pop_front().unwrap();
        if below == Below::Connect && side == 1 {
            self.lines[1] = Some(generation);
        } else if self.lines[side] != Some(generation) {
            return;
        }
        if below == Below::Disconnect {
            self.end_line(side);
        }
        self.sides[side].receive(self.now, below.clone());
        if below == Below::Connect && side == 1 {
            self.to[0].push_back(Transit { generation, below: Below::Connect });
        }
        self.drain();
    }

    fn end_line(&mut self, side: usize) {
        self.lines[side] = None;
        self.is_unacknowledged[side] = false;
        self.is_awaited[side] = false;
    }

    fn drain(&mut self) {
        for side in 0..2 {
            while let Some(output) = self.sides[side].poll() {
                match output {
                    Output::Send(below) => self.send(side, below),
                    Output::Deliver(Indication::Association(it)) => self.tell(side, &it),
                    Output::Deliver(Indication::Transfer { data }) => self.receive(side, &data),
                    Output::Deliver(Indication::Acknowledged) => {}
                    // Octets still on their way to a side that has aborted are ignored there.
                    Output::Note(
                        Note::Below(upper::Note::Session(session::Note::OutOfPlace(_)))
                        | Note::Dropped(_),
                    ) => {}
                    Output::Note(note) => panic!("{note:?} in {self:?}"),
                }
            }
            if self.users[side] == User::Answering && self.sides[side].held() == 0 {
                self.users[side] = User::Idle;
            }
        }
    }

    /// Checks invariant 3.
    fn receive(&mut self, side: usize, data: &Bytes) {
        let is_open = matches!(self.users[side], User::Open | User::Releasing);
        assert!(is_open, "data to a user that is {:?}", self.users[side]);
        self.got[side] += 1;
        assert_eq!(data[..2], [self.associations, self.got[side]], "lost, twice, or of another");
    }

    /// Passes an output to the transport, and checks invariant 4.
    fn send(&mut self, side: usize, below: Below) {
        if below == Below::Connect {
            self.generation += 1;
            self.lines[0] = Some(self.generation);
        }
        let Some(generation) = self.lines[side] else { panic!("{below:?} without transport") };
        match &below {
            Below::Connect => {}
            Below::Disconnect => {
                self.end_line(side);
                self.to[side].retain(|transit| transit.generation != generation);
            }
            Below::Data(tsdu) => {
                let is_abort = tsdu[0] == Kind::Ab.code();
                assert!(is_abort || !self.is_awaited[side], "{tsdu:?} follows an EOT");
                self.is_unacknowledged[side] = true;
                let has_eot = tsdu.starts_with(&DATA) && tsdu.last() == Some(&1);
                self.is_awaited[side] |= has_eot && tsdu.len() == DATA.len() + 7;
            }
        }
        self.to[1 - side].push_back(Transit { generation, below });
    }

    /// Checks invariants 1 and 2.
    fn tell(&mut self, side: usize, primitive: &Primitive) {
        let user = self.users[side];
        self.users[side] = match (user, primitive) {
            (User::Idle, Primitive::Associate(_)) if side == 1 => User::Indicated,
            (User::Asked, Primitive::Accept { .. }) => User::Open,
            (User::Asked, Primitive::Reject { rejection, .. }) => {
                assert!(matches!(rejection, Rejection::Association { is_transient: true, .. }));
                User::Idle
            }
            (User::Open, Primitive::Release) => User::Released,
            (User::Releasing, Primitive::Release) => User::Crossed,
            (User::Releasing | User::Answered, Primitive::Released) => User::Idle,
            (User::Crossed, Primitive::Released) if side == 1 => User::Released,
            (User::Idle, other) => panic!("{other:?} to an idle user"),
            (_, Primitive::Abort { source }) => {
                assert_eq!(*source, Source::User, "a protocol error in {self:?}");
                User::Idle
            }
            (_, Primitive::ProviderAbort { reason }) => {
                let lost = session::Reason::TransportLost;
                assert_eq!(*reason, stack::presentation::Reason::Session(lost));
                User::Idle
            }
            (user, other) => panic!("{other:?} to a user that is {user:?}"),
        };
    }
}

impl Model for World {
    type Act = Act;
    type Bounds = Bounds;

    fn acts(&self, bounds: Bounds) -> Vec<Act> {
        let mut acts = Vec::new();
        let is_free = self.lines == [None; 2] && self.to.iter().all(VecDeque::is_empty);
        if self.users[0] == User::Idle && is_free && self.associations < bounds.associations {
            acts.push(Act::Associate);
        }
        for side in 0..2 {
            if !self.to[side].is_empty() {
                acts.push(Act::Arrive(side));
            }
            if self.may_acknowledge(side) {
                acts.push(Act::Acknowledge(side));
            }
            if self.users[side] == User::Open && self.sent[side] < bounds.messages[side] {
                acts.extend([Act::Transfer(side, false), Act::Transfer(side, true)]);
            }
            match self.users[side] {
                User::Idle => continue,
                User::Indicated => acts.extend([Act::Accept(side), Act::Reject(side)]),
                User::Open => acts.push(Act::Release(side)),
                User::Released => acts.push(Act::Respond(side)),
                User::Crossed if side == 0 => acts.push(Act::Respond(side)),
                User::Crossed | User::Asked | User::Releasing => {}
                User::Answering | User::Answered => {}
            }
            acts.push(Act::Abort(side));
        }
        acts
    }

    fn perform(&mut self, act: Act) {
        let (side, primitive, next) = match act {
            Act::Arrive(side) => return self.arrive(side),
            Act::Acknowledge(side) => {
                self.is_unacknowledged[side] = false;
                self.is_awaited[side] = false;
                self.sides[side].acknowledged(self.now);
                return self.drain();
            }
            Act::Associate => {
                self.associations += 1;
                (self.sent, self.got) = ([0; 2], [0; 2]);
                let (addresses, calling, called) =
                    (Addresses::default(), Entity::default(), Entity::default());
                let associate = Associate { addresses, calling, called, information: None };
                (0, Primitive::Associate(Box::new(associate)), User::Asked)
            }
            Act::Accept(side) => (side, Primitive::Accept { information: None }, User::Open),
            Act::Reject(side) => {
                let diagnostic = None;
                let rejection = Rejection::Association { is_transient: true, diagnostic };
                (side, Primitive::Reject { rejection, information: None }, User::Idle)
            }
            Act::Transfer(side, eot) => {
                self.sent[side] += 1;
                let data = vec![self.associations, self.sent[side], u8::from(eot)];
                let transfer = Request::Transfer { data: data.into(), eot };
                self.sides[side].request(self.now, transfer);
                return self.drain();
            }
            Act::Release(side) => (side, Primitive::Release, User::Releasing),
            Act::Respond(side) => {
                let is_crossed = self.users[side] == User::Crossed;
                let next = if is_crossed { User::Answered } else { User::Answering };
                (side, Primitive::Released, next)
            }
            Act::Abort(side) => (side, Primitive::Abort { source: Source::User }, User::Idle),
        };
        self.users[side] = next;
        self.sides[side].request(self.now, Request::Association(primitive));
        self.drain();
    }

    /// Lets everything arrive and users answer, then checks invariants 5 and 6.
    fn settle(mut self) {
        for _ in 0..64 {
            let next = (0..2).find_map(|side| match self.users[side] {
                _ if !self.to[side].is_empty() => Some(Act::Arrive(side)),
                _ if self.may_acknowledge(side) => Some(Act::Acknowledge(side)),
                User::Indicated => Some(Act::Accept(side)),
                User::Released => Some(Act::Respond(side)),
                User::Crossed if side == 0 => Some(Act::Respond(side)),
                _ => None,
            });
            let Some(act) = next else { break };
            self.perform(act);
        }
        let is_open = self.users.map(|user| user == User::Open);
        assert_eq!(is_open[0], is_open[1], "half open: {self:?}");
        if is_open[0] {
            return assert_eq!([self.got[1], self.got[0]], self.sent, "data was lost");
        }
        assert_eq!(self.users, [User::Idle; 2], "a user waits for ever: {self:?}");
        for _ in 0..4 {
            self.now += Duration::from_secs(10);
            for side in 0..2 {
                self.sides[side].expire(self.now);
            }
            self.drain();
            while let Some(side) = (0..2).find(|side| !self.to[*side].is_empty()) {
                self.arrive(side);
            }
        }
        for side in &self.sides {
            assert_eq!((side.state(), side.deadline()), (acse::State::Sta0, None));
            assert_eq!((side.held(), side.is_holding()), (0, false), "{side:?}");
        }
        assert_eq!(self.lines, [None; 2]);
    }
}

#[test]
fn eot_holds_and_data_arrives_whatever_two_users_do() {
    check(Bounds { associations: 1, messages: [3, 1] }, 3_000);
}

#[test]
fn a_second_case_association_gets_nothing_of_the_first() {
    check(Bounds { associations: 2, messages: [2, 0] }, 1_000);
}

fn check(bounds: Bounds, least: usize) {
    let states = explore(World::new(), bounds);
    assert!(states > least, "only {states} states");
    println!("explored: {states} states");
}

//! Breadth-first search over all ways in which two associations, each with its presentation and
//! session layer, use a transport connection that loses nothing. Any user may abort at any moment.
//!
//! Every state is visited that one or two associations and one datum for each side can reach. In
//! each of them:
//!
//! 1. Each primitive to a user is one that the service (ISO 8649) permits in the state of that user.
//! 2. No layer of two sides that keep to the standards reports a protocol error.
//! 3. Data arrives once, and none of another association.
//! 4. If everything arrives and all users answer, both sides are associated or neither is.
//! 5. If then nothing happens, no timer is left and the transport connection is released.

use crate::explore::{Model, explore};
use bytes::Bytes;
use core::time::Duration;
use stack::acse::{self, Associate, Entity, Primitive, Rejection, Source};
use stack::machine::{Machine as _, Output};
use stack::presentation::{Addresses, Pdv, Syntax};
use stack::session::{self, Below};
use stack::upper::{self, Joint, Note, Params};
use std::collections::VecDeque;
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
    sides: [Joint; 2],
    users: [User; 2],
    lines: [Option<u32>; 2],
    generation: u32,
    to: [VecDeque<Transit>; 2],
    sent: [bool; 2],
    got: [bool; 2],
    associations: u8,
    now: Instant,
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Arrive(usize),
    Associate,
    Accept(usize),
    Reject(usize),
    Data(usize),
    Release(usize),
    Respond(usize),
    Abort(usize),
}

/// Bounds of the search.
#[derive(Clone, Copy)]
struct Bounds {
    associations: u8,
    data: bool,
    has_presentation: bool,
}

impl World {
    fn new(bounds: Bounds) -> Self {
        let mut params = Params::mms();
        if !bounds.has_presentation {
            params.presentation = None;
            params.session = session::Params::version_1();
            params.association.context = 0;
        }
        Self {
            sides: [Joint::new(params.clone()), Joint::new(params)],
            users: [User::Idle; 2],
            lines: [None; 2],
            generation: 0,
            to: Default::default(),
            sent: [false; 2],
            got: [false; 2],
            associations: 0,
            now: Instant::ZERO,
        }
    }

    /// Datum of a side in the present association.
    fn datum(&self, side: usize) -> Bytes {
        vec![0x80, 2, self.associations, side as u8].into()
    }

    fn arrive(&mut self, side: usize) {
        let Transit { generation, below } = self.to[side].pop_front().unwrap();
        if below == Below::Connect && side == 1 {
            self.lines[1] = Some(generation);
        } else if self.lines[side] != Some(generation) {
            return;
        }
        if below == Below::Disconnect {
            self.lines[side] = None;
        }
        self.sides[side].receive(self.now, below.clone());
        if below == Below::Connect && side == 1 {
            self.to[0].push_back(Transit { generation, below: Below::Connect });
        }
        self.drain();
    }

    fn drain(&mut self) {
        for side in 0..2 {
            while let Some(output) = self.sides[side].poll() {
                match output {
                    Output::Send(below) => self.send(side, below),
                    Output::Deliver(upper::Primitive::Association(it)) => self.tell(side, &it),
                    Output::Deliver(upper::Primitive::Data(value)) => {
                        let is_open = matches!(self.users[side], User::Open | User::Releasing);
                        assert!(is_open && !self.got[side], "unexpected data");
                        assert_eq!(value.octets, self.datum(1 - side));
                        self.got[side] = true;
                    }
                    // Octets still on their way to a side that has aborted are ignored there.
                    Output::Note(Note::Session(session::Note::OutOfPlace(_))) => {}
                    Output::Note(note) => panic!("{note:?} in {self:?}"),
                }
            }
        }
    }

    fn send(&mut self, side: usize, below: Below) {
        if below == Below::Connect {
            self.generation += 1;
            self.lines[0] = Some(self.generation);
        }
        let Some(generation) = self.lines[side] else { panic!("{below:?} without transport") };
        if below == Below::Disconnect {
            self.lines[side] = None;
            self.to[side].retain(|transit| transit.generation != generation);
        }
        self.to[1 - side].push_back(Transit { generation, below });
    }

    /// Checks invariants 1 and 2.
    fn tell(&mut self, side: usize, primitive: &Primitive) {
        let user = self.users[side];
        self.users[side] = match (user, primitive) {
            (User::Idle, Primitive::Associate(associate)) if side == 1 => {
                let information = associate.information.as_ref().unwrap();
                assert_eq!(information.octets, self.datum(0), "of another association");
                User::Indicated
            }
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
        let is_free = self.sides[0].session() == session::State::Sta01;
        if self.users[0] == User::Idle && is_free && self.associations < bounds.associations {
            acts.push(Act::Associate);
        }
        for side in 0..2 {
            if !self.to[side].is_empty() {
                acts.push(Act::Arrive(side));
            }
            if bounds.data && self.users[side] == User::Open && !self.sent[side] {
                acts.push(Act::Data(side));
            }
            match self.users[side] {
                User::Idle => continue,
                User::Indicated => acts.extend([Act::Accept(side), Act::Reject(side)]),
                User::Open => acts.push(Act::Release(side)),
                User::Released => acts.push(Act::Respond(side)),
                User::Crossed if side == 0 => acts.push(Act::Respond(side)),
                User::Crossed | User::Asked | User::Releasing | User::Answered => {}
            }
            acts.push(Act::Abort(side));
        }
        acts
    }

    fn perform(&mut self, act: Act) {
        let (side, primitive, next) = match act {
            Act::Arrive(side) => return self.arrive(side),
            Act::Associate => {
                self.associations += 1;
                (self.sent, self.got) = ([false; 2], [false; 2]);
                let entity = Entity::new(&[1, 1, 999, 1], Some(12));
                let context = self.sides[0].context_of(Syntax::MMS).unwrap();
                let information = Some(Pdv { context, octets: self.datum(0) });
                let (calling, called) = (entity.clone(), entity);
                let addresses = Addresses::default();
                let associate = Associate { addresses, calling, called, information };
                (0, Primitive::Associate(Box::new(associate)), User::Asked)
            }
            Act::Accept(side) => (side, Primitive::Accept { information: None }, User::Open),
            Act::Reject(side) => {
                let diagnostic = None;
                let rejection = Rejection::Association { is_transient: true, diagnostic };
                (side, Primitive::Reject { rejection, information: None }, User::Idle)
            }
            Act::Data(side) => {
                self.sent[side] = true;
                let context = self.sides[side].context_of(Syntax::MMS).unwrap();
                let data = upper::Primitive::Data(Pdv { context, octets: self.datum(side) });
                self.sides[side].request(self.now, data);
                return self.drain();
            }
            Act::Release(side) => (side, Primitive::Release, User::Releasing),
            Act::Respond(side) => {
                let is_crossed = self.users[side] == User::Crossed;
                let next = if is_crossed { User::Answered } else { User::Idle };
                (side, Primitive::Released, next)
            }
            Act::Abort(side) => (side, Primitive::Abort { source: Source::User }, User::Idle),
        };
        self.users[side] = next;
        self.sides[side].request(self.now, upper::Primitive::Association(primitive));
        self.drain();
    }

    /// Lets everything arrive and users answer, then checks invariants 4 and 5.
    fn settle(mut self) {
        for _ in 0..64 {
            let next = (0..2).find_map(|side| match self.users[side] {
                _ if !self.to[side].is_empty() => Some(Act::Arrive(side)),
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
            assert_eq!(side.session(), session::State::Sta01, "{side:?}");
            assert_eq!((side.association(), side.deadline()), (acse::State::Sta0, None));
        }
    }
}

#[test]
fn two_associations_agree_whatever_their_users_do() {
    check(Bounds { associations: 1, data: true, has_presentation: true });
}

#[test]
fn a_second_association_gets_nothing_of_the_first() {
    check(Bounds { associations: 3, data: true, has_presentation: true });
}

#[test]
fn associations_agree_without_a_presentation_layer() {
    check(Bounds { associations: 1, data: true, has_presentation: false });
}

fn check(bounds: Bounds) {
    let states = explore(World::new(bounds), bounds);
    assert!(states > 300, "only {states} states");
    println!("explored: {states} states");
}

//! Breadth-first search over all ways in which two session machines use a transport connection that
//! loses nothing: every user may do anything that the service permits at any moment, abort included,
//! and any TSDU in transit may be the next one to arrive.
//!
//! Bounds: session connections, and SSDUs for each side. Every state within them is visited, and in
//! each of them:
//!
//! 1. Each primitive to a user is one that the service (ISO 8326) permits in the state of that user.
//! 2. Two machines that keep to the standard never report a protocol error.
//! 3. SSDUs arrive once and in order, and none of another connection.
//! 4. If all TSDUs arrive and all users answer, both sides are in data transfer, or neither has a
//!    session connection.
//! 5. If then nothing happens, TIM ends every wait for a peer.

use crate::explore::{Model, explore};
use bytes::Bytes;
use core::time::Duration;
use stack::machine::{Machine as _, Output};
use stack::session::{Below, Connection, Note, Params, Primitive, State};
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
    /// Has requested a release, and has one to answer.
    Crossed,
    /// Has answered a crossing release, and waits for its own confirm.
    Answered,
    /// Own release is confirmed, and the crossing one is still to be answered.
    Confirmed,
}

/// TSDU or event in transit, of one transport connection.
#[derive(Clone, Debug)]
struct Transit {
    generation: u32,
    below: Below,
}

#[derive(Clone, Debug)]
struct World {
    sides: [Connection; 2],
    users: [User; 2],
    /// Transport connection of each end.
    lines: [Option<u32>; 2],
    generation: u32,
    /// In transit to each side.
    to: [VecDeque<Transit>; 2],
    /// SSDUs sent by each side, and received from the other one, in this session connection.
    sent: [u8; 2],
    got: [u8; 2],
    connects: u32,
    now: Instant,
}

/// Bounds of the search.
#[derive(Clone, Copy)]
struct Bounds {
    connects: u32,
    ssdus: u8,
    keeps_transport: bool,
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Arrive(usize),
    Connect,
    Accept(usize),
    Refuse(usize),
    Data(usize),
    Release(usize),
    Respond(usize),
    Abort(usize),
}

impl World {
    fn new(bounds: Bounds) -> Self {
        let params = Params { keeps_transport: bounds.keeps_transport, ..Params::version_2() };
        Self {
            sides: [Connection::new(params), Connection::new(params)],
            users: [User::Idle; 2],
            lines: [None; 2],
            generation: 0,
            to: Default::default(),
            sent: [0; 2],
            got: [0; 2],
            connects: 0,
            now: Instant::ZERO,
        }
    }

    /// User data of a connect, which names the session connection.
    fn mark(&self) -> Bytes {
        Bytes::from(vec![self.connects as u8])
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
                    Output::Deliver(primitive) => self.tell(side, &primitive),
                    // Octets still on their way to a side that has aborted are ignored there.
                    Output::Note(Note::OutOfPlace(_)) => {}
                    Output::Note(note) => panic!("{note:?}"),
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

    /// Checks invariants 1 to 3.
    fn tell(&mut self, side: usize, primitive: &Primitive) {
        let user = self.users[side];
        self.users[side] = match (user, primitive) {
            (User::Idle, Primitive::Connect { data, .. }) if side == 1 => {
                assert_eq!(*data, self.mark(), "a connect of another connection");
                User::Indicated
            }
            (User::Asked, Primitive::Accept { .. }) => User::Open,
            (User::Asked, Primitive::Refuse { .. }) => User::Idle,
            (User::Open | User::Releasing, Primitive::Data { ssdu }) => {
                self.got[side] += 1;
                let expected = [self.connects as u8, self.got[side]];
                assert_eq!(ssdu[..], expected, "out of order, twice, or of another connection");
                user
            }
            (User::Open, Primitive::Release { .. }) => User::Released,
            (User::Releasing, Primitive::Release { .. }) => User::Crossed,
            (User::Releasing | User::Answered, Primitive::Released { .. }) => User::Idle,
            (User::Crossed, Primitive::Released { .. }) => User::Confirmed,
            (User::Idle, _) => panic!("{primitive:?} to an idle user"),
            (_, Primitive::Abort { .. }) => User::Idle,
            (_, Primitive::ProviderAbort { reason }) => {
                assert_eq!(*reason, stack::session::Reason::TransportLost, "{self:?}");
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
        // A session connection may be requested without a transport connection, or on its own.
        let is_free = matches!(self.sides[0].state(), State::Sta01 | State::Sta01C);
        if self.users[0] == User::Idle && is_free && self.connects < bounds.connects {
            acts.push(Act::Connect);
        }
        for side in 0..2 {
            if !self.to[side].is_empty() {
                acts.push(Act::Arrive(side));
            }
            let may_send = matches!(self.users[side], User::Open | User::Released);
            if may_send && self.sent[side] < bounds.ssdus {
                acts.push(Act::Data(side));
            }
            match self.users[side] {
                User::Idle => continue,
                User::Indicated => acts.extend([Act::Accept(side), Act::Refuse(side)]),
                User::Open => acts.push(Act::Release(side)),
                User::Released | User::Crossed | User::Confirmed => acts.push(Act::Respond(side)),
                User::Asked | User::Releasing | User::Answered => {}
            }
            acts.push(Act::Abort(side));
        }
        acts
    }

    fn perform(&mut self, act: Act) {
        let data = Bytes::new();
        let (side, primitive, next) = match act {
            Act::Arrive(side) => return self.arrive(side),
            Act::Connect => {
                self.connects += 1;
                (self.sent, self.got) = ([0; 2], [0; 2]);
                let [calling, called] = [Bytes::new(), Bytes::new()];
                (0, Primitive::Connect { calling, called, data: self.mark() }, User::Asked)
            }
            Act::Accept(side) => (side, Primitive::Accept { data }, User::Open),
            Act::Refuse(side) => (side, Primitive::Refuse { reason: 0, data }, User::Idle),
            Act::Data(side) => {
                self.sent[side] += 1;
                let ssdu = Bytes::from(vec![self.connects as u8, self.sent[side]]);
                (side, Primitive::Data { ssdu }, self.users[side])
            }
            Act::Release(side) => (side, Primitive::Release { data }, User::Releasing),
            Act::Respond(side) => {
                let next =
                    if self.users[side] == User::Crossed { User::Answered } else { User::Idle };
                (side, Primitive::Released { data }, next)
            }
            Act::Abort(side) => (side, Primitive::Abort { data }, User::Idle),
        };
        self.users[side] = next;
        self.sides[side].request(self.now, primitive);
        self.drain();
    }

    /// Lets everything arrive and users answer, then checks invariants 4 and 5.
    fn settle(mut self) {
        for _ in 0..64 {
            let next = (0..2).find_map(|side| match self.users[side] {
                _ if !self.to[side].is_empty() => Some(Act::Arrive(side)),
                User::Indicated => Some(Act::Accept(side)),
                User::Released | User::Crossed | User::Confirmed => Some(Act::Respond(side)),
                _ => None,
            });
            let Some(act) = next else { break };
            self.perform(act);
        }
        let is_open = self.users.map(|user| user == User::Open);
        assert_eq!(is_open[0], is_open[1], "half open: {self:?}");
        let is_idle = self.users.map(|user| user == User::Idle);
        assert_eq!(is_idle[0], !is_open[0], "a user waits for ever: {self:?}");
        if is_open[0] {
            return assert_eq!([self.got[1], self.got[0]], self.sent, "an SSDU was lost");
        }
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
            let is_over = matches!(side.state(), State::Sta01 | State::Sta01C);
            assert!(is_over && side.deadline().is_none(), "{side:?}");
        }
    }
}

#[test]
fn two_sessions_agree_whatever_their_users_do() {
    check(Bounds { connects: 1, ssdus: 3, keeps_transport: false }, 1_000);
}

#[test]
fn two_sessions_agree_on_a_transport_connection_that_is_kept() {
    check(Bounds { connects: 3, ssdus: 1, keeps_transport: true }, 1_000);
}

#[test]
fn a_second_session_gets_nothing_of_the_first() {
    check(Bounds { connects: 2, ssdus: 2, keeps_transport: false }, 1_000);
}

fn check(bounds: Bounds, least: usize) {
    let states = explore(World::new(bounds), bounds);
    assert!(states > least, "only {states} states");
    println!("explored: {states} states");
}

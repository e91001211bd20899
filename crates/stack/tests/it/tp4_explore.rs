//! Breadth-first search over all ways in which two entities open and close connections on a channel
//! that loses, duplicates and reorders.
//!
//! Time advances in ticks; every timer is a multiple of a tick. At any moment any TPDU sent in the
//! last M may arrive, any number of times, in any order, or never; a user may take any permitted
//! action; or the next tick comes. The search is bounded by the number of such actions in a row, of
//! different TPDUs in transit, of transmissions N and of requested connections; by one TPDU at a
//! time that is in transit for longer than a tick; and by one refusal, one release per side and one
//! TSDU per connection. Invariants 7 and 8 look beyond the last action. In every state that can be
//! reached within these bounds:
//!
//! 1. For one CR the user gets one indication, and another only after it has refused.
//! 2. If a user gets the confirmation of a connection, the peer accepted it, or got the
//!    confirmation itself.
//! 3. No CC or DT of one connection counts for another, and the TSDU arrives at most once.
//! 4. No indication follows the end of a connection; the end is indicated once, and not to the
//!    releasing side.
//! 5. A reference is frozen for L, and no connection is deleted otherwise, except after a refusal.
//! 6. No timer is left in the past.
//! 7. If the channel fails now, both sides delete everything in bounded time.
//! 8. If it is perfect from now on, then in bounded time both sides are open or both have deleted
//!    everything: no connection stays half open.
//!
//! Not covered: times off the grid, adaptive T1, more than two connections, a change of peers.
//! `TIDEWIRE_EXPLORE=12` allows 12 actions in a row instead of 9.

use bytes::Bytes;
use core::time::Duration;
use stack::machine::{Machine, Output};
use stack::tp4::{
    Acknowledgement, Address, Endpoint, Entity, Indication, Nsdu, Params, Request, State,
};
use stats::rng::fnv1a_128;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use wire::addr::Mac;
use wire::packet::Packet;
use wire::time::Instant;

const TICK: Duration = Duration::from_millis(100);

/// Bounds of the search.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    transmissions: u32,
    connections: usize,
    /// M in ticks.
    lifetime: u32,
    /// Maximum number of actions in a row.
    steps: usize,
    /// Maximum number of different TPDUs in transit.
    depth: usize,
    /// True if a TPDU may be in transit for longer than a tick.
    delays: bool,
    /// True if users send a TSDU.
    data: bool,
    /// True to set L to one tick instead of the standard's value.
    unfrozen: bool,
}

impl Bounds {
    /// All times in ticks: T1 1, A_L 1, W 2, I 5, and L = 2 M + N T1 + A_R.
    fn params(self) -> Params {
        let frozen = 2 * self.lifetime + self.transmissions + 1;
        Params {
            checksum: false,
            transmissions: self.transmissions,
            retransmission_time: TICK,
            acknowledgement: Acknowledgement::Each,
            acknowledgement_delay: TICK,
            window_time: TICK * 2,
            inactivity_time: TICK * 5,
            nsdu_lifetime: TICK * self.lifetime,
            reference_time: TICK * if self.unfrozen { 1 } else { frozen },
            window: 1,
            ..Params::lan()
        }
    }

    /// Ticks after which nothing may be left: I, N T1 + M for a CC, the same for a DR, then L.
    fn patience(self) -> u32 {
        let tries = self.transmissions + self.lifetime;
        5 + 2 * tries + 2 * self.lifetime + self.transmissions + 1
    }
}

const BOUNDS: Bounds = Bounds {
    transmissions: 2,
    connections: 1,
    lifetime: 1,
    steps: 9,
    depth: 2,
    delays: false,
    data: false,
    unfrozen: false,
};

/// State of a connection from the point of view of each user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Knows {
    Nothing,
    Asked,
    Accepted,
    Open,
    Refused,
    Over,
}

/// Connection requested by side 0.
#[derive(Clone, Debug)]
struct Attempt {
    endpoints: [Option<Endpoint>; 2],
    knows: [Knows; 2],
    states: [State; 2],
    frozen_at: [Instant; 2],
    refusals: u8,
    was_accepted: bool,
    was_confirmed: bool,
    sent: bool,
    delivered: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Action {
    Connect,
    Accept(usize),
    Refuse(usize),
    Disconnect(usize, usize),
    Send(usize),
    /// The n-th TPDU in transit arrives; it may arrive again.
    Arrive(usize),
    /// The n-th TPDU in transit is lost, which makes room for another.
    Lose(usize),
    /// The next tick comes, after which only this TPDU is still in transit.
    Tick(Option<usize>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Channel {
    /// TPDUs may arrive as [`Action::Arrive`] describes.
    Wild,
    Dead,
    Perfect,
}

#[derive(Clone)]
struct World {
    now: Instant,
    bounds: Bounds,
    entities: [Entity; 2],
    attempts: Vec<Attempt>,
    channel: Channel,
    /// Destination and octets of each TPDU in transit, with the time of its last transmission.
    wire: BTreeMap<(usize, Bytes), Instant>,
}

type Checked = Result<(), String>;

fn claim(holds: bool, what: &str) -> Checked {
    if holds { Ok(()) } else { Err(what.to_owned()) }
}

impl World {
    fn new(bounds: Bounds) -> Self {
        let entities = [Entity::new(bounds.params(), 0), Entity::new(bounds.params(), 0x100)];
        let (channel, wire, attempts) = (Channel::Wild, BTreeMap::new(), Vec::new());
        Self { now: Instant::ZERO, bounds, entities, attempts, channel, wire }
    }

    fn actions(&self) -> Vec<Action> {
        let mut actions: Vec<_> = (0..self.wire.len()).map(Action::Arrive).collect();
        if self.attempts.len() < self.bounds.connections
            && self.attempts.last().is_none_or(|last| last.knows[0] == Knows::Over)
        {
            actions.push(Action::Connect);
        }
        for (place, attempt) in self.attempts.iter().enumerate() {
            match attempt.knows[0] {
                Knows::Asked => actions.push(Action::Disconnect(place, 0)),
                Knows::Open => {
                    actions.push(Action::Disconnect(place, 0));
                    if self.bounds.data && !attempt.sent {
                        actions.push(Action::Send(place));
                    }
                }
                _ => {}
            }
            match attempt.knows[1] {
                Knows::Asked => {
                    actions.push(Action::Accept(place));
                    if attempt.refusals > 0 {
                        actions.push(Action::Refuse(place));
                    }
                }
                Knows::Accepted | Knows::Open => actions.push(Action::Disconnect(place, 1)),
                _ => {}
            }
        }
        if self.wire.len() == self.bounds.depth {
            actions.extend((0..self.wire.len()).map(Action::Lose));
        }
        actions.push(Action::Tick(None));
        if self.bounds.delays {
            let fresh = self.wire.values().enumerate().filter(|(_, sent)| self.outlives(**sent));
            actions.extend(fresh.map(|(place, _)| Action::Tick(Some(place))));
        }
        actions
    }

    fn act(&mut self, action: Action) -> Checked {
        match action {
            Action::Connect => self.connect(),
            Action::Accept(place) => self.accept(place),
            Action::Refuse(place) => {
                let attempt = &mut self.attempts[place];
                attempt.knows[1] = Knows::Refused;
                attempt.refusals -= 1;
                self.disconnect(place, 1)
            }
            Action::Disconnect(place, side) => {
                self.attempts[place].knows[side] = Knows::Over;
                self.disconnect(place, side)
            }
            Action::Send(place) => {
                self.attempts[place].sent = true;
                let endpoint = self.attempts[place].endpoints[0].unwrap();
                let tsdu = Bytes::from(vec![place as u8]);
                self.request(0, Request::Data { endpoint, tsdu })
            }
            Action::Arrive(nth) => {
                let (to, octets) = self.wire.keys().nth(nth).unwrap().clone();
                self.arrive(to, octets)
            }
            Action::Lose(nth) => {
                let lost = self.wire.keys().nth(nth).unwrap().clone();
                self.wire.remove(&lost);
                Ok(())
            }
            Action::Tick(late) => self.tick(late),
        }
    }

    fn request(&mut self, side: usize, request: Request) -> Checked {
        self.entities[side].request(self.now, request);
        self.drain(side)
    }

    fn connect(&mut self) -> Checked {
        let endpoint = self.entities[0].endpoint();
        let name = Bytes::from(vec![self.attempts.len() as u8]);
        self.attempts.push(Attempt {
            endpoints: [Some(endpoint), None],
            knows: [Knows::Asked, Knows::Nothing],
            states: [State::Closed; 2],
            frozen_at: [Instant::ZERO; 2],
            refusals: 1,
            was_accepted: false,
            was_confirmed: false,
            sent: false,
            delivered: false,
        });
        let (peer, called, calling) = (address(1), Bytes::new(), Bytes::new());
        self.request(0, Request::Connect { endpoint, peer, called, calling, data: name })
    }

    fn accept(&mut self, place: usize) -> Checked {
        let attempt = &mut self.attempts[place];
        (attempt.knows[1], attempt.was_accepted) = (Knows::Accepted, true);
        let (endpoint, data) = (attempt.endpoints[1].unwrap(), Bytes::from(vec![place as u8]));
        self.request(1, Request::Accept { endpoint, data })
    }

    fn disconnect(&mut self, place: usize, side: usize) -> Checked {
        let endpoint = self.attempts[place].endpoints[side].unwrap();
        self.request(side, Request::Disconnect { endpoint, reason: 128 })
    }

    fn arrive(&mut self, to: usize, octets: Bytes) -> Checked {
        let nsdu = Nsdu { peer: address(1 - to), packet: Packet::new(octets) };
        self.entities[to].receive(self.now, nsdu);
        self.drain(to)
    }

    /// Returns true if a TPDU sent at `sent` may still be in transit at the next tick.
    fn outlives(&self, sent: Instant) -> bool {
        sent + TICK * self.bounds.lifetime >= self.now + TICK
    }

    fn tick(&mut self, late: Option<usize>) -> Checked {
        let late = late.and_then(|nth| self.wire.iter().nth(nth));
        let late = late.map(|(tpdu, sent)| (tpdu.clone(), *sent));
        self.wire = late.into_iter().collect();
        self.now += TICK;
        let now = self.now;
        for side in [0, 1] {
            self.entities[side].expire(now);
            self.drain(side)?;
            let deadline = self.entities[side].deadline();
            claim(deadline.is_none_or(|deadline| deadline.at > now), "a timer is in the past")?;
        }
        Ok(())
    }

    fn drain(&mut self, side: usize) -> Checked {
        while let Some(output) = self.entities[side].poll() {
            match output {
                Output::Send(nsdu) => {
                    let octets = nsdu.packet.to_bytes();
                    self.carry((1 - side, octets));
                }
                Output::Deliver(indication) => self.told(side, indication)?,
                Output::Note(_) => {}
            }
        }
        self.look_at_states(side)
    }

    /// Puts a TPDU in transit, if there is room; identical copies count once.
    fn carry(&mut self, tpdu: (usize, Bytes)) {
        let room = match self.channel {
            Channel::Wild => self.wire.contains_key(&tpdu) || self.wire.len() < self.bounds.depth,
            Channel::Dead => false,
            Channel::Perfect => true,
        };
        if room {
            self.wire.insert(tpdu, self.now);
        }
    }

    /// Checks invariant 5.
    fn look_at_states(&mut self, side: usize) -> Checked {
        let frozen = self.bounds.params().reference_time;
        for attempt in &mut self.attempts {
            let Some(endpoint) = attempt.endpoints[side] else { continue };
            let state = self.entities[side].state(endpoint);
            match (attempt.states[side], state) {
                (State::Frozen, State::Closed) => {
                    let thaws = attempt.frozen_at[side] + frozen;
                    claim(self.now >= thaws, "a reference was not frozen for L")?;
                }
                (State::Closed, State::Closed) => {}
                (_, State::Closed) => {
                    claim(attempt.knows[side] == Knows::Refused, "deleted without being frozen")?;
                }
                (before, State::Frozen) if before != State::Frozen => {
                    attempt.frozen_at[side] = self.now;
                }
                _ => {}
            }
            attempt.states[side] = state;
        }
        Ok(())
    }

    /// Checks invariants 1 to 4.
    fn told(&mut self, side: usize, indication: Indication) -> Checked {
        let of = |world: &Self, endpoint| {
            let mut attempts = world.attempts.iter();
            attempts.position(|attempt| attempt.endpoints[side] == Some(endpoint))
        };
        match indication {
            Indication::Connect { endpoint, data, .. } => {
                claim(side == 1, "the requesting side got a connect indication")?;
                let attempt = &mut self.attempts[usize::from(data[0])];
                let anew = matches!(attempt.knows[1], Knows::Nothing | Knows::Refused);
                claim(anew, "a second connection for one CR")?;
                (attempt.endpoints[1], attempt.knows[1]) = (Some(endpoint), Knows::Asked);
                attempt.states[1] = State::Indicated;
            }
            Indication::Confirm { endpoint, data } => {
                let place = of(self, endpoint).ok_or("confirmed, but not requested")?;
                let attempt = &mut self.attempts[place];
                claim(data[..] == [place as u8], "confirmed by the CC of another connection")?;
                claim(attempt.knows[0] == Knows::Asked, "unexpected confirmation")?;
                claim(attempt.was_accepted, "confirmed, but never accepted")?;
                (attempt.knows[0], attempt.was_confirmed) = (Knows::Open, true);
            }
            Indication::Established { endpoint } => {
                let place = of(self, endpoint).ok_or("established, but not indicated")?;
                let attempt = &mut self.attempts[place];
                claim(attempt.knows[1] == Knows::Accepted, "established, but not accepted")?;
                claim(attempt.was_confirmed, "established, but never confirmed")?;
                attempt.knows[1] = Knows::Open;
            }
            Indication::Data { endpoint, octets, end } => {
                let place = of(self, endpoint).ok_or("data for no connection")?;
                let attempt = &mut self.attempts[place];
                claim(octets[..] == [place as u8] && end, "data of another connection")?;
                claim(attempt.knows[1] == Knows::Open, "data on a connection that is not open")?;
                claim(attempt.sent && !attempt.delivered, "the TSDU arrived twice")?;
                attempt.delivered = true;
            }
            Indication::Drained { endpoint } => {
                let place = of(self, endpoint).ok_or("drained, but no connection")?;
                claim(self.attempts[place].delivered, "acknowledged, but not delivered")?;
            }
            Indication::Disconnect { endpoint, .. } => {
                let place = of(self, endpoint).ok_or("the end of an unknown connection")?;
                let knows = &mut self.attempts[place].knows[side];
                let lives = matches!(knows, Knows::Asked | Knows::Accepted | Knows::Open);
                claim(lives, "a second indication of the end")?;
                *knows = Knows::Over;
            }
            other => return Err(format!("told {other:?}")),
        }
        Ok(())
    }

    /// Advances by ticks until nothing more may happen; pending users accept.
    fn settle(&self, channel: Channel) -> Result<Self, String> {
        let mut world = self.clone();
        world.channel = channel;
        world.wire.clear();
        for _ in 0..=self.bounds.patience() {
            loop {
                let asked = |attempt: &Attempt| attempt.knows[1] == Knows::Asked;
                if let Some(place) = world.attempts.iter().position(asked) {
                    world.accept(place)?;
                } else if let Some(((to, octets), _)) = world.wire.pop_first() {
                    world.arrive(to, octets)?;
                } else {
                    break;
                }
            }
            world.tick(None)?;
        }
        Ok(world)
    }

    /// Checks invariants 7 and 8.
    fn check_ends(&self) -> Checked {
        let dead = self.settle(Channel::Dead)?;
        let gone = |world: &Self| world.entities.iter().all(|entity| entity.connections() == 0);
        claim(gone(&dead), "connections are left after the channel died")?;
        let perfect = self.settle(Channel::Perfect)?;
        let states = |attempt: &Attempt| attempt.states;
        let even = perfect
            .attempts
            .iter()
            .map(states)
            .all(|states| states == [State::Open; 2] || states == [State::Closed; 2]);
        claim(even, "a connection stays half open")
    }

    /// All state relevant for the future: times relative to now, without counters and parameters.
    fn fingerprint(&self) -> u128 {
        let mut text = String::new();
        for entity in &self.entities {
            let _ = write!(text, "{entity:?}");
            canonical(&mut text, self.now);
        }
        for attempt in &self.attempts {
            let Attempt { endpoints, knows, refusals, .. } = attempt;
            let Attempt { was_accepted, was_confirmed, sent, delivered, .. } = attempt;
            let ghosts = [was_accepted, was_confirmed, sent, delivered];
            let _ = write!(text, "{endpoints:?}{knows:?}{refusals}{ghosts:?}");
        }
        for ((to, octets), sent) in &self.wire {
            let _ = write!(text, "{to}{octets:?}{:?}", self.now - *sent);
        }
        fnv1a_128(text.bytes())
    }
}

fn address(of: usize) -> Address {
    Address::Station(Mac::local(of as u32 + 1))
}

/// Removes parameters and counters from an entity's description and replaces times, which have nine
/// decimals, by ages and waits. The time of the last TPDU counts only while I runs.
fn canonical(text: &mut String, now: Instant) {
    for (from, to) in [("params: ", "slots: "), ("counters: ", " }")] {
        if let (Some(begin), Some(end)) = (text.find(from), text.rfind(to)) {
            text.replace_range(begin..end.max(begin), "");
        }
    }
    let mut rest = core::mem::take(text);
    while let Some(point) = rest.find('.') {
        let digits = rest[..point].bytes().rev().take_while(u8::is_ascii_digit).count();
        let (start, end) = (point - digits, point + 10);
        let decimals = rest.get(point + 1..end).filter(|it| it.bytes().all(|c| c.is_ascii_digit()));
        let Some(decimals) = decimals.filter(|_| digits > 0 && rest[end..].starts_with('s')) else {
            text.push_str(&rest[..=point]);
            rest.drain(..=point);
            continue;
        };
        let nanos = rest[start..point].parse::<i128>().unwrap() * 1_000_000_000
            + decimals.parse::<i128>().unwrap();
        let heard = rest[..start].ends_with("heard: ");
        text.push_str(&rest[..start]);
        let state = text.rfind("state: ").map_or("", |at| &text[at + 7..]);
        let matters = !heard || state.starts_with("CcSent") || state.starts_with("Open");
        if matters {
            let _ = write!(text, "{}", nanos - i128::from(now.as_nanos()));
        }
        rest.drain(..=end);
    }
    text.push_str(&rest);
}

/// Extent of a search.
#[derive(Default, Debug)]
struct Seen {
    states: usize,
    steps: usize,
    deepest: usize,
    most_under_way: usize,
    open: usize,
}

/// Searches; returns the shortest sequence of actions that violates an invariant, if there is any.
fn explore(bounds: Bounds) -> Result<Seen, String> {
    let mut seen = Seen::default();
    let mut known = BTreeSet::new();
    // Predecessor and action of each state.
    let mut ways: Vec<(usize, Action)> = Vec::new();
    let first = World::new(bounds);
    known.insert(first.fingerprint());
    let mut waiting = VecDeque::from([(0, 0, first)]);
    while let Some((way, depth, world)) = waiting.pop_front() {
        seen.states += 1;
        seen.deepest = seen.deepest.max(depth);
        seen.most_under_way = seen.most_under_way.max(world.wire.len());
        let open = |attempt: &Attempt| attempt.states == [State::Open; 2];
        seen.open += usize::from(world.attempts.iter().any(open));
        world.check_ends().map_err(|broken| story(&ways, way, &broken))?;
        let actions = if depth < bounds.steps { world.actions() } else { Vec::new() };
        for action in actions {
            let mut next = world.clone();
            seen.steps += 1;
            let done = next.act(action);
            let fingerprint = next.fingerprint();
            if done.is_err() || known.insert(fingerprint) {
                ways.push((way, action));
                done.map_err(|broken| story(&ways, ways.len(), &broken))?;
                waiting.push_back((ways.len(), depth + 1, next));
            }
        }
    }
    Ok(seen)
}

/// Actions that lead to a state; ways are counted from 1, and 0 is the beginning.
fn story(ways: &[(usize, Action)], mut way: usize, broken: &str) -> String {
    let mut actions = Vec::new();
    while let Some((before, action)) = way.checked_sub(1).map(|place| ways[place]) {
        actions.push(format!("{action:?}"));
        way = before;
    }
    actions.reverse();
    format!("{broken}, after {}", actions.join(", "))
}

#[test]
fn two_entities_open_and_close_correctly_on_any_channel() {
    let wider = std::env::var("TIDEWIRE_EXPLORE").ok().and_then(|text| text.parse().ok());
    let one = Bounds { steps: wider.unwrap_or(BOUNDS.steps), ..BOUNDS };
    let bounds = [
        one,
        Bounds { delays: true, lifetime: 2, ..one },
        Bounds { data: true, depth: 3, ..one },
        Bounds { transmissions: 3, connections: 2, ..one },
    ];
    for bounds in bounds {
        let seen = explore(bounds).unwrap_or_else(|broken| panic!("{bounds:?}: {broken}"));
        println!("seen: {bounds:?}: {seen:?}");
        assert!(seen.open > 0 && seen.states > 500, "the search hardly went anywhere");
    }
}

#[test]
fn without_freezing_an_old_cr_opens_a_second_connection() {
    // ISO 8073 6.18: with L of one tick, the search finds the failure that L prevents.
    let bounds = Bounds { delays: true, unfrozen: true, ..BOUNDS };
    let broken = explore(bounds).unwrap_err();
    assert!(broken.starts_with("a second connection for one CR"), "{broken}");
    assert!(broken.contains("Tick"), "a tick thaws the reference: {broken}");
}

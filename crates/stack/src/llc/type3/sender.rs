//! Sending side: V(SI) of each association, T1, and the waiting commands.

use super::{
    Ac, Association, CommandStatus, Counters, First, Indication, Lpdu, Outcome, Outputs, Params,
    ReplyStatus, TransmitHandle, header,
};
use super::{Action, Event, State, transition};
use crate::machine::{Deadline, Output};
use crate::station::Transmission;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use wire::packet::Packet;
use wire::time::Instant;

/// Request of the user.
#[derive(Clone, Debug)]
pub(super) struct Command {
    id: u64,
    priority: u8,
    transmissions: u32,
    poll: bool,
    data: Packet,
}

impl Command {
    pub(super) const fn new(
        id: u64,
        association: Association,
        transmissions: u32,
        poll: bool,
        data: Packet,
    ) -> Self {
        Self { id, priority: association.priority, transmissions, poll, data }
    }
}

/// Transmit variable.
#[derive(Clone, Debug)]
struct Link {
    state: State,
    /// V(SI): number of the next command, or of the outstanding one.
    number: bool,
    under_way: Option<Command>,
    waiting: VecDeque<Command>,
    /// Transmission count of this association, which distinguishes the last handle from older ones.
    attempt: u64,
    /// Number of transmissions of the outstanding command, and their maximum in `most`.
    sent: u32,
    most: u32,
    /// True while the last transmission still waits for the medium, so that its copies do not exist
    /// yet.
    is_queued: bool,
    /// Expiry time of T1.
    due: Option<Instant>,
    /// Time at which every copy of the last transmission has expired. No other command is sent
    /// before it.
    rest: Instant,
    /// Expiry time of T3, if nothing is outstanding.
    until: Instant,
}

impl Link {
    const fn is_idle(&self) -> bool {
        matches!(self.state, State::Unsure | State::Sure)
    }

    /// Returns true if it may be evicted.
    fn is_unused(&self, now: Instant) -> bool {
        self.is_idle() && self.waiting.is_empty() && !self.is_queued && self.rest <= now
    }
}

#[derive(Clone, Debug)]
pub(super) struct Sender {
    params: Params,
    links: BTreeMap<Association, Link>,
    /// T1 of every association that waits for a response, M of those that wait for copies to
    /// expire.
    timers: BTreeSet<(Instant, Association)>,
    /// True once an association was evicted, whose receiver may still hold a variable.
    forgot: bool,
}

impl Sender {
    pub(super) const fn new(params: Params) -> Self {
        Self { params, links: BTreeMap::new(), timers: BTreeSet::new(), forgot: false }
    }

    pub(super) const fn params(&self) -> &Params {
        &self.params
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        self.timers.first().map(|(at, key)| {
            let rests = self.links.get(key).is_some_and(Link::is_idle);
            Deadline { at: *at, timer: if rests { "M" } else { "T1" } }
        })
    }

    pub(super) fn request(
        &mut self,
        now: Instant,
        association: Association,
        mut command: Command,
        outputs: &mut Outputs,
        counters: &mut Counters,
    ) {
        command.transmissions = command.transmissions.clamp(1, self.params.transmissions);
        let key = self.params.key(association);
        let refusal = if command.data.len() > self.params.information_octets {
            Some(Outcome::TooLong)
        } else if self.has_place(now, key) {
            None
        } else {
            Some(Outcome::QueueFull)
        };
        if let Some(outcome) = refusal {
            tell(outputs, command.id, outcome, 0);
            return;
        }
        let first = match self.params.first {
            First::AtZero if !self.forgot => State::Sure,
            First::AtZero | First::Synchronized => State::Unsure,
        };
        let link = self.links.entry(key).or_insert_with(|| Link {
            state: first,
            number: false,
            under_way: None,
            waiting: VecDeque::new(),
            attempt: 0,
            sent: 0,
            most: 0,
            is_queued: false,
            due: None,
            rest: Instant::ZERO,
            until: Instant::MAX,
        });
        let place = link.waiting.partition_point(|other| other.priority >= command.priority);
        link.waiting.insert(place, command);
        if link.is_idle() && link.until <= now {
            self.step(now, key, Event::T3RanOut, outputs, counters);
        }
        self.go_on(now, key, outputs, counters);
    }

    /// Starts the next waiting command as soon as copies of the last have expired. A command whose
    /// response arrived while its retransmission was queued is transmitted nevertheless, and delays
    /// the next.
    fn go_on(
        &mut self,
        now: Instant,
        key: Association,
        outputs: &mut Outputs,
        counters: &mut Counters,
    ) {
        let Some(link) = self.links.get_mut(&key) else { return };
        let is_held = link.is_queued || link.due.is_some();
        if !link.is_idle() || link.waiting.is_empty() || is_held {
            return;
        }
        if now < link.rest {
            link.due = Some(link.rest);
            self.timers.insert((link.rest, key));
        } else {
            self.step(now, key, Event::Requested, outputs, counters);
        }
    }

    /// Returns true if one more command for the association may wait. Evicts another association to
    /// make room.
    fn has_place(&mut self, now: Instant, key: Association) -> bool {
        if let Some(link) = self.links.get(&key) {
            return link.waiting.len() < self.params.waiting;
        }
        if self.links.len() >= self.params.associations {
            self.forgot = true;
            self.links.retain(|_, link| !link.is_unused(now) || link.until > now);
        }
        if self.links.len() >= self.params.associations {
            let idle = self.links.iter().filter(|(_, link)| link.is_unused(now));
            let Some(oldest) = idle.min_by_key(|(_, link)| link.until).map(|(key, _)| *key) else {
                return false;
            };
            self.links.remove(&oldest);
        }
        true
    }

    pub(super) fn cancel(
        &mut self,
        now: Instant,
        association: Association,
        id: u64,
        outputs: &mut Outputs,
        counters: &mut Counters,
    ) {
        let key = self.params.key(association);
        let Some(link) = self.links.get_mut(&key) else { return };
        if link.under_way.as_ref().is_some_and(|command| command.id == id) {
            self.step(now, key, Event::Cancelled, outputs, counters);
        } else if let Some(place) = link.waiting.iter().position(|command| command.id == id) {
            link.waiting.remove(place);
            tell(outputs, id, Outcome::Cancelled, 0);
        }
    }

    /// Processes a received response.
    pub(super) fn respond(
        &mut self,
        now: Instant,
        ac: Ac,
        outputs: &mut Outputs,
        counters: &mut Counters,
    ) {
        let Ac { association, number, poll_final, mut information, .. } = ac;
        let Some([status]) = information.first().filter(|_| information.strip(1).is_some()) else {
            counters.malformed += 1;
            return;
        };
        let Some(link) = self.links.get_mut(&association).filter(|link| !link.is_idle()) else {
            counters.stale_responses += 1;
            return;
        };
        let polled = link.under_way.as_ref().is_some_and(|command| command.poll);
        if number == link.number || poll_final != polled {
            counters.stale_responses += 1;
            return;
        }
        if link.state == State::Exchanging {
            let command = link.under_way.take().expect("a command is outstanding while exchanging");
            let outcome = Outcome::Responded {
                command: CommandStatus::of(status),
                reply: ReplyStatus::of(status),
                data: information,
            };
            tell(outputs, command.id, outcome, link.sent);
        }
        self.step(now, association, Event::Acknowledged, outputs, counters);
    }

    /// Reports that the medium has finished with a command. A refused command is retransmitted at
    /// once, except for the last time, which waits for T1, so that a late buffer is found as well.
    pub(super) fn transmitted(
        &mut self,
        now: Instant,
        handle: TransmitHandle,
        outcome: Transmission,
        outputs: &mut Outputs,
        counters: &mut Counters,
    ) {
        let key = self.params.key(handle.association);
        let Some(link) = self.links.get_mut(&key) else { return };
        if !link.is_queued || link.attempt != handle.attempt {
            return;
        }
        link.is_queued = false;
        link.rest = now + self.params.lifetime;
        let may_go_at_once = link.sent.saturating_add(1) < link.most;
        if link.is_idle() {
            self.go_on(now, key, outputs, counters);
        } else if outcome == Transmission::Refused && may_go_at_once {
            self.step(now, key, Event::Refused, outputs, counters);
        } else {
            let at = now + self.params.acknowledgement_time;
            link.due = Some(at);
            self.timers.insert((at, key));
        }
    }

    pub(super) fn expire(&mut self, now: Instant, outputs: &mut Outputs, counters: &mut Counters) {
        while let Some((at, key)) = self.timers.first().copied()
            && at <= now
        {
            self.timers.remove(&(at, key));
            let link =
                self.links.get_mut(&key).expect("an association with a running T1 is stored");
            link.due = None;
            if link.is_idle() {
                self.go_on(now, key, outputs, counters);
                continue;
            }
            let event = if link.sent < link.most { Event::T1RanOut } else { Event::GaveUp };
            self.step(now, key, event, outputs, counters);
        }
    }

    /// Executes the action of the table, and starts the next waiting command.
    fn step(
        &mut self,
        now: Instant,
        key: Association,
        event: Event,
        outputs: &mut Outputs,
        counters: &mut Counters,
    ) {
        let link = self.links.get_mut(&key).expect("events occur only on stored associations");
        let Some((next, action)) = transition(link.state, event) else { return };
        link.state = next;
        match action {
            Action::Synchronize => {
                let first = link.waiting.front().expect("a requested command waits");
                (link.sent, link.most) = (0, first.transmissions);
                counters.synchronizations += 1;
                counters.commands += 1;
            }
            Action::Send => {
                let command = link.waiting.pop_front().expect("a requested command waits");
                (link.sent, link.most) = (0, command.transmissions);
                link.under_way = Some(command);
                counters.commands += 1;
            }
            Action::SendAgain => counters.sent_again += 1,
            Action::Toggle | Action::Confirm => {
                link.number = !link.number;
                link.under_way = None;
            }
            Action::Fail => {
                counters.gave_up += 1;
                let command = link.under_way.take().or_else(|| link.waiting.pop_front());
                if let Some(command) = command {
                    tell(outputs, command.id, Outcome::NoAcknowledgement, link.sent);
                }
            }
            Action::Abandon => {
                if let Some(command) = &link.under_way {
                    tell(outputs, command.id, Outcome::Cancelled, link.sent);
                }
                // It stays outstanding, because its response must have the F bit, but is not
                // retransmitted.
                link.most = link.sent;
            }
            Action::Settle => link.under_way = None,
        }
        if matches!(action, Action::Synchronize | Action::Send | Action::SendAgain) {
            hand_down(link, key, outputs);
        } else if link.is_idle() {
            link.until = now + self.params.transmit_lifetime;
            if let Some(due) = link.due.take() {
                self.timers.remove(&(due, key));
            }
            self.go_on(now, key, outputs, counters);
        }
    }
}

fn tell(outputs: &mut Outputs, id: u64, outcome: Outcome, transmissions: u32) {
    outputs.push_back(Output::Deliver(Indication::Status { id, outcome, transmissions }));
}

/// Transmits the outstanding command: the user's, or one without LSDU.
fn hand_down(link: &mut Link, key: Association, outputs: &mut Outputs) {
    link.attempt += 1;
    link.sent += 1;
    link.is_queued = true;
    let (request, poll, data, priority) = match &link.under_way {
        Some(command) => (Some(command.id), command.poll, command.data.clone(), command.priority),
        None => {
            let priority = link.waiting.front().map_or(key.priority, |first| first.priority);
            (None, false, Packet::new(Bytes::new()), priority)
        }
    };
    let mut packet = data;
    packet.prepend(&header(key, 0, link.number, poll));
    let handle = Some(TransmitHandle { request, association: key, attempt: link.attempt });
    outputs.push_back(Output::Send(Lpdu { station: key.station, priority, packet, handle }));
}

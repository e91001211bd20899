//! Messages of a run, one by one: from the records of both ends to a row for each message.
//!
//! Bias: the sender's and the receiver's records of a message are paired by flow, sequence number and due time. If
//! [`MOST_OPEN`] others are open, the message that was due first is given up, and counts as lost.

use crate::collect::Watched;
use core::time::Duration;
use stack::load::{Event, FlowId, Record};
use std::collections::BTreeMap;
use wire::time::Instant;

/// Maximum number of messages that are not complete.
pub const MOST_OPEN: usize = 1 << 18;

/// Outcome of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It arrived.
    Delivered,
    /// It was sent, and did not arrive until the run ended.
    Lost,
    /// It was due, and too many were waiting for the service.
    NotTaken,
    /// It would have been due, and its station was absent.
    NotOffered,
}

impl Outcome {
    /// Outcome as a word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Lost => "lost",
            Self::NotTaken => "not-taken",
            Self::NotOffered => "not-offered",
        }
    }
}

/// A message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message<'a> {
    /// Name of its flow.
    pub flow: &'a str,
    /// Sequence number within the flow, from 0.
    pub sequence: u32,
    /// Time at which it was due.
    pub due: Instant,
    /// Time at which it was passed to the service; none if it was not.
    pub sent: Option<Instant>,
    /// Time from when it was due to its arrival; none if it did not arrive, or its receiver does not see it.
    pub delay: Option<Duration>,
    /// Time from when it was due to the arrival of its answer; none without an answer.
    pub response: Option<Duration>,
    /// Outcome.
    pub outcome: Outcome,
}

/// Destination of messages.
pub type Sink<'a> = &'a mut dyn FnMut(&Message<'_>);

/// Flow of messages.
struct Flow {
    name: String,
    is_answered: bool,
    has_stamps: bool,
}

/// Message whose records are not all there.
#[derive(Clone, Copy, Default)]
struct Open {
    sent: Option<Instant>,
    delay: Option<Duration>,
    response: Option<Duration>,
}

/// Pairs records to messages.
pub struct Messages {
    flows: BTreeMap<FlowId, Flow>,
    open: BTreeMap<Key, Open>,
}

/// Time at which a message was due, its flow, and its number in it: of open messages, the first waits longest.
type Key = (Instant, FlowId, u32);

impl Messages {
    /// Messages of these flows.
    #[must_use]
    pub fn new(watched: &[Watched]) -> Self {
        let flow = |it: &Watched| {
            let Watched { id, name, is_answered, has_stamps, .. } = it;
            let flow =
                Flow { name: name.clone(), is_answered: *is_answered, has_stamps: *has_stamps };
            (*id, flow)
        };
        Self { flows: watched.iter().map(flow).collect(), open: BTreeMap::new() }
    }

    /// Takes a record; passes a message that is complete with it to `sink`. Records of other flows have none.
    pub fn record(&mut self, record: &Record, sink: Sink<'_>) {
        let Some(flow) = self.flows.get(&record.flow) else { return };
        let at = record.at;
        let (sequence, due, outcome) = match record.event {
            Event::Sent { sequence, planned }
            | Event::Delivered { sequence, planned, .. }
            | Event::Answered { sequence, planned, .. } => (sequence, planned, None),
            Event::NotTaken { sequence, planned } => (sequence, planned, Some(Outcome::NotTaken)),
            Event::NotOffered { sequence, planned } => {
                (sequence, planned, Some(Outcome::NotOffered))
            }
            _ => return,
        };
        if let Some(outcome) = outcome {
            let (sent, delay, response) = (None, None, None);
            sink(&Message { flow: &flow.name, sequence, due, sent, delay, response, outcome });
            return;
        }
        let key = (due, record.flow, sequence);
        let open = self.open.entry(key).or_default();
        match record.event {
            Event::Sent { .. } => open.sent = Some(at),
            // The first arrival counts; copies follow it.
            Event::Delivered { .. } => open.delay = open.delay.or(Some(at.since(due))),
            _ => open.response = open.response.or(Some(at.since(due))),
        }
        let arrived = !flow.has_stamps || open.delay.is_some();
        let answered = !flow.is_answered || open.response.is_some();
        if open.sent.is_some() && arrived && answered {
            self.close(key, sink);
        } else if self.open.len() > MOST_OPEN
            && let Some(first) = self.open.keys().next().copied()
        {
            self.close(first, sink);
        }
    }

    /// Passes a message on. Copies of one that was complete before are nothing that was sent.
    fn close(&mut self, key: Key, sink: Sink<'_>) {
        let (due, flow, sequence) = key;
        let (Some(open), Some(flow)) = (self.open.remove(&key), self.flows.get(&flow)) else {
            return;
        };
        let Open { sent, delay, response } = open;
        let came = delay.is_some() || (!flow.has_stamps && response.is_some());
        let outcome = if came { Outcome::Delivered } else { Outcome::Lost };
        if sent.is_some() {
            let flow = flow.name.as_str();
            sink(&Message { flow, sequence, due, sent, delay, response, outcome });
        }
    }

    /// Passes the messages on that are not complete at the end of the run.
    pub fn finish(mut self, sink: Sink<'_>) {
        while let Some(key) = self.open.keys().next().copied() {
            self.close(key, &mut *sink);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(id: u16) -> Watched {
        Watched {
            id: FlowId(id),
            name: format!("flow-{id}"),
            is_answered: false,
            has_stamps: true,
            is_timed_by_sender: false,
            is_acknowledged: false,
            is_limited: true,
            deadline: None,
        }
    }

    #[test]
    fn of_too_many_open_messages_the_one_due_first_is_given_up() {
        let mut messages = Messages::new(&[watched(0), watched(1)]);
        let mut seen: Vec<(String, u32, Outcome)> = Vec::new();
        let mut sink = |it: &Message<'_>| seen.push((it.flow.to_owned(), it.sequence, it.outcome));
        let at = |number: u32| Instant::from_nanos(u64::from(number) * 10);
        let sent = |flow: u16, sequence: u32, due: Instant| Record {
            at: due,
            flow: FlowId(flow),
            event: Event::Sent { sequence, planned: due },
        };
        // The second flow loses all of its messages; then one of the first, due later, arrives.
        let most = MOST_OPEN as u32;
        for number in 0..most {
            messages.record(&sent(1, number, at(number)), &mut sink);
        }
        messages.record(&sent(0, 0, at(most)), &mut sink);
        let came = Event::Delivered { sequence: 0, planned: at(most), sent: None, octets: 100 };
        messages.record(&Record { at: at(most + 1), flow: FlowId(0), event: came }, &mut sink);
        messages.finish(&mut sink);
        let expected = |flow: &str, sequence, outcome| (flow.to_owned(), sequence, outcome);
        assert_eq!(seen[0], expected("flow-1", 0, Outcome::Lost));
        assert_eq!(seen[1], expected("flow-0", 0, Outcome::Delivered));
        assert_eq!(seen.len(), MOST_OPEN + 1);
    }
}

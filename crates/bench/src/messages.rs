//! Messages of a run, one by one: from the records of both ends to a row for each message.
//!
//! Bias: the sender's and the receiver's records of a message are paired by flow, sequence number and due time. If
//! [`MOST_OPEN`] others are open, the message that was due first is given up, and counts as lost. Messages that are
//! held until the end of a run are not given up: those beyond the first [`MOST_HELD`] have no row, and are counted. They
//! are paired by flow and number alone, and their due time is the sender's, not that of a peer's report.

use crate::collect::{Clocks, Watched};
use core::time::Duration;
use stack::load::{Event, FlowId, Record};
use std::collections::BTreeMap;
use wire::time::Instant;

/// Maximum number of messages that are not complete.
pub const MOST_OPEN: usize = 1 << 18;

/// Maximum number of messages of a run that are held until its end.
pub const MOST_HELD: usize = 1 << 19;

/// Outcome of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It arrived.
    Delivered,
    /// It was sent, and did not arrive until the run ended.
    Lost,
    /// It was sent, and its receiver did not report all arrivals.
    Unknown,
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
            Self::Unknown => "unknown",
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
    /// Time at which it was due, from the start of the run.
    pub due: Instant,
    /// Time at which it was passed to the service, from the start of the run; none if it was not.
    pub sent: Option<Instant>,
    /// Time from when it was due to its arrival; none if it did not arrive, or its receiver does not see it, or has a
    /// clock of its own.
    pub delay: Option<Duration>,
    /// Time from when it was due to the arrival of its answer; none without an answer.
    pub response: Option<Duration>,
    /// Octets that arrived; none if it did not arrive, or its receiver does not see it.
    pub octets: Option<usize>,
    /// Outcome.
    pub outcome: Outcome,
}

/// Destination of messages.
pub type Sink<'a> = &'a mut dyn FnMut(&Message<'_>);

/// Arrivals that the receivers reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reported {
    /// Each: a message without one is lost.
    Each,
    /// A part: the outcome of a message without one is unknown.
    Part,
}

impl Reported {
    /// Outcome of a message without an arrival.
    const fn without_arrival(self) -> Outcome {
        match self {
            Self::Each => Outcome::Lost,
            Self::Part => Outcome::Unknown,
        }
    }
}

/// Flow of messages.
struct Flow {
    name: String,
    is_answered: bool,
    has_stamps: bool,
    /// True if one clock stamps messages and arrivals.
    has_delays: bool,
}

/// Message whose records are not all there.
#[derive(Clone, Copy, Default)]
struct Open {
    due: Instant,
    sent: Option<Instant>,
    /// Octets that arrived.
    arrived: Option<usize>,
    delay: Option<Duration>,
    response: Option<Duration>,
    /// Outcome of a message that was not sent.
    unsent: Option<Outcome>,
}

/// Time at which a message is passed on.
enum Passing {
    /// Once its records are all there.
    Complete,
    /// At the end of the run, so that its sink takes no time during it.
    AtTheEnd {
        /// Messages that are not held, because there were [`MOST_HELD`] before.
        left_out: u64,
    },
}

/// Pairs records to messages.
pub struct Messages<'a> {
    flows: BTreeMap<FlowId, Flow>,
    open: BTreeMap<Key, Open>,
    passing: Passing,
    /// Start of the run.
    origin: Instant,
    sink: Sink<'a>,
}

/// Time at which a message was due, its flow, and its number in it: of open messages, the first waits longest. Of
/// messages that are held the time is zero.
type Key = (Instant, FlowId, u32);

impl<'a> Messages<'a> {
    /// Messages of these flows, in a run that starts at `origin`, for `sink`. Each is passed on once it is complete.
    #[must_use]
    pub fn new(watched: &[Watched], origin: Instant, clocks: Clocks, sink: Sink<'a>) -> Self {
        let flow = |it: &Watched| {
            let Watched { id, name, is_answered, has_stamps, is_timed_by_sender, .. } = it;
            let flow = Flow {
                name: name.clone(),
                is_answered: *is_answered,
                has_stamps: *has_stamps,
                has_delays: *is_timed_by_sender || clocks == Clocks::Shared,
            };
            (*id, flow)
        };
        let flows = watched.iter().map(flow).collect();
        Self { flows, open: BTreeMap::new(), passing: Passing::Complete, origin, sink }
    }

    /// Holds all messages until the end of the run, and passes them on in the order in which they were due.
    #[must_use]
    pub fn held(self) -> Self {
        Self { passing: Passing::AtTheEnd { left_out: 0 }, ..self }
    }

    /// Takes a record. Records of other flows have no message.
    pub fn record(&mut self, record: &Record) {
        let Some(flow) = self.flows.get(&record.flow) else { return };
        let at = record.at;
        let (Event::Sent { sequence, planned: due }
        | Event::NotTaken { sequence, planned: due }
        | Event::NotOffered { sequence, planned: due }
        | Event::Delivered { sequence, planned: due, .. }
        | Event::Answered { sequence, planned: due, .. }) = record.event
        else {
            return;
        };
        let is_held = matches!(self.passing, Passing::AtTheEnd { .. });
        let key = (if is_held { Instant::ZERO } else { due }, record.flow, sequence);
        if let Passing::AtTheEnd { left_out } = &mut self.passing
            && !self.open.contains_key(&key)
        {
            let is_arrival =
                matches!(record.event, Event::Delivered { .. } | Event::Answered { .. });
            if is_arrival || self.open.len() >= MOST_HELD {
                *left_out += u64::from(!is_arrival);
                return;
            }
        }
        let open = self.open.entry(key).or_insert_with(|| Open { due, ..Open::default() });
        let due = open.due;
        match record.event {
            Event::Sent { .. } => open.sent = Some(at),
            // The first arrival counts; copies follow it.
            Event::Delivered { octets, .. } if open.arrived.is_none() => {
                open.arrived = Some(octets);
                open.delay = flow.has_delays.then(|| at.since(due));
            }
            Event::Answered { .. } => open.response = open.response.or(Some(at.since(due))),
            Event::NotTaken { .. } => open.unsent = Some(Outcome::NotTaken),
            Event::NotOffered { .. } => open.unsent = Some(Outcome::NotOffered),
            _ => {}
        }
        let arrived = !flow.has_stamps || open.arrived.is_some();
        let answered = !flow.is_answered || open.response.is_some();
        let is_complete = open.unsent.is_some() || open.sent.is_some() && arrived && answered;
        if is_held {
            return;
        }
        if is_complete {
            self.close(key, Reported::Each);
        } else if self.open.len() > MOST_OPEN
            && let Some(first) = self.open.keys().next().copied()
        {
            self.close(first, Reported::Each);
        }
    }

    /// Passes a message on. Copies of one that was complete before are nothing that was sent.
    fn close(&mut self, key: Key, reported: Reported) {
        let (_, flow, sequence) = key;
        let (Some(open), Some(flow)) = (self.open.remove(&key), self.flows.get(&flow)) else {
            return;
        };
        let Open { due, sent, arrived, delay, response, unsent } = open;
        // Only a request that arrived is answered.
        let came = arrived.is_some() || response.is_some();
        let outcome = match unsent {
            Some(outcome) => outcome,
            None if sent.is_none() => return,
            None if came => Outcome::Delivered,
            None => reported.without_arrival(),
        };
        let (flow, octets) = (flow.name.as_str(), arrived);
        let from_origin = |at: Instant| at.earlier_by(self.origin.as_nanos());
        let (due, sent) = (from_origin(due), sent.map(from_origin));
        (self.sink)(&Message { flow, sequence, due, sent, delay, response, octets, outcome });
    }

    /// Passes the messages on that remain at the end of the run. Returns the number of messages that have no row,
    /// because more than [`MOST_HELD`] were to be held.
    pub fn finish(mut self, reported: Reported) -> u64 {
        let mut rest: Vec<_> = self.open.iter().map(|(key, open)| (open.due, *key)).collect();
        rest.sort_unstable();
        rest.into_iter().for_each(|(_, key)| self.close(key, reported));
        match self.passing {
            Passing::Complete => 0,
            Passing::AtTheEnd { left_out } => left_out,
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

    const fn at(number: u32) -> Instant {
        Instant::from_nanos(number as u64 * 10)
    }

    /// Record of a message that was due, and sent, at this time.
    const fn sent(flow: u16, sequence: u32, due: Instant) -> Record {
        Record { at: due, flow: FlowId(flow), event: Event::Sent { sequence, planned: due } }
    }

    /// Record of the arrival of a message after this time.
    fn came(flow: u16, sequence: u32, due: Instant, delay: Duration) -> Record {
        let event = Event::Delivered { sequence, planned: due, sent: None, octets: 100 };
        Record { at: due + delay, flow: FlowId(flow), event }
    }

    #[test]
    fn of_too_many_open_messages_the_one_due_first_is_given_up() {
        let mut seen: Vec<(String, u32, Outcome)> = Vec::new();
        let mut sink = |it: &Message<'_>| seen.push((it.flow.to_owned(), it.sequence, it.outcome));
        let flows = [watched(0), watched(1)];
        let mut messages = Messages::new(&flows, Instant::ZERO, Clocks::Shared, &mut sink);
        // The second flow loses all of its messages; then one of the first, due later, arrives.
        let most = MOST_OPEN as u32;
        for number in 0..most {
            messages.record(&sent(1, number, at(number)));
        }
        messages.record(&sent(0, 0, at(most)));
        messages.record(&came(0, 0, at(most), Duration::from_nanos(10)));
        assert_eq!(messages.finish(Reported::Each), 0);
        let expected = |flow: &str, sequence, outcome| (flow.to_owned(), sequence, outcome);
        assert_eq!(seen[0], expected("flow-1", 0, Outcome::Lost));
        assert_eq!(seen[1], expected("flow-0", 0, Outcome::Delivered));
        assert_eq!(seen.len(), MOST_OPEN + 1);
    }

    #[test]
    fn of_held_messages_the_first_have_rows_and_the_rest_is_counted() {
        let mut seen: Vec<(u32, Outcome)> = Vec::new();
        let mut sink = |it: &Message<'_>| seen.push((it.sequence, it.outcome));
        let flows = [watched(0)];
        let messages = Messages::new(&flows, Instant::ZERO, Clocks::Shared, &mut sink);
        let mut messages = messages.held();
        let most = MOST_HELD as u32;
        for number in 0..most + 3 {
            messages.record(&sent(0, number, at(number)));
        }
        // The reports of a peer add no message that was not sent, and none that is not held.
        for number in [0, most, most + 7] {
            messages.record(&came(0, number, at(number), Duration::ZERO));
        }
        assert_eq!(messages.finish(Reported::Each), 3);
        assert_eq!(seen.len(), MOST_HELD);
        let arrived: Vec<u32> = seen
            .iter()
            .filter(|(_, outcome)| *outcome == Outcome::Delivered)
            .map(|(sequence, _)| *sequence)
            .collect();
        assert_eq!(arrived, [0]);
    }

    /// Rows of five messages, held: one that arrived, one that was answered, one without a report, one that was not
    /// accepted, and a file that its receiver confirmed.
    fn rows(clocks: Clocks, reported: Reported) -> Vec<(Option<u64>, Option<usize>, Outcome)> {
        let requests = Watched { is_answered: true, ..watched(1) };
        let files = Watched { is_timed_by_sender: true, ..watched(2) };
        let mut seen = Vec::new();
        let mut sink = |it: &Message<'_>| {
            let delay = it.delay.map(|delay| delay.as_nanos() as u64);
            assert_eq!(it.sent.unwrap_or(it.due), it.due);
            seen.push((it.due.as_nanos(), (delay, it.octets, it.outcome)));
        };
        let origin = Instant::from_nanos(1_000_000);
        let after = |number: u32| origin + Duration::from_nanos(u64::from(number) * 10);
        let flows = [watched(0), requests, files];
        let mut messages = Messages::new(&flows, origin, clocks, &mut sink).held();
        messages.record(&sent(0, 0, after(0)));
        messages.record(&sent(1, 0, after(1)));
        messages.record(&sent(0, 1, after(2)));
        messages.record(&sent(2, 0, after(4)));
        let (sequence, planned) = (2, after(3));
        let event = Event::NotTaken { sequence, planned };
        messages.record(&Record { at: planned, flow: FlowId(0), event });
        let (sequence, planned) = (0, after(1));
        let event = Event::Answered { sequence, planned, sent: None, octets: 50 };
        messages.record(&Record { at: after(9), flow: FlowId(1), event });
        messages.record(&came(0, 0, after(0), Duration::from_nanos(7)));
        // Neither a copy of it nor another due time in a report changes anything.
        messages.record(&came(0, 0, after(0), Duration::from_nanos(8)));
        messages.record(&came(0, 0, after(1), Duration::from_nanos(8)));
        messages.record(&came(2, 0, after(4), Duration::from_nanos(9)));
        messages.finish(reported);
        assert_eq!(seen.iter().map(|(due, _)| *due).collect::<Vec<_>>(), [0, 10, 20, 30, 40]);
        seen.into_iter().map(|(_, row)| row).collect()
    }

    #[test]
    fn a_message_without_a_report_is_lost_only_if_all_are_reported() {
        for (reported, outcome) in
            [(Reported::Each, Outcome::Lost), (Reported::Part, Outcome::Unknown)]
        {
            let expected = [
                (Some(7), Some(100), Outcome::Delivered),
                (None, None, Outcome::Delivered),
                (None, None, outcome),
                (None, None, Outcome::NotTaken),
                (Some(9), Some(100), Outcome::Delivered),
            ];
            assert_eq!(rows(Clocks::Shared, reported), expected);
        }
    }

    #[test]
    fn arrivals_by_another_clock_have_no_delay() {
        let rows = rows(Clocks::Separate, Reported::Each);
        assert_eq!(rows[0], (None, Some(100), Outcome::Delivered));
        // The sender of a file times its arrival.
        assert_eq!(rows[4], (Some(9), Some(100), Outcome::Delivered));
    }
}

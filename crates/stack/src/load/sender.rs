//! Sending end of a flow: determines when messages are due, independent of the service that carries
//! them.

use super::jitter::{Intervals, Jitter};
use super::retransmission::{Retransmissions, Turns};
use super::{
    Absence, Event, Flow, FlowId, LEAST_OCTETS, Pattern, Record, Service, Stamp, StampKind, content,
};
use crate::machine::Deadline;
use bytes::Bytes;
use core::time::Duration;
use stats::rng::Stream;
use std::collections::VecDeque;
use wire::addr::Mac;
use wire::packet::Packet;
use wire::time::Instant;

/// Maximum number of messages waiting for the service; further ones are dropped and counted.
const WAITING: usize = 4_096;

/// Stage of the sending end of a flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Stage {
    /// Its start time has not come.
    Waiting,
    /// Its connection is being opened.
    Opening,
    /// Messages are due as the pattern requires.
    Running,
    /// The last message was handed over; acknowledgements or replies are pending.
    Finishing,
    /// The flow has ended.
    Over,
}

/// Sending end of a flow.
#[derive(Clone, Debug)]
pub struct Sender {
    flow: Flow,
    stage: Stage,
    chance: Stream,
    /// Time at which the next message is due; `None` if that depends on a reply, or none is left.
    next_due: Option<Instant>,
    /// Sequence numbers and due times of waiting messages, oldest first.
    waiting: VecDeque<(u32, Instant)>,
    /// Number of messages that have become due.
    due: u64,
    /// Number of requests without a reply.
    unanswered: u64,
    /// Number of replies.
    answered: u64,
    opened_at: Instant,
    /// Periods in which the user offers nothing.
    absences: Vec<Absence>,
    /// States and their retransmissions. Boxed, because most flows have none.
    turns: Option<Box<Turns>>,
    /// Intervals that deviate from the period. Boxed, because most flows have none.
    intervals: Option<Box<Intervals>>,
}

impl Sender {
    /// Creates the sending end of `flow`, before its start.
    #[must_use]
    pub fn new(flow: Flow) -> Self {
        let chance = Stream::named(flow.seed, "arrivals");
        Self {
            flow,
            stage: Stage::Waiting,
            chance,
            next_due: None,
            waiting: VecDeque::new(),
            due: 0,
            unanswered: 0,
            answered: 0,
            opened_at: Instant::ZERO,
            absences: Vec::new(),
            turns: None,
            intervals: None,
        }
    }

    /// Sets the absences of the user. A message due in an absence is recorded but not handed over.
    /// A pattern that waits for the service or for a reply resumes when the user is back.
    pub fn absent(&mut self, absences: &[Absence]) {
        self.absences = absences.to_vec();
    }

    /// Flow of this sender.
    #[must_use]
    pub const fn flow(&self) -> &Flow {
        &self.flow
    }

    /// Current stage.
    #[must_use]
    pub const fn stage(&self) -> Stage {
        self.stage
    }

    /// Time and timer of the next [`Sender::expire`].
    #[must_use]
    pub fn deadline(&self) -> Option<Deadline> {
        let at = match self.stage {
            Stage::Waiting => Some(self.flow.start),
            // A bulk message becomes due when one has been handed over, not at a time.
            Stage::Running if self.is_ahead() => None,
            Stage::Running => self.next_due,
            Stage::Opening | Stage::Finishing | Stage::Over => None,
        };
        at.map(|at| Deadline { at, timer: "load" })
    }

    /// Records that its connection is being opened, or its title resolved: the first call counts.
    pub fn opening(&mut self, now: Instant) {
        if self.stage != Stage::Opening {
            self.opened_at = now;
        }
        self.stage = Stage::Opening;
    }

    /// Time for which its connection has been opening.
    #[must_use]
    pub fn opening_for(&self, now: Instant) -> Duration {
        now.since(self.opened_at)
    }

    /// Sets the receiver, which a directory has named.
    pub const fn redirect(&mut self, peer: Mac) {
        self.flow.peer = peer;
    }

    /// Sends states and their retransmissions from `now` on, when the flow opens.
    pub fn retransmit(&mut self, now: Instant, plan: Retransmissions) {
        self.turns = Some(Box::new(Turns::new(plan, self.flow.seed, now)));
    }

    /// Draws the intervals of a pattern with a period from this table, from its first message on.
    pub fn deviate(&mut self, jitter: Jitter) {
        self.intervals = Some(Box::new(Intervals::new(jitter, self.flow.seed)));
    }

    /// Time at which the messages begin if the flow opens now. Without a connection or a title to resolve it is the
    /// start of the flow, even if the station is late: messages that were due meanwhile are late, not absent.
    #[must_use]
    pub fn begins(&self, now: Instant) -> Instant {
        if self.stage == Stage::Waiting { now.min(self.flow.start) } else { now }
    }

    /// Starts the messages; returns the time that opening took.
    pub fn open(&mut self, now: Instant) -> Duration {
        let took = self.opening_for(now);
        let first = self.begins(now);
        self.stage = Stage::Running;
        self.next_due = match self.flow.pattern {
            Pattern::Poisson { mean_interval } => {
                Some(first + self.chance.exponential(mean_interval))
            }
            _ => Some(first),
        };
        self.check_end();
        took
    }

    /// Stops further messages from becoming due; waiting ones are still handed over and answered.
    pub fn wind_up(&mut self) {
        match self.stage {
            Stage::Waiting | Stage::Opening => self.end(),
            Stage::Running => {
                self.next_due = None;
                self.stage = Stage::Finishing;
            }
            Stage::Finishing | Stage::Over => {}
        }
    }

    /// Ends the flow, even if messages are left.
    pub fn end(&mut self) {
        self.stage = Stage::Over;
        self.next_due = None;
        self.waiting.clear();
    }

    /// Queues every message that has become due; those that do not fit are recorded in `records`.
    pub fn expire(&mut self, now: Instant, records: &mut VecDeque<Record>) {
        while self.stage == Stage::Running
            && let Some(planned) = self.next_due.filter(|due| *due <= now)
        {
            if self.is_ahead() {
                break;
            }
            let absence = self.absences.iter().find(|absence| absence.covers(planned)).copied();
            if let Some(absence) = absence
                && matches!(self.flow.pattern, Pattern::Bulk | Pattern::MaximumRateRequest { .. })
            {
                self.next_due = absence.until;
                continue;
            }
            let sequence = self.due as u32;
            self.due += 1;
            if absence.is_some() {
                let event = Event::NotOffered { sequence, planned };
                records.push_back(Record { at: now, flow: self.flow.id, event });
            } else if self.waiting.len() < WAITING {
                self.waiting.push_back((sequence, planned));
            } else {
                let event = Event::NotTaken { sequence, planned };
                records.push_back(Record { at: now, flow: self.flow.id, event });
            }
            self.next_due = self.after(planned);
            self.check_end();
        }
    }

    /// Due time of the message after the one due at `planned`, if already determined.
    fn after(&mut self, planned: Instant) -> Option<Instant> {
        match self.flow.pattern {
            Pattern::Cyclic { period } | Pattern::ConstantRateRequest { period, .. } => {
                let interval = self.intervals.as_mut().map_or(period, |it| it.take(period));
                Some(planned + interval)
            }
            Pattern::Poisson { mean_interval } => {
                Some(planned + self.chance.exponential(mean_interval))
            }
            Pattern::MaximumRateRequest { .. } if self.due < self.answered + self.ahead() => {
                Some(planned)
            }
            Pattern::MaximumRateRequest { .. } => None,
            Pattern::Bulk => Some(planned),
            Pattern::Retransmitted => {
                let turns = self.turns.as_deref_mut()?;
                turns.advance();
                Some(turns.turn().due)
            }
        }
    }

    /// Number of requests at the highest rate that may be without their replies.
    const fn ahead(&self) -> u64 {
        match self.flow.service {
            Service::Mms { outstanding } => outstanding as u64,
            _ => 1,
        }
    }

    /// Returns true if a bulk flow has enough messages waiting to keep its service busy.
    fn is_ahead(&self) -> bool {
        self.flow.pattern == Pattern::Bulk && self.waiting.len() >= 2
    }

    fn check_end(&mut self) {
        if self.flow.messages.is_some_and(|messages| self.due >= messages) {
            self.next_due = None;
            self.stage = Stage::Finishing;
        }
    }

    /// Returns true if a message is waiting to be handed over.
    #[must_use]
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns true if the flow has nothing to do before its deadline, whatever it did last: it
    /// runs without a connection, and every due message was handed over.
    #[must_use]
    pub fn rests(&self, now: Instant) -> bool {
        matches!(self.flow.service, Service::Datagram | Service::Published)
            && self.stage == Stage::Running
            && self.waiting.is_empty()
            && self.next_due.is_some_and(|due| due > now)
    }

    /// Returns true if the last message of the flow was taken.
    #[must_use]
    pub fn has_taken_last(&self) -> bool {
        self.stage == Stage::Finishing && self.waiting.is_empty()
    }

    /// Oldest waiting message: sequence number and due time.
    #[must_use]
    pub fn oldest_waiting(&self) -> Option<(u32, Instant)> {
        self.waiting.front().copied()
    }

    /// Takes the oldest waiting message, whose octets its service makes: its stamp.
    pub fn take_stamp(&mut self, now: Instant, records: &mut VecDeque<Record>) -> Option<Stamp> {
        let (sequence, planned) = self.waiting.pop_front()?;
        let kind = match self.flow.pattern.reply_octets() {
            None => StampKind::Message,
            Some(reply_octets) => {
                self.unanswered += 1;
                StampKind::Request { reply_octets: reply_octets.min(0xFFFE) as u16 }
            }
        };
        // A bulk message is due when there is room for it, so it cannot be late.
        let planned = if self.flow.pattern == Pattern::Bulk { now } else { planned };
        let event = Event::Sent { sequence, planned };
        records.push_back(Record { at: now, flow: self.flow.id, event });
        Some(Stamp { flow: self.flow.id, kind, sequence, planned, lag: Some(now.since(planned)) })
    }

    /// Takes the oldest waiting message as a contiguous TSDU; `now` is the handover time.
    pub fn take_tsdu(&mut self, now: Instant, records: &mut VecDeque<Record>) -> Option<Bytes> {
        let stamp = self.take_stamp(now, records)?;
        Some(tsdu(&stamp, self.flow.size_octets))
    }

    /// Takes the oldest waiting message, whose octets its service makes: its sequence number and due
    /// time.
    pub fn take_call(
        &mut self,
        now: Instant,
        records: &mut VecDeque<Record>,
    ) -> Option<(u32, Instant)> {
        let stamp = self.take_stamp(now, records)?;
        Some((stamp.sequence, stamp.planned))
    }

    /// Takes the oldest waiting message as an LSDU with shared contents; `now` is the handover
    /// time.
    pub fn take_lsdu(&mut self, now: Instant, records: &mut VecDeque<Record>) -> Option<Packet> {
        let stamp = self.take_stamp(now, records)?;
        Some(lsdu(&stamp, self.flow.size_octets))
    }

    /// Records a reply.
    pub fn answered(&mut self, now: Instant) {
        self.unanswered = self.unanswered.saturating_sub(1);
        self.answered += 1;
        let more = matches!(self.flow.pattern, Pattern::MaximumRateRequest { .. });
        if more && self.stage == Stage::Running {
            self.next_due = Some(now);
        }
    }

    /// Returns true if every message was handed over and every request answered. Acknowledgements
    /// are tracked by the service.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.stage == Stage::Finishing && self.waiting.is_empty() && self.unanswered == 0
    }

    /// Flow number.
    #[must_use]
    pub const fn id(&self) -> FlowId {
        self.flow.id
    }
}

/// Creates a contiguous message of `octets` octets.
pub(super) fn tsdu(stamp: &Stamp, octets: usize) -> Bytes {
    let mut message = Vec::with_capacity(octets.max(LEAST_OCTETS));
    let head = stamp.encode(octets);
    message.extend_from_slice(&head);
    content::append(&mut message, stamp.sequence, head.len(), octets);
    Bytes::from(message)
}

/// Creates a message of `octets` octets whose contents are not copied.
pub(super) fn lsdu(stamp: &Stamp, octets: usize) -> Packet {
    let head = stamp.encode(octets);
    match content::shared(stamp.sequence, head.len(), octets) {
        Some(shared) => {
            let mut packet = Packet::new(shared);
            packet.prepend(&head);
            packet
        }
        None => Packet::new(tsdu(stamp, octets)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Service;
    use crate::messaging::Priority;
    use wire::addr::Mac;

    fn sender(pattern: Pattern, messages: u64) -> Sender {
        Sender::new(Flow {
            id: FlowId(3),
            peer: Mac::local(2),
            service: Service::Datagram,
            priority: Priority::LOWEST,
            pattern,
            size_octets: 100,
            messages: Some(messages),
            start: Instant::ZERO,
            seed: 1,
        })
    }

    fn ms(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn cyclic_messages_are_due_on_the_grid_despite_late_handover() {
        let mut records = VecDeque::new();
        let mut sender = sender(Pattern::Cyclic { period: Duration::from_millis(20) }, 4);
        sender.opening(ms(0));
        sender.open(ms(5));
        sender.expire(ms(50), &mut records);
        while sender.take_lsdu(ms(51), &mut records).is_some() {}
        let planned: Vec<_> = records
            .iter()
            .map(|record| match record.event {
                Event::Sent { sequence, planned } => (sequence, planned),
                _ => panic!("{record:?}"),
            })
            .collect();
        assert_eq!(planned, [(0, ms(5)), (1, ms(25)), (2, ms(45))]);
        assert_eq!(sender.deadline().map(|d| d.at), Some(ms(65)));
        sender.expire(ms(65), &mut records);
        assert_eq!(sender.stage(), Stage::Finishing);
        assert!(!sender.is_done(), "the last message still waits");
        assert!(sender.take_lsdu(ms(65), &mut records).is_some() && sender.is_done());
    }

    #[test]
    fn requests_at_a_constant_rate_have_the_jitter_of_their_table() {
        use crate::load::jitter::{Quantile, WHOLE};
        let period = Duration::from_millis(20);
        let mut sender = sender(Pattern::ConstantRateRequest { period, reply_octets: 50 }, 1_000);
        let quantile = |share, deviation_ns| Quantile { share, deviation_ns };
        let table = vec![quantile(0, -2_000_000), quantile(WHOLE, 2_000_000)];
        sender.deviate(Jitter::new(table).unwrap());
        let mut records = VecDeque::new();
        sender.open(ms(0));
        for now in 0..20_100 {
            sender.expire(ms(now), &mut records);
            while sender.take_tsdu(ms(now), &mut records).is_some() {}
        }
        let planned = records.iter().filter_map(|record| match record.event {
            Event::Sent { planned, .. } => Some(planned.as_nanos()),
            _ => None,
        });
        let planned: Vec<u64> = planned.collect();
        let mut gaps: Vec<u64> = planned.windows(2).map(|pair| pair[1] - pair[0]).collect();
        gaps.sort_unstable();
        assert_eq!(gaps.len(), 999);
        for (nth, expected) in [(99, 18_400_000), (499, 20_000_000), (899, 21_600_000)] {
            assert!(gaps[nth].abs_diff(expected) < 60_000, "{nth}: {}", gaps[nth]);
        }
    }

    #[test]
    fn at_maximum_rate_a_request_waits_for_the_last_reply() {
        let mut records = VecDeque::new();
        let mut sender = sender(Pattern::MaximumRateRequest { reply_octets: 50 }, 2);
        sender.open(ms(0));
        sender.expire(ms(9), &mut records);
        assert!(sender.take_tsdu(ms(9), &mut records).is_some());
        sender.expire(ms(10), &mut records);
        assert!(sender.take_tsdu(ms(10), &mut records).is_none());
        sender.answered(ms(11));
        sender.expire(ms(11), &mut records);
        let tsdu = sender.take_tsdu(ms(11), &mut records).unwrap();
        let stamp = Stamp::decode(&tsdu).unwrap();
        assert_eq!((stamp.sequence, stamp.kind), (1, StampKind::Request { reply_octets: 50 }));
        assert!(!sender.is_done());
        sender.answered(ms(12));
        assert!(sender.is_done());
    }

    #[test]
    fn poisson_intervals_have_the_mean_asked_for() {
        let mut records = VecDeque::new();
        let mean_interval = Duration::from_millis(2);
        let mut sender = sender(Pattern::Poisson { mean_interval }, 1_000_000);
        sender.open(ms(0));
        for now in 0..20_000 {
            sender.expire(ms(now), &mut records);
            while sender.take_lsdu(ms(now), &mut records).is_some() {}
        }
        // 20 s at a mean of 2 ms: 10,000 messages, standard deviation 100; five of those either way.
        assert!((9_500..=10_500).contains(&records.len()), "{} messages", records.len());
    }
}

//! Connection: executes the table, and passes segments between its two directions.

use super::receiving::{Arrived, Receiving};
use super::segment::{Segment, with};
use super::sending::{Piece, Sending};
use super::service::{Counters, Params};
use super::table::{Action, Event, State, transition};
use crate::machine::{Deadline, Timer};
use bytes::Bytes;
use std::collections::VecDeque;
use wire::tcp::Flags;
use wire::time::Instant;

/// Event for the user of a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Told {
    Opened,
    Data(Bytes),
    Taken(usize),
    Ended,
    Lost,
}

/// Output of a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Outgoing {
    Segment(Segment),
    Told(Told),
    Retransmitted,
}

/// Connection.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    params: Params,
    state: State,
    /// True if the peer has opened it.
    pub(super) is_called: bool,
    sending: Sending,
    receiving: Receiving,
    time_wait: Timer,
    outputs: VecDeque<Outgoing>,
    pub(super) counters: Counters,
}

impl Connection {
    /// Requests a connection: sends its SYN.
    pub(super) fn request(now: Instant, params: &Params, initial: u32) -> Self {
        let mut connection = Self::new(params, initial, State::SynSent, 0);
        connection.sending.start(now);
        connection.send_syn();
        connection
    }

    /// Answers the SYN of a peer.
    pub(super) fn answer(now: Instant, params: &Params, initial: u32, syn: &Segment) -> Self {
        let mut connection = Self::new(params, initial, State::SynReceived, syn.sequence);
        connection.is_called = true;
        connection.sending.agree(syn.mss);
        connection.sending.set_window(syn.window);
        connection.sending.start(now);
        connection.send_syn();
        connection
    }

    fn new(params: &Params, initial: u32, state: State, peer: u32) -> Self {
        Self {
            state,
            is_called: false,
            sending: Sending::new(params, initial),
            receiving: Receiving::new(params, peer),
            time_wait: Timer::new("TIME-WAIT"),
            outputs: VecDeque::new(),
            counters: Counters::default(),
            params: params.clone(),
        }
    }

    pub(super) const fn state(&self) -> State {
        self.state
    }

    pub(super) fn poll(&mut self) -> Option<Outgoing> {
        self.outputs.pop_front()
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        let timers = [&self.sending.timer, &self.receiving.timer, &self.time_wait];
        timers.into_iter().map(Timer::deadline).fold(None, Deadline::earlier)
    }

    // ---- the table ------------------------------------------------------------------------------

    pub(super) fn step(&mut self, now: Instant, event: Event) {
        let Some((next, action)) = transition(self.state, event) else { return };
        self.state = next;
        match action {
            Action::Open => self.tell(Told::Opened),
            Action::SendFin => {
                self.sending.is_closing = true;
                self.pump(now);
            }
            Action::ReportEnd | Action::ReportEndAndWait => {
                self.tell(Told::Ended);
                self.send_acknowledgement();
            }
            Action::Acknowledge => self.send_acknowledgement(),
            Action::Wait | Action::Forget => {}
            Action::ReportLoss => self.tell(Told::Lost),
            Action::Reset => self.send(with(Flags::RST, Flags::ACK), Bytes::new()),
        }
        match self.state {
            State::TimeWait => self.time_wait.start(now + self.params.time_wait),
            State::Closed => {
                self.sending.timer.stop();
                self.receiving.timer.stop();
                self.time_wait.stop();
            }
            State::SynSent
            | State::SynReceived
            | State::Established
            | State::FinWait1
            | State::FinWait2
            | State::CloseWait
            | State::Closing
            | State::LastAck => {}
        }
    }

    fn tell(&mut self, told: Told) {
        self.outputs.push_back(Outgoing::Told(told));
    }

    // ---- sending --------------------------------------------------------------------------------

    pub(super) fn push(&mut self, now: Instant, octets: Bytes) {
        self.sending.push(octets);
        self.pump(now);
    }

    fn output(&mut self, segment: Segment) {
        self.counters.sent += 1;
        if segment.flags.has(Flags::ACK) {
            self.receiving.acknowledged();
        }
        self.outputs.push_back(Outgoing::Segment(segment));
    }

    fn send_syn(&mut self) {
        let is_answer = self.is_called;
        let flags = if is_answer { with(Flags::SYN, Flags::ACK) } else { Flags::SYN };
        self.output(Segment {
            flags,
            sequence: self.sending.initial(),
            acknowledgement: if is_answer { self.receiving.expected() } else { 0 },
            window: self.params.window,
            mss: Some(self.params.mss),
            data: Bytes::new(),
        });
    }

    fn send(&mut self, flags: Flags, data: Bytes) {
        let sequence = self.sending.next_sequence();
        self.send_at(sequence, flags, data);
    }

    fn send_at(&mut self, sequence: u32, flags: Flags, data: Bytes) {
        self.output(Segment {
            flags,
            sequence,
            acknowledgement: self.receiving.expected(),
            window: self.params.window,
            mss: None,
            data,
        });
    }

    fn send_acknowledgement(&mut self) {
        self.send(Flags::ACK, Bytes::new());
    }

    fn send_piece(&mut self, Piece { sequence, data, fin }: Piece) {
        let flags = if fin { with(Flags::ACK, Flags::FIN) } else { Flags::ACK };
        self.send_at(sequence, flags, data);
    }

    /// Sends as much as the window permits.
    fn pump(&mut self, now: Instant) {
        if matches!(self.state, State::SynSent | State::SynReceived | State::Closed) {
            return;
        }
        while let Some(piece) = self.sending.next_piece(now) {
            self.send_piece(piece);
        }
    }

    fn retransmit(&mut self) {
        match self.state {
            State::SynSent | State::SynReceived => self.send_syn(),
            State::Established
            | State::FinWait1
            | State::FinWait2
            | State::CloseWait
            | State::Closing
            | State::LastAck
            | State::TimeWait => {
                let Some(piece) = self.sending.first_piece() else { return };
                self.send_piece(piece);
            }
            State::Closed => return,
        }
        self.counters.retransmitted += 1;
        self.outputs.push_back(Outgoing::Retransmitted);
    }

    pub(super) fn expire(&mut self, now: Instant) {
        if self.receiving.timer.ran_out(now) {
            self.send_acknowledgement();
        }
        if self.time_wait.ran_out(now) {
            self.step(now, Event::TimeRanOut);
        }
        if self.sending.timer.ran_out(now) {
            if self.sending.timed_out(now, self.params.retransmissions) {
                self.retransmit();
            } else {
                self.step(now, Event::Broken);
            }
        }
    }

    // ---- receiving ------------------------------------------------------------------------------

    pub(super) fn receive(&mut self, now: Instant, segment: Segment) {
        self.counters.received += 1;
        if segment.flags.has(Flags::RST) {
            // RFC 9293 3.5.3: only one that fits exactly.
            let fits = match self.state {
                State::SynSent => segment.acknowledgement == self.sending.next_sequence(),
                _ => segment.sequence == self.receiving.expected(),
            };
            if fits {
                self.step(now, Event::Broken);
            }
            return;
        }
        if !segment.flags.has(Flags::ACK) {
            // The SYN of a caller whose answer was lost; nothing else comes without ACK.
            if segment.flags.has(Flags::SYN) && self.state == State::SynReceived {
                self.send_syn();
            }
            return;
        }
        if self.is_opening() && !self.open(now, &segment) {
            return;
        }
        if segment.flags.has(Flags::SYN) {
            // The answer to a SYN arrived again: its acknowledgement was lost.
            return self.send_acknowledgement();
        }
        self.take(now, segment);
    }

    const fn is_opening(&self) -> bool {
        matches!(self.state, State::SynSent | State::SynReceived)
    }

    /// Ends the handshake, if the segment acknowledges the SYN; returns true if it does.
    fn open(&mut self, now: Instant, segment: &Segment) -> bool {
        let is_answer = segment.flags.has(Flags::SYN);
        if segment.acknowledgement != self.sending.next_sequence()
            || (self.state == State::SynSent) != is_answer
        {
            return false;
        }
        if is_answer {
            self.receiving = Receiving::new(&self.params, segment.sequence);
            self.sending.agree(segment.mss);
        }
        self.sending.set_window(segment.window);
        self.sending.opened(now);
        self.step(now, Event::SynAcknowledged);
        self.pump(now);
        true
    }

    /// Processes acknowledgement, data and FIN.
    fn take(&mut self, now: Instant, segment: Segment) {
        let is_bare = segment.data.is_empty() && !segment.flags.has(Flags::FIN);
        self.sending.set_window(segment.window);
        let progress = self.sending.acknowledge(now, segment.acknowledgement, is_bare);
        if progress.octets > 0 {
            self.tell(Told::Taken(progress.octets));
        }
        if progress.is_lost {
            self.retransmit();
        }
        if progress.fin {
            self.step(now, Event::FinAcknowledged);
        }
        let again = segment.flags.has(Flags::FIN) && self.receiving.is_ended;
        let Arrived { octets, fin, is_urgent, is_duplicate } = self.receiving.take(now, segment);
        self.counters.duplicates += u64::from(is_duplicate);
        octets.into_iter().for_each(|octets| self.tell(Told::Data(octets)));
        if fin || again {
            self.step(now, Event::FinReceived);
        } else if is_urgent {
            self.send_acknowledgement();
        }
        self.pump(now);
    }
}

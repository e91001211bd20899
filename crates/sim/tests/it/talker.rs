//! Stations that send plain frames and log their arrivals.

use bytes::Bytes;
use core::time::Duration;
use stack::machine::Deadline;
use stack::station::{Frame, Station, Transmission};
use stats::rng::Stream;
use std::collections::VecDeque;
use wire::addr::Mac;
use wire::time::Instant;

/// Times at which a station sends.
#[derive(Clone, Debug)]
pub(crate) enum When {
    /// Never.
    Never,
    /// At these times.
    At(VecDeque<Instant>),
    /// Whenever fewer than two of its frames are under way.
    Always,
    /// At random, with this mean interval.
    Poisson(Box<Stream>, Duration, Instant),
}

/// Station that sends frames of one length to one address.
#[derive(Clone, Debug)]
pub(crate) struct Talker {
    address: Mac,
    peer: Mac,
    data: Bytes,
    when: When,
    now: Instant,
    outgoing: u32,
    under_way: u32,
    pub(crate) offered: u64,
    pub(crate) sent: u64,
    pub(crate) given_up: u64,
    /// Arrival time of each frame.
    pub(crate) arrivals: Vec<Instant>,
}

impl Talker {
    /// Station `number`, which sends frames of `octets`, header included, FCS not, to `peer`.
    pub(crate) fn new(number: u32, peer: Mac, octets: usize, when: When) -> Self {
        Self {
            address: Mac::local(number),
            peer,
            data: Bytes::from(vec![number as u8; octets - 14]),
            when,
            now: Instant::ZERO,
            outgoing: 0,
            under_way: 0,
            offered: 0,
            sent: 0,
            given_up: 0,
            arrivals: Vec::new(),
        }
    }

    /// Station `number`, which broadcasts frames of 60 octets at these times, in nanoseconds.
    pub(crate) fn scripted(number: u32, nanos: &[u64]) -> Self {
        let times = nanos.iter().map(|nanos| Instant::from_nanos(*nanos)).collect();
        Self::new(number, Mac::BROADCAST, 60, When::At(times))
    }

    /// Station `number`, which sends to its neighbour at random, with a random stream of its own.
    pub(crate) fn poisson(number: u32, octets: usize, mean: Duration, seed: u64) -> Self {
        let mut stream = Stream::named(seed, &format!("station/{number}/arrival"));
        let first = Instant::ZERO + stream.exponential(mean);
        let when = When::Poisson(Box::new(stream), mean, first);
        Self::new(number, Mac::local(number ^ 1), octets, when)
    }

    /// Requests one more frame, from outside the run.
    pub(crate) fn ask(&mut self) {
        self.outgoing += 1;
    }
}

impl Station for Talker {
    fn addr(&self) -> Mac {
        self.address
    }

    fn receive(&mut self, now: Instant, _frame: Frame) {
        self.arrivals.push(now);
    }

    fn expire(&mut self, now: Instant) {
        self.now = now;
        match &mut self.when {
            When::Never | When::Always => {}
            When::At(times) => {
                while times.pop_front_if(|at| *at <= now).is_some() {
                    self.outgoing += 1;
                }
            }
            When::Poisson(stream, mean, next) => {
                while *next <= now {
                    *next += stream.exponential(*mean);
                    self.outgoing += 1;
                }
            }
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        let at = match &self.when {
            When::Never | When::Always => None,
            When::At(times) => times.front().copied(),
            When::Poisson(_, _, next) => Some(*next),
        };
        at.map(|at| Deadline { at, timer: "next frame" })
    }

    fn poll(&mut self) -> Option<Frame> {
        if matches!(self.when, When::Always) && self.under_way < 2 {
            self.outgoing = 1;
        }
        self.outgoing = self.outgoing.checked_sub(1)?;
        self.under_way += 1;
        self.offered += 1;
        let mut frame = Frame::new(self.data.clone());
        let [a, b] = (self.data.len() as u16).to_be_bytes();
        let length = [a, b];
        let header = [&self.peer.0[..], &self.address.0, &length].concat();
        frame.prepend(&header);
        Some(frame)
    }

    fn transmitted(&mut self, _now: Instant, _queue: u8, outcome: Transmission) {
        self.under_way -= 1;
        match outcome {
            Transmission::Sent => self.sent += 1,
            Transmission::GivenUp | Transmission::NotTaken | Transmission::Refused => {
                self.given_up += 1
            }
        }
    }
}

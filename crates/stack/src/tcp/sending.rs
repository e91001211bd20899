//! Sending direction of a connection: the queue, the flight, and the retransmission timer.
//!
//! Octets are counted from the first one of data; their sequence numbers follow from the initial one.
//! The FIN counts as an octet behind them.

use super::service::Params;
use crate::machine::Timer;
use bytes::{Bytes, BytesMut};
use core::time::Duration;
use std::collections::VecDeque;
use wire::time::{Instant, nanos};

/// Number of repeated acknowledgements that retransmit the first segment (RFC 5681 3.2).
const REPEATED: u32 = 3;

/// Sending direction.
#[derive(Clone, Debug)]
pub(super) struct Sending {
    /// Initial sequence number (ISS): that of the SYN.
    initial: u32,
    /// Octets that are not acknowledged, or not sent, in pieces.
    queue: VecDeque<Bytes>,
    /// First octet that is not acknowledged (SND.UNA).
    acknowledged: u64,
    /// First octet that was not sent (SND.NXT).
    next: u64,
    /// Number of octets passed on by the user.
    end: u64,
    /// True once the user has closed this direction.
    pub(super) is_closing: bool,
    /// Receive window of the peer (SND.WND).
    window: u64,
    /// Maximum segment size of both sides.
    mss: usize,
    repeated: u32,
    /// End of the flight in which a segment was lost, until that is acknowledged (RFC 6582).
    recover: Option<u64>,
    pub(super) timer: Timer,
    rto: Rto,
    /// Octet whose acknowledgement ends a measured round trip, and its time of sending. Only octets
    /// that were sent once are measured (RFC 6298 3).
    measured: Option<(u64, Instant)>,
    /// Number of timeouts in a row.
    timeouts: u32,
}

/// Effect of an acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Progress {
    /// Octets of data that are newly acknowledged.
    pub(super) octets: usize,
    /// True if the FIN is newly acknowledged.
    pub(super) fin: bool,
    /// True if the first segment of the flight has to be retransmitted.
    pub(super) is_lost: bool,
}

/// Octets to be sent, and their place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    pub(super) sequence: u32,
    pub(super) data: Bytes,
    pub(super) fin: bool,
}

impl Sending {
    pub(super) fn new(params: &Params, initial: u32) -> Self {
        Self {
            initial,
            queue: VecDeque::new(),
            acknowledged: 0,
            next: 0,
            end: 0,
            is_closing: false,
            window: 0,
            mss: usize::from(params.mss),
            repeated: 0,
            recover: None,
            timer: Timer::new("RTO"),
            rto: Rto::new(params),
            measured: None,
            timeouts: 0,
        }
    }

    /// Sequence number of the SYN.
    pub(super) const fn initial(&self) -> u32 {
        self.initial
    }

    /// Sequence number of the next segment.
    pub(super) const fn next_sequence(&self) -> u32 {
        self.sequence(self.next)
    }

    /// Sequence number of an octet: that of the SYN comes before the first.
    const fn sequence(&self, octet: u64) -> u32 {
        self.initial.wrapping_add(1).wrapping_add(octet as u32)
    }

    /// Number of octets behind SND.UNA that an acknowledgement number stands for; negative for an old
    /// one.
    const fn ahead(&self, number: u32) -> i64 {
        number.wrapping_sub(self.sequence(self.acknowledged)) as i32 as i64
    }

    /// End of all that is to be sent, the FIN included.
    const fn last(&self) -> u64 {
        self.end + self.is_closing as u64
    }

    /// Limits segments to the size that the peer announced.
    pub(super) fn agree(&mut self, mss: Option<u16>) {
        // RFC 9293 3.7.1: 536 octets without the option.
        self.mss = self.mss.min(usize::from(mss.unwrap_or(536)).max(1));
    }

    pub(super) fn set_window(&mut self, window: u16) {
        self.window = u64::from(window);
    }

    pub(super) fn push(&mut self, octets: Bytes) {
        if !self.is_closing && !octets.is_empty() {
            self.end += octets.len() as u64;
            self.queue.push_back(octets);
        }
    }

    /// Next segment that the window permits.
    pub(super) fn next_piece(&mut self, now: Instant) -> Option<Piece> {
        let in_flight = self.next - self.acknowledged;
        let room = self.window.saturating_sub(in_flight).min(self.mss as u64) as usize;
        let piece = self.piece(self.next, room)?;
        self.next += piece.data.len() as u64 + u64::from(piece.fin);
        if self.measured.is_none() && self.recover.is_none() {
            self.measured = Some((self.next, now));
        }
        if !self.timer.is_running() {
            self.timer.start(now + self.rto.now());
        }
        Some(piece)
    }

    /// The first segment of the flight, to be retransmitted.
    pub(super) fn first_piece(&mut self) -> Option<Piece> {
        let room = self.mss.min((self.next - self.acknowledged) as usize);
        // A round trip of octets that were sent twice says nothing.
        self.measured = None;
        let piece = self.piece(self.acknowledged, room)?;
        // A FIN that was not sent does not ride on a retransmission.
        let fin = piece.fin && self.next == self.last();
        (fin || !piece.data.is_empty()).then_some(Piece { fin, ..piece })
    }

    /// At most `room` octets from `octet` on, and the FIN if it comes directly behind them.
    fn piece(&self, octet: u64, room: usize) -> Option<Piece> {
        let octets = room.min((self.end.saturating_sub(octet)) as usize);
        let fin = self.is_closing && octet + octets as u64 == self.end;
        if octets == 0 && !(fin && octet < self.last()) {
            return None;
        }
        let mut skip = (octet - self.acknowledged.min(octet)) as usize;
        let mut data = BytesMut::with_capacity(octets);
        for part in &self.queue {
            let (_, rest) = part.split_at(skip.min(part.len()));
            skip -= part.len() - rest.len();
            let (taken, _) = rest.split_at(rest.len().min(octets - data.len()));
            data.extend_from_slice(taken);
            if data.len() == octets {
                break;
            }
        }
        Some(Piece { sequence: self.sequence(octet), data: data.freeze(), fin })
    }

    /// Processes an acknowledgement; `is_bare` is true if its segment has no data and no other window.
    pub(super) fn acknowledge(&mut self, now: Instant, number: u32, is_bare: bool) -> Progress {
        let ahead = self.ahead(number);
        let in_flight = (self.next - self.acknowledged) as i64;
        if ahead == 0 && is_bare && in_flight > 0 {
            self.repeated += 1;
            let is_lost = self.repeated == REPEATED && self.recover.is_none();
            if is_lost {
                self.recover = Some(self.next);
            }
            return Progress { is_lost, ..Progress::default() };
        }
        if ahead <= 0 || ahead > in_flight {
            return Progress::default();
        }
        (self.repeated, self.timeouts) = (0, 0);
        let before = self.acknowledged;
        self.acknowledged += ahead as u64;
        if let Some((octet, sent)) = self.measured
            && self.acknowledged >= octet
        {
            self.rto.measure(now.since(sent));
            self.measured = None;
        }
        self.rto.settle();
        let octets = (self.acknowledged.min(self.end) - before.min(self.end)) as usize;
        self.forget(octets);
        match self.recover {
            Some(end) if self.acknowledged >= end => self.recover = None,
            Some(_) | None => {}
        }
        if self.next > self.acknowledged {
            self.timer.start(now + self.rto.now());
        } else {
            self.timer.stop();
        }
        Progress {
            octets,
            fin: self.is_closing && self.acknowledged == self.last(),
            // A partial acknowledgement names the next hole (RFC 6582 3.2).
            is_lost: self.recover.is_some(),
        }
    }

    /// Drops acknowledged octets from the queue.
    fn forget(&mut self, mut octets: usize) {
        while octets > 0
            && let Some(front) = self.queue.front_mut()
        {
            let part = octets.min(front.len());
            let _ = front.split_to(part);
            octets -= part;
            if front.is_empty() {
                self.queue.pop_front();
            }
        }
    }

    /// Doubles the timeout after it ran out, and restarts the timer; returns false if it has run out
    /// too often.
    pub(super) fn timed_out(&mut self, now: Instant, most: u32) -> bool {
        self.timeouts += 1;
        self.rto.back_off();
        self.timer.start(now + self.rto.now());
        self.recover = Some(self.next);
        (self.repeated, self.measured) = (0, None);
        self.timeouts <= most
    }

    /// Starts the timer of a SYN.
    pub(super) fn start(&mut self, now: Instant) {
        self.measured = Some((0, now));
        self.timer.start(now + self.rto.now());
    }

    /// Ends the handshake: the peer has acknowledged the SYN.
    pub(super) fn opened(&mut self, now: Instant) {
        if let Some((_, sent)) = self.measured.take() {
            self.rto.measure(now.since(sent));
        }
        (self.timeouts, self.recover) = (0, None);
        self.rto.settle();
        self.timer.stop();
    }
}

/// Retransmission timeout (RFC 6298).
#[derive(Clone, Copy, Debug)]
struct Rto {
    /// Smoothed round trip and its deviation, in nanoseconds; `None` before the first.
    smoothed: Option<[u64; 2]>,
    /// Timeout without doubling.
    base: Duration,
    doublings: u32,
    least: Duration,
    most: Duration,
}

impl Rto {
    const fn new(params: &Params) -> Self {
        Self {
            smoothed: None,
            base: params.first_rto,
            doublings: 0,
            least: params.least_rto,
            most: params.most_rto,
        }
    }

    fn now(&self) -> Duration {
        self.base.saturating_mul(1 << self.doublings.min(16)).min(self.most)
    }

    const fn back_off(&mut self) {
        self.doublings += 1;
    }

    /// Ends the doubling: an acknowledgement of new octets arrived.
    const fn settle(&mut self) {
        self.doublings = 0;
    }

    fn measure(&mut self, trip: Duration) {
        let trip = nanos(trip);
        // RFC 6298 2.2 and 2.3, with alpha 1/8, beta 1/4 and K 4.
        let [smoothed, deviation] = match self.smoothed {
            None => [trip, trip / 2],
            Some([smoothed, deviation]) => [
                smoothed - smoothed / 8 + trip / 8,
                deviation - deviation / 4 + smoothed.abs_diff(trip) / 4,
            ],
        };
        self.smoothed = Some([smoothed, deviation]);
        let rto = Duration::from_nanos(smoothed.saturating_add(deviation.saturating_mul(4)));
        self.base = rto.clamp(self.least, self.most);
    }
}

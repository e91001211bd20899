//! Receiving direction of a connection: order of its octets, and when they are acknowledged.

use super::segment::Segment;
use super::service::Params;
use crate::machine::Timer;
use bytes::Bytes;
use core::time::Duration;
use std::collections::BTreeMap;
use wire::tcp::Flags;
use wire::time::Instant;

/// Maximum number of segments that are kept out of order; further ones are dropped, and retransmitted.
const MOST_KEPT: usize = 64;

/// Receiving direction.
#[derive(Clone, Debug)]
pub(super) struct Receiving {
    /// Initial sequence number of the peer (IRS).
    initial: u32,
    /// Number of octets in order.
    next: u64,
    /// Segments beyond a hole, by their first octet.
    kept: BTreeMap<u64, Bytes>,
    /// Place of the peer's FIN, once it has arrived.
    fin_at: Option<u64>,
    /// True once the FIN is in order: it counts as an octet.
    pub(super) is_ended: bool,
    window: u16,
    mss: usize,
    /// Segments of full size that are not acknowledged.
    unacknowledged: u32,
    delay: Duration,
    /// Delay of an acknowledgement.
    pub(super) timer: Timer,
}

/// Effect of a segment on the receiving direction.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Arrived {
    /// Octets that are now in order.
    pub(super) octets: Vec<Bytes>,
    /// True if the FIN is now in order.
    pub(super) fin: bool,
    /// True if an acknowledgement must be sent at once.
    pub(super) is_urgent: bool,
    /// True if the segment had arrived before.
    pub(super) is_duplicate: bool,
}

impl Receiving {
    pub(super) fn new(params: &Params, initial: u32) -> Self {
        Self {
            initial,
            next: 0,
            kept: BTreeMap::new(),
            fin_at: None,
            is_ended: false,
            window: params.window,
            mss: usize::from(params.mss),
            unacknowledged: 0,
            delay: params.delayed_acknowledgement,
            timer: Timer::new("delayed ACK"),
        }
    }

    /// Next expected sequence number (RCV.NXT).
    pub(super) const fn expected(&self) -> u32 {
        let octets = self.next + self.is_ended as u64;
        self.initial.wrapping_add(1).wrapping_add(octets as u32)
    }

    /// Octet of a sequence number; `None` if it is before the first.
    const fn octet(&self, sequence: u32) -> Option<u64> {
        let first = self.initial.wrapping_add(1).wrapping_add(self.next as u32);
        let ahead = sequence.wrapping_sub(first) as i32 as i64;
        self.next.checked_add_signed(ahead)
    }

    /// Processes the data and the FIN of a segment.
    pub(super) fn take(&mut self, now: Instant, segment: Segment) -> Arrived {
        let has_fin = segment.flags.has(Flags::FIN);
        if segment.data.is_empty() && !has_fin {
            return Arrived::default();
        }
        let length = segment.data.len();
        let mut arrived = Arrived::default();
        let Some(begin) = self.octet(segment.sequence) else {
            return Arrived { is_urgent: true, is_duplicate: true, ..arrived };
        };
        let end = begin + length as u64;
        if end > self.next + u64::from(self.window) {
            // Beyond the window.
            return Arrived { is_urgent: true, ..arrived };
        }
        if has_fin {
            self.fin_at = Some(end);
        }
        let is_old = end <= self.next && (self.is_ended || !has_fin);
        if begin > self.next {
            if self.kept.len() < MOST_KEPT {
                self.kept.insert(begin, segment.data);
            }
            // RFC 5681 4.2: a repeated acknowledgement reports the hole.
            return Arrived { is_urgent: true, ..arrived };
        }
        let fills_a_hole = !self.kept.is_empty();
        self.append(begin, segment.data, &mut arrived);
        while let Some((begin, data)) = self.kept.pop_first() {
            if begin > self.next {
                self.kept.insert(begin, data);
                break;
            }
            self.append(begin, data, &mut arrived);
        }
        arrived.fin = !self.is_ended && self.fin_at == Some(self.next);
        self.is_ended |= arrived.fin;
        self.unacknowledged += u32::from(length >= self.mss);
        arrived.is_duplicate = is_old;
        arrived.is_urgent = is_old || fills_a_hole || arrived.fin || self.unacknowledged >= 2;
        if !arrived.is_urgent && !self.timer.is_running() {
            self.timer.start(now + self.delay);
        }
        arrived
    }

    /// Appends what is new of a piece that begins in order or before.
    fn append(&mut self, begin: u64, mut data: Bytes, arrived: &mut Arrived) {
        let known = (self.next - begin) as usize;
        if known >= data.len() {
            return;
        }
        let new = data.split_off(known);
        self.next += new.len() as u64;
        arrived.octets.push(new);
    }

    /// Notes that a segment with the acknowledgement is sent.
    pub(super) const fn acknowledged(&mut self) {
        self.unacknowledged = 0;
        self.timer.stop();
    }
}

//! Messages that arrived in a session, kept for its initiator, who reads them page by page.
//!
//! Pages are sent at the agreed rate, and at most as many as a whole report takes if every Fetch is
//! repeated as often as an initiator repeats it.

use core::time::Duration;
use live::port::Bucket;
use stack::control::Name;
use stack::load::{Event, FlowId, Record};
use stack::machine::Deadline;
use wire::control::report::{Arrival, ON_A_PAGE, Page};
use wire::control::{Counts, Limits};
use wire::time::Instant;

/// Maximum number of arrivals kept for the initiator of a session; beyond it only the counts are
/// reported.
pub(super) const KEPT: usize = 1 << 19;
/// Interval between repetitions of a Fetch.
pub(super) const FETCH_AGAIN: Duration = Duration::from_millis(250);
/// Maximum number of transmissions of a Fetch.
pub(super) const FETCHES: u32 = 8;
/// Bits of the longest page on the wire: preamble, MAC and LLC headers, and FCS included.
pub(super) const PAGE_BITS: u64 = (8 + 14 + 3 + 23 + 34 * ON_A_PAGE as u64 + 4) * 8;

/// Maximum time for a session to open or close, retransmissions included.
pub(super) const PATIENCE: Duration = Duration::from_secs(15);

/// Maximum number of arrivals that a peer with these counts can have kept.
pub(super) fn most_kept(counts: Counts) -> u32 {
    let arrived = counts.delivered.saturating_add(counts.duplicates);
    u32::try_from(arrived).unwrap_or(u32::MAX).min(KEPT as u32)
}

/// Longest time to read a number of arrivals: twice that at the agreed limits, and a reserve.
pub(super) fn reading_time(arrivals: u32, limits: Limits) -> Duration {
    let pages = u64::from(arrivals).div_ceil(ON_A_PAGE as u64);
    let seconds = |count: u64, rate: u64| count as f64 / rate.max(1) as f64;
    let took = seconds(pages, limits.frames_per_second.into())
        + seconds(pages.saturating_mul(PAGE_BITS), limits.bits_per_second);
    PATIENCE + Duration::try_from_secs_f64(2.0 * took).unwrap_or(PATIENCE)
}

/// Records of the arrivals on a page.
pub(super) fn records_of(page: &Page) -> impl Iterator<Item = Record> {
    page.arrivals.iter().map(|arrival| {
        let Arrival { flow, sequence, octets, planned, sent, at } = *arrival;
        let octets = usize::try_from(octets).unwrap_or(usize::MAX);
        let event = Event::Delivered { sequence, planned, sent, octets };
        Record { at, flow: FlowId(flow), event }
    })
}

/// Arrivals of a session.
#[derive(Default)]
pub(super) struct Arrivals {
    kept: Vec<Arrival>,
    /// True if there were more than are kept.
    overflowed: bool,
    reading: Option<Reading>,
}

/// Reading by the initiator after the session.
struct Reading {
    frames: Bucket,
    bits: Bucket,
    fetches_left: usize,
    pending: Option<Pending>,
}

/// Page that was requested and waits for its time.
#[derive(Clone, Copy)]
struct Pending {
    of: Name,
    first: u32,
    due: Instant,
}

impl Arrivals {
    /// Keeps the data of a record that the initiator may read.
    pub(super) fn hear(&mut self, record: &Record) {
        let Event::Delivered { sequence, planned, sent, octets } = record.event else { return };
        let octets = u32::try_from(octets).unwrap_or(u32::MAX);
        self.keep(Arrival { flow: record.flow.0, sequence, octets, planned, sent, at: record.at });
    }

    fn keep(&mut self, arrival: Arrival) {
        if self.kept.len() < KEPT {
            self.kept.push(arrival);
        } else {
            self.overflowed = true;
        }
    }

    /// Opens the arrivals to the initiator after the session, within these limits.
    pub(super) fn open(&mut self, now: Instant, limits: Limits) {
        let pages = self.kept.len().div_ceil(ON_A_PAGE).max(1);
        self.reading = Some(Reading {
            frames: Bucket::new(now, u64::from(limits.frames_per_second), 1),
            bits: Bucket::new(now, limits.bits_per_second, PAGE_BITS),
            fetches_left: pages.saturating_mul(FETCHES as usize),
            pending: None,
        });
    }

    /// Handles a Fetch. A later Fetch replaces one that waits.
    pub(super) fn fetch(&mut self, now: Instant, of: Name, first: u32) {
        let Some(reading) = &mut self.reading else { return };
        let Some(left) = reading.fetches_left.checked_sub(1) else { return };
        reading.fetches_left = left;
        let ready = |bucket: &mut Bucket, tokens| bucket.ready(now, tokens);
        let frames = ready(&mut reading.frames, 1);
        let bits = ready(&mut reading.bits, PAGE_BITS);
        if let (Some(frames), Some(bits)) = (frames, bits) {
            reading.pending = Some(Pending { of, first, due: frames.max(bits) });
        }
    }

    /// Time at which the waiting page may be sent.
    pub(super) fn deadline(&self) -> Option<Deadline> {
        let pending = self.reading.as_ref()?.pending?;
        Some(Deadline { at: pending.due, timer: "page" })
    }

    /// Returns the requested page once it is due, with its session.
    pub(super) fn page(&mut self, now: Instant) -> Option<(Name, Page)> {
        let reading = self.reading.as_mut()?;
        let Pending { of, first, .. } = reading.pending.take_if(|pending| pending.due <= now)?;
        reading.frames.take(1);
        reading.bits.take(PAGE_BITS);
        let from = usize::try_from(first).unwrap_or(usize::MAX);
        let arrivals = self.kept.iter().skip(from).take(ON_A_PAGE).copied().collect();
        let kept = u32::try_from(self.kept.len()).unwrap_or(u32::MAX);
        Some((of, Page { first, kept, is_all: !self.overflowed, arrivals }))
    }
}

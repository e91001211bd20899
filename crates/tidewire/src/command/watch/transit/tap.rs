//! A tap and its next frame: a capture file, a port, or a capture arriving on standard input.

use super::super::super::predict::SIMULATED;
use super::super::file;
use super::super::live_port::{Port, open_with};
use crate::exit::Failure;
use crate::listener::LAG;
use crate::listener::{Listener, Times};
use crate::output::Output;
use crate::threaded_reader::Pipe;
use core::mem;
use core::time::Duration;
use live::clock;
use meter::transit::{Tap, Transit};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use wire::capture::{Capture, CaptureError, Record};
use wire::dissect::Link;
use wire::filter::Filter;
use wire::time::{Instant, nanos};

/// Maximum time to read the rest of an arriving capture.
const LAST: Duration = Duration::from_secs(1);

/// Source of frames.
enum From {
    Capture(Capture),
    Port(Box<Listener>),
    /// The capture, the maximum wait of a read, and, once stopped, the time until which it is read.
    Pipe(Capture, Arc<AtomicU64>, Option<Instant>),
}

/// Result of a read.
enum Read<'a> {
    Frame(Record<'a>),
    Nothing,
    End,
}

/// A frame of a capture.
struct Frame {
    at: Instant,
    link: Link,
    octets: Vec<u8>,
    original_octets: usize,
}

/// A tap and its next frame.
pub(super) struct Source {
    pub(super) name: String,
    pub(super) failure: Option<Failure>,
    /// No frame will come.
    pub(super) is_over: bool,
    /// For a port, time of day up to which every frame has arrived.
    pub(super) silent_until: Instant,
    is_stopped: bool,
    from: From,
    filter: Filter,
    /// Time of the first frame of a capture.
    pub(super) first_at: Option<Instant>,
    next: Frame,
    is_there: bool,
}

impl Source {
    fn new(name: String, from: From, filter: Option<Filter>) -> Self {
        Self {
            name,
            failure: None,
            is_over: false,
            silent_until: Instant::ZERO,
            is_stopped: false,
            from,
            filter: filter.unwrap_or_else(Filter::all),
            first_at: None,
            next: Frame {
                at: Instant::ZERO,
                link: Link::Ethernet,
                octets: Vec::new(),
                original_octets: 0,
            },
            is_there: false,
        }
    }

    /// Opens a capture file or standard input.
    pub(super) fn capture(
        path: &Path,
        filter: Option<Filter>,
        output: &Output,
    ) -> Result<Self, Failure> {
        let capture = file::open(path, output)?;
        Ok(Self::new(file::name(path), From::Capture(capture), filter))
    }

    /// Opens a port.
    pub(super) fn port(port: &Port, filter: Option<Filter>) -> Result<Self, Failure> {
        let wanted = filter.clone().unwrap_or_else(Filter::all);
        let listener = open_with(port, wanted, Times::Stamps)?;
        Ok(Self::new(port.interface.clone(), From::Port(Box::new(listener)), filter))
    }

    /// Opens a capture that arrives on standard input while a port is captured; waits for its
    /// header.
    pub(super) fn pipe(filter: Option<Filter>) -> Result<Self, Failure> {
        let patience = Arc::new(AtomicU64::new(u64::MAX / 2));
        let name = file::name(Path::new("-"));
        let capture = Capture::open(Pipe::patient(io::stdin(), Arc::clone(&patience)))
            .map_err(|error| Failure::failed(format!("{name}: {error}")))?;
        Ok(Self::new(name, From::Pipe(capture, patience, None), filter))
    }

    /// Returns true if the capture states that its network was simulated.
    pub(super) fn is_simulated(&self) -> bool {
        let From::Capture(capture) = &self.from else { return false };
        let interfaces = capture.interfaces();
        !interfaces.is_empty() && interfaces.iter().all(|it| it.name == SIMULATED)
    }

    pub(super) const fn is_port(&self) -> bool {
        matches!(self.from, From::Port(_))
    }

    /// Returns the time of its next frame, if there is one.
    pub(super) fn next_at(&self) -> Option<Instant> {
        self.is_there.then_some(self.next.at)
    }

    /// Returns true if there is no frame now but one may come.
    pub(super) const fn is_silent(&self) -> bool {
        !self.is_there && !self.is_over
    }

    /// Reads the next frame unless there is one, waiting until `until`.
    pub(super) fn look(&mut self, until: Instant) {
        if !self.is_silent() {
            return;
        }
        let before = super::wall().saturating_sub(LAG);
        match read(&mut self.from, self.is_stopped, until) {
            Ok(Read::Frame(Record { at, link, octets, original_octets, .. })) => {
                if !self.filter.matches(link, octets, original_octets) {
                    return;
                }
                let mut kept = mem::take(&mut self.next.octets);
                kept.clear();
                kept.extend_from_slice(octets);
                self.next = Frame { at, link, octets: kept, original_octets };
                self.is_there = true;
            }
            Ok(Read::Nothing) => self.silent_until = before,
            Ok(Read::End) => self.is_over = true,
            Err(failure) => self.fail(&failure),
        }
    }

    /// Passes the next frame of a capture on, if there is one and the filter accepts it.
    pub(super) fn pass(&mut self, tap: Tap, transit: &mut Transit) {
        match read(&mut self.from, false, Instant::ZERO) {
            Ok(Read::Frame(Record { at, link, octets, original_octets, .. })) => {
                if self.filter.matches(link, octets, original_octets) {
                    self.first_at.get_or_insert(at);
                    transit.observe(tap, at, link, octets, original_octets);
                }
            }
            Ok(Read::Nothing | Read::End) => self.is_over = true,
            Err(failure) => self.fail(&failure),
        }
    }

    fn fail(&mut self, failure: &Failure) {
        self.failure = Some(Failure::failed(format!("{}: {failure}", self.name)));
        self.is_over = true;
    }

    /// Passes its next frame on, if it is within this span.
    pub(super) fn hand_over(
        &mut self,
        tap: Tap,
        (begin, end): (Instant, Instant),
        transit: &mut Transit,
    ) {
        let Frame { at, link, octets, original_octets } = &self.next;
        if begin <= *at && *at <= end {
            transit.observe(tap, *at, *link, octets, *original_octets);
        }
        self.is_there = false;
    }

    /// Accepts only frames captured before now.
    pub(super) fn stop(&mut self) {
        self.is_stopped = true;
        match &mut self.from {
            From::Capture(_) => (self.is_over, self.is_there) = (true, false),
            From::Port(listener) => listener.stop(),
            From::Pipe(.., until) => *until = Some(clock::now() + LAST),
        }
    }

    /// Returns the step to which its timestamps are rounded, in nanoseconds.
    pub(super) fn step_ns(&self) -> u64 {
        match &self.from {
            From::Port(_) => 1,
            From::Capture(capture) | From::Pipe(capture, ..) => {
                let steps = capture.interfaces().iter().map(|of| of.resolution.nanos(1));
                steps.max().unwrap_or(1)
            }
        }
    }

    /// Returns the number of frames lost during collection, if it was counted.
    pub(super) fn dropped(&mut self) -> Option<u64> {
        match &mut self.from {
            From::Port(listener) => listener.dropped(),
            From::Capture(capture) | From::Pipe(capture, ..) => {
                let dropped = capture.interfaces().iter().map(|of| of.statistics.dropped());
                dropped.flatten().reduce(|sum, more| sum + more)
            }
        }
    }
}

/// Reads the next frame, waiting until `until`; never waits for a capture file.
fn read(from: &mut From, is_stopped: bool, until: Instant) -> Result<Read<'_>, Failure> {
    let found = match from {
        From::Port(listener) => match listener.receive(until)? {
            Some(record) => return Ok(Read::Frame(record)),
            None if is_stopped => return Ok(Read::End),
            None => return Ok(Read::Nothing),
        },
        From::Capture(capture) => capture.next(),
        From::Pipe(capture, patience, last) => {
            let now = clock::now();
            if last.is_some_and(|last| now >= last) {
                return Ok(Read::End);
            }
            patience.store(nanos(until.since(now)), Ordering::Relaxed);
            match capture.next() {
                Err(CaptureError::Unreadable { kind: io::ErrorKind::WouldBlock, .. }) => {
                    return Ok(Read::Nothing);
                }
                found => found,
            }
        }
    };
    match found {
        Ok(Some(record)) => Ok(Read::Frame(record)),
        Ok(None) => Ok(Read::End),
        Err(error) => Err(Failure::failed(error.to_string())),
    }
}

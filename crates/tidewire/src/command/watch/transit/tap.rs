//! A tap, and its next frame: a capture, a port, or a capture that comes in while it is made.

use super::super::file;
use super::super::live_port::{Port, open_with};
use crate::exit::Failure;
use crate::listener::LAG;
use crate::listener::{Listener, Times};
use crate::output::Output;
use crate::pipe::Pipe;
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

/// How long a capture that comes in may take for what it has still got.
const LAST: Duration = Duration::from_secs(1);

/// Where frames come from.
enum From {
    Capture(Capture),
    Port(Box<Listener>),
    /// The capture, how long reading may wait, and until when it is read once that is said.
    Pipe(Capture, Arc<AtomicU64>, Option<Instant>),
}

/// What there was to be read.
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
    /// Of a port: every frame up to this time of the day has come.
    pub(super) silent_until: Instant,
    is_stopped: bool,
    from: From,
    filter: Filter,
    /// When the first frame of a capture was seen.
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

    /// A capture that is there, or that standard input brings.
    pub(super) fn capture(
        path: &Path,
        filter: Option<Filter>,
        output: &Output,
    ) -> Result<Self, Failure> {
        let capture = file::open(path, output)?;
        Ok(Self::new(file::name(path), From::Capture(capture), filter))
    }

    /// A port.
    pub(super) fn port(port: &Port, filter: Option<Filter>) -> Result<Self, Failure> {
        let wanted = filter.clone().unwrap_or_else(Filter::all);
        let listener = open_with(port, wanted, Times::Stamps)?;
        Ok(Self::new(port.interface.clone(), From::Port(Box::new(listener)), filter))
    }

    /// A capture that comes in on standard input while a port is heard; waits for its beginning.
    pub(super) fn pipe(filter: Option<Filter>) -> Result<Self, Failure> {
        let patience = Arc::new(AtomicU64::new(u64::MAX / 2));
        let name = file::name(Path::new("-"));
        let capture = Capture::open(Pipe::patient(io::stdin(), Arc::clone(&patience)))
            .map_err(|error| Failure::failed(format!("{name}: {error}")))?;
        Ok(Self::new(name, From::Pipe(capture, patience, None), filter))
    }

    pub(super) const fn is_port(&self) -> bool {
        matches!(self.from, From::Port(_))
    }

    /// When its next frame was seen, if there is one.
    pub(super) fn next_at(&self) -> Option<Instant> {
        self.is_there.then_some(self.next.at)
    }

    /// Whether there is none, and one may come.
    pub(super) const fn is_silent(&self) -> bool {
        !self.is_there && !self.is_over
    }

    /// Looks for the next frame, if there is none; waits for one until then.
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

    /// Shows the next frame of a capture, if there is one and it is wanted.
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

    /// Shows its next frame, if it is of this span.
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

    /// No frames are wanted but those that were seen before now.
    pub(super) fn stop(&mut self) {
        self.is_stopped = true;
        match &mut self.from {
            From::Capture(_) => (self.is_over, self.is_there) = (true, false),
            From::Port(listener) => listener.stop(),
            From::Pipe(.., until) => *until = Some(clock::now() + LAST),
        }
    }

    /// The step to which its stamps are rounded, in nanoseconds.
    pub(super) fn step_ns(&self) -> u64 {
        match &self.from {
            From::Port(_) => 1,
            From::Capture(capture) | From::Pipe(capture, ..) => {
                let steps = capture.interfaces().iter().map(|of| of.resolution.nanos(1));
                steps.max().unwrap_or(1)
            }
        }
    }

    /// What was lost where frames were collected, where anybody counted.
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

/// The next frame; waits for one until then, but for one of a capture that is there.
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

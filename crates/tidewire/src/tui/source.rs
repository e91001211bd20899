//! Source of frames: a live port, or a capture at its own speed, faster, or as fast as it can be
//! read.
//!
//! A capture is decoded on its own thread, so that a slow disk or a silent pipe never blocks
//! gathering. Times are those of the frames; the clock only determines when each is due.

use super::gather::Gather;
use crate::exit::Failure;
use crate::interrupt;
use crate::listener::{self, Listener};
use core::time::Duration;
use live::clock::{self, Correlation};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use wire::capture::{Capture, Statistics};
use wire::dissect::Link;
use wire::time::Instant;

/// Maximum age of a frame when it leaves a pipe.
const PIPE_LAG: Duration = Duration::from_millis(500);
/// Time between two queries of the kernel's drop counters.
const ASK_DROPPED: Duration = Duration::from_secs(1);
/// Frames decoded ahead, and octets kept of each: at most 4 MiB.
const AHEAD: usize = 256;
const KEPT_OCTETS: usize = 16 << 10;

/// Source of frames.
pub(crate) enum Source {
    /// An interface.
    Port(Port),
    /// A file or pipe.
    Playback(Playback),
}

/// Result of a step.
pub(super) enum Step {
    /// There may be more.
    Going,
    /// No more frames come; with a failure if the end was not intended.
    Ended(Option<Failure>),
}

impl Source {
    /// Hands one frame to the gatherer, or waits until `until` and advances its time.
    pub(super) fn step(&mut self, gather: &mut Gather, until: Instant) -> Step {
        match self {
            Self::Port(port) => port.step(gather, until),
            Self::Playback(playback) => playback.step(gather, until),
        }
    }

    /// Returns the state in a word while more frames may come.
    pub(super) const fn state(&self) -> &'static str {
        match self {
            Self::Port(_) => "live",
            Self::Playback(_) => "playing",
        }
    }

    /// Returns the number of dropped frames; none if it is unknown. A capture may contain it, once
    /// it has been read to its end.
    pub(super) fn dropped(&self) -> Option<u64> {
        match self {
            Self::Port(port) => Some(port.dropped),
            Self::Playback(playback) => playback.dropped(),
        }
    }
}

/// An interface being captured.
pub(crate) struct Port {
    listener: Listener,
    /// Frames carry the time of day; the monotonic clock schedules updates.
    day: Correlation,
    end: Option<Instant>,
    dropped: u64,
    ask_at: Instant,
}

impl Port {
    /// Captures until `end` on the monotonic clock; without it, indefinitely.
    pub(crate) fn new(listener: Listener, end: Option<Instant>) -> Self {
        Self { listener, day: Correlation::read(), end, dropped: 0, ask_at: clock::now() }
    }

    fn step(&mut self, gather: &mut Gather, until: Instant) -> Step {
        let now = clock::now();
        gather.begin(self.day.to_wall(now));
        if now >= self.ask_at {
            self.ask_at = now + ASK_DROPPED;
            self.ask_dropped(gather);
        }
        if self.end.is_some_and(|end| now >= end) {
            self.ask_dropped(gather);
            gather.advance(self.day.to_wall(now));
            return Step::Ended(None);
        }
        match self.listener.receive(self.end.map_or(until, |end| end.min(until))) {
            Ok(Some(frame)) => {
                gather.observe(frame.at, frame.link, frame.octets, frame.original_octets);
            }
            Ok(None) => {
                gather.advance(self.day.to_wall(clock::now()).saturating_sub(listener::LAG));
            }
            Err(failure) => return Step::Ended(Some(failure)),
        }
        Step::Going
    }

    fn ask_dropped(&mut self, gather: &mut Gather) {
        let Some(dropped) = self.listener.dropped() else { return };
        if dropped > self.dropped {
            let more = dropped - self.dropped;
            gather.tell(format!("the kernel dropped {more} frames: they are in no sample"));
            self.dropped = dropped;
        }
    }
}

/// A frame from a capture.
struct Frame {
    at: Instant,
    link: Link,
    octets: Vec<u8>,
    original_octets: usize,
}

/// A capture being played back.
pub(crate) struct Playback {
    frames: Receiver<Result<Frame, Failure>>,
    /// Multiple of its own speed; without it, as fast as it can be read.
    speed: Option<f64>,
    /// True if frames may arrive while the program waits, so that silence advances time.
    is_pipe: bool,
    /// Start of the playback, on the clock and in the capture.
    begun: Option<(Instant, Instant)>,
    next: Option<Frame>,
    /// Dropped frames according to the capture; [`UNTOLD`] if it does not contain the count.
    dropped: Arc<AtomicU64>,
}

/// Marks an unknown number of frames.
const UNTOLD: u64 = u64::MAX;

impl Playback {
    /// Plays back `capture`; errors call it `name`.
    pub(crate) fn new(capture: Capture, name: String, is_pipe: bool, speed: Option<f64>) -> Self {
        let (sender, frames) = mpsc::sync_channel(AHEAD);
        let dropped = Arc::new(AtomicU64::new(UNTOLD));
        let told = Arc::clone(&dropped);
        std::thread::spawn(move || {
            let mut capture = capture;
            read(&mut capture, &name, &sender);
            let mut counted = Statistics::default();
            capture.interfaces().iter().for_each(|interface| counted.add(&interface.statistics));
            told.store(counted.dropped().unwrap_or(UNTOLD), Ordering::Release);
        });
        Self { frames, speed, is_pipe, begun: None, next: None, dropped }
    }

    fn dropped(&self) -> Option<u64> {
        Some(self.dropped.load(Ordering::Acquire)).filter(|dropped| *dropped != UNTOLD)
    }

    fn step(&mut self, gather: &mut Gather, until: Instant) -> Step {
        let frame = match self.next.take() {
            Some(frame) => frame,
            None => match self.frames.recv_timeout(until.since(clock::now())) {
                Ok(Ok(frame)) => frame,
                Ok(Err(failure)) => return Step::Ended(Some(failure)),
                Err(RecvTimeoutError::Disconnected) => {
                    if let Some(dropped @ 1..) = self.dropped() {
                        gather
                            .tell(format!("{dropped} frames were dropped: they are in no sample"));
                    }
                    return Step::Ended(None);
                }
                Err(RecvTimeoutError::Timeout) => {
                    if let Some(at) = self.in_capture(clock::now()).filter(|_| self.is_pipe) {
                        gather.advance(at.saturating_sub(PIPE_LAG));
                    }
                    return Step::Going;
                }
            },
        };
        if let Some(due) = self.due(&frame) {
            if due > until {
                self.next = Some(frame);
                clock::sleep_until(until);
                if let Some(at) = self.in_capture(until) {
                    gather.advance(at);
                }
                return Step::Going;
            }
            clock::sleep_until(due);
        }
        gather.observe(frame.at, frame.link, &frame.octets, frame.original_octets);
        Step::Going
    }

    /// Returns the time at which a frame is due; the first frame is due at once.
    fn due(&mut self, frame: &Frame) -> Option<Instant> {
        let speed = self.speed?;
        let (begun, first) = *self.begun.get_or_insert_with(|| (clock::now(), frame.at));
        Some(begun + stretched(frame.at.since(first), 1.0 / speed))
    }

    /// Returns the current time in the capture.
    fn in_capture(&self, now: Instant) -> Option<Instant> {
        let (speed, (begun, first)) = self.speed.zip(self.begun)?;
        Some(first + stretched(now.since(begun), speed))
    }
}

/// Multiplies a duration by a factor, saturating.
fn stretched(span: Duration, by: f64) -> Duration {
    Duration::try_from_secs_f64(span.as_secs_f64() * by).unwrap_or(Duration::MAX)
}

/// Decodes a capture to its end, or until the receiver is gone.
fn read(capture: &mut Capture, name: &str, to: &SyncSender<Result<Frame, Failure>>) {
    loop {
        let frame = match capture.next() {
            Ok(None) => return,
            Ok(Some(record)) => Ok(Frame {
                at: record.at,
                link: record.link,
                octets: record.octets.iter().take(KEPT_OCTETS).copied().collect(),
                original_octets: record.original_octets,
            }),
            // A pipe closed because of an interrupt only appears truncated.
            Err(_) if interrupt::requested() => return,
            Err(error) => Err(Failure::failed(format!("{name}: {error}"))),
        };
        let is_over = frame.is_err();
        if to.send(frame).is_err() || is_over {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::gather::Window;
    use crate::tui::sample::Interval;
    use std::io::Cursor;
    use wire::filter::Filter;

    /// Returns a capture with a frame of 60 octets at each of these times in milliseconds.
    fn capture(millis: &[u64]) -> Vec<u8> {
        let mut writer = wire::pcap::Writer::new(Vec::new(), Link::Ethernet).unwrap();
        for at in millis {
            writer.write(Instant::from_nanos(at * 1_000_000), &[0; 60], 60).unwrap();
        }
        writer.into_inner()
    }

    fn play(octets: Vec<u8>, speed: Option<f64>) -> (Gather, Option<Failure>, Duration) {
        let capture = Capture::open(Cursor::new(octets)).unwrap();
        let playback = Playback::new(capture, "a.pcap".to_owned(), false, speed);
        let mut source = Source::Playback(playback);
        let interval = Interval::new(Duration::from_millis(10)).unwrap();
        let mut gather = Gather::new(interval, Filter::all());
        let begun = clock::now();
        loop {
            let until = clock::now() + Duration::from_millis(5);
            if let Step::Ended(failure) = source.step(&mut gather, until) {
                gather.finish();
                return (gather, failure, clock::now() - begun);
            }
        }
    }

    fn packets(gather: &Gather) -> Vec<u64> {
        let seen = gather.snapshot(Window { samples: 1_000, until: None });
        seen.samples.iter().map(|sample| sample.packets).collect()
    }

    #[test]
    fn drops_recorded_in_a_capture_are_known_at_its_end() {
        let mut writer = wire::pcapng::Writer::new(Vec::new()).unwrap();
        let interface = writer.interface(Link::Ethernet, "eth1").unwrap();
        writer.write(interface, Instant::ZERO, &[0; 60], 60, "").unwrap();
        let counted = Statistics {
            dropped_by_interface: Some(2),
            dropped_by_system: Some(5),
            ..Statistics::default()
        };
        writer.statistics(interface, Instant::ZERO, &counted).unwrap();
        let capture = Capture::open(Cursor::new(writer.into_inner())).unwrap();
        let mut playback = Playback::new(capture, "a.pcapng".to_owned(), false, None);
        let interval = Interval::new(Duration::from_millis(10)).unwrap();
        let mut gather = Gather::new(interval, Filter::all());
        while let Step::Going = playback.step(&mut gather, clock::now() + Duration::from_millis(5))
        {
        }
        assert_eq!(playback.dropped(), Some(7));
    }

    #[test]
    fn playback_gives_equal_samples_at_any_speed_and_keeps_its_pace() {
        let octets = || capture(&[100_000, 100_011, 100_012, 100_120]);
        let expected = [vec![1, 2], vec![0; 10], vec![1]].concat();
        for (speed, least) in [(None, 0), (Some(1e9), 0), (Some(2.0), 60), (Some(1.0), 120)] {
            let (gather, failure, took) = play(octets(), speed);
            assert!(failure.is_none());
            assert_eq!(packets(&gather), expected, "{speed:?}");
            assert!(took >= Duration::from_millis(least), "{speed:?}: {took:?}");
        }
    }

    #[test]
    fn a_truncated_capture_gives_its_frames_and_an_error() {
        let mut octets = capture(&[0, 10, 20]);
        octets.pop();
        let (gather, failure, _) = play(octets, None);
        assert_eq!(packets(&gather), [1, 1]);
        let failure = failure.unwrap().to_string();
        assert!(failure.starts_with("a.pcap: capture cut short"), "{failure}");
    }
}

//! Where frames come from: a live port, or a capture at its own speed, faster, or as fast as it can
//! be read.
//!
//! A capture is decoded by a thread of its own, so that whoever gathers is never kept waiting by a
//! slow disk or a silent pipe. Times are those of the frames; the clock only says when each is due.

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

/// By how much a frame of a pipe may be older than the moment it comes out of it.
const PIPE_LAG: Duration = Duration::from_millis(500);
/// How often the kernel is asked what it dropped.
const ASK_DROPPED: Duration = Duration::from_secs(1);
/// Frames decoded ahead, and how much of each is kept: at the most 4 MiB.
const AHEAD: usize = 256;
const KEPT_OCTETS: usize = 16 << 10;

/// Where frames come from.
pub(crate) enum Source {
    /// An interface.
    Port(Port),
    /// A file or pipe.
    Playback(Playback),
}

/// What came of a step.
pub(super) enum Step {
    /// There may be more.
    Going,
    /// Nothing more comes, and why where that was not to be.
    Ended(Option<Failure>),
}

impl Source {
    /// Lets a frame be gathered, or waits until `until` and lets time pass.
    pub(super) fn step(&mut self, gather: &mut Gather, until: Instant) -> Step {
        match self {
            Self::Port(port) => port.step(gather, until),
            Self::Playback(playback) => playback.step(gather, until),
        }
    }

    /// How it goes on while more may come, in a word.
    pub(super) const fn state(&self) -> &'static str {
        match self {
            Self::Port(_) => "live",
            Self::Playback(_) => "playing",
        }
    }

    /// Frames that were dropped; none where nobody can tell. A capture may say it, once it has been
    /// read to its end.
    pub(super) fn dropped(&self) -> Option<u64> {
        match self {
            Self::Port(port) => Some(port.dropped),
            Self::Playback(playback) => playback.dropped(),
        }
    }
}

/// An interface that is listened to.
pub(crate) struct Port {
    listener: Listener,
    /// Frames are told in the time of day, and the clock that never steps says when to look up.
    day: Correlation,
    end: Option<Instant>,
    dropped: u64,
    ask_at: Instant,
}

impl Port {
    /// Listens until `end`, on the monotonic clock; without one, for ever.
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

/// A frame out of a capture.
struct Frame {
    at: Instant,
    link: Link,
    octets: Vec<u8>,
    original_octets: usize,
}

/// A capture that is played back.
pub(crate) struct Playback {
    frames: Receiver<Result<Frame, Failure>>,
    /// Times its own speed; as fast as it can be read without one.
    speed: Option<f64>,
    /// Whether frames may come while this waits, so that silence means that time passes.
    is_pipe: bool,
    /// When it began, on the clock and in the capture.
    begun: Option<(Instant, Instant)>,
    next: Option<Frame>,
    /// What the capture says was dropped where it was made; [`UNTOLD`] where it does not say it.
    dropped: Arc<AtomicU64>,
}

/// No count of frames.
const UNTOLD: u64 = u64::MAX;

impl Playback {
    /// Plays back what `capture` holds; `name` is what errors call it.
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

    /// When a frame is to be shown; the first of all is shown at once.
    fn due(&mut self, frame: &Frame) -> Option<Instant> {
        let speed = self.speed?;
        let (begun, first) = *self.begun.get_or_insert_with(|| (clock::now(), frame.at));
        Some(begun + stretched(frame.at.since(first), 1.0 / speed))
    }

    /// What time it is in the capture.
    fn in_capture(&self, now: Instant) -> Option<Instant> {
        let (speed, (begun, first)) = self.speed.zip(self.begun)?;
        Some(first + stretched(now.since(begun), speed))
    }
}

/// A span times a factor, as long as that can be told.
fn stretched(span: Duration, by: f64) -> Duration {
    Duration::try_from_secs_f64(span.as_secs_f64() * by).unwrap_or(Duration::MAX)
}

/// Decodes a capture to its end, or until nobody wants more.
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
            // A pipe that was left because of an interrupt only looks cut short.
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

    /// A capture with a frame of 60 octets at each of these milliseconds.
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
    fn what_a_capture_says_was_dropped_is_told_at_its_end() {
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
    fn a_capture_gives_the_same_samples_at_any_speed_and_takes_its_time() {
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
    fn what_is_cut_short_gives_what_stands_before_the_cut_and_says_so() {
        let mut octets = capture(&[0, 10, 20]);
        octets.pop();
        let (gather, failure, _) = play(octets, None);
        assert_eq!(packets(&gather), [1, 1]);
        let failure = failure.unwrap().to_string();
        assert!(failure.starts_with("a.pcap: capture cut short"), "{failure}");
    }
}

//! Capture files, growing ones among them, or a capture that comes in on standard input.

use super::annotate::Frame;
use super::frames::Frames;
use crate::args::source::FrameSource;
use crate::command::measuring::{Heard, Teller};
use crate::exit::Failure;
use crate::interrupt::{self, LOOK_UP};
use crate::metrics::Health;
use crate::output::Output;
use crate::pipe::Pipe;
use crate::stream::Recorder;
use bytes::Bytes;
use indicatif::{ProgressBar, ProgressStyle};
use live::clock;
use live::mapped::{self, MappedFile};
use meter::Content;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use wire::capture::{Capture, CaptureError, Mapped, Statistics};
use wire::dissect::Link;
use wire::time::{Instant, nanos};

/// Smaller files are read before anybody could look at a progress bar.
const WORTH_A_BAR_OCTETS: u64 = 32 << 20;
/// Nanoseconds for which nobody waits.
const ENDLESS: u64 = u64::MAX / 2;
/// How often, in the time of its frames, is looked at what a capture says was lost.
const COUNTS_EVERY: Duration = Duration::from_millis(100);

/// Captures that are read one after the other.
#[derive(Clone, Copy)]
pub(crate) struct Captures<'a> {
    pub(crate) paths: &'a [PathBuf],
    /// Whether more is waited for at the end of the last.
    pub(crate) follow: bool,
}

impl<'a> Captures<'a> {
    /// Those that are asked for.
    pub(in crate::command) fn of(source: &'a FrameSource) -> Self {
        Self { paths: &source.read, follow: source.follow }
    }

    /// Each, and whether it may be written to still: only what is read last can be waited for.
    pub(in crate::command) fn each(self) -> impl Iterator<Item = (&'a Path, bool)> {
        let last = self.paths.len().saturating_sub(1);
        let paths = self.paths.iter().enumerate();
        paths.map(move |(nth, path)| (path.as_path(), self.follow && nth == last))
    }

    /// Refuses captures none of which can be read, before an older output file is replaced. A pipe is not
    /// tried, nor is a file that may grow.
    ///
    /// # Errors
    /// The fault of the first capture.
    pub(in crate::command) fn refuse_unreadable(self) -> Result<(), Failure> {
        let quiet = Output { json: false, quiet: true };
        let mut first = None;
        for (path, is_growing) in self.each() {
            if is_growing || is_stream(path) && !path.is_dir() {
                return Ok(());
            }
            match open_as(path, false, &quiet) {
                Ok(_) => return Ok(()),
                Err(failure) => first = first.or(Some(failure)),
            }
        }
        first.map_or(Ok(()), Err)
    }
}

/// Gives the meter every frame of the captures. What is wrong with one does not keep the next from being
/// read; the first thing that was is told at the end.
pub(crate) fn meter(
    captures: Captures<'_>,
    recorder: &mut Recorder,
    (frames, teller): (&mut Frames, &mut Teller<'_>),
    output: &Output,
) -> anyhow::Result<Heard> {
    let (mut failure, mut before) = (None, Statistics::default());
    for (path, is_growing) in captures.each() {
        if interrupt::requested() || recorder.is_done() {
            break;
        }
        let patience = Arc::new(AtomicU64::new(ENDLESS));
        let found = match open_waiting(path, is_growing, output, Some(&patience)) {
            Ok(mut capture) => {
                if !capture.is_packed() {
                    patience.store(nanos(LOOK_UP), Ordering::Relaxed);
                }
                frames.begin_capture();
                let passing = Passing { capture: &mut capture, path, before };
                let found = passing.pass(recorder, (frames, teller))?;
                frames.count(capture.interfaces());
                remark_on_links(&capture, &name(path), output);
                before = counted(&before, &capture);
                found
            }
            Err(error) => Some(error),
        };
        failure = failure.or(found);
    }
    recorder.note_collected(before);
    recorder.note_left_out(frames.left_out());
    if let Some(dropped @ 1..) = before.dropped() {
        output.remark(format_args!(
            "warning: {dropped} frames were dropped when this was captured: the measures are not \
             valid"
        ));
    }
    let is_cut = failure.is_some() || interrupt::requested();
    Ok(Heard { failure, is_cut })
}

/// What was counted before a capture, and where it was made.
fn counted(before: &Statistics, capture: &Capture) -> Statistics {
    let mut sum = *before;
    capture.interfaces().iter().for_each(|interface| sum.add(&interface.statistics));
    sum
}

/// A capture that is read.
struct Passing<'a> {
    capture: &'a mut Capture,
    path: &'a Path,
    /// What was counted where the captures before it were made.
    before: Statistics,
}

impl Passing<'_> {
    /// Gives the meter every frame; what was wrong with the capture, if anything was.
    fn pass(
        self,
        recorder: &mut Recorder,
        (frames, teller): (&mut Frames, &mut Teller<'_>),
    ) -> anyhow::Result<Option<Failure>> {
        let Self { capture, path, before } = self;
        let has_nothing_else = frames.is_nothing() && teller.has_nothing_else();
        let (mut counts_at, mut has_begun) = (Instant::ZERO, false);
        // What somebody else writes ends by itself, or soon after an interrupt.
        let is_stream = is_stream(path);
        while (is_stream || !interrupt::requested()) && !recorder.is_done() {
            let passed = if !has_begun {
                first(capture, recorder, (frames, teller))?
            } else if has_nothing_else {
                hurry(capture, recorder, counts_at)
            } else {
                one(capture, recorder, (frames, teller))?
            };
            match passed {
                Ok(Some(at)) => {
                    has_begun = true;
                    if recorder.has_found() {
                        teller.tell(recorder)?;
                    }
                    if at >= counts_at {
                        counts_at = at + COUNTS_EVERY;
                        recorder.note_collected(counted(&before, capture));
                    }
                    teller.publish(recorder, || Health {
                        frames: recorder.frames(),
                        dropped_by_kernel: recorder.collected().dropped(),
                    });
                }
                Ok(None) => break,
                // Somebody may ask for metrics while no frames come.
                Err(CaptureError::Unreadable { kind: io::ErrorKind::WouldBlock, .. }) => {
                    teller.publish(recorder, || Health {
                        frames: recorder.frames(),
                        dropped_by_kernel: recorder.collected().dropped(),
                    });
                }
                // A pipe that was left because of an interrupt only looks cut short.
                Err(_) if interrupt::requested() => break,
                Err(error) => return Ok(Some(Failure::failed(format!("{}: {error}", name(path))))),
            }
        }
        Ok(None)
    }
}

/// Gives the meter frames as long as nothing else is to be done: until it has found something, or it is this late. The
/// time of the last of them, if there was one.
fn hurry(
    capture: &mut Capture,
    recorder: &mut Recorder,
    until: Instant,
) -> Result<Option<Instant>, CaptureError> {
    while let Some(Frame { at, link, octets, original_octets, .. }) = capture.next()? {
        recorder.observe(at, link, octets, original_octets);
        if recorder.has_found() || at >= until || interrupt::requested() {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Gives the meter the first frame as [`one`] does. What frames of the capture hold is known from then on.
fn first(
    capture: &mut Capture,
    recorder: &mut Recorder,
    (frames, teller): (&mut Frames, &mut Teller<'_>),
) -> io::Result<Result<Option<Instant>, CaptureError>> {
    let Frame { at, link, octets, original_octets, interface } = match capture.next() {
        Ok(Some(frame)) => frame,
        Ok(None) => return Ok(Ok(None)),
        Err(error) => return Ok(Err(error)),
    };
    let octets = &octets.to_vec();
    recorder.expect(content(capture));
    teller.wait(at, recorder)?;
    if frames.is_nothing() {
        recorder.observe(at, link, octets, original_octets);
    } else {
        if frames.lacks(interface) {
            frames.describe(capture.interfaces());
        }
        frames.observe(recorder, &Frame { at, link, octets, original_octets, interface });
    }
    Ok(Ok(Some(at)))
}

/// Headers alone if the capture says so of each interface.
fn content(capture: &Capture) -> Content {
    let mut interfaces = capture.interfaces().iter();
    if interfaces.all(|interface| interface.leaves_out_data) {
        Content::Headers
    } else {
        Content::Whole
    }
}

/// Gives the meter one frame, when it is due, and everything else that wants it; its time, if there was one.
fn one(
    capture: &mut Capture,
    recorder: &mut Recorder,
    (frames, teller): (&mut Frames, &mut Teller<'_>),
) -> io::Result<Result<Option<Instant>, CaptureError>> {
    let frame = match capture.next() {
        Ok(Some(frame)) => frame,
        Ok(None) => return Ok(Ok(None)),
        Err(error) => return Ok(Err(error)),
    };
    let Frame { at, link, octets, original_octets, interface } = frame;
    teller.wait(at, recorder)?;
    if frames.is_nothing() {
        recorder.observe(at, link, octets, original_octets);
    } else if frames.lacks(interface) {
        let octets = &octets.to_vec();
        frames.describe(capture.interfaces());
        frames.observe(recorder, &Frame { at, link, octets, original_octets, interface });
    } else {
        frames.observe(recorder, &frame);
    }
    Ok(Ok(Some(at)))
}

/// Opens a capture; `-` is standard input.
pub(crate) fn open(path: &Path, output: &Output) -> Result<Capture, Failure> {
    open_as(path, false, output)
}

/// Opens a capture that may be written to still.
pub(crate) fn open_as(path: &Path, is_growing: bool, output: &Output) -> Result<Capture, Failure> {
    open_waiting(path, is_growing, output, None)
}

/// As [`open_as`]; where there is a patience, a capture to which no more comes says so after that many
/// nanoseconds, and goes on afterwards.
fn open_waiting(
    path: &Path,
    is_growing: bool,
    output: &Output,
    patience: Option<&Arc<AtomicU64>>,
) -> Result<Capture, Failure> {
    let name = name(path);
    let opened = if path.as_os_str() == "-" {
        Capture::open(piped(io::stdin(), patience))
    } else {
        let file = interrupt::open(path)
            .map_err(|error| Failure::failed(format!("cannot open {name}: {error}")))?;
        match file.metadata() {
            Ok(about) if about.is_dir() => {
                return Err(Failure::failed(format!("{name} is a folder, not a capture")));
            }
            Ok(about) if !about.is_file() => Capture::open(piped(file, patience)),
            _ if is_growing => Capture::open(Growing { file, patience: patience.cloned() }),
            // Rows on a terminal show how far it is, and a bar would run into them.
            Ok(about)
                if about.len() >= WORTH_A_BAR_OCTETS
                    && output.draws_progress()
                    && !io::stdout().is_terminal() =>
            {
                let bar = bar(about.len());
                match MappedFile::new(file) {
                    Ok(file) => Capture::open_mapped(Box::new(Shown { file, bar })),
                    Err(file) => Capture::open(bar.wrap_read(file)),
                }
            }
            _ => mapped::open(file),
        }
    };
    opened.map_err(|error| Failure::failed(format!("{name}: {error}")))
}

/// What somebody else writes to, with a patience as in [`open_waiting`].
fn piped(from: impl Read + Send + 'static, patience: Option<&Arc<AtomicU64>>) -> Pipe {
    match patience {
        None => Pipe::new(from),
        Some(patience) => Pipe::interruptible(from, Arc::clone(patience)),
    }
}

/// Whether it is standard input, a pipe with a name or the like, and no plain file.
pub(crate) fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-" || path.metadata().is_ok_and(|about| !about.is_file())
}

/// What messages call a capture.
pub(crate) fn name(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard input".to_owned() } else { path.display().to_string() }
}

fn bar(octets: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {bytes} of {total_bytes}, {eta} to go")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(octets).with_style(style)
}

/// A file in memory, and how far it has been looked at.
struct Shown {
    file: MappedFile,
    bar: ProgressBar,
}

impl Mapped for Shown {
    fn octets(&self) -> Bytes {
        self.file.octets()
    }
    fn reach(&mut self, from: usize) -> usize {
        self.bar.set_position(from as u64);
        self.file.reach(from)
    }
    fn torn(&self) -> &'static AtomicBool {
        self.file.torn()
    }
    fn octets_now(&self) -> u64 {
        self.file.octets_now()
    }
    fn rest(self: Box<Self>, from: u64) -> io::Result<Box<dyn Read + Send>> {
        let Self { file, bar } = *self;
        bar.set_position(from);
        Ok(Box::new(bar.wrap_read(Box::new(file).rest(from)?)))
    }
}

/// Says which frames the meter could do no more with than count them as foreign.
fn remark_on_links(capture: &Capture, name: &str, output: &Output) {
    let foreign = |link: &Link| !link.is_read();
    let links: BTreeSet<Link> =
        capture.interfaces().iter().map(|interface| interface.link).filter(foreign).collect();
    for link in links {
        output.remark(format_args!(
            "warning: {name}: {link} is not understood; its frames are only counted as oddities"
        ));
    }
}

/// A file that somebody else writes to: its end is where more will come, until an interrupt. Where there is
/// a patience it says after so many nanoseconds that there would be a wait.
struct Growing {
    file: File,
    patience: Option<Arc<AtomicU64>>,
}

impl Read for Growing {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let mut waited = 0;
        loop {
            match self.file.read(room)? {
                0 if !room.is_empty() && !interrupt::requested() => {
                    let patience = self.patience.as_ref();
                    if patience.is_some_and(|most| waited >= most.load(Ordering::Relaxed)) {
                        return Err(io::ErrorKind::WouldBlock.into());
                    }
                    clock::sleep_until(clock::now() + LOOK_UP);
                    waited += nanos(LOOK_UP);
                }
                octets => return Ok(octets),
            }
        }
    }
}

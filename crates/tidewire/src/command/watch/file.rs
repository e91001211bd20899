//! Capture files, including growing ones, or a capture on standard input.

use super::annotate::Frame;
use super::digest::{self, StreamDigest};
use super::frames::FramePipeline;
use super::stages::Stage;
use crate::args::source::FrameSource;
use crate::command::reporter::{CaptureEnd, Reporter};
use crate::exit::Failure;
use crate::interrupt::{self, LOOK_UP};
use crate::output::Output;
use crate::quantity::agreed;
use crate::threaded_reader::Pipe;
use bytes::Bytes;
use indicatif::{ProgressBar, ProgressStyle};
use live::clock;
use live::mapped::{self, MappedFile};
use meter::Content;
use records::families::Health;
use records::{Recorder, Stamps};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use wire::capture::{Capture, CaptureError, Mapped, Statistics};
use wire::dissect::Link;
use wire::time::nanos;

/// Size below which a file is read before a progress bar would be visible.
const WORTH_A_BAR_OCTETS: u64 = 32 << 20;
/// An unlimited wait in nanoseconds.
const ENDLESS: u64 = u64::MAX / 2;

/// Captures that are read in sequence.
#[derive(Clone, Copy)]
pub(crate) struct Captures<'a> {
    pub(crate) paths: &'a [PathBuf],
    /// True if the last capture is followed as it grows.
    pub(crate) follow: bool,
}

impl<'a> Captures<'a> {
    /// Returns the captures of the arguments.
    pub(in crate::command) fn of(source: &'a FrameSource) -> Self {
        Self { paths: &source.read, follow: source.follow }
    }

    /// Returns each capture, and true if it may still be growing: only the last one can be waited
    /// for.
    pub(in crate::command) fn each(self) -> impl Iterator<Item = (&'a Path, bool)> {
        let last = self.paths.len().saturating_sub(1);
        let paths = self.paths.iter().enumerate();
        paths.map(move |(nth, path)| (path.as_path(), self.follow && nth == last))
    }

    /// Rejects captures if none can be read, before an older output file is replaced. Pipes and
    /// growing files are not tried.
    ///
    /// # Errors
    /// Returns the error of the first capture.
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

/// Passes every frame of the captures to the meter. A bad file does not stop the others; the first
/// error is reported at the end.
pub(crate) fn meter(
    captures: Captures<'_>,
    recorder: &mut Recorder,
    frames: &mut FramePipeline,
    teller: &mut Reporter<'_>,
    output: &Output,
) -> anyhow::Result<CaptureEnd> {
    if !captures.each().any(|(path, is_growing)| is_growing || is_stream(path)) {
        teller.print_apart();
    }
    let (mut failure, mut before) = (None, Before::default());
    for (path, is_growing) in captures.each() {
        if interrupt::requested() || recorder.is_done() || teller.is_enough() {
            break;
        }
        let patience = Arc::new(AtomicU64::new(ENDLESS));
        let digest = teller.keeps_folder().then(StreamDigest::default);
        let opening = Opening { patience: Some(&patience), digest: digest.as_ref() };
        let found = match open_waiting(path, is_growing, output, &opening) {
            Ok(mut capture) => {
                if !capture.is_packed() {
                    patience.store(nanos(LOOK_UP), Ordering::Relaxed);
                }
                frames.begin_capture();
                let passing = Passing { capture: &mut capture, path, before };
                let found = passing.pass(recorder, frames, teller)?;
                frames.count(capture.interfaces());
                remark_on_links(&capture, &name(path), output);
                before = before.with(&capture);
                if let Some(digest) = &digest {
                    teller.note_read(digest::of_read(path, name(path), digest));
                }
                found
            }
            Err(error) => Some(error),
        };
        failure = failure.or(found);
    }
    before.note(recorder);
    recorder.note_left_out(frames.left_out());
    if let Some(dropped @ 1..) = before.collected.dropped() {
        let dropped = agreed(&format!("{dropped} frames were dropped when this was captured"));
        output.remark(format_args!("warning: {dropped}: the measures are not valid"));
    }
    let is_cut = failure.is_some() || interrupt::requested() || teller.is_enough();
    Ok(CaptureEnd { failure, is_cut })
}

/// Statements of the captures read so far about their collection.
#[derive(Clone, Copy, Default)]
struct Before {
    collected: Statistics,
    stamps: Option<Stamps>,
}

impl Before {
    /// Returns the counters of earlier captures and of this one, and the coarser time stamps.
    fn with(mut self, capture: &Capture) -> Self {
        let interfaces = capture.interfaces();
        interfaces.iter().for_each(|interface| self.collected.add(&interface.statistics));
        let stamps = Stamps::of_capture(interfaces).map(|of| of.coarser(self.stamps));
        self.stamps = stamps.or(self.stamps);
        self
    }

    fn note(&self, recorder: &mut Recorder) {
        recorder.note_collected(self.collected);
        recorder.note_stamps(self.stamps);
    }
}

/// A capture being read.
struct Passing<'a> {
    capture: &'a mut Capture,
    path: &'a Path,
    /// Statements of the captures before it.
    before: Before,
}

impl Passing<'_> {
    /// Passes every frame to the meter; returns the error of the capture, if any.
    fn pass(
        self,
        recorder: &mut Recorder,
        frames: &mut FramePipeline,
        teller: &mut Reporter<'_>,
    ) -> anyhow::Result<Option<Failure>> {
        let Self { capture, path, before } = self;
        let has_nothing_else =
            frames.is_nothing() && teller.has_nothing_else() && !frames.is_timed();
        let (mut descriptions, mut has_begun) = (0, false);
        // A stream written by another process ends by itself, or soon after an interrupt.
        let is_stream = is_stream(path);
        while (is_stream || !interrupt::requested()) && !recorder.is_done() && !teller.is_enough() {
            let passed = if !has_begun {
                first(capture, recorder, frames, teller)?
            } else if has_nothing_else {
                drain(capture, recorder)
            } else {
                one(capture, recorder, frames, teller)?
            };
            match passed {
                Ok(true) => {
                    has_begun = true;
                    if recorder.has_found() || teller.prints_samples() {
                        teller.tell(recorder)?;
                        frames.note_failures(teller);
                    }
                    if capture.descriptions() != descriptions {
                        descriptions = capture.descriptions();
                        before.with(capture).note(recorder);
                    }
                    teller.publish(recorder, || health(recorder));
                    frames.end(Stage::Output);
                }
                Ok(false) => break,
                // A request for metrics may arrive while no frames come.
                Err(CaptureError::Unreadable { kind: io::ErrorKind::WouldBlock, .. }) => {
                    teller.pass_silence(recorder)?;
                    frames.note_failures(teller);
                    teller.publish(recorder, || health(recorder));
                }
                // A pipe closed because of an interrupt only appears truncated.
                Err(_) if interrupt::requested() => break,
                Err(error) => return Ok(Some(Failure::failed(format!("{}: {error}", name(path))))),
            }
        }
        Ok(None)
    }
}

/// Returns the state of a meter that reads no port.
pub(super) fn health(recorder: &Recorder) -> Health {
    Health {
        frames: recorder.frames(),
        dropped_by_kernel: recorder.collected().dropped(),
        processor: clock::processor(),
        clock_error: clock::wall_error(),
        ring_fill: None,
    }
}

/// Passes frames to the meter until it has a result or the capture describes its interfaces anew.
/// Returns false at the end of the capture.
fn drain(capture: &mut Capture, recorder: &mut Recorder) -> Result<bool, CaptureError> {
    capture.each(|Frame { at, link, octets, original_octets, .. }| {
        recorder.observe(at, link, octets, original_octets);
        !(recorder.has_found() || interrupt::requested())
    })
}

/// Passes the first frame to the meter as [`one`] does. From then on the content of the capture's
/// frames is known.
fn first(
    capture: &mut Capture,
    recorder: &mut Recorder,
    frames: &mut FramePipeline,
    teller: &mut Reporter<'_>,
) -> io::Result<Result<bool, CaptureError>> {
    let Frame { at, link, octets, original_octets, interface } = match capture.next() {
        Ok(Some(frame)) => frame,
        Ok(None) => return Ok(Ok(false)),
        Err(error) => return Ok(Err(error)),
    };
    let octets = &octets.to_vec();
    frames.end(Stage::Reading);
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
    frames.end(Stage::Metering);
    Ok(Ok(true))
}

/// Content of a capture's frames.
fn content(capture: &Capture) -> Content {
    if capture.leaves_out_data() { Content::Headers } else { Content::Whole }
}

/// Passes one frame to the meter when it is due, and to all other outputs; returns false at the end
/// of the capture.
fn one(
    capture: &mut Capture,
    recorder: &mut Recorder,
    frames: &mut FramePipeline,
    teller: &mut Reporter<'_>,
) -> io::Result<Result<bool, CaptureError>> {
    let frame = match capture.next() {
        Ok(Some(frame)) => frame,
        Ok(None) => return Ok(Ok(false)),
        Err(error) => return Ok(Err(error)),
    };
    let Frame { at, link, octets, original_octets, interface } = frame;
    frames.end(Stage::Reading);
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
    frames.end(Stage::Metering);
    Ok(Ok(true))
}

/// Opens a capture; `-` is standard input.
pub(crate) fn open(path: &Path, output: &Output) -> Result<Capture, Failure> {
    open_as(path, false, output)
}

/// Opens a capture that may still be growing.
pub(crate) fn open_as(path: &Path, is_growing: bool, output: &Output) -> Result<Capture, Failure> {
    open_waiting(path, is_growing, output, &Opening::default())
}

/// Settings of how a capture is opened.
#[derive(Default)]
struct Opening<'a> {
    /// Silence in nanoseconds after which a capture reports that it would block, and continues
    /// afterwards.
    patience: Option<&'a Arc<AtomicU64>>,
    /// Hash of a stream's octets, which cannot be read a second time.
    digest: Option<&'a StreamDigest>,
}

impl Opening<'_> {
    /// Opens a stream written by another process.
    fn piped(&self, from: impl Read + Send + 'static) -> Result<Capture, CaptureError> {
        self.stream(match self.patience {
            None => Pipe::new(from),
            Some(patience) => Pipe::interruptible(from, Arc::clone(patience)),
        })
    }

    fn stream(&self, from: impl Read + Send + 'static) -> Result<Capture, CaptureError> {
        match self.digest {
            None => Capture::open(from),
            Some(digest) => Capture::open(digest.of(from)),
        }
    }
}

/// Like [`open_as`], with these settings.
fn open_waiting(
    path: &Path,
    is_growing: bool,
    output: &Output,
    opening: &Opening<'_>,
) -> Result<Capture, Failure> {
    let name = name(path);
    let opened = if path.as_os_str() == "-" {
        opening.piped(io::stdin())
    } else {
        let file = interrupt::open(path)
            .map_err(|error| Failure::failed(format!("cannot open {name}: {error}")))?;
        match file.metadata() {
            Ok(about) if about.is_dir() => {
                return Err(Failure::failed(format!("{name} is a folder, not a capture")));
            }
            Ok(about) if !about.is_file() => opening.piped(file),
            _ if is_growing => {
                opening.stream(Growing { file, patience: opening.patience.cloned() })
            }
            // Rows on a terminal show the progress, and a bar would mix with them.
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

/// Returns true for standard input, a named pipe or the like, and false for a regular file.
pub(crate) fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-" || path.metadata().is_ok_and(|about| !about.is_file())
}

/// Returns the name of a capture in messages.
pub(crate) fn name(path: &Path) -> String {
    match path.to_str() {
        Some("-") => "standard input".to_owned(),
        _ if super::choice::is_demo(path) => "the built-in capture".to_owned(),
        _ => path.display().to_string(),
    }
}

fn bar(octets: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {bytes} of {total_bytes}, {eta} to go")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(octets).with_style(style)
}

/// A file in memory, and the position read so far.
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

/// Prints the link types whose frames the meter can only count as foreign.
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

/// A file that another process writes. More data is awaited at its end until an interrupt. With a
/// patience, it reports after that many nanoseconds that it would block.
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

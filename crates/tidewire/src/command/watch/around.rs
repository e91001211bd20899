//! Frames around events: the latest are held in memory, and written to a capture of its own around each event.
//!
//! ```text
//! frame ─┬─ ring: those of the last `before`, at most 64 MiB ─┐ at an event
//!        └─ until `after` has passed since the last event ────┴─ FOLDER/TIME-EVENT.pcapng
//! ```
//!
//! Memory is bounded by the ring, and the disk by the limit of the command line. What either costs is counted, and
//! reported at the end.

use super::annotate::{Cut, Frame, fault};
use super::events::{self, EVENTS};
use super::remarks;
use crate::args::around::AroundOptions;
use crate::exit::Failure;
use crate::output::Output;
use crate::quantity;
use crate::store::{Store, Target};
use bench::scenario::{Size, Span};
use core::time::Duration;
use meter::Remarks;
use records::calendar;
use records::quantity::counted;
use records::text::matches;
use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use wire::capture::Interface;
use wire::pcapng::WITHOUT_DATA;
use wire::time::Instant;

/// Octets of frames that are held in memory.
const RING_OCTETS: usize = 64 << 20;
/// Octets of memory that a frame takes in addition to its own.
const FRAME_OCTETS: usize = size_of::<Held>();
/// Files of one event in one second.
const MOST_NAMES: u32 = 1_000;

/// A frame held in memory, as far as it is kept.
struct Held {
    at: Instant,
    interface: u32,
    original_octets: usize,
    octets: Box<[u8]>,
    comment: Box<str>,
}

/// The capture around an event.
struct UnderWay {
    path: PathBuf,
    store: Store,
    /// Time after which it ends, unless another event comes before.
    until: Instant,
}

/// Captures of the frames around events.
pub(super) struct Around {
    folder: PathBuf,
    /// Names of events, or patterns of them.
    wanted: Vec<String>,
    before: Duration,
    after: Duration,
    most_octets: u64,
    cut: Option<Cut>,
    target: Target,
    ring: VecDeque<Held>,
    ring_octets: usize,
    /// Interfaces that are known, each with its comment; those of earlier captures are first.
    interfaces: Vec<(Interface, String)>,
    earlier: u32,
    under_way: Option<UnderWay>,
    /// Files that are whole, and their octets.
    files: u64,
    octets: u64,
    /// Events for which the disk had no room.
    discarded: u64,
    /// Frames within `before` for which memory had no room.
    outrun: u64,
    failure: Option<Failure>,
    output: Output,
}

impl Around {
    /// Creates the folder; none if no events are named.
    ///
    /// # Errors
    /// An event that does not exist, a time or size that is none, a folder that cannot be made.
    pub(super) fn new(
        options: &AroundOptions,
        cut: Option<Cut>,
        target: &Target,
        output: &Output,
    ) -> Result<Option<Self>, Failure> {
        if options.keep_around.is_empty() {
            return Ok(None);
        }
        for pattern in &options.keep_around {
            if !EVENTS.iter().any(|event| matches(pattern, event)) {
                let message = format!("--keep-around {pattern:?}: there is no such event");
                let fix = format!("one of {}", EVENTS.join(", "));
                return Err(Failure::usage(message).with_fix(fix));
            }
        }
        let Span(before) = quantity::option("--before", &options.before)?;
        let Span(after) = quantity::option("--after", &options.after)?;
        let Size(most_octets) = quantity::option("--keep-most", &options.keep_most)?;
        let folder = options.keep_in.clone();
        fs::create_dir_all(&folder).map_err(|error| Failure::no_folder(&folder, &error))?;
        Ok(Some(Self {
            folder,
            wanted: options.keep_around.clone(),
            before,
            after,
            most_octets,
            cut,
            target: target.clone(),
            ring: VecDeque::new(),
            ring_octets: 0,
            interfaces: Vec::new(),
            earlier: 0,
            under_way: None,
            files: 0,
            octets: 0,
            discarded: 0,
            outrun: 0,
            failure: None,
            output: *output,
        }))
    }

    /// Starts a new capture with its own interfaces.
    pub(super) fn begin_capture(&mut self) {
        self.earlier = self.interfaces.len() as u32;
    }

    /// Returns true if an interface has not been described yet.
    pub(super) const fn lacks(&self, interface: u32) -> bool {
        (self.earlier + interface) as usize >= self.interfaces.len()
    }

    /// Describes the remaining interfaces, with their names if `is_named`.
    pub(super) fn describe(&mut self, interfaces: &[Interface], is_named: bool) {
        let known = self.interfaces.len() - self.earlier as usize;
        for interface in interfaces.iter().skip(known) {
            let name = if is_named { interface.name.clone() } else { String::new() };
            let has_data = is_named && !interface.leaves_out_data;
            let as_read = if has_data { "" } else { WITHOUT_DATA };
            let comment = self.cut.as_ref().map_or(as_read, Cut::comment).to_owned();
            let described = Interface { name, ..interface.clone() };
            if let Some(under_way) = &mut self.under_way
                && let Err(error) = under_way.store.interface(&described, &comment)
            {
                self.give_up(&error);
            }
            self.interfaces.push((described, comment));
        }
    }

    /// Holds the kept part of a frame, and writes what is around its events.
    pub(super) fn write(&mut self, frame: &Frame<'_>, kept: &[u8], seen: &Remarks) {
        if self.failure.is_some() {
            return;
        }
        let at = frame.at;
        if self.under_way.as_ref().is_some_and(|under_way| at > under_way.until) {
            self.end();
        }
        let is_noted = events::names(seen).next().is_some();
        let event = events::names(seen).find(|event| self.wants(event));
        // Of the frames held few are written, so that ordinary ones are not described.
        let comment =
            if is_noted { remarks::line(seen, fault(frame, seen)) } else { String::new() };
        let comment = comment.into();
        let kept = match &mut self.cut {
            Some(cut) => cut.kept(frame, kept),
            None => kept,
        };
        let (interface, original_octets) = (self.earlier + frame.interface, frame.original_octets);
        let held = Held { at, interface, original_octets, octets: kept.into(), comment };
        if let Some(event) = event {
            self.event(at, event);
        }
        if self.under_way.is_some() {
            self.put(&held);
        }
        self.hold(held);
    }

    fn wants(&self, event: &str) -> bool {
        self.wanted.iter().any(|pattern| matches(pattern, event))
    }

    /// Begins a capture with the frames held, or lets the one under way go on.
    fn event(&mut self, at: Instant, event: &str) {
        let until = at + self.after;
        if let Some(under_way) = &mut self.under_way {
            under_way.until = until;
            return;
        }
        if self.octets >= self.most_octets {
            self.discarded += 1;
            return;
        }
        match self.open(at, event) {
            Ok((path, store)) => self.under_way = Some(UnderWay { path, store, until }),
            Err(error) => return self.give_up(&error),
        }
        let held = core::mem::take(&mut self.ring);
        let from = at.as_nanos().saturating_sub(self.before.as_nanos() as u64);
        for held in held.iter().filter(|held| held.at.as_nanos() >= from) {
            self.put(held);
        }
        self.ring = held;
    }

    /// Opens a file that is called after the event, and describes the interfaces.
    fn open(&self, at: Instant, event: &str) -> io::Result<(PathBuf, Store)> {
        let time = calendar::folder_name(Duration::from_nanos(at.as_nanos()));
        let names = (1..MOST_NAMES).map(|number| match number {
            1 => format!("{time}-{event}.pcapng"),
            _ => format!("{time}-{event}-{number}.pcapng"),
        });
        let mut paths = names.map(|name| self.folder.join(name));
        let path = paths.find(|path| !path.exists()).ok_or(io::ErrorKind::AlreadyExists)?;
        let mut store = Store::begin(&path, None, self.target.clone())?;
        for (interface, comment) in &self.interfaces {
            store.interface(interface, comment)?;
        }
        Ok((path, store))
    }

    /// Writes a frame to the capture under way, which ends if the disk has no more room.
    fn put(&mut self, held: &Held) {
        let Some(UnderWay { store, .. }) = &mut self.under_way else { return };
        let Held { at, interface, original_octets, octets, comment } = held;
        let has_room =
            self.octets + store.written().octets + (octets.len() as u64) < self.most_octets;
        if !has_room {
            return self.end();
        }
        if let Err(error) = store.frame(*interface, *at, octets, *original_octets, comment) {
            self.give_up(&error);
        }
    }

    /// Holds a frame in memory; the oldest make room.
    fn hold(&mut self, held: Held) {
        let from = held.at.as_nanos().saturating_sub(self.before.as_nanos() as u64);
        let size = |held: &Held| held.octets.len() + held.comment.len() + FRAME_OCTETS;
        self.ring_octets += size(&held);
        self.ring.push_back(held);
        while let Some(oldest) = self.ring.front() {
            let is_old = oldest.at.as_nanos() < from;
            if !is_old && self.ring_octets <= RING_OCTETS {
                break;
            }
            self.outrun += u64::from(!is_old);
            self.ring_octets -= size(oldest);
            self.ring.pop_front();
        }
    }

    /// Ends the capture under way.
    fn end(&mut self) {
        let Some(UnderWay { path, mut store, .. }) = self.under_way.take() else { return };
        match store.flush() {
            Ok(()) => {
                let written = store.written();
                self.files += 1;
                self.octets += written.octets;
                let frames = counted(written.frames, "frame");
                self.output.remark(format_args!("kept: {}, {frames}", path.display()));
            }
            Err(error) => self.give_up(&error),
        }
    }

    /// Flushes buffered frames, so that other programs can read them.
    pub(super) fn flush(&mut self) {
        if let Some(under_way) = &mut self.under_way
            && let Err(error) = under_way.store.flush()
        {
            self.give_up(&error);
        }
    }

    /// Ends the last capture, and reports what was not kept; returns the reason if a file is incomplete.
    pub(super) fn finish(&mut self) -> Option<Failure> {
        self.end();
        if self.discarded > 0 {
            self.output.remark(format_args!(
                "warning: nothing was kept around {}: --keep-most was reached by {}",
                counted(self.discarded, "event"),
                counted(self.files, "file")
            ));
        }
        if self.outrun > 0 {
            self.output.remark(format_args!(
                "warning: {} within --before did not fit into memory (64 MiB)",
                counted(self.outrun, "frame")
            ));
        }
        self.failure.take()
    }

    /// Stops writing, and records the reason.
    fn give_up(&mut self, error: &io::Error) {
        let path: &Path = self.under_way.as_ref().map_or(&self.folder, |under_way| &under_way.path);
        let failure = Failure::cannot_write(path, error);
        self.output.remark(format_args!("warning: {failure}; what passes is metered still"));
        self.under_way = None;
        self.failure = Some(failure);
    }
}

//! `tidewire capture`: frames of a live port or of captures, as pcapng, without their user data.

use super::watch::{Captures, is_stream, listen, name_of, open_as};
use crate::args::capture::Capture;
use crate::exit::{Exit, Failure};
use crate::interrupt::{self, LOOK_UP};
use crate::interruptible_writer::PATIENCE;
use crate::listener::{Listener, Times, Wanted};
use crate::output::{self, Output};
use crate::output_file::{Inputs, Placing};
use crate::permission;
use crate::port_options;
use crate::quantity;
use crate::store::{DATA_IS_KEPT, Rotation, Store, Target, comment};
use bench::scenario::Span;
use core::time::Duration;
use live::clock;
use records::Collection;
use serde::Serialize;
use std::io::{self, IsTerminal as _};
use std::path::Path;
use wire::capture::{Record, SNAP_OCTETS, Statistics};
use wire::dissect::Stripper;
use wire::filter::Filter;
use wire::time::{Instant, nanos};

/// Interval at which counters are written.
const COUNTS_EVERY: Duration = Duration::from_secs(1);

/// A line of NDJSON.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Line<'a> {
    End {
        complete: bool,
        frames: u64,
        left_out: u64,
        octets: u64,
        files: u64,
        dropped_by_kernel: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        collection: Option<Collection>,
        error: Option<&'a str>,
    },
}

/// Frames on their way into the store.
struct Passage {
    store: Store,
    filter: Filter,
    keeps_data: bool,
    stripper: Stripper,
    /// Frames that may still come.
    room: u64,
    left_out: u64,
    octets: Vec<u8>,
}

/// Reason for a stop before the end.
enum Stopped {
    /// The reader has closed the pipe.
    NobodyReads,
    /// The reader took nothing for long after an interrupt.
    Unread,
    Failed(Failure),
}

/// A frame that is wanted, whose octets are in the passage.
struct Wanting {
    at: Instant,
    interface: u32,
    original_octets: usize,
}

impl Passage {
    /// Takes a frame in, if it passes and there is room for it.
    fn admit(&mut self, record: &Record<'_>) -> Option<Wanting> {
        let Record { at, link, octets, original_octets, interface } = *record;
        if !self.filter.matches(link, octets, original_octets) {
            self.left_out += 1;
            return None;
        }
        self.room = self.room.checked_sub(1)?;
        self.octets.clear();
        self.octets.extend_from_slice(octets);
        if !self.keeps_data {
            let kept = self.stripper.strip(link, &mut self.octets, original_octets);
            self.octets.truncate(kept);
        }
        Some(Wanting { at, interface, original_octets })
    }

    /// Writes the frame that was taken in last, under an interface of the store.
    fn write(&mut self, interface: u32, frame: &Wanting) -> io::Result<()> {
        self.store.frame(interface, frame.at, &self.octets, frame.original_octets, "")
    }

    fn comment(&self) -> String {
        comment(&self.filter, self.keeps_data)
    }
}

/// Refusal of `--anonymize`, with the command that does it on the same frames.
fn refuse_anonymize(options: &Capture) -> Failure {
    let quoted = |path: &Path| permission::quoted(&path.display().to_string());
    let mut from = match &options.source.interface {
        Some(interface) => format!("-i {}", permission::quoted(interface)),
        None => {
            let files = options.source.read.iter().map(|path| quoted(path));
            format!("-r {}", files.collect::<Vec<_>>().join(" "))
        }
    };
    if let Some(time) = &options.source.time {
        from += &format!(" -t {}", permission::quoted(time));
    }
    if let Some(filter) = &options.source.filter {
        from += &format!(" --filter {}", permission::quoted(&filter.to_string()));
    }
    let is_named = options.write.as_os_str() != "-";
    let to = if is_named { quoted(&options.write) } else { "FILE.pcapng".to_owned() };
    Failure::usage("--anonymize: capture leaves out user data but keeps addresses")
        .with_fix(format!("tidewire watch {from} --anonymize --annotate {to}"))
}

pub(crate) fn run(options: &Capture, output: &Output) -> anyhow::Result<Exit> {
    if options.anonymize {
        return Err(refuse_anonymize(options).into());
    }
    let listen = listen(&options.source)?;
    let is_standard = options.write.as_os_str() == "-";
    if is_standard && (output.json || options.rotate.is_some()) {
        let failure =
            Failure::usage("--json and --rotate leave no room for frames on standard output");
        return Err(failure.with_fix("--write FILE").into());
    }
    if is_standard && io::stdout().is_terminal() {
        let failure = Failure::usage("standard output is a terminal, which cannot take pcapng");
        return Err(failure.with_fix("--write FILE, or | tidewire watch -r -").into());
    }
    let rotation = match &options.rotate {
        None => None,
        Some(text) => {
            let octets = port_options::size("--rotate", text)?;
            Some(Rotation { octets, keep: options.keep })
        }
    };
    output::install_interrupts()?;
    let inputs = Inputs::of(&options.source.read);
    inputs.refuse("--write", &options.write)?;
    if !is_standard {
        Captures::of(&options.source).refuse_unreadable()?;
    }
    let target = Target { inputs, placing: Placing::of_source(options.source.interface.is_some()) };
    let store = Store::begin(&options.write, rotation, target)
        .map_err(|error| cannot_write(&options.write, &error))?;
    let mut passage = Passage {
        store,
        filter: options.source.filter.clone().unwrap_or_else(Filter::all),
        keeps_data: options.full,
        stripper: Stripper::new(),
        room: options.count.unwrap_or(u64::MAX),
        left_out: 0,
        octets: Vec::new(),
    };
    if options.full {
        output.remark(DATA_IS_KEPT);
    }
    let (counted, stopped) = match &options.source.interface {
        Some(name) => live(name, listen, options, &mut passage, output),
        None => files(options, &mut passage, output),
    };
    conclude(options, &mut passage, &counted, stopped, output)
}

/// Writes the rest, and returns how the capture ended.
fn conclude(
    options: &Capture,
    passage: &mut Passage,
    counted: &Statistics,
    stopped: Option<Stopped>,
    output: &Output,
) -> anyhow::Result<Exit> {
    let stopped = match (passage.store.flush(), stopped) {
        (_, Some(stopped)) => Some(stopped),
        (Ok(()), None) => None,
        (Err(error), None) => Some(unwritten(&options.write, &error)),
    };
    let written = passage.store.written();
    let error = match &stopped {
        Some(Stopped::Failed(failure)) => Some(failure.to_string()),
        Some(Stopped::NobodyReads) => Some("the reader closed the pipe".to_owned()),
        Some(Stopped::Unread) => Some("interrupted".to_owned()),
        None if interrupt::requested() => Some("interrupted".to_owned()),
        None => None,
    };
    let collection = Collection::of(counted);
    let dropped_by_kernel = counted.dropped();
    output.record(&Line::End {
        complete: error.is_none(),
        frames: written.frames,
        left_out: passage.left_out,
        octets: written.octets,
        files: written.files,
        dropped_by_kernel,
        collection,
        error: error.as_deref(),
    })?;
    let frames = quantity::counted(written.frames, "frame");
    let mut said = format!("{frames}, {} octets", written.octets);
    if written.files > 1 {
        said += &format!(" in {} files", written.files);
    }
    if written.lost > 0 {
        said += &format!(", {} more not written", written.lost);
    }
    if passage.left_out > 0 {
        said += &format!(", {} more left out by the filter", passage.left_out);
    }
    for lost in collection.iter().flat_map(Collection::lost) {
        said += &format!(", {lost}");
    }
    if matches!(stopped, Some(Stopped::Unread)) {
        let seconds = PATIENCE.as_secs();
        said += &format!("; nothing was read for {seconds} s after the interrupt");
    }
    output.remark(&said);
    match (stopped, dropped_by_kernel) {
        (Some(Stopped::Failed(failure)), _) => Err(failure.into()),
        // The reader may have been interrupted as well, and end first.
        (Some(Stopped::NobodyReads | Stopped::Unread) | None, _) if interrupt::requested() => {
            Ok(Exit::Interrupted)
        }
        (Some(Stopped::NobodyReads | Stopped::Unread), _) => Ok(Exit::Ok),
        // What was dropped is in no capture.
        (None, Some(1..)) => Ok(Exit::Undecided),
        (None, _) => Ok(Exit::Ok),
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    let name = if path.as_os_str() == "-" {
        "to standard output".to_owned()
    } else {
        path.display().to_string()
    };
    Failure::failed(format!("cannot write {name}: {error}"))
}

fn unwritten(path: &Path, error: &io::Error) -> Stopped {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Stopped::NobodyReads,
        io::ErrorKind::TimedOut => Stopped::Unread,
        _ => Stopped::Failed(cannot_write(path, error)),
    }
}

/// Frames of a live port; what was counted there, and what stopped it.
fn live(
    name: &str,
    listen: Option<Span>,
    options: &Capture,
    passage: &mut Passage,
    output: &Output,
) -> (Statistics, Option<Stopped>) {
    // Headers may begin anywhere in a TCP segment, so that all of it is looked at.
    let snap_octets = SNAP_OCTETS;
    let filter = passage.filter.clone();
    let (by_helper, times) = (options.source.tap, Times::Steady);
    let stamps = options.source.stamps.map(Into::into);
    let wanted = Wanted { interface: name, filter, snap_octets, by_helper, times, stamps };
    let mut listener = match Listener::open(&wanted) {
        Ok(listener) => listener,
        Err(failure) => return (Statistics::default(), Some(Stopped::Failed(failure))),
    };
    output.remark(format_args!("listening on {name}{}; Ctrl-C ends it", listener.through()));
    let end = listen.map(|Span(listen)| clock::now() + listen);
    let described = listener.described(name);
    let comment = passage.comment();
    let heard = passage
        .store
        .interface(&described, &comment)
        .and_then(|interface| passage.store.flush().map(|()| interface))
        .map_err(|error| unwritten(&options.write, &error))
        .and_then(|interface| {
            let heard = hear(&mut listener, interface, end, passage, &options.write);
            let counted = count(&mut listener, interface, passage)
                .map_err(|error| unwritten(&options.write, &error));
            heard.and(counted)
        });
    if matches!(heard, Err(Stopped::Unread)) {
        passage.store.lose(listener.waiting());
    }
    (listener.statistics(), heard.err())
}

fn hear(
    listener: &mut Listener,
    interface: u32,
    end: Option<Instant>,
    passage: &mut Passage,
    path: &Path,
) -> Result<(), Stopped> {
    let unwritten = |error| unwritten(path, &error);
    let mut counts_at = clock::now() + COUNTS_EVERY;
    let mut is_over = false;
    loop {
        let now = clock::now();
        if !is_over && (interrupt::requested() || end.is_some_and(|end| now >= end)) {
            is_over = true;
            listener.stop();
        }
        let until = end.filter(|_| !is_over).map_or(now + LOOK_UP, |end| end.min(now + LOOK_UP));
        match listener.receive(until).map_err(Stopped::Failed)? {
            Some(record) => {
                if let Some(frame) = passage.admit(&record) {
                    passage.write(interface, &frame).map_err(unwritten)?;
                }
                if passage.room == 0 {
                    return Ok(());
                }
            }
            None if is_over => return Ok(()),
            None => passage.store.flush().map_err(unwritten)?,
        }
        if now >= counts_at {
            counts_at = now + COUNTS_EVERY;
            count(listener, interface, passage).map_err(unwritten)?;
        }
    }
}

/// Writes what was counted up to now.
fn count(listener: &mut Listener, interface: u32, passage: &mut Passage) -> io::Result<()> {
    let statistics = listener.statistics();
    let at = Instant::from_nanos(nanos(clock::wall()));
    passage.store.statistics(interface, at, &statistics)?;
    passage.store.flush()
}

/// Frames of captures, one after the other; what was counted where they were made, and what stopped
/// it.
fn files(
    options: &Capture,
    passage: &mut Passage,
    output: &Output,
) -> (Statistics, Option<Stopped>) {
    let (mut counted, mut stopped) = (Statistics::default(), None);
    for (path, is_growing) in Captures::of(&options.source).each() {
        if interrupt::requested() {
            break;
        }
        match file(path, is_growing, &options.write, passage, output) {
            Ok((more, goes_on)) => {
                counted.add(&more);
                if !goes_on {
                    break;
                }
            }
            Err(gone @ (Stopped::NobodyReads | Stopped::Unread)) => return (counted, Some(gone)),
            // What is wrong with one does not keep the next from being read.
            Err(failed) => stopped = stopped.or(Some(failed)),
        }
    }
    (counted, stopped)
}

/// Frames of one capture; what was counted where it was made, and whether more are wanted.
fn file(
    path: &Path,
    is_growing: bool,
    to: &Path,
    passage: &mut Passage,
    output: &Output,
) -> Result<(Statistics, bool), Stopped> {
    let unwritten = |error| unwritten(to, &error);
    let mut capture = open_as(path, is_growing, output).map_err(Stopped::Failed)?;
    // Where the interfaces of the capture are in what is written.
    let mut places: Vec<u32> = Vec::new();
    let comment = passage.comment();
    let mut latest = Instant::ZERO;
    // The output of another program ends by itself, or soon after an interrupt.
    let is_stream = is_stream(path);
    let ended = loop {
        if !is_stream && interrupt::requested() || passage.room == 0 {
            break Ok(());
        }
        let frame = match capture.next() {
            Ok(Some(record)) => {
                latest = record.at;
                passage.admit(&record)
            }
            Ok(None) => break Ok(()),
            Err(_) if interrupt::requested() => break Ok(()),
            Err(error) => break Err(error),
        };
        let Some(frame) = frame else { continue };
        for interface in capture.interfaces().get(places.len()..).unwrap_or_default() {
            places.push(passage.store.interface(interface, &comment).map_err(unwritten)?);
        }
        let place = places.get(frame.interface as usize).copied();
        let place = place.expect("a record belongs to an interface of its capture");
        passage.write(place, &frame).map_err(unwritten)?;
    };
    let mut sum = Statistics::default();
    for (interface, place) in capture.interfaces().iter().zip(places) {
        let counted = interface.statistics;
        if counted != Statistics::default() {
            passage.store.statistics(place, latest, &counted).map_err(unwritten)?;
        }
        sum.add(&counted);
    }
    match ended {
        Ok(()) => Ok((sum, passage.room > 0)),
        Err(error) => Err(Stopped::Failed(Failure::failed(format!("{}: {error}", name_of(path))))),
    }
}

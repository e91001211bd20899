//! Notable events as they happen, as NDJSON, for scripts that do not wait for the end.

use super::annotate::{Frame, fault};
use super::line_file::WholeLines;
use crate::exit::Failure;
use crate::output::Output;
use crate::output_file::{self, Created, Pending, Placing};
use crate::store::Target;
use meter::Remarks;
use meter::observation::{
    DelayKind, Ending, MmsEvent, MmsOutcome, Observation, Order, Step, StreamEvent, Tpdu,
};
use meter::oddity::Class;
use records::require::EarlyFailure;
use serde::Serialize;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use wire::addr::{Mac, Socket};
use wire::dissect::{Link, NoNsdu, levels};
use wire::read::Malformed;
use wire::time::nanos;

/// An event as NDJSON.
#[derive(Serialize)]
#[serde(tag = "type", rename = "event")]
struct Record<'a> {
    /// Number of the frame, from 1.
    frame: u64,
    at_ns: u64,
    /// Source and destination of the frame; none if it is foreign.
    from: Option<&'a str>,
    to: Option<&'a str>,
    event: &'static str,
    /// Kind of the TPDU.
    tpdu: Option<&'static str>,
    /// Duration of a closed window.
    for_ns: Option<u64>,
    oddity: Option<&'a str>,
    /// Octet at which decoding stopped.
    offset: Option<usize>,
}

/// A requirement that has failed permanently, as NDJSON.
#[derive(Serialize)]
#[serde(tag = "type", rename = "event")]
struct FailureRecord<'a> {
    /// Number of frames so far.
    frame: u64,
    at_ns: u64,
    event: &'static str,
    requirement: &'a str,
    /// Host, connection or interval; none for the whole.
    of: Option<&'a str>,
    /// Value in the base unit of the requirement.
    found: f64,
}

/// Names of all events.
pub(super) const EVENTS: [&str; 29] = [
    "retransmission",
    "beyond-credit",
    "unassigned",
    "connection-requested",
    "connection-established",
    "connection-refused",
    "connection-not-agreed",
    "connection-ended-gracefully",
    "connection-ended-abruptly",
    "connection-ended-by-an-error",
    "connection-found-under-way",
    "connection-fell-silent",
    "window-closed",
    "window-opened",
    "ambiguous-response",
    "tcp-segment-again",
    "mirror-copy",
    "mms-error",
    "mms-failed-access",
    "mms-reject",
    "mms-unanswered",
    "association-found-under-way",
    "association-refused",
    "association-aborted",
    "stream-silent",
    "stream-frames-missing",
    "stream-restarted",
    "stream-state-changed",
    "oddity",
];

/// Names of the notable events of a frame.
pub(super) fn names(seen: &Remarks) -> impl Iterator<Item = &'static str> {
    let noted = seen.observations.iter().flat_map(notes).map(|(event, ..)| event);
    let is_odd = seen.oddities.iter().any(|(class, ..)| class != Class::Foreign);
    noted.chain(is_odd.then_some("oddity"))
}

/// Notable part of an observation: event, TPDU kind, duration.
type Note = (&'static str, Option<&'static str>, Option<u64>);

/// The file of events. If a write fails, it ends with the last complete line, and nothing else
/// ends.
pub(super) struct Events {
    path: PathBuf,
    out: WholeLines,
    /// Renames the file at the end.
    _pending: Pending,
    output: Output,
    frames: u64,
    /// Number of events without a reader after an interrupt.
    unread: u64,
    /// Reason why writing has stopped.
    failure: Option<Failure>,
}

impl Events {
    /// Creates the file, replacing an older one.
    pub(super) fn new(path: &Path, target: &Target, output: &Output) -> Result<Self, Failure> {
        target.inputs.refuse("--events", path)?;
        // Events are followed while they are written.
        let Created { file, pending } = output_file::create(path, Placing::AtOnce)
            .map_err(|error| Failure::cannot_write(path, &error))?;
        let (path, output) = (path.to_owned(), *output);
        let (out, failure) = (WholeLines::new(file), None);
        Ok(Self { path, out, _pending: pending, output, frames: 0, unread: 0, failure })
    }

    /// Writes the notable events of a frame.
    pub(super) fn write(&mut self, frame: &Frame<'_>, seen: &Remarks) {
        self.frames += 1;
        if self.failure.is_some() {
            return;
        }
        if let Err(error) = self.records(frame, seen) {
            self.give_up(&error);
        }
    }

    /// Writes a requirement that has failed permanently.
    pub(super) fn write_failure(&mut self, failure: &EarlyFailure) {
        if self.failure.is_some() {
            return;
        }
        let EarlyFailure { requirement, of, found, by, .. } = failure;
        let written = self.line(&FailureRecord {
            frame: self.frames,
            at_ns: by.as_nanos(),
            event: "requirement-failed",
            requirement,
            of: of.as_deref(),
            found: *found,
        });
        if let Err(error) = written {
            self.give_up(&error);
        }
    }

    /// Stops writing, and records the reason.
    fn give_up(&mut self, error: &io::Error) {
        let failure = Failure::cannot_write(&self.path, error);
        self.output.remark(format_args!("warning: {failure}; what passes is metered still"));
        self.failure = Some(failure);
    }

    fn records(&mut self, frame: &Frame<'_>, seen: &Remarks) -> io::Result<()> {
        let mut ends = None;
        for note in seen.observations.iter().flat_map(notes) {
            let ends = ends.get_or_insert_with(|| ends_of(frame));
            self.record(frame, ends, note, None)?;
        }
        for (class, what, _) in seen.oddities.iter() {
            // Frames of other protocols are no events.
            if class == Class::Foreign {
                continue;
            }
            let ends = ends.get_or_insert_with(|| ends_of(frame));
            let fault = fault(frame, seen).filter(|fault| fault.field == what);
            let name = format!("{}: {what}", class.name());
            self.record(frame, ends, ("oddity", None, None), Some((&name, fault)))?;
        }
        Ok(())
    }

    fn record(
        &mut self,
        frame: &Frame<'_>,
        [from, to]: &[Option<String>; 2],
        (event, tpdu, for_ns): Note,
        odd: Option<(&str, Option<Malformed>)>,
    ) -> io::Result<()> {
        self.line(&Record {
            frame: self.frames,
            at_ns: frame.at.as_nanos(),
            from: from.as_deref(),
            to: to.as_deref(),
            event,
            tpdu,
            for_ns,
            oddity: odd.map(|(name, _)| name),
            offset: odd.and_then(|(_, fault)| Some(fault?.offset)),
        })
    }

    fn line(&mut self, record: &impl Serialize) -> io::Result<()> {
        let line = serde_json::to_string(record)? + "\n";
        match self.out.write_all(line.as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                self.unread += 1;
                Ok(())
            }
            written => written,
        }
    }

    /// Reports the number of events not written because the reader was gone; returns the reason if
    /// the file ended before.
    pub(super) fn finish(&mut self) -> Option<Failure> {
        if self.unread > 0 {
            let (path, unread) = (self.path.display(), self.unread);
            let said = format_args!("warning: {path}: {unread} events were not read in time");
            self.output.remark(said);
        }
        self.failure.take()
    }
}

/// Returns source and destination of a frame.
fn ends_of(frame: &Frame<'_>) -> [Option<String>; 2] {
    let station = |mac, nsap| meter::Address::Station { mac, nsap }.to_string();
    let end = |end: Socket| {
        let address = meter::Address::Internet(end.address);
        Some(records::end_name(address, end.port).into())
    };
    match levels(frame.link, frame.octets, frame.original_octets).nsdu {
        Ok(nsdu) => [
            Some(station(nsdu.source, nsdu.source_nsap)),
            Some(station(nsdu.destination, nsdu.destination_nsap)),
        ],
        Err(NoNsdu::Stream(piece)) => [piece.source, piece.destination].map(end),
        Err(NoNsdu::Leaf(_)) if frame.link == Link::Ethernet => {
            let macs = frame.octets.first_chunk::<12>().map(|macs| macs.as_chunks::<6>().0);
            let mac = |place: usize| Some(Mac(*macs?.get(place)?).to_string());
            [mac(1), mac(0)]
        }
        Err(NoNsdu::Datagram(it)) => [it.source, it.destination].map(end),
        Err(NoNsdu::Leaf(_) | NoNsdu::Foreign(_) | NoNsdu::Malformed(_)) => [None, None],
    }
}

/// Returns the notable parts of an observation.
fn notes(observation: &Observation) -> Vec<Note> {
    match observation {
        Observation::Lpdu { .. } | Observation::Npdu { .. } | Observation::Placed(_) => Vec::new(),
        Observation::Segment(segment) => match segment.order {
            Order::Again => vec![("tcp-segment-again", None, None)],
            Order::Copy => vec![("mirror-copy", None, None)],
            Order::Next | Order::Ahead | Order::Late | Order::KeepAlive => Vec::new(),
        },
        // An oddity reports it.
        Observation::Step(Step::Adopted) => Vec::new(),
        Observation::Step(step) => vec![(name(*step), None, None)],
        Observation::Span(DelayKind::ClosedWindow, span) => {
            vec![("window-opened", None, Some(nanos(*span)))]
        }
        Observation::WindowClosed => vec![("window-closed", None, None)],
        Observation::AmbiguousResponse => vec![("ambiguous-response", None, None)],
        Observation::Mms(event) => of_association(event),
        Observation::Stream(event) => vec![match event {
            StreamEvent::Silent(gap) => ("stream-silent", None, Some(nanos(*gap))),
            StreamEvent::Missing(_) => ("stream-frames-missing", None, None),
            StreamEvent::Restarted => ("stream-restarted", None, None),
            StreamEvent::StateChanged => ("stream-state-changed", None, None),
        }],
        Observation::Span(..) => Vec::new(),
        Observation::Tpdu(tpdu) => of_tpdu(tpdu),
    }
}

/// Returns the notable events of an association: failures and ends.
fn of_association(event: &MmsEvent) -> Vec<Note> {
    match event {
        MmsEvent::Answer { outcome: MmsOutcome::Error, took, .. } => {
            vec![("mms-error", None, Some(nanos(*took)))]
        }
        MmsEvent::Answer { outcome: MmsOutcome::FailedAccess, took, .. } => {
            vec![("mms-failed-access", None, Some(nanos(*took)))]
        }
        MmsEvent::Reject(_) => vec![("mms-reject", None, None)],
        MmsEvent::Unanswered(_) => vec![("mms-unanswered", None, None)],
        MmsEvent::Inferred => vec![("association-found-under-way", None, None)],
        MmsEvent::Refused => vec![("association-refused", None, None)],
        MmsEvent::Aborted => vec![("association-aborted", None, None)],
        MmsEvent::Answer { outcome: MmsOutcome::Done, .. }
        | MmsEvent::Request(_)
        | MmsEvent::Report
        | MmsEvent::Associated(_) => Vec::new(),
    }
}

fn of_tpdu(tpdu: &Tpdu) -> Vec<Note> {
    // An AK that repeats the previous one is no event: it only keeps a connection alive.
    let is_again = tpdu.retransmitted && tpdu.role.is_none();
    let events = [
        is_again.then_some("retransmission"),
        tpdu.into_closed_window.then_some("beyond-credit"),
        tpdu.unassigned.then_some("unassigned"),
        tpdu.step.map(name),
    ];
    let kind = Some(tpdu.kind.name());
    events.into_iter().flatten().map(|event| (event, kind, None)).collect()
}

const fn name(step: Step) -> &'static str {
    match step {
        Step::Requested => "connection-requested",
        Step::Established => "connection-established",
        Step::Refused => "connection-refused",
        Step::NotAgreed => "connection-not-agreed",
        Step::Ended(Ending::Graceful) => "connection-ended-gracefully",
        Step::Ended(Ending::Abrupt) => "connection-ended-abruptly",
        Step::Ended(Ending::Erroneous) => "connection-ended-by-an-error",
        // An oddity reports it too.
        Step::Adopted => "connection-found-under-way",
        Step::Silent => "connection-fell-silent",
    }
}

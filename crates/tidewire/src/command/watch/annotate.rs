//! A capture with the meter's observations on each frame, as comments that Wireshark shows.

use super::remarks;
use crate::exit::Failure;
use crate::output::Output;
use crate::store::{Store, Target, comment};
use meter::Remarks;
use meter::oddity::Class;
use std::io;
use std::path::{Path, PathBuf};
pub(super) use wire::capture::Record as Frame;
use wire::capture::{Interface, Statistics};
use wire::dissect::{Stripper, dissect_cut};
use wire::filter::Filter;
use wire::pcapng::WITHOUT_DATA;
use wire::read::Malformed;
use wire::time::Instant;

/// Returns the place where decoding of a frame stopped; none if it was decoded to its end.
pub(super) fn fault(frame: &Frame<'_>, seen: &Remarks) -> Option<Malformed> {
    let is_malformed = seen.oddities.iter().any(|(class, ..)| class == Class::Malformed);
    let fault = || dissect_cut(frame.link, frame.octets, frame.original_octets).fault;
    is_malformed.then(fault).flatten()
}

/// Contents of the capture to write.
pub(super) struct Wanted<'a> {
    pub(super) path: &'a Path,
    /// Files that are read, and the time at which the capture gets its name.
    pub(super) target: Target,
    /// Removal of user data from frames of a live port, and its description; captures are written
    /// unchanged.
    pub(super) cut: Option<Cut>,
}

/// Treatment of user data between a port and a file.
pub(super) struct Cut {
    comment: String,
    stripper: Option<Stripper>,
    octets: Vec<u8>,
}

impl Cut {
    /// Creates the treatment for a port with a filter; the filter is not described if addresses are
    /// hidden.
    pub(super) fn of(filter: Option<&Filter>, keeps_data: bool) -> Self {
        let stripper = (!keeps_data).then(Stripper::new);
        let comment = match filter {
            Some(filter) => comment(filter, keeps_data),
            None => format!("addresses are not those that passed; {WITHOUT_DATA}"),
        };
        Self { comment, stripper, octets: Vec::new() }
    }

    /// Description of the treatment, for the interface.
    pub(super) fn comment(&self) -> &str {
        &self.comment
    }

    /// Returns the part of a frame that is kept.
    pub(super) fn kept<'a>(&'a mut self, frame: &Frame<'_>, octets: &'a [u8]) -> &'a [u8] {
        let Some(stripper) = &mut self.stripper else { return octets };
        self.octets.clear();
        self.octets.extend_from_slice(octets);
        let kept = stripper.strip(frame.link, &mut self.octets, frame.original_octets);
        self.octets.get(..kept).unwrap_or_default()
    }
}

/// A pcapng file being written. A write error ends the file, and nothing else.
pub(super) struct Annotated {
    path: PathBuf,
    store: Store,
    cut: Option<Cut>,
    /// Number of interfaces described, and number of those of earlier captures.
    interfaces: u32,
    earlier: u32,
    /// Time of the latest frame.
    latest: Instant,
    /// Reason why writing has stopped.
    failure: Option<Failure>,
    output: Output,
}

impl Annotated {
    /// Creates the file. It may replace an older file, but never one that is read.
    pub(super) fn new(wanted: Wanted<'_>, output: &Output) -> Result<Self, Failure> {
        let Wanted { path, target, cut } = wanted;
        if path.as_os_str() == "-" {
            let failure = Failure::usage("--annotate -: measures go to standard output");
            return Err(failure.with_fix("--annotate FILE"));
        }
        target.inputs.refuse("--annotate", path)?;
        let store = Store::begin(path, None, target)
            .map_err(|error| Failure::cannot_write(path, &error))?;
        let (path, latest, output) = (path.to_owned(), Instant::ZERO, *output);
        let (interfaces, earlier, failure) = (0, 0, None);
        Ok(Self { path, store, cut, interfaces, earlier, latest, failure, output })
    }

    /// Starts a new capture with its own interfaces.
    pub(super) const fn begin_capture(&mut self) {
        self.earlier = self.interfaces;
    }

    /// Returns true if an interface has not been described yet.
    pub(super) const fn lacks(&self, interface: u32) -> bool {
        self.failure.is_none() && self.earlier + interface >= self.interfaces
    }

    /// Describes the remaining interfaces, with their names if `is_named`.
    pub(super) fn describe(&mut self, interfaces: &[Interface], is_named: bool) {
        for interface in interfaces.iter().skip((self.interfaces - self.earlier) as usize) {
            let name = if is_named { interface.name.clone() } else { String::new() };
            let described = Interface { name, ..interface.clone() };
            let has_data = is_named && !interface.leaves_out_data;
            let as_read = if has_data { "" } else { WITHOUT_DATA };
            let comment = self.cut.as_ref().map_or(as_read, |cut| &cut.comment);
            if let Err(error) = self.store.interface(&described, comment) {
                return self.give_up(&error);
            }
            self.interfaces += 1;
        }
    }

    /// Writes the kept part of a frame with its comment.
    pub(super) fn write(&mut self, frame: &Frame<'_>, kept: &[u8], seen: &Remarks) {
        if self.failure.is_some() {
            return;
        }
        let comment = remarks::line(seen, fault(frame, seen));
        let Frame { at, original_octets, interface, .. } = *frame;
        self.latest = at;
        let kept = match &mut self.cut {
            Some(cut) => cut.kept(frame, kept),
            None => kept,
        };
        let interface = self.earlier + interface;
        if let Err(error) = self.store.frame(interface, at, kept, original_octets, &comment) {
            self.give_up(&error);
        }
    }

    /// Writes the counters of the capture's interfaces, as far as there are any.
    pub(super) fn count(&mut self, interfaces: &[Interface]) {
        let described = self.interfaces - self.earlier;
        for (place, interface) in (0..described).zip(interfaces) {
            let counted = interface.statistics;
            if self.failure.is_some() || counted == Statistics::default() {
                continue;
            }
            let place = self.earlier + place;
            if let Err(error) = self.store.statistics(place, self.latest, &counted) {
                self.give_up(&error);
            }
        }
    }

    /// Flushes buffered frames, so that other programs can read them.
    pub(super) fn flush(&mut self) {
        if self.failure.is_none()
            && let Err(error) = self.store.flush()
        {
            self.give_up(&error);
        }
    }

    /// Ends the file; returns the reason if it ended before.
    pub(super) fn finish(&mut self) -> Option<Failure> {
        self.flush();
        self.failure.take()
    }

    /// Stops writing, and records the reason.
    fn give_up(&mut self, error: &io::Error) {
        let failure = Failure::cannot_write(&self.path, error);
        self.output.remark(format_args!("warning: {failure}; what passes is metered still"));
        self.failure = Some(failure);
    }
}

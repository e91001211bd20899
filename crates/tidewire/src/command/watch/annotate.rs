//! A capture with what the meter saw at each frame, as comments that Wireshark shows.

use super::remarks;
use crate::command::capture::comment;
use crate::command::capture::store::{Store, Target};
use crate::exit::Failure;
use crate::output::Output;
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

/// Where the reading of a frame stopped; none of one that was read to its end.
pub(super) fn fault(frame: &Frame<'_>, seen: &Remarks) -> Option<Malformed> {
    let is_malformed = seen.oddities.iter().any(|(class, ..)| class == Class::Malformed);
    let fault = || dissect_cut(frame.link, frame.octets, frame.original_octets).fault;
    is_malformed.then(fault).flatten()
}

/// What is written, and of what.
pub(super) struct Wanted<'a> {
    pub(super) path: &'a Path,
    /// The files that are read, and when the capture is to be found under its name.
    pub(super) target: Target,
    /// What is cut off frames of a live port, and what is said of that; captures are written as they
    /// were read.
    pub(super) cut: Option<Cut>,
}

/// What becomes of user data on its way from a port into a file.
pub(super) struct Cut {
    comment: String,
    stripper: Option<Stripper>,
    octets: Vec<u8>,
}

impl Cut {
    /// For a port behind a filter; which is not said where no address may be.
    pub(super) fn of(filter: Option<&Filter>, keeps_data: bool) -> Self {
        let stripper = (!keeps_data).then(Stripper::new);
        let comment = match filter {
            Some(filter) => comment(filter, keeps_data),
            None => format!("addresses are not those that passed; {WITHOUT_DATA}"),
        };
        Self { comment, stripper, octets: Vec::new() }
    }

    /// What is kept of a frame.
    fn kept<'a>(&'a mut self, frame: &Frame<'_>, octets: &'a [u8]) -> &'a [u8] {
        let Some(stripper) = &mut self.stripper else { return octets };
        self.octets.clear();
        self.octets.extend_from_slice(octets);
        let kept = stripper.strip(frame.link, &mut self.octets, frame.original_octets);
        self.octets.get(..kept).unwrap_or_default()
    }
}

/// A pcapng file that is being written. What cannot be written ends it, and nothing else.
pub(super) struct Annotated {
    path: PathBuf,
    store: Store,
    cut: Option<Cut>,
    /// How many interfaces were described, and how many of them belong to earlier captures.
    interfaces: u32,
    earlier: u32,
    /// When the latest frame was seen.
    latest: Instant,
    /// Why nothing more is written.
    failure: Option<Failure>,
    output: Output,
}

impl Annotated {
    /// Makes the file, in place of an older one but never of one that is read.
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

    /// Interfaces are those of another capture from now on.
    pub(super) const fn begin_capture(&mut self) {
        self.earlier = self.interfaces;
    }

    /// Whether an interface has not been described yet.
    pub(super) const fn lacks(&self, interface: u32) -> bool {
        self.failure.is_none() && self.earlier + interface >= self.interfaces
    }

    /// Describes the interfaces that have not been yet, perhaps without their names.
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

    /// Writes what is kept of a frame, and what was seen of it.
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
        if let Err(error) = self.store.frame(interface, at, (kept, original_octets), &comment) {
            self.give_up(&error);
        }
    }

    /// Writes what was counted at the interfaces of the capture, as far as anything was.
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

    /// Hands on what was gathered, so that others can read it.
    pub(super) fn flush(&mut self) {
        if self.failure.is_none()
            && let Err(error) = self.store.flush()
        {
            self.give_up(&error);
        }
    }

    /// Ends the file; why it ended before, if it did.
    pub(super) fn finish(&mut self) -> Option<Failure> {
        self.flush();
        self.failure.take()
    }

    /// Says why nothing more is written.
    fn give_up(&mut self, error: &io::Error) {
        let failure = Failure::cannot_write(&self.path, error);
        self.output.remark(format_args!("warning: {failure}; what passes is metered still"));
        self.failure = Some(failure);
    }
}

//! A capture with what the meter saw beside each frame, as comments that Wireshark shows.

use super::remarks;
use crate::exit::Failure;
use meter::Remarks;
use meter::oddity::Class;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use wire::capture::Interface;
use wire::dissect::{Link, dissect_cut};
use wire::pcapng::Writer;
use wire::read::Malformed;
use wire::time::Instant;

/// A frame as it was captured.
#[derive(Clone, Copy)]
pub(super) struct Frame<'a> {
    pub(super) at: Instant,
    pub(super) link: Link,
    pub(super) octets: &'a [u8],
    pub(super) original_octets: usize,
    /// Where it was seen: a place among the interfaces of its capture.
    pub(super) interface: u32,
}

/// Where the reading of a frame stopped; none of one that was read to its end.
pub(super) fn fault(frame: &Frame<'_>, seen: &Remarks) -> Option<Malformed> {
    let is_malformed = seen.oddities.iter().any(|(class, ..)| class == Class::Malformed);
    let fault = || dissect_cut(frame.link, frame.octets, frame.original_octets).fault;
    is_malformed.then(fault).flatten()
}

/// A pcapng file that is being written.
pub(super) struct Annotated {
    path: PathBuf,
    writer: Writer<BufWriter<File>>,
    /// How many interfaces were described, and how many of them belong to earlier captures.
    interfaces: u32,
    earlier: u32,
}

impl Annotated {
    /// Makes the file, in place of an older one but never of one that is read.
    pub(super) fn new(path: &Path, read: &[PathBuf]) -> Result<Self, Failure> {
        let is_source = read.iter().any(|read| {
            let whole = |path: &Path| fs::canonicalize(path).ok();
            whole(read).is_some_and(|read| whole(path) == Some(read))
        });
        if is_source {
            let path = path.display();
            return Err(Failure::usage(format!("--annotate {path}: that is what is being read")));
        }
        let writer = File::create(path).and_then(|file| Writer::new(BufWriter::new(file)));
        let writer = writer.map_err(|error| {
            Failure::failed(format!("cannot write {}: {error}", path.display()))
        })?;
        Ok(Self { path: path.to_owned(), writer, interfaces: 0, earlier: 0 })
    }

    /// Interfaces are those of another capture from now on.
    pub(super) const fn begin_capture(&mut self) {
        self.earlier = self.interfaces;
    }

    /// Whether an interface has not been described yet.
    pub(super) const fn lacks(&self, interface: u32) -> bool {
        self.earlier + interface >= self.interfaces
    }

    /// Describes the interfaces that have not been yet, perhaps without their names.
    pub(super) fn describe(&mut self, interfaces: &[Interface], is_named: bool) -> io::Result<()> {
        for Interface { link, name, .. } in
            interfaces.iter().skip((self.interfaces - self.earlier) as usize)
        {
            let name = if is_named { name } else { "" };
            self.writer.interface(*link, name).map_err(|error| self.named(&error))?;
            self.interfaces += 1;
        }
        Ok(())
    }

    /// Writes what is kept of a frame, and what was seen of it.
    pub(super) fn write(
        &mut self,
        frame: &Frame<'_>,
        kept: &[u8],
        seen: &Remarks,
    ) -> io::Result<()> {
        let Frame { at, link, octets, original_octets, interface } = *frame;
        let is_malformed = seen.oddities.iter().any(|(class, ..)| class == Class::Malformed);
        let fault =
            is_malformed.then(|| dissect_cut(link, octets, original_octets).fault).flatten();
        let comment = remarks::line(seen, fault);
        self.writer
            .write(self.earlier + interface, at, kept, original_octets, &comment)
            .map_err(|error| self.named(&error))
    }

    /// Ends the file.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.writer.flush().map_err(|error| self.named(&error))
    }

    fn named(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("cannot write {}: {error}", self.path.display()))
    }
}

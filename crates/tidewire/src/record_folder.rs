//! Run folder of a command that writes records: `run.json`, and a file of NDJSON.

use crate::exit::Failure;
use crate::host;
use crate::oldest_runs::{Keep, Limits};
use crate::output::Output;
use bench::{PROGRAM_VERSION, folder};
use live::clock;
use records::{Head, Record, calendar};
use reports::provenance::{Provenance, ReadCapture};
use serde::Serialize;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// File of the records of `watch`.
pub(crate) const MEASURES: &str = "measures.ndjson";

/// A run folder that is being written. An error is reported at its end; what runs goes on.
#[derive(Debug)]
pub(crate) struct RecordFolder {
    path: PathBuf,
    provenance: Provenance,
    out: BufWriter<File>,
    failed: Option<io::Error>,
    /// Line under way.
    line: Vec<u8>,
    /// Records written; the first is the head.
    records: u64,
    /// Folder of runs that was made for this one.
    made_root: Option<PathBuf>,
    /// Folder of runs with its limits, which hold when this run has ended.
    keep: Keep,
}

/// Run of a screen that is kept, with the records that it would have without a screen.
pub(crate) struct KeptRun {
    /// Head of the records.
    pub(crate) head: Head,
    /// Run folder, if one is written.
    pub(crate) folder: Option<RecordFolder>,
    /// True if reports within an interval are those of the screen alone.
    pub(crate) hides_reports: bool,
    /// True if samples of sequence numbers are those of the screen alone.
    pub(crate) hides_samples: bool,
}

impl RecordFolder {
    /// Creates `root/TIME-NAME` with its `run.json`, which describes the port if there is one, and `file`
    /// in it.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub(crate) fn create(
        root: &Path,
        name: &str,
        title: &str,
        file: &str,
        port: Option<&str>,
    ) -> Result<Self, Failure> {
        let started = calendar::folder_name(clock::wall());
        let provenance = Provenance {
            title: title.to_owned(),
            command: crate::runs::words(),
            program_version: PROGRAM_VERSION.to_owned(),
            host: host::facts().into_iter().chain(port.map(host::port)).collect(),
            started: started.clone(),
            captures: Vec::new(),
        };
        let made_root = (!root.exists()).then(|| root.to_owned());
        let make = || -> io::Result<Self> {
            let path = folder::make(root, &format!("{started}-{}", folder::plain(name)))?;
            write_provenance(&path, &provenance)?;
            let out = BufWriter::new(File::create_new(path.join(file))?);
            let (failed, line) = (None, Vec::new());
            let keep = Keep { root: root.to_owned(), limits: Limits::default() };
            Ok(Self { path, provenance, out, failed, line, records: 0, made_root, keep })
        };
        make().map_err(|error| Failure::no_folder(root, &error))
    }

    /// Limits the run folders next to this one, once it is ended.
    #[must_use]
    pub(crate) fn within(mut self, limits: Limits) -> Self {
        self.keep.limits = limits;
        self
    }

    /// Path of the folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a record as a line.
    pub(crate) fn record(&mut self, record: &impl Serialize) {
        self.write(|line| {
            serde_json::to_writer(&mut *line, record)?;
            line.push(b'\n');
            Ok(())
        });
    }

    /// Writes a record of measures as a line.
    pub(crate) fn measures(&mut self, record: &Record) {
        self.write(|line| record.write_line(line));
    }

    fn write(&mut self, put: impl FnOnce(&mut Vec<u8>) -> serde_json::Result<()>) {
        if self.failed.is_some() {
            return;
        }
        self.line.clear();
        let made = put(&mut self.line).map_err(io::Error::from);
        self.failed = made.and_then(|()| self.out.write_all(&self.line)).err();
        self.records += 1;
    }

    /// Writes the lines out, so that a reader sees them.
    pub(crate) fn flush(&mut self) {
        if self.failed.is_none() {
            self.failed = self.out.flush().err();
        }
    }

    /// Notes a capture whose frames are in the records.
    pub(crate) fn note_read(&mut self, capture: ReadCapture) {
        self.provenance.captures.push(capture);
    }

    /// Removes the folder.
    pub(crate) fn discard(mut self) {
        self.records = 0;
    }

    /// Ends the file, and prints the folder.
    ///
    /// # Errors
    /// The first error in writing.
    pub(crate) fn finish(mut self, output: &Output) -> Result<(), Failure> {
        self.flush();
        if self.failed.is_none() && !self.provenance.captures.is_empty() {
            self.failed = write_provenance(&self.path, &self.provenance).err();
        }
        match self.failed.take() {
            Some(error) => Err(Failure::cannot_write(&self.path, &error)),
            None => {
                output.remark(format_args!("run folder: {}", self.path.display()));
                self.keep.apply(&[&self.path], output)
            }
        }
    }
}

/// Writes `run.json`. It is replaced as a whole, so that a reader never sees a part.
fn write_provenance(folder: &Path, provenance: &Provenance) -> io::Result<()> {
    let mut text = serde_json::to_string_pretty(provenance)?;
    text.push('\n');
    let part = folder.join("run.json.part");
    fs::write(&part, text)?;
    fs::rename(part, folder.join("run.json"))
}

impl Drop for RecordFolder {
    /// Removes a folder that has no record but the head, because its port or its capture could not be read.
    fn drop(&mut self) {
        if self.records > 1 {
            return;
        }
        fs::remove_dir_all(&self.path).ok();
        // Fails where another process has begun a run there, which stays.
        self.made_root.as_ref().map(fs::remove_dir);
    }
}

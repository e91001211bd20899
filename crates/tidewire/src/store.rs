//! Destination of captured frames: standard output, a file, or files in turn.
//!
//! Blocks are gathered and written whole, so that a full disk leaves a capture that
//! can be read to its end.

use crate::interruptible_writer::Patient;
use crate::output_file::{self, Created, Inputs, Pending, Placing};
use core::mem;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use wire::capture::{Interface, Statistics};
use wire::dissect::Link;
use wire::filter::Filter;
use wire::pcapng::{WITHOUT_DATA, Writer};
use wire::time::Instant;

/// Octets of blocks that are gathered before a write.
const BATCH_OCTETS: usize = 64 << 10;

/// Warning for files with user data.
pub(crate) const DATA_IS_KEPT: &str =
    "warning: user data is kept: protect the capture like the data itself";

/// Rotation of files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rotation {
    /// No file grows beyond this, but for one with a single frame.
    pub(crate) octets: usize,
    /// Number of files to keep; none keeps all.
    pub(crate) keep: Option<u64>,
}

enum Out {
    Standard(Patient<io::Stdout>),
    File(Patient<File>),
}

/// An interface, as each file describes it.
struct Described {
    link: Link,
    name: String,
    snap_octets: u32,
    comment: String,
}

/// Counts of what was written.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Written {
    /// Frames that are where they belong.
    pub(crate) frames: u64,
    /// Octets of all files.
    pub(crate) octets: u64,
    /// Files that were begun.
    pub(crate) files: u64,
    /// Frames that were gathered and for which there was no room, or no reader.
    pub(crate) lost: u64,
}

/// Settings of new files.
#[derive(Clone, Default, Debug)]
pub(crate) struct Target {
    /// Files that are read, none of which is written to.
    pub(crate) inputs: Inputs,
    pub(crate) placing: Placing,
}

/// A capture under way.
pub(crate) struct Store {
    path: PathBuf,
    rotation: Option<Rotation>,
    out: Out,
    pending: Option<Pending>,
    target: Target,
    writer: Writer<Vec<u8>>,
    interfaces: Vec<Described>,
    written: Written,
    /// Octets of this file that were handed on, and frames gathered since.
    in_file: u64,
    gathered: u64,
    names: VecDeque<PathBuf>,
}

impl Store {
    /// Begins at this place; `-` is standard output.
    ///
    /// # Errors
    /// The file cannot be made, or is an input.
    pub(crate) fn begin(
        path: &Path,
        rotation: Option<Rotation>,
        target: Target,
    ) -> io::Result<Self> {
        let writer = Writer::new(Vec::new())?;
        let (path, names) = (path.to_owned(), VecDeque::new());
        let mut store = Self {
            path,
            rotation,
            out: Out::Standard(Patient::new(io::stdout())),
            pending: None,
            target,
            writer,
            interfaces: Vec::new(),
            written: Written { files: 1, ..Written::default() },
            in_file: 0,
            gathered: 0,
            names,
        };
        if store.path.as_os_str() != "-" {
            store.open()?;
        }
        Ok(store)
    }

    /// Begins the next file.
    fn open(&mut self) -> io::Result<()> {
        let name = self.name();
        if self.target.inputs.has(&name) {
            return Err(io::Error::other("it is a capture that is read"));
        }
        let Created { file, pending } = output_file::create(&name, self.target.placing)?;
        self.out = Out::File(Patient::file(file));
        self.pending = Some(pending);
        Ok(())
    }

    /// The name of the file under way.
    fn name(&mut self) -> PathBuf {
        if self.rotation.is_none() {
            return self.path.clone();
        }
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let number = self.written.files;
        let name = match self.path.extension() {
            Some(extension) => format!("{stem}-{number:05}.{}", extension.to_string_lossy()),
            None => format!("{stem}-{number:05}"),
        };
        let name = self.path.with_file_name(name);
        self.names.push_back(name.clone());
        name
    }

    /// Describes an interface.
    pub(crate) fn interface(&mut self, interface: &Interface, comment: &str) -> io::Result<u32> {
        let Interface { link, snap_octets, .. } = *interface;
        let (name, comment) = (interface.name.clone(), comment.to_owned());
        let number = self.writer.interface_cut(link, &name, snap_octets, &comment)?;
        self.interfaces.push(Described { link, name, snap_octets, comment });
        Ok(number)
    }

    /// Writes a frame of which these octets are kept, with a comment unless that is empty.
    pub(crate) fn frame(
        &mut self,
        interface: u32,
        at: Instant,
        octets: &[u8],
        original_octets: usize,
        comment: &str,
    ) -> io::Result<()> {
        if let Some(Rotation { octets: limit, .. }) = self.rotation {
            // Head and foot of the block, five words, the frame with its pad, and its comment.
            let pad = |octets: usize| octets.next_multiple_of(4) as u64;
            let said = if comment.is_empty() { 0 } else { 8 + pad(comment.len()) };
            let more = 32 + pad(octets.len()) + said;
            let limit = limit as u64;
            let has_frames = self.in_file > 0 || self.gathered > 0;
            if has_frames && self.in_file + self.gathered_octets() + more > limit {
                self.rotate()?;
            }
        }
        self.writer.write(interface, at, octets, original_octets, comment)?;
        self.gathered += 1;
        if self.writer.get_mut().len() >= BATCH_OCTETS { self.flush() } else { Ok(()) }
    }

    /// Writes what was counted.
    pub(crate) fn statistics(
        &mut self,
        interface: u32,
        at: Instant,
        statistics: &Statistics,
    ) -> io::Result<()> {
        self.writer.statistics(interface, at, statistics)
    }

    fn gathered_octets(&mut self) -> u64 {
        self.writer.get_mut().len() as u64
    }

    /// Writes the gathered blocks. Blocks that cannot be written whole are discarded.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let gathered = mem::take(self.writer.get_mut());
        let frames = mem::take(&mut self.gathered);
        let (taken, done) = match &mut self.out {
            Out::Standard(out) => out.put(&gathered),
            Out::File(file) => file.put(&gathered),
        };
        if let Err(error) = done {
            let before = self.written.frames;
            self.take_back(&gathered, taken);
            self.written.lost += frames - (self.written.frames - before);
            return Err(error);
        }
        self.in_file += gathered.len() as u64;
        self.written.octets += gathered.len() as u64;
        self.written.frames += frames;
        let mut empty = gathered;
        empty.clear();
        *self.writer.get_mut() = empty;
        Ok(())
    }

    /// Cuts a file behind the last block that is whole, of those that were not all taken; what a pipe
    /// took stays there.
    fn take_back(&mut self, gathered: &[u8], taken: usize) {
        let (whole, frames) = whole_blocks(gathered, taken as u64);
        let octets = match &self.out {
            // Where even that fails, the file ends in a block that is not whole.
            Out::File(file) if file.is_plain() => {
                let is_cut = file.as_file().set_len(self.in_file + whole).is_ok();
                if is_cut { whole } else { taken as u64 }
            }
            Out::File(_) | Out::Standard(_) => taken as u64,
        };
        self.in_file += octets;
        self.written.octets += octets;
        self.written.frames += frames;
    }

    /// Goes on in another file.
    fn rotate(&mut self) -> io::Result<()> {
        self.flush()?;
        self.written.files += 1;
        self.open()?;
        self.in_file = 0;
        self.writer = Writer::new(Vec::new())?;
        for Described { link, name, snap_octets, comment } in &self.interfaces {
            self.writer.interface_cut(*link, name, *snap_octets, comment)?;
        }
        let keep = self.rotation.and_then(|rotation| rotation.keep).unwrap_or(u64::MAX);
        while self.names.len() as u64 > keep {
            let Some(oldest) = self.names.pop_front() else { break };
            // Another process may have removed it already.
            fs::remove_file(oldest).ok();
        }
        Ok(())
    }

    /// Counts frames that never came here, because earlier frames were not read.
    pub(crate) const fn lose(&mut self, frames: u64) {
        self.written.lost += frames;
    }

    /// Counts of what was written so far.
    pub(crate) const fn written(&self) -> Written {
        self.written
    }
}

/// Octets of the blocks that lie within the first `most` of these, and how many of them hold frames. A
/// block begins with its type and its length (draft-ietf-opsawg-pcapng 3.1).
fn whole_blocks(mut blocks: &[u8], most: u64) -> (u64, u64) {
    const ENHANCED_PACKET: u32 = 6;
    let (mut octets, mut frames) = (0, 0);
    while let Some(([kind, length], _)) = blocks.as_chunks::<4>().0.split_first_chunk::<2>() {
        let [kind, length] = [kind, length].map(|word| u32::from_le_bytes(*word));
        let Some(rest) = blocks.get(length.max(12) as usize..) else { break };
        if octets + u64::from(length) > most {
            break;
        }
        octets += u64::from(length);
        frames += u64::from(kind == ENHANCED_PACKET);
        blocks = rest;
    }
    (octets, frames)
}

/// Comment in the description of an interface.
pub(crate) fn comment(filter: &Filter, keeps_data: bool) -> String {
    let filter = format!("filter: {filter}");
    if keeps_data { filter } else { format!("{filter}; {WITHOUT_DATA}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_count_as_far_as_they_are_whole() {
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.interface(Link::Ethernet, "lan0").unwrap();
        let before = writer.get_mut().len() as u64;
        for octets in [[7; 60], [8; 60]] {
            writer.write(0, Instant::ZERO, &octets, 60, "").unwrap();
        }
        let blocks = writer.into_inner();
        // A block of a frame: eight words around 60 octets.
        for (most, expected) in [
            (0, (0, 0)),
            (before + 91, (before, 0)),
            (before + 92, (before + 92, 1)),
            (before + 183, (before + 92, 1)),
            (u64::MAX, (before + 184, 2)),
        ] {
            assert_eq!(whole_blocks(&blocks, most), expected, "{most}");
        }
    }
}

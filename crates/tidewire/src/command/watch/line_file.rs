//! A file of lines that ends with a complete line, even if the disk is full.

use crate::interruptible_writer::Patient;
use std::fs::File;
use std::io::{self, Write};

/// A file written from its beginning until a write fails. Writes to a pipe or device with a file
/// name wait for its reader, up to a limit.
pub(in crate::command) struct WholeLines {
    file: Patient<File>,
    /// Octets written, and the number of them up to the last end of a line.
    octets: u64,
    whole_octets: u64,
    /// Reason why writing has stopped.
    over: Option<io::ErrorKind>,
}

impl WholeLines {
    pub(super) fn new(file: File) -> Self {
        Self { file: Patient::file(file), octets: 0, whole_octets: 0, over: None }
    }
}

impl Write for WholeLines {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        if let Some(kind) = self.over {
            return Err(kind.into());
        }
        match self.file.write(octets) {
            Ok(taken) => {
                let written = octets.get(..taken).unwrap_or(octets);
                if let Some(end) = written.iter().rposition(|octet| *octet == b'\n') {
                    self.whole_octets = self.octets + end as u64 + 1;
                }
                self.octets += taken as u64;
                Ok(taken)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                self.over = Some(error.kind());
                // A pipe or a device cannot be truncated; there a partial line remains.
                let cut = self.file.as_file().set_len(self.whole_octets);
                drop(cut);
                Err(error)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

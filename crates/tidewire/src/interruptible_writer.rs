//! Writer for slow readers: it waits for a full pipe, but after an interrupt no longer than
//! [`PATIENCE`].
//!
//! Between the look for room and the write another thread or process may take the room of the same pipe. A
//! write to a pipe therefore never waits in the kernel, if that has `RWF_NOWAIT` for pipes (Linux 6.4). For
//! others a second interrupt ends the process.

use crate::interrupt::{self, LOOK_UP};
use core::time::Duration;
use live::clock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ReadWriteFlags, pwritev2};
use std::fs::{File, Metadata};
use std::io::{self, IoSlice, StdoutLock, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::sync::LazyLock;
use wire::time::Instant;

/// For how long a reader may take nothing after an interrupt.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);
/// Time between two tries to write where others write to the same pipe.
const RETRY: Duration = Duration::from_millis(1);
/// Octets that Linux takes whole if it reports room: a page of a pipe (pipe(7), `PIPE_BUF`).
const PIECE_OCTETS: usize = 4_096;
/// Device number of `/dev/null` on Linux: major 1, minor 3.
const NULL: u64 = 1 << 8 | 3;

/// Writer that waits for its reader, and gives up after an interrupt with [`io::ErrorKind::TimedOut`].
pub(crate) struct Patient<W> {
    to: W,
    /// A plain file takes what it is given, or fails.
    is_plain: bool,
    has_given_up: bool,
}

impl Patient<File> {
    /// A file, or what has the name of one.
    pub(crate) fn file(to: File) -> Self {
        let is_plain = to.metadata().is_ok_and(|about| about.is_file());
        Self { to, is_plain, has_given_up: false }
    }

    /// True for a file, and false for a pipe or terminal with a name.
    pub(crate) const fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// The file itself.
    pub(crate) const fn as_file(&self) -> &File {
        &self.to
    }
}

impl Patient<StdoutLock<'static>> {
    /// Writer to standard output.
    pub(crate) fn standard_output() -> Self {
        static IS_PLAIN: LazyLock<bool> = LazyLock::new(|| takes_all(&io::stdout()));
        Self { to: io::stdout().lock(), is_plain: *IS_PLAIN, has_given_up: false }
    }
}

/// True for a plain file and for the null device, which take what they are given at once.
fn takes_all(to: &impl AsFd) -> bool {
    let Ok(own) = to.as_fd().try_clone_to_owned() else { return false };
    let is_null = |about: &Metadata| about.file_type().is_char_device() && about.rdev() == NULL;
    File::from(own).metadata().is_ok_and(|about| about.is_file() || is_null(&about))
}

impl<W: Write + AsFd> Patient<W> {
    /// Writer to a target that may be a pipe.
    pub(crate) const fn new(to: W) -> Self {
        Self { to, is_plain: false, has_given_up: false }
    }

    /// Writes all of it; with what went wrong, if anything did, and how many octets were taken before.
    pub(crate) fn put(&mut self, octets: &[u8]) -> (usize, io::Result<()>) {
        let mut taken = 0;
        while let Some(rest @ [_, ..]) = octets.get(taken..) {
            match self.write(rest) {
                Ok(0) => return (taken, Err(io::ErrorKind::WriteZero.into())),
                Ok(more) => taken += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return (taken, Err(error)),
            }
        }
        (taken, self.to.flush())
    }
}

impl<W: Write + AsFd> Write for Patient<W> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        if self.is_plain {
            return self.to.write(octets);
        }
        let piece = octets.get(..PIECE_OCTETS).unwrap_or(octets);
        let mut interrupted = None;
        while !self.has_given_up && await_room(&self.to, &mut interrupted)? {
            match write_at_once(&self.to, piece) {
                // Another writer took the room.
                Err(Errno::AGAIN) if has_patience(&mut interrupted) => {
                    clock::sleep_until(clock::now() + RETRY);
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                    let taken = self.to.write(piece)?;
                    // What has a buffer hands on what there was room for.
                    self.to.flush()?;
                    return Ok(taken);
                }
                taken => return Ok(taken?),
            }
        }
        self.has_given_up = true;
        let why = format!("nothing was read for {} s after the interrupt", PATIENCE.as_secs());
        Err(io::Error::new(io::ErrorKind::TimedOut, why))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// True if there is room at once.
pub(crate) fn has_room(to: &impl AsFd) -> bool {
    matches!(wait(to, Duration::ZERO), Ok(1..))
}

/// Waits for room no longer than that; how many have some, of the one that is asked.
fn wait(to: &impl AsFd, longest: Duration) -> Result<usize, Errno> {
    let longest = Timespec::try_from(longest).map_err(|_| Errno::INVAL)?;
    poll(&mut [PollFd::new(to, PollFlags::OUT)], Some(&longest))
}

/// Writes what there is room for, without a buffer. Fails with `AGAIN` instead of waiting for room, and
/// with `OPNOTSUPP` where the kernel can only wait.
fn write_at_once(to: &impl AsFd, octets: &[u8]) -> Result<usize, Errno> {
    pwritev2(to, &[IoSlice::new(octets)], u64::MAX, ReadWriteFlags::NOWAIT)
}

/// Waits for room, or for the reader to close. Returns false if nothing was read for [`PATIENCE`] after an
/// interrupt.
fn await_room(to: &impl AsFd, interrupted: &mut Option<Instant>) -> io::Result<bool> {
    loop {
        match wait(to, LOOK_UP) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
        if !has_patience(interrupted) {
            return Ok(false);
        }
    }
}

/// False from [`PATIENCE`] on after an interrupt, whose time is noted at the first call behind it.
fn has_patience(interrupted: &mut Option<Instant>) -> bool {
    if !interrupt::requested() {
        return true;
    }
    let now = clock::now();
    now.since(*interrupted.get_or_insert(now)) < PATIENCE
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn files_and_the_null_device_take_all_and_pipes_do_not() {
        let null = File::options().write(true).open("/dev/null").unwrap();
        let (_reader, pipe) = io::pipe().unwrap();
        let zero = File::open("/dev/zero").unwrap();
        let file = tempfile::tempfile().unwrap();
        assert_eq!([takes_all(&null), takes_all(&file)], [true; 2]);
        assert_eq!([takes_all(&pipe), takes_all(&zero)], [false; 2]);
    }

    #[test]
    fn a_write_at_once_does_not_wait_for_room() {
        let (mut reader, mut writer) = io::pipe().unwrap();
        rustix::pipe::fcntl_setpipe_size(&writer, PIECE_OCTETS).unwrap();
        writer.write_all(&[1; PIECE_OCTETS]).unwrap();
        let full = write_at_once(&writer, &[2; PIECE_OCTETS]);
        assert!(matches!(full, Err(Errno::AGAIN | Errno::OPNOTSUPP)), "{full:?}");
        reader.read_exact(&mut [0; PIECE_OCTETS]).unwrap();
        let taken = write_at_once(&writer, &[2; PIECE_OCTETS]);
        assert!(matches!(taken, Ok(PIECE_OCTETS) | Err(Errno::OPNOTSUPP)), "{taken:?}");
    }

    #[test]
    fn a_slow_reader_gets_every_octet() {
        let (mut reader, writer) = io::pipe().unwrap();
        let octets: Vec<u8> = (0..300_000_u32).map(|n| (n % 251) as u8).collect();
        let expected = octets.clone();
        let writing = std::thread::spawn(move || Patient::new(writer).put(&octets));
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        let (taken, ended) = writing.join().unwrap();
        assert_eq!((taken, ended.is_ok()), (300_000, true));
        assert!(read == expected);
    }
}

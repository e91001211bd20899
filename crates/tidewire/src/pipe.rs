//! A stream that another program writes to, read by a thread of its own: whoever takes what was read
//! need not wait for it.

use crate::interrupt::{self, LOOK_UP};
use crate::patient::PATIENCE;
use core::time::Duration;
use live::clock;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use wire::time::Instant;

const CHUNK_OCTETS: usize = 64 << 10;

/// How long reading waits for something to read.
enum Patience {
    /// Until somebody interrupts: then the stream ends.
    UntilInterrupted,
    /// Until [`PATIENCE`] after somebody interrupts, since whoever writes may have been interrupted too
    /// and tells how it ended.
    BeyondInterrupt,
    /// For as many nanoseconds as are set here: then there would be a wait.
    For(Arc<AtomicU64>),
    /// Both, whatever comes first.
    Either(Arc<AtomicU64>),
}

/// What a thread reads.
pub(crate) struct Pipe {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: io::Cursor<Vec<u8>>,
    patience: Patience,
    /// When an interrupt was noticed.
    interrupted: Option<Instant>,
}

impl Pipe {
    /// A stream that ends when somebody interrupts, though nothing comes.
    pub(crate) fn new(from: impl Read + Send + 'static) -> Self {
        Self::with(from, Patience::UntilInterrupted)
    }

    /// A stream that ends soon after somebody interrupts, if it has not come to its end by then.
    pub(crate) fn lasting(from: impl Read + Send + 'static) -> Self {
        Self::with(from, Patience::BeyondInterrupt)
    }

    /// A stream that says that it would have to wait for longer than is set, in nanoseconds.
    pub(crate) fn patient(from: impl Read + Send + 'static, nanos: Arc<AtomicU64>) -> Self {
        Self::with(from, Patience::For(nanos))
    }

    /// A stream that ends when somebody interrupts, and says before that it would have to wait for longer
    /// than is set, in nanoseconds.
    pub(crate) fn interruptible(from: impl Read + Send + 'static, nanos: Arc<AtomicU64>) -> Self {
        Self::with(from, Patience::Either(nanos))
    }

    fn with(mut from: impl Read + Send + 'static, patience: Patience) -> Self {
        let (sender, chunks) = mpsc::sync_channel(4);
        std::thread::spawn(move || {
            loop {
                let mut chunk = vec![0; CHUNK_OCTETS];
                let result = from.read(&mut chunk).map(|octets| {
                    chunk.truncate(octets);
                    chunk
                });
                let is_over = result
                    .as_ref()
                    .map_or_else(|error| error.kind() != io::ErrorKind::Interrupted, Vec::is_empty);
                if sender.send(result).is_err() || is_over {
                    return;
                }
            }
        });
        Self { chunks, chunk: io::Cursor::default(), patience, interrupted: None }
    }

    /// The next chunk; an empty one at the end.
    fn next(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if self.is_late() {
                return Ok(Vec::new());
            }
            let wait = match &self.patience {
                Patience::UntilInterrupted | Patience::BeyondInterrupt => LOOK_UP,
                Patience::For(nanos) => Duration::from_nanos(nanos.load(Ordering::Relaxed)),
                Patience::Either(nanos) => {
                    LOOK_UP.min(Duration::from_nanos(nanos.load(Ordering::Relaxed)))
                }
            };
            match (self.chunks.recv_timeout(wait), &self.patience) {
                (Ok(chunk), _) => return chunk,
                (Err(RecvTimeoutError::Disconnected), _) => return Ok(Vec::new()),
                (Err(RecvTimeoutError::Timeout), Patience::For(_)) => {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                (Err(RecvTimeoutError::Timeout), Patience::BeyondInterrupt) => {}
                (Err(RecvTimeoutError::Timeout), Patience::UntilInterrupted) => {
                    if interrupt::requested() {
                        return Ok(Vec::new());
                    }
                }
                (Err(RecvTimeoutError::Timeout), Patience::Either(nanos)) => {
                    if interrupt::requested() {
                        return Ok(Vec::new());
                    }
                    if Duration::from_nanos(nanos.load(Ordering::Relaxed)) <= LOOK_UP {
                        return Err(io::ErrorKind::WouldBlock.into());
                    }
                }
            }
        }
    }
}

impl Pipe {
    /// Whether it is too late for more, of a stream that lasts beyond an interrupt.
    fn is_late(&mut self) -> bool {
        if !matches!(self.patience, Patience::BeyondInterrupt) || !interrupt::requested() {
            return false;
        }
        let now = clock::now();
        now.since(*self.interrupted.get_or_insert(now)) >= PATIENCE
    }
}

impl Read for Pipe {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let octets = self.chunk.read(room)?;
        if octets > 0 || room.is_empty() {
            return Ok(octets);
        }
        self.chunk = io::Cursor::new(self.next()?);
        self.chunk.read(room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_gives_every_octet_in_order() {
        let octets: Vec<u8> = (0..200_000_u32).map(|i| (i % 251) as u8).collect();
        let mut pipe = Pipe::new(io::Cursor::new(octets.clone()));
        let mut read = Vec::new();
        pipe.read_to_end(&mut read).unwrap();
        assert!(read == octets);
    }

    #[test]
    fn a_silent_stream_would_have_to_be_waited_for_and_goes_on_afterwards() {
        let (reader, mut writer) = io::pipe().unwrap();
        let nanos = Arc::new(AtomicU64::new(0));
        let mut pipe = Pipe::patient(reader, Arc::clone(&nanos));
        let mut room = [0; 8];
        assert_eq!(pipe.read(&mut room).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        io::Write::write_all(&mut writer, b"frame").unwrap();
        nanos.store(60_000_000_000, Ordering::Relaxed);
        assert_eq!(pipe.read(&mut room).unwrap(), 5);
        drop(writer);
        assert_eq!(pipe.read(&mut room).unwrap(), 0);
    }
}

//! Stream from another program, read by a thread of its own, so that its consumer need not wait.

use crate::interrupt::{self, LOOK_UP};
use crate::interruptible_writer::PATIENCE;
use core::time::Duration;
use live::clock;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use wire::time::Instant;

const CHUNK_OCTETS: usize = 64 << 10;

/// Longest time for which a stream is read after an interrupt: its writer may have been interrupted as
/// well, and flush its output. Less than [`PATIENCE`], so that the reader of our output waits for that.
const LINGERING: Duration = Duration::from_secs(1);

/// Stream that a thread reads.
pub(crate) struct Pipe {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: io::Cursor<Vec<u8>>,
    /// Longest wait in nanoseconds before a read returns without data; without it a read waits for data.
    silence: Option<Arc<AtomicU64>>,
    /// Time after an interrupt at which the stream ends at the latest.
    beyond: Option<Duration>,
    /// Time at which an interrupt was noticed.
    interrupted: Option<Instant>,
}

impl Pipe {
    /// Stream that ends soon after an interrupt, even without data.
    pub(crate) fn new(from: impl Read + Send + 'static) -> Self {
        Self::with(from, None, Some(LINGERING))
    }

    /// The same for a stream of measures: its writer may wait as long for frames, and then writes its end
    /// record.
    pub(crate) fn lasting(from: impl Read + Send + 'static) -> Self {
        Self::with(from, None, Some(PATIENCE))
    }

    /// Stream that returns without data after a wait of `nanos`.
    pub(crate) fn patient(from: impl Read + Send + 'static, nanos: Arc<AtomicU64>) -> Self {
        Self::with(from, Some(nanos), None)
    }

    /// Stream that ends soon after an interrupt, and returns without data after a wait of `nanos`.
    pub(crate) fn interruptible(from: impl Read + Send + 'static, nanos: Arc<AtomicU64>) -> Self {
        Self::with(from, Some(nanos), Some(LINGERING))
    }

    fn with(
        mut from: impl Read + Send + 'static,
        silence: Option<Arc<AtomicU64>>,
        beyond: Option<Duration>,
    ) -> Self {
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
        Self { chunks, chunk: io::Cursor::default(), silence, beyond, interrupted: None }
    }

    /// The next chunk; an empty one at the end.
    fn next(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if self.is_late() {
                return Ok(Vec::new());
            }
            let silence = self.silence.as_ref();
            let silence = silence.map(|nanos| Duration::from_nanos(nanos.load(Ordering::Relaxed)));
            let look_up = self.beyond.map(|_| LOOK_UP);
            let longest = silence.into_iter().chain(look_up).min().unwrap_or(Duration::MAX);
            match self.chunks.recv_timeout(longest) {
                Ok(chunk) => return chunk,
                Err(RecvTimeoutError::Disconnected) => return Ok(Vec::new()),
                Err(RecvTimeoutError::Timeout) if silence == Some(longest) => {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// True if it is too late after an interrupt for more data.
    fn is_late(&mut self) -> bool {
        let Some(beyond) = self.beyond.filter(|_| interrupt::requested()) else { return false };
        let now = clock::now();
        now.since(*self.interrupted.get_or_insert(now)) >= beyond
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
    fn a_silent_stream_is_not_ready_and_continues_later() {
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

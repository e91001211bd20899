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

/// How long a stream may still come after an interrupt: whoever writes it may have been interrupted as
/// well, and hands on what it has left. Less than [`PATIENCE`], so that whoever reads what is made of the
/// stream waits for that.
const LINGERING: Duration = Duration::from_secs(1);

/// What a thread reads.
pub(crate) struct Pipe {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: io::Cursor<Vec<u8>>,
    /// For how many nanoseconds somebody waits until it is said that there would be a wait; for as long
    /// as it takes if none are set.
    silence: Option<Arc<AtomicU64>>,
    /// How long after an interrupt the stream ends, if it has not come to its end by then.
    beyond: Option<Duration>,
    /// When an interrupt was noticed.
    interrupted: Option<Instant>,
}

impl Pipe {
    /// A stream that ends soon after somebody interrupts, though nothing comes.
    pub(crate) fn new(from: impl Read + Send + 'static) -> Self {
        Self::with(from, None, Some(LINGERING))
    }

    /// The same, of a stream of measures: whoever writes that may wait as long for frames, and then
    /// tells how it ended.
    pub(crate) fn lasting(from: impl Read + Send + 'static) -> Self {
        Self::with(from, None, Some(PATIENCE))
    }

    /// A stream that says that it would have to wait for longer than is set, in nanoseconds.
    pub(crate) fn patient(from: impl Read + Send + 'static, nanos: Arc<AtomicU64>) -> Self {
        Self::with(from, Some(nanos), None)
    }

    /// A stream that ends soon after somebody interrupts, and says before that it would have to wait for
    /// longer than is set, in nanoseconds.
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

    /// Whether it is too late after an interrupt for more.
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

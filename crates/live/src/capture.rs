//! Captures of the frames that pass a port, as pcapng.
//!
//! Times in the file are since the Unix epoch, but all derive from one comparison of the wall clock
//! with the monotonic clock at the start. Differences within the file are therefore those of the
//! monotonic clock, even if the wall clock is set meanwhile.

use crate::clock::Correlation;
use crate::port::{Observer, Passing};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wire::dissect::Link;
use wire::pcapng::Writer;
use wire::time::Instant;

/// Output of a capture.
pub type Out = Box<dyn Write + Send>;

struct State {
    writer: Writer<Out>,
    correlation: Correlation,
    octets: Vec<u8>,
    latest: Instant,
    frames: u64,
    /// First error; nothing is written after it.
    failed: Option<io::Error>,
}

impl State {
    fn write(&mut self, interface: u32, passing: Passing<'_>) -> io::Result<()> {
        let Self { writer, octets, latest, .. } = self;
        octets.clear();
        octets.extend_from_slice(passing.frame.head());
        octets.extend_from_slice(passing.frame.payload());
        *latest = passing.at.max(*latest);
        let at = self.correlation.to_wall(*latest);
        writer.write(interface, at, octets, octets.len(), "")?;
        self.frames += 1;
        Ok(())
    }
}

/// Open capture file. Several ports may write to it, each as a separate interface.
#[derive(Clone)]
pub struct Capture {
    state: Arc<Mutex<State>>,
}

impl Capture {
    /// Starts a file. `out` should be buffered: frames are written by the stations' own threads.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn new(out: Out) -> io::Result<Self> {
        let state = State {
            writer: Writer::new(out)?,
            correlation: Correlation::read(),
            octets: Vec::new(),
            latest: Instant::ZERO,
            frames: 0,
            failed: None,
        };
        Ok(Self { state: Arc::new(Mutex::new(state)) })
    }

    /// Creates an observer for [`crate::port::Observed`], whose frames are recorded under an
    /// interface of this name.
    ///
    /// A failed capture does not stop the station: the first error is kept for [`Capture::finish`],
    /// and nothing is written after it.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn observer(&self, name: &str) -> io::Result<Observer> {
        let interface = self.state().writer.interface(Link::Ethernet, name)?;
        let capture = self.clone();
        Ok(Box::new(move |passing| {
            let mut state = capture.state();
            if state.failed.is_none() {
                state.failed = state.write(interface, passing).err();
            }
        }))
    }

    /// Flushes the output and returns the number of frames.
    ///
    /// # Errors
    /// The first error since the file was started.
    pub fn finish(self) -> io::Result<u64> {
        let mut state = self.state();
        if let Some(error) = state.failed.take() {
            return Err(error);
        }
        state.writer.flush()?;
        Ok(state.frames)
    }

    /// Locks the state. A thread that panicked while it wrote leaves at most a truncated frame.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! A capture file, or a capture that comes in on standard input.

use super::annotate::Frame;
use super::frames::Frames;
use crate::command::measuring::{Heard, Teller};
use crate::exit::Failure;
use crate::interrupt;
use crate::metrics::Health;
use crate::output::Output;
use crate::stream::Recorder;
use indicatif::{ProgressBar, ProgressStyle};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;
use wire::capture::{Capture, CaptureError, Record};
use wire::dissect::Link;

/// Smaller files are read before anybody could look at a progress bar.
const WORTH_A_BAR_OCTETS: u64 = 32 << 20;
/// How often a silent pipe is left to see whether somebody wants it to end.
const LOOK_UP: Duration = Duration::from_millis(100);
const CHUNK_OCTETS: usize = 64 << 10;

/// Gives the meter every frame of a capture, until it is done.
pub(crate) fn meter(
    path: &Path,
    recorder: &mut Recorder,
    (beside, teller): (&mut Frames, &mut Teller<'_>),
    output: &Output,
) -> anyhow::Result<Heard> {
    let name = name(path);
    let fail = |error: CaptureError| {
        // A pipe that was left because of an interrupt only looks cut short.
        (!interrupt::requested()).then(|| Failure::failed(format!("{name}: {error}")))
    };
    let mut capture = match open(path, output) {
        Ok(capture) => capture,
        Err(failure) => {
            let failure = Some(failure);
            return Ok(Heard { failure, is_cut: true });
        }
    };
    let mut failure = None;
    while !interrupt::requested() && !recorder.is_done() {
        match capture.next() {
            Ok(Some(record)) => {
                teller.wait(record.at, recorder)?;
                let Record { at, link, octets, original_octets, interface } = record;
                let octets = if beside.lacks(interface) {
                    let octets = octets.to_vec();
                    beside.describe(capture.interfaces())?;
                    Cow::Owned(octets)
                } else {
                    Cow::Borrowed(octets)
                };
                let frame = Frame { at, link, octets: &octets, original_octets, interface };
                beside.observe(recorder, &frame)?;
                teller.tell(recorder)?;
                let frames = recorder.frames();
                teller.publish(recorder, || Health { frames, dropped_by_kernel: None });
            }
            Ok(None) => break,
            Err(error) => {
                failure = fail(error);
                break;
            }
        }
    }
    let is_cut = failure.is_some() || interrupt::requested();
    remark_on_links(&capture, &name, output);
    Ok(Heard { failure, is_cut })
}

/// Opens a capture; `-` is standard input.
pub(crate) fn open(path: &Path, output: &Output) -> Result<Capture, Failure> {
    let name = name(path);
    let opened = if path.as_os_str() == "-" {
        Capture::open(Pipe::new(io::stdin()))
    } else {
        let file = File::open(path)
            .map_err(|error| Failure::failed(format!("cannot open {name}: {error}")))?;
        match file.metadata() {
            Ok(about) if about.is_dir() => {
                return Err(Failure::failed(format!("{name} is a folder, not a capture")));
            }
            // Rows on a terminal show how far it is, and a bar would run into them.
            Ok(about)
                if about.len() >= WORTH_A_BAR_OCTETS
                    && output.draws_progress()
                    && !io::stdout().is_terminal() =>
            {
                Capture::open(bar(about.len()).wrap_read(file))
            }
            _ => Capture::open(file),
        }
    };
    opened.map_err(|error| Failure::failed(format!("{name}: {error}")))
}

/// What messages call a capture.
pub(crate) fn name(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard input".to_owned() } else { path.display().to_string() }
}

fn bar(octets: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {bytes} of {total_bytes}, {eta} to go")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(octets).with_style(style)
}

/// Says which frames the meter could do no more with than count them as foreign.
fn remark_on_links(capture: &Capture, name: &str, output: &Output) {
    let foreign = |link: &Link| !link.is_read();
    let links: BTreeSet<Link> =
        capture.interfaces().iter().map(|interface| interface.link).filter(foreign).collect();
    for link in links {
        output.remark(format_args!(
            "warning: {name}: {link} is not understood; its frames are only counted as oddities"
        ));
    }
}

/// Standard input, read by a thread of its own so that an interrupt ends it though nothing comes.
struct Pipe {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: io::Cursor<Vec<u8>>,
}

impl Pipe {
    fn new(mut from: impl Read + Send + 'static) -> Self {
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
        Self { chunks, chunk: io::Cursor::default() }
    }
}

impl Read for Pipe {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            let octets = self.chunk.read(room)?;
            if octets > 0 || room.is_empty() {
                return Ok(octets);
            }
            match self.chunks.recv_timeout(LOOK_UP) {
                Ok(chunk) => {
                    let chunk = chunk?;
                    if chunk.is_empty() {
                        return Ok(0);
                    }
                    self.chunk = io::Cursor::new(chunk);
                }
                Err(RecvTimeoutError::Timeout) if !interrupt::requested() => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
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
        // The end stays the end.
        assert_eq!(pipe.read(&mut [0; 8]).unwrap(), 0);
    }
}

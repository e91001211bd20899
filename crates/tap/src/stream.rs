//! Copies frames from the ring to standard output, as pcapng.

use crate::options::Options;
use crate::sandbox;
use core::time::Duration;
use live::clock;
use live::port::PortError;
use live::tap::{Sighting, Tap};
use std::fs::File;
use std::io::{self, BufWriter};
use std::os::fd::AsFd as _;
use wire::capture::Statistics;
use wire::dissect::{Link, Stripper};
use wire::pcapng::{WITHOUT_DATA, Writer};
use wire::time::{Instant, nanos};

/// Interval at which counters are written, and maximum wait for a frame.
const COUNTS_EVERY: Duration = Duration::from_secs(1);
const LOOK_UP: Duration = Duration::from_millis(100);
const BUFFER_OCTETS: usize = 64 << 10;
/// Maximum number of frames between two checks of other work.
const AT_ONCE: u32 = 1_024;

/// Standard output as a file that is written in large blocks.
pub(crate) fn output() -> io::Result<File> {
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

/// Output stream, and counters of the frames written.
struct Stream<'a> {
    writer: Writer<BufWriter<File>>,
    options: &'a Options,
    interface: u32,
    /// Number of frames written, and the time of the latest.
    frames: u64,
    latest: Instant,
    octets: Vec<u8>,
    stripper: Stripper,
}

/// Writes frames until the reader is gone, or, if requested, until standard input ends. The error
/// is a message.
pub(crate) fn run(mut tap: Tap, out: File, options: &Options) -> Result<(), String> {
    let ended = Stream::begin(&tap, out, options)
        .map_err(|error| ("write", error))
        .and_then(|mut stream| stream.follow(&mut tap));
    match ended {
        // The reader has gone: a normal end.
        Err((_, error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        ended => ended.map_err(|(doing, error)| format!("cannot {doing}: {error}")),
    }
}

type Failed = (&'static str, io::Error);

impl<'a> Stream<'a> {
    fn begin(tap: &Tap, out: File, options: &'a Options) -> io::Result<Self> {
        let mut writer = Writer::new(BufWriter::with_capacity(BUFFER_OCTETS, out))?;
        let snap = u32::try_from(options.snap_octets).unwrap_or(u32::MAX);
        let data = if options.keeps_data { String::new() } else { format!("; {WITHOUT_DATA}") };
        let comment = format!("filter: {}; stamps: kernel{data}", options.filter);
        let name = &tap.interface().name;
        let interface = writer.interface_cut(Link::Ethernet, name, snap, &comment)?;
        writer.flush()?;
        let (frames, latest, octets) = (0, Instant::ZERO, Vec::new());
        let stripper = Stripper::new();
        Ok(Self { writer, options, interface, frames, latest, octets, stripper })
    }

    fn follow(&mut self, tap: &mut Tap) -> Result<(), Failed> {
        let writing = |error| ("write", error);
        let mut counts_at = clock::now() + COUNTS_EVERY;
        loop {
            if self.options.until_end_of_input && sandbox::has_input_ended() {
                return self.end(tap);
            }
            let mut is_silent = false;
            // Without a wait: available frames are written before anything else is done.
            for _ in 0..AT_ONCE {
                let received = tap.receive(Instant::ZERO).or_else(|error| self.outlast(error));
                let Some(sighting) = received.map_err(heard)? else {
                    is_silent = true;
                    break;
                };
                self.write(&sighting).map_err(writing)?;
            }
            let now = clock::now();
            if now >= counts_at {
                counts_at = now + COUNTS_EVERY;
                self.count(tap)?;
            }
            if is_silent {
                self.writer.flush().map_err(writing)?;
                tap.wait(now + LOOK_UP).or_else(|error| self.outlast(error)).map_err(heard)?;
            }
        }
    }

    /// Continues after a link failure if the reader supervises the link. The socket stays bound,
    /// and the kernel delivers frames again when the link is up.
    fn outlast<T: Default>(&self, error: PortError) -> Result<T, PortError> {
        match error {
            PortError::Down(_) if self.options.until_end_of_input => Ok(T::default()),
            error => Err(error),
        }
    }

    /// Writes the frames received until now, and the counters.
    fn end(&mut self, tap: &mut Tap) -> Result<(), Failed> {
        for _ in 0..tap.waiting().map_err(heard)? {
            let until = clock::now() + LOOK_UP;
            let received = tap.receive(until).or_else(|error| self.outlast(error));
            let Some(sighting) = received.map_err(heard)? else { break };
            self.write(&sighting).map_err(|error| ("write", error))?;
        }
        self.count(tap)
    }

    fn write(&mut self, sighting: &Sighting<'_>) -> io::Result<()> {
        let Sighting { octets, original_octets, wall_nanos, .. } = *sighting;
        let Options { filter, keeps_data, .. } = self.options;
        // The kernel's program passes some other frames as well.
        if !filter.matches(Link::Ethernet, octets, original_octets) {
            return Ok(());
        }
        let now = || nanos(clock::wall());
        let at = Instant::from_nanos(wall_nanos.unwrap_or_else(now)).max(self.latest);
        self.latest = at;
        self.frames += 1;
        if *keeps_data {
            return self.writer.write(self.interface, at, octets, original_octets, "");
        }
        self.octets.clear();
        self.octets.extend_from_slice(octets);
        let kept = self.stripper.strip(Link::Ethernet, &mut self.octets, original_octets);
        self.octets.truncate(kept);
        self.writer.write(self.interface, at, &self.octets, original_octets, "")
    }

    /// Writes the counters so far.
    fn count(&mut self, tap: &mut Tap) -> Result<(), Failed> {
        let counted = tap.statistics().map_err(heard)?;
        let statistics = Statistics {
            received: None,
            dropped_by_interface: None,
            accepted: Some(counted.received + counted.dropped),
            dropped_by_system: Some(counted.dropped),
            delivered: Some(self.frames),
            ring_full: Some(counted.frozen),
        };
        let at = Instant::from_nanos(nanos(clock::wall()));
        self.writer
            .statistics(self.interface, at, &statistics)
            .and_then(|()| self.writer.flush())
            .map_err(|error| ("write", error))
    }
}

fn heard(error: PortError) -> Failed {
    ("listen", io::Error::other(error.to_string()))
}

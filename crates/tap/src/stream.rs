//! Frames from the ring to standard output, as pcapng.

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

/// How often counts are written, and how long silence is listened to before looking up.
const COUNTS_EVERY: Duration = Duration::from_secs(1);
const LOOK_UP: Duration = Duration::from_millis(100);
const BUFFER_OCTETS: usize = 64 << 10;
/// Frames between two looks at what else is to be done.
const AT_ONCE: u32 = 1_024;

/// Standard output as a file that is written to in large pieces.
pub(crate) fn output() -> io::Result<File> {
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

/// What is written, and what of it was counted.
struct Stream<'a> {
    writer: Writer<BufWriter<File>>,
    options: &'a Options,
    interface: u32,
    /// Frames that were written, and the time of the latest.
    frames: u64,
    latest: Instant,
    octets: Vec<u8>,
    stripper: Stripper,
}

/// Writes frames until the reader is gone, or standard input has ended where that is asked for. What
/// went wrong, in words.
pub(crate) fn run(mut tap: Tap, out: File, options: &Options) -> Result<(), String> {
    let ended = Stream::begin(&tap, out, options)
        .map_err(|error| ("write", error))
        .and_then(|mut stream| stream.follow(&mut tap));
    match ended {
        // Whoever read has gone: that is how it ends.
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
            // Without a wait: what is there is written before anything else is done.
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

    /// Goes on where a link went down and the reader looks after it: the socket stays bound, and the kernel passes
    /// frames on again when the link is up.
    fn outlast<T: Default>(&self, error: PortError) -> Result<T, PortError> {
        match error {
            PortError::Down(_) if self.options.until_end_of_input => Ok(T::default()),
            error => Err(error),
        }
    }

    /// Writes what was received until now, and the counts.
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
        // The kernel's program lets more through.
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

    /// Writes what has been counted so far.
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

//! Readers of capture files that benchmarks compare, and what they take.

pub(crate) mod cost;
pub(crate) mod loops;
pub(crate) mod tshark;

use core::time::Duration;
use live::mapped;
use meter::{Meter, Settings};
use std::fs::File;
use std::hint::black_box;
use std::io::BufWriter;
use std::path::Path;

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

pub(crate) type Failed = Box<dyn core::error::Error>;

/// Reads every record, and returns their number.
pub(crate) fn records(path: &Path) -> Result<u64, Failed> {
    let mut capture = mapped::open(File::open(path)?)?;
    let (mut frames, mut octets) = (0, 0);
    while capture.each(|record| {
        frames += 1;
        octets += record.octets.len();
        true
    })? {}
    black_box(octets);
    Ok(frames)
}

/// Meters a capture, and takes its intervals.
pub(crate) fn metered(path: &Path, interval: Duration) -> Result<meter::Report, Failed> {
    let mut capture = mapped::open(File::open(path)?)?;
    let mut meter = Meter::new(Settings::every(interval));
    while capture.each(|record| {
        meter.observe(record.at, record.link, record.octets, record.original_octets);
        while let Some(interval) = meter.take_interval() {
            black_box(interval);
        }
        true
    })? {}
    Ok(meter.finish())
}

/// Loads a file into the page cache as reading from disk does, in the large units of read-ahead. A
/// file just written is cached in small units, which take twice the time to read.
fn read_from_disk(path: &Path) -> Result<(), Failed> {
    let mut file = File::open(path)?;
    file.sync_all()?;
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
    std::io::copy(&mut file, &mut std::io::sink())?;
    Ok(())
}

/// Creates a capture if it does not exist.
pub(crate) fn made(
    path: &Path,
    make: impl FnOnce(BufWriter<File>) -> Result<(), Failed>,
) -> Result<(), Failed> {
    if !path.exists() {
        let ((), cost) = cost::of(|| make(BufWriter::new(File::create(path)?)))?;
        println!("capture made in {:.1} s of CPU", cost.cpu_seconds);
    }
    read_from_disk(path)
}

//! How fast a capture file is metered, beside tshark: 5 million frames of class 4, and as many of S7.
//!
//! Four readers take turns on one file, each on one thread: records alone; a bare loop of
//! fixed-offset decoding and one look-up in a hash table, which is what tracking costs at least;
//! the meter, that is `tidewire watch` without its output; and tshark, in every third round.
//!
//! `cargo bench -p tidewire-bench --bench capture [-- FOLDER]`. The captures are made in the target
//! folder and removed; with FOLDER they are made there and stay, and are read again the next time.
//! `TIDEWIRE_FRAMES` is how many frames are made.

mod cost;
mod s7;
mod traffic;
mod tshark;

use core::time::Duration;
use cost::Cost;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use meter::{Meter, Settings};
use std::fs::File;
use std::hint::black_box;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use wire::capture::Capture;

const FRAMES: u64 = 5_000_000;
const ROUNDS: usize = 9;
/// tshark takes its turn after each of so many rounds.
const PEER_EVERY: usize = 3;

type Failed = Box<dyn core::error::Error>;

fn records(path: &Path) -> Result<u64, Failed> {
    let mut capture = Capture::open(File::open(path)?)?;
    let (mut frames, mut octets) = (0, 0);
    while let Some(record) = capture.next()? {
        frames += 1;
        octets += record.octets.len();
    }
    black_box(octets);
    Ok(frames)
}

/// The words that begin at these places.
fn word(octets: &[u8], place: usize) -> Option<u64> {
    octets.get(place..)?.first_chunk().map(|word| u64::from_be_bytes(*word))
}

/// Receiver and sender, and the receiver's reference, of class 4 over the inactive network layer; and
/// whether it is a DT.
fn class_4(octets: &[u8]) -> Option<((u64, u64), bool)> {
    let header: &[u8; 22] = octets.first_chunk()?;
    if header[14..18] != [0xFE, 0xFE, 0x03, 0x00] {
        return None;
    }
    let reference = u64::from(header[20]) << 8 | u64::from(header[21]);
    let key = (word(octets, 0)? & !0xFFFF | reference, word(octets, 6)? & !0xFFFF);
    Some((key, header[19] & 0xF0 == 0xF0))
}

/// Both addresses and ports of TCP over IPv4 without options; and whether its data begins with the DT of a
/// TPKT.
fn s7(octets: &[u8]) -> Option<((u64, u64), bool)> {
    let header: &[u8; 54] = octets.first_chunk()?;
    if header[12..15] != [0x08, 0x00, 0x45] || header[23] != 6 {
        return None;
    }
    let key = (word(octets, 26)?, word(octets, 34)? >> 32);
    Some((key, matches!(octets.get(54..60), Some([3, 0, _, _, 2, 0xF0]))))
}

/// How a bare loop tells whose frame it is.
type Whose = fn(&[u8]) -> Option<((u64, u64), bool)>;

/// The least that tracking can be: whose frame is it, and one count each of frames, octets and DTs.
fn bare(path: &Path, whose: Whose) -> Result<u64, Failed> {
    let mut capture = Capture::open(File::open(path)?)?;
    let mut flows: HashMap<(u64, u64), [u64; 3], FixedState> =
        HashMap::with_hasher(FixedState::with_seed(0));
    let mut frames = 0;
    while let Some(record) = capture.next()? {
        frames += 1;
        let Some((key, is_data)) = whose(record.octets) else { continue };
        let [count, octets, data] = flows.entry(key).or_default();
        *count += 1;
        *octets += record.original_octets as u64;
        *data += u64::from(is_data);
    }
    black_box(&flows);
    Ok(frames)
}

fn metered(path: &Path) -> Result<meter::Report, Failed> {
    let mut capture = Capture::open(File::open(path)?)?;
    let mut meter = Meter::new(Settings::every(Duration::from_secs(1)));
    while let Some(record) = capture.next()? {
        meter.observe(record.at, record.link, record.octets, record.original_octets);
        while let Some(interval) = meter.take_interval() {
            black_box(interval);
        }
    }
    Ok(meter.finish())
}

/// The costs of one reader, round by round.
#[derive(Default)]
struct Costs(Vec<Cost>);

impl Costs {
    fn add(&mut self, cost: Cost) {
        self.0.push(cost);
    }

    fn spread(&self, of: impl Fn(&Cost) -> f64) -> [f64; 3] {
        let mut figures: Vec<f64> = self.0.iter().map(of).collect();
        figures.sort_by(f64::total_cmp);
        [figures[figures.len() / 2], figures[0], figures[figures.len() - 1]]
    }

    fn print(&self, name: &str, frames: u64) {
        let frames = frames as f64;
        let [rate, least, most] = self.spread(|cost| frames / cost.cpu_seconds / 1e6);
        let [wall, wall_least, wall_most] = self.spread(|cost| cost.wall_seconds);
        let nanos = self.spread(|cost| cost.cpu_seconds / frames * 1e9)[0];
        println!(
            "{name:26} {rate:7.3} [{least:.3} to {most:.3}] {nanos:8.0} ns  {wall:8.3} \
             [{wall_least:.3} to {wall_most:.3}]  n = {}",
            self.0.len()
        );
    }
}

/// Prints what the meter found, so that a reader can tell what sort of capture this is.
fn describe(path: &Path, total: &meter::Report) -> Result<(), Failed> {
    let all = total.measures.traffic.transport.all();
    println!(
        "{} octets; {} frames with LLC, {} TPDUs, {} of them again, {} connections",
        std::fs::metadata(path)?.len(),
        total.measures.link.lpdus,
        all.tpdus,
        all.retransmissions,
        total.measures.traffic.connections.established,
    );
    for (class, name, times) in total.oddities.iter() {
        println!("  {} {name}: {times}", class.name());
    }
    Ok(())
}

fn measure(path: &Path, whose: Whose) -> Result<(), Failed> {
    let frames = records(path)?;
    println!("{frames} frames");
    describe(path, &metered(path)?)?;
    let peer = tshark::version();
    let [mut reading, mut bare_loop, mut ours, mut theirs] = [(); 4].map(|()| Costs::default());
    for round in 0..ROUNDS {
        reading.add(cost::of(|| records(path))?.1);
        bare_loop.add(cost::of(|| bare(path, whose))?.1);
        ours.add(cost::of(|| metered(path))?.1);
        if peer.is_ok() && round % PEER_EVERY == PEER_EVERY / 2 {
            theirs.add(tshark::run(path, frames)?);
        }
    }
    println!("{:26} million frames per CPU s, CPU time per frame, wall seconds", "");
    reading.print("records alone", frames);
    bare_loop.print("decode and one look-up", frames);
    ours.print("meter", frames);
    let per_frame = |costs: &Costs| costs.spread(|cost| cost.cpu_seconds)[0];
    let (meter, bare) = (per_frame(&ours), per_frame(&bare_loop));
    match peer {
        Ok(version) => {
            theirs.print("tshark -q -z io,stat,0", frames);
            println!("{version}");
            println!("CPU time, tshark over meter: {:.1}", per_frame(&theirs) / meter);
        }
        Err(missing) => println!("tshark not run: {missing}"),
    }
    println!("CPU time, meter over decode and one look-up: {:.2}", meter / bare);
    Ok(())
}

/// A capture that is made if it is not there.
fn made(
    path: &Path,
    make: impl FnOnce(BufWriter<File>) -> Result<(), Failed>,
) -> Result<(), Failed> {
    if !path.exists() {
        let ((), cost) = cost::of(|| make(BufWriter::new(File::create(path)?)))?;
        println!("capture made in {:.1} s of CPU", cost.cpu_seconds);
    }
    Ok(())
}

fn main() -> Result<(), Failed> {
    let frames = match std::env::var("TIDEWIRE_FRAMES") {
        Ok(text) => text.parse()?,
        Err(_) => FRAMES,
    };
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    // Cargo itself adds an argument that begins with dashes.
    let told = std::env::args().skip(1).find(|word| !word.starts_with("--")).map(PathBuf::from);
    let folder = told.as_deref().unwrap_or(folder.path());
    println!("class 4 over LLC");
    let path = folder.join("class4.pcap");
    made(&path, |out| traffic::write(out, frames))?;
    measure(&path, class_4)?;
    println!("\nS7 over TCP");
    let path = folder.join("s7.pcap");
    made(&path, |out| s7::write(out, frames))?;
    measure(&path, s7)
}

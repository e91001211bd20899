//! Speed of metering a capture file, compared with tshark: 5 million frames of class 4, and as many
//! of S7.
//!
//! Five readers take turns on one file, each on one thread: record reading alone; two bare loops
//! that identify the connection of a frame and look it up once in a hash table, one at fixed
//! offsets and one that decodes every layer (`readers/loops.rs`); the meter, that is `tidewire
//! watch` without its output; and tshark, in every third round. The same captures follow as written
//! by `tidewire capture`, headers alone.
//!
//! `cargo bench -p tidewire-bench --bench capture [-- FOLDER]`. The captures are made in the target
//! folder and removed; with FOLDER they are made there, kept, and reused the next time.
//! `TIDEWIRE_FRAMES` sets the number of frames.

#[path = "../readers/mod.rs"]
mod readers;
mod s7;
mod traffic;

use core::time::Duration;
use live::mapped;
use readers::cost::{self, Costs};
use readers::loops::{self, Whose, bare, decoded};
use readers::{Failed, made, metered, records, tshark};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use wire::dissect::{Link, strip_user_data};
use wire::pcapng::Writer;

const FRAMES: u64 = 5_000_000;
const ROUNDS: usize = 9;
const INTERVAL: Duration = Duration::from_secs(1);
/// Number of rounds between two turns of tshark.
const PEER_EVERY: usize = 3;

/// Prints what a reader took, round by round.
fn print(costs: &Costs, name: &str, frames: u64) {
    let per_frame = frames as f64;
    let [rate, least, most] = costs.spread(|cost| per_frame / cost.cpu_seconds / 1e6);
    let [wall, wall_least, wall_most] = costs.spread(|cost| cost.wall_seconds);
    let nanos = costs.spread(|cost| cost.cpu_seconds / per_frame * 1e9)[0];
    println!(
        "{name:26} {rate:7.3} [{least:.3} to {most:.3}] {nanos:8.0} ns  {wall:8.3} \
         [{wall_least:.3} to {wall_most:.3}]  n = {}",
        costs.0.len()
    );
}

/// Prints the meter's results, which describe the capture.
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
    describe(path, &metered(path, INTERVAL)?)?;
    let peer = tshark::version();
    let [mut reading, mut fixed, mut whole, mut ours, mut theirs] =
        [(); 5].map(|()| Costs::default());
    for round in 0..ROUNDS {
        reading.add(cost::of(|| records(path))?.1);
        fixed.add(cost::of(|| bare(path, whose))?.1);
        whole.add(cost::of(|| decoded(path))?.1);
        ours.add(cost::of(|| metered(path, INTERVAL))?.1);
        if peer.is_ok() && round % PEER_EVERY == PEER_EVERY / 2 {
            theirs.add(tshark::run(path, frames)?);
        }
    }
    println!("{:26} million frames per CPU s, CPU time per frame, wall seconds", "");
    print(&reading, "records alone", frames);
    print(&fixed, "fixed offsets, one look-up", frames);
    print(&whole, "decode all, one look-up", frames);
    print(&ours, "meter", frames);
    let per_frame = |costs: &Costs| costs.spread(|cost| cost.cpu_seconds)[0];
    let meter = per_frame(&ours);
    match peer {
        Ok(version) => {
            print(&theirs, "tshark -q -z io,stat,0", frames);
            println!("{version}");
            println!("CPU time, tshark over meter: {:.1}", per_frame(&theirs) / meter);
        }
        Err(missing) => println!("tshark not run: {missing}"),
    }
    println!("rate, meter over decode all and one look-up: {:.2}", per_frame(&whole) / meter);
    println!("rate, meter over fixed offsets and one look-up: {:.2}", per_frame(&fixed) / meter);
    Ok(())
}

/// Writes the frames of a capture without their user data, as `tidewire capture` does.
fn write_headers(from: &Path, out: BufWriter<File>) -> Result<(), Failed> {
    let mut capture = mapped::open(File::open(from)?)?;
    let mut writer = Writer::new(out)?;
    let interface = writer.interface(Link::Ethernet, "")?;
    let mut frame = Vec::new();
    while let Some(record) = capture.next()? {
        frame.clear();
        frame.extend(record.octets);
        let kept = strip_user_data(record.link, &mut frame, record.original_octets);
        let octets = frame.get(..kept).unwrap_or(&frame);
        writer.write(interface, record.at, octets, record.original_octets, "")?;
    }
    writer.flush()?;
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
    let [class_4, s7] = ["class4.pcap", "s7.pcap"].map(|name| folder.join(name));
    made(&class_4, |out| traffic::write(out, frames))?;
    made(&s7, |out| s7::write(out, frames))?;
    for (name, path, whose) in
        [("class 4 over LLC", &class_4, loops::class_4 as Whose), ("S7 over TCP", &s7, loops::s7)]
    {
        println!("\n{name}");
        measure(path, whose)?;
        println!("\n{name}, headers alone");
        let headers = path.with_extension("headers.pcapng");
        made(&headers, |out| write_headers(path, out))?;
        measure(&headers, whose)?;
    }
    Ok(())
}

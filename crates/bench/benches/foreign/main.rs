//! Speed of `tidewire watch` on traffic that others recorded, compared with tshark and tcpdump.
//!
//! Nine files are made of public captures, of the 1984 trace, of class 4 over both forms of CLNP,
//! and of cyclic data: each capture is repeated with time going forward until the file has enough frames
//! (`copies.rs`). In a file marked `-ip` each copy has stations of its own, hence new connections.
//! Readers take turns on each file, round by round: as whole processes `tidewire watch`, in text
//! and with `--json`, `tcpdump -w /dev/null`, and in three of seven rounds tshark; in this process
//! the meter alone, and the loop that decodes every layer (`readers/loops.rs`). Output goes to
//! /dev/null. Times are CPU time and the time until the process ends, which is less where it has two
//! threads. A process runs several times in a round if it takes less than half a second, because
//! the CPU time of processes has steps of 10 ms.
//!
//! `cargo bench -p tidewire-bench --bench foreign [-- FOLDER]`. The files are made in the target
//! folder and removed; with FOLDER they are made there, kept, and reused the next time.
//! `TIDEWIRE_FRAMES` sets the least number of frames of a file, `TIDEWIRE_PROGRAM` the tidewire
//! program. Without it the benchmark builds one by `cargo build --profile dist -p tidewire`.

mod copies;
#[path = "../../../stack/benches/host_loop/mod.rs"]
mod host_loop;
mod process;
#[path = "../readers/mod.rs"]
#[expect(dead_code, reason = "the loop at fixed offsets is for generated captures")]
mod readers;
mod table;

use copies::{Addresses, Source};
use core::time::Duration;
use host_loop::HostLoop;
use process::Program;
use readers::cost::{self, Cost};
use readers::loops::decoded;
use readers::{Failed, made, metered, records, tshark};
use std::fs::File;
use std::path::{Path, PathBuf};
use table::{Figures, PerFrame, Round};
use wire::capture::Capture;

const FRAMES: u64 = 300_000;
const ROUNDS: usize = 7;
/// Rounds in which tshark has a turn.
const PEER_ROUNDS: [usize; 3] = [1, 3, 5];
const CAPTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/captures");

/// A file of the benchmark.
struct Foreign {
    name: &'static str,
    /// Its source, below the folder of captures.
    source: &'static str,
    addresses: Addresses,
    /// Measurement interval, as the option of `watch` has it.
    measure: &'static str,
    interval: Duration,
}

impl Foreign {
    /// Returns a file in intervals of 10 s.
    const fn new(name: &'static str, source: &'static str, addresses: Addresses) -> Self {
        Self { name, source, addresses, measure: "10 s", interval: Duration::from_secs(10) }
    }
}

/// Returns the files, in the order of the table.
fn files() -> [Foreign; 9] {
    use Addresses::{New, Same};
    let trace = Foreign::new("1984 trace", "ncc84-exact.pcap", Same);
    let class_4 = "tp4/synthetic_tp4_20k_inactive_and_full_clnp.pcap";
    [
        Foreign { measure: "15 min", interval: Duration::from_secs(15 * 60), ..trace },
        Foreign::new("Plant1, S7 `-ip`", "s7/Plant1_S7comm.pcap", New),
        Foreign::new("mb2, Modbus and S7 `-ip`", "s7/mb2_modbus_plus_s7.pcap", New),
        Foreign::new("mms2, MMS `-ip`", "mms/mms2.pcap", New),
        Foreign::new("robidev, MMS `-ip`, Linux cooked", "mms/robidev_iec61850.pcapng", New),
        Foreign::new("ICCP `-ip`", "iccp/iccp-fictional.pcap", New),
        Foreign::new("class 4, inactive and full CLNP", class_4, Same),
        Foreign::new("Sampled Values", "cyclic/sv/SV_Normal_Traffic.pcap", Same),
        Foreign::new("PROFINET RT", "cyclic/profinet/own-rt-cyclic.pcapng", Same),
    ]
}

/// Programs that take part.
struct Programs {
    tidewire: PathBuf,
    has_tcpdump: bool,
    has_tshark: bool,
}

impl Programs {
    /// Finds the programs, and prints their versions.
    fn find() -> Result<Self, Failed> {
        let tidewire = process::tidewire()?;
        println!("{}: {}", tidewire.display(), process::version(&tidewire)?);
        let has = |name: &str, version: Result<String, String>| match version {
            Ok(version) => {
                println!("{version}");
                true
            }
            Err(missing) => {
                println!("skipped: {name}: {missing}");
                false
            }
        };
        let has_tshark = has("tshark", tshark::version());
        let has_tcpdump = has("tcpdump", process::version(Path::new("tcpdump")));
        Ok(Self { tidewire, has_tcpdump, has_tshark })
    }

    /// Runs every reader once on a file.
    fn round(&self, file: &Foreign, path: &Path, with_peer: bool) -> Result<Round, Failed> {
        let frames = records(path)?;
        let each = |cost: Cost| PerFrame::of(cost, frames);
        let watch = |options: &[&str]| {
            Program::new(&self.tidewire)
                .with(&["watch", "--measure", file.measure])
                .with(options)
                .reading(path)
        };
        let tcpdump = Program::new(Path::new("tcpdump")).with(&["-w", "/dev/null", "-Z", "root"]);
        let peer = with_peer && self.has_tshark;
        Ok(Round {
            text: each(watch(&[]).cost()?),
            json: each(watch(&["--json"]).cost()?),
            tcpdump: self.has_tcpdump.then(|| tcpdump.reading(path).cost()).transpose()?.map(each),
            tshark: peer.then(|| tshark::run(path, frames)).transpose()?.map(each),
            meter: each(cost::of(|| metered(path, file.interval))?.1),
            decoded: each(cost::of(|| decoded(path))?.1),
        })
    }
}

/// Makes a file if its source is there, and measures it.
fn measure(
    programs: &Programs,
    file: &Foreign,
    folder: &Path,
    least: u64,
    host: &mut HostLoop,
) -> Result<Option<Figures>, Failed> {
    let source = Path::new(CAPTURES).join(file.source);
    let Ok(capture) = File::open(source) else {
        println!("skipped: no ../shared/captures/{}", file.source);
        return Ok(None);
    };
    let source = Source::read(&mut Capture::open(capture)?)?;
    let copies = least.div_ceil(source.len() as u64);
    let stem = Path::new(file.source).file_stem().ok_or("no name of a file")?;
    let path = folder.join(stem).with_extension("copies.pcap");
    made(&path, |out| source.repeat(copies, file.addresses, out))?;
    let frames = records(&path)?;
    let total = metered(&path, file.interval)?;
    println!(
        "{}: {} frames, {} copies, {} octets, {} TPDUs, {} connections established",
        file.name,
        frames,
        frames / source.len() as u64,
        std::fs::metadata(&path)?.len(),
        total.measures.traffic.transport.all().tpdus,
        total.measures.traffic.connections.established,
    );
    let rounds = (0..ROUNDS)
        .map(|round| {
            host.run();
            programs.round(file, &path, PEER_ROUNDS.contains(&round))
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Some(Figures { name: file.name, frames, rounds }))
}

fn main() -> Result<(), Failed> {
    let least = match std::env::var("TIDEWIRE_FRAMES") {
        Ok(text) => text.parse()?,
        Err(_) => FRAMES,
    };
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    // Cargo itself adds an argument that begins with dashes.
    let told = std::env::args().skip(1).find(|word| !word.starts_with("--")).map(PathBuf::from);
    let folder = told.as_deref().unwrap_or(folder.path());
    let programs = Programs::find()?;
    let (mut figures, mut host) = (Vec::new(), HostLoop::new());
    for file in files() {
        figures.extend(measure(&programs, &file, folder, least, &mut host)?);
    }
    table::print(&figures);
    host.print();
    Ok(())
}

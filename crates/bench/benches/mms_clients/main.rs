//! Read of one leaf by `measure mms` and by libiec61850's own client, a C program, against the same
//! servers.
//!
//! Each of seven rounds has both clients on each server, one after the other, the order changing
//! from round to round. Reads are 1 ms apart, and a figure is the median of a client's reads in a
//! round. Servers are `serve mms` and libiec61850's, each a process of its own on 127.0.0.1.
//!
//! `TIDEWIRE_LIBIEC61850=PYTHON cargo bench -p tidewire-bench --bench mms_clients`: the variable
//! names a Python interpreter with pyiec61850, whose wheel holds the library. `client.c` opens the
//! library itself; it needs a C compiler.

use bench::mms::model;
use bench::session::mms::{Inquiry, MmsServer, Selectors, inquire};
use core::net::SocketAddr;
use core::sync::atomic::AtomicBool;
use core::time::Duration;
use std::error::Error;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

type Failed = Box<dyn Error>;

const ROUNDS: usize = 7;
const READS: u32 = 1_000;
const PERIOD: Duration = Duration::from_millis(1);
const MODEL: &str = include_str!("../../models/feeder.cid");
const PEERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tidewire/tests/peers");
const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/mms_clients/client.c");
/// The same leaf, by the names of MMS and of libiec61850.
const ITEM: &str = "FEEDLD0/MMXU1$MX$TotW$mag$f";
const REFERENCE: &str = "FEEDLD0/MMXU1.TotW.mag.f";

/// Server as a process, ended with this value.
struct Server {
    name: &'static str,
    port: u16,
    child: Child,
}

impl Server {
    fn start(name: &'static str, mut command: Command, port: u16) -> Result<Self, Failed> {
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        if line.trim() != "listening" {
            return Err(format!("{name} does not listen").into());
        }
        Ok(Self { name, port, child })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> Result<u16, Failed> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Serves the model of `serve mms`, until the process is ended.
fn serve(port: u16) -> Result<(), Failed> {
    let model = model(MODEL.as_bytes(), None)?;
    let mut server = MmsServer::open(SocketAddr::from(([127, 0, 0, 1], port)), model.into())?;
    println!("listening");
    server.serve(wire::time::Instant::MAX, &AtomicBool::new(false), &mut |_| {})?;
    Ok(())
}

/// Median read of `measure mms`, in nanoseconds.
fn ours(port: u16) -> Result<f64, Failed> {
    let inquiry = Inquiry {
        remote: SocketAddr::from(([127, 0, 0, 1], port)),
        calling: Selectors::usual(),
        called: Selectors::usual(),
        associations: 1,
        messages: READS.into(),
        period: Some(PERIOD),
        per_second: 1_000_000,
        patience: Duration::from_secs(5),
        items: vec![ITEM.parse()?],
        list: None,
        file: None,
        report: None,
        reporting: Duration::ZERO,
        writable: Vec::new(),
        outstanding: Vec::new(),
    };
    let found = inquire(&inquiry, &AtomicBool::new(false))?;
    let read = found.rungs.iter().find(|rung| rung.name == "read 1 variable").ok_or("no read")?;
    if read.times.count() != u64::from(READS) {
        return Err(format!("{} reads of {READS}: {:?}", read.times.count(), read.reason).into());
    }
    Ok(read.times.quantile(0.5).ok_or("no time")?.as_nanos() as f64)
}

/// Median read of libiec61850's client, in nanoseconds. It tries again if its connection fails.
fn theirs(client: &Path, library: &Path, port: u16) -> Result<f64, Failed> {
    let arguments = [port.to_string(), REFERENCE.into(), READS.to_string()];
    for _ in 0..5 {
        let period = PERIOD.as_nanos().to_string();
        let output = Command::new(client).arg(library).args(&arguments).arg(period).output()?;
        if output.status.success() {
            return Ok(String::from_utf8(output.stdout)?.trim().parse()?);
        }
        eprintln!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Err("libiec61850's client does not read".into())
}

/// Path of the library in the wheel of pyiec61850.
fn library(python: &str) -> Result<PathBuf, Failed> {
    let program = "import pyiec61850, pathlib; \
                   folder = pathlib.Path(pyiec61850.__file__).parent.parent / 'pyiec61850.libs'; \
                   print(next(folder.glob('libiec61850*')))";
    let output = Command::new(python).args(["-c", program]).output()?;
    let path = String::from_utf8(output.stdout)?;
    if output.status.success() { Ok(path.trim().into()) } else { Err("no pyiec61850".into()) }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, port] = &arguments[..]
        && role == "server"
    {
        return serve(port.parse()?);
    }
    let Ok(python) = std::env::var("TIDEWIRE_LIBIEC61850") else {
        println!("skipped: TIDEWIRE_LIBIEC61850 names no Python with pyiec61850");
        return Ok(());
    };
    let library = library(&python)?;
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let client = folder.path().join("client");
    let compiled = Command::new("cc").args(["-O2", "-o"]).arg(&client).arg(CLIENT).status()?;
    if !compiled.success() {
        return Err("client.c does not compile".into());
    }
    println!("median of {READS} reads, microseconds, {ROUNDS} rounds");
    println!("{:12} {:>34} {:>34} {:>7}", "server", "measure mms", "libiec61850", "ratio");
    let port = free_port()?;
    let mut serve = Command::new(std::env::current_exe()?);
    serve.args(["server", &port.to_string()]);
    compare(&Server::start("serve mms", serve, port)?, &client, &library)?;
    let port = free_port()?;
    let mut peer = Command::new(python);
    peer.arg(Path::new(PEERS).join("libiec61850.py")).args(["server", &port.to_string()]);
    compare(&Server::start("libiec61850", peer, port)?, &client, &library)
}

/// Measures both clients on a server, and prints their figures.
fn compare(server: &Server, client: &Path, library: &Path) -> Result<(), Failed> {
    let (mut own, mut foreign) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        if round % 2 == 0 {
            own.push(ours(server.port)?);
            foreign.push(theirs(client, library, server.port)?);
        } else {
            foreign.push(theirs(client, library, server.port)?);
            own.push(ours(server.port)?);
        }
    }
    let shown = |figures: &[f64]| {
        let micros: Vec<String> = figures.iter().map(|it| format!("{:.0}", it / 1e3)).collect();
        micros.join(" ")
    };
    let ratios: Vec<f64> = own.iter().zip(&foreign).map(|(own, foreign)| own / foreign).collect();
    println!(
        "{:12} {:>34} {:>34} {:>7.3}",
        server.name,
        shown(&own),
        shown(&foreign),
        median(ratios)
    );
    Ok(())
}

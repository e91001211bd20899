//! A substation of eight MMS servers three times: measured, watched and predicted.
//!
//! Eight `serve mms`, a process and an address each, are in one network namespace and the clients in
//! another, joined by a veth pair. `calibrate` derives the costs of a server from TCP connect, identify
//! and a read of one variable. Then five rounds measure each case with `measure mms`, while `capture` in
//! the clients' namespace writes the frames, whose response times `watch` reports. `predict` simulates
//! each case once with the calibrated profile over the minimal TCP. None of the cases but the first is
//! part of the calibration.
//!
//! `TIDEWIRE_PROGRAM=PROGRAM cargo bench -p tidewire-bench --bench substation`; without the variable the
//! program is `target/release/tidewire`. It needs root and iproute2.

mod measured;
mod network;
mod predicted;
mod watched;

use network::Network;
use stats::interval::{self, Estimate};
use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

type Failed = Box<dyn Error>;

const ROUNDS: usize = 5;
/// Calls of a case in a round, and the interval of those that are spaced.
const CALLS: usize = 200;
const PER_SECOND: usize = 500;
/// Difference beyond which a figure is marked.
const MARKED: f64 = 0.15;
const LEVEL: f64 = 0.95;
/// Objects of each server.
const MODEL: &str = include_str!("../../models/feeder.cid");
/// Leaves of the model, which the reads repeat in this order.
const LEAVES: [&str; 5] = [
    "FEEDLD0/MMXU1$MX$TotW$mag$f",
    "FEEDLD0/MMXU1$MX$TotW$q",
    "FEEDLD0/MMXU1$MX$TotW$t",
    "FEEDLD0/upGGIO2$ST$Ind$stVal",
    "FEEDLD0/upGGIO2$ST$Ind$q",
];

/// Calls that are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Case {
    /// Variables of a read.
    leaves: usize,
    /// Outstanding calls in bursts; calls evenly spaced if `None`.
    outstanding: Option<usize>,
    /// Clients, each of a server of its own.
    clients: usize,
}

impl Case {
    const ALL: [Self; 9] = [
        Self::spaced(1),
        Self::spaced(2),
        Self::spaced(5),
        Self::spaced(10),
        Self::spaced(20),
        Self::burst(1),
        Self::burst(2),
        Self::burst(5),
        Self { leaves: 1, outstanding: None, clients: 8 },
    ];

    const fn spaced(leaves: usize) -> Self {
        Self { leaves, outstanding: None, clients: 1 }
    }

    const fn burst(outstanding: usize) -> Self {
        Self { leaves: 1, outstanding: Some(outstanding), clients: 1 }
    }

    fn name(self) -> String {
        let clients = if self.clients == 1 { "" } else { ", eight clients" };
        match self.outstanding {
            None if self.leaves == 1 => format!("1 leaf, spaced{clients}"),
            None => format!("{} leaves, spaced{clients}", self.leaves),
            Some(outstanding) => format!("back to back, {outstanding} outstanding"),
        }
    }

    /// Variables of a read.
    fn items(self) -> Vec<&'static str> {
        LEAVES.into_iter().cycle().take(self.leaves).collect()
    }
}

/// Figures of one case in one round, in microseconds.
struct Figures {
    measured: f64,
    watched: f64,
    /// Time for which servers, and clients, waited for a processor, for each call.
    servers_waited: f64,
    clients_waited: f64,
}

fn program() -> Result<PathBuf, Failed> {
    if let Some(program) = std::env::var_os("TIDEWIRE_PROGRAM") {
        return Ok(PathBuf::from(program));
    }
    let program = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/release/tidewire");
    match program.is_file() {
        true => Ok(program),
        false => Err("cargo build --release, or TIDEWIRE_PROGRAM".into()),
    }
}

/// Output of a program that succeeds.
fn run(command: &mut Command) -> Result<String, Failed> {
    let output = command.output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("{command:?}: {}: {said}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn main() -> Result<(), Failed> {
    // `cargo test` runs it too, without making anything.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let here = folder.path();
    fs::write(here.join("feeder.cid"), MODEL)?;
    let Some(mut network) = Network::make(program()?, here)? else { return Ok(()) };
    network.start_servers()?;
    println!("{}", measured::calibrate(&network)?.trim_end());
    let mut rounds: Vec<Vec<Figures>> = Case::ALL.map(|_| Vec::new()).into();
    for round in 0..ROUNDS {
        for (case, figures) in Case::ALL.into_iter().zip(&mut rounds) {
            let path = here.join("case.pcapng");
            let mut found = measured::measure(&network, case, &path)?;
            found.watched = watched::response(&network, case, &path)?;
            figures.push(found);
        }
        println!("round {} of {ROUNDS}, load {}", round + 1, load());
    }
    println!();
    println!(
        "| case | measured, us | watched, us | predicted, us | predicted / measured | watched / \
         measured | servers waited, us a call | clients waited, us a call |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (case, figures) in Case::ALL.into_iter().zip(&rounds) {
        print(case, figures, predicted::response(&network, case)?)?;
    }
    Ok(())
}

/// Load average of the last minute.
fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("unknown").to_owned()
}

fn print(case: Case, figures: &[Figures], predicted: f64) -> Result<(), Failed> {
    let mean = |of: fn(&Figures) -> f64| -> Result<Estimate, Failed> {
        let values = figures.iter().map(of).collect();
        interval::mean(&values, LEVEL).ok_or_else(|| "too few rounds".into())
    };
    let (measured, watched) = (mean(|it| it.measured)?, mean(|it| it.watched)?);
    let (servers, clients) = (mean(|it| it.servers_waited)?, mean(|it| it.clients_waited)?);
    let ratio = |one: f64| {
        let ratio = one / measured.mean;
        let mark = if (ratio - 1.0).abs() > MARKED { " !" } else { "" };
        format!("{ratio:.2}{mark}")
    };
    println!(
        "| {} | {:.1} ± {:.1} | {:.1} ± {:.1} | {predicted:.1} | {} | {} | {:.1} | {:.1} |",
        case.name(),
        measured.mean,
        measured.half_width,
        watched.mean,
        watched.half_width,
        ratio(predicted),
        ratio(watched.mean),
        servers.mean,
        clients.mean
    );
    Ok(())
}

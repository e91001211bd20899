//! Calibration and measurements by `calibrate` and `measure mms`.

use super::network::{Network, wait, waited};
use super::{CALLS, Case, Failed, Figures, LEAVES, PER_SECOND, ROUNDS, run};
use core::time::Duration;
use serde_json::Value;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Stdio};

/// Writes `ied.toml`: a server calibrated on TCP connect, identify and a read of one variable. Returns the
/// printed costs.
pub(crate) fn calibrate(network: &Network) -> Result<String, Failed> {
    let url = format!("iso-tcp://{}", Network::address(0));
    let [rounds, calls, rate] = [ROUNDS, CALLS, PER_SECOND].map(|number| number.to_string());
    run(&mut network.at_clients(&[
        "calibrate",
        "--over",
        &url,
        "--foreign-peer",
        "--profile",
        "ied.toml",
        "--item",
        LEAVES[0],
        "--rounds",
        &rounds,
        "--messages",
        &calls,
        "--max-requests",
        &rate,
    ]))
}

/// Measures a case, and captures its frames.
pub(crate) fn measure(network: &Network, case: Case, path: &Path) -> Result<Figures, Failed> {
    let before = network.waited();
    let capturing = network.capture(path)?;
    let clients: Vec<Client> = (0..case.clients)
        .map(|server| Client::start(network, case, server))
        .collect::<Result<_, _>>()?;
    let ends: Vec<(f64, f64)> =
        clients.into_iter().map(|client| client.end(case)).collect::<Result<_, _>>()?;
    capturing.end()?;
    let calls = (calls_of(case) * case.clients) as f64;
    let mut medians: Vec<f64> = ends.iter().map(|(median, _)| *median).collect();
    medians.sort_by(f64::total_cmp);
    Ok(Figures {
        measured: medians[medians.len() / 2],
        watched: f64::NAN,
        servers_waited: (network.waited() - before) / calls,
        clients_waited: ends.iter().map(|(_, waited)| waited).sum::<f64>() / calls,
    })
}

/// Calls of a client: identify, status, a read of one variable, and the calls of the case.
const fn calls_of(case: Case) -> usize {
    let own = case.leaves > 1 || case.outstanding.is_some();
    CALLS * (3 + own as usize)
}

/// `measure mms` under way.
struct Client {
    child: Child,
    waited: f64,
}

impl Client {
    fn start(network: &Network, case: Case, server: usize) -> Result<Self, Failed> {
        let url = format!("iso-tcp://{}", Network::address(server));
        let [calls, rate] = [CALLS, PER_SECOND].map(|number| number.to_string());
        let mut arguments = vec!["measure", "mms", "--over", &url, "--foreign-peer", "--json"];
        arguments.extend(["--associations", "1", "--messages", &calls, "--max-requests", &rate]);
        for item in case.items() {
            arguments.extend(["--item", item]);
        }
        let outstanding = case.outstanding.map(|number| number.to_string());
        if let Some(outstanding) = &outstanding {
            arguments.extend(["--outstanding", outstanding]);
        }
        let child = network.at_clients(&arguments).stdout(Stdio::piped()).spawn()?;
        Ok(Self { child, waited: 0.0 })
    }

    /// Median of the case in microseconds, and the time for which the client waited for a processor.
    fn end(mut self, case: Case) -> Result<(f64, f64), Failed> {
        while self.child.try_wait()?.is_none() {
            // What it waited is gone with the process.
            self.waited = waited(&self.child).unwrap_or(self.waited);
            wait(Duration::from_millis(10));
        }
        let mut text = String::new();
        self.child.stdout.take().ok_or("no output")?.read_to_string(&mut text)?;
        let found: Value = serde_json::from_str(text.trim())?;
        let times = match case.outstanding {
            Some(_) => &found["rates"][0]["times"],
            None => {
                let steps = found["steps"].as_array().ok_or("no steps")?;
                &steps.last().ok_or("no step")?["times"]
            }
        };
        if times["count"] != CALLS {
            return Err(format!("{}: {found}", case.name()).into());
        }
        let median = times["p50_ns"].as_f64().ok_or("no median")?;
        Ok((median / 1e3, self.waited))
    }
}

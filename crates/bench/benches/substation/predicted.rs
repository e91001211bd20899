//! Simulation of a case with the calibrated profile.

use super::network::{Network, SERVERS};
use super::{CALLS, Case, Failed, PER_SECOND, run};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;

/// Median response of a case, in microseconds; of several clients the median of theirs.
pub(crate) fn response(network: &Network, case: Case) -> Result<f64, Failed> {
    fs::write(network.folder.join("case.toml"), scenario(case)?)?;
    let text = run(&mut network.alone(&["predict", "case.toml", "--no-save", "--json", "-q"]))?;
    let mut medians = Vec::new();
    for line in text.lines() {
        let record: Value = serde_json::from_str(line)?;
        for flow in record["flows"].as_array().into_iter().flatten() {
            if flow["answered"] != CALLS {
                return Err(format!("{}: {flow}", case.name()).into());
            }
            medians.push(flow["response"]["p50_ns"].as_f64().ok_or("no median")?);
        }
    }
    medians.sort_by(f64::total_cmp);
    Ok(medians.get(medians.len() / 2).ok_or("no flow")? / 1e3)
}

/// A veth pair has no rate of its own: the links take next to no time.
fn scenario(case: Case) -> Result<String, Failed> {
    let mut text = format!(
        "version = 1\ntitle = \"{}\"\nreplications = 1\nstop = {{ messages = {CALLS} }}\n\
         medium = {{ kind = \"switched\", rate = \"10000 Mbit/s\", length = \"1 m\" }}\n\
         [[station]]\nname = \"client-{{1..{SERVERS}}}\"\n\
         [[station]]\nname = \"ied-{{1..{SERVERS}}}\"\nprofile = \"ied.toml\"\n\
         model = \"feeder.cid\"\n",
        case.name()
    );
    let pattern = match case.outstanding {
        Some(_) => "kind = \"maximum-rate-request\"".to_owned(),
        None => {
            let period = 1_000_000 / PER_SECOND;
            format!("kind = \"constant-rate-request\", period = \"{period} us\"")
        }
    };
    let outstanding = case.outstanding.unwrap_or(1);
    let items = case.items();
    for number in 1..=case.clients {
        write!(
            text,
            "[[flow]]\nname = \"read-{number}\"\nfrom = \"client-{number}\"\nto = \"ied-{number}\"\n\
             service = \"mms\"\ntransport = \"tcp\"\nread = {items:?}\n\
             outstanding = {outstanding}\npattern = {{ {pattern} }}\n"
        )?;
    }
    Ok(text)
}

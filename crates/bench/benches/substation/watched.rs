//! Response times that `watch` reports of a capture.

use super::network::Network;
use super::{CALLS, Case, Failed, run};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use wire::capture::Capture;
use wire::dissect::Link;
use wire::pcapng::Writer;
use wire::{ipv4, mac, tcp};

/// Frames of a client before the calls of a case: CR, CN and the initiate request, then identify, status
/// and reads of one variable, each alone in its segment.
const BEFORE: usize = 2 + 3 * CALLS;
const PORT: u16 = 102;

/// Median of the read responses of a case, in microseconds; of several clients the median of theirs.
pub(crate) fn response(network: &Network, case: Case, path: &Path) -> Result<f64, Failed> {
    let has_others = case.leaves > 1 || case.outstanding.is_some();
    let cut = network.folder.join("cut.pcapng");
    let path = if has_others { cut_to(path, &cut)? } else { path };
    let path = path.display().to_string();
    let text = run(&mut network.alone(&["watch", "-r", &path, "--json", "-q"]))?;
    let mut last = BTreeMap::new();
    for line in text.lines() {
        let record: Value = serde_json::from_str(line)?;
        if record["type"] == "services" {
            last.insert(record["id"].as_u64(), record);
        }
    }
    let mut medians = Vec::new();
    for service in last.values().filter_map(|it| it["services"].as_array()).flatten() {
        if service["service"] != "read" {
            continue;
        }
        if service["answers"] != CALLS {
            return Err(format!("{}: watch reads {service}", case.name()).into());
        }
        medians.push(service["response_p50_ns"].as_f64().ok_or("no median")?);
    }
    if medians.len() != case.clients {
        return Err(format!("{}: {} associations read", case.name(), medians.len()).into());
    }
    medians.sort_by(f64::total_cmp);
    Ok(medians[medians.len() / 2] / 1e3)
}

/// Writes the frames from the first call of the case on.
fn cut_to<'a>(from: &Path, to: &'a Path) -> Result<&'a Path, Failed> {
    let mut capture = Capture::open(File::open(from)?)?;
    let mut writer = Writer::new(File::create(to)?)?;
    writer.interface(Link::Ethernet, "w0")?;
    let mut seen = 0;
    while let Some(record) = capture.next()? {
        seen += usize::from(is_of_client(record.octets));
        if seen > BEFORE {
            writer.write(0, record.at, record.octets, record.octets.len(), "")?;
        }
    }
    writer.flush()?;
    Ok(to)
}

/// True for a segment with data to the server's port.
fn is_of_client(octets: &[u8]) -> bool {
    let Some(rest) = octets.get(mac::HEADER_OCTETS..) else { return false };
    let Ok(datagram) = ipv4::Pdu::decode(rest) else { return false };
    let Ok(segment) = tcp::Pdu::decode(datagram.data) else { return false };
    segment.destination_port == PORT && !segment.data.is_empty()
}

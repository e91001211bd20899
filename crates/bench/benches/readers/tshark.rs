//! Reference: `tshark -q -z io,stat,0 -r FILE`, which dissects every frame and counts frames and
//! octets.

use super::cost::{self, Cost};
use std::path::Path;
use std::process::{Command, Stdio};

/// Returns its version, or the reason why it cannot be run.
pub(crate) fn version() -> Result<String, String> {
    let output = Command::new("tshark")
        .arg("--version")
        .stderr(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run tshark: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().next().map(str::to_owned).ok_or_else(|| "tshark says no version".to_owned())
}

/// Runs it once over a capture. Its start-up is part of the cost.
pub(crate) fn run(path: &Path, frames: u64) -> Result<Cost, Box<dyn core::error::Error>> {
    let mut command = Command::new("tshark");
    command.args(["-q", "-z", "io,stat,0", "-r"]).arg(path).stderr(Stdio::null());
    let (output, cost) = cost::of_children(|| Ok(command.output()?))?;
    let text = String::from_utf8_lossy(&output.stdout);
    // The row of its table: | 0.0 <> 12.3 | frames | octets |
    let row = text.lines().find(|line| line.contains("<>"));
    let counted: Option<u64> = row.and_then(|row| row.split('|').nth(2)?.trim().parse().ok());
    if counted != Some(frames) {
        return Err(
            format!("tshark did not count {frames} frames: {}\n{text}", output.status).into()
        );
    }
    Ok(cost)
}

//! Programs that read a capture, and what that costs.

use crate::readers::Failed;
use crate::readers::cost::{self, Cost};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Least CPU time of the runs of one turn: 50 clock ticks.
const LEAST_SECONDS: f64 = 0.5;

/// Returns the program under test: that of `TIDEWIRE_PROGRAM`, or one built for shipping.
///
/// # Errors
/// The build failed.
pub(crate) fn tidewire() -> Result<PathBuf, Failed> {
    if let Some(program) = std::env::var_os("TIDEWIRE_PROGRAM") {
        return Ok(PathBuf::from(program));
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--profile", "dist", "-p", "tidewire"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .status()?;
    if !status.success() {
        return Err(format!("tidewire was not built: {status}").into());
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().ok_or("no target folder")?;
    Ok(target.join("dist/tidewire"))
}

/// Returns the first line of a program's version, or the reason why it cannot be run.
pub(crate) fn version(program: &Path) -> Result<String, String> {
    let output = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run it: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().next().map(str::to_owned).ok_or_else(|| "it prints no version".to_owned())
}

/// A program and its arguments. Its output goes to /dev/null.
pub(crate) struct Program(Command);

impl Program {
    /// Names a program.
    pub(crate) fn new(path: &Path) -> Self {
        let mut command = Command::new(path);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command)
    }

    /// Adds arguments.
    pub(crate) fn with(mut self, arguments: &[&str]) -> Self {
        self.0.args(arguments);
        self
    }

    /// Adds the capture to be read.
    pub(crate) fn reading(mut self, path: &Path) -> Self {
        self.0.arg("-r").arg(path);
        self
    }

    /// Returns the cost of one run: the mean of as many as take half a second of CPU time.
    ///
    /// # Errors
    /// A run failed.
    pub(crate) fn cost(mut self) -> Result<Cost, Failed> {
        let (mut runs, mut spent) = (0_u32, Cost { wall_seconds: 0.0, cpu_seconds: 0.0 });
        while spent.cpu_seconds < LEAST_SECONDS {
            let (status, cost) = cost::of_children(|| Ok(self.0.status()?))?;
            if !status.success() {
                return Err(format!("{:?}: {status}", self.0).into());
            }
            runs += 1;
            spent.cpu_seconds += cost.cpu_seconds;
            spent.wall_seconds += cost.wall_seconds;
        }
        let runs = f64::from(runs);
        Ok(Cost { wall_seconds: spent.wall_seconds / runs, cpu_seconds: spent.cpu_seconds / runs })
    }
}

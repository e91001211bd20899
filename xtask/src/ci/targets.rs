//! Builds for other targets than this machine: the pure crates without an operating system, and the
//! Python module, which reads, predicts and reports, for other systems. They are checked, not run.

use super::Summary;
use crate::{cargo, output};
use std::path::Path;
use std::process::Command;

/// Crates that must build without an operating system: floors 0 to 3 except `live`.
const PURE: [&str; 7] = [
    "tidewire-cpu",
    "tidewire-wire",
    "tidewire-stats",
    "tidewire-scl",
    "tidewire-stack",
    "tidewire-meter",
    "tidewire-sim",
];
const BARE_TARGET: &str = "wasm32-unknown-unknown";
/// Systems that the Python module must build for, next to this machine's.
const SYSTEMS: [&str; 3] =
    ["aarch64-unknown-linux-gnu", "aarch64-apple-darwin", "x86_64-pc-windows-gnu"];

/// Checks the pure crates without an operating system.
pub(super) fn pure(root: &Path, summary: &mut Summary) {
    if !installed(BARE_TARGET) {
        summary.skipped.push(format!("pure: target {BARE_TARGET} not installed"));
        return;
    }
    let mut check = cargo(root, &["check", "--lib", "--target", BARE_TARGET]);
    check.args(PURE.iter().flat_map(|package| ["-p", package]));
    summary.command("pure", &mut check);
}

/// Checks the Python module, with all that it consists of, for the other systems.
pub(super) fn systems(root: &Path, summary: &mut Summary) {
    for target in SYSTEMS {
        if !installed(target) {
            summary.skipped.push(format!("systems: target {target} not installed"));
            continue;
        }
        let mut check = cargo(root, &["check", "-p", "tidewire-python", "--target", target]);
        // The stable interface of Python needs no interpreter of the target.
        summary
            .command("systems", check.env("PYO3_NO_PYTHON", "1").env("RUSTFLAGS", "-D warnings"));
    }
}

/// True if the libraries of a target are there.
pub(crate) fn installed(target: &str) -> bool {
    let mut command = Command::new("rustc");
    let folder = output(command.args(["--print", "target-libdir", "--target", target]));
    folder.is_ok_and(|folder| Path::new(&folder).is_dir())
}

//! Tools of a release that pip fetches: maturin makes wheels, and Zig compiles C and links.
//!
//! Zig brings the C library of every target. So programs for another architecture need no cross
//! compiler, and static programs have Zig's own functions for memory, which are faster than musl's.

use super::{Release, named};
use crate::ci::python::MATURIN;
use crate::{cargo, output};
use std::path::PathBuf;
use std::process::Command;

/// Environment of Python with the tools.
pub(super) struct Tools {
    /// Folder of their commands.
    folder: PathBuf,
}

impl Tools {
    /// Fetches the tools, unless they are there.
    pub(super) fn fetch(release: &Release) -> Result<Self, String> {
        let environment = release.root.join("target/python/builder");
        let folder = environment.join("bin");
        if !folder.join("python").exists() {
            output(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
        }
        let mut pip = Command::new(folder.join("python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        output(pip.args([MATURIN, "cargo-zigbuild>=0.24,<1", "ziglang"]))
            .map_err(|why| named("tools cannot be fetched", &why))?;
        Ok(Self { folder })
    }

    /// Subcommand of Cargo that finds the tools.
    pub(super) fn cargo(&self, release: &Release, words: &[&str]) -> Command {
        self.with_path(cargo(&release.root, words))
    }

    /// maturin, which finds Zig.
    pub(super) fn maturin(&self) -> Command {
        self.with_path(Command::new(self.folder.join("maturin")))
    }

    fn with_path(&self, mut command: Command) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.folder.display()));
        command
    }
}

//! `cargo xtask bless`: makes the pages of crates, and runs the tests so that they rewrite their
//! expected results. Read the diff after.

use crate::cargo;
use crate::tidy::pages;
use std::path::Path;

/// Reruns `cargo test` over the workspace, or with `arguments`, permitting rewrites.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<(), String> {
    pages::write(root)?;
    let mut command = cargo(root, &["test"]);
    command.env("BLESS", "1").env("INSTA_UPDATE", "always");
    if arguments.is_empty() {
        command.arg("--workspace");
    }
    let status = command.args(arguments).status().map_err(|e| format!("cannot run cargo: {e}"))?;
    if status.success() { Ok(()) } else { Err("some tests fail even when blessed".to_owned()) }
}

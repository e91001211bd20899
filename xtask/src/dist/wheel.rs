//! Wheels for Python: the module, and the programs as commands.
//!
//! With Zig as the linker they ask for glibc 2.17 (manylinux2014) or for musl 1.2, whatever this machine has.

use super::tools::Tools;
use super::{Built, Release, named};
use crate::ci::targets::installed;
use crate::output;
use std::fs;
use std::path::Path;

/// Folder whose `scripts` maturin puts into the wheel as commands.
const DATA: &str = "crates/python/tidewire._tidewire.data";
/// C libraries that a wheel links to, as targets end in them.
const LIBRARIES: [&str; 2] = ["gnu", "musl"];

/// Makes the wheels for an architecture, with its programs.
pub(super) fn make(release: &Release, built: &Built<'_>, tools: &Tools) -> Result<(), String> {
    let data = release.root.join(DATA);
    place(&data.join("scripts"), built).map_err(|error| named(DATA, &error))?;
    let made = LIBRARIES.iter().try_for_each(|library| {
        let target = format!("{}-unknown-linux-{library}", built.architecture.name);
        match installed(&target) {
            true => build(release, tools, &target),
            false => {
                println!(
                    "   skipped: wheel: no libraries for {target}: rustup target add {target}"
                );
                Ok(())
            }
        }
    });
    fs::remove_dir_all(&data).map_err(|error| named(DATA, &error))?;
    made
}

/// Writes the programs into the folder of commands.
fn place(folder: &Path, built: &Built<'_>) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::create_dir_all(folder)?;
    for (name, octets) in &built.programs {
        fs::write(folder.join(name), octets)?;
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

fn build(release: &Release, tools: &Tools, target: &str) -> Result<(), String> {
    println!("   maturin build --release --zig --target {target}");
    let mut build = tools.maturin();
    build.args(["build", "--release", "--quiet", "--locked", "--zig", "--target", target, "--out"]);
    output(build.arg(&release.folder).current_dir(release.root.join("crates/python"))).map(drop)
}

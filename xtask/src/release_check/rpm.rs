//! The package for rpm: installed, tried by three users, installed again, and removed.

use super::deb::{capable, removed, system, tried};
use super::roots::{Root, borrow, fresh, is_root};
use super::{Outcome, file, own};
use crate::dist::Release;
use crate::output;
use std::path::Path;
use std::process::Command;

/// Programs that the package's script calls.
const TOOLS: [&str; 6] = ["sh", "getent", "groupadd", "chown", "chmod", "setcap"];

/// Checks the package.
pub(super) fn check(release: &Release, place: &Path) -> Result<String, Outcome> {
    let name = file(release, &format!(".{}.rpm", own().name))?;
    if !is_root() {
        return Err(Outcome::Skipped("rpm needs root, in its own folder too".to_owned()));
    }
    if output(Command::new("rpm").arg("--version")).is_err() {
        return Err(Outcome::Skipped("no rpm".to_owned()));
    }
    fresh(place)?;
    if let Err(why) = borrow(&TOOLS, place) {
        return Err(Outcome::Skipped(why));
    }
    system(place).map_err(|error| error.to_string())?;
    let package = release.path(&name);
    let root = Root::of(place, release)?.with_proc()?;
    // The shell that the script needs is there as a file, not as a package.
    let package = package.to_string_lossy();
    rpm(place, &["--install", "--nodeps", &package])?;
    tried(&root, place, release)?;
    // Installing the files again drops their capabilities.
    rpm(place, &["--upgrade", "--nodeps", "--replacepkgs", &package])?;
    capable(place)?;
    rpm(place, &["--erase", "tidewire"])?;
    removed(place)?;
    Ok(format!("{name} is installed, tried, installed again and removed, as the deb"))
}

fn rpm(place: &Path, words: &[&str]) -> Result<String, String> {
    let mut rpm = Command::new("rpm");
    rpm.args(["--root".as_ref(), place.as_os_str()]).args(words);
    output(&mut rpm).map_err(|why| format!("rpm {}: {why}", words[0]))
}

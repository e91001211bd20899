//! The package: installed, tried by three users, installed again, and removed.

use super::roots::{Root, borrow, fresh, is_root};
use super::{Outcome, file, own, smoke};
use crate::dist::Release;
use crate::output;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Programs that the package's script and dpkg call.
const TOOLS: [&str; 10] = [
    "sh",
    "getent",
    "groupadd",
    "chown",
    "chmod",
    "setcap",
    "dpkg-statoverride",
    "dpkg",
    "dpkg-split",
    "rm",
];
/// User without rights of its own.
const USER: u32 = 12_345;

/// Checks the package.
pub(super) fn check(release: &Release, place: &Path) -> Result<String, Outcome> {
    let name = file(release, &format!("_{}.deb", own().packaged))?;
    if !is_root() {
        return Err(Outcome::Skipped("dpkg needs root, in its own folder too".to_owned()));
    }
    if output(Command::new("dpkg").arg("--version")).is_err() {
        return Err(Outcome::Skipped("no dpkg".to_owned()));
    }
    fresh(place)?;
    if let Err(why) = borrow(&TOOLS, place) {
        return Err(Outcome::Skipped(why));
    }
    system(place).map_err(|error| error.to_string())?;
    let package = release.path(&name);
    let root = Root::of(place, release)?.with_proc()?;
    dpkg(place, "--install", &package.to_string_lossy())?;
    tried(&root, place, release)?;
    // Installing the files again drops their capabilities.
    dpkg(place, "--install", &package.to_string_lossy())?;
    capable(place)?;
    dpkg(place, "--purge", "tidewire")?;
    removed(place)?;
    Ok(format!(
        "{name} is installed, tried, installed again and removed; its group alone may listen"
    ))
}

/// No file of the package is left.
pub(super) fn removed(place: &Path) -> Result<(), Outcome> {
    for path in ["usr/bin/tidewire", "usr/bin/tidewire-tap", "usr/share/man/man1/tidewire.1.gz"] {
        if place.join(path).exists() {
            return Err(Outcome::Failed(format!("{path} stays after its removal")));
        }
    }
    Ok(())
}

/// The files that dpkg and groupadd expect.
pub(super) fn system(place: &Path) -> std::io::Result<()> {
    for folder in ["etc", "dev", "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/log"] {
        fs::create_dir_all(place.join(folder))?;
    }
    fs::write(place.join("var/lib/dpkg/status"), "")?;
    fs::write(place.join("dev/null"), "")?;
    fs::write(place.join("etc/passwd"), "root:x:0:0::/:/bin/sh\n")?;
    fs::write(place.join("etc/group"), "root:x:0:\n")?;
    fs::write(place.join("etc/gshadow"), "root:*::\n")?;
    fs::write(place.join("etc/nsswitch.conf"), "passwd: files\ngroup: files\n")?;
    fs::write(place.join("etc/login.defs"), "SYS_GID_MIN 100\nSYS_GID_MAX 999\n")
}

fn dpkg(place: &Path, action: &str, what: &str) -> Result<String, String> {
    let mut dpkg = Command::new("dpkg");
    dpkg.arg(format!("--root={}", place.display())).args([action, what]);
    output(&mut dpkg).map_err(|why| format!("dpkg {action}: {why}"))
}

/// Every user has the program; only members of the group listen.
pub(super) fn tried(root: &Root<'_>, place: &Path, release: &Release) -> Result<(), Outcome> {
    smoke(&root.by(USER, USER), "/usr/bin/tidewire", release)?;
    let group = capable(place)?;
    let listen = ["/usr/bin/tidewire", "capture", "-i", "lo", "--tap", "-t", "100ms", "-w", "-"];
    root.by(USER, group).run(&listen)?;
    let why = root.by(USER, USER).refused(&listen)?;
    if !why.contains("group tidewire") {
        return Err(Outcome::Failed(format!("a user outside the group gets no fix: {why}")));
    }
    Ok(())
}

/// Checks owner, mode and capability of the helper; returns the number of its group.
pub(super) fn capable(place: &Path) -> Result<u32, String> {
    let groups = fs::read_to_string(place.join("etc/group")).map_err(|error| error.to_string())?;
    let line = groups.lines().find_map(|line| line.strip_prefix("tidewire:"));
    let group = line.and_then(|line| line.split(':').nth(1)?.parse().ok());
    let group: u32 = group.ok_or("there is no group tidewire")?;
    let tap = place.join("usr/bin/tidewire-tap");
    let mode = output(Command::new("stat").args(["--format=%u:%g %a"]).arg(&tap))?;
    if mode != format!("0:{group} 750") {
        return Err(format!("tidewire-tap: owner and mode {mode}"));
    }
    let capability = output(Command::new("getcap").arg(&tap))?;
    if !capability.ends_with(" cap_net_raw=ep") {
        return Err(format!("tidewire-tap: {capability:?}"));
    }
    let program = place.join("usr/bin/tidewire");
    let none = output(Command::new("getcap").arg(program))?;
    if none.is_empty() { Ok(group) } else { Err(format!("{none}: the program itself needs none")) }
}

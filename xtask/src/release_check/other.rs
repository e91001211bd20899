//! Files for another architecture than this machine's: programs run in an emulator of its processor.

use super::roots::Root;
use super::{Outcome, Results, file, image, smoke, unpacked, wheel_of};
use crate::dist::Release;
use crate::dist::architecture::Architecture;
use crate::output;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Offset of the processor's number in an ELF file (System V ABI, chapter 4: `e_machine`).
const MACHINE: usize = 18;

/// Checks the files for an architecture.
pub(super) fn check(
    release: &Release,
    architecture: Architecture,
    place: &Path,
    results: &mut Results,
) {
    let name = |file: &str| format!("{file}, {}", architecture.name);
    let place = place.join(architecture.name);
    results.check(&name("archive"), archive(release, architecture, &place.join("archive")));
    results.check(&name("deb"), deb(release, architecture, &place));
    results.check(&name("image"), layer(release, architecture, &place));
    for family in ["manylinux", "musllinux"] {
        let found = wheel(release, architecture, family, &place.join(family));
        results.check(&name(&format!("wheel, {family}")), found);
    }
}

/// Static emulator of the processor on this machine.
fn emulator(architecture: Architecture) -> Result<PathBuf, Outcome> {
    let name = format!("qemu-{}-static", architecture.name);
    let search = format!("command -v {name}");
    let found = output(Command::new("sh").args(["-c", &search]));
    found.map(PathBuf::from).map_err(|_| Outcome::Skipped(format!("built, not run: no {name}")))
}

/// The programs of the archive run in an emulator.
fn archive(release: &Release, architecture: Architecture, place: &Path) -> Result<String, Outcome> {
    let folder = unpacked(release, architecture, place)?;
    let root = Root::of(&folder, release)?.emulated(&emulator(architecture)?)?;
    let seen = smoke(&root, "/tidewire", release)?;
    // The same scenario and seed give the same octets on every processor.
    let words = ["/tidewire", "predict", "substation", "-n", "2", "--json", "--no-save"];
    let there = root.run(&words)?;
    let own = unpacked(release, super::own(), &place.with_file_name("own"))?;
    let here = Root::of(&own, release)?.run(&words)?;
    if there != here {
        return Err(Outcome::Failed("predict substation has other octets than here".to_owned()));
    }
    Ok(format!("{seen} in an emulator; {} octets of predict are equal", here.len()))
}

/// The package names its architecture, and has the program of the archive.
fn deb(release: &Release, architecture: Architecture, place: &Path) -> Result<String, Outcome> {
    let name = file(release, &format!("_{}.deb", architecture.packaged))?;
    let path = release.path(&name);
    let told = output(Command::new("dpkg-deb").arg("--field").arg(&path).arg("Architecture"))?;
    let folder = place.join("deb");
    output(Command::new("dpkg-deb").arg("--extract").arg(&path).arg(&folder))?;
    let of_archive = place.join(format!("archive/tidewire-{}/tidewire", release.version));
    let read = |path: &Path| fs::read(path).map_err(|it| format!("{}: {it}", path.display()));
    let is_same = read(&folder.join("usr/bin/tidewire"))? == read(&of_archive)?;
    match told == architecture.packaged && is_same {
        true => Ok(format!("{name} has the program of the archive; it is not installed here")),
        false => Err(Outcome::Failed(format!("{name} is for {told}, or has another program"))),
    }
}

/// The program of the image runs in an emulator.
fn layer(release: &Release, architecture: Architecture, place: &Path) -> Result<String, Outcome> {
    let name = file(release, &format!("-{}-oci.tar", architecture.packaged))?;
    let image = image::unpack(release, &name, architecture.packaged, &place.join("oci"))?;
    let root = Root::of(&image.layer, release)?.emulated(&emulator(architecture)?)?;
    let seen = smoke(&root.by(65_534, 65_534), &image.entry, release)?;
    Ok(format!("{seen} in an emulator, as user 65534"))
}

/// The module and the command of a wheel are for the processor.
pub(super) fn wheel(
    release: &Release,
    architecture: Architecture,
    family: &str,
    place: &Path,
) -> Result<String, Outcome> {
    const AARCH64: u16 = 183;
    const X86_64: u16 = 62;
    let name = wheel_of(release, architecture, family)?;
    let unpack = "import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])";
    output(Command::new("python3").args(["-c", unpack]).arg(release.path(&name)).arg(place))?;
    let expected = if architecture.name == "aarch64" { AARCH64 } else { X86_64 };
    let command = format!("tidewire-{}.data/scripts/tidewire", release.version);
    for path in ["tidewire/_tidewire.abi3.so", &command].map(|path| place.join(path)) {
        let octets = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let machine = octets.get(MACHINE..MACHINE + 2).map(|it| u16::from_le_bytes([it[0], it[1]]));
        if machine != Some(expected) {
            let why = format!("{}: for processor {machine:?}", path.display());
            return Err(Outcome::Failed(why));
        }
    }
    Ok(format!("{name}: module and command are for this processor; built, not run"))
}

//! `cargo xtask release-check`: installs each file of a release in a clean root, and tries it.
//!
//! The clean root of the archive and of the image holds nothing but their files: a program that needed
//! a library, a shell or a configuration of this machine would fail. That of the package has the few
//! tools that its script calls. Nothing outside `target/release-check` is written.

mod deb;
mod image;
mod other;
mod roots;
mod rpm;

use crate::ci::python::{Trouble, notebooks};
use crate::dist::architecture::Architecture;
use crate::dist::{Release, names, sha256, signature};
use crate::output;
use roots::{Root, fresh};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Page that has the last output.
const PAGE: &str = "docs/verification.md";
/// Line above the output.
const ABOVE: &str = "The last output of `cargo xtask release-check`:\n\n```text\n";
/// Capture that programs are tried on.
const CAPTURE: &str = "captures/cell.pcapng";

/// Results of the checks, line by line.
#[derive(Default)]
struct Results {
    lines: Vec<String>,
    failed: usize,
}

impl Results {
    /// Prints the result of a check, and keeps its line.
    fn check(&mut self, name: &str, result: Result<String, Outcome>) {
        let line = match result {
            Ok(seen) => format!("ok       {name}: {seen}"),
            Err(Outcome::Skipped(why)) => format!("skipped: {name}: {why}"),
            Err(Outcome::Failed(why)) => {
                self.failed += 1;
                format!("failed   {name}: {why}")
            }
        };
        println!("   {line}");
        self.lines.push(line);
    }
}

/// Reason why a check has no good result.
enum Outcome {
    /// It cannot be made here.
    Skipped(String),
    /// The file is not as it should be.
    Failed(String),
}

impl From<String> for Outcome {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

/// Checks all files; with `is_kept` the output replaces that in `docs/verification.md`.
pub(crate) fn run(root: &Path, is_kept: bool) -> Result<(), String> {
    let release = Release::of(root)?;
    let place = root.join("target/release-check");
    fresh(&place)?;
    let mut results = Results::default();
    results.check("sums", sums(&release));
    results.check("signature", signed(&release));
    results.check("archive", archive(&release, &place.join("archive")));
    results.check("deb", deb::check(&release, &place.join("deb")));
    results.check("rpm", rpm::check(&release, &place.join("rpm")));
    results.check("image", image::check(&release, &place.join("image")));
    results.check("wheel", wheel(&release, &place.join("wheel")));
    for architecture in Architecture::all() {
        let name = format!("bill of materials, {}", architecture.name);
        results.check(&name, bill(&release, architecture));
        if architecture.is_own() {
            let place = place.join("musllinux");
            let found = other::wheel(&release, architecture, "musllinux", &place);
            results.check("wheel, musllinux", found);
        } else {
            other::check(&release, architecture, &place, &mut results);
        }
    }
    let date = output(Command::new("date").args(["-u", "+%F"]))?;
    let head = format!("{date}, commit {}, version {}", commit(&release), release.version);
    println!("   {head}");
    if is_kept {
        keep(root, &format!("{head}\n{}\n", results.lines.join("\n")))?;
    }
    if results.failed == 0 { Ok(()) } else { Err(format!("{} checks failed", results.failed)) }
}

/// Commit that the files were made from, which may be older than the one that checks them.
fn commit(release: &Release) -> String {
    let made = || -> Option<String> {
        let text = fs::read_to_string(
            release
                .path(&file(release, &format!("{}-unknown-linux-musl.cdx.json", own().name)).ok()?),
        )
        .ok()?;
        let bill: serde_json::Value = serde_json::from_str(&text).ok()?;
        let properties = bill["metadata"]["properties"].as_array()?;
        let found = properties.iter().find(|it| it["name"] == "commit")?;
        found["value"].as_str().map(str::to_owned)
    };
    made().unwrap_or_else(|| "unknown".to_owned())
}

/// Replaces the output on the page.
fn keep(root: &Path, lines: &str) -> Result<(), String> {
    let path = root.join(PAGE);
    let text = fs::read_to_string(&path).map_err(|error| format!("{PAGE}: {error}"))?;
    let parts = text.split_once(ABOVE).and_then(|(before, rest)| {
        let (_, after) = rest.split_once("```\n")?;
        Some((before, after))
    });
    let (before, after) = parts.ok_or(format!("{PAGE}: no place for the output"))?;
    fs::write(&path, format!("{before}{ABOVE}{lines}```\n{after}"))
        .map_err(|error| format!("{PAGE}: {error}"))
}

/// This machine's architecture.
fn own() -> Architecture {
    Architecture::all()[0]
}

/// The only file of a release with this end of its name.
fn file(release: &Release, end: &str) -> Result<String, Outcome> {
    let names = names(&release.folder).unwrap_or_default();
    let found = names.into_iter().find(|name| name.ends_with(end));
    found.ok_or_else(|| Outcome::Skipped(format!("no {end} in target/packages: cargo xtask dist")))
}

/// Every file is in the list of sums, with its own.
fn sums(release: &Release) -> Result<String, Outcome> {
    let name = file(release, "SHA256SUMS")?;
    let list = fs::read_to_string(release.path(&name)).map_err(|error| error.to_string())?;
    let mut seen = 0;
    for name in names(&release.folder).unwrap_or_default() {
        if name.starts_with("SHA256SUMS") {
            continue;
        }
        let octets = fs::read(release.path(&name)).map_err(|error| error.to_string())?;
        if !list.lines().any(|line| line == format!("{}  {name}", sha256(&octets))) {
            return Err(Outcome::Failed(format!("{name} is not as listed")));
        }
        seen += 1;
    }
    Ok(format!("{seen} files are as listed"))
}

/// The sums are signed with the key that was named.
fn signed(release: &Release) -> Result<String, Outcome> {
    let key = std::env::var_os(signature::KEY)
        .ok_or_else(|| Outcome::Skipped(format!("{} names no key", signature::KEY)))?;
    signature::verify(&release.path("SHA256SUMS"), Path::new(&key))?;
    Ok("the sums are signed, and the signature is that of the key".to_owned())
}

/// The programs run where nothing else is.
fn archive(release: &Release, place: &Path) -> Result<String, Outcome> {
    let folder = unpacked(release, own(), place)?;
    let root = Root::of(&folder, release)?;
    let seen = smoke(&root, "/tidewire", release)?;
    let pages = names(&folder.join("man")).map_or(0, |names| names.len());
    if pages < 20 {
        return Err(Outcome::Failed(format!("{pages} manual pages")));
    }
    Ok(format!("{seen}; {pages} manual pages"))
}

/// Folder of the unpacked archive for an architecture.
fn unpacked(
    release: &Release,
    architecture: Architecture,
    place: &Path,
) -> Result<PathBuf, Outcome> {
    let name = file(release, &format!("{}-unknown-linux-musl.tar.gz", architecture.name))?;
    fresh(place)?;
    output(Command::new("tar").arg("-xzf").arg(release.path(&name)).arg("-C").arg(place))?;
    Ok(place.join(format!("tidewire-{}", release.version)))
}

/// Tries a program: version, help of a verb, a prediction that passes, a capture, the demo.
fn smoke(root: &Root<'_>, program: &str, release: &Release) -> Result<String, Outcome> {
    let version = root.run(&[program, "--version"])?;
    if version != format!("tidewire {}", release.version) {
        return Err(Outcome::Failed(format!("--version: {version}")));
    }
    let predicted = root.run(&[program, "predict", "substation", "--no-save"])?;
    if !predicted.lines().any(|line| line == "verdict  pass (4 of 4)") {
        return Err(Outcome::Failed("predict substation has no verdict of the README".to_owned()));
    }
    let watched = root.run(&[program, "watch", "-r", "/capture.pcapng"])?;
    if !watched.contains("5 of 293 DTs were retransmitted") {
        return Err(Outcome::Failed("watch has other numbers than the README".to_owned()));
    }
    root.run(&[program, "demo", "--no-save"])?;
    Ok("version, predict, watch and demo work".to_owned())
}

/// Wheel for an architecture and a family of C libraries: `manylinux` or `musllinux`.
fn wheel_of(
    release: &Release,
    architecture: Architecture,
    family: &str,
) -> Result<String, Outcome> {
    let names = names(&release.folder).unwrap_or_default();
    let end = format!("_{}.whl", architecture.name);
    let found = names.into_iter().find(|name| name.ends_with(&end) && name.contains(family));
    found.ok_or_else(|| Outcome::Skipped(format!("no {family} {end}: cargo xtask dist")))
}

/// The wheel is installed in a new environment without a network, and its tests pass.
fn wheel(release: &Release, place: &Path) -> Result<String, Outcome> {
    let name = wheel_of(release, own(), "manylinux")?;
    if output(Command::new("python3").args(["-m", "venv"]).arg(place)).is_err() {
        return Err(Outcome::Skipped("no Python with venv".to_owned()));
    }
    let python = place.join("bin/python");
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]);
    output(install.arg(release.path(&name)))?;
    let program =
        place.with_file_name("archive").join(format!("tidewire-{}/tidewire", release.version));
    let mut test = Command::new(&python);
    test.arg(release.root.join("crates/python/tests/test_tidewire.py")).current_dir(place);
    let results = output(test.env("TIDEWIRE", program))?;
    let skipped = results.lines().filter(|line| line.starts_with("skipped: ")).count();
    for words in [&["bin/tidewire"][..], &["bin/python", "-m", "tidewire"]] {
        let [program, arguments @ ..] = words else { continue };
        let version = output(Command::new(place.join(program)).args(arguments).arg("--version"))?;
        if version != format!("tidewire {}", release.version) {
            return Err(Outcome::Failed(format!("{}: {version}", words.join(" "))));
        }
    }
    let notebooks = match notebooks(&release.root, place) {
        Ok(run) => format!("notebooks run: {run}"),
        Err(Trouble::Skipped(why)) => why,
        Err(Trouble::Failed(why)) => return Err(Outcome::Failed(why)),
    };
    Ok(format!(
        "{name} is installed, has the command, its tests pass, {skipped} skipped; {notebooks}"
    ))
}

/// The bill names the linked crates with their sums.
fn bill(release: &Release, architecture: Architecture) -> Result<String, Outcome> {
    let name = file(release, &format!("{}-unknown-linux-musl.cdx.json", architecture.name))?;
    let text = fs::read_to_string(release.path(&name)).map_err(|error| error.to_string())?;
    let bill: serde_json::Value = serde_json::from_str(&text).map_err(|it| it.to_string())?;
    let components = bill["components"].as_array().cloned().unwrap_or_default();
    let is_ours = |it: &&serde_json::Value| {
        it["name"].as_str().is_some_and(|name| name.starts_with("tidewire"))
    };
    let without = components.iter().filter(|it| it["hashes"].is_null());
    if let Some(found) = without.clone().find(|it| !is_ours(it)) {
        return Err(Outcome::Failed(format!("{} has no sum", found["name"])));
    }
    let ours = components.iter().filter(is_ours).count();
    let others = components.len() - ours;
    if ours < 5 || others < 20 {
        return Err(Outcome::Failed(format!("{ours} crates of ours, {others} others")));
    }
    Ok(format!("{ours} crates of ours, {others} others with their sums"))
}

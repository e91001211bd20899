//! `cargo xtask dist`: everything that a release consists of, in `target/packages`.
//!
//! The program is linked statically with musl, so that one file runs on every Linux of its
//! architecture: this machine's, and the other one if Rust's libraries for it are here. All archives
//! have the time of the commit and names in one order, so that they differ only where their files do.
//! Only the modules of the wheels link to the system's libc.

pub(crate) mod architecture;
mod archive;
mod deb;
mod image;
mod rpm;
mod sbom;
pub(crate) mod signature;
mod tools;
mod wheel;

use crate::output;
use architecture::Architecture;
use sha2::{Digest as _, Sha256};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use tools::Tools;

/// Programs of a release, and the crates that they come from.
const PROGRAMS: [&str; 2] = ["tidewire", "tidewire-tap"];
/// Features of the programs.
const FEATURES: &str = "tidewire/allocator";
/// Shells, each with the name of its file of completions.
const SHELLS: [(&str, &str); 3] =
    [("bash", "tidewire"), ("zsh", "_tidewire"), ("fish", "tidewire.fish")];

/// The release that is made.
pub(crate) struct Release {
    /// Version of the workspace.
    pub(crate) version: String,
    /// Name of the commit, with `-dirty` if files differ from it.
    pub(crate) commit: String,
    /// Time of the commit, in seconds since the epoch.
    pub(crate) time: u64,
    /// Folder of its files.
    pub(crate) folder: PathBuf,
    /// Top folder of the workspace.
    pub(crate) root: PathBuf,
}

/// File of an archive or a package.
pub(crate) struct Entry {
    /// Path without a leading slash.
    pub(crate) path: String,
    /// Permission bits.
    pub(crate) mode: u32,
    /// Contents; none of a folder.
    pub(crate) octets: Option<Vec<u8>>,
}

impl Entry {
    /// A file that may be read, and executed if its mode says so.
    pub(crate) fn file(path: impl Into<String>, mode: u32, octets: Vec<u8>) -> Self {
        Self { path: path.into(), mode, octets: Some(octets) }
    }

    /// A folder.
    pub(crate) fn folder(path: impl Into<String>, mode: u32) -> Self {
        Self { path: path.into(), mode, octets: None }
    }
}

/// Makes all files of a release; what cannot be made here is printed as skipped.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let release = Release::of(root)?;
    let tools = Tools::fetch(&release)?;
    if release.folder.exists() {
        fs::remove_dir_all(&release.folder).map_err(|error| named("target/packages", &error))?;
    }
    fs::create_dir_all(&release.folder).map_err(|error| named("target/packages", &error))?;
    let mut documents = None;
    for architecture in Architecture::all() {
        let target = architecture.target();
        match architecture.lack(&target) {
            Some(lack) if architecture.is_own() => return Err(lack),
            Some(lack) => println!("   skipped: {}: {lack}", architecture.name),
            None => {
                let programs = build(&release, architecture, &tools)?;
                // This machine runs its own programs only; what they print of themselves is the same.
                let documents = match &documents {
                    Some(documents) => documents,
                    None => documents.insert(Documents::of(&release, &target)?),
                };
                let built = Built { architecture, programs, documents };
                archive(&release, &built)?;
                deb::make(&release, &built)?;
                rpm::make(&release, &built)?;
                image::make(&release, &built)?;
                sbom::make(&release, &target)?;
                wheel::make(&release, &built, &tools)?;
            }
        }
    }
    sums(&release)?;
    signature::make(&release)
}

fn named(what: &str, error: &dyn core::fmt::Display) -> String {
    format!("{what}: {error}")
}

impl Release {
    /// Release of the workspace as it is.
    pub(crate) fn of(root: &Path) -> Result<Self, String> {
        let manifest = fs::read_to_string(root.join("Cargo.toml")).map_err(|it| it.to_string())?;
        let manifest: toml::Table =
            manifest.parse().map_err(|error| named("Cargo.toml", &error))?;
        let version = manifest["workspace"]["package"]["version"].as_str();
        let git = |words: &[&str]| output(Command::new("git").current_dir(root).args(words));
        let time = git(&["log", "-1", "--format=%ct"])?;
        Ok(Self {
            version: version.ok_or("Cargo.toml: no version of the workspace")?.to_owned(),
            commit: git(&["describe", "--always", "--dirty", "--abbrev=10", "--exclude", "*"])?,
            time: time.parse().map_err(|error| named("git log", &error))?,
            // Not target/dist, where cargo keeps what the profile of that name makes for this machine.
            folder: root.join("target/packages"),
            root: root.to_owned(),
        })
    }

    /// Path of a file of the release.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes a file of the release, and prints its name and size.
    fn write(&self, name: &str, octets: &[u8]) -> Result<(), String> {
        fs::write(self.path(name), octets).map_err(|error| named(name, &error))?;
        println!("   {name}: {} KB", octets.len().div_ceil(1_000));
        Ok(())
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        fs::read(self.root.join(path)).map_err(|error| named(path, &error))
    }
}

/// Documents that the program prints of itself.
struct Documents {
    manual: Vec<(String, Vec<u8>)>,
    completions: Vec<(&'static str, Vec<u8>)>,
}

/// Programs for an architecture, with their documents.
struct Built<'a> {
    architecture: Architecture,
    programs: Vec<(&'static str, Vec<u8>)>,
    documents: &'a Documents,
}

/// Folder of the programs for a target.
fn folder_of(release: &Release, target: &str) -> PathBuf {
    release.root.join("target").join(target).join("dist")
}

fn build(
    release: &Release,
    architecture: Architecture,
    tools: &Tools,
) -> Result<Vec<(&'static str, Vec<u8>)>, String> {
    let target = architecture.target();
    println!("   cargo zigbuild --profile dist --target {target}");
    let mut command = tools.cargo(release, &["zigbuild", "--profile", "dist", "--locked"]);
    command.args(["--target", &target, "--features", FEATURES]);
    command.args(PROGRAMS.iter().flat_map(|name| ["-p", name]));
    command.env("TIDEWIRE_COMMIT", &release.commit);
    // Otherwise Zig links for a fixed address.
    command.env("RUSTFLAGS", "-C link-arg=-pie");
    if !command.status().is_ok_and(|status| status.success()) {
        return Err(format!("the programs for {target} cannot be built"));
    }
    let folder = folder_of(release, &target);
    let read = |name: &&'static str| -> Result<_, String> {
        let octets = fs::read(folder.join(name)).map_err(|error| named(name, &error))?;
        Ok((*name, octets))
    };
    let programs = PROGRAMS.iter().map(read).collect::<Result<Vec<_>, String>>()?;
    for (name, octets) in &programs {
        if has_interpreter(octets) {
            return Err(format!("{name} is not static: it names a dynamic linker"));
        }
        if !is_position_independent(octets) {
            return Err(format!("{name} is at the same address in each run"));
        }
    }
    Ok(programs)
}

impl Documents {
    /// Manual pages and completions that the program for a target, which runs here, prints.
    fn of(release: &Release, target: &str) -> Result<Self, String> {
        let program = folder_of(release, target).join("tidewire");
        let pages = release.root.join("target/manual");
        let _ = fs::remove_dir_all(&pages);
        output(Command::new(&program).arg("man").arg("--output").arg(&pages))?;
        let mut manual = Vec::new();
        for entry in fs::read_dir(&pages).map_err(|error| named("man", &error))?.flatten() {
            let octets = fs::read(entry.path()).map_err(|error| named("man", &error))?;
            manual.push((entry.file_name().to_string_lossy().into_owned(), octets));
        }
        manual.sort();
        let completions = SHELLS.iter().map(|(shell, file)| {
            let text = output(Command::new(&program).args(["completions", shell]))?;
            Ok((*file, (text + "\n").into_bytes()))
        });
        Ok(Self { manual, completions: completions.collect::<Result<_, String>>()? })
    }
}

/// True of a little-endian ELF file of type ET_DYN, which may be at any address (System V ABI,
/// chapter 4).
fn is_position_independent(elf: &[u8]) -> bool {
    elf.get(16..18) == Some(&[3, 0])
}

/// True of a 64-bit ELF file with a program header PT_INTERP (System V ABI, chapter 5).
fn has_interpreter(elf: &[u8]) -> bool {
    const PT_INTERP: u32 = 3;
    let number = |at: usize, octets: usize| -> u64 {
        let field = elf.get(at..at + octets).unwrap_or_default();
        field.iter().rev().fold(0, |number, octet| number << 8 | u64::from(*octet))
    };
    let (table, size, count) = (number(32, 8) as usize, number(54, 2) as usize, number(56, 2));
    (0..count as usize).any(|place| number(table + place * size, 4) == u64::from(PT_INTERP))
}

/// The programs with their documents, to be unpacked anywhere.
fn archive(release: &Release, built: &Built<'_>) -> Result<(), String> {
    let top = format!("tidewire-{}", release.version);
    let mut entries: Vec<Entry> = vec![Entry::folder(&top, 0o755)];
    let programs = built.programs.iter().map(|(name, octets)| (name, octets));
    entries
        .extend(programs.map(|(name, it)| Entry::file(format!("{top}/{name}"), 0o755, it.clone())));
    for name in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        entries.push(Entry::file(format!("{top}/{name}"), 0o644, release.read(name)?));
    }
    let manual = built.documents.manual.iter().map(|(name, it)| (format!("{top}/man/{name}"), it));
    let completions = built
        .documents
        .completions
        .iter()
        .map(|(name, it)| (format!("{top}/completions/{name}"), it));
    entries.push(Entry::folder(format!("{top}/man"), 0o755));
    entries.push(Entry::folder(format!("{top}/completions"), 0o755));
    let files = manual.chain(completions);
    entries.extend(files.map(|(path, it)| Entry::file(path, 0o644, it.clone())));
    let archive = archive::gzip(&archive::tar(&entries, release.time)?)?;
    release.write(&format!("{top}-{}.tar.gz", built.architecture.target()), &archive)
}

/// SHA-256 of octets in hexadecimal.
pub(crate) fn sha256(octets: &[u8]) -> String {
    Sha256::digest(octets).iter().map(|octet| format!("{octet:02x}")).collect()
}

/// Names of the files of a release, sorted.
pub(crate) fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = fs::read_dir(folder)?.flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

/// Sums of all files, in the form of `sha256sum`.
fn sums(release: &Release) -> Result<(), String> {
    let mut text = String::new();
    for name in names(&release.folder).map_err(|error| named("target/packages", &error))? {
        let octets = fs::read(release.path(&name)).map_err(|error| named(&name, &error))?;
        text += &format!("{}  {name}\n", sha256(&octets));
    }
    release.write("SHA256SUMS", text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_the_standard() {
        // FIPS 180-2, B.1.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), expected);
    }

    #[test]
    fn a_program_for_a_fixed_address_is_not_position_independent() {
        let typed = |kind| [&[0; 16][..], &[kind, 0]].concat();
        assert!(is_position_independent(&typed(3)) && !is_position_independent(&typed(2)));
        assert!(!is_position_independent(&[]));
    }

    #[test]
    fn a_program_that_names_a_linker_is_not_static() {
        let mut elf = vec![0; 64 + 56];
        elf[32] = 64;
        (elf[54], elf[56]) = (56, 1);
        assert!(!has_interpreter(&elf));
        elf[64] = 3;
        assert!(has_interpreter(&elf));
        assert!(!has_interpreter(&[]));
    }
}

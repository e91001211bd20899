//! Result folder: the scenario, the provenance of the numbers, and a line for each run.
//!
//! ```text
//! runs/2026-11-21T10-04-07-status-csma/
//!     scenario.toml      as it was read
//!     effective.toml     as it ran: merged, defaults filled in, with the origin of each value
//!     mine.toml          copies of the profile and SCL files that it names
//!     run.json           program, seed, machine: see [`Provenance`]
//!     samples.ndjson     a line for each run; the last one records the end
//! ```
//!
//! Every line is on disk before the next run ends, and the last line is written in all cases except
//! a failure of the machine.

use crate::profile::Files;
use crate::run::Shard;
use crate::sample::{End, Line, Sample};
use crate::scenario::{NamedFile, Study};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Seek as _, Write};
use std::path::{Component, Path, PathBuf};

/// Provenance of the numbers of a folder.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Provenance {
    /// Title of the scenario.
    pub title: String,
    /// Command line, word by word.
    pub command: Vec<String>,
    /// Hash of the scenario's text, as in the samples.
    pub scenario_hash: String,
    /// Seed from which all randomness derives.
    #[serde(with = "crate::seed")]
    pub seed: u64,
    /// Version of the program.
    pub program_version: String,
    /// Start time, as in the folder's name.
    pub started: String,
    /// Machine: kernel, processor, operating system, ports, as determined by the caller.
    pub host: BTreeMap<String, String>,
    /// Profiles of simulated stations and files of titles, by their names in the scenario.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub profiles: BTreeMap<String, UsedProfile>,
    /// Copies of the SCL files of simulated servers, by their names in the scenario.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, String>,
    /// Keys that the command line set after the scenario was read, and the option that set each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// Part of the runs that the folder has; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The folders from which this one was merged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
}

/// Folder that was merged into another.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Part {
    /// Its shard, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// Start time of its runs, as in its name.
    pub started: String,
    /// Machine that made them.
    pub host: BTreeMap<String, String>,
}

/// Profile used by stations.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct UsedProfile {
    /// Title.
    pub title: String,
    /// Copy of its file in the folder; `None` for a built-in profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<String>,
}

/// Key of [`Provenance::host`]: latest wake of the measuring program before its runs.
pub const LATEST_WAKE: &str = "latest_wake_ns";

impl Provenance {
    /// Noise of the host that measured: its latest wake before the runs. `None` if it was not
    /// recorded, as for simulated runs.
    #[must_use]
    pub fn host_noise_ns(&self) -> Option<u64> {
        self.host.get(LATEST_WAKE)?.parse().ok()
    }

    /// Profiles, titles and SCL files of a run folder.
    #[must_use]
    pub fn copies(&self, folder: &Path) -> Files {
        let copy = |used: &UsedProfile| used.copy.as_ref().map(|copy| folder.join(copy));
        let copies =
            self.profiles.iter().filter_map(|(name, used)| Some((name.clone(), copy(used)?)));
        let models = self.models.iter().map(|(name, copy)| (name.clone(), folder.join(copy)));
        Files::Copies(copies.chain(models).collect())
    }
}

/// Folders of copies of files from other folders.
const COPIES: [&str; 2] = ["profile-copies", "model-copies"];
/// Files that the writer itself makes in a run folder.
const OWN: [&str; 4] = ["scenario.toml", EFFECTIVE, "run.json", "samples.ndjson"];
/// The scenario as it ran, defaults filled in, with the origin of each value.
const EFFECTIVE: &str = "effective.toml";

/// Profiles of a study's stations, titles of its directory and scenarios that it extends, in the form of
/// [`Provenance`]. A file within the scenario's
/// folder is copied to the same relative path in the run folder, so that the scenario there can be
/// run unchanged; other files go into the folder `profile-copies`.
#[must_use]
pub fn used_profiles(study: &Study) -> BTreeMap<String, UsedProfile> {
    let machines = study.points.iter().flat_map(|point| point.scenario.machines.iter());
    let titles: BTreeMap<&str, &str> =
        machines.map(|(name, profile)| (name.as_str(), profile.title.as_str())).collect();
    let used = titles.into_iter().enumerate().map(|(index, (name, title))| {
        let is_file = study.profiles.contains_key(name);
        let copy = is_file.then(|| place_of_copy("profile-copies", index + 1, name));
        (name.to_owned(), UsedProfile { title: title.to_owned(), copy })
    });
    let first = used.len() + 1;
    let of_titles = study.titles.keys().enumerate().map(|(index, name)| {
        let copy = Some(place_of_copy("profile-copies", first + index, name));
        (name.clone(), UsedProfile { title: "titles of a directory".to_owned(), copy })
    });
    let first = first + study.titles.len();
    let of_bases = study.bases.iter().enumerate().map(|(index, (name, base))| {
        // A built-in scenario may differ in another version.
        let copy = match &base.path {
            Some(_) => place_of_copy("profile-copies", first + index, name),
            None => format!("profile-copies/{}-{name}.toml", first + index),
        };
        (name.clone(), UsedProfile { title: "extended scenario".to_owned(), copy: Some(copy) })
    });
    used.chain(of_titles).chain(of_bases).collect()
}

/// Copies of the SCL files of a study's servers, in the form of [`Provenance`], like [`used_profiles`]
/// with the folder `model-copies`.
#[must_use]
pub fn used_models(study: &Study) -> BTreeMap<String, String> {
    let names = study.models.keys().enumerate();
    let copies =
        names.map(|(index, name)| (name.clone(), place_of_copy("model-copies", index + 1, name)));
    copies.collect()
}

/// Path of the copy of a file in the run folder.
fn place_of_copy(folder: &str, index: usize, name: &str) -> String {
    let path = Path::new(name);
    let is_within = path.components().all(|part| matches!(part, Component::Normal(_)));
    let is_of_copies = COPIES.into_iter().any(|folder| path.starts_with(folder));
    if is_within && !OWN.contains(&name) && !is_of_copies {
        return name.to_owned();
    }
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    format!("{folder}/{index}-{file}")
}

/// Hash of a scenario's text: FNV-1a with 128 bits, hexadecimal.
#[must_use]
pub fn hash(scenario_text: &str) -> String {
    format!("{:032x}", stats::rng::fnv1a_128(scenario_text.bytes()))
}

/// Hash of a scenario's text and of the files that it names, in their order.
#[must_use]
pub fn hash_of(study: &Study) -> String {
    let mut all = study.source.file_text().as_bytes().to_vec();
    for NamedFile { name, octets, .. } in study.files() {
        all.extend_from_slice(format!("\0{name}\0").as_bytes());
        all.extend_from_slice(octets);
    }
    format!("{:032x}", stats::rng::fnv1a_128(all))
}

/// Writer of samples, which writes the last line even if it is dropped.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: Option<W>,
}

impl<W: Write> Writer<W> {
    /// Creates a writer to `out`.
    pub const fn new(out: W) -> Self {
        Self { out: Some(out) }
    }

    /// Writes a sample as one line.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn sample(&mut self, sample: &Sample) -> io::Result<()> {
        self.line(&Line::Sample(Box::new(sample.clone())))
    }

    /// Writes the last line and returns the output.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn end(mut self, end: End) -> io::Result<Option<W>> {
        self.line(&Line::End(end))?;
        Ok(self.out.take())
    }

    fn line(&mut self, line: &Line) -> io::Result<()> {
        let Some(out) = &mut self.out else { return Ok(()) };
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        out.write_all(text.as_bytes())?;
        out.flush()
    }
}

impl<W: Write> Drop for Writer<W> {
    fn drop(&mut self) {
        let error = Some("stopped before its end".to_owned());
        // An error cannot be reported from `drop`; a folder without its last line is read as cut
        // off.
        let _ = self.line(&Line::End(End { complete: false, error }));
    }
}

/// Result folder being written.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    writer: Writer<File>,
    /// Mark of a folder of runs that was made for this one.
    has_made_root: bool,
}

impl Folder {
    /// Creates `root/STARTED-NAME`, with a number appended if that exists, and writes everything
    /// but the samples.
    ///
    /// # Errors
    /// Fails if the folder or a file in it cannot be created.
    pub fn create(
        root: &Path,
        name: &str,
        study: &Study,
        provenance: &Provenance,
    ) -> io::Result<Self> {
        let has_made_root = !root.exists();
        let path = make(root, &format!("{}-{}", provenance.started, plain(name)))?;
        fs::write(path.join("scenario.toml"), study.source.file_text())?;
        if !study.points.is_empty() {
            fs::write(path.join(EFFECTIVE), study.annotated(&provenance.set))?;
        }
        for file in study.files() {
            // One SCL file may hold both titles and servers.
            let of_profile = provenance.profiles.get(file.name).and_then(|it| it.copy.as_ref());
            for copy in of_profile.into_iter().chain(provenance.models.get(file.name)) {
                write_copy(&path.join(copy), file.octets)?;
            }
        }
        let mut text = serde_json::to_string_pretty(provenance)?;
        text.push('\n');
        fs::write(path.join("run.json"), text)?;
        let writer = Writer::new(File::create_new(path.join("samples.ndjson"))?);
        Ok(Self { path, writer, has_made_root })
    }

    /// Reopens a folder, keeping its first `kept` samples: the later ones are truncated, and new
    /// samples follow.
    ///
    /// # Errors
    /// Fails if its samples cannot be read or written, or are fewer than `kept`.
    pub fn reopen(path: &Path, kept: usize) -> io::Result<Self> {
        let file = path.join("samples.ndjson");
        let text = fs::read(&file)?;
        let ends = text.iter().enumerate().filter(|(_, octet)| **octet == b'\n');
        let end = match kept.checked_sub(1) {
            None => Some(0),
            Some(last) => ends.map(|(place, _)| place + 1).nth(last),
        };
        let Some(end) = end else {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "there are fewer samples"));
        };
        let mut file = fs::OpenOptions::new().write(true).open(file)?;
        file.set_len(end as u64)?;
        file.seek(io::SeekFrom::End(0))?;
        let (path, writer) = (path.to_owned(), Writer::new(file));
        Ok(Self { path, writer, has_made_root: false })
    }

    /// Path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a sample.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn sample(&mut self, sample: &Sample) -> io::Result<()> {
        self.writer.sample(sample)
    }

    /// Removes the folder with all that it holds, and the folder of runs if it was made for this one.
    ///
    /// # Errors
    /// A folder that cannot be removed.
    pub fn discard(self) -> io::Result<()> {
        let Self { path, writer, has_made_root } = self;
        drop(writer);
        fs::remove_dir_all(&path)?;
        if has_made_root {
            // Fails where another process has begun a run there, which stays.
            let _ = path.parent().map(fs::remove_dir);
        }
        Ok(())
    }

    /// Writes the last line; returns the path of the folder.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn end(self, end: End) -> io::Result<PathBuf> {
        self.writer.end(end)?;
        Ok(self.path)
    }
}

fn write_copy(copy: &Path, octets: &[u8]) -> io::Result<()> {
    copy.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(copy, octets)
}

/// Creates a new folder of this name, or with a number behind it that is greater than any there, so that
/// folders of one name are in the order in which they were made, also after old ones were removed.
///
/// # Errors
/// Errors of the system, and `AlreadyExists` if a thousand others made the same name meanwhile.
pub fn make(root: &Path, name: &str) -> io::Result<PathBuf> {
    fs::create_dir_all(root)?;
    let number_of = |other: &str| match other.strip_prefix(name)? {
        "" => Some(1),
        number => number.strip_prefix('-')?.parse::<u64>().ok(),
    };
    let mut greatest = 0;
    for other in fs::read_dir(root)? {
        let number = other?.file_name().to_str().and_then(number_of);
        greatest = greatest.max(number.unwrap_or(0));
    }
    let first = greatest.saturating_add(1);
    for number in first..=first.saturating_add(999) {
        let name = if number == 1 { name.to_owned() } else { format!("{name}-{number}") };
        let path = root.join(name);
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "a thousand folders have this name"))
}

/// Replaces characters that have a meaning in paths.
#[must_use]
pub fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect()
}

/// Contents of a result file.
#[derive(Clone, PartialEq, Debug)]
pub struct Results {
    /// Samples in the order of the file.
    pub samples: Vec<Sample>,
    /// End of the study; also set for a file that was cut off.
    pub end: End,
}

/// Error in reading a result file.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be opened or read.
    #[error("cannot read {path}: {error}")]
    Io {
        /// File.
        path: PathBuf,
        /// System error.
        error: io::Error,
    },
    /// A line is malformed.
    #[error("{path}:{line}: {error}")]
    Line {
        /// File.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// Error of the line.
        error: serde_json::Error,
    },
}

/// Reads the provenance of a folder.
///
/// # Errors
/// Fails if its `run.json` cannot be read, or is malformed.
pub fn provenance(folder: &Path) -> Result<Provenance, ReadError> {
    let path = folder.join("run.json");
    let text =
        fs::read_to_string(&path).map_err(|error| ReadError::Io { path: path.clone(), error })?;
    serde_json::from_str(&text).map_err(|error| ReadError::Line { path, line: 1, error })
}

/// Reads a result folder, or a file of samples.
///
/// # Errors
/// Fails if it cannot be read, or if a line other than the last is malformed.
pub fn read(path: &Path) -> Result<Results, ReadError> {
    let path = if path.is_dir() { path.join("samples.ndjson") } else { path.to_owned() };
    let failed = |error| ReadError::Io { path: path.clone(), error };
    let file = BufReader::new(File::open(&path).map_err(failed)?);
    let mut results = Results {
        samples: Vec::new(),
        end: End { complete: false, error: Some("the file was cut off".to_owned()) },
    };
    let mut lines = file.lines().enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        let line = line.map_err(failed)?;
        match serde_json::from_str(&line) {
            Ok(Line::Sample(sample)) => results.samples.push(*sample),
            Ok(Line::End(end)) => results.end = end,
            // This line was being written when the machine failed.
            Err(_) if lines.peek().is_none() => {}
            Err(error) => return Err(ReadError::Line { path, line: index + 1, error }),
        }
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Origin;
    use crate::scenario::ModelFile;
    use crate::scenario::Source;
    use crate::titles::{Entries, TitlesFile};

    #[test]
    fn names_are_not_given_again() {
        let root = tempfile::tempdir().unwrap();
        let made = |name: &str| make(root.path(), name).unwrap().file_name().unwrap().to_owned();
        assert_eq!(["a", "a", "a-b", "a"].map(made), ["a", "a-2", "a-b", "a-3"]);
        fs::remove_dir(root.path().join("a")).unwrap();
        fs::remove_dir(root.path().join("a-2")).unwrap();
        assert_eq!(["a", "b"].map(made), ["a-4", "b"]);
    }

    fn sample(replication: u64) -> Sample {
        Sample {
            title: "test".to_owned(),
            scenario_hash: hash("version = 1"),
            program_version: "0.0.0".to_owned(),
            source: Origin::Predicted,
            point: 0,
            settings: BTreeMap::new(),
            replication,
            seed: 1,
            ended_at_ns: 5,
            complete: true,
            flows: Vec::new(),
            counts: BTreeMap::new(),
            machines: Vec::new(),
        }
    }

    fn provenance() -> Provenance {
        Provenance {
            title: "test".to_owned(),
            command: vec!["tidewire".to_owned(), "predict".to_owned()],
            scenario_hash: hash("version = 1"),
            seed: 1,
            program_version: "0.0.0".to_owned(),
            started: "2026-11-21T10-04-07".to_owned(),
            host: BTreeMap::new(),
            profiles: BTreeMap::new(),
            models: BTreeMap::new(),
            set: BTreeMap::new(),
            shard: None,
            parts: Vec::new(),
        }
    }

    /// A study of which only the text is written.
    fn study() -> Study {
        let source = Source::new("a.toml", "version = 1");
        let profiles = BTreeMap::new();
        let (titles, models) = (BTreeMap::new(), BTreeMap::new());
        let (bases, origins) = (BTreeMap::new(), BTreeMap::new());
        let (points, warnings) = (Vec::new(), Vec::new());
        Study { source, points, profiles, titles, models, bases, origins, warnings }
    }

    #[test]
    fn a_folder_holds_the_scenario_the_samples_and_the_end() {
        let root = tempfile::tempdir().unwrap();
        let folder = |name| Folder::create(root.path(), name, &study(), &provenance()).unwrap();
        let mut first = folder("a/b c");
        first.sample(&sample(0)).unwrap();
        first.sample(&sample(1)).unwrap();
        let path = first.end(End { complete: true, error: None }).unwrap();
        assert_eq!(path.file_name().unwrap(), "2026-11-21T10-04-07-a-b-c");
        let results = read(&path).unwrap();
        assert_eq!(results.samples, [sample(0), sample(1)]);
        assert_eq!(results.end, End { complete: true, error: None });
        assert_eq!(fs::read_to_string(path.join("scenario.toml")).unwrap(), "version = 1");
        let text = fs::read_to_string(path.join("run.json")).unwrap();
        assert_eq!(serde_json::from_str::<Provenance>(&text).unwrap(), provenance());
        assert!(folder("a b c").path().ends_with("2026-11-21T10-04-07-a-b-c-2"));
    }

    #[test]
    fn a_file_with_titles_and_servers_has_a_copy_for_each() {
        let root = tempfile::tempdir().unwrap();
        let (name, path) = ("../plant.scd".to_owned(), PathBuf::from("../plant.scd"));
        let text = "<SCL/>".to_owned();
        let model = ModelFile { path: path.clone(), octets: text.clone().into_bytes() };
        let titles = TitlesFile { path, text, entries: Entries::default() };
        let study = Study {
            titles: BTreeMap::from([(name.clone(), titles)]),
            models: BTreeMap::from([(name.clone(), model)]),
            ..study()
        };
        let (profiles, models) = (used_profiles(&study), used_models(&study));
        let copies = [profiles[&name].copy.clone().unwrap(), models[&name].clone()];
        let provenance = Provenance { profiles, models, ..provenance() };
        let folder = Folder::create(root.path(), "x", &study, &provenance).unwrap();
        let read = copies.map(|copy| fs::read_to_string(folder.path().join(copy)).unwrap());
        assert_eq!(read, ["<SCL/>", "<SCL/>"]);
    }

    #[test]
    fn a_writer_that_is_dropped_still_writes_its_last_line() {
        let root = tempfile::tempdir().unwrap();
        let mut folder = Folder::create(root.path(), "x", &study(), &provenance()).unwrap();
        let path = folder.path().to_owned();
        folder.sample(&sample(0)).unwrap();
        drop(folder);
        let results = read(&path).unwrap();
        assert_eq!(results.samples.len(), 1);
        assert!(!results.end.complete && results.end.error.is_some());
    }

    #[test]
    fn a_reopened_folder_keeps_its_first_samples_and_ends_again() {
        let root = tempfile::tempdir().unwrap();
        let whole = |count: u64| {
            let mut folder = Folder::create(root.path(), "x", &study(), &provenance()).unwrap();
            (0..count).for_each(|it| folder.sample(&sample(it)).unwrap());
            folder
        };
        let end = End { complete: true, error: None };
        let expected = whole(3).end(end.clone()).unwrap();
        let cut_off = whole(2).path().to_owned();
        assert!(!read(&cut_off).unwrap().end.complete);
        let mut folder = Folder::reopen(&cut_off, 1).unwrap();
        folder.sample(&sample(1)).unwrap();
        folder.sample(&sample(2)).unwrap();
        folder.end(end).unwrap();
        let octets = |path: &Path| fs::read(path.join("samples.ndjson")).unwrap();
        assert!(octets(&cut_off) == octets(&expected));
        assert_eq!(super::provenance(&cut_off).unwrap(), provenance());
        assert!(Folder::reopen(&cut_off, 9).is_err());
    }

    #[test]
    fn an_error_is_the_last_line_and_the_only_one_of_its_kind() {
        let mut writer = Writer::new(Vec::new());
        writer.sample(&sample(0)).unwrap();
        let end = End { complete: false, error: Some("station 3 is stuck".to_owned()) };
        let text = String::from_utf8(writer.end(end).unwrap().unwrap()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[1], r#"{"type":"end","complete":false,"error":"station 3 is stuck"}"#);
    }

    #[test]
    fn a_file_truncated_within_a_line_keeps_earlier_samples() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("samples.ndjson");
        let line = serde_json::to_string(&Line::Sample(Box::new(sample(0)))).unwrap();
        fs::write(&path, format!("{line}\n{}", &line[..40])).unwrap();
        let results = read(&path).unwrap();
        assert_eq!(results.samples.len(), 1);
        assert_eq!(results.end.error.as_deref(), Some("the file was cut off"));
        fs::write(&path, format!("{}\n{line}\n", &line[..40])).unwrap();
        assert!(matches!(read(&path), Err(ReadError::Line { line: 1, .. })));
    }
}

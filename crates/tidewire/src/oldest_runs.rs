//! `--keep-runs` and `--keep-size`: the oldest run folders are removed once a limit is exceeded.
//!
//! Only folders that this program made are removed: their names begin with a time, they have a
//! `run.json`, and their records have an end. A run that another process is making has none. A link is no run
//! folder, because its files may be elsewhere.

use crate::exit::Failure;
use crate::output::Output;
use crate::quantity;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Files of records, of which a run folder has one.
const RECORDS: [&str; 4] =
    ["samples.ndjson", "measures.ndjson", "rows.ndjson", "histograms.ndjson"];
/// Octets at the end of a file that hold its last record, if that is an end.
const TAIL_OCTETS: i64 = 4_096;
/// Begin of a name: the time at which a run began, in whole seconds.
const TIME: &str = "0000-00-00T00-00-00-";

/// Limits of the run folders in a folder; without any, none is removed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Limits {
    /// Number of run folders.
    pub(crate) runs: Option<usize>,
    /// Octets of all files in them.
    pub(crate) octets: Option<u64>,
}

impl Limits {
    /// Returns the option that these run folders exceed, if there is one.
    fn exceeded(self, runs: usize, octets: u64) -> Option<&'static str> {
        let is_over = |limit: Option<u64>, is: u64| limit.is_some_and(|limit| is > limit);
        match self.runs {
            Some(limit) if runs > limit => Some("--keep-runs"),
            _ => is_over(self.octets, octets).then_some("--keep-size"),
        }
    }
}

/// Folder of runs with its limits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Keep {
    /// The folder.
    pub(crate) root: PathBuf,
    /// Its limits.
    pub(crate) limits: Limits,
}

impl Keep {
    /// Removes the oldest run folders that have ended, until the limits hold; those just made stay.
    ///
    /// # Errors
    /// A folder that cannot be removed.
    pub(crate) fn apply(&self, made: &[&Path], output: &Output) -> Result<(), Failure> {
        if self.limits == Limits::default() {
            return Ok(());
        }
        remove(below(&self.root, Kept::Any), self.limits, made, output)
    }
}

/// Run folders of this program in a folder of runs, and the octets of their files.
pub(crate) fn count(root: &Path) -> (usize, u64) {
    let found = below(root, Kept::Any);
    let own: Vec<_> = found.into_iter().filter(|path| is_own(path)).collect();
    (own.len(), own.iter().map(|path| octets(path)).sum())
}

/// Removes the oldest ended ones of these run folders, until the limits hold; those in `made` stay.
fn remove(
    found: Vec<PathBuf>,
    limits: Limits,
    made: &[&Path],
    output: &Output,
) -> Result<(), Failure> {
    let own: Vec<PathBuf> = found.into_iter().filter(|path| is_own(path)).collect();
    let sized = limits.octets.is_some();
    let size = |path: &PathBuf| if sized { octets(path) } else { 0 };
    let mut left: u64 = own.iter().map(size).sum();
    let others = own.into_iter().filter(|path| !made.contains(&path.as_path()));
    let mut ended: Vec<PathBuf> = others.filter(|path| has_ended(path)).collect();
    sort(&mut ended);
    let mut runs = ended.len() + made.len();
    for old in &ended {
        let Some(option) = limits.exceeded(runs, left) else { break };
        let octets = size(old);
        fs::remove_dir_all(old).map_err(|error| {
            Failure::failed(format!("{option}: cannot remove {}: {error}", old.display()))
        })?;
        output.remark(format_args!("removed by {option}: {}", old.display()));
        (runs, left) = (runs - 1, left.saturating_sub(octets));
    }
    if limits.octets.is_some_and(|most| left > most) {
        let left = size_of(left);
        output.remark(format_args!(
            "--keep-size: {left} are left, of the run just written and of runs under way"
        ));
    }
    Ok(())
}

/// Formats octets in decimal units: `1.23 GB`.
pub(crate) fn size_of(octets: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    let unit = UNITS.into_iter().find(|(size, _)| octets >= *size);
    unit.map_or_else(
        || format!("{octets} B"),
        |(size, name)| format!("{} {name}", quantity::significant(octets as f64 / size as f64, 3)),
    )
}

/// Octets of all files in a folder; links are not followed.
fn octets(folder: &Path) -> u64 {
    let (mut sum, mut open) = (0_u64, vec![folder.to_owned()]);
    while let Some(folder) = open.pop() {
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        for entry in entries {
            match entry.metadata() {
                Ok(it) if it.is_dir() => open.push(entry.path()),
                Ok(it) => sum = sum.saturating_add(it.len()),
                Err(_) => {}
            }
        }
    }
    sum
}

/// True of a folder, not a link to one, whose name begins with a time.
fn is_own(path: &Path) -> bool {
    has_time(path) && fs::symlink_metadata(path).is_ok_and(|it| it.is_dir())
}

/// Kind of run folders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kept {
    /// With samples: of predict and measure.
    Samples,
    /// With records of any kind.
    Any,
}

impl Kept {
    fn is_in(self, path: &Path) -> bool {
        path.join("run.json").is_file()
            && (self == Self::Any || path.join("samples.ndjson").is_file())
    }
}

/// Run folders in a folder that is none itself, the earliest first.
pub(crate) fn below(folder: &Path, kept: Kept) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    if kept.is_in(folder) {
        return Vec::new();
    }
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut found: Vec<PathBuf> = paths.filter(|path| kept.is_in(path)).collect();
    sort(&mut found);
    found
}

/// Sorts run folders, the earliest first: by the second in which they began and, within a second, by the last record;
/// others by their names.
pub(crate) fn sort(folders: &mut [PathBuf]) {
    folders.sort_by_cached_key(|path| {
        let time = has_time(path).then(|| (began(path), written(path)));
        (time, path.clone())
    });
}

/// True of a name that begins with a time: `2026-01-01T10-00-00-`.
fn has_time(path: &Path) -> bool {
    let name = name(path);
    let pattern = TIME.as_bytes();
    let is_alike = |(octet, pattern): (u8, &u8)| match pattern {
        b'0' => octet.is_ascii_digit(),
        other => octet == *other,
    };
    name.len() > pattern.len() && name.bytes().zip(pattern).all(is_alike)
}

/// Second in which a run began.
fn began(path: &Path) -> String {
    name(path).chars().take(TIME.len()).collect()
}

/// Time at which the records of a run were last written; none where the system does not say.
fn written(path: &Path) -> Option<SystemTime> {
    let of = |name: &&str| fs::metadata(path.join(name)).ok()?.modified().ok();
    RECORDS.iter().filter_map(of).max()
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// True of a run whose last record is an end.
fn has_ended(path: &Path) -> bool {
    let last = |name: &str| -> Option<bool> {
        let mut file = File::open(path.join(name)).ok()?;
        let length = i64::try_from(file.metadata().ok()?.len()).ok()?;
        file.seek(SeekFrom::End(-length.min(TAIL_OCTETS))).ok()?;
        let mut tail = Vec::new();
        file.read_to_end(&mut tail).ok()?;
        let line = tail.trim_ascii_end().rsplit(|octet| *octet == b'\n').next()?;
        Some(line.starts_with(br#"{"type":"end""#))
    };
    RECORDS.iter().any(|name| last(name) == Some(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Output = Output { json: true, quiet: true };

    fn number(runs: usize) -> Limits {
        Limits { runs: Some(runs), octets: None }
    }

    #[test]
    fn the_oldest_go_by_size_but_no_link_and_no_new_run() {
        let root = tempfile::tempdir().unwrap();
        let make = |folder: &Path, name: &str, octets: usize| {
            let path = folder.join(name);
            fs::create_dir_all(path.join("figures")).unwrap();
            fs::write(path.join("run.json"), "{}").unwrap();
            fs::write(path.join("figures/a.svg"), vec![b' '; octets]).unwrap();
            fs::write(path.join("measures.ndjson"), "{\"type\":\"end\"}\n").unwrap();
            path
        };
        let names = ["2026-01-01T10-00-00-a", "2026-01-01T10-00-01-b", "2026-01-01T10-00-02-c"];
        let runs = root.path().join("runs");
        let [first, second, third] = names.map(|name| make(&runs, name, 9_000));
        let elsewhere = make(root.path(), "elsewhere", 9_000);
        let link = runs.join("2026-01-01T09-00-00-l");
        std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
        assert_eq!(count(&runs), (3, 27_051));
        let keep = |octets| Keep {
            root: runs.clone(),
            limits: Limits { runs: None, octets: Some(octets) },
        };
        let left = || [&first, &second, &third, &link, &elsewhere].map(|path| path.exists());
        keep(27_051).apply(&[&third], &QUIET).unwrap();
        assert_eq!(left(), [true, true, true, true, true]);
        keep(27_050).apply(&[&third], &QUIET).unwrap();
        assert_eq!(left(), [false, true, true, true, true]);
        // The run just written exceeds the limit alone.
        keep(1).apply(&[&third], &QUIET).unwrap();
        assert_eq!(left(), [false, false, true, true, true]);
        assert_eq!(size_of(27_051), "27.1 kB");
    }

    #[test]
    fn only_ended_runs_of_this_program_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let make = |name: &str, end: &str| {
            let path = root.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("run.json"), "{}").unwrap();
            fs::write(path.join("samples.ndjson"), format!("{{\"type\":\"sample\"}}\n{end}"))
                .unwrap();
            path
        };
        let end = "{\"type\":\"end\",\"complete\":true}\n";
        let names = ["2026-01-01T10-00-00-a", "2026-01-01T10-00-01-b", "2026-01-01T10-00-02-c"];
        let [first, second, third] = names.map(|name| make(name, end));
        let under_way = make("2026-01-01T09-00-00-z", "");
        let foreign = make("2026-notes", end);
        let output = Output { json: true, quiet: true };
        let all = || [&third, &first, &foreign, &under_way, &second].map(Clone::clone).to_vec();
        remove(all(), number(2), &[&third], &output).unwrap();
        let are_there = [&first, &second, &third, &under_way, &foreign].map(|path| path.exists());
        assert_eq!(are_there, [false, true, true, true, true]);
        // The run that was just made stays, whatever its name, and the number holds.
        remove(vec![third.clone(), second.clone()], number(1), &[&second], &output).unwrap();
        assert_eq!((second.exists(), third.exists()), (true, false));
    }

    #[test]
    fn runs_of_one_second_are_in_the_order_of_their_records() {
        let root = tempfile::tempdir().unwrap();
        let make = |name: &str, written_s: u64| {
            let path = root.path().join(name);
            fs::create_dir(&path).unwrap();
            let records = File::create(path.join("samples.ndjson")).unwrap();
            let written = SystemTime::UNIX_EPOCH + core::time::Duration::from_secs(written_s);
            records.set_modified(written).unwrap();
            path
        };
        let second = "2026-01-01T10-00-00-a";
        let later = make("2026-01-01T10-00-01-a", 1);
        let tenth = make(&format!("{second}-10"), 10);
        let [ninth, first] = [make(&format!("{second}-9"), 9), make(second, 2)];
        let mut all = [&later, &tenth, &first, &ninth].map(Clone::clone);
        sort(&mut all);
        assert_eq!(all, [first, ninth, tenth, later]);
    }

    #[test]
    fn runs_of_one_second_go_in_the_order_of_their_ends() {
        let root = tempfile::tempdir().unwrap();
        let make = |name: &str, ended_s: u64| {
            let path = root.path().join(format!("2026-01-01T10-00-00-a{name}"));
            fs::create_dir(&path).unwrap();
            fs::write(path.join("run.json"), "{}").unwrap();
            let records = path.join("samples.ndjson");
            fs::write(&records, "{\"type\":\"end\",\"complete\":true}\n").unwrap();
            let ended = SystemTime::UNIX_EPOCH + core::time::Duration::from_secs(ended_s);
            File::options().write(true).open(&records).unwrap().set_modified(ended).unwrap();
            path
        };
        // The first name was given again, to the fourth run.
        let (second, third, fourth) = (make("-2", 2), make("-3", 3), make("", 4));
        let output = Output { json: true, quiet: true };
        remove(vec![fourth.clone(), second.clone(), third.clone()], number(2), &[&fourth], &output)
            .unwrap();
        assert_eq!([&second, &third, &fourth].map(|path| path.exists()), [false, true, true]);
        let fifth = make("-2", 5);
        remove(vec![fourth.clone(), fifth.clone(), third.clone()], number(2), &[&fifth], &output)
            .unwrap();
        assert_eq!([&third, &fourth, &fifth].map(|path| path.exists()), [false, true, true]);
    }
}

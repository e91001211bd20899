//! `--keep-runs`: the oldest run folders go once there are more than wanted.
//!
//! Only folders that this program made are removed: their names begin with a time, they have a
//! `run.json`, and their records have an end. A run that another process is making has none.

use crate::exit::Failure;
use crate::output::Output;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Files of records, of which a run folder has one.
const RECORDS: [&str; 3] = ["samples.ndjson", "measures.ndjson", "rows.ndjson"];
/// Octets at the end of a file that hold its last record, if that is an end.
const TAIL_OCTETS: i64 = 4_096;
/// Begin of a name: the time at which a run began, in whole seconds.
const TIME: &str = "0000-00-00T00-00-00-";

/// Removes the oldest ended ones of these run folders, until `keep` are left; `made`, which is one of them, stays.
///
/// # Errors
/// A folder that cannot be removed.
pub(crate) fn remove(
    found: Vec<PathBuf>,
    keep: usize,
    made: &Path,
    output: &Output,
) -> Result<(), Failure> {
    let others = found.into_iter().filter(|path| path != made);
    let mut ended: Vec<PathBuf> = others.filter(|path| has_time(path) && has_ended(path)).collect();
    sort(&mut ended);
    let more = (ended.len() + 1).saturating_sub(keep.max(1));
    for old in ended.iter().take(more) {
        fs::remove_dir_all(old).map_err(|error| {
            Failure::failed(format!("--keep-runs: cannot remove {}: {error}", old.display()))
        })?;
        output.remark(format_args!("removed by --keep-runs: {}", old.display()));
    }
    Ok(())
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
        remove(all(), 2, &third, &output).unwrap();
        let are_there = [&first, &second, &third, &under_way, &foreign].map(|path| path.exists());
        assert_eq!(are_there, [false, true, true, true, true]);
        // The run that was just made stays, whatever its name, and the number holds.
        remove(vec![third.clone(), second.clone()], 1, &second, &output).unwrap();
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
        remove(vec![fourth.clone(), second.clone(), third.clone()], 2, &fourth, &output).unwrap();
        assert_eq!([&second, &third, &fourth].map(|path| path.exists()), [false, true, true]);
        let fifth = make("-2", 5);
        remove(vec![fourth.clone(), fifth.clone(), third.clone()], 2, &fifth, &output).unwrap();
        assert_eq!([&third, &fourth, &fifth].map(|path| path.exists()), [false, true, true]);
    }
}

//! Fence around the fast path: the names by which the rest of the crate refers to it.

use std::fs;
use std::path::{Path, PathBuf};

/// Source files below a folder, except those of the fast path.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of = |path: PathBuf| match path.is_dir() {
        true if path.ends_with("src/fast") => Vec::new(),
        true => sources(&path),
        false => vec![path],
    };
    let mut all: Vec<PathBuf> = entries.flat_map(of).collect();
    all.sort();
    all
}

#[test]
fn two_fields_hold_the_state_of_the_fast_path() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut names = Vec::new();
    for path in sources(&folder) {
        let text = fs::read_to_string(&path).unwrap();
        let file = path.strip_prefix(&folder).unwrap().display().to_string();
        let uses = text.lines().filter(|line| {
            let line = line.replace("foldhash::fast::", "");
            line.contains("fast::") && !line.trim_start().starts_with("//")
        });
        names.extend(uses.map(|line| format!("{file}: {}", line.trim())));
    }
    // The entry of each frame is a method of the meter.
    let expected =
        ["interval.rs: use crate::fast::Frames;", "track/mod.rs: use crate::fast::RecentSides;"];
    assert_eq!(names, expected);
}

//! List of the clauses of ISO 8073 that the class 4 code and its tests cite, kept in
//! `tests/clauses.md`.
//!
//! A citation is the number of a clause in a comment, a message or a dialogue. `BLESS=1` rewrites
//! the list.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

#[derive(Default)]
struct Cited {
    code: BTreeSet<String>,
    tests: BTreeSet<String>,
}

/// Clause numbers in a line: of clauses 6, 12 and 13, with at least one point.
fn clauses(line: &str) -> impl Iterator<Item = Vec<u32>> {
    let words = line.split(|c: char| !(c.is_ascii_alphanumeric() || "._".contains(c)));
    words.filter_map(|word| {
        let numbers: Option<Vec<u32>> =
            word.trim_matches('.').split('.').map(|part| part.parse().ok()).collect();
        numbers.filter(|n| n.len() > 1 && matches!(n[0], 6 | 12 | 13))
    })
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap();
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            files(&path, found);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "rs" || extension == "dialogue")
        {
            found.push(path);
        }
    }
}

fn read(root: &Path, path: &Path, cited: &mut BTreeMap<Vec<u32>, Cited>) {
    let text = std::fs::read_to_string(path).unwrap();
    let name = path.strip_prefix(root).unwrap().display().to_string();
    let mut in_tests = name.starts_with("tests/") || name.ends_with("tests.rs");
    // The name of a dialogue's test is that of its file.
    let mut function = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    for line in text.lines() {
        in_tests |= line == "#[cfg(test)]";
        let head = line.trim_start().strip_prefix("fn ");
        if let Some(rest) = head {
            function = rest.split(['(', '<']).next().unwrap_or_default().to_owned();
        }
        for clause in clauses(line) {
            let cited = cited.entry(clause).or_default();
            if in_tests {
                cited.tests.insert(function.clone());
            } else {
                cited.code.insert(name.trim_start_matches("src/tp4/").to_owned());
            }
        }
    }
}

#[test]
fn the_list_of_clauses_is_what_code_and_tests_cite() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    files(&root.join("src/tp4"), &mut paths);
    files(&root.join("tests/it"), &mut paths);
    files(&root.join("tests/dialogues"), &mut paths);
    let mut cited = BTreeMap::new();
    paths.iter().for_each(|path| read(root, path, &mut cited));
    let mut list =
        "# Clauses of ISO 8073 in the class 4 code\n\nMade from the clause numbers that \
        `src/tp4` and its tests cite; `cargo xtask bless` makes it anew. Names \
        with hyphens are dialogues.\n\n\
        | clause | code | tests that cite it |\n|---|---|---|\n"
            .to_owned();
    let mut untested = 0;
    for (number, Cited { code, tests }) in &cited {
        let clause: Vec<_> = number.iter().map(u32::to_string).collect();
        let below =
            |numbers: &Vec<u32>| numbers.len() > number.len() && numbers.starts_with(number);
        let is_tested_below = cited.iter().any(|(n, it)| below(n) && !it.tests.is_empty());
        untested += usize::from(tests.is_empty() && !is_tested_below);
        let none = if is_tested_below { "those below" } else { "–" };
        let joined = |names: &BTreeSet<String>, none: &str| {
            let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            if names.is_empty() { none.to_owned() } else { names.join(", ") }
        };
        let (code, tests) = (joined(code, "–"), joined(tests, none));
        let _ = writeln!(list, "| {} | {code} | {tests} |", clause.join("."));
    }
    println!("seen: {} clauses cited, {untested} of them by no test", cited.len());
    let path = root.join("tests/clauses.md");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &list).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == list, "tests/clauses.md is out of date: BLESS=1 rewrites it");
}

/// Checks the names between backticks in the table of traps.
#[test]
fn every_trap_has_tests_that_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = std::fs::read_to_string(root.join("tests/traps.md")).unwrap();
    let mut paths = Vec::new();
    files(&root.join("../wire/src"), &mut paths);
    files(&root.join("src"), &mut paths);
    files(&root.join("tests"), &mut paths);
    let mut there = BTreeSet::new();
    for path in &paths {
        there.insert(path.file_stem().unwrap().to_string_lossy().into_owned());
        let text = std::fs::read_to_string(path).unwrap();
        for part in text.split("#[test]").skip(1) {
            let name = part.split(['(', '{']).next().unwrap_or_default().trim();
            there.insert(name.trim_start_matches("fn ").to_owned());
        }
    }
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    for row in &rows {
        let names: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "no test: {row}");
        let missing: Vec<_> = names.iter().filter(|name| !there.contains(**name)).collect();
        assert!(missing.is_empty(), "there is no {missing:?}");
    }
    println!("seen: {} traps", rows.len());
}

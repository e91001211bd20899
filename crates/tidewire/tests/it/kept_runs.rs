//! `--keep-runs` and `--keep-size` bound the folder of runs, whatever verb writes them.

use crate::export::CELL;
use crate::{check_code, run_in, stderr, stdout};
use std::fs;
use std::path::Path;

/// Names in the folder of runs, without those that are no runs.
fn left(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder.join("runs")).unwrap();
    let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with("my")).collect();
    names.sort();
    names
}

#[test]
fn a_size_holds_for_every_verb_that_keeps_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::create_dir_all(path.join("runs/my notes")).unwrap();
    fs::write(path.join("runs/my.txt"), "mine").unwrap();
    let watch = ["watch", "-q", "-r", CELL, "--hdr", "-o"];
    check_code(&run_in(path, &[&watch[..], &["hdr"]].concat()), 0);
    let part = ["predict", "status-short", "-q", "-n", "2", "--shard", "1/1", "-o", "parts"];
    check_code(&run_in(path, &part), 0);
    let lines: [(&[&str], &str, usize); 7] = [
        (&["predict", "status-short", "-n", "1"], "-status-short", 1),
        (&["measure", "status-short", "-n", "1"], "-status-short", 1),
        (&["watch", "-r", CELL, "-o", "runs"], "-watch", 1),
        (&["reproduce", "tr-88-08", "-n", "5", "-o", "runs"], "-tr-88-08", 1),
        (&["merge", "hdr"], "-histograms", 1),
        (&["merge", "parts"], "-status-short", 1),
        (&["demo"], "", 2),
    ];
    for (line, ends, runs) in lines {
        let output = run_in(path, &[line, &["--keep-size", "1 B"]].concat());
        check_code(&output, 0);
        let left = left(path);
        let are_new = left.iter().all(|name| name.contains(ends));
        assert!(left.len() == runs && are_new, "{line:?} leaves {left:?}");
        let said = stderr(&output);
        assert!(said.contains("run folder: ") || line == ["demo"], "{line:?}: {said}");
        assert!(said.contains("--keep-size: "), "{line:?}: {said}");
    }
    // The two of the demo are within 1 GB; with one more two go.
    let more = ["merge", "parts", "--keep-size", "1GB", "--keep-runs", "2"];
    check_code(&run_in(path, &more), 0);
    assert_eq!(left(path).len(), 2);
    let doctor = stdout(&run_in(path, &["doctor"]));
    assert!(doctor.contains("run folders can be written in ./runs; 2 are there, "), "{doctor}");
    assert!(path.join("runs/my notes").is_dir() && path.join("runs/my.txt").is_file());
}

#[test]
fn a_merge_writes_no_folder_where_none_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    check_code(&run_in(path, &["watch", "-q", "-r", CELL, "--hdr", "-o", "hdr"]), 0);
    let part = ["predict", "status-short", "-q", "-n", "2", "--shard", "1/1", "-o", "parts"];
    check_code(&run_in(path, &part), 0);
    for parts in ["hdr", "parts"] {
        let output = run_in(path, &["merge", parts, "--no-save"]);
        check_code(&output, 0);
        assert!(!stderr(&output).contains("run folder: "), "{}", stderr(&output));
        assert!(!path.join("runs").exists(), "{parts}");
    }
}

#[test]
fn a_limit_without_run_folders_is_refused() {
    let refused = |line: &[&str]| {
        let output = run_in(Path::new("."), line);
        check_code(&output, 2);
        stderr(&output)
    };
    let watched = refused(&["watch", "-r", CELL, "--keep-size", "1GB"]);
    assert!(watched.contains("--keep-size: no effect without --output"), "{watched}");
    let predicted = refused(&["predict", "status-short", "--no-save", "--keep-runs", "2"]);
    assert!(predicted.contains("--keep-runs: no effect with --no-save"), "{predicted}");
    let size = refused(&["predict", "status-short", "--keep-size", "much"]);
    assert!(size.contains("--keep-size \"much\""), "{size}");
}

//! Studies that several machines share: the shards together are what one machine makes.

use crate::{check_code, records, run_in, stderr, stdout};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const SWEEP: &str = r#"
version = 1
title = "sweep"
seed = 5
replications = 2
stop = { after = "30 ms", warmup = "none" }
medium = { kind = "ideal", rate = "10 Mbit/s" }
faults = { loss = "10 %" }

[[station]]
name = "here"

[[station]]
name = "there"

[[flow]]
name = "status"
from = "here"
to = "there"
service = "datagram"
pattern = { kind = "poisson", mean-interval = "2 ms" }
size = "100 B"
deadline = "3 ms"
"#;

/// Options of a sweep of 40 points.
const POINTS: [&str; 2] = ["--vary", "flow.*.size=20 B..410 B..10 B"];

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("sweep.toml"), SWEEP).unwrap();
    folder
}

/// Predicts the sweep with more options; the code has to be this.
fn predict(here: &Path, more: &[&str], code: i32) -> String {
    let output = run_in(here, &[&["predict", "sweep.toml"], &POINTS[..], more].concat());
    check_code(&output, code);
    stderr(&output)
}

fn only_run(folder: &Path) -> PathBuf {
    let mut found = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let only = found.next().unwrap();
    assert!(found.next().is_none(), "{folder:?}");
    only
}

fn samples(folder: &Path) -> Vec<u8> {
    fs::read(only_run(folder).join("samples.ndjson")).unwrap()
}

fn shards(here: &Path, of: u32, into: &str) {
    for number in 1..=of {
        predict(here, &["--shard", &format!("{number}/{of}"), "-o", into], 0);
    }
}

#[test]
fn merge_counts_one_folder_in_the_singular() {
    let folder = folder();
    let here = folder.path();
    for (of, expected) in [(1, " runs found in 1 folder\n"), (2, " runs found in 2 folders\n")] {
        let into = format!("of-{of}");
        shards(here, of, &into);
        let output = run_in(here, &["merge", &into, "--no-save"]);
        check_code(&output, 0);
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}

#[test]
fn shards_together_are_the_octets_of_one_machine() {
    let folder = folder();
    let here = folder.path();
    predict(here, &["-o", "whole"], 0);
    let expected = samples(&here.join("whole"));
    let mut reports = Vec::new();
    for of in [1, 3, 8, 40] {
        let (parts, merged) = (format!("parts-{of}"), format!("merged-{of}"));
        shards(here, of, &parts);
        let output = run_in(here, &["merge", &parts, "-o", &merged]);
        check_code(&output, 0);
        assert!(samples(&here.join(&merged)) == expected, "{of}");
        let scenario = only_run(&here.join(&merged)).join("scenario.toml");
        let whole = only_run(&here.join("whole")).join("scenario.toml");
        assert_eq!(fs::read(scenario).unwrap(), fs::read(whole).unwrap());
        reports.push(stdout(&output));
    }
    assert!(reports.windows(2).all(|pair| pair[0] == pair[1]));
    let draw = ["merge", "parts-3", "-o", "drawn-runs", "--figure", "drawn", "--emit", "vega-lite"];
    check_code(&run_in(here, &draw), 0);
    assert!(here.join("drawn/mean.vl.json").exists() && here.join("drawn/mean.svg").exists());
    let output = run_in(here, &["compare", "whole", "merged-8"]);
    check_code(&output, 0);
    let output = run_in(here, &["report", "merged-8", "--format", "md", "-o", "report.md"]);
    check_code(&output, 0);
    let report = fs::read_to_string(here.join("report.md")).unwrap();
    assert!(report.contains("8 parts, made by 1 kind of machine"), "{report}");
}

#[test]
fn of_shards_that_are_missing_the_commands_are_named() {
    let folder = folder();
    let here = folder.path();
    predict(here, &["-o", "whole"], 0);
    shards(here, 8, "parts");
    let mut parts: Vec<PathBuf> =
        fs::read_dir(here.join("parts")).unwrap().map(|entry| entry.unwrap().path()).collect();
    parts.sort_unstable();
    // The third is not there, and the fifth was killed within its fourth run.
    fs::remove_dir_all(&parts[2]).unwrap();
    let file = parts[4].join("samples.ndjson");
    let text = fs::read(&file).unwrap();
    let third = text.iter().enumerate().filter(|(_, octet)| **octet == b'\n').nth(2).unwrap().0;
    fs::write(&file, &text[..third + 40]).unwrap();
    let output = run_in(here, &["merge", "parts"]);
    check_code(&output, 1);
    let said = stderr(&output);
    // 80 runs: ten of the third, seven of the fifth.
    assert!(said.contains("17 of 80 runs are missing"), "{said}");
    let fifth = parts[4].strip_prefix(here).unwrap().to_str().unwrap().to_owned();
    assert!(said.contains(&format!("tidewire predict --resume {fifth}\n")), "{said}");
    assert!(said.contains("--shard 3/8") && !said.contains("--shard 5/8"), "{said}");
    assert!(!here.join("runs").exists(), "what is not whole is not written");
    // Both are made, one is there twice, and the octets are those of one machine.
    check_code(&run_in(here, &["predict", "--resume", &fifth]), 0);
    predict(here, &["--shard", "3/8", "-o", "late"], 0);
    let first = parts[0].to_str().unwrap();
    fs::create_dir(here.join("twice")).unwrap();
    fs::create_dir(here.join("twice/copy")).unwrap();
    for name in ["run.json", "scenario.toml", "samples.ndjson"] {
        fs::copy(format!("{first}/{name}"), here.join("twice/copy").join(name)).unwrap();
    }
    check_code(&run_in(here, &["merge", "parts", "late", "twice", "-o", "merged"]), 0);
    assert!(samples(&here.join("merged")) == samples(&here.join("whole")));
}

#[test]
fn parts_of_another_study_are_refused_by_what_differs() {
    let folder = folder();
    let here = folder.path();
    predict(here, &["--shard", "1/2", "-o", "one"], 0);
    let refused = |other: &str, what: &str| {
        let output = run_in(here, &["merge", "one", other]);
        check_code(&output, 2);
        let said = stderr(&output);
        assert!(said.contains(other) && said.contains(&format!("its {what} differs")), "{said}");
    };
    predict(here, &["--seed", "9", "--shard", "2/2", "-o", "seed"], 0);
    refused("seed", "seed");
    predict(here, &["-n", "3", "--shard", "2/2", "-o", "number"], 0);
    refused("number", "--runs");
    let output = run_in(here, &["predict", "sweep.toml", "--shard", "2/2", "-o", "points"]);
    check_code(&output, 0);
    refused("points", "--vary");
    fs::write(here.join("sweep.toml"), SWEEP.replace("10 %", "20 %")).unwrap();
    predict(here, &["--shard", "2/2", "-o", "losses"], 0);
    refused("losses", "scenario, or a file that it names,");
    fs::write(here.join("sweep.toml"), SWEEP).unwrap();
    // A run that differs is no part, even if all else agrees.
    predict(here, &["--shard", "1/2", "-o", "changed"], 0);
    let file = only_run(&here.join("changed")).join("samples.ndjson");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("\"sent\":1", "\"sent\":2", 1)).unwrap();
    let cell = crate::export::CELL;
    check_code(&run_in(here, &["watch", "-q", "-r", cell, "-o", "watched"]), 0);
    let watched = only_run(&here.join("watched"));
    for folder in [watched.to_str().unwrap(), "watched"] {
        let output = run_in(here, &["merge", folder]);
        check_code(&output, 2);
        assert!(stderr(&output).contains("watch again with --hdr"), "{}", stderr(&output));
        let output = run_in(here, &["merge", folder, "one"]);
        check_code(&output, 2);
        assert!(stderr(&output).contains("and one has none"), "{}", stderr(&output));
    }
    let output = run_in(here, &["merge", "one", "changed"]);
    check_code(&output, 1);
    assert!(stderr(&output).contains("differ in the run of point 0"), "{}", stderr(&output));
    // A part is no study.
    for arguments in [["compare", "one", "changed"].as_slice(), &["report", "one"]] {
        let output = run_in(here, arguments);
        check_code(&output, 2);
        assert!(stderr(&output).contains("has shard 1/2 of a study"), "{}", stderr(&output));
    }
    check_code(&run_in(here, &["merge", "."]), 2);
}

#[test]
fn rounds_of_growing_runs_do_not_depend_on_the_shards() {
    let folder = folder();
    let here = folder.path();
    // At 10 % of loss, neither is decided by two runs.
    let goal = ["--require", "lost(*) < 12 %", "--until-decided", "--at-most", "5"];
    let decide = |more: &[&str], code: i32| {
        let words = [&["predict", "sweep.toml"], &goal[..], more].concat();
        let output = run_in(here, &words);
        check_code(&output, code);
        stdout(&output)
    };
    let report = decide(&["-o", "whole"], 4);
    let expected = samples(&here.join("whole"));
    let mut merged = None;
    // Rounds of 2, 3 and 5 runs of the point, each in another number of shards.
    for (round, of) in [(1, 1), (2, 2), (3, 3)] {
        let (parts, into) = (format!("parts-{round}"), format!("merged-{round}"));
        for number in 1..=of {
            let shard = format!("{number}/{of}");
            let more = ["--shard", &shard, "-o", &parts];
            let after: Vec<&str> =
                merged.as_deref().map(|merged| vec!["--after-runs", merged]).unwrap_or_default();
            decide(&[&more[..], &after].concat(), 0);
        }
        let earlier = merged.as_deref().into_iter();
        let folders: Vec<&str> = earlier.chain([&*parts]).collect();
        let output = run_in(here, &[&["merge", "-o", &into], &folders[..]].concat());
        check_code(&output, 4);
        if round == 3 {
            assert_eq!(stdout(&output), report);
            assert!(samples(&here.join(&into)) == expected);
        } else {
            let next = format!("--shard K/N --after-runs {into}/");
            assert!(stderr(&output).contains(&next), "{}", stderr(&output));
        }
        merged = Some(only_run(&here.join(&into)).to_str().unwrap().to_owned());
    }
    // One machine can finish what several began.
    let first = only_run(&here.join("merged-1"));
    check_code(&run_in(here, &["predict", "--resume", first.to_str().unwrap()]), 4);
    assert!(samples(&here.join("merged-1")) == expected);
    let enough = merged.unwrap();
    let more = ["--shard", "1/2", "--after-runs", &enough];
    let output = run_in(here, &[&["predict", "sweep.toml"], &goal[..], &more].concat());
    check_code(&output, 2);
    assert!(stderr(&output).contains("its runs are enough"), "{}", stderr(&output));
}

#[test]
fn a_script_names_the_shards_and_their_merge() {
    let folder = folder();
    let here = folder.path();
    let output = run_in(here, &["predict", "sweep.toml", "-n", "3", "--print-slurm", "40"]);
    check_code(&output, 0);
    let script = stdout(&output);
    for line in [
        "array=$(sbatch --parsable --array=1-40 <<'END'",
        "tidewire predict sweep.toml -n 3 --shard auto -o runs/sweep-parts",
        "sbatch --dependency=\"afterok:$array\" <<'END'",
        "tidewire merge runs/sweep-parts -o runs",
    ] {
        assert!(script.lines().any(|found| found == line), "{script}");
    }
    let words = [&["predict", "sweep.toml", "-ohere"], &POINTS[..], &["--print-parallel", "4"]];
    let script = stdout(&run_in(here, &words.concat()));
    assert!(script.contains("seq 4 | parallel --jobs 1"), "{script}");
    assert!(script.contains("{}/4") && script.contains("-o here/sweep-parts'"), "{script}");
    assert!(!here.join("runs").exists() && !here.join("here").exists());
    let asked = [&["predict", "sweep.toml", "--json"], &["--shard", "1/2"][..]].concat();
    let found = records(&run_in(here, &asked));
    assert_eq!(found.iter().filter(|record| record["type"] == "sample").count(), 1);
    assert_eq!(found.last().unwrap()["type"], "end");
}

#[test]
fn a_run_is_made_anew_to_the_same_samples() {
    let folder = folder();
    let here = folder.path();
    predict(here, &["-o", "whole"], 0);
    predict(here, &["--shard", "2/3", "-o", "part"], 0);
    let growing =
        ["--require", "lost(*) < 12 %", "--until-decided", "--at-most", "5", "-o", "grown"];
    check_code(&run_in(here, &[&["predict", "sweep.toml"], &growing[..]].concat()), 4);
    for (run, runs) in [("whole", 80), ("part", 27), ("grown", 5)] {
        let output = run_in(here, &["rerun", run]);
        check_code(&output, 0);
        let said = format!("{runs} runs made anew, each the same; digest ");
        assert!(stdout(&output).contains(&said), "{}", stdout(&output));
    }
    let file = only_run(&here.join("whole")).join("samples.ndjson");
    let text = fs::read_to_string(&file).unwrap();
    let changed: Vec<String> = text
        .lines()
        .enumerate()
        .map(|(line, text)| match line {
            30 => text.replacen("\"sent\":1", "\"sent\":2", 1),
            _ => text.to_owned(),
        })
        .collect();
    fs::write(&file, changed.join("\n") + "\n").unwrap();
    let output = run_in(here, &["rerun", "whole"]);
    check_code(&output, 1);
    assert!(stderr(&output).contains("point 15, repetition 0 differs"), "{}", stderr(&output));
}

#[test]
fn a_folder_that_does_not_exist_has_no_runs_to_merge() {
    let folder = folder();
    let output = run_in(folder.path(), &["merge", "no/such", "--no-save"]);
    check_code(&output, 1);
    assert!(stderr(&output).contains("no/such does not exist"), "{}", stderr(&output));
    fs::create_dir(folder.path().join("empty")).unwrap();
    let output = run_in(folder.path(), &["merge", "empty", "--no-save"]);
    check_code(&output, 2);
    assert!(stderr(&output).contains("is no run folder, and holds none"), "{}", stderr(&output));
}

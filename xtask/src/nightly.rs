//! `cargo xtask nightly`: the tests' searches, over as many seeds, states and octets as fit in a
//! night.
//!
//! Each is a fuzzer, or a test that the gates run too, with a larger number in its environment. All
//! run, even after one that failed; a search prints how to reproduce its finding.

use crate::cargo;
use std::fs;
use std::path::Path;
use std::process::Command;

/// One search: a test of a package with its environment.
struct Search {
    name: &'static str,
    what: &'static str,
    package: &'static str,
    /// Filters for tests of the integration binary.
    filters: &'static [&'static str],
    environment: (&'static str, &'static str),
}

const SEARCHES: [Search; 6] = [
    Search {
        name: "swarm",
        what: "small worlds of class 4 and of the messaging service, seed by seed",
        package: "tidewire-sim",
        filters: &["swarm", "crowd", "messages"],
        environment: ("TIDEWIRE_SEEDS", "100000"),
    },
    Search {
        name: "explore",
        what: "opening and closing of class 4, every way of 12 actions in a row",
        package: "tidewire-stack",
        filters: &["explore"],
        environment: ("TIDEWIRE_EXPLORE", "12"),
    },
    Search {
        name: "scripts",
        what: "random scripts for the machines of the transport classes, and for MMS with all layers",
        package: "tidewire-stack",
        filters: &["corpus"],
        environment: ("TIDEWIRE_SCRIPTS", "5000000"),
    },
    Search {
        name: "cases",
        what: "random octets and PDUs for the decoders",
        package: "tidewire-wire",
        filters: &["hostile", "round_trip", "oracle"],
        environment: ("PROPTEST_CASES", "1000000"),
    },
    Search {
        name: "advise",
        what: "advice against all settings, where tails decide",
        package: "tidewire-bench",
        filters: &["advise"],
        environment: ("TIDEWIRE_ADVISE", "4"),
    },
    Search {
        name: "case",
        what: "messages through CASE under faults of 2 %, none lost and none twice",
        package: "tidewire-bench",
        filters: &["case"],
        environment: ("TIDEWIRE_CASE", "1000000"),
    },
];

/// Name of the search that is no test: every target in `fuzz/fuzz_targets`.
const FUZZ: &str = "fuzz";
/// Name of the search that runs all tests without a network.
const OFFLINE: &str = "offline";
/// Shell commands that run the tests where only the loopback interface is there.
const ALONE: &str = "ip link set lo up && exec cargo test --workspace --offline --no-fail-fast";

/// Options of the command line.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    only: Option<String>,
    /// Minutes for each fuzzer.
    minutes: u64,
}

fn wanted(options: &[&str]) -> Result<Wanted, String> {
    let mut wanted = Wanted { only: None, minutes: 10 };
    let mut rest = options;
    while let [option, others @ ..] = rest {
        let (value, behind) =
            others.split_first().ok_or_else(|| format!("{option} needs a value"))?;
        match *option {
            "--only" if names().any(|name| name == *value) => {
                wanted.only = Some((*value).to_owned())
            }
            "--only" => {
                let names: Vec<&str> = names().collect();
                return Err(format!("no such search: {value} (there are {})", names.join(", ")));
            }
            "--minutes" => {
                let parsed = value.parse().map_err(|_| format!("not minutes: {value}"));
                wanted.minutes = parsed?;
            }
            _ => return Err(format!("no such option: {option}")),
        }
        rest = behind;
    }
    Ok(wanted)
}

fn names() -> impl Iterator<Item = &'static str> {
    SEARCHES.iter().map(|search| search.name).chain([OFFLINE, FUZZ])
}

/// Runs all searches, or the one of this name.
pub(crate) fn run(root: &Path, options: &[&str]) -> Result<(), String> {
    let wanted = wanted(options)?;
    let runs = |name: &str| wanted.only.as_deref().is_none_or(|only| only == name);
    let mut failed = Vec::new();
    for search in SEARCHES.iter().filter(|search| runs(search.name)) {
        println!("== {}: {}", search.name, search.what);
        let mut command = cargo(root, &["test", "--release", "-p", search.package, "--test", "it"]);
        command.args(["--", "--show-output"]).args(search.filters);
        if !succeeds(command.env(search.environment.0, search.environment.1)) {
            failed.push(search.name.to_owned());
        }
    }
    if runs(OFFLINE) {
        println!("== {OFFLINE}: all tests, with the loopback interface alone");
        if !offline(root) {
            failed.push(OFFLINE.to_owned());
        }
    }
    if runs(FUZZ) {
        fuzz(root, wanted.minutes, &mut failed);
    }
    println!("== summary\n   {} failed", failed.len());
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
}

/// Runs all tests where no other host can be reached; crates are fetched before.
fn offline(root: &Path) -> bool {
    let mut alone = Command::new("unshare");
    alone.current_dir(root).arg("--net");
    if !succeeds(Command::new("unshare").args(["--net", "true"])) {
        alone.arg("--map-root-user");
    }
    succeeds(&mut cargo(root, &["fetch", "--locked"])) && succeeds(alone.args(["sh", "-c", ALONE]))
}

fn succeeds(command: &mut Command) -> bool {
    command.status().is_ok_and(|status| status.success())
}

/// Runs each fuzzer for `minutes`. They need a nightly compiler and cargo-fuzz.
fn fuzz(root: &Path, minutes: u64, failed: &mut Vec<String>) {
    let nightly = |arguments: &[&str]| {
        let mut command = Command::new("cargo");
        // The toolchain that runs this program is not the one required.
        command.env_remove("RUSTUP_TOOLCHAIN").current_dir(root).args(["+nightly", "fuzz"]);
        command.args(arguments);
        command
    };
    println!("== {FUZZ}: octets that reach new code, {minutes} minutes for each target");
    if !nightly(&["--version"]).output().is_ok_and(|told| told.status.success()) {
        println!("   skipped: no nightly compiler with cargo-fuzz");
        return;
    }
    let seconds = format!("-max_total_time={}", minutes * 60);
    for target in targets(root) {
        println!("   {target}");
        // Findings go to a separate folder: the corpus that is kept is made by the tests.
        let found = root.join("fuzz/target/corpus").join(&target);
        let kept = root.join("fuzz/corpus").join(&target);
        if let Err(error) = fs::create_dir_all(&found) {
            failed.push(format!("{target}: {error}"));
            continue;
        }
        let mut command = nightly(&["run", &target]);
        command.args([&found, &kept]).args(["--", &seconds, "-print_final_stats=1"]);
        if !succeeds(&mut command) {
            failed.push(target);
        }
    }
}

/// Names of the fuzz targets, in order.
fn targets(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root.join("fuzz/fuzz_targets")).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let names = paths.filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()));
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_choose_a_search_and_the_time_of_each_fuzzer() {
        let all = Wanted { only: None, minutes: 10 };
        assert_eq!(wanted(&[]), Ok(all));
        let one = Wanted { only: Some("fuzz".to_owned()), minutes: 3 };
        assert_eq!(wanted(&["--only", "fuzz", "--minutes", "3"]), Ok(one));
        for (options, complaint) in [
            (
                ["--only", "swarms"],
                "no such search: swarms (there are swarm, explore, scripts, cases, advise, case, offline, fuzz)",
            ),
            (["--minutes", "ten"], "not minutes: ten"),
            (["--hours", "1"], "no such option: --hours"),
        ] {
            assert_eq!(wanted(&options), Err(complaint.to_owned()));
        }
        assert_eq!(wanted(&["--only"]), Err("--only needs a value".to_owned()));
    }

    #[test]
    fn each_search_names_existing_tests_and_a_used_variable() {
        let root = crate::root();
        for search in SEARCHES {
            let folder = search.package.trim_start_matches("tidewire-");
            let tests = root.join("crates").join(folder).join("tests/it");
            let files = fs::read_dir(tests).unwrap().flatten();
            let texts: Vec<(String, String)> = files
                .filter_map(|file| {
                    let name = file.file_name().to_string_lossy().into_owned();
                    Some((name, fs::read_to_string(file.path()).ok()?))
                })
                .collect();
            for filter in search.filters {
                let named = texts.iter().any(|(name, _)| name.contains(filter));
                assert!(named, "{}: no tests {filter}", search.name);
            }
            let variable = search.environment.0;
            let read = texts.iter().any(|(_, text)| text.contains(variable));
            assert!(read, "{}: no test reads {variable}", search.name);
        }
    }

    #[test]
    fn every_fuzzer_is_built_and_has_a_corpus() {
        let manifest = fs::read_to_string(crate::root().join("fuzz/Cargo.toml")).unwrap();
        let all = targets(crate::root());
        assert!(all.len() >= 6, "{all:?}");
        for target in all {
            assert!(manifest.contains(&format!("name = \"{target}\"")), "{target} is not built");
            let corpus = crate::root().join("fuzz/corpus").join(&target);
            assert!(corpus.is_dir(), "{target} has no corpus");
        }
    }
}

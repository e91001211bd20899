//! `cargo xtask ci`: the gates, by stages. Every stage runs, even after one that failed; the
//! summary at the end lists the failures, and the skipped stages with their reasons.

mod changed;
mod page;
pub(crate) mod python;
mod shown;
pub(crate) mod targets;

use crate::{cargo, tidy};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// Results of the stages so far.
#[derive(Default)]
struct Summary {
    failed: Vec<String>,
    skipped: Vec<String>,
}

struct Stage {
    name: &'static str,
    run: fn(&Path, &mut Summary),
}

/// Stages of `all`, in order. Tests come late, so that their messages are near the end.
const STAGES: [Stage; 8] = [
    Stage { name: "lint", run: lint },
    Stage { name: "pure", run: targets::pure },
    Stage { name: "systems", run: targets::systems },
    Stage { name: "scenarios", run: scenarios },
    Stage { name: "deny", run: deny },
    Stage { name: "test", run: test },
    Stage { name: "page", run: page::run },
    Stage { name: "python", run: python::run },
];
const QUICK: Stage = Stage { name: "quick", run: quick };

/// Start of a test's reason if it lacks a capture or a paper that the repository does not ship.
const NOT_SHIPPED: &str = "no ../shared";

/// Runs the stage of this name, or all. With `with_shared` a test that lacks what the repository does
/// not ship fails the stage.
pub(crate) fn run(root: &Path, name: &str, with_shared: bool) -> Result<(), String> {
    let every = STAGES.iter().chain(std::iter::once(&QUICK));
    let wanted: Vec<&Stage> = match name {
        "all" => STAGES.iter().collect(),
        _ => every.clone().filter(|stage| stage.name == name).collect(),
    };
    if wanted.is_empty() {
        let names: Vec<&str> = every.map(|stage| stage.name).collect();
        return Err(format!("no such stage: {name} (there are {}, all)", names.join(", ")));
    }
    let mut summary = Summary::default();
    for stage in wanted {
        println!("== {}", stage.name);
        (stage.run)(root, &mut summary);
    }
    if with_shared {
        summary.fail_without_shared();
    }
    summary.print();
    if summary.failed.is_empty() { Ok(()) } else { Err("the gates are not passed".to_owned()) }
}

impl Summary {
    /// Runs a command of `stage` in the workspace; returns whether it succeeded.
    fn command(&mut self, stage: &str, command: &mut Command) -> bool {
        println!("   {}", line_of(command));
        let succeeded = command.status().is_ok_and(|status| status.success());
        if !succeeded {
            self.failed.push(format!("{stage}: {}", line_of(command)));
        }
        succeeded
    }

    /// Counts each lack of something that the repository does not ship as a failure.
    fn fail_without_shared(&mut self) {
        let lacks = |why: &mut String| why.contains(NOT_SHIPPED);
        self.failed.extend(self.skipped.extract_if(.., lacks));
    }

    fn print(&self) {
        println!("== summary");
        for skipped in &self.skipped {
            println!("   skipped: {skipped}");
        }
        for failed in &self.failed {
            println!("   failed: {failed}");
        }
        println!("   {} failed, {} skipped", self.failed.len(), self.skipped.len());
    }
}

/// Command line as a person would type it.
fn line_of(command: &Command) -> String {
    let arguments = command.get_args().map(|a| a.to_string_lossy().into_owned());
    let line = arguments.fold("cargo".to_owned(), |line, argument| line + " " + &argument);
    line.trim_end().to_owned()
}

fn format_and_tidy(stage: &str, root: &Path, summary: &mut Summary) {
    summary.command(stage, &mut cargo(root, &["fmt", "--all", "--check"]));
    if let Err(complaint) = tidy::run(root) {
        summary.failed.push(format!("{stage}: {complaint}"));
    }
}

fn lint(root: &Path, summary: &mut Summary) {
    format_and_tidy("lint", root, summary);
    let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    summary.command("lint", &mut cargo(root, &clippy));
    // The tests are built with these features. The workspace has the features of the dependencies that
    // the first check had, so that they are not checked again.
    let clippy =
        ["clippy", "--workspace", "--all-targets", "--features", "tidewire/arrow,tidewire/parquet"];
    let with_feature = [&clippy[..], &["--", "-D", "warnings"]].concat();
    summary.command("lint", &mut cargo(root, &with_feature));
    let mut doc = cargo(root, &["doc", "--workspace", "--no-deps"]);
    summary.command("lint", doc.env("RUSTDOCFLAGS", "-D warnings"));
}

fn scenarios(root: &Path, summary: &mut Summary) {
    let folder = root.join("scenarios");
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    for path in &paths {
        let text = fs::read_to_string(path).unwrap_or_default();
        if let Err(complaint) = scenario(&text) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            summary.failed.push(format!("scenarios: {name}: {complaint}"));
        }
    }
    println!("   {} scenarios", paths.len());
    if paths.is_empty() {
        summary.skipped.push("scenarios: there are none".to_owned());
    }
}

/// Checks the mandatory keys of a scenario; their values are tested where scenarios are read.
fn scenario(text: &str) -> Result<(), String> {
    let table: toml::Table = text.parse().map_err(|e: toml::de::Error| e.to_string())?;
    let version = table.get("version").and_then(toml::Value::as_integer);
    if version != Some(1) {
        return Err("does not have version = 1".to_owned());
    }
    if table.get("title").and_then(toml::Value::as_str).is_none_or(str::is_empty) {
        return Err("has no title".to_owned());
    }
    Ok(())
}

fn deny(root: &Path, summary: &mut Summary) {
    let installed = cargo(root, &["deny", "--version"]).output().is_ok_and(|o| o.status.success());
    if !installed {
        summary.skipped.push("deny: cargo-deny not installed".to_owned());
        return;
    }
    summary.command("deny", &mut cargo(root, &["deny", "check", "bans", "licenses", "sources"]));
    // Known vulnerabilities of dependencies are in a database that has to be fetched.
    let mut advisories = cargo(root, &["deny", "check", "advisories"]);
    let output = advisories.output();
    let said = output.as_ref().map_or_else(
        |error| error.to_string(),
        |output| String::from_utf8_lossy(&output.stderr).into_owned(),
    );
    if output.is_ok_and(|output| output.status.success()) {
        return;
    }
    if said.contains("failed to fetch") || said.contains("failed to get") {
        summary.skipped.push("deny: the database of advisories cannot be fetched".to_owned());
    } else {
        println!("{said}");
        summary.failed.push("deny: advisories".to_owned());
    }
}

fn test(root: &Path, summary: &mut Summary) {
    run_tests(
        &["--workspace", "--features", "tidewire/arrow,tidewire/parquet"],
        "test",
        root,
        summary,
    );
}

fn quick(root: &Path, summary: &mut Summary) {
    format_and_tidy("quick", root, summary);
    let packages = changed::packages(root);
    if packages.is_empty() {
        println!("   no crate has changed");
        return;
    }
    let selection: Vec<&str> = packages.iter().flat_map(|name| ["-p", name.as_str()]).collect();
    let clippy = [&["clippy"], selection.as_slice(), &["--all-targets", "--", "-D", "warnings"]];
    summary.command("quick", &mut cargo(root, &clippy.concat()));
    run_tests(&selection, "quick", root, summary);
}

/// Runs the tests and prints cargo's output without that of tests that passed. Of the latter, the
/// reasons for skipping are kept for the summary.
fn run_tests(selection: &[&str], stage: &str, root: &Path, summary: &mut Summary) {
    let arguments = [&["test"], selection, &["--no-fail-fast", "--", "--show-output"]].concat();
    let mut command = cargo(root, &arguments);
    println!("   {}", line_of(&command));
    let Ok(mut child) = command.env("INSTA_UPDATE", "no").stdout(Stdio::piped()).spawn() else {
        summary.failed.push(format!("{stage}: {}", line_of(&command)));
        return;
    };
    let mut filter = shown::Filter::default();
    let output = child.stdout.take().expect("the output was asked for as a pipe");
    for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        if filter.shows(&line) {
            println!("{line}");
        }
    }
    summary.skipped.extend(filter.skipped().into_iter().map(|why| format!("{stage}: {why}")));
    if !child.wait().is_ok_and(|status| status.success()) {
        summary.failed.push(format!("{stage}: {}", line_of(&command)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_stage_is_refused_with_the_known_names() {
        let complaint = run(Path::new("."), "lynt", false).unwrap_err();
        assert_eq!(
            complaint,
            "no such stage: lynt (there are lint, pure, systems, scenarios, deny, test, page, python, quick, all)"
        );
    }

    #[test]
    fn a_scenario_needs_its_version_and_a_title() {
        assert_eq!(scenario("version = 1\ntitle = 'x'"), Ok(()));
        assert_eq!(scenario("version = 2\ntitle = 'x'"), Err("does not have version = 1".into()));
        assert_eq!(scenario("version = 1"), Err("has no title".into()));
        assert!(scenario("version =").is_err(), "not TOML at all");
    }

    #[test]
    fn a_command_that_fails_is_named_in_the_summary() {
        let mut summary = Summary::default();
        let mut missing = cargo(crate::root(), &["no-such-subcommand-of-cargo"]);
        assert!(!summary.command("lint", missing.stderr(Stdio::null())));
        assert_eq!(summary.failed, ["lint: cargo no-such-subcommand-of-cargo"]);
    }

    #[test]
    fn a_missing_capture_fails_only_with_shared() {
        let reasons = ["test: no ../shared/captures (2 tests)", "test: no tshark (1 test)"];
        let mut summary =
            Summary { skipped: reasons.map(str::to_owned).to_vec(), ..Summary::default() };
        summary.fail_without_shared();
        assert_eq!(summary.failed, reasons[..1]);
        assert_eq!(summary.skipped, reasons[1..]);
    }
}

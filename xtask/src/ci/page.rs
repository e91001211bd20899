//! The live page: its scripts are checked, bundled again and tried in a browser.

use super::Summary;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Files that are made from the page's sources and committed, so that a build needs no Node.
const MADE: [&str; 2] = ["app.js", "app.css"];

/// Runs the stage; without Node it is skipped, and without a browser its test.
pub(super) fn run(root: &Path, summary: &mut Summary) {
    let folder = root.join("crates/web/page");
    let npm = |arguments: &[&str]| {
        let mut command = Command::new("npm");
        command.args(arguments).current_dir(&folder).env("TIDEWIRE", program(root));
        command
    };
    if !npm(&["--version"]).output().is_ok_and(|output| output.status.success()) {
        summary.skipped.push("page: Node not installed".to_owned());
        return;
    }
    if !npm(&["ci", "--silent"]).status().is_ok_and(|status| status.success()) {
        summary.skipped.push("page: the packages of Node cannot be fetched".to_owned());
        return;
    }
    let made = root.join("crates/web/dist");
    let before = MADE.map(|name| fs::read(made.join(name)).ok());
    for script in ["check", "build"] {
        println!("   npm run {script}");
        if !npm(&["run", "--silent", script]).status().is_ok_and(|status| status.success()) {
            summary.failed.push(format!("page: npm run {script}"));
        }
    }
    for (name, before) in MADE.iter().zip(before) {
        if fs::read(made.join(name)).ok() != before {
            summary.failed.push(format!("page: dist/{name} was not that of the sources"));
        }
    }
    browse(&mut npm(&["test", "--silent"]), summary);
}

/// The program that the tests have built.
fn program(root: &Path) -> std::path::PathBuf {
    root.join("target/debug/tidewire")
}

/// Tries the page in a browser.
fn browse(test: &mut Command, summary: &mut Summary) {
    println!("   npm test");
    let Ok(output) = test.output() else {
        summary.failed.push("page: npm test".to_owned());
        return;
    };
    let told = String::from_utf8_lossy(&output.stdout);
    let skipped = told.lines().filter_map(|line| line.strip_prefix("skipped: "));
    summary.skipped.extend(skipped.map(|why| format!("page: {why}")));
    if !output.status.success() {
        println!("{told}");
        summary.failed.push("page: npm test".to_owned());
    }
}

//! The package for Python: its wheel is built, installed in a fresh environment, and tried.

use super::Summary;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs the stage; without Python, or where its packages cannot be fetched, it is skipped.
pub(super) fn run(root: &Path, summary: &mut Summary) {
    let place = root.join("target/python");
    let (builder, fresh, wheels) =
        (place.join("builder"), place.join("fresh"), place.join("wheels"));
    for old in [&fresh, &wheels] {
        if old.exists() && fs::remove_dir_all(old).is_err() {
            summary.failed.push(format!("python: {} cannot be removed", old.display()));
            return;
        }
    }
    let works = |command: &mut Command| command.status().is_ok_and(|status| status.success());
    let venv = |at: &Path| works(Command::new("python3").args(["-m", "venv"]).arg(at));
    let pip = |at: &Path| {
        let mut pip = Command::new(at.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        pip
    };
    if !(builder.join("bin/maturin").exists() || venv(&builder)) || !venv(&fresh) {
        summary.skipped.push("python: no Python with venv".to_owned());
        return;
    }
    if !works(pip(&builder).arg("maturin>=1.9,<2")) {
        summary.skipped.push("python: maturin cannot be fetched".to_owned());
        return;
    }
    println!("   maturin build");
    let mut build = Command::new(builder.join("bin/maturin"));
    build.args(["build", "--quiet", "--out"]).arg(&wheels).current_dir(root.join("crates/python"));
    let wheel = || fs::read_dir(&wheels).ok()?.find_map(|entry| Some(entry.ok()?.path()));
    let Some(wheel) = works(&mut build).then(wheel).flatten() else {
        summary.failed.push("python: maturin build".to_owned());
        return;
    };
    if !works(pip(&fresh).arg(&wheel)) {
        summary.failed.push("python: the wheel cannot be installed".to_owned());
        return;
    }
    // A data frame is taken by one test, which says that it is skipped without this.
    let _ = works(pip(&fresh).arg("polars"));
    println!("   tests/test_tidewire.py");
    let mut test = Command::new(fresh.join("bin/python"));
    test.arg(root.join("crates/python/tests/test_tidewire.py"))
        .current_dir(&place)
        .env("TIDEWIRE", root.join("target/debug/tidewire"));
    let Ok(output) = test.output() else {
        summary.failed.push("python: tests".to_owned());
        return;
    };
    let told = String::from_utf8_lossy(&output.stdout);
    let skipped = told.lines().filter_map(|line| line.strip_prefix("skipped: "));
    summary.skipped.extend(skipped.map(|why| format!("python: {why}")));
    if !output.status.success() {
        println!("{told}{}", String::from_utf8_lossy(&output.stderr));
        summary.failed.push("python: tests".to_owned());
    }
}

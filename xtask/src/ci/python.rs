//! The package for Python: its wheel is built, installed in a fresh environment, and tried.

use super::Summary;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Version of maturin, as pip is asked for it.
pub(crate) const MATURIN: &str = "maturin>=1.9,<2";

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
    if !works(pip(&builder).arg(MATURIN)) {
        summary.skipped.push("python: maturin cannot be fetched".to_owned());
        return;
    }
    println!("   maturin build");
    let mut build = Command::new(builder.join("bin/maturin"));
    build.args(["build", "--quiet", "--profile", "dev", "--out"]).arg(&wheels);
    // As tests are built: crates that they have in common are there already.
    build.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1").current_dir(root.join("crates/python"));
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
    println!("   notebooks");
    match notebooks(root, &fresh) {
        Ok(run) => println!("   {run} run"),
        Err(Trouble::Skipped(why)) => summary.skipped.push(format!("python: {why}")),
        Err(Trouble::Failed(why)) => summary.failed.push(format!("python: {why}")),
    }
}

/// Reason why notebooks were not run to their ends.
pub(crate) enum Trouble {
    /// The program that runs them is not available.
    Skipped(String),
    /// A cell of one failed.
    Failed(String),
}

/// Runs every notebook in an environment that has the package; returns their number. The files stay as they are.
pub(crate) fn notebooks(root: &Path, environment: &Path) -> Result<usize, Trouble> {
    let mut install = Command::new(environment.join("bin/python"));
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    install.args(["nbclient", "ipykernel"]);
    if !install.status().is_ok_and(|status| status.success()) {
        return Err(Trouble::Skipped(
            "nbclient, which runs notebooks, cannot be fetched".to_owned(),
        ));
    }
    let folder = root.join("crates/python/notebooks");
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "ipynb"));
    paths.sort();
    for path in &paths {
        let mut run = Command::new(environment.join("bin/jupyter-execute"));
        // The kernel is that of this environment, whatever others are installed.
        run.env("JUPYTER_PREFER_ENV_PATH", "1").args(["--timeout", "120"]).arg(path);
        let output = run.current_dir(&folder).output();
        let failed = |why: &str| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            Err(Trouble::Failed(format!("notebook {name}: {why}")))
        };
        match output {
            Ok(output) if output.status.success() => {}
            Ok(output) => return failed(String::from_utf8_lossy(&output.stderr).trim_end()),
            Err(error) => return failed(&error.to_string()),
        }
    }
    if paths.is_empty() {
        return Err(Trouble::Failed("there is no notebook".to_owned()));
    }
    Ok(paths.len())
}

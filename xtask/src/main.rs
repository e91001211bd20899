//! Maintenance of the workspace: `cargo xtask ci | nightly | tidy | same | new | dist | bless`.
//!
//! People and CI run the same gates: there is no second script with other checks.
#![forbid(unsafe_code)]

mod bless;
mod ci;
mod dist;
mod new;
mod nightly;
mod release_check;
mod same;
mod tidy;
mod tree;

use std::path::Path;
use std::process::{Command, ExitCode};

const USAGE: &str = "\
usage: cargo xtask ci [STAGE]                                     run the gates (all of them)
           STAGE: quick, lint, pure, systems, scenarios, deny, test, page, python, all
           --with-shared: a test that lacks a capture that the repository does not ship fails
       cargo xtask nightly [--only NAME] [--minutes N]            search for hours (N for each fuzzer)
       cargo xtask tidy                                           check the rules; print numbers of the code
       cargo xtask same OLD NEW [CAPTURE...]                      compare the numbers of two programs
       cargo xtask new KIND NAME                                  make the files of a new part
           KIND: protocol, measure, medium, fault, workload, scenario
       cargo xtask dist                                           make the files of a release in target/packages
       cargo xtask release-check [--record]                       install and try them in clean roots
           --record: the output replaces that in docs/verification.md
       cargo xtask pages                                          make the pages of crates
       cargo xtask bless [ARGUMENTS OF cargo test]                the same, and rewrite the expected results";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["ci"] => ci::run(root(), "all", false),
        ["ci", "--with-shared"] => ci::run(root(), "all", true),
        ["ci", stage] => ci::run(root(), stage, false),
        ["ci", stage, "--with-shared"] => ci::run(root(), stage, true),
        ["nightly", options @ ..] => nightly::run(root(), options),
        ["tidy"] => tidy::run(root()),
        ["same", old, new, captures @ ..] => same::run(root(), old, new, captures),
        ["new", kind, name] => new::run(root(), kind, name),
        ["pages"] => tidy::pages::write(root()),
        ["dist"] => dist::run(root()),
        ["release-check"] => release_check::run(root(), false),
        ["release-check", "--record"] => release_check::run(root(), true),
        ["bless", rest @ ..] => bless::run(root(), rest),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(complaint) => {
            eprintln!("error: {complaint}");
            ExitCode::FAILURE
        }
    }
}

/// Cargo command in the workspace: the cargo that runs this program, if one does.
fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root).args(arguments);
    command
}

/// Standard output of a command, without the end of its last line.
fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// Top folder of the workspace.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

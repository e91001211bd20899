//! The chores of the workspace: `cargo xtask ci | nightly | tidy | new | bless`.
//!
//! What the gates check is what people run: there is no second script that knows more.
#![forbid(unsafe_code)]

mod bless;
mod ci;
mod new;
mod nightly;
mod tidy;
mod tree;

use std::path::Path;
use std::process::{Command, ExitCode};

const USAGE: &str = "\
usage: cargo xtask ci [quick|lint|pure|scenarios|deny|test|all]   run the gates (all of them)
       cargo xtask nightly [--only NAME] [--minutes N]            search for hours (N for each fuzzer)
       cargo xtask tidy                                           check the rules of the house
       cargo xtask new KIND NAME                                  make the files of a new part
           KIND: protocol, measure, medium, fault, workload, scenario
       cargo xtask bless [ARGUMENTS OF cargo test]                rewrite the expected results";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["ci"] => ci::run(root(), "all"),
        ["ci", stage] => ci::run(root(), stage),
        ["nightly", options @ ..] => nightly::run(root(), options),
        ["tidy"] => tidy::run(root()),
        ["new", kind, name] => new::run(root(), kind, name),
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

/// Cargo, run in the workspace: the one that runs this, if one does.
fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root).args(arguments);
    command
}

/// The top folder of the workspace.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

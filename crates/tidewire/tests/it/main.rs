//! The command, run as people and scripts run it.
#![expect(clippy::unwrap_used, reason = "the helpers of these tests fail as tests do")]

mod advise;
mod annotated_port;
mod anonymize;
mod around;
mod bad_input;
mod capture;
mod codes;
#[cfg(feature = "parquet")]
mod columnar;
mod compare;
mod compare_tools;
mod compare_watched;
mod cyclic;
mod cyclic_clocks;
mod dashboard;
mod demo;
mod directory;
mod dissect;
mod doctor;
mod documents;
mod dry_run;
mod each_message;
mod examples;
mod export;
mod findings;
mod first_use;
mod glossary;
mod guides;
mod headers_only;
mod help;
mod hostile;
mod import;
mod iso_tcp;
mod json_schema;
mod kept_runs;
mod layers;
mod link;
mod log;
mod long_segments;
mod lossy_file;
mod many_flows;
mod merged_histograms;
mod metrics;
mod mms;
mod mms_flows;
mod monitor;
mod obeyed;
mod outputs;
mod own_cost;
mod page;
mod page_of_runs;
mod peers;
mod plant;
mod predict;
mod printable;
mod profiles;
mod publishers;
mod redundancy;
mod relay;
mod report;
mod reproduce;
mod requirements;
mod room;
mod scenarios;
mod schemas;
mod selftest;
mod shards;
mod shell;
mod signals;
mod slowest;
mod stalled;
mod stream;
mod streams_live;
mod timeline;
mod transactions;
mod transit;
mod transit_live;
mod watch;
mod watch_require;
mod width;
mod wires;

use signal_hook::consts::SIGINT;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};

/// A program that heeds interrupts. A shell without job control starts what runs in the background with
/// SIGINT ignored, and programs keep that; a signal that has a handler is not ignored past exec(2).
fn program(name: impl AsRef<OsStr>) -> Command {
    static HEEDED: Once = Once::new();
    HEEDED.call_once(|| {
        let always = Arc::new(AtomicBool::new(true));
        signal_hook::flag::register_conditional_default(SIGINT, always).unwrap();
    });
    Command::new(name)
}

/// The command with nothing from the surroundings of the test that could change what it prints.
fn command<S: AsRef<OsStr>>(arguments: &[S]) -> Command {
    let mut command = program(env!("CARGO_BIN_EXE_tidewire"));
    command.args(arguments).stdin(Stdio::null());
    for variable in ["COLUMNS", "LINES", "CLICOLOR_FORCE", "RUST_BACKTRACE"] {
        command.env_remove(variable);
    }
    command
}

/// Runs the command in a folder to its end.
fn run_in<S: AsRef<OsStr>>(folder: &Path, arguments: &[S]) -> Output {
    command(arguments).current_dir(folder).output().unwrap()
}

/// Runs the command to its end, in a folder that takes what it writes.
fn run<S: AsRef<OsStr>>(arguments: &[S]) -> Output {
    run_in(tempfile::tempdir().unwrap().path(), arguments)
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The records of an NDJSON output; each line must be one.
#[track_caller]
fn records(output: &Output) -> Vec<serde_json::Value> {
    stdout(output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Asserts how the command ended.
#[track_caller]
fn check_code(output: &Output, code: i32) {
    assert_eq!(output.status.code(), Some(code), "{}\n{}", stdout(output), stderr(output));
}

/// Sends Ctrl-C's signal to a process.
fn interrupt(process: u32) {
    let status = Command::new("kill").args(["-INT", &process.to_string()]).status().unwrap();
    assert!(status.success());
}

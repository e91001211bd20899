//! Signals: which are obeyed, which stay ignored, and what a limit of file sizes comes to.

use crate::export::CELL;
use crate::{check_code, command, interrupt, program, records, run, stderr};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::UdpSocket;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The number of openat(2) on x86-64, as `/proc/PID/syscall` writes it for a process that waits in it.
const OPENAT: &str = "257 ";

fn free_address() -> String {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

#[test]
fn a_hangup_that_was_ignored_from_the_start_stays_ignored() {
    let (there, here) = (free_address(), free_address());
    let mut nohup = program("nohup");
    nohup.arg(env!("CARGO_BIN_EXE_tidewire")).args(["serve", "--json", "--udp", &there]);
    let piped = nohup.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = piped.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("listening"), "{line}");
    let sent = Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let measure = ["measure", "--udp", &here, "--udp-peer", &there, "--no-save"];
    check_code(&run(&[&measure[..], &["--messages", "5"]].concat()), 0);
    interrupt(child.id());
    assert_eq!(child.wait().unwrap().code(), Some(130), "an interrupt still ends it");
}

#[test]
fn a_process_that_stood_still_loses_no_message_for_it() {
    let measure = ["measure", "status-short", "-n", "1", "--no-save", "--json"];
    let child = command(&measure).stdout(Stdio::piped()).spawn().unwrap();
    let process = child.id().to_string();
    let does = |name: &str, arguments: &[&str]| {
        assert!(Command::new(name).args(arguments).status().unwrap().success());
    };
    // Each station has a thread, and so have the signals and the rest.
    let threads = format!("/proc/{process}/task");
    let runs = |_: &i32| fs::read_dir(&threads).unwrap().count() >= 4;
    let begun = (0..1_000).inspect(|_| does("sleep", &["0.01"])).find(runs);
    assert!(begun.is_some(), "the run has not begun");
    does("sleep", &["0.3"]);
    does("kill", &["-STOP", &process]);
    does("sleep", &["4"]);
    does("kill", &["-CONT", &process]);
    let output = child.wait_with_output().unwrap();
    let records = records(&output);
    let sample = records.iter().find(|it| it["type"] == "sample").unwrap();
    for flow in sample["flows"].as_array().unwrap() {
        assert!(flow["sent"].as_u64() > Some(0) && flow["lost"] == 0, "{flow}");
    }
}

#[test]
fn the_first_interrupt_ends_what_waits_for_a_fifo_to_open() {
    if !cfg!(target_arch = "x86_64") {
        println!("skipped: the number of openat is that of x86-64");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo").display().to_string();
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let out = folder.path().join("out").display().to_string();
    for arguments in [
        &["watch", "-r", &fifo][..],
        &["watch", "-r", CELL, "--far", &fifo],
        &["watch", "-r", CELL, "--anonymize", "--anonymize-key", &fifo],
        &["watch", "-r", CELL, "--events", &fifo],
        &["watch", "-r", &fifo, "--screen", "monitor", "--plain"],
        &["capture", "-r", &fifo, "-w", &out],
        &["capture", "-r", CELL, "-w", &fifo],
        &["dissect", "-r", &fifo],
        &["meter", &fifo],
        &["show", "--plain", &fifo],
        &["compare", &fifo, &fifo],
        &["predict", &fifo],
        &["measure", &fifo],
        &["advise", &fifo],
    ] {
        let mut of = command(arguments);
        let of = of.current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = of.spawn().unwrap();
        while !is_opening(child.id()) {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "{arguments:?} opened no FIFO: {ended:?}");
            std::thread::yield_now();
        }
        interrupt(child.id());
        assert!(ends(&mut child), "{arguments:?} goes on after the first interrupt");
        let status = child.wait().unwrap();
        let by_default = status.signal() == Some(2);
        assert!(by_default || status.code() == Some(130), "{arguments:?}: {status}");
    }
}

/// Returns true if a thread of a process waits in openat(2).
fn is_opening(process: u32) -> bool {
    let threads = Path::new("/proc").join(process.to_string()).join("task");
    let Ok(threads) = std::fs::read_dir(threads) else { return false };
    threads.flatten().any(|thread| {
        let call = std::fs::read_to_string(thread.path().join("syscall"));
        call.is_ok_and(|call| call.starts_with(OPENAT))
    })
}

/// Returns true if a process ends. One that has printed that it stops, and then waits in openat(2) still, does not.
fn ends(child: &mut Child) -> bool {
    let mut waits = 0;
    while child.try_wait().unwrap().is_none() {
        waits = if is_opening(child.id()) { waits + 1 } else { 0 };
        if waits > 20_000 {
            child.kill().unwrap();
            child.wait().unwrap();
            return false;
        }
        std::thread::yield_now();
    }
    true
}

#[test]
fn a_file_size_limit_is_an_error_and_does_not_kill_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.pcapng").display().to_string();
    let mut limited = program("prlimit");
    limited.args(["--fsize=4096", env!("CARGO_BIN_EXE_tidewire")]);
    let output = limited
        .args(["predict", "status-short", "--no-save", "--capture", &path])
        .output()
        .unwrap();
    check_code(&output, 1);
    assert!(stderr(&output).contains("File too large"), "{}", stderr(&output));
}

#[test]
fn a_run_of_1e9_messages_a_second_ends_at_an_interrupt() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fast.toml");
    let mut text = r#"version = 1
title = "fast"
stop = { after = "1 s" }
medium = { kind = "ideal", rate = "10 Mbit/s", delay = "5 us" }
stations = { count = 2, prefix = "s" }
"#
    .to_owned();
    for n in 0..4 {
        let flow = "from = \"s-1\"\nto = \"s-2\"\nservice = \"datagram\"\nsize = \"20 B\"";
        let pattern = "pattern = { kind = \"cyclic\", period = \"1 ns\" }";
        text += &format!("[[flow]]\nname = \"status-{n}\"\n{flow}\n{pattern}\n");
    }
    std::fs::write(&path, text).unwrap();
    let mut of = command(&["predict", &path.display().to_string(), "--no-save", "--json"]);
    let mut child = of.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let thread = Path::new("/proc").join(child.id().to_string()).join("status");
    // Bit 1 of the signals caught is SIGINT's: from then on an interrupt is heard.
    let hears = |status: &str| {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(mask.trim(), 16).unwrap() & 2 != 0
    };
    while !hears(&std::fs::read_to_string(&thread).unwrap()) {
        std::thread::yield_now();
    }
    // One that does not hear it before the next 50 ms of simulated time takes minutes of processor time.
    let limit = ["--pid", &child.id().to_string(), "--cpu=30"];
    let is_limited = program("prlimit").args(limit).status().is_ok_and(|status| status.success());
    if !is_limited {
        println!("without prlimit a run that hears no interrupt takes minutes");
    }
    interrupt(child.id());
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

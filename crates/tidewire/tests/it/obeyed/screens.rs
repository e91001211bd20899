//! Options of screens change what is drawn on a terminal.

use crate::export::CELL;
use crate::{check_code, program, records, run, run_in, stderr, stdout};
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Words of the screens when the whole capture has been read: of the monitor, of the pages, and of `--plain`.
const ENDS: [&str; 3] = ["  over", "all there is", "the last after"];

/// Terminal of 24 lines of 80 columns, and the octets that it was sent.
struct Drawn {
    screen: String,
    octets: String,
    /// Text on the terminal after the command has ended.
    left: String,
}

impl Drawn {
    /// Text on the screen, or an escape sequence among the octets.
    fn has(&self, text: &str) -> bool {
        if text.ends_with(';') { self.octets.contains(text) } else { self.screen.contains(text) }
    }
}

/// Last screen of a command line on a terminal of its own, which is sent keys: the screen that says that
/// the capture is at its end, and that has a text.
///
/// Intermediate screens are not looked at: they depend on the time that the capture takes to be read.
fn drawn(folder: &Path, line: &str, keys: &str, until: &str) -> Drawn {
    drawn_with(folder, line, [keys, ""], until, &ENDS)
}

/// Like [`drawn`], with keys that are sent once the capture is at its end.
fn drawn_later(folder: &Path, line: &str, keys: &str, until: &str) -> Drawn {
    drawn_with(folder, line, ["", keys], until, &ENDS)
}

/// Screen of a command line with a text, with keys that are sent at first and keys that are sent once a text of `ends` is
/// on the screen.
fn drawn_with(
    folder: &Path,
    line: &str,
    [keys, later]: [&str; 2],
    until: &str,
    ends: &[&str],
) -> Drawn {
    let words: Vec<String> = super::words(line).iter().map(|word| format!("'{word}'")).collect();
    let tidewire = env!("CARGO_BIN_EXE_tidewire");
    let shell = format!("stty cols 80 rows 24; exec '{tidewire}' {}", words.join(" "));
    let mut child = program("timeout")
        .args(["60", "script", "-qefc", &shell, "/dev/null"])
        .current_dir(folder)
        .env("TERM", "xterm")
        .env("LC_ALL", "C.UTF-8")
        .env_remove("NO_COLOR")
        .env_remove("COLORFGBG")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(keys.as_bytes()).unwrap();
    let mut output = child.stdout.take().unwrap();
    let mut terminal = vt100::Parser::new(24, 80, 0);
    let mut drawn = Drawn { screen: String::new(), octets: String::new(), left: String::new() };
    let mut buffer = [0; 4_096];
    let is_at_end = |drawn: &Drawn| ends.iter().any(|end| drawn.screen.contains(end));
    let mut later = Some(later).filter(|keys| !keys.is_empty());
    while !(drawn.has(until) && is_at_end(&drawn)) {
        let count = output.read(&mut buffer).unwrap_or(0);
        assert!(count > 0, "{line}: ended without {until:?}:\n{}", drawn.screen);
        terminal.process(&buffer[..count]);
        drawn.screen = terminal.screen().contents();
        drawn.octets += &String::from_utf8_lossy(&buffer[..count]);
        if let Some(keys) = later.take_if(|_| is_at_end(&drawn)) {
            input.write_all(keys.as_bytes()).unwrap();
        }
    }
    // One of them is the key that ends it.
    let _ = input.write_all(b"qx");
    let mut rest = Vec::new();
    let _ = output.read_to_end(&mut rest);
    terminal.process(&rest);
    drawn.left = terminal.screen().contents();
    let ended = child.wait().unwrap();
    assert!(ended.success(), "{line}: {ended} after\n{}", drawn.screen);
    drawn
}

/// True if there is a program that gives a command a terminal.
fn has_script() -> bool {
    let mut script = program("script");
    let found = script.arg("--version").stdout(Stdio::null()).status().is_ok_and(|it| it.success());
    if !found {
        println!("skipped: no script(1), which gives a command a terminal");
    }
    found
}

#[test]
fn a_kept_screen_stays_on_the_terminal() {
    if !has_script() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::copy(CELL, folder.path().join("cell.pcapng")).unwrap();
    let line = "watch -r cell.pcapng --screen measures";
    let quit = drawn(folder.path(), line, "", "q quit");
    // Each picture begins and ends synchronized output (mode 2026).
    let [begins, ends] =
        ["\u{1b}[?2026h", "\u{1b}[?2026l"].map(|of| quit.octets.matches(of).count());
    assert!(begins > 0 && begins - ends <= 1, "{begins} and {ends}");
    let delays = "acknowledgement mean 10.5 ms  p50 10.1 ms";
    assert!(quit.screen.contains(delays) && !quit.left.contains(delays), "{}", quit.left);
    // The key that ends it keeps the screen here.
    let kept = drawn(folder.path(), &format!("{line} --keys quit=Q,keep=q"), "", "Q quit");
    assert!(kept.screen.contains(delays) && kept.left.contains(delays), "{}", kept.left);
}

/// The only run folder in a folder, and its records.
fn records_of(root: &Path) -> (PathBuf, String) {
    let runs: Vec<PathBuf> = fs::read_dir(root).unwrap().map(|it| it.unwrap().path()).collect();
    let [run] = runs.as_slice() else { panic!("{runs:?}") };
    (run.clone(), fs::read_to_string(run.join("measures.ndjson")).unwrap())
}

#[test]
fn a_screen_keeps_the_records_that_lines_would() {
    if !has_script() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::copy(CELL, path.join("cell.pcapng")).unwrap();
    let options = "--measure '2 s' --channel '2 Mbit/s' --filter 'from 02:00:00:00:00:01'";
    let arguments = format!("watch -r cell.pcapng {options} -o lines");
    check_code(&run_in(path, &super::words(&arguments)), 0);
    let (_, of_lines) = records_of(&path.join("lines"));
    for (screen, lines) in [("measures", 7), ("monitor", 7)] {
        let line = format!("watch -r cell.pcapng {options} --speed max --screen {screen}");
        let shown = drawn(path, &format!("{line} -o {screen}"), "", "q quit");
        let (run, of_screen) = records_of(&path.join(screen));
        assert_eq!(of_screen, of_lines, "{screen}");
        let left: Vec<&str> = shown.left.trim().lines().collect();
        let name = run.file_name().unwrap().to_str().unwrap();
        assert_eq!(left.len(), lines, "{}", shown.left);
        assert_eq!(left[lines - 1], format!("  run folder: {screen}/{name}"));
        let line = format!("watch -r cell.pcapng --speed max --screen {screen}");
        let without = drawn(path, &line, "", "q quit").left;
        assert!(
            without.trim().ends_with("no run was kept: -o runs keeps one, for tidewire report")
        );
    }
    // A folder of runs stands for the records of the latest.
    let shown = drawn(path, "show measures", "", "all there is").left;
    let (run, _) = records_of(&path.join("measures"));
    let run = run.strip_prefix(path).unwrap().display();
    assert_eq!(shown.trim().lines().last().unwrap(), format!("  records: {run}/measures.ndjson"));
    let empty = run_in(path, &["show", ".", "--plain"]);
    check_code(&empty, 1);
    let said = "a folder without measures.ndjson\n  fix: name a folder of `watch -o`";
    assert!(stderr(&empty).contains(said), "{}", stderr(&empty));
}

#[test]
fn an_operator_who_leaves_early_has_the_records_up_to_then() {
    if !has_script() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::copy(CELL, path.join("cell.pcapng")).unwrap();
    // Five seconds of frames, which would take more than an hour.
    let line = "watch -r cell.pcapng --screen monitor --speed 0.001 -o runs";
    drawn_with(path, line, ["", ""], "q quit", &["playing"]);
    let (_, records) = records_of(&path.join("runs"));
    let end: serde_json::Value = serde_json::from_str(records.lines().last().unwrap()).unwrap();
    assert_eq!((&end["type"], &end["complete"]), (&"end".into(), &false.into()));
    assert_eq!(end["error"], "interrupted");
    assert!(end["frames"].as_u64().unwrap() < 595, "{end}");
}

#[test]
fn the_built_in_capture_has_its_name_on_every_page() {
    if !has_script() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let shown = drawn(folder.path(), "watch --demo --screen monitor --speed max", "", "  over");
    assert!(shown.screen.starts_with("the built-in capture  filter: all"), "{}", shown.screen);
    assert!(shown.left.trim().starts_with("the built-in capture: 595 frames"), "{}", shown.left);
}

#[test]
fn options_of_screens_change_what_is_drawn() {
    if !has_script() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::copy(CELL, folder.path().join("cell.pcapng")).unwrap();
    let stream = run_in(folder.path(), &["meter", "cell.pcapng", "--sample", "500 ms"]);
    fs::write(folder.path().join("stream.ndjson"), stream.stdout).unwrap();
    let check = |line: &str, keys: &str, without: &str, option: &str, with: &str| {
        let base = drawn(folder.path(), line, keys, without);
        assert!(!base.has(with), "{line} draws {with:?} without {option}:\n{}", base.screen);
        drawn(folder.path(), &format!("{line} {option}"), keys, with);
    };
    let show = "show stream.ndjson";
    check(show, "", "38;5;1;", "--theme dark", "38;5;9;");
    check(show, "5", "█", "--symbols ascii", "##");
    check(show, "", "q quit", "--keys quit=x", "x quit");
    check(show, "", "38;5;1;", "--plain", "595 frames, the last after");
    let measures = "watch -r cell.pcapng --screen measures";
    check(measures, "", "38;5;1;", "--theme dark", "38;5;9;");
    check(measures, "5", "█", "--symbols ascii", "##");
    check(measures, "3", "00:02", "--top 1", "others");
    let monitor = "watch -r cell.pcapng --screen monitor --speed max";
    check(monitor, "", "38;5;5;", "--theme dark", "38;5;11;");
    check(monitor, "", "█", "--symbols ascii", "#");
    check(monitor, "", "1M", "--bits-scale '7 Mbit/s'", "7M");
    check(monitor, "", "packets/s", "--packets-scale 777", "777");
    check(monitor, "", "q quit", "--keys quit=x", "x quit");
    check(monitor, "", "filter: all", "--from-station 02:00:00:00:00:01", "filter: from 02:00");
    check(monitor, "", "filter: all", "--to-station 02:00:00:00:00:01", "filter: to 02:00");
    // The pages of measures follow the monitor, which follows them.
    check(measures, "0", "packets/s", "--from-station 02:00:00:00:00:09", "00:00:09");
    check(measures, "0", "packets/s", "--packets-scale 777", "777");
    check(measures, "", "q quit", "--keys quit=x", "x quit");
    check(monitor, "9", "measured", "--measure '3 s'", "3.00");
    check(monitor, "9", "reported", "--report '250 ms'", "250");
    check(monitor, "9", "measured", "--measure '1700 ms' --intervals 1", "184");
    check(monitor, "9", "measured", "--start 1970-01-01T00:00:01.7Z", "184");
    check(monitor, "5", "128", "--sizes 6789", "6789");
    // Without the counts of other TPDUs no share is drawn.
    drawn(folder.path(), monitor, "4", "%");
    let only_aks = drawn(folder.path(), &format!("{monitor} --only 'ak_*'"), "4", "[4");
    assert!(!only_aks.has("%"), "{}", only_aks.screen);
    check(monitor, "3", "00:02", "--top 1", "others");
}

#[test]
fn a_key_writes_the_screen_to_files_that_replace_none() {
    if !has_script() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::copy(CELL, path.join("cell.pcapng")).unwrap();
    fs::write(path.join("tidewire-conn-1.txt"), "mine").unwrap();
    let line = "watch -r cell.pcapng --screen measures --speed max";
    let written = drawn_later(path, line, "2e", "written: tidewire-conn-2.{svg,csv,txt}");
    assert!(written.has("..0:00:03>..0:00:01"), "{}", written.screen);
    let read = |name: &str| fs::read_to_string(path.join(name)).unwrap();
    assert_eq!(read("tidewire-conn-1.txt"), "mine");
    let (text, csv) = (read("tidewire-conn-2.txt"), read("tidewire-conn-2.csv"));
    assert!(text.contains("[2 conn.]") || text.contains("[2conn.]"), "{text}");
    assert!(csv.starts_with("from,to,user,state,TPDUs,DTs,retx,"), "{csv}");
    // All of the connection's DTs are in the table: 4 of 122 were retransmitted.
    assert!(csv.contains(",246,122,4,"), "{csv}");
    assert!(read("tidewire-conn-2.svg").contains("..0:00:03&gt;..0:00:01"));
}

#[test]
fn printed_keys_are_those_in_force() {
    // No source, and no screen, is needed to print them.
    let keys = |changes: &str| run(&["watch", "--print-keys", "--keys", changes]);
    let line = |output: &std::process::Output, action: &str| {
        let text = stdout(output);
        let line = text.lines().find(|line| line.trim_start().starts_with(action)).unwrap();
        line.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line(&keys("pause=p,previous=P"), "pause"), "pause p all");
    assert_eq!(line(&keys("earlier=z"), "earlier"), "earlier z measures");
    let conflict = keys("quit=e");
    check_code(&conflict, 2);
    assert!(stderr(&conflict).contains("the key e would both quit and export"), "{conflict:?}");
    let shown = run(&["show", "--print-keys", "--keys", "quit=x", "--json"]);
    check_code(&shown, 0);
    let quit = records(&shown).into_iter().find(|it| it["action"] == "quit").unwrap();
    assert_eq!((quit["keys"][0].as_str(), quit["pages"].as_str()), (Some("x"), Some("all")));
}

#[test]
fn lines_are_what_comes_without_a_screen() {
    let [lines, plain] = [&[][..], &["--plain"]]
        .map(|more| stdout(&run(&[&["watch", "-r", CELL, "--measure", "2 s"], more].concat())));
    assert!(lines.contains("595 frames"), "{lines}");
    assert_eq!(lines, plain);
    let keys = run(&["watch", "-r", CELL, "--keys", "quit=x"]);
    check_code(&keys, 2);
    assert!(stderr(&keys).contains("--keys: no effect without --screen"), "{}", stderr(&keys));
}

#[test]
fn keys_change_the_speed_of_a_replay() {
    if !has_script() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::copy(CELL, path.join("cell.pcapng")).unwrap();
    check_code(&run_in(path, &super::words("watch -r cell.pcapng --measure '1 s' -o runs")), 0);
    // Five seconds of frames would take more than an hour: keys make them take no time.
    let faster = ">".repeat(25);
    let line = "watch -r cell.pcapng --screen monitor --speed 0.001";
    let shown = drawn_with(path, line, [&faster, ""], "  over", &ENDS);
    assert!(shown.screen.contains("595 ") || shown.left.contains("595 frames"), "{}", shown.left);
    let shown = drawn_with(path, "show runs --speed 0.001", [&faster, ""], "all there is", &ENDS);
    assert!(shown.screen.contains("595 frames"), "{}", shown.screen);
    let slower = drawn_with(path, line, ["", "<"], "replay at 0.001x", &["playing"]);
    assert!(slower.screen.contains("replay at 0.001x"), "{}", slower.screen);
    drawn_later(path, "show runs", "<", "no replay: --speed N");
}

#[test]
fn a_replay_begins_with_its_first_interval_and_has_bars() {
    if !has_script() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::copy(CELL, path.join("cell.pcapng")).unwrap();
    check_code(&run_in(path, &super::words("watch -r cell.pcapng --measure '2 s' -o runs")), 0);
    // The second interval would come after more than half an hour.
    let line = "show runs --speed 0.001";
    let shown = drawn_with(path, line, ["0", ""], "TPDUs 212:", &["playing"]);
    assert!(shown.screen.contains("LPDU bit/s"), "{}", shown.screen);
    assert!(shown.left.contains("; 1 of 3 intervals shown"), "{}", shown.left);
}

#[test]
fn a_replay_of_a_run_may_begin_with_its_bars() {
    if !has_script() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::copy(CELL, path.join("cell.pcapng")).unwrap();
    // No whole number of 10 ms; with 2 s the page would have at most 3 columns.
    check_code(&run_in(path, &super::words("watch -r cell.pcapng --measure '15 ms' -o runs")), 0);
    let shown = drawn(path, "show runs --screen monitor", "", "LPDU bit/s");
    assert!(shown.screen.contains("15 ms"), "{}", shown.screen);
    assert!(!shown.screen.contains("peak 0 "), "{}", shown.screen);
    let without = run_in(path, &super::words("meter cell.pcapng --only 'dt_*'"));
    fs::write(path.join("dts.ndjson"), without.stdout).unwrap();
    let line = "'dts.ndjson' --screen monitor";
    let tidewire = env!("CARGO_BIN_EXE_tidewire");
    let shell = format!("stty cols 80 rows 24; exec '{tidewire}' show {line}");
    let mut script = program("script");
    script.args(["-qefc", &shell, "/dev/null"]).current_dir(path).stdin(Stdio::null());
    let refused = script.output().unwrap();
    assert!(stdout(&refused).contains("dts.ndjson has no samples"), "{}", stdout(&refused));
}

#[test]
fn watch_names_the_command_that_replays_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    check_code(&run_in(path, &["watch", "-q", "-r", CELL, "-o", "runs"]), 0);
    for (line, show) in [
        ("watch --replay runs", "tidewire show runs --screen measures --replay 1 replays a run"),
        ("watch --screen monitor --replay runs", "tidewire show runs --screen monitor --replay 1"),
        ("watch --replay no/such.ndjson", "tidewire show no/such.ndjson"),
    ] {
        let output = run_in(path, &super::words(line));
        check_code(&output, 2);
        assert!(stderr(&output).contains(show), "{line}: {}", stderr(&output));
    }
    let speed = run_in(path, &["watch", "-r", CELL, "--speed", "2"]);
    check_code(&speed, 2);
    assert!(stderr(&speed).contains("--speed: no effect without --screen"), "{}", stderr(&speed));
}

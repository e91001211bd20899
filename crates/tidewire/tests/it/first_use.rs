//! First use: examples that run, lines that fit a terminal, files that stay, errors with a fix.

use crate::export::{CELL, csv};
use crate::findings::paste;
use crate::watch::{capture as pcap, data};
use crate::wires::{free_address, serving};
use crate::{check_code, command, records, run, run_in, stderr, stdout};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Asserts that no line is wider than a terminal.
#[track_caller]
fn check_width(text: &str) {
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{}", wide.join("\n"));
}

/// Asserts that a command fails with this code and says this.
#[track_caller]
fn check_error(arguments: &[&str], code: i32, expected: &str) {
    let output = run(arguments);
    check_code(&output, code);
    assert!(stderr(&output).contains(expected), "{}", stderr(&output));
}

#[test]
fn the_range_in_the_help_of_predict_is_one_that_it_takes() {
    let help = stdout(&run(&["help", "predict"]));
    let range = help.split('"').find(|text| text.starts_with("stations.ied.count=")).unwrap();
    let output = run(&["predict", "ieds", "--vary", range, "--print-scenario"]);
    check_code(&output, 0);
    let example = help.lines().find_map(|line| line.split("ieds --vary ").nth(1)).unwrap();
    let range = example.split_whitespace().next().unwrap();
    let output = run(&["predict", "ieds", "--no-save", "--vary", range]);
    check_code(&output, 0);
    let text = stdout(&output);
    assert!(text.contains("limit  stations.ied.count: always met at 20 to 40"), "{text}");
}

#[test]
fn reports_fit_a_terminal() {
    for arguments in [
        &["predict", "ieds", "--no-save", "--vary", "stations.ied.count=20,120"][..],
        &["predict", "substation", "--no-save"],
        &["predict", "status-short", "--no-save", "-n", "1"],
        &["predict", "ncc84", "--no-save", "-n", "1"],
        &["predict", "layers", "--messages", "2", "--rounds", "2"],
        &["predict", "status-short", "--no-save", "--require", "delay.max(status) < 20 ms"],
        &["scenarios", "list"],
        &["reproduce"],
    ] {
        check_width(&stdout(&run(arguments)));
    }
}

#[test]
fn intervals_fit_a_terminal_after_years_of_silence() {
    let folder = tempfile::tempdir().unwrap();
    let years = 6 * 365 * 86_400 * 1_000_000_000;
    let capture = pcap(&[(0, data(0)), (years + 1, data(1))]);
    fs::write(folder.path().join("a.pcap"), capture).unwrap();
    for channel in ["10 Mbit/s", "1 Gbit/s", "100 Gbit/s"] {
        let output = run_in(folder.path(), &["watch", "-r", "a.pcap", "--channel", channel]);
        check_code(&output, 0);
        let text = stdout(&output);
        assert!(text.lines().any(|line| line.starts_with("18921600 ")), "{text}");
        check_width(&text);
    }
}

#[test]
fn an_older_file_stays_where_no_capture_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("empty.pcap"), "").unwrap();
    fs::write(at("old"), "older").unwrap();
    fs::create_dir(at("tables")).unwrap();
    fs::write(at("tables/hosts.csv"), "older").unwrap();
    for input in ["none.pcap", "empty.pcap", "tables"] {
        for arguments in [
            &["capture", "-r", input, "-w", "old"][..],
            &["watch", "-r", input, "--annotate", "old"],
            &["watch", "-r", input, "--events", "old"],
            &["watch", "-r", input, "--csv", "tables"],
        ] {
            let output = run_in(folder.path(), arguments);
            check_code(&output, 1);
            assert!(stderr(&output).contains(input), "{}", stderr(&output));
            for name in ["old", "tables/hosts.csv"] {
                assert_eq!(fs::read(at(name)).unwrap(), b"older", "{arguments:?}");
            }
        }
    }
    let output = run_in(folder.path(), &["capture", "-r", "none.pcap", CELL, "-w", "old"]);
    check_code(&output, 1);
    assert!(fs::read(at("old")).unwrap().len() > 1_000, "a bad file does not stop the next");
}

#[test]
fn an_option_without_its_unit_leaves_no_run_folder() {
    let folder = tempfile::tempdir().unwrap();
    let output = run_in(folder.path(), &["predict", "status-short", "--precision", "5"]);
    check_code(&output, 2);
    assert!(stderr(&output).contains("the unit is missing (%)"), "{}", stderr(&output));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_file_in_place_of_a_folder_is_named_so() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("f"), "").unwrap();
    let vary = ["--vary", "background.load=0 %,10 %", "-n", "1", "--figure", "f", "--no-save"];
    for arguments in [
        &["watch", "-r", CELL, "--csv", "f"][..],
        &["predict", "status-short", "-n", "1", "-o", "f"],
        &[&["predict", "status-csma"][..], &vary].concat(),
    ] {
        let output = run_in(folder.path(), arguments);
        check_code(&output, 1);
        let text = stderr(&output);
        assert!(text.contains("error: f is a file, not a folder\n  fix: "), "{text}");
    }
}

#[test]
fn a_scenario_file_that_is_missing_can_be_made() {
    let fix = "fix: tidewire scenarios copy status-short mine.toml makes one";
    check_error(&["predict", "mine.toml"], 1, fix);
}

#[test]
fn a_scenario_comes_from_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let text = String::from_utf8(run(&["scenarios", "show", "status-short"]).stdout).unwrap();
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, &text).unwrap();
    let predicted = |scenario: &str| {
        let mut predict = command(&["predict", scenario, "--no-save", "-n", "2"]);
        let output = predict.stdin(std::fs::File::open(&path).unwrap()).output().unwrap();
        check_code(&output, 0);
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(predicted("-"), predicted(&path.display().to_string()));
    std::fs::write(&path, text.replace("version = 1", "version = 0")).unwrap();
    let mut predict = command(&["predict", "-", "--no-save"]);
    let output = predict.stdin(std::fs::File::open(&path).unwrap()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("standard input:"), "{said}");
}

#[test]
fn a_maximum_that_runs_cannot_prove_names_what_they_can() {
    let predict = |require: &str| {
        let output = run(&["predict", "status-short", "--no-save", "--require", require]);
        check_code(&output, 4);
        stdout(&output)
    };
    let text = predict("delay.max(status) < 1 h").split_whitespace().collect::<Vec<_>>().join(" ");
    let advice = "runs can refute a maximum but never prove one, and theory has no bound here: \
                  require miss(FLOW) < 1e-3 or delay.p99.9(FLOW) instead";
    assert!(text.contains(advice), "{text}");
    check_width(&predict("delay.max(status) < 1 h"));
}

#[test]
fn capture_names_the_command_that_anonymizes() {
    let folder = tempfile::tempdir().unwrap();
    let asked = ["capture", "-r", CELL, "--filter", "iso", "-w", "out.pcapng", "--anonymize"];
    let output = run_in(folder.path(), &asked);
    check_code(&output, 2);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let text = stderr(&output);
    let fix = text.split("fix: tidewire ").nth(1).expect(&text).trim();
    assert!(fix.ends_with("--filter iso --anonymize --annotate out.pcapng"), "{fix}");
    let fix: Vec<&str> = fix.split_whitespace().collect();
    check_code(&run_in(folder.path(), &fix), 0);
    assert!(fs::metadata(folder.path().join("out.pcapng")).unwrap().len() > 1_000);
}

#[test]
fn measure_takes_requirements_on_its_command_line() {
    let measure = |require: &str, code: i32| {
        let output =
            run(&["measure", "status-short", "--no-save", "-n", "1", "--require", require]);
        check_code(&output, code);
        stderr(&output)
    };
    // Losses refute it, however noisy the host.
    measure("lost(*) > 90 %", 3);
    measure("lost(*) < 100 %", 0);
    let text = measure("lost(stats) < 1 %", 2);
    assert!(
        text.contains("there is no flow \"stats\"\n  fix: did you mean status? There are status"),
        "{text}"
    );
}

#[test]
fn a_peer_that_is_not_there_leaves_no_run_folder() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (free_address(), free_address());
    let absent = ["measure", "--udp", &here, "--udp-peer", &there, "--load", "cyclic"];
    let output = run_in(folder.path(), &absent);
    check_code(&output, 1);
    let named = format!("error: no answer from {there}: ");
    assert!(stderr(&output).contains(&named), "{}", stderr(&output));
    assert_eq!(stdout(&output), "", "no report of no run");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    // A folder that was there stays, without the run.
    fs::create_dir(folder.path().join("mine")).unwrap();
    check_code(&run_in(folder.path(), &[&absent[..], &["-o", "mine"]].concat()), 1);
    assert_eq!(fs::read_dir(folder.path().join("mine")).unwrap().count(), 0);
}

/// Waits until a process has written this many octets to a file.
fn wait_for(path: &Path, octets: u64, writer: &mut Child) {
    while fs::metadata(path).map_or(0, |about| about.len()) < octets {
        assert!(writer.try_wait().unwrap().is_none(), "it ended before");
        Command::new("sleep").arg("0.05").status().unwrap();
    }
}

#[test]
fn a_lost_peer_wins_over_a_failed_requirement() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (free_address(), free_address());
    let serve = ["serve", "--udp", &there, "--time", "60 s", "--json"];
    let (mut server, _lines, _) = serving(command(&serve));
    let measure = ["measure", "--udp", &here, "--udp-peer", &there, "--no-save"];
    let load = ["--load", "maximum-rate-request", "--size", "1000", "--capture", "seen.pcapng"];
    // The noise of a busy host can leave a limit for times undecided, and none for losses.
    let require = ["--require", "lost(load) > 90 %"];
    let mut measure = command(&[&measure[..], &load, &require].concat())
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(&folder.path().join("seen.pcapng"), 100_000, &mut measure);
    server.kill().unwrap();
    server.wait().unwrap();
    let output = measure.wait_with_output().unwrap();
    check_code(&output, 1);
    assert!(stdout(&output).contains("verdict  FAIL (1 of 1)"), "{}", stdout(&output));
    assert!(stderr(&output).contains("error: peer "), "{}", stderr(&output));
    let help = stdout(&run(&["help", "exit-codes"]));
    assert!(help.contains("1 wins over 3, and 3 over 4"), "{help}");
}

#[test]
fn messages_after_the_measured_time_are_counted_by_name() {
    let (here, there) = (free_address(), free_address());
    let serve = ["serve", "--udp", &there, "-n", "1", "--time", "60 s", "--json"];
    let (mut server, _lines, _) = serving(command(&serve));
    let measure = ["measure", "--udp", &here, "--udp-peer", &there, "--no-save"];
    let load = ["--load", "cyclic", "--period", "10 ms", "--time", "200 ms"];
    let output = run(&[&measure[..], &load].concat());
    server.wait().unwrap();
    check_code(&output, 0);
    let text = stdout(&output);
    // Due at 0, 10, ... 190 ms, and one more at 200 ms, which ends the time.
    assert!(text.contains("  21 of 21 messages, ") && text.contains("0 of 20 ("), "{text}");
    assert!(text.contains("  1 of them is in no result below"), "{text}");
}

#[test]
fn a_wrong_fault_is_shown_in_the_option_that_the_user_wrote() {
    let fault = "loss=1%,duplicat=1%";
    let output = run(&["serve", "--udp", "127.0.0.1:0", "--fault", fault]);
    check_code(&output, 2);
    let text = stderr(&output);
    let shown = " --> --fault:1:9\n  |\n1 | loss=1%,duplicat=1%\n  |         ^^^^^^^^\n  |\n  = expected one of";
    assert!(text.contains(shown), "{text}");
    let output = run(&["serve", "--udp", "127.0.0.1:0", "--fault", fault, "--json"]);
    let told = records(&output);
    assert_eq!((&told[0]["file"], &told[0]["column"]), (&"--fault".into(), &9.into()));
}

#[test]
fn quiet_watch_prints_the_findings_that_fail_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let capture = pcap(&[(0, data(0)), (1_000, data(1))]);
    fs::write(folder.path().join("a.pcap"), capture).unwrap();
    let heading = "what is wrong here";
    let watch = |more: &[&str], code: i32| {
        let output = run_in(folder.path(), &[&["watch"], more].concat());
        check_code(&output, code);
        stdout(&output)
    };
    assert!(watch(&["-r", "a.pcap"], 0).contains(heading));
    assert!(!watch(&["-r", "a.pcap", "-q"], 0).contains(heading));
    assert!(!watch(&["-r", "a.pcap", "-q", "--fail-on", "wrong"], 0).contains(heading));
    let text = watch(&["-r", CELL, "-q", "--fail-on", "wrong"], 3);
    assert!(text.contains("!! 5 of 293 DTs were retransmitted"), "{text}");
    assert!(stdout(&run(&["watch", "--help"])).contains("remarks and findings"));
}

#[test]
fn only_makes_tables_short() {
    let folder = tempfile::tempdir().unwrap();
    let only = ["--only", "dt_tpdus,response_max,R_RD"];
    let tables = ["--csv", "c", "--zeek", "z", "-q"];
    let watch = [&["watch", "-r", CELL][..], &tables, &only].concat();
    check_code(&run_in(folder.path(), &watch), 0);
    let names = |table: &str| -> Vec<String> {
        let rows = csv(&folder.path().join("c").join(table));
        assert_eq!(rows.len(), 3 - 2 * usize::from(table.starts_with("intervals")));
        rows[0].keys().cloned().collect()
    };
    let sides = |measure: &str| ["orig_", "resp_"].map(|side| format!("{side}{measure}"));
    let mut expected: Vec<String> = ["dt_tpdus", "response_max_ns", "R_RD"].map(sides).concat();
    let identity = "start_ns orig_host orig_port resp_host resp_port orig_reference resp_reference \
                    duration_ns last_ns class user confidence state ending opening_ns \
                    established_ns closing_ns closed_ns";
    expected.extend(identity.split_whitespace().map(str::to_owned));
    expected.sort();
    assert_eq!(names("connections.csv"), expected);
    let hosts = ["R_RD", "host", "received_dt_tpdus", "received_response_max_ns", "sent_dt_tpdus"];
    assert_eq!(names("hosts.csv"), [&hosts[..], &["sent_response_max_ns"]].concat());
    let intervals = ["R_RD", "dt_tpdus", "index", "intervals", "length_ns", "oddities"];
    let intervals = [&intervals[..], &["response_max_ns", "start_ns"]].concat();
    assert_eq!(names("intervals.csv"), intervals);
    let log = fs::read_to_string(folder.path().join("z/tidewire_hosts.log")).unwrap();
    let fields = log.lines().find(|line| line.starts_with("#fields")).unwrap();
    assert_eq!(fields.split('\t').count(), 7);
}

#[test]
fn the_help_ends_with_a_command_for_each_question() {
    let questions = "\nQuestions:\n";
    let text = stdout(&run(&["--help"]));
    let asked = text.split(questions).nth(1).expect(&text);
    assert!(stdout(&run(&["help"])).trim_end().ends_with(asked.trim_end()));
    let joined = asked.replace("\\\n", " ");
    let lines = joined.lines().filter_map(|line| line.trim().strip_prefix("tidewire "));
    let commands: Vec<&str> = lines.map(|line| line.split("     ").next().unwrap()).collect();
    assert_eq!(commands.len(), 4, "{asked}");
    for line in commands {
        let folder = tempfile::tempdir().unwrap();
        let read = format!("-r '{CELL}'");
        let line = line.replace("-i eth1 -t 60s", &read).replace("-i eth1", &read);
        let output = paste(folder.path(), &format!("tidewire {line}"));
        check_code(&output, 0);
        assert_eq!(line.contains("--events"), folder.path().join("events.ndjson").exists());
    }
}

#[test]
fn findings_about_a_capture_with_a_long_path_fit_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let long = "a-folder-with-a-long-name/".repeat(3);
    fs::create_dir_all(folder.path().join(&long)).unwrap();
    let path = format!("{long}a.pcap");
    fs::write(folder.path().join(&path), pcap(&[(0, data(0)), (1, data(0))])).unwrap();
    let watch = |more: &[&str]| {
        let output = run_in(folder.path(), &[&["watch", "-r", &path], more].concat());
        check_code(&output, 0);
        output
    };
    let text = stdout(&watch(&[]));
    let findings = text.split("what is wrong here").nth(1).expect(&text);
    check_width(findings);
    assert!(findings.contains("more: tidewire watch -r FILE --events events.ndjson"), "{text}");
    // Programs get the whole command.
    let records = records(&watch(&["--json"]));
    let mut found = records.iter().filter(|record| record["type"] == "finding");
    assert!(found.all(|finding| finding["command"].as_str().unwrap().contains(&path)));
}

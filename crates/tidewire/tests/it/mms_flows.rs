//! Flows of MMS in a scenario: the simulated wire has real associations, which the meter follows.

use crate::mms::Server;
use crate::{check_code, records, run, run_in, stderr};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

const SCENARIO: &str = r#"version = 1
title = "a gateway reads two devices"
replications = 1
stop = { after = "2 s" }
medium = { kind = "switched", rate = "100 Mbit/s", length = "20 m" }

[[station]]
name = "gateway"

[[station]]
name = "ied-{1..2}"

[[flow]]
name = "poll"
from = "gateway"
to = "ied-*"
service = "mms"
read = ["FEEDLD0/MMXU1$MX$TotW$mag$f", "FEEDLD0/MMXU1$MX$TotW$q"]
pattern = { kind = "constant-rate-request", period = "100 ms" }
messages = 15

[[flow]]
name = "set"
from = "gateway"
to = "ied-1"
service = "mms"
data-set = "FEEDLD0/LLN0$loads"
outstanding = 5
pattern = { kind = "maximum-rate-request" }
messages = 40
"#;

#[test]
fn the_meter_counts_the_calls_that_were_simulated() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.toml"), SCENARIO).unwrap();
    let predict = ["predict", "a.toml", "--no-save", "--json", "--capture", "a.pcapng"];
    let output = run_in(folder.path(), &predict);
    check_code(&output, 0);
    let predicted = records(&output);
    let sample = predicted.iter().find(|it| it["type"] == "sample").unwrap();
    let flows = sample["flows"].as_array().unwrap();
    let answered: u64 = flows.iter().map(|flow| flow["answered"].as_u64().unwrap()).sum();
    assert_eq!(answered, 2 * 15 + 40);
    assert!(flows.iter().all(|flow| flow["lost"] == 0 && flow["failed"] == 0), "{sample}");

    let associations = associations_watched(folder.path());
    assert_eq!(reads_of(&associations), answered);
    let most = associations.values().map(|it| it["most_outstanding"].as_u64().unwrap());
    // An answer may pass the tap before the last of five requests does.
    assert!((2..=5).contains(&most.max().unwrap()));
}

/// Associations that `watch` finds in a capture: the last record of each, which has all its calls.
fn associations_watched(folder: &Path) -> BTreeMap<Option<u64>, Value> {
    let output = run_in(folder, &["watch", "-r", "a.pcapng", "--json"]);
    check_code(&output, 0);
    let found = records(&output).into_iter().filter(|it| it["type"] == "services");
    found.map(|it| (it["id"].as_u64(), it)).collect()
}

/// Answered reads of these associations.
fn reads_of(associations: &BTreeMap<Option<u64>, Value>) -> u64 {
    let services = associations.values().flat_map(|it| it["services"].as_array().unwrap());
    let reads = services.filter(|service| service["service"] == "read");
    reads.map(|service| service["answers"].as_u64().unwrap()).sum()
}

/// Number of frames of a capture that tshark finds to match; `None` without tshark.
fn frames_by_tshark(folder: &Path, filter: &str) -> Option<usize> {
    let options = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"];
    let mut tshark = Command::new("tshark");
    tshark.current_dir(folder).args(["-r", "a.pcapng", "-Y", filter]).args(options);
    let output = tshark.output().ok()?;
    assert!(output.status.success(), "{}", stderr(&output));
    Some(crate::stdout(&output).lines().count())
}

#[test]
fn watch_and_tshark_read_the_simulated_tcp_alike() {
    for loss in ["0 %", "3 %"] {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        let faults = format!("faults = {{ loss = \"{loss}\" }}\n[[station]]\nname = \"gateway\"");
        let text = SCENARIO
            .replace("service = \"mms\"", "service = \"mms\"\ntransport = \"tcp\"")
            .replace("stop = { after = \"2 s\" }", "stop = { after = \"1 min\" }")
            .replacen("[[station]]\nname = \"gateway\"", &faults, 1);
        fs::write(here.join("a.toml"), text).unwrap();
        let predict = ["predict", "a.toml", "--no-save", "--json", "--capture", "a.pcapng"];
        let output = run_in(here, &predict);
        check_code(&output, 0);
        let predicted = records(&output);
        let sample = predicted.iter().find(|it| it["type"] == "sample").unwrap();
        let flows = sample["flows"].as_array().unwrap();
        let answered: u64 = flows.iter().map(|flow| flow["answered"].as_u64().unwrap()).sum();
        assert_eq!(answered, 2 * 15 + 40);
        let retransmitted = sample["counts"]["tcp.retransmitted"].as_u64().unwrap();
        assert_eq!(retransmitted > 0, loss != "0 %", "{sample}");
        assert_eq!(reads_of(&associations_watched(here)), answered);
        let report = predicted.iter().find(|it| it["type"] == "report").unwrap();
        let standing = &report["points"][0]["flows"][0]["standing"];
        assert!(standing.as_str().unwrap().starts_with("a minimal TCP: MSS 1,460 B"), "{report}");
        let Some(bad) =
            frames_by_tshark(here, "tcp.checksum.status == 0 or ip.checksum.status == 0")
        else {
            return println!("skipped: no tshark");
        };
        assert_eq!(bad, 0);
        // A frame may end several PDUs, so that frames are counted where each is answered alone.
        let responses = frames_by_tshark(here, "mms.confirmedServiceResponse == 4").unwrap();
        assert!(responses as u64 <= answered && responses >= 30, "{responses}");
        if loss == "0 %" {
            assert_eq!(frames_by_tshark(here, "tcp.analysis.flags").unwrap(), 0);
            assert_eq!(responses as u64, answered);
        }
    }
}

#[test]
fn the_simulated_tcp_is_named_once_for_a_group() {
    let folder = tempfile::tempdir().unwrap();
    let text = SCENARIO.replace("service = \"mms\"", "service = \"mms\"\ntransport = \"tcp\"");
    fs::write(folder.path().join("a.toml"), text).unwrap();
    let output = run_in(folder.path(), &["predict", "a.toml", "--no-save"]);
    check_code(&output, 0);
    let text = crate::stdout(&output);
    let of = |flow: &str| text.matches(&format!("note: {flow}: a minimal TCP")).count();
    assert_eq!([of("poll"), of("set")], [1, 1], "{text}");
}

/// Folder with a scenario whose servers have the objects of `plant.cid`, and the text of that file.
fn with_a_file_of_its_own() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let text = SCENARIO
        .replace("name = \"ied-{1..2}\"", "name = \"ied-{1..2}\"\nmodel = \"plant.cid\"")
        .replace("FEEDLD0", "BAYLD0");
    fs::write(folder.path().join("a.toml"), text).unwrap();
    let file = bench::mms::BUILT_IN.replace("FEED", "BAY");
    fs::write(folder.path().join("plant.cid"), &file).unwrap();
    (folder, file)
}

#[test]
fn servers_answer_with_the_objects_of_their_file() {
    let (folder, _) = with_a_file_of_its_own();
    let predict = ["predict", "a.toml", "--no-save", "--json", "--capture", "a.pcapng"];
    check_code(&run_in(folder.path(), &predict), 0);
    let output = run_in(folder.path(), &["watch", "-r", "a.pcapng", "--json"]);
    let found = records(&output);
    let read = |it: &Value| it["services"][0].clone();
    let of_association = |it: &&Value| it["type"] == "services";
    let reads: Vec<Value> = found.iter().filter(of_association).map(read).collect();
    assert!(reads.iter().any(|read| read["answers"] == 40), "{reads:?}");
    // A server without them would answer each read with an error or with data access errors.
    for read in &reads {
        assert_eq!((&read["errors"], &read["failed_accesses"]), (&0.into(), &0.into()), "{read}");
    }
}

#[test]
fn a_run_folder_goes_on_with_its_copy_of_the_scl_file() {
    let (folder, file) = with_a_file_of_its_own();
    let here = folder.path();
    let output = run_in(here, &["predict", "a.toml", "-n", "2", "-o", "runs"]);
    check_code(&output, 0);
    let run = fs::read_dir(here.join("runs")).unwrap().next().unwrap().unwrap().path();
    assert_eq!(fs::read_to_string(run.join("plant.cid")).unwrap(), file);
    let whole = fs::read_to_string(run.join("samples.ndjson")).unwrap();
    let first = whole.lines().next().unwrap();
    fs::write(run.join("samples.ndjson"), format!("{first}\n")).unwrap();
    fs::remove_file(here.join("plant.cid")).unwrap();
    let resumed = run_in(here, &["predict", "--resume", run.to_str().unwrap()]);
    check_code(&resumed, 0);
    assert_eq!(fs::read_to_string(run.join("samples.ndjson")).unwrap(), whole);
    // Another value of the same length is another model.
    fs::write(run.join("plant.cid"), file.replace("12.5", "12.6")).unwrap();
    let changed = run_in(here, &["predict", "--resume", run.to_str().unwrap()]);
    check_code(&changed, 2);
    assert!(stderr(&changed).contains("a file that it names was changed"), "{}", stderr(&changed));
}

#[test]
fn serve_names_the_devices_that_there_are() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plant.cid"), bench::mms::BUILT_IN).unwrap();
    let serve = ["serve", "mms", "--scl", "plant.cid", "--ied", "BAY1", "--time", "1 s"];
    let output = run_in(folder.path(), &serve);
    check_code(&output, 2);
    let said = stderr(&output);
    assert!(said.contains("no device \"BAY1\" with a server; there are FEED"), "{said}");
}

#[test]
fn measure_refuses_flows_of_mms_by_name() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.toml"), SCENARIO).unwrap();
    let output = run_in(
        folder.path(),
        &["measure", "a.toml", "--over", "iso-tcp://127.0.0.1:9", "--no-save"],
    );
    check_code(&output, 2);
    assert!(stderr(&output).contains("measure mms measures a server"), "{}", stderr(&output));
}

#[test]
fn a_server_is_calibrated() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("ied.toml");
    let calibrate = |more: &[&str]| {
        let arguments = [
            "calibrate",
            "--over",
            &server.url,
            "--foreign-peer",
            "--write-profile",
            profile.to_str().unwrap(),
            "--rounds",
            "3",
            "--messages",
            "40",
            "--max-requests",
            "10000",
            "--outstanding",
            "3",
            "--json",
        ];
        run(&[&arguments[..], more].concat())
    };
    let output = calibrate(&[]);
    check_code(&output, 0);
    let found = records(&output);
    let [calibration] = &found[..] else { panic!("{found:?}") };
    assert_eq!(
        (&calibration["rounds"], &calibration["costs"]["path"]["n"]),
        (&3.into(), &3.into())
    );
    let steps: Vec<&str> = calibration["held_out"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["step"].as_str().unwrap())
        .collect();
    assert_eq!(steps, ["read 1 variable, 3 outstanding", "read 5 variables"]);
    // No file is lost, and a scenario can name the one that was written.
    check_code(&calibrate(&[]), 2);
    let text =
        SCENARIO.replace("name = \"ied-{1..2}\"", "name = \"ied-{1..2}\"\nprofile = \"ied.toml\"");
    fs::write(folder.path().join("a.toml"), text).unwrap();
    let output = run_in(folder.path(), &["predict", "a.toml", "--no-save", "--json"]);
    check_code(&output, 0);
    let predicted = records(&output);
    let sample = predicted.iter().find(|it| it["type"] == "sample").unwrap();
    let mean = sample["flows"][0]["response"]["mean_ns"].as_f64().unwrap();
    let costs = ["path", "path", "request", "value", "value"]
        .map(|name| calibration["costs"][name]["mean_ns"].as_f64().unwrap().max(0.0));
    assert!(mean >= costs.iter().sum::<f64>(), "{mean} {costs:?}");
}

const FILES: &str = r#"version = 1
title = "two files"
replications = 1
stop = { after = "1 min" }
medium = { kind = "switched", rate = "100 Mbit/s", length = "20 m" }
stations = { count = 2, prefix = "s" }
[[flow]]
name = "file"
from = "s-1"
to = "s-2"
service = "file"
size = "1 MB"
pattern = { kind = "bulk" }
messages = 2
"#;

#[test]
fn files_are_called_ftam_like_and_failures_have_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.toml"), FILES).unwrap();
    let shrinking = format!("{FILES}shrinks-to = \"10 kB\"\n");
    fs::write(folder.path().join("b.toml"), shrinking).unwrap();
    let whole = run_in(folder.path(), &["predict", "a.toml", "--no-save"]);
    check_code(&whole, 0);
    let text = crate::stdout(&whole);
    assert!(text.contains("note: file: FTAM-like, not FTAM") && text.contains("0 of 2"), "{text}");
    let output = run_in(folder.path(), &["predict", "b.toml", "--no-save", "--json"]);
    let report = records(&output).into_iter().find(|it| it["type"] == "report").unwrap();
    let flow = &report["points"][0]["flows"][0];
    assert_eq!(flow["standing"], "FTAM-like, not FTAM");
    assert_eq!(flow["failures"]["the file became shorter while it was written"], 2, "{flow}");
    let measured = run_in(folder.path(), &["measure", "a.toml", "--no-save"]);
    check_code(&measured, 0);
    let text = crate::stdout(&measured);
    assert!(text.contains("note: file: FTAM-like, not FTAM") && text.contains("0 of 2"), "{text}");
}

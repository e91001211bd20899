//! `predict` decides: requirements end it with a verdict, runs go on until it is reached, and an
//! interrupted sweep goes on where it was.

use crate::predict::only_run;
use crate::{check_code, records, run, run_in, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Two stations alone on a bus, at two sizes.
const SIZES: &str = r#"version = 1
title = "sizes"
replications = 3
stop = { after = "500 ms" }
medium = { kind = "csma-cd", rate = "10 Mbit/s", length = "100 m" }
stations = { count = 2, prefix = "s" }

[[flow]]
name = "status"
from = "s-1"
to = "s-2"
service = "datagram"
pattern = { kind = "cyclic", period = "20 ms" }
size = "200 B"
deadline = "1 ms"

[vary]
"flow.status.size" = ["200 B", "400 B"]
"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("sizes.toml"), SIZES).unwrap();
    folder
}

#[test]
fn a_requirement_ends_a_prediction_with_its_verdict() {
    let folder = folder();
    let check = |require: &str, code: u8, line: &str| {
        let arguments = ["predict", "sizes.toml", "--no-save", "--require", require];
        let output = run_in(folder.path(), &arguments);
        check_code(&output, i32::from(code));
        let said = stdout(&output);
        assert!(said.lines().any(|it| it == line), "{said}");
    };
    // None of 75: at most 0.048. The frames of 400 octets take 343.7 us.
    check("miss(status) < 0.05", 0, "verdict  pass (2 of 2)");
    check(
        "delay.max(status) < 300 us",
        3,
        "verdict  FAIL (1 of 2): first where flow.status.size = 400 B",
    );
    check("miss(*) < 1e-3", 4, "verdict  undecided (2 of 2): first where flow.status.size = 200 B");
    let output = run_in(folder.path(), &["predict", "sizes.toml", "--require", "miss(x) < 0.1"]);
    check_code(&output, 2);
    assert!(stderr(&output).contains("there is no flow \"x\""), "{}", stderr(&output));
    let output = run_in(folder.path(), &["predict", "sizes.toml", "--require", "nonsense"]);
    check_code(&output, 2);
    let output = run_in(folder.path(), &["predict", "sizes.toml", "--until-decided"]);
    check_code(&output, 2);
}

#[test]
fn a_requirement_of_the_scenario_is_not_judged_twice() {
    let folder = folder();
    let require = "replications = 3\nrequire = [\"miss(status) < 0.05\"]";
    let text = SIZES.replace("replications = 3", require);
    fs::write(folder.path().join("required.toml"), text).unwrap();
    let predict = ["predict", "required.toml", "--no-save", "--require", "miss(status) < 0.05"];
    let said = stdout(&run_in(folder.path(), &predict));
    assert!(said.contains("(2 of 2)"), "{said}");
}

#[test]
fn a_measurement_is_judged_by_requirements_not_by_theory() {
    let folder = folder();
    let check = |require: &str, code: i32| {
        let require = format!("replications = 3\nrequire = [\"{require}\"]");
        let text = SIZES.replace("replications = 3", &require);
        fs::write(folder.path().join("required.toml"), text).unwrap();
        let output = run_in(folder.path(), &["measure", "required.toml", "--no-save"]);
        check_code(&output, code);
    };
    // Limits that no host is late by.
    check("delay.mean(status) > 1 h", 3);
    check("lost(status) < 99 %", 0);
    check("delay.max(status) < 1 h", 4);
}

/// Records of a measurement of `sizes.toml` with this requirement, and its code.
fn measured(folder: &Path, require: &str) -> (Vec<Value>, Option<i32>) {
    let words = ["measure", "sizes.toml", "--json", "-o", "measured", "--require", require];
    let output = run_in(folder, &words);
    (records(&output), output.status.code())
}

#[test]
fn a_measured_maximum_within_the_noise_is_undecided() {
    let folder = folder();
    let (records, code) = measured(folder.path(), "delay.max(status) < 1 ns");
    let report = records.iter().find(|record| record["type"] == "report").unwrap();
    let noise = report["host_noise_ns"].as_f64().unwrap();
    let mut expected_code = 4;
    for judged in report["requirements"].as_array().unwrap() {
        // Every message takes longer than 1 ns, so that only the noise keeps it from failing.
        let is_within = judged["found"].as_f64().unwrap() - noise < 1.0;
        expected_code = if is_within { expected_code } else { 3 };
        assert_eq!(judged["verdict"], if is_within { "undecided" } else { "fail" }, "{judged}");
        assert_eq!(judged["host_noise_ns"].as_f64(), is_within.then_some(noise), "{judged}");
    }
    assert_eq!(code, Some(expected_code));
}

#[test]
fn a_report_withdraws_the_verdict_of_a_noisier_host() {
    let folder = folder();
    let (_, code) = measured(folder.path(), "delay.mean(status) < 1 h");
    assert_eq!(code, Some(0));
    let run = fs::read_dir(folder.path().join("measured")).unwrap().next().unwrap().unwrap().path();
    let said = |wake_ns: u64| {
        let mut about: Value =
            serde_json::from_slice(&fs::read(run.join("run.json")).unwrap()).unwrap();
        about["host"]["latest_wake_ns"] = wake_ns.to_string().into();
        fs::write(run.join("run.json"), about.to_string()).unwrap();
        let words = ["report", run.to_str().unwrap(), "--format", "md", "--output", "-"];
        stdout(&run_in(folder.path(), &words))
    };
    let hour = 3_600_000_000_000;
    assert!(said(1_000).contains("PASS"), "{}", said(1_000));
    let open = said(hour);
    for expected in [
        "UNDECIDED",
        "limit 3600 s, host noise 3600 s",
        "is nearer to its limit than the noise of the host",
        "Undecided, because the limit is within that time: 2 requirements",
    ] {
        assert!(open.contains(expected), "{expected}: {open}");
    }
}

#[test]
fn it_goes_on_until_it_is_decided_and_tells_how_often_it_looked() {
    let folder = folder();
    let decide = ["predict", "sizes.toml", "--require", "miss(status) < 0.03", "--until-decided"];
    let output = run_in(folder.path(), &[&decide[..], &["--json"]].concat());
    check_code(&output, 0);
    let records = records(&output);
    let report = records.iter().find(|record| record["type"] == "report").unwrap();
    let samples = records.iter().filter(|record| record["type"] == "sample").count() as u64;
    // 25 messages a run. None of N is below 0.03 at the fourth look, of 12 runs: 1 - 0.00125^(1/300)
    // = 0.0220; at the third, of 8, 1 - 0.00208^(1/200) = 0.0304.
    assert_eq!(samples, 24);
    assert_eq!(report["requirements"][0]["verdict"], "pass");
    assert!(stderr(&output).contains("4 looks, the last at 12 runs"), "{}", stderr(&output));
    let again = [&decide[..], &["--no-save", "--at-most", "5"]].concat();
    check_code(&run_in(folder.path(), &again), 4);
}

#[test]
fn an_interrupted_sweep_is_finished_to_the_same_octets() {
    let folder = folder();
    let of = |name: &str, more: &[&str]| {
        let arguments = [&["predict", "sizes.toml", "-o", name][..], more].concat();
        check_code(&run_in(folder.path(), &arguments), 0);
        only_run(&folder.path().join(name))
    };
    for more in [&[][..], &["--require", "miss(status) < 0.03", "--until-decided"][..]] {
        let name = format!("runs-{}", more.len());
        let whole = of(&name, more);
        let file = whole.join("samples.ndjson");
        let expected = fs::read(&file).unwrap();
        let lines: Vec<&[u8]> = expected.split_inclusive(|octet| *octet == b'\n').collect();
        // Cut off within the third line, and after four.
        let within = [lines[0], lines[1], &lines[2][..100]].concat();
        let interrupted = b"{\"type\":\"end\",\"complete\":false,\"error\":\"interrupted\"}\n";
        let after = [&lines[..4].concat()[..], interrupted].concat();
        for cut in [within, after, expected.clone()] {
            fs::write(&file, cut).unwrap();
            let output = run_in(folder.path(), &["predict", "--resume", whole.to_str().unwrap()]);
            check_code(&output, 0);
            assert!(fs::read(&file).unwrap() == expected, "{more:?}");
        }
    }
    let other = of("other", &["--seed", "3"]);
    fs::write(other.join("scenario.toml"), SIZES.replace("20 ms", "10 ms")).unwrap();
    let output = run_in(folder.path(), &["predict", "--resume", other.to_str().unwrap()]);
    check_code(&output, 2);
    assert!(stderr(&output).contains("its scenario.toml was changed"), "{}", stderr(&output));
}

#[test]
fn a_sweep_is_drawn_as_figures_with_tables_and_on_the_terminal() {
    let folder = folder();
    let arguments = ["predict", "sizes.toml", "--no-save", "--figure", "drawn", "--plot"];
    let emit = ["--emit", "vega-lite"];
    let output = run_in(folder.path(), &[&arguments[..], &emit].concat());
    check_code(&output, 0);
    let said = stdout(&output);
    assert!(said.contains("flow.status.size (B)"), "{said}");
    assert!(said.lines().all(|line| line.chars().count() <= 100), "{said}");
    let drawn = folder.path().join("drawn");
    let svg = fs::read_to_string(drawn.join("mean.svg")).unwrap();
    assert!(svg.contains("n = 3 runs at each point, seed 1"), "the caption tells n and seed");
    let table = fs::read_to_string(drawn.join("miss.csv")).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(
        lines[0],
        "series,flow.status.size (B),probability of a missed deadline (1),low,high,n"
    );
    assert!(lines[1].starts_with("status,200,0,0,0.04") && lines[1].ends_with(",75"), "{table}");
    assert_eq!(lines.len(), 3);
    let specification = fs::read_to_string(drawn.join("miss.vl.json")).unwrap();
    let specification: serde_json::Value = serde_json::from_str(&specification).unwrap();
    let value = &specification["data"]["values"][0];
    assert_eq!(
        (&value["series"], &value["x"], &value["n"]),
        (&"status".into(), &200.0.into(), &75.into())
    );
    assert_eq!(specification["encoding"]["x"]["title"], "flow.status.size (B)");
    // A study with a single point has nothing to draw.
    let output = run(&["predict", "status-short", "--no-save", "--plot"]);
    check_code(&output, 0);
    assert!(stderr(&output).contains("no key varies"), "{}", stderr(&output));
}

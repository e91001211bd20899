//! `--dry-run`: the plan is that of the run, and nothing is sent or written for it.

use crate::{check_code, records, run_in, stdout};

/// Words of a command line.
fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

#[test]
fn a_plan_names_the_runs_that_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let line = "predict ieds --vary stations.ied.count=2,3 -n 3 --json";
    let planned = run_in(folder.path(), &words(&format!("{line} --dry-run")));
    check_code(&planned, 0);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is written");
    let made = records(&run_in(folder.path(), &words(line)));
    let samples: Vec<_> = made.iter().filter(|record| record["type"] == "sample").collect();
    let plan = &records(&planned)[0];
    assert_eq!((&plan["type"], &plan["runs"]), (&"plan".into(), &samples.len().into()));
    let longest = plan["longest_run_ns"].as_u64().unwrap();
    assert!(samples.iter().all(|sample| sample["ended_at_ns"].as_u64().unwrap() <= longest));
    // Two stations at the first point: a trip every 10 ms and a poll every 500 ms of each.
    let flows = plan["flows"].as_array().unwrap();
    let trip = flows.iter().find(|flow| flow["name"] == "trip").unwrap();
    assert_eq!((&trip["flows"], &trip["messages_per_second"]), (&2.into(), &200.0.into()));
    let name = std::fs::read_dir(folder.path().join("runs")).unwrap().next().unwrap().unwrap();
    let name = name.file_name().into_string().unwrap();
    assert!(plan["writes"][0].as_str().unwrap().ends_with("TIME-ieds") && name.ends_with("-ieds"));
}

#[test]
fn a_plan_of_a_measurement_opens_no_port() {
    let folder = tempfile::tempdir().unwrap();
    let line = "measure status-short --to 02:00:00:00:00:07 -i nosuchif0 --max-frames 30 \
                --each-message m.csv --dry-run";
    let planned = run_in(folder.path(), &words(line));
    check_code(&planned, 0);
    let told = stdout(&planned);
    for part in [
        "runs      3 of 1 point",
        "30 frames/s (--max-frames)",
        "writes    runs/TIME-",
        "writes    m.csv",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_plan_of_growing_runs_names_their_limit() {
    let folder = tempfile::tempdir().unwrap();
    let line = "predict status-csma --precision 5% --at-most 40 --dry-run --json";
    let plan = &records(&run_in(folder.path(), &words(line)))[0];
    // Three points with ten runs at first.
    assert_eq!((&plan["runs"], &plan["at_most_runs"]), (&30.into(), &120.into()));
}

#[test]
fn a_plan_has_frames_the_share_of_the_medium_and_a_size() {
    let folder = tempfile::tempdir().unwrap();
    let line = "predict status-csma -n 2 --json";
    let plan = &records(&run_in(folder.path(), &words(&format!("{line} --dry-run"))))[0];
    // A report of 200 octets every 20 ms: 203 octets with LLC, 18 of MAC and FCS, at 10 Mbit/s.
    assert_eq!(plan["frames_per_second"], 50.0);
    let share = plan["share"].as_f64().unwrap();
    assert!((share - 50.0 * 221.0 * 8.0 / 1e7).abs() < 1e-9, "{share}");
    assert_eq!(plan["share_of"], "the medium");
    check_code(&run_in(folder.path(), &words(line)), 0);
    let made = std::fs::read_dir(folder.path().join("runs")).unwrap().next().unwrap().unwrap();
    let size = made.path().join("samples.ndjson").metadata().unwrap().len();
    assert!(size <= plan["most_octets"].as_u64().unwrap(), "{size} of {plan}");
    let of_links = stdout(&run_in(folder.path(), &words("predict ieds --dry-run --no-save")));
    for part in ["frames    at least ", "% of the link of ", "writes    nothing"] {
        assert!(of_links.contains(part), "{part}: {of_links}");
    }
    let line = "measure --to 02:00:00:00:00:07 -i lo --load cyclic --period 10ms -t 4s --dry-run";
    let of_two = stdout(&run_in(folder.path(), &words(line)));
    let assumed = "% of the link between the two stations, assumed to have 1 Gbit/s";
    let words: Vec<&str> = of_two.split_whitespace().collect();
    assert!(words.join(" ").contains(assumed), "{of_two}");
}

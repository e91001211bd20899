//! `measure layers` from the command line: on the in-process LAN, and over veth in a network namespace
//! that the test makes itself. What is counted and said, never how long it took.

use crate::{check_code, program, records, run, run_in, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const FEW: [&str; 7] = ["measure", "layers", "--messages", "20", "--rounds", "3", "--json"];

/// The curves of an output that ended well; each has the sizes and counts that were asked for.
#[track_caller]
fn curves(output: &Output, sizes: &[u64]) -> Vec<Value> {
    check_code(output, 0);
    let records = records(output);
    assert_eq!(records[0]["type"], "layers");
    assert_eq!(records[0]["sizes_octets"], serde_json::json!(sizes));
    assert_eq!(records.last().unwrap()["complete"], true);
    let lost = records[0]["lost"].as_u64().unwrap();
    let curves: Vec<Value> =
        records.into_iter().filter(|record| record["type"] == "curve").collect();
    for curve in &curves {
        let found = curve["sizes"].as_array().unwrap();
        let octets: Vec<u64> = found.iter().map(|one| one["octets"].as_u64().unwrap()).collect();
        assert_eq!(octets, sizes, "{curve}");
        for one in found {
            let count = one["count"].as_u64().unwrap();
            assert!(count <= 60 && count + lost >= 60, "{one}");
            let at = |name: &str| one[name].as_u64().unwrap();
            assert!(
                at("min_ns") > 0 && at("min_ns") <= at("p50_ns") && at("p50_ns") <= at("max_ns")
            );
        }
        assert_eq!(curve["fit"]["intercept_ns"]["n"], 3, "intervals over three rounds");
        assert_eq!(curve["fit"]["basis"], "rounds");
    }
    curves
}

/// The median of a curve at its greatest size, in nanoseconds.
fn median(curves: &[Value], operation: &str, acknowledgement: bool, crc: bool) -> u64 {
    let is_it = |curve: &&Value| {
        curve["operation"] == operation
            && curve["acknowledgement"] == acknowledgement
            && curve["crc"] == crc
    };
    let curve = curves.iter().find(is_it).unwrap();
    curve["sizes"].as_array().unwrap().last().unwrap()["p50_ns"].as_u64().unwrap()
}

#[test]
fn every_layer_is_measured_in_process_and_drawn_with_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let output = run_in(folder.path(), &[&FEW[..], &["--figure", "drawn"]].concat());
    let curves = curves(&output, &[64, 256, 512, 768, 1024, 1280, 1495]);
    // Two below LLC; transmit, receive and end to end with four choices of services; four above LLC. No
    // PHY here.
    assert_eq!(curves.len(), 18);
    let svg = fs::read_to_string(folder.path().join("drawn/transmit.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.contains("LLC transmit ACK+CRC<"), "{svg}");
    assert!(svg.contains(", measure layers</metadata>"), "{svg}");
    let csv = fs::read_to_string(folder.path().join("drawn/transmit.csv")).unwrap();
    let points = csv.lines().filter(|line| line.starts_with("LLC transmit ACK+CRC,")).count();
    assert_eq!(points, 7);
    assert!(csv.starts_with("series,message size (octets),time ("), "{csv}");
    let bars = fs::read_to_string(folder.path().join("drawn/layers.svg")).unwrap();
    assert!(bars.contains(">transport<") && bars.contains("ns/octet<"), "{bars}");
    let csv = fs::read_to_string(folder.path().join("drawn/layers.csv")).unwrap();
    // Six layers: at each size, and the intercept and the slope of each.
    let lines = |start: &str| csv.lines().filter(|line| line.starts_with(start)).count();
    assert_eq!(lines("transport,at no octets,") + lines("transport,each octet,"), 2);
    // Transport is below CASE and below MMS, each with a bar at seven sizes.
    assert_eq!(lines("transport,"), 2 * 7 + 2);
    println!(
        "seen: in process, 1495 octets: LLC transmit {} ns, with ACK and CRC {} ns",
        median(&curves, "LLC transmit", false, false),
        median(&curves, "LLC transmit", true, true),
    );
}

#[test]
fn the_text_says_what_the_numbers_cannot_tell() {
    let output =
        run(&["measure", "layers", "--messages", "3", "--rounds", "2", "--sizes", "64,1 kB"]);
    check_code(&output, 0);
    let text = stdout(&output);
    assert!(
        text.contains("2 rounds of 3 messages of each of 2 sizes, 64 to 1000 octets"),
        "{text}"
    );
    for said in ["PHY transmit is not told", "buffer write and buffer read are not told", "wake-up"]
    {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn what_cannot_be_measured_is_said_before_anything_is_sent() {
    for (arguments, said) in [
        (&["--sizes", "64"][..], "two sizes"),
        (&["--sizes", "64,1496"], "1 to 1495 octets"),
        (&["--sizes", "0,64"], "1 to 1495 octets"),
        (&["--sizes", "64,x"], "--sizes"),
        (&["--figure", "layers.svg"], "a folder"),
        (&["-i", "eth0"], "--peer-interface"),
        (&["-i", "lo", "--peer-interface", "lo"], "its own peer"),
        (&["--udp", "192.0.2.1:0", "--udp-peer", "127.0.0.1:0"], "loopback"),
        (&["--messages", "0"], "0 is not in"),
    ] {
        let output = run(&[&["measure", "layers"], arguments].concat());
        check_code(&output, 2);
        assert!(stderr(&output).contains(said), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn a_predicted_machine_is_repeatable_and_names_its_inputs() {
    let few = ["predict", "layers", "--messages", "4", "--rounds", "2", "--sizes", "100,1000,2041"];
    let json = run(&[&few[..], &["--json"]].concat());
    check_code(&json, 0);
    assert_eq!(json.stdout, run(&[&few[..], &["--json"]].concat()).stdout);
    let records = records(&json);
    assert!(!records[0]["calibrated_on"].as_array().unwrap().is_empty());
    let curves = records.iter().filter(|record| record["type"] == "curve");
    // Five below LLC, and three of LLC with four choices of services.
    assert_eq!(curves.clone().count(), 17);
    // PHY: 2,041 octets of data at 10 Mbit/s take 1.6328 ms, and the frame has a little around them.
    let physical = curves.clone().find(|curve| curve["operation"] == "PHY transmit").unwrap();
    let longest = physical["sizes"][2]["p50_ns"].as_u64().unwrap();
    assert!((1_632_800..1_650_000).contains(&longest), "{longest}");
    let folder = tempfile::tempdir().unwrap();
    let drawn = run_in(folder.path(), &[&few[..], &["--figure", "drawn"]].concat());
    check_code(&drawn, 0);
    let svg = fs::read_to_string(folder.path().join("drawn/transmit.svg")).unwrap();
    assert!(svg.contains(", predict layers, profile ") && svg.contains(", seed "), "{svg}");
    reported(folder.path(), &records, &stdout(&json));
    let text = stdout(&run(&few));
    assert!(text.contains("put in, and so no prediction: "), "{text}");
    let unknown = run(&["predict", "layers", "--profile", "vax"]);
    check_code(&unknown, 2);
    assert!(stderr(&unknown).contains("one of ideal, pc-pronet, at-pronet"));
    let ideal = stdout(&run(&[&few[..], &["--profile", "ideal"]].concat()));
    assert!(!ideal.contains("NaN") && ideal.contains("+0.0 % at"), "{ideal}");
}

#[test]
fn the_first_table_says_what_each_layer_adds() {
    let output =
        run(&["measure", "layers", "--messages", "5", "--rounds", "3", "--sizes", "64,700"]);
    check_code(&output, 0);
    let text = stdout(&output);
    let rows: Vec<Vec<&str>> = text
        .lines()
        .skip_while(|line| !line.contains("adds to"))
        .skip(1)
        // The lines below have the other sizes of the layer.
        .filter(|line| !line.starts_with("   "))
        .take(6)
        .map(|line| line.split_whitespace().take(2).collect())
        .collect();
    let expected = [
        ["MAC", "-"],
        ["LLC", "MAC"],
        ["transport", "LLC"],
        ["session", "transport"],
        ["CASE", "session"],
        ["MMS", "session"],
    ];
    assert_eq!(rows, expected, "{text}");
    let json = run(&["measure", "layers", "--messages", "5", "--rounds", "3", "--json"]);
    let layers: Vec<Value> =
        records(&json).into_iter().filter(|record| record["type"] == "layer").collect();
    assert_eq!(layers.len(), 6);
    for layer in layers.iter().flat_map(|layer| layer["sizes"].as_array().unwrap()) {
        assert_eq!(layer["adds_ns"]["n"], 3);
        assert!(layer["end_to_end_ns"]["mean"].as_f64().unwrap() > 0.0, "{layer}");
    }
}

#[test]
fn layers_of_a_front_end_are_predicted_from_their_tasks() {
    let options =
        ["--profile", "mvme372", "--messages", "4", "--rounds", "2", "--sizes", "16,1000"];
    let output = run(&[&["predict", "layers"][..], &options, &["--json"]].concat());
    check_code(&output, 0);
    let records = records(&output);
    let adds = |name: &str, place: usize| {
        let layer = records.iter().find(|it| it["type"] == "layer" && it["layer"] == name).unwrap();
        layer["sizes"][place]["adds_ns"]["mean"].as_f64().unwrap() / 1e6
    };
    // A hop of 0.504 ms down and one up, and 0.8 us for each octet of header: 3 of the session's data
    // SPDUs and its 4, and 4 of CASE.
    let near = |ours: f64, expected: f64| assert!((ours - expected).abs() < 0.04, "{ours}");
    near(adds("session", 0), 1.008);
    // And the AK, which the receiving front end makes in 0.5769 ms between session's work and CASE's.
    near(adds("CASE", 0), 1.008 + 0.5769);
    // Sending 4.735 ms, receiving 0.9 ms.
    near(adds("transport", 0), 5.635);
    let none: Vec<&Value> = records.iter().filter(|record| record["layer"] == "MMS").collect();
    assert!(none.is_empty(), "{none:?}");
    let text = stdout(&run(&[&["predict", "layers"][..], &options].concat()));
    assert!(text.contains("MMS        not predicted"), "{text}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("not predicted: MMS end to end: the profile has no cost"), "{text}");
    assert!(!text.contains("NaN") && !text.contains("± inf"), "{text}");
}

/// A network namespace that is removed when this is dropped.
struct Namespace(String);

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).output();
    }
}

#[test]
fn every_layer_is_measured_over_veth() {
    let ip = |arguments: &[&str]| {
        Command::new("ip").args(arguments).output().is_ok_and(|output| output.status.success())
    };
    let namespace = Namespace(format!("tidewire-layers-{}", std::process::id()));
    let name = namespace.0.as_str();
    if !ip(&["netns", "add", name]) {
        println!("skipped: cannot make a network namespace (root and iproute2 are needed)");
        return;
    }
    assert!(ip(&["-n", name, "link", "add", "w0", "type", "veth", "peer", "name", "w1"]));
    for interface in ["w0", "w1"] {
        assert!(ip(&["-n", name, "link", "set", interface, "addrgenmode", "none"]));
        assert!(ip(&["-n", name, "link", "set", interface, "up"]));
    }
    let mut command = program("ip");
    command.args(["netns", "exec", name, env!("CARGO_BIN_EXE_tidewire")]).args(FEW);
    command.args(["-i", "w0", "--peer-interface", "w1", "--sizes", "64,700,1495"]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let curves = curves(&output, &[64, 700, 1495]);
    assert_eq!(curves.len(), 18, "a veth pair has no PHY");
    println!(
        "seen: over veth, 1495 octets: MAC transmit {} ns, LLC end to end with ACK and CRC {} ns",
        median(&curves, "MAC transmit", false, false),
        median(&curves, "LLC end to end", true, true),
    );
}

/// The report of records has the cost that the records have, and a figure.
fn reported(folder: &Path, records: &[Value], text: &str) {
    fs::write(folder.join("layers.ndjson"), text).unwrap();
    let report = |name: &str| run_in(folder, &["report", name, "--format", "md", "-o", "-"]);
    let page = report("layers.ndjson");
    check_code(&page, 0);
    let layer = records.iter().find(|it| it["layer"] == "LLC").unwrap();
    let slope = layer["fit"]["slope_ns_per_octet"]["mean"].as_f64().unwrap();
    assert!(stdout(&page).contains(&format!("{slope:.0} ± ")), "{slope} in {}", stdout(&page));
    check_code(&run_in(folder, &["report", "layers.ndjson"]), 0);
    let page = fs::read_to_string(folder.join("layers-report.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("Time that each layer adds"), "{page}");
    // A record that is no layer is an error with its line.
    let line = text.lines().position(|line| line.contains("\"type\":\"layer\"")).unwrap() + 1;
    let broken = text.replace("\"adds_to\"", "\"adds\"").replace("\"sizes\"", "\"size\"");
    fs::write(folder.join("broken.ndjson"), broken).unwrap();
    let refused = report("broken.ndjson");
    check_code(&refused, 1);
    assert!(stderr(&refused).contains(&format!("line {line}: ")), "{}", stderr(&refused));
}

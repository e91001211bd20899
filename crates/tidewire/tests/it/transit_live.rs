//! `watch` on both sides of a relay at once: the transits it tells are what the relay's log says.

use crate::relay::line;
use crate::watch::data;
use crate::wires::{Namespaces, result, serving, session};
use crate::{check_code, interrupt, records, run, stderr, stdout};
use live::port::Port as _;
use serde_json::Value;
use stack::station::Frame;
use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

const DELAY_NS: i64 = 5_000_000;
/// Two readings of two clocks of one host are so far apart at the most: of the relay's log, or of a
/// capture whose times never step.
const APART_NS: i64 = 50_000;

/// A process between the two wires that has said that it listens.
fn listening(middle: &Namespaces, arguments: &[&str], stdin: Option<&mut Child>) -> Child {
    let mut command = middle.command(1, arguments);
    if let Some(child) = stdin {
        command.stdin(Stdio::from(child.stdout.take().unwrap()));
    }
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.as_mut().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().starts_with("listening on ")), "{arguments:?}");
    child
}

fn interrupted(child: Child) -> Output {
    interrupt(child.id());
    let output = child.wait_with_output().unwrap();
    check_code(&output, 130);
    output
}

/// Record of a `watch` of two taps.
fn transit(records: &[Value]) -> Value {
    records.iter().find(|record| record["type"] == "transit").unwrap().clone()
}

/// Records up to that of an interval which began after now and in which no TPDU passed either tap. Until then a
/// TPDU may be between the taps, where an interrupt would leave it alone at the first of them.
#[expect(clippy::disallowed_methods, reason = "records have the time of day")]
fn until_quiet(lines: &mut impl Iterator<Item = io::Result<String>>) -> Vec<Value> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let mut records = Vec::new();
    loop {
        let line = lines.next().expect("it goes on until it is interrupted").unwrap();
        let record: Value = serde_json::from_str(&line).unwrap();
        let is_quiet = record["type"] == "transit-interval"
            && record["tpdus"] == serde_json::json!([0, 0])
            && record["start_ns"].as_u64().unwrap_or(0) as u128 > now;
        records.push(record);
        if is_quiet {
            return records;
        }
    }
}

/// The relay's actions of the way there.
fn actions(log: &Path) -> Vec<Value> {
    let log = fs::read_to_string(log).unwrap();
    let actions = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    actions.filter(|action| action["way"] == "there").collect()
}

fn number(value: &Value) -> i64 {
    value.as_f64().unwrap() as i64
}

/// Frames at both taps, alone at one, and among copies add up to all that the taps saw.
fn check_sums(found: &Value) {
    for tap in [0, 1] {
        let of = |name: &str| number(&found[name][tap]);
        let sum = number(&found["matched"]) + of("unmatched") + of("ambiguous") + of("recut");
        assert_eq!(sum, of("tpdus"), "{found}");
    }
}

#[test]
fn transits_through_a_relay_agree_with_its_log() {
    let Some((left, right)) = line() else { return };
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("actions.ndjson");
    let log_path = log.display().to_string();
    let fault = "loss=3%,delay=5ms,reorder=5%,reorder-delay=15ms";
    let options = ["--fault", fault, "--way", "there", "--log", &log_path];
    let mut relay = left.command(1, &[&["relay", "w0", "w1", "--json"], &options[..]].concat());
    let mut relay = relay.stdout(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(relay.stdout.take().unwrap()).lines();
    assert!(told.next().unwrap().unwrap().contains("relaying"));

    let both = ["watch", "-i", "w0", "--far-interface", "w1", "--measure", "200 ms", "--json"];
    let mut by_one_clock = listening(&left, &both, None);
    let mut of_one = BufReader::new(by_one_clock.stdout.take().unwrap()).lines();
    let mut far = listening(&left, &["capture", "-i", "w1"], None);
    let pipe = ["watch", "-i", "w0", "--far", "-", "--json"];
    let by_two_clocks = listening(&left, &pipe, Some(&mut far));

    let (child, lines, station) =
        serving(right.command(0, &["serve", "-i", "w0", "-n", "1", "--json"]));
    let mut measure = left.command(0, &["measure", "-i", "w0", "--to", &station, "--json"]);
    measure.args(["--load", "bulk", "--size", "1000", "--bytes", "300kB", "--no-save"]);
    let output = measure.output().unwrap();
    check_code(&output, 0);
    assert_eq!(result(&output)["exact"], true);
    session(child, lines);
    let mut told = until_quiet(&mut of_one);
    interrupt(by_one_clock.id());
    told.extend(of_one.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap()));
    assert_eq!(by_one_clock.wait().unwrap().code(), Some(130));
    // The reader of the pipe ends with the stream in it.
    let [one, two] = [transit(&told), transit(&records(&interrupted(by_two_clocks)))];
    interrupt(far.id());
    far.wait().unwrap();
    interrupt(relay.id());
    relay.wait().unwrap();

    check_sums(&one);
    check_sums(&two);
    assert_eq!((&one["one_clock"], &two["one_clock"]), (&true.into(), &false.into()));
    let intervals = || told.iter().filter(|record| record["type"] == "transit-interval");
    let sum: i64 = intervals().map(|interval| number(&interval["matched"])).sum();
    assert_eq!((sum, intervals().count() > 1), (number(&one["matched"]), true));
    assert_eq!(one["dropped_by_kernel"], serde_json::json!([0, 0]));
    let actions = actions(&log);
    let late = |action: &Value| number(&action["late_ns"]);
    let is_tpdu = |action: &&Value| !action["tpdus"].as_array().unwrap().is_empty();
    let lost = |action: &&Value| action["action"] == "lost";
    let tpdus = |action: &Value| action["tpdus"].as_array().unwrap().len() as i64;
    let lost_tpdus: i64 = actions.iter().filter(lost).map(tpdus).sum();
    let latest =
        actions.iter().filter(is_tpdu).filter(|action| !lost(action)).map(late).max().unwrap();
    // What was lost is alone at the near tap, or among copies of which it lacks one.
    let of = |name: &str, tap: usize| number(&one[name][tap]);
    let missing = of("unmatched", 0) + of("ambiguous", 0) - of("ambiguous", 1);
    assert_eq!((missing, of("unmatched", 1)), (lost_tpdus, 0), "{one}");
    assert!(lost_tpdus > 0, "3 % of some hundred");
    let [there, back] = [&one["there"], &one["back"]];
    // A stamp is taken before the relay takes a frame, and after it let it go.
    assert!(number(&there["min_ns"]) + APART_NS >= DELAY_NS, "{there}");
    assert!(number(&there["max_ns"]) + APART_NS >= latest, "{there} {latest}");
    assert!(number(&back["min_ns"]) > 0, "{back}");
    // Two clocks that are one: what is not ruled out has the truth in it, which is 0.
    let offset = &two["offset_ns"];
    let [least, most] = ["least", "most"].map(|end| number(&offset[end]));
    assert!(least - APART_NS <= 0 && 0 <= most + APART_NS, "{offset}");
    println!(
        "seen: {} TPDUs, {lost_tpdus} lost; transit there {} to {} ns where the log says {DELAY_NS} \
         to {latest}, back {} ns at least; by two clocks 0 lies within {least} and {most} ns",
        one["tpdus"][0], there["min_ns"], there["max_ns"], back["min_ns"]
    );
}

#[test]
fn kernel_drops_at_a_tap_are_no_losses_between_the_taps() {
    let Some((left, _right)) = line() else { return };
    let arguments = ["watch", "-i", "w0", "--far-interface", "w1", "-t", "4 s", "--json"];
    let watch = listening(&left, &arguments, None);
    let signal = |name: &str| {
        let status = Command::new("kill").args([name, &watch.id().to_string()]).status();
        assert!(status.unwrap().success());
    };
    // While it stands still more passes the near tap than the 16 MB that the kernel keeps for it.
    signal("-STOP");
    let mut port = left.near_port();
    let mut frame = data(0);
    frame.resize(1_500, 0);
    let frame = Frame::new(frame.into());
    let sent = (0..20_000).filter(|_| port.send(&frame).is_ok()).count() as i64;
    signal("-CONT");
    let output = watch.wait_with_output().unwrap();
    check_code(&output, 4);
    let found = transit(&records(&output));
    let [near, far] = [0, 1].map(|tap| number(&found["dropped_by_kernel"][tap]));
    assert!(near > 0 && far == 0, "{found}");
    assert_eq!((number(&found["tpdus"][0]) + near, number(&found["tpdus"][1])), (sent, 0));
    println!("seen: {near} of {sent} frames dropped at the near tap");
}

#[test]
fn two_ports_are_two_taps_and_a_capture_of_the_past_is_none() {
    let past = ["watch", "-i", "lo", "--far", "old.pcapng"];
    for (arguments, code, said) in [
        (&["watch", "-i", "lo", "--far-interface", "lo"][..], 2, "one port is one tap"),
        (&past, 2, "does not pass lo now"),
        (&["watch", "-r", "a", "--far-interface", "lo"], 2, "goes with --interface"),
        (&["watch", "-r", "a", "--far", "b", "--measure", "1 s"], 2, "at the end"),
        (&["watch", "-r", "-", "--far", "-"], 2, "standard input is one capture"),
        (&["watch", "-r", "a", "--far", "b", "--csv", "c"], 2, "cannot be used with"),
        (&["watch", "-i", "no-such", "--far-interface", "lo"], 1, "no-such"),
    ] {
        let output = run(arguments);
        check_code(&output, code);
        assert!(stderr(&output).contains(said), "{arguments:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "");
    }
}

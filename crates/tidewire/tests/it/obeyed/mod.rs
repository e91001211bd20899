//! Options are obeyed or refused: every option of every verb, in every mode of the verb.
//!
//! `tidewire help --json` lists the options, as clap describes them. For each mode the table in `modes`
//! has the options that have an effect there, with a command line that shows it. Every other option of
//! the verb has to be refused.

mod listening;
mod measuring;
mod modes;
mod papers;
mod screens;

use crate::export::CELL;
use crate::{check_code, command, program, records, run, run_in, stderr, stdout};
use modes::{ENDINGS, MODES};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Output, Stdio};

/// Form of a verb's command line.
struct Mode {
    verb: &'static str,
    /// Words of a command line in this mode.
    base: &'static str,
    /// Options that have an effect.
    obeyed: &'static [Obeyed],
}

/// Option, a command line with it, and its effect.
struct Obeyed {
    option: &'static str,
    /// Words to add to those of the mode; `=` replaces the words of the mode.
    words: &'static str,
    effect: Effect,
}

/// Difference that an option makes.
enum Effect {
    /// Standard output differs from that of the mode alone, which is the same each time.
    Changes,
    /// This file or folder is written, which is not written without the option.
    Writes(&'static str),
    /// This is not written, which is written without the option.
    Omits(&'static str),
    /// This is printed, which is not printed without the option.
    Says(&'static str),
    /// This is not printed, which is printed without the option.
    Hushes(&'static str),
    /// The option is part of the mode, which is not there without it.
    IsTheMode,
    /// The effect takes time, a terminal or a privilege; the test of that name shows it.
    ShownBy(&'static str),
}

const fn obeyed(option: &'static str, words: &'static str, effect: Effect) -> Obeyed {
    Obeyed { option, words, effect }
}

/// A scenario of 50 ms that has losses at random.
const SHORT: &str = r#"
version = 1
title = "short"
replications = 2
stop = { after = "50 ms", warmup = "none" }
medium = { kind = "ideal", rate = "10 Mbit/s" }
faults = { loss = "5 %" }

[[station]]
name = "here"

[[station]]
name = "there"

[[flow]]
name = "status"
from = "here"
to = "there"
service = "class-4"
pattern = { kind = "poisson", mean-interval = "5 ms" }
size = "100 B"
deadline = "3 ms"
"#;

/// Value of an option where it is refused.
fn sample(option: &str, value: &str) -> String {
    match (option, value) {
        ("--fault", _) => "loss=1%",
        ("--load", _) => "cyclic",
        ("--capture-at", _) => "lan",
        ("--theme" | "--symbols", _) => "auto",
        ("--screen", _) => "monitor",
        ("--fail-on", _) => "note",
        ("--require", _) => "R_RD(host) < 1 %",
        ("--objective", _) => "p99",
        ("--over", _) => "iso-tcp://127.0.0.1:1",
        ("--filter", _) => "iso",
        ("--only", _) => "dt_*",
        ("--speed" | "--packets-scale", _) => "2",
        ("--format", _) => "csv",
        ("--keys", _) => "quit=x",
        ("--hgrm-unit", _) => "ms",
        ("--vary", _) => "seed=1,2",
        ("--rounds", _) => "6",
        ("--keep-around", _) => "retransmission",
        (_, "N" | "CLASS") => "2",
        (_, "TIME") => "30 ms",
        (_, "SIZE") => "100 B",
        (_, "SIZES" | "OCTETS") => "64,128",
        (_, "RATE") => "2 Mbit/s",
        (_, "FROM..UNTIL") => "1ms..9ms",
        (_, "MAC") => "02:00:00:00:00:07",
        (_, "IF") => "nosuchif0",
        (_, "ADDRESS:PORT") => "127.0.0.1:0",
        (_, "HEX") => "0102",
        (_, "SHARE") => "5 %",
        (_, _) => "value",
    }
    .to_owned()
}

/// Runs a command line in a folder that has the files of the modes.
fn attempt(words: &[String]) -> (Output, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("short.toml"), SHORT).unwrap();
    fs::write(path.join("key"), "00".repeat(32)).unwrap();
    fs::write(path.join("tail.hgrm"), "Value Percentile TotalCount\n1.5 1 1\n").unwrap();
    fs::copy(CELL, path.join("cell.pcapng")).unwrap();
    fs::copy(crate::publishers::SCD, path.join("station.scd")).unwrap();
    let kept = words.iter().any(|word| word == "kept" || word == "other");
    for name in ["kept", "other"].into_iter().filter(|_| kept) {
        check_code(&run_in(path, &["predict", "short.toml", "--output", "first"]), 0);
        let made = fs::read_dir(path.join("first")).unwrap().next().unwrap().unwrap().path();
        fs::rename(made, path.join(name)).unwrap();
    }
    if words.iter().any(|word| word == "stream.ndjson") {
        let stream = run_in(path, &["meter", "cell.pcapng"]);
        fs::write(path.join("stream.ndjson"), stream.stdout).unwrap();
    }
    if words.iter().any(|word| word == "plant.toml") {
        fs::copy(crate::examples::root().join("captures/cycles.pcap"), path.join("cycles.pcap"))
            .unwrap();
        let watch = ["watch", "-q", "-r", "cycles.pcap", "--write-scenario", "plant.toml"];
        check_code(&run_in(path, &watch), 0);
    }
    (run_in(path, words), folder)
}

/// Words of a command line; those within apostrophes are one.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (place, part) in line.split('\'').enumerate() {
        match place % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

/// Options of every verb with the names of their values, as clap describes them.
fn options() -> BTreeMap<String, BTreeMap<String, Option<String>>> {
    let mut found: BTreeMap<String, BTreeMap<String, Option<String>>> = BTreeMap::new();
    for record in records(&run(&["help", "--json"])) {
        let word = |key: &str| record[key].as_str().map(str::to_owned);
        let (Some("option"), Some(option)) = (record["type"].as_str(), word("option")) else {
            continue;
        };
        // A build with Parquet obeys it: `columnar` shows that.
        let is_elsewhere = cfg!(feature = "parquet") && option == "--parquet";
        // Messages are the same in all modes: `log` shows these options.
        let is_of_all = ["--help", "--version", "--verbose", "--log-format", "--log-limit"];
        if !is_of_all.contains(&option.as_str()) && !is_elsewhere {
            let verb = found.entry(word("verb").unwrap()).or_default();
            verb.insert(option, word("value"));
        }
    }
    found
}

/// The short form of an option that a mode may be written with.
fn short(entry: &Obeyed) -> &'static str {
    match entry.option {
        "--interface" => "-i",
        "--read" => "-r",
        "--write" => "-w",
        other => other,
    }
}

/// Problem of a mode by itself; none if its command line ends as it should.
fn badly_ended(mode: &Mode) -> Option<String> {
    let base = words(mode.base);
    // One that takes minutes is run by the test that shows it.
    let is_shown = |entry: &Obeyed| {
        matches!(entry.effect, Effect::ShownBy(_)) && base.iter().any(|it| it == entry.option)
    };
    if mode.obeyed.iter().any(is_shown) {
        return None;
    }
    let (output, _folder) = attempt(&base);
    let ending = ENDINGS.iter().find(|ending| ending.0 == mode.base);
    let (code, said) = ending.map_or((0, ""), |ending| (ending.1, ending.2));
    let ends_well = output.status.code() == Some(code) && stderr(&output).contains(said);
    (!ends_well).then(|| {
        let status = output.status;
        format!("{} ends with {status}:\n{}{}", mode.base, stdout(&output), stderr(&output))
    })
}

/// Problem of an option that is said to be obeyed; none if its effect shows.
fn problem(mode: &Mode, entry: &Obeyed) -> Option<String> {
    let base = words(mode.base);
    let with = match entry.words.strip_prefix('=') {
        Some(line) => words(line),
        None => [base.clone(), words(entry.words)].concat(),
    };
    match entry.effect {
        Effect::IsTheMode => {
            let is_there = base.iter().any(|word| word == entry.option || *word == short(entry));
            // `meter` writes records with and without it.
            let is_there = is_there || (mode.verb, entry.option) == ("meter", "--json");
            return (!is_there).then(|| "is not in the words of the mode".to_owned());
        }
        Effect::ShownBy(_) => return None,
        _ => {}
    }
    if !with.iter().any(|word| word == entry.option) {
        return Some("the command line has no such option".to_owned());
    }
    let (base, without) = attempt(&base);
    let (output, folder) = attempt(&with);
    let said = |output: &Output, text: &str| {
        stdout(output).contains(text) || stderr(output).contains(text)
    };
    let is_there = |folder: &Path, name: &str| folder.join(name).exists();
    let shows = match entry.effect {
        Effect::Changes => base.stdout != output.stdout && !output.stdout.is_empty(),
        Effect::Writes(name) => is_there(folder.path(), name) && !is_there(without.path(), name),
        Effect::Omits(name) => !is_there(folder.path(), name) && is_there(without.path(), name),
        Effect::Says(text) => said(&output, text) && !said(&base, text),
        Effect::Hushes(text) => !said(&output, text) && said(&base, text),
        Effect::IsTheMode | Effect::ShownBy(_) => true,
    };
    (!shows).then(|| format!("has no effect:\n{}{}", stdout(&output), stderr(&output)))
}

/// Problem of an option that is not said to be obeyed; none if it is refused.
fn unrefused(mode: &Mode, option: &str, value: Option<&str>) -> Option<String> {
    let mut with = words(mode.base);
    with.push(option.to_owned());
    with.extend(value.map(|value| sample(option, value)));
    let (output, _folder) = attempt(&with);
    let is_named = stderr(&output).contains(option);
    let printed = stdout(&output);
    let prints_nothing = printed.is_empty() || printed.starts_with("{\"type\":\"error\"");
    let is_refused = output.status.code() == Some(2) && is_named && prints_nothing;
    (!is_refused).then(|| {
        format!("neither in the table nor refused:\n{}{}", stdout(&output), stderr(&output))
    })
}

/// Options that a verb only refuses: `advise` and `reproduce` have no transport over TCP, and `export`
/// shows that a build without Parquet refuses it.
const REFUSED: [(&str, &str); 6] = [
    ("advise", "--allow-public"),
    ("reproduce", "--allow-public"),
    ("advise", "--foreign-peer"),
    ("reproduce", "--foreign-peer"),
    ("reproduce", "--over"),
    ("watch", "--parquet"),
];

/// Options that are refused in every mode of their verb: a sample may be refused for its value alone.
fn never_obeyed<'a>(
    options: &'a BTreeMap<String, BTreeMap<String, Option<String>>>,
    modes: &[&Mode],
) -> Vec<(&'a str, &'a str)> {
    let obeyed: BTreeSet<(&str, &str)> = modes
        .iter()
        .flat_map(|mode| mode.obeyed.iter().map(|entry| (mode.verb, entry.option)))
        .collect();
    let verbs: BTreeSet<&str> = modes.iter().map(|mode| mode.verb).collect();
    let all = options.iter().filter(|(verb, _)| verbs.contains(verb.as_str()));
    all.flat_map(|(verb, of)| of.keys().map(|it| (verb.as_str(), it.as_str())))
        .filter(|pair| !obeyed.contains(pair) && !REFUSED.contains(pair))
        .collect()
}

/// Problems of a mode.
fn problems(mode: &Mode, all: &BTreeMap<String, Option<String>>) -> Vec<String> {
    let entry = |option: &String| mode.obeyed.iter().find(|entry| entry.option == option);
    let named = |(option, value): (&String, &Option<String>)| {
        let found = match entry(option) {
            Some(entry) => problem(mode, entry),
            None => unrefused(mode, option, value.as_deref()),
        };
        found.map(|what| format!("{}: {option} {what}", mode.base))
    };
    let mut found: Vec<String> = all.iter().filter_map(named).collect();
    found.extend(badly_ended(mode));
    let extra = mode.obeyed.iter().filter(|entry| !all.contains_key(entry.option));
    found.extend(extra.map(|entry| format!("{}: there is no {}", mode.base, entry.option)));
    found
}

#[test]
fn every_option_is_obeyed_or_refused_in_every_mode() {
    let options = options();
    let verbs: BTreeSet<&str> =
        MODES.iter().flat_map(|modes| modes.iter()).map(|it| it.verb).collect();
    let own = |verb: &&String| options[*verb].keys().any(|it| it != "--json" && it != "--quiet");
    let missing: Vec<_> =
        options.keys().filter(own).filter(|it| !verbs.contains(it.as_str())).collect();
    assert!(missing.is_empty(), "no mode of {missing:?}");
    let modes: Vec<&Mode> = MODES.iter().flat_map(|modes| modes.iter()).collect();
    let never = never_obeyed(&options, &modes);
    assert!(never.is_empty(), "in no mode have an effect: {never:?}");
    let next = std::sync::atomic::AtomicUsize::new(0);
    let found = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(mode) =
                    modes.get(next.fetch_add(1, std::sync::atomic::Ordering::SeqCst))
                {
                    let problems = problems(mode, &options[mode.verb]);
                    found.lock().unwrap().extend(problems);
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    let tried: usize = modes.iter().map(|mode| options[mode.verb].len()).sum();
    println!("seen: {tried} options of {} verbs in {} modes", verbs.len(), modes.len());
    assert!(found.is_empty(), "{} problems\n{}", found.len(), found.join("\n"));
}

#[test]
fn a_test_that_the_table_names_is_there() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it"));
    for mode in MODES.iter().flat_map(|modes| modes.iter()) {
        for entry in mode.obeyed {
            let Effect::ShownBy(name) = entry.effect else { continue };
            let (file, test) = name.rsplit_once("::").unwrap_or((name, ""));
            let path = match file {
                "obeyed" => "obeyed/mod.rs".into(),
                file => format!("{}.rs", file.replace("::", "/")),
            };
            let text = fs::read_to_string(folder.join(path)).unwrap();
            assert!(text.contains(&format!("fn {test}")), "{name}");
        }
    }
}

#[test]
fn quiet_leaves_remarks_out() {
    for line in ["predict short.toml", "watch -r cell.pcapng --annotate a.pcapng --csv tables"] {
        let quiet = [words(line), words("--quiet")].concat();
        let (output, _folder) = attempt(&quiet);
        check_code(&output, 0);
        assert_eq!(stderr(&output), "", "{line}");
    }
}

#[test]
fn a_cap_holds_on_loopback_where_it_is_asked_for() {
    let free = || UdpSocket::bind("127.0.0.1:0").unwrap();
    let [here, there] = [free(), free()].map(|socket| socket.local_addr().unwrap().to_string());
    let mut serving = command(&["serve", "--udp", &there, "-n", "1", "-t", "20s", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(serving.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("listening"));
    let line = format!(
        "measure --udp {here} --udp-peer {there} --load bulk --size 100 --messages 300 \
         --max-frames 100 --no-save --json"
    );
    let output = run(&words(&line));
    check_code(&output, 0);
    serving.wait().unwrap();
    let result = records(&output).into_iter().find(|it| it["type"] == "result").unwrap();
    // A frame for each message. A second's frames may leave at once, and the other 200 take 2 s.
    let took_ns = result["took_ns"].as_u64().unwrap();
    assert!(took_ns > 1_900_000_000, "{result}");
}

#[test]
fn options_without_effect_say_what_to_use() {
    for (line, said) in [
        ("measure short.toml --fault loss=1%", "name a peer (--to MAC -i IF)"),
        ("measure short.toml --size 100", "which describes its own load"),
        ("predict short.toml --plot --json", "--figure FOLDER"),
        ("watch -r cell.pcapng --top 3", "add --json"),
        ("relay a b --seed 3", "--fault"),
        ("reproduce --seed 3", "<PAPER>"),
        ("reproduce --live", "<PAPER>"),
        ("reproduce tr-88-08 --live", "tidewire reproduce tr-88-04 --live"),
        ("reproduce tr-88-04 --volume 10MB", "--live measures them"),
        ("reproduce tr-88-04 -i eth1 --to 02:00:00:00:00:07", "--live measures them"),
        ("reproduce tr-88-04 --live --capture c.pcapng", "name a peer (--to MAC -i IF)"),
        ("reproduce tr-88-04 --live -i eth1 --capture c.pcapng --capture-at lan", "--capture-at"),
        ("reproduce tr-88-04 --live --over iso-tcp://127.0.0.1:1", "--over: datagrams need a LAN"),
        ("reproduce tr-88-04 --live -n 19", "-n 20, or more"),
        ("reproduce tr-88-04 --live --rounds 4", "--rounds"),
        ("meter cell.pcapng --schema", "--schema"),
        ("demo --no-save --output out", "--no-save"),
    ] {
        let (output, _folder) = attempt(&words(line));
        check_code(&output, 2);
        assert!(stderr(&output).contains(said), "{line}: {}", stderr(&output));
    }
}

#[test]
fn a_cap_holds_for_the_runs_of_a_live_search() {
    let free = || UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let (here, there) = (free(), free());
    let mut serving = command(&["serve", "--udp", &there, "-n", "2", "-t", "60 s", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(serving.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("listening"));
    let folder = tempfile::tempdir().unwrap();
    let bulk = "pattern = { kind = \"bulk\", total = \"3 kB\" }";
    let poisson = "pattern = { kind = \"poisson\", mean-interval = \"5 ms\" }";
    let text = SHORT.replace(poisson, bulk).replace("loss = \"5 %\"", "loss = \"0 %\"");
    fs::write(folder.path().join("bulk.toml"), text.replace("50 ms", "20 s")).unwrap();
    let line = format!(
        "advise bulk.toml --live --udp {here} --udp-peer {there} --budget 2 --max-frames 10 \
         --objective throughput"
    );
    check_code(&run_in(folder.path(), &words(&line)), 4);
    assert!(serving.wait().unwrap().success());
    let records = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap());
    let sessions = records.filter(|it: &serde_json::Value| it["type"] == "session");
    let took_ns: Vec<u64> = sessions.map(|it| it["took_ns"].as_u64().unwrap()).collect();
    // A frame for each of 30 messages. A second's frames may leave at once, and the other 20 take 2 s.
    assert!(took_ns.len() == 2 && took_ns.iter().all(|it| *it > 1_900_000_000), "{took_ns:?}");
}

#[test]
fn a_cap_holds_for_layers() {
    let line = "measure layers --udp 127.0.0.1:0 --udp-peer 127.0.0.1:0 --messages 1 --rounds 2 \
                --sizes 64,128";
    let ended_within_5s = |more: &str| {
        let mut limited = program("timeout");
        limited.args(["5", env!("CARGO_BIN_EXE_tidewire")]).args(words(line)).args(words(more));
        let ended = limited.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        ended.code() == Some(0)
    };
    // Dozens of frames, of which 5 go out in 5 s.
    assert!(ended_within_5s("") && !ended_within_5s("--max-frames 1"));
}

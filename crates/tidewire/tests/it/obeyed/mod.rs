//! Options are obeyed or refused: every option of every verb, in every mode of the verb.
//!
//! `tidewire help --json` lists the options, as clap describes them. For each mode the table in `modes`
//! has the options that have an effect there, with a command line that shows it. Every other option of
//! the verb has to be refused.

mod modes;

use crate::export::CELL;
use crate::{check_code, command, records, run, run_in, stderr, stdout};
use modes::MODES;
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
        ("--tap", "PLACE") => "lan",
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
        ("--vary", _) => "seed=1,2",
        (_, "N" | "CLASS") => "2",
        (_, "TIME") => "30 ms",
        (_, "SIZE") => "100 B",
        (_, "SIZES" | "OCTETS") => "64,128",
        (_, "RATE") => "2 Mbit/s",
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
    fs::copy(CELL, path.join("cell.pcapng")).unwrap();
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
        if !["--help", "--version"].contains(&option.as_str()) && !is_elsewhere {
            let verb = found.entry(word("verb").unwrap()).or_default();
            verb.insert(option, word("value"));
        }
    }
    found
}

/// Problem of an option that is said to be obeyed; none if its effect shows.
fn problem(mode: &Mode, entry: &Obeyed) -> Option<String> {
    let base = words(mode.base);
    let with = match entry.words.strip_prefix('=') {
        Some(line) => words(line),
        None => [base.clone(), words(entry.words)].concat(),
    };
    if matches!(entry.effect, Effect::IsTheMode | Effect::ShownBy(_)) {
        return None;
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
    let is_refused = output.status.code() == Some(2) && is_named && output.stdout.is_empty();
    (!is_refused).then(|| {
        format!("neither in the table nor refused:\n{}{}", stdout(&output), stderr(&output))
    })
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
            let (file, test) = name.split_once("::").unwrap_or((name, ""));
            let path = if file == "obeyed" { "obeyed/mod.rs".into() } else { format!("{file}.rs") };
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
        ("meter cell.pcapng --schema", "--schema"),
        ("demo --no-save --output out", "--no-save"),
    ] {
        let (output, _folder) = attempt(&words(line));
        check_code(&output, 2);
        assert!(stderr(&output).contains(said), "{line}: {}", stderr(&output));
    }
}

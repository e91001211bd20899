//! Dialogues: a class 4 entity and a peer, line by line, one file for each claim of the standard.
//!
//! `tests/dialogues/README.md` defines the lines.

mod stage;
mod words;

use stage::Stage;
use std::fs;
use std::path::{Path, PathBuf};
use words::words;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dialogues/tp4")
}

/// Lines to execute, with their numbers: blocks are expanded, comments and empty lines left out.
fn lines(text: &str) -> Result<Vec<(usize, Vec<String>)>, String> {
    let all: Vec<_> = text.lines().enumerate().map(|(at, line)| (at + 1, line)).collect();
    let mut rest = all.as_slice();
    let mut done = Vec::new();
    while let Some(((number, line), behind)) = rest.split_first() {
        rest = behind;
        let line_words = words(line);
        match line_words.as_slice() {
            [] => {}
            [verb, times] if verb == "repeat" => {
                let length = rest.iter().take_while(|(_, line)| line.starts_with("  ")).count();
                let (block, behind) = rest.split_at(length);
                let times: usize = times.parse().map_err(|_| format!("{number}: {line}"))?;
                let block = block.iter().map(|(at, line)| (*at, words(line)));
                let block: Vec<_> = block.filter(|(_, words)| !words.is_empty()).collect();
                done.extend((0..times).flat_map(|_| block.clone()));
                rest = behind;
            }
            _ => done.push((*number, line_words)),
        }
    }
    Ok(done)
}

/// Executes a dialogue; returns its number of lines, or the line that fails and the actual output.
fn go(name: &str, text: &str) -> Result<usize, String> {
    let at = |number: usize| format!("{name}:{number}: {}", text.lines().nth(number - 1).unwrap());
    let lines = lines(text)?;
    let mut stage = Stage::new();
    for (place, (number, words)) in lines.iter().enumerate() {
        let next = lines.get(place + 1).and_then(|(_, words)| words.first());
        let joins = next.is_some_and(|verb| verb == "with");
        stage.line(words, joins).map_err(|what| format!("{}\n    {what}", at(*number)))?;
    }
    stage.nothing_is_left().map_err(|what| format!("{name}: at the end {what}"))?;
    Ok(lines.len())
}

#[test]
fn every_dialogue_goes_as_it_is_written() {
    let mut paths: Vec<_> =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let (mut broken, mut count) = (Vec::new(), 0);
    for path in &paths {
        let name = path.file_name().unwrap().to_string_lossy();
        let text = fs::read_to_string(path).unwrap();
        if !text.starts_with("# ISO 8073 ") {
            broken.push(format!("{name}:1: does not open with its clause"));
        }
        match go(&name, &text) {
            Ok(lines) => count += lines,
            Err(what) => broken.push(what),
        }
    }
    println!("seen: {} dialogues of {count} lines", paths.len());
    assert!(broken.is_empty(), "{} dialogues differ:\n{}", broken.len(), broken.join("\n"));
}

#[test]
fn a_dialogue_that_differs_is_reported_by_its_line() {
    let check = |text: &str, complaint: &str| assert_eq!(go("x", text), Err(complaint.to_owned()));
    let open = "opened by the peer\nuser data \"a\"\n";
    check(open, "x: at the end no line expects that it sends DT to=0x0707 nr=0 eot octets=1 \"a\"");
    check(
        &format!("{open}sends DT nr=1\n"),
        "x:3: sends DT nr=1\n    it sends@1 DT to=0x0707 nr=0 eot octets=1 \"a\"",
    );
    check(
        &format!("{open}sends DT nr=0 !eot\n"),
        "x:3: sends DT nr=0 !eot\n    it sends@1 DT to=0x0707 nr=0 eot octets=1 \"a\"",
    );
    check("opened by the peer\nsends AK", "x:2: sends AK\n    it sends nothing");
    check("opened by the peer\ntold Data", "x:2: told Data\n    the user gets no indication");
    check(
        &format!("{open}sends DT\nexpire W after 100 ms"),
        "x:4: expire W after 100 ms\n    the expired timers are [\"T1\"]",
    );
    check(
        &format!("{open}sends DT\nexpire I after 32 s"),
        "x:4: expire I after 32 s\n    no line expects that it sends DT to=0x0707 nr=0 eot octets=1 \
         \"a\", before I",
    );
    check("opened by the peer\nstate Closing", "x:2: state Closing\n    it is Open");
    check("opened by the peer\ncount t1 1", "x:2: count t1 1\n    it is 0");
    check("count nothing 1", "x:1: count nothing 1\n    there is no such counter");
    check("opened by the peer\npause", "x:2: pause\n    unknown line");
    check(
        "user connect\nparams N=2",
        "x:2: params N=2\n    no line expects that it sends CR from=0x0001 \
         to=0x0000 class=4 credit=15 tpdu-size=1024 version=1 options=02 ack-time=10ms checksum",
    );
}

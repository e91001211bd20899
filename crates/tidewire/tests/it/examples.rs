//! The commands that a document shows, run as they stand there, and their output.

use crate::{check_code, stdout};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

/// Verbs whose output is a function of their input, so that each line shown is compared.
const REPEATABLE: [&str; 7] =
    ["predict", "watch", "dissect", "scenarios", "profiles", "reproduce", "advise"];

/// A command of a document and the numbers of the lines shown below it.
struct Example {
    command: String,
    shown: Vec<usize>,
}

/// Runs the commands of a document in turn, in a copy of the top folder; at least `least` are there. With BLESS=1
/// a line that is not in the output gives way to the most similar one.
#[track_caller]
pub(crate) fn check(document: &str, least: usize) {
    let path = root().join(document);
    let text = fs::read_to_string(&path).unwrap();
    let mut page: Vec<String> = text.lines().map(str::to_owned).collect();
    let examples = examples(&page);
    assert!(examples.len() >= least, "{document}: the examples were not found");
    let folder = checkout();
    let is_blessed = env::var_os("BLESS").is_some();
    for Example { command, shown } in examples {
        let printed = output(&command, folder.path());
        let verb = command.split_whitespace().nth(1).unwrap();
        let is_repeatable = REPEATABLE.contains(&verb);
        let is_same = |found: &[&str], line: &str| match found {
            [first, ..] if is_repeatable => *first == line,
            // A row wider than 80 columns takes a line for its names and one for its numbers.
            [first, second, ..] => {
                [*first, &format!("{first} {second}")].iter().any(|row| words(row) == words(line))
            }
            [last] => words(last) == words(line),
            [] => false,
        };
        let mut rest: Vec<&str> = printed.lines().collect();
        for number in shown {
            // In this order, with other lines between them.
            let line = &page[number];
            let at = (0..rest.len()).find(|at| is_same(&rest[*at..], line));
            let at = at.or_else(|| nearest(&rest, line).filter(|_| is_blessed && is_repeatable));
            let Some(at) = at else {
                panic!("{document}:{}: {command}: not there: {line}\n{printed}", number + 1);
            };
            if is_repeatable {
                page[number] = rest[at].to_owned();
            }
            rest.drain(..=at);
        }
    }
    let page = page.join("\n") + "\n";
    if page != text {
        fs::write(path, page).unwrap();
    }
}

/// Standard output of a command, which has to end with 0.
#[track_caller]
fn output(command: &str, folder: &Path) -> String {
    let bin = Path::new(env!("CARGO_BIN_EXE_tidewire")).parent().unwrap();
    let path = env::join_paths([bin, Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).env("PATH", &path).stdin(Stdio::null());
    let output = shell.current_dir(folder).output().unwrap();
    check_code(&output, 0);
    stdout(&output)
}

/// The commands in the `console` blocks of a document. A line of dots stands for lines left out.
fn examples(page: &[String]) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut is_console = false;
    for (number, line) in page.iter().enumerate() {
        if line.starts_with("```") {
            is_console = line == "```console";
            continue;
        }
        match (line.strip_prefix("$ "), examples.last_mut()) {
            _ if !is_console => {}
            (Some(command), _) => {
                assert!(command.starts_with("tidewire "), "{command}");
                examples.push(Example { command: command.to_owned(), shown: Vec::new() });
            }
            (None, Some(example)) if line != "..." => example.shown.push(number),
            (None, _) => {}
        }
    }
    examples
}

/// Index of the line that shares the largest part of its words with `line`, the first of equals.
fn nearest(lines: &[&str], line: &str) -> Option<usize> {
    let shared = |found: &str| {
        let common = found.split_whitespace().filter(|word| line.contains(word)).count();
        let words = found.split_whitespace().chain(line.split_whitespace()).count();
        2_000 * common / words.max(1)
    };
    (0..lines.len()).rev().max_by_key(|at| shared(lines[*at]))
}

/// The first four words of a line, up to a colon, without numbers and units, which differ from run to run, as may
/// the conclusion behind the colon.
fn words(line: &str) -> Vec<String> {
    let line = line.split(':').next().unwrap_or_default();
    let words = line.split_whitespace().filter(|word| !word.contains(|c: char| c.is_ascii_digit()));
    let words = words.map(|word| word.chars().filter(|c| c.is_alphabetic()).collect::<String>());
    let is_unit = |word: &str| ["", "ns", "us", "ms", "s", "to"].contains(&word);
    words.filter(|word| !is_unit(word)).take(4).collect()
}

/// A folder with the captures and scenarios that commands in documents read.
pub(crate) fn checkout() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["captures", "scenarios"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        for entry in fs::read_dir(root().join(name)).unwrap() {
            let path = entry.unwrap().path();
            let copy = folder.path().join(name).join(path.file_name().unwrap());
            fs::copy(&path, copy).unwrap();
        }
    }
    folder
}

/// The top folder of the checkout.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

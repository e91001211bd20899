//! Names from captures and files reach a terminal without anything that it obeys, or that hides or reorders text.

use crate::watch::{capture, data};
use crate::{check_code, run_in};
use std::fs;
use wire::printable::is_printable;

/// A title of the terminal's window, and letters that show in another order.
const NAME: &str = "a\u{1b}]0;owned\u{7}\u{202e}fed\u{2066}\u{200b}\u{9b}2J";

/// An 802.3 frame from station 1 to station 2 with a CR of class 4 whose selectors are the name.
fn cr() -> Vec<u8> {
    let selector = NAME.as_bytes();
    let mut tpdu = vec![0, 0xE0, 0, 0, 0, 1, 0x40];
    for code in [0xC1, 0xC2] {
        tpdu.extend([code, selector.len() as u8]);
        tpdu.extend(selector);
    }
    tpdu[0] = tpdu.len() as u8 - 1;
    let mut octets = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0, tpdu.len() as u8 + 4];
    octets.extend([0xFE, 0xFE, 3, 0]);
    octets.extend(tpdu);
    octets
}

/// A segment with the CR of an RDP client whose cookie has the name.
fn cookie() -> Vec<u8> {
    let text = format!("Cookie: mstshash={NAME}\r\n");
    let length = 11 + text.len() as u16;
    let mut octets = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0];
    octets.extend((40 + length).to_be_bytes());
    octets.extend([0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    octets.extend([0x9C, 0x40, 0x0D, 0x3D, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 1, 0, 0, 0, 0, 0]);
    octets.extend([3, 0]);
    octets.extend(length.to_be_bytes());
    octets.extend([6 + text.len() as u8, 0xE0, 0, 0, 0, 1, 0]);
    octets.extend(text.as_bytes());
    octets
}

#[track_caller]
fn check_text(octets: &[u8], what: &str) {
    let text = std::str::from_utf8(octets).unwrap();
    let odd = text.chars().find(|c| !is_printable(*c) && !"\n\r\t".contains(*c));
    assert_eq!(odd, None, "{what}: {text:?}");
}

#[test]
fn names_of_files_and_in_captures_are_escaped_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let frames = [(0, cr()), (1_000, cookie()), (2_000, data(0))];
    let name = format!("{NAME}.pcap");
    fs::write(folder.path().join(&name), capture(&frames)).unwrap();
    let missing = format!("{NAME}.missing");
    let tables = ["--csv", "csv", "--zeek", "zeek", "--events", "events.ndjson"];
    for arguments in [
        &["watch", "-r", &name][..],
        &[&["watch", "-r", &name], &tables[..]].concat(),
        &["dissect", "-r", &name],
        &["watch", "-r", &missing],
        &["dissect", "-r", &missing],
        &["predict", &missing],
        &["compare", &missing, &missing],
    ] {
        let output = run_in(folder.path(), arguments);
        check_text(&output.stdout, &format!("{arguments:?}"));
        check_text(&output.stderr, &format!("{arguments:?}"));
    }
    for part in ["csv", "zeek"] {
        for entry in fs::read_dir(folder.path().join(part)).unwrap() {
            let path = entry.unwrap().path();
            check_text(&fs::read(&path).unwrap(), &path.display().to_string());
        }
    }
    // The names are there, escaped.
    let output = run_in(folder.path(), &["dissect", "-r", &name]);
    check_code(&output, 0);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains(r"mstshash=a\u{1b}]0;owned\u{7}\u{202e}fed\u{2066}\u{200b}\u{9b}2J"),
        "{text}"
    );
    let error = run_in(folder.path(), &["watch", "-r", &missing]).stderr;
    assert!(String::from_utf8(error).unwrap().contains(r"a\u{1b}]0;owned\u{7}\u{202e}fed"));
}

#[test]
fn names_of_a_stream_are_escaped_in_lines() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.pcap"), capture(&[(0, data(0)), (1_000, data(1))])).unwrap();
    let output = run_in(folder.path(), &["watch", "-r", "a.pcap", "--json"]);
    let escaped = serde_json::to_string(NAME).unwrap();
    let stream = String::from_utf8(output.stdout).unwrap();
    let stream = stream.replace("02:00:00:00:00:01", escaped.trim_matches('"'));
    fs::write(folder.path().join("stream.ndjson"), stream).unwrap();
    let output = run_in(folder.path(), &["show", "stream.ndjson", "--plain"]);
    check_code(&output, 0);
    check_text(&output.stdout, "show");
    assert!(String::from_utf8(output.stdout).unwrap().contains(r"\u{202e}"), "the name is shown");
}

//! `watch -i` on a link that goes down and up, and on an interface that is removed.

use crate::wires::{Namespaces, must};
use crate::{check_code, interrupt, records, stderr};
use live::port::Port as _;
use stack::station::Frame;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};

/// A `watch` of the far end that listens already.
struct Watching {
    child: Child,
    said: BufReader<ChildStderr>,
}

impl Watching {
    fn start(namespaces: &Namespaces, more: &[&str]) -> Self {
        let mut of = namespaces.command(1, &[&["watch", "-i", "w0", "--json"], more].concat());
        let mut child = of.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        let mut watching = Self { child, said };
        watching.hear("listening on w0");
        watching
    }

    /// Reads what it says until a line has these words.
    fn hear(&mut self, words: &str) {
        let mut line = String::new();
        while !line.contains(words) {
            line.clear();
            assert_ne!(self.said.read_line(&mut line).unwrap(), 0, "it ended before {words:?}");
        }
    }
}

fn set(namespaces: &Namespaces, state: &str) {
    must(&["-n", &namespaces.names[1], "link", "set", "w0", state]);
}

/// Returns true if the helper is there to listen.
fn has_helper() -> bool {
    let is_there =
        Path::new(env!("CARGO_BIN_EXE_tidewire")).with_file_name("tidewire-tap").exists();
    if !is_there {
        println!("skipped: tidewire-tap is not next to tidewire; build the workspace");
    }
    is_there
}

#[test]
fn watch_outlasts_a_link_that_goes_down_and_up() {
    check_down_and_up(&[]);
}

#[test]
fn the_helper_of_watch_outlasts_a_link_that_goes_down_and_up() {
    if has_helper() {
        check_down_and_up(&["--tap"]);
    }
}

fn check_down_and_up(more: &[&str]) {
    let Some(namespaces) = Namespaces::make() else { return };
    let mut watching = Watching::start(&namespaces, more);
    set(&namespaces, "down");
    watching.hear("interface w0 is down");
    set(&namespaces, "up");
    let mut port = namespaces.near_port();
    let frame = [&[0xFF; 6][..], &port.addr().0, &[0, 3, 0xFE, 0xFE, 3], &[0; 43]].concat();
    port.send(&stack::station::Frame::new(frame.into())).unwrap();
    interrupt(watching.child.id());
    let output = watching.child.wait_with_output().unwrap();
    check_code(&output, 130);
    let all = records(&output);
    let end = all.last().unwrap();
    assert_eq!((&end["type"], &end["frames"]), (&"end".into(), &1.into()), "{end}");
    // The driver reports 10 Gbit/s for a veth.
    assert_eq!(all[0]["channel_bits_per_second"], 10_000_000_000_u64, "{}", all[0]);
}

#[test]
fn watch_says_that_its_interface_was_removed() {
    check_removed(&[]);
}

#[test]
fn the_helper_of_watch_ends_where_its_interface_was_removed() {
    if has_helper() {
        check_removed(&["--tap"]);
    }
}

fn check_removed(more: &[&str]) {
    let Some(namespaces) = Namespaces::make() else { return };
    let mut watching = Watching::start(&namespaces, more);
    must(&["-n", &namespaces.names[1], "link", "del", "w0"]);
    let mut said = String::new();
    watching.said.read_to_string(&mut said).unwrap();
    let output = watching.child.wait_with_output().unwrap();
    check_code(&output, 1);
    assert!(said.contains("interface w0 was removed"), "{said}{}", stderr(&output));
    assert!(!said.contains("link set w0 up"), "{said}");
}

/// Errors that `watch` at one end prints while the near end sends 200 frames of 500 octets past its taps.
fn said_at(namespaces: &Namespaces, which: usize, more: &[&str]) -> String {
    let mut of = namespaces.command(which, &[&["watch", "-i", "w0"], more].concat());
    let mut child = of.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut text = String::new();
    while !text.contains("listening on w0") {
        assert_ne!(said.read_line(&mut text).unwrap(), 0, "{text}");
    }
    let mut port = namespaces.near_port();
    let head = [&[2; 12][..], &[1, 0xe6, 0xfe, 0xfe, 3]].concat();
    for _ in 0..200 {
        let frame = [&head[..], &[0; 483]].concat();
        port.send(&Frame::new(frame.into())).unwrap();
    }
    interrupt(child.id());
    said.read_to_string(&mut text).unwrap();
    child.wait().unwrap();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn watch_reports_that_this_host_sends_past_its_taps() {
    let Some(namespaces) = Namespaces::make() else { return };
    let near = said_at(&namespaces, 0, &[]);
    // 200 frames of 500 octets.
    assert!(
        near.contains("warning: this host sent 100 kB on w0, of which taps here see 0 B"),
        "{near}"
    );
    assert!(near.contains("fix: watch at the peer, or on a mirror port"), "{near}");
    for (which, more) in [(1, &[][..]), (0, &["--filter", "host 02:00:00:00:00:99"])] {
        let other = said_at(&namespaces, which, more);
        assert!(!other.contains("this host sent"), "{which} {more:?}: {other}");
    }
}

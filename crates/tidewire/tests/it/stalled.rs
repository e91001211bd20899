//! Readers that take nothing: an interrupt ends what writes to them all the same, and what they did not
//! take is counted.

use crate::export::csv;
use crate::watch::{capture, data, one_each};
use crate::{command, interrupt, stderr};
use rustix::pipe::fcntl_setpipe_size;
use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, PipeReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

const SECOND: u64 = 1_000_000_000;

/// A program whose output goes into a pipe of a page of which only the beginning is read.
struct Stalled {
    child: Child,
    reader: BufReader<PipeReader>,
}

impl Stalled {
    /// Standard error goes elsewhere, or into the same pipe.
    fn start(mut of: Command, stdin: Stdio, joins_errors: bool) -> Self {
        let (reader, writer) = std::io::pipe().unwrap();
        fcntl_setpipe_size(&writer, 4_096).unwrap();
        let errors = match joins_errors {
            true => writer.try_clone().unwrap().into(),
            false => Stdio::piped(),
        };
        let child = of.stdin(stdin).stdout(writer).stderr(errors).spawn().unwrap();
        Self { child, reader: BufReader::with_capacity(1, reader) }
    }

    /// Interrupts it, reads nothing until it has ended, and then what the pipe holds.
    fn end(mut self, read: &mut Vec<u8>) -> Output {
        interrupt(self.child.id());
        let output = self.child.wait_with_output().unwrap();
        self.reader.read_to_end(read).unwrap();
        output
    }
}

/// The number before a word of a line.
#[track_caller]
fn number(said: &str, word: &str) -> usize {
    let before = said.split(word).next().filter(|before| before.len() < said.len());
    let number = before.and_then(|before| before.split(|c: char| !c.is_ascii_digit()).next_back());
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no {word:?}: {said}"))
}

#[test]
fn watch_keeps_its_files_and_says_how_many_lines_nobody_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let seconds: Vec<u64> = (0..100).collect();
    fs::write(path("a.pcap"), one_each(&seconds)).unwrap();
    let arguments = ["watch", "-r", &path("a.pcap"), "--measure", "1 s", "--json", "--csv"];
    let files = [&path("csv"), "--zeek", &path("zeek"), "--annotate", &path("a.pcapng")];
    let mut stalled =
        Stalled::start(command(&[&arguments[..], &files].concat()), Stdio::null(), false);
    // The head, and the first interval: the files have been begun.
    let mut read = Vec::new();
    (0..2).for_each(|_| assert!(stalled.reader.read_until(b'\n', &mut read).unwrap() > 0));
    let output = stalled.end(&mut read);
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let said = stderr(&output);
    let unread = number(&said, " lines not written (");
    let written: Vec<&[u8]> = read
        .split_inclusive(|octet| *octet == b'\n')
        .filter(|line| line.ends_with(b"\n"))
        .collect();
    assert!(written.iter().all(|line| serde_json::from_slice::<Value>(line).is_ok()));
    // The head; of each interval that went into the table itself, two hosts and a connection; the total,
    // again those three, the finding that a connection was found under way, and the end.
    let intervals = csv(Path::new(&path("csv/intervals.csv"))).len();
    assert_eq!(written.len() + unread, 1 + 4 * intervals + 6, "{said}");
    assert!(intervals < seconds.len(), "it was not held up");
    for log in ["intervals", "hosts", "connections"] {
        let log = fs::read_to_string(path(&format!("zeek/tidewire_{log}.log"))).unwrap();
        assert!(log.lines().last().unwrap().starts_with("#close\t"), "{log}");
    }
    let mut annotated =
        wire::capture::Capture::open(File::open(path("a.pcapng")).unwrap()).unwrap();
    let mut frames = 0;
    while annotated.next().unwrap().is_some() {
        frames += 1;
    }
    assert!((intervals..=intervals + 1).contains(&frames), "{frames} frames");
}

#[test]
fn capture_says_how_many_frames_nobody_read() {
    let folder = tempfile::tempdir().unwrap();
    let many: Vec<(u64, Vec<u8>)> = (0..9_000).map(|n| (n * SECOND, data(n as u8))).collect();
    let path = folder.path().join("a.pcap");
    fs::write(&path, capture(&many)).unwrap();
    let of = command(&["capture", "-r", path.to_str().unwrap()]);
    let mut stalled = Stalled::start(of, Stdio::null(), false);
    let mut read = vec![0; 100];
    stalled.reader.read_exact(&mut read).unwrap();
    let output = stalled.end(&mut read);
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let said = stderr(&output);
    assert_eq!(number(&said, " octets"), read.len(), "{said}");
    let mut whole = wire::capture::Capture::open(std::io::Cursor::new(read)).unwrap();
    let mut frames = 0;
    while let Ok(Some(_)) = whole.next() {
        frames += 1;
    }
    assert_eq!(number(&said, " frames,"), frames, "{said}");
    // Blocks are handed on when there are 64 KiB: 660 frames of 100 octets each, with 32 around them.
    assert!(number(&said, " more not written; nothing was read") > 400, "{said}");
}

#[test]
fn an_unread_pipe_of_errors_does_not_keep_a_command_from_ending() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pcap");
    fs::write(&path, one_each(&(0..100).collect::<Vec<_>>())).unwrap();
    let of = command(&["watch", "-r", path.to_str().unwrap(), "--measure", "1 s", "--json"]);
    let mut stalled = Stalled::start(of, Stdio::null(), true);
    let mut read = Vec::new();
    stalled.reader.read_until(b'\n', &mut read).unwrap();
    assert_eq!(stalled.end(&mut read).status.code(), Some(130));
}

#[test]
fn a_meter_between_a_silent_pipe_and_a_reader_that_stalls_ends() {
    let mut stalled =
        Stalled::start(command(&["meter", "--measure", "1 s"]), Stdio::piped(), false);
    let mut stdin = stalled.child.stdin.take().unwrap();
    stdin.write_all(&one_each(&(0..100).collect::<Vec<_>>())).unwrap();
    // The head, and the first interval, whose hosts and connection come next.
    let mut read = Vec::new();
    (0..2).for_each(|_| assert!(stalled.reader.read_until(b'\n', &mut read).unwrap() > 0));
    let output = stalled.end(&mut read);
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    // Those three, the total, its connection and two hosts, and the end; a page holds no more than two.
    assert!(number(&stderr(&output), " lines not written (") >= 6, "{}", stderr(&output));
}

#[test]
fn what_is_in_the_pipe_when_somebody_interrupts_is_metered() {
    // Its output is not read, so that the interrupt comes while it has metered the first frames alone.
    let mut stalled =
        Stalled::start(command(&["meter", "--measure", "1 s"]), Stdio::piped(), false);
    let mut stdin = stalled.child.stdin.take().unwrap();
    stdin.write_all(&one_each(&(0..100).collect::<Vec<_>>())).unwrap();
    drop(stdin);
    // The head, and the first interval: two frames have been metered.
    let mut read = Vec::new();
    (0..2).for_each(|_| assert!(stalled.reader.read_until(b'\n', &mut read).unwrap() > 0));
    interrupt(stalled.child.id());
    let Stalled { child, mut reader } = stalled;
    reader.read_to_end(&mut read).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let end: Value =
        serde_json::from_slice(read.split(|o| *o == b'\n').nth_back(1).unwrap()).unwrap();
    assert_eq!((&end["frames"], &end["error"]), (&100.into(), &"interrupted".into()), "{end}");
}

#[test]
fn an_open_fifo_does_not_keep_an_interrupt_from_ending() {
    let of = &["watch", "-r", "/dev/stdin", "--json"];
    let mut child = command(of).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&one_each(&[0, 10, 15])).unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // The first interval is over when the second frame has been read.
    assert!(lines.any(|line| line.unwrap().contains(r#""type":"interval""#)));
    interrupt(child.id());
    let end: Value = serde_json::from_str(&lines.last().unwrap().unwrap()).unwrap();
    assert_eq!((&end["frames"], &end["error"]), (&3.into(), &"interrupted".into()), "{end}");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(stdin);
}

#[test]
fn an_interrupt_of_meter_and_show_shows_how_the_stream_ended() {
    let pipe = || (Stdio::piped(), Stdio::piped());
    let (from, to) = pipe();
    let mut meter = command(&["meter", "-q"]).stdin(from).stdout(to).spawn().unwrap();
    let mut stdin = meter.stdin.take().unwrap();
    stdin.write_all(&one_each(&[0, 10, 15])).unwrap();
    let stream = meter.stdout.take().unwrap();
    let mut show = command(&["show", "--plain"]);
    let mut show = show.stdin(stream).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(show.stdout.take().unwrap()).lines();
    // The first interval is over when the second frame has been read.
    assert!(lines.any(|line| line.unwrap().trim_start().starts_with("0 ")));
    // As Ctrl-C on a terminal: to both.
    interrupt(show.id());
    interrupt(meter.id());
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(rest.iter().any(|line| line.contains("R_RD")), "{rest:#?}");
    assert_eq!(show.wait().unwrap().code(), Some(130));
    assert_eq!(meter.wait().unwrap().code(), Some(130));
    drop(stdin);
}

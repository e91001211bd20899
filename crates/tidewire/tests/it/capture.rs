//! `capture` writes what passes, headers only, and what it leaves behind can be read to its end.

use crate::watch::{capture as pcap, data, may_listen, shared};
use crate::{check_code, command, interrupt, program, records, run_in, stderr, stdout};
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use wire::capture::Capture;

const SECOND: u64 = 1_000_000_000;
/// The capture that comes with the project.
const CELL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/cell.pcapng");

/// Frames of a capture: their octets, and how long they were.
fn frames(path: &Path) -> Vec<(Vec<u8>, usize)> {
    let mut capture = Capture::open(fs::File::open(path).unwrap()).unwrap();
    let mut frames = Vec::new();
    while let Some(record) = capture.next().unwrap() {
        frames.push((record.octets.to_vec(), record.original_octets));
    }
    frames
}

fn numbered(count: u8) -> Vec<u8> {
    let frames: Vec<(u64, Vec<u8>)> =
        (0..count).map(|number| (SECOND * u64::from(number), data(number))).collect();
    pcap(&frames)
}

/// Records of `watch` on a capture, without those that name its source.
fn metered(path: &Path) -> Vec<serde_json::Value> {
    let output = run_in(path.parent().unwrap(), &["watch", "--json", "-r", path.to_str().unwrap()]);
    check_code(&output, 0);
    records(&output)
}

#[test]
fn headers_alone_are_metered_as_the_whole_frames_are() {
    let folder = tempfile::tempdir().unwrap();
    let output = run_in(folder.path(), &["capture", "-r", CELL, "-w", "headers.pcapng"]);
    check_code(&output, 0);
    let headers = folder.path().join("headers.pcapng");
    let (whole, stripped) = (frames(Path::new(CELL)), frames(&headers));
    let size = |frames: &[(Vec<u8>, usize)]| frames.iter().map(|(o, _)| o.len()).sum::<usize>();
    assert_eq!(whole.len(), stripped.len());
    assert!(size(&stripped) * 3 < size(&whole) * 2, "{} of {}", size(&stripped), size(&whole));
    for ((octets, original), (headers, kept_original)) in whole.iter().zip(&stripped) {
        assert!(octets.starts_with(headers) && original == kept_original);
    }
    // Who is above is seen by the first octets of user data, which are gone; and the file has another name.
    let without_user = |mut records: Vec<serde_json::Value>| {
        // That user data is gone is a finding.
        records.retain(|record| record["type"] != "finding");
        for record in &mut records {
            if let Some(record) = record.as_object_mut() {
                let gone = ["user", "confidence", "oddities", "source", "files"];
                record.retain(|name, _| !gone.contains(&name.as_str()));
            }
        }
        records
    };
    assert_eq!(without_user(metered(&headers)), without_user(metered(Path::new(CELL))));
}

/// The total that `watch` tells of a capture, but for what depends on user data.
fn total(path: &Path) -> serde_json::Value {
    let output = run_in(path.parent().unwrap(), &["watch", "--json", "-r", path.to_str().unwrap()]);
    let total = records(&output).into_iter().find(|record| record["type"] == "total").unwrap();
    let mut measures = total["measures"].clone();
    // Requests and replies of MMS pair by identifiers in user data, and associations are in it.
    let is_of_user_data =
        |name: &String| ["mms_", "association", "response"].iter().any(|it| name.starts_with(it));
    measures.as_object_mut().unwrap().retain(|name, _| !is_of_user_data(name));
    measures
}

#[test]
fn tpkts_are_metered_alike_from_headers_and_whole_frames() {
    let folder = tempfile::tempdir().unwrap();
    let headers = folder.path().join("headers.pcapng");
    let (mut same, mut tpdus, mut others) = (0, 0, Vec::new());
    for family in ["s7", "mms", "iccp", "rdp-tpkt", "h323-tpkt"] {
        let Some(captures) = shared("captures", family) else { return };
        for entry in fs::read_dir(captures).unwrap() {
            let path = entry.unwrap().path();
            let output = run_in(
                folder.path(),
                &[
                    OsStr::new("capture"),
                    "-w".as_ref(),
                    headers.as_ref(),
                    "-r".as_ref(),
                    path.as_ref(),
                ],
            );
            if output.status.code() != Some(0) {
                continue;
            }
            let (whole, alone) = (total(&path), total(&headers));
            tpdus += whole["tpdus"].as_u64().unwrap();
            // That a stream is RDP's, with other PDUs among its TPKTs, shows in user data: without it
            // such TPKTs as they hide are met again, and TSDUs are not seen whole.
            let is_told = family != "rdp-tpkt";
            if whole == alone || (!is_told && whole["tpdus"] == alone["tpdus"]) {
                same += 1;
            } else {
                let (of, found) = (&whole["tpdus"], &alone["tpdus"]);
                others.push(format!("{}: {found} of {of} TPDUs", path.display()));
            }
        }
    }
    println!("seen: {same} captures with {tpdus} TPDUs; others {others:#?}");
    assert!(others.is_empty(), "{others:#?}");
}

#[test]
fn whole_frames_are_kept_where_that_is_asked_for_and_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let output = run_in(folder.path(), &["capture", "--full", "-r", CELL, "-w", "all.pcapng"]);
    check_code(&output, 0);
    assert!(stderr(&output).starts_with("warning: user data is kept"), "{}", stderr(&output));
    assert_eq!(frames(&folder.path().join("all.pcapng")), frames(Path::new(CELL)));
}

#[test]
fn several_captures_packed_or_not_become_one_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.pcap"), numbered(3)).unwrap();
    fs::write(folder.path().join("b.pcap"), numbered(2)).unwrap();
    let packed = Command::new("gzip").arg("-k").arg(folder.path().join("a.pcap")).status();
    let second = if packed.is_ok_and(|status| status.success()) { "a.pcap.gz" } else { "a.pcap" };
    let read = ["-r", "b.pcap", second, "b.pcap"];
    let output = run_in(folder.path(), &[&["capture"], &read[..], &["-w", "c.pcapng"]].concat());
    check_code(&output, 0);
    assert!(stderr(&output).starts_with("7 frames, "), "{}", stderr(&output));
    let numbers: Vec<u8> = frames(&folder.path().join("c.pcapng"))
        .iter()
        .map(|(octets, _)| octets[22] & 0x7F)
        .collect();
    assert_eq!(numbers, [0, 1, 0, 1, 2, 0, 1]);
    let output = run_in(folder.path(), &[&["watch", "--json"], &read[..]].concat());
    check_code(&output, 0);
    assert_eq!(records(&output).last().unwrap()["frames"], 7);
}

#[test]
fn one_capture_that_is_cut_short_does_not_hide_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let whole = numbered(3);
    fs::write(folder.path().join("a.pcap"), &whole[..whole.len() - 1]).unwrap();
    fs::write(folder.path().join("b.pcap"), &whole).unwrap();
    let arguments = ["capture", "-r", "a.pcap", "b.pcap", "-w", "c.pcapng"];
    let output = run_in(folder.path(), &arguments);
    check_code(&output, 1);
    assert!(stderr(&output).contains("error: a.pcap: capture cut short"), "{}", stderr(&output));
    assert_eq!(frames(&folder.path().join("c.pcapng")).len(), 5);
    let output = run_in(folder.path(), &["watch", "--json", "-r", "a.pcap", "b.pcap"]);
    check_code(&output, 1);
    assert_eq!(records(&output).last().unwrap()["frames"], 5);
}

#[test]
fn a_filter_leaves_frames_out_and_a_number_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.pcap"), numbered(5)).unwrap();
    let run = |more: &[&str]| {
        let output = [&["capture", "--json", "-r", "a.pcap", "-w", "b.pcapng"], more].concat();
        let output = run_in(folder.path(), &output);
        check_code(&output, 0);
        let end = records(&output).pop().unwrap();
        [&end["frames"], &end["left_out"]].map(|count| count.as_u64().unwrap())
    };
    assert_eq!(run(&["--filter", "tpdu dt"]), [5, 0]);
    assert_eq!(run(&["--filter", "tpdu ak"]), [0, 5]);
    assert_eq!(run(&["-c", "2"]), [2, 0]);
}

#[test]
fn a_text_that_is_no_filter_is_refused_with_its_place() {
    for verb in ["watch", "capture"] {
        let output = run_in(Path::new("."), &[verb, "-r", "a.pcap", "--filter", "iso and prot 7"]);
        check_code(&output, 2);
        assert!(
            stderr(&output).contains("\n  iso and prot 7\n          ^^^^\n"),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn files_follow_each_other_and_the_oldest_go() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.pcap"), numbered(20)).unwrap();
    let arguments =
        ["capture", "-r", "a.pcap", "-w", "b.pcapng", "--rotate", "500 B", "--keep", "2"];
    let output = run_in(folder.path(), &arguments);
    check_code(&output, 0);
    let mut names: Vec<String> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "a.pcap")
        .collect();
    names.sort();
    // Frames of 28 octets of headers: 28 for the section, 88 for the interface and its comment, 60 a
    // frame, so that 6 frames fit into 500 octets, and 20 frames take 4 files.
    assert_eq!(names, ["b-00003.pcapng", "b-00004.pcapng"]);
    let kept: Vec<usize> =
        names.iter().map(|name| frames(&folder.path().join(name)).len()).collect();
    assert_eq!(kept, [6, 2]);
    for name in &names {
        assert!(fs::metadata(folder.path().join(name)).unwrap().len() <= 500);
    }
}

#[test]
fn a_full_disk_leaves_a_capture_that_can_be_read_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=256k", "tmpfs"])
        .arg(&disk)
        .stderr(Stdio::null())
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        println!("skipped: cannot mount a small disk");
        return;
    }
    let many: Vec<(u64, Vec<u8>)> = (0..9_000).map(|n| (n * SECOND, data(n as u8))).collect();
    fs::write(folder.path().join("a.pcap"), pcap(&many)).unwrap();
    let output =
        run_in(folder.path(), &["capture", "--json", "-r", "a.pcap", "-w", "disk/b.pcapng"]);
    let kept = frames(&disk.join("b.pcapng")).len() as u64;
    let unmounted = Command::new("umount").arg(&disk).status().unwrap();
    assert!(unmounted.success());
    check_code(&output, 1);
    assert!(stderr(&output).contains("cannot write disk/b.pcapng: No space left on device"));
    let end = records(&output).pop().unwrap();
    assert_eq!((&end["complete"], &end["frames"]), (&false.into(), &kept.into()));
    assert!((1_000..9_000).contains(&kept), "{kept} frames");
}

#[test]
fn a_reader_that_goes_away_is_no_failure_and_the_count_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let many: Vec<(u64, Vec<u8>)> = (0..9_000).map(|n| (n * SECOND, data(n as u8))).collect();
    fs::write(folder.path().join("a.pcap"), pcap(&many)).unwrap();
    let path = folder.path().join("a.pcap");
    let mut child = command(&["capture", "-r", path.to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdout.take().unwrap().read_exact(&mut [0; 1_000]).unwrap();
    let output = child.wait_with_output().unwrap();
    check_code(&output, 0);
    assert!(stderr(&output).contains(" frames, "), "{}", stderr(&output));
}

#[test]
fn a_growing_file_is_followed_until_an_interrupt() {
    let folder = tempfile::tempdir().unwrap();
    let whole = numbered(4);
    let path = folder.path().join("a.pcap");
    // In the middle of the second frame.
    fs::write(&path, &whole[..24 + 16 + 128 + 40]).unwrap();
    let mut child = command(&["capture", "--follow", "-c", "4", "-r", path.to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(&whole[24 + 16 + 128 + 40..]).unwrap();
    let mut written = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut written).unwrap();
    check_code(&child.wait_with_output().unwrap(), 0);
    let copy = folder.path().join("b.pcapng");
    fs::write(&copy, written).unwrap();
    assert_eq!(frames(&copy).len(), 4);
}

/// A `capture` of loopback that has said that it listens, and what it is for: attempts to connect to
/// a port without a listener, each of which takes a SYN and an RST.
fn listening(more: &[&str]) -> Option<(Child, u16)> {
    if !may_listen() {
        println!("skipped: no CAP_NET_RAW");
        return None;
    }
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let filter = format!("port {port}");
    let mut child = command(&[&["capture", "-i", "lo", "--filter", &filter], more].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.as_mut().unwrap()).lines();
    let heard = lines.any(|line| line.unwrap().starts_with("listening on lo"));
    assert!(heard, "it does not listen");
    Some((child, port))
}

fn connect_in_vain(port: u16, times: u32) {
    for _ in 0..times {
        assert!(
            TcpStream::connect(("127.0.0.1", port)).is_err(),
            "no program takes the connection"
        );
    }
}

#[test]
fn what_is_heard_live_goes_on_into_a_meter_elsewhere() {
    let Some((mut child, port)) = listening(&["-c", "6"]) else { return };
    let mut meter = command(&["watch", "-r", "-", "--json"])
        .stdin(Stdio::from(child.stdout.take().unwrap()))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    connect_in_vain(port, 3);
    check_code(&child.wait_with_output().unwrap(), 0);
    let mut said = String::new();
    meter.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(meter.wait().unwrap().code(), Some(0));
    let end: serde_json::Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    assert_eq!((&end["frames"], &end["dropped_by_kernel"]), (&6.into(), &0.into()), "{end}");
}

#[test]
fn the_helper_hears_the_same_and_is_told_when_to_end() {
    if !Path::new(env!("CARGO_BIN_EXE_tidewire")).with_file_name("tidewire-tap").exists() {
        println!("skipped: tidewire-tap is not next to tidewire; build the workspace");
        return;
    }
    let Some((mut child, port)) = listening(&["--tap"]) else { return };
    connect_in_vain(port, 3);
    interrupt(child.id());
    let mut written = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut written).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("b.pcapng");
    fs::write(&copy, written).unwrap();
    assert_eq!(frames(&copy).len(), 6, "what was heard before the end is written");
}

#[test]
fn without_the_right_the_helper_listens_and_a_remark_says_so() {
    let built = Path::new(env!("CARGO_BIN_EXE_tidewire"));
    if !built.with_file_name("tidewire-tap").exists() || !may_listen() {
        println!("skipped: no tidewire-tap next to tidewire, or no CAP_NET_RAW to give it");
        return;
    }
    // Copies that anybody may run: the one with no right, the other with root's.
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for (name, mode) in [("tidewire", 0o755), ("tidewire-tap", 0o4755)] {
        let copy = folder.path().join(name);
        fs::copy(built.with_file_name(name), &copy).unwrap();
        fs::set_permissions(&copy, fs::Permissions::from_mode(mode)).unwrap();
    }
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let without_right = || {
        let mut command = program("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        command.arg(folder.path().join("tidewire")).args(["watch", "-i", "lo", "--json"]);
        command
    };
    let mut child = without_right()
        .args(["--filter", &format!("port {port}")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.as_mut().unwrap()).lines();
    let mut said = String::new();
    for line in lines {
        said = line.unwrap();
        if said.starts_with("listening") {
            break;
        }
    }
    if !said.starts_with("listening") {
        child.wait().unwrap();
        println!("skipped: cannot run a program as root for another user: {said}");
        return;
    }
    assert_eq!(
        said,
        "listening on lo through tidewire-tap, with stamps of the kernel; Ctrl-C ends it"
    );
    // The helper has the kernel's stamps, and takes no order for others.
    let refused = without_right().args(["--stamps", "hardware"]).output().unwrap();
    check_code(&refused, 5);
    connect_in_vain(port, 4);
    interrupt(child.id());
    let output = child.wait_with_output().unwrap();
    check_code(&output, 130);
    let end = records(&output).pop().unwrap();
    assert_eq!((&end["frames"], &end["dropped_by_kernel"]), (&8.into(), &0.into()), "{end}");
}

#[test]
fn what_makes_no_sense_says_so() {
    for (arguments, said) in [
        (&["capture"][..], "--read"),
        (&["capture", "-r", "a", "--json"], "fix: --write FILE"),
        (&["capture", "-r", "a", "--rotate", "1 MB"], "fix: --write FILE"),
        (&["capture", "-r", "a", "-t", "1 s"], "--interface"),
        (&["capture", "-r", "a", "--tap"], "--interface"),
        (&["capture", "-i", "lo", "--follow"], "--follow goes with --read"),
        (&["watch", "-r", "a", "--tap"], "--tap with --interface"),
        (&["capture", "-r", "a", "-w", "b", "--rotate", "much"], "--rotate"),
    ] {
        let output = run_in(Path::new("."), arguments);
        check_code(&output, 2);
        assert!(stderr(&output).contains(said), "{arguments:?}: {}", stderr(&output));
    }
    assert_eq!(stdout(&run_in(Path::new("."), &["capture"])), "");
}

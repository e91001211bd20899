//! `watch --annotate` on a live port: a capture of headers with what the meter saw, valid however it ends.

use crate::export::{comments, frames};
use crate::watch::{data, may_listen};
use crate::wires::Namespaces;
use crate::{check_code, interrupt, records, run, run_in, stderr};
use live::port::Port as _;
use stack::station::Frame;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use wire::capture::{Capture, Interface, Resolution};
use wire::dissect::Link;

/// The octets of a frame of [`data`] that are headers; the rest is its user data.
const HEADERS: usize = 28;

/// A `watch` of the far end of a wire that has said that it listens.
pub(crate) fn watching(namespaces: &Namespaces, folder: &Path, more: &[&str]) -> Child {
    let arguments = [&["watch", "-i", "w0", "--json"], more].concat();
    let mut command = namespaces.command(1, &arguments);
    let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped()).current_dir(folder);
    let mut child = piped.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.as_mut().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().starts_with("listening on w0")), "it does not listen");
    child
}

/// Sends frames into the near end.
pub(crate) fn send(namespaces: &Namespaces, frames: impl Iterator<Item = Vec<u8>>) {
    let mut port = namespaces.near_port();
    for frame in frames {
        port.send(&Frame::new(frame.into())).unwrap();
    }
}

fn ended(child: Child) -> Output {
    interrupt(child.id());
    child.wait_with_output().unwrap()
}

/// The interfaces of a capture, as they stand at its end.
fn interfaces(path: &Path) -> Vec<Interface> {
    let mut capture = Capture::open(fs::File::open(path).unwrap()).unwrap();
    while capture.next().unwrap().is_some() {}
    capture.interfaces().to_vec()
}

#[test]
fn a_port_is_annotated_without_user_data_until_an_interrupt() {
    let Some(namespaces) = Namespaces::make() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.pcapng");
    let child = watching(&namespaces, folder.path(), &["--annotate", "seen.pcapng"]);
    let sent = [data(0), data(1), data(1)];
    send(&namespaces, sent.iter().cloned());
    let output = ended(child);
    check_code(&output, 130);
    let end = records(&output).pop().unwrap();
    assert_eq!((&end["frames"], &end["dropped_by_kernel"]), (&3.into(), &0.into()), "{end}");
    let written = frames(&path);
    let kept: Vec<_> = written.iter().map(|(_, octets, whole, _)| (octets, *whole)).collect();
    let headers = sent.map(|octets| octets[..HEADERS].to_vec());
    assert_eq!(kept, [(&headers[0], 128), (&headers[1], 128), (&headers[2], 128)]);
    assert!(written.is_sorted_by_key(|(at, ..)| *at), "in the order of the kernel's stamps");
    let [interface] = &interfaces(&path)[..] else { panic!("one port is one interface") };
    assert_eq!((interface.name.as_str(), interface.link), ("w0", Link::Ethernet));
    assert_eq!(interface.resolution, Resolution::NANO);
    let counted = interface.statistics;
    assert_eq!((counted.accepted, counted.dropped_by_system), (Some(3), Some(0)));
    let octets = fs::read(&path).unwrap();
    let said = b"filter: all; user data is left out";
    assert!(octets.windows(said.len()).any(|part| part == said));
    let Some(comments) = comments(&path) else { return };
    let last = comments.values().map(String::as_str).next_back();
    assert_eq!(last, Some("tidewire: DT retransmission"));
    println!("seen: {} comments of a live port in tshark", comments.len());
}

#[test]
fn full_captures_of_a_port_keep_user_data_and_warn() {
    let Some(namespaces) = Namespaces::make() else { return };
    let folder = tempfile::tempdir().unwrap();
    let more = ["--annotate", "seen.pcapng", "--full"];
    let child = watching(&namespaces, folder.path(), &more);
    send(&namespaces, [data(5)].into_iter());
    check_code(&ended(child), 130);
    let [(_, octets, ..)] = &frames(&folder.path().join("seen.pcapng"))[..] else { panic!() };
    assert_eq!(*octets, data(5));
    let full = ["watch", "-i", "no-such-port", "--full", "--annotate", "a.pcapng"];
    let said = stderr(&run_in(folder.path(), &full));
    assert!(said.starts_with("warning: user data is kept"), "{said}");
}

#[test]
fn a_disk_that_fills_is_said_and_the_port_is_metered_to_the_end() {
    let Some(namespaces) = Namespaces::make() else { return };
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", "size=128k", "tmpfs"]).arg(&disk).stderr(Stdio::null());
    if !mount.status().is_ok_and(|status| status.success()) {
        println!("skipped: cannot mount a small disk");
        return;
    }
    let child = watching(&namespaces, folder.path(), &["--annotate", "disk/seen.pcapng"]);
    // A block takes eight words, 28 octets of headers and a comment: 128 KiB are full before 2,184.
    send(&namespaces, (0..4_000_u16).map(|number| data(number as u8 & 0x7F)));
    let output = ended(child);
    let kept = frames(&disk.join("seen.pcapng"));
    let unmounted = Command::new("umount").arg(&disk).status().unwrap();
    assert!(unmounted.success());
    check_code(&output, 1);
    let said = stderr(&output);
    let expected = "cannot write disk/seen.pcapng: No space left on device (os error 28)";
    assert!(said.contains(&format!("warning: {expected}; what passes is metered still")), "{said}");
    assert!(said.ends_with(&format!("error: {expected}\n")), "{said}");
    let told = records(&output);
    let total = told.iter().find(|record| record["type"] == "total").unwrap();
    assert_eq!(total["measures"]["dt_tpdus"], 4_000);
    assert!((1..2_184).contains(&kept.len()), "{} frames", kept.len());
}

#[test]
fn a_pseudonymised_capture_has_no_real_address_in_its_filter() {
    if !may_listen() {
        println!("skipped: no CAP_NET_RAW");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let filter = ["--filter", "host 127.0.0.1", "--anonymize", "--annotate", "a.pcapng"];
    let output =
        run_in(folder.path(), &[&["watch", "-i", "lo", "-t", "1 ms"], &filter[..]].concat());
    check_code(&output, 0);
    let octets = fs::read(folder.path().join("a.pcapng")).unwrap();
    let has = |text: &[u8]| octets.windows(text.len()).any(|part| part == text);
    assert!(has(b"user data is left out") && !has(b"127.0.0.1"));
    assert_eq!(interfaces(&folder.path().join("a.pcapng"))[0].name, "");
}

#[test]
fn a_capture_of_a_port_needs_a_file_and_user_data_a_capture() {
    for (arguments, said) in [
        (&["--annotate", "-"][..], "measures go to standard output"),
        (&["--full"], "--annotate"),
        (&["--full", "--annotate", "a", "--anonymize"], "--anonymize"),
    ] {
        let output = run(&[&["watch", "-i", "lo"], arguments].concat());
        check_code(&output, 2);
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
}

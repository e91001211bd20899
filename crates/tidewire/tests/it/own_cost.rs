//! `watch --self`: the cost of metering a capture.

use crate::{check_code, run};
use core::net::Ipv4Addr;
use wire::addr::Mac;
use wire::dissect::Link;
use wire::pcap::Writer;
use wire::tcp::{self, Flags};
use wire::time::Instant;
use wire::{ipv4, mac};

/// Frame of a type with this content.
fn frame(kind: u16, data: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    mac::Pdu {
        destination: Mac::local(2),
        source: Mac::local(1),
        tags: Default::default(),
        kind: mac::Kind::Type(kind),
        data,
        padding: &[],
    }
    .encode(&mut frame);
    frame
}

/// Capture of a connection of class 0 over TCP with four DTs, and of a frame of another protocol.
fn capture() -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut writer = Writer::new(file.reopen().unwrap(), Link::Ethernet).unwrap();
    let (cr, cc) = (&[3, 0, 0, 11, 6, 0xE0, 0, 0, 0, 1, 0], &[3, 0, 0, 11, 6, 0xD0, 0, 1, 0, 2, 0]);
    let dt = &[3, 0, 0, 9, 2, 0xF0, 0x80, 1, 2];
    let segments: [(usize, u8, &[u8]); 9] = [
        (0, 0x02, &[]),
        (1, 0x12, &[]),
        (0, 0x10, &[]),
        (0, 0x18, cr),
        (1, 0x18, cc),
        (0, 0x18, dt),
        (1, 0x18, dt),
        (0, 0x18, dt),
        (1, 0x18, dt),
    ];
    let (mut next, mut millis) = ([100, 200], 0);
    let mut write = |frame: &[u8]| {
        millis += 1;
        writer.write(Instant::from_nanos(millis * 1_000_000), frame, frame.len()).unwrap();
    };
    for (from, flags, data) in segments {
        let (to, ports) = (1 - from, [1_024, 102]);
        let addresses = [1, 2].map(|host| Ipv4Addr::new(10, 0, 0, host));
        let (mut segment, mut packet) = (Vec::new(), Vec::new());
        tcp::Pdu::between([ports[from], ports[to]], Flags(flags), [next[from], next[to]], data)
            .encode(&mut segment);
        let ends = [addresses[from], addresses[to]];
        ipv4::Pdu::carrying(tcp::PROTOCOL, ends, &segment).encode(&mut packet);
        write(&frame(0x0800, &packet));
        next[from] += data.len() as u32 + u32::from(flags & 0x02 != 0);
    }
    write(&frame(0x88B5, &[0; 46]));
    writer.flush().unwrap();
    file
}

#[test]
fn self_counts_frames_by_path_and_times_their_stages() {
    let capture = capture();
    let path = capture.path().to_str().unwrap();
    let output = run(&["watch", "-r", path, "--self"]);
    check_code(&output, 0);
    let text = String::from_utf8_lossy(&output.stderr);
    // ACK, CR, CC and DTs of a known connection; both SYNs; and the frame of another protocol.
    let wanted = "frames by path: 7 common, 2 read at fixed offsets, 1 dissected";
    assert!(text.lines().any(|line| line == wanted), "{text}");
    let times = text.lines().find_map(|line| line.strip_prefix("time per frame: "));
    let times = times.unwrap_or_else(|| panic!("no times: {text}"));
    let stages: Vec<&str> = times
        .split(", ")
        .map(|part| {
            let (stage, time) = part.split_once(' ').unwrap();
            let nanos: u64 = time.strip_suffix(" ns").unwrap().parse().unwrap();
            assert!(stage == "output" || nanos > 0, "{times}");
            stage
        })
        .collect();
    assert_eq!(stages, ["reading", "metering", "output"]);
}

#[test]
fn records_are_the_same_with_self() {
    let capture = capture();
    let path = capture.path().to_str().unwrap();
    let [plain, timed] = [&[][..], &["--self"]].map(|more| {
        let output = run(&[&["watch", "-r", path, "--json"][..], more].concat());
        check_code(&output, 0);
        output.stdout
    });
    assert_eq!(String::from_utf8_lossy(&timed), String::from_utf8_lossy(&plain));
}

#[test]
fn self_is_refused_where_it_has_no_effect() {
    let capture = capture();
    let path = capture.path().to_str().unwrap();
    for more in [
        &["-r", path, "--quiet"][..],
        &["-r", path, "--screen", "measures", "--plain"],
        &["-r", path, "--far", path],
        &["-i", "lo"],
    ] {
        let output = run(&[&["watch", "--self"][..], more].concat());
        check_code(&output, 2);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("--self"), "{more:?}: {text}");
    }
}

//! Streams of GOOSE: the publisher that was silent is on the first screen, in records, and a finding.

use crate::{check_code, records, run};
use std::fs;
use std::path::Path;
use wire::goose;

/// Frame of a publisher, with a time allowed to live of 20 ms.
fn frame(publisher: u8, sequence: u32) -> Vec<u8> {
    let name = format!("IED{publisher}/LLN0$GO$gcb");
    let pdu = goose::Pdu {
        appid: publisher.into(),
        reserved: [0; 2],
        control_block: name.as_bytes(),
        time_allowed_to_live_ms: 20,
        data_set: b"IED/LLN0$trip",
        identifier: None,
        time: goose::UtcTime::default(),
        state_number: 1,
        sequence_number: sequence,
        is_simulated: false,
        configuration_revision: 1,
        needs_commissioning: false,
        entries: 0,
        data: &[],
    };
    let mut frame = vec![1, 0x0C, 0xCD, 1, 0, publisher, 2, 0, 0, 0, 0, publisher];
    frame.extend([0x81, 0, 0x80, 0, 0x88, 0xB8]);
    frame.extend(pdu.encode());
    frame
}

/// Capture of two publishers, each with a frame every 10 ms. The second loses the frames 50 to 52.
fn capture(path: &Path) {
    let mut octets = vec![0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    octets.extend([0, 0, 1, 0, 1, 0, 0, 0]);
    for n in 0..100 {
        for publisher in [1, 2].into_iter().filter(|it| *it == 1 || !(50..53).contains(&n)) {
            let frame = frame(publisher, n);
            let length = frame.len() as u32;
            for word in [7, n * 10_000 + u32::from(publisher), length, length] {
                octets.extend(word.to_le_bytes());
            }
            octets.extend(frame);
        }
    }
    fs::write(path, octets).unwrap();
}

#[test]
fn the_publisher_that_was_silent_comes_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.pcap");
    capture(&path);
    let path = path.display().to_string();
    let output = run(&["--json", "watch", "-r", &path]);
    check_code(&output, 0);
    let records = records(&output);
    let streams: Vec<_> = records.iter().filter(|it| it["type"] == "cyclic-stream").collect();
    assert_eq!(streams.len(), 2);
    let second = streams.iter().find(|it| it["appid"] == 2).unwrap();
    let counts = ["frames", "missing", "gaps", "silences", "worst_gap_ns", "worst_allowed_ns"];
    let found = counts.map(|name| second[name].as_u64().unwrap());
    assert_eq!(found, [97, 3, 96, 1, 40_000_000, 20_000_000]);
    assert_eq!((&second["priority"], &second["vlan"]), (&4.into(), &0.into()));
    let findings: Vec<_> = records.iter().filter(|it| it["type"] == "finding").collect();
    let text = findings[0]["text"].as_str().unwrap();
    assert_eq!(findings[0]["grade"], "wrong");
    assert!(
        findings.iter().any(|it| it["evidence"].as_str().is_some_and(|it| it.contains("IED2")))
    );
    assert!(
        text.contains("cyclic frames are missing") || text.contains("timeAllowedtoLive"),
        "{text}"
    );
    let lines = run(&["watch", "-r", &path]).stdout;
    let lines = String::from_utf8(lines).unwrap();
    let row = lines.lines().skip_while(|line| !line.contains("publisher")).nth(1).unwrap();
    assert!(row.contains("IED2/LLN0$GO$gcb"), "{lines}");
    assert!(row.ends_with("97        3       1  40.0 ms  20.0 ms"), "{row}");
    // No layer of transport: no tables of zeros.
    assert!(!lines.contains("information octets"), "{lines}");
}

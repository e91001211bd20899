//! `dissect` prints each layer of each frame.

use crate::watch::{capture, data};
use crate::{check_code, records, run, run_in, stdout};
use std::fs;
use wire::dissect::Link;
use wire::pcap::Writer;
use wire::time::Instant;

/// MAC of 14 octets, length 14; LLC fe fe 03; inactive 00; DT of 5 octets with 5 of data.
const DT: &str = "020000000002 020000000001 000e fefe03 00 04f0020280 68656c6c6f";

#[test]
fn octets_are_told_layer_by_layer() {
    let output = run(&["dissect", DT]);
    check_code(&output, 0);
    assert_eq!(
        stdout(&output),
        "1: 28 octets\n    \
             MAC 02:00:00:00:00:01>02:00:00:00:00:02 length=14\n    \
             LLC fe>fe UI 11 octets\n    \
             CLNP inactive\n    \
             TP DT 0x0202 nr=0 eot 5 octets\n"
    );
}

#[test]
fn a_fault_names_its_field_and_octet() {
    // The DT's length indicator, octet 18 of the frame, claims 32 octets.
    let output = run(&["dissect", "--json", &DT.replace("04f0", "20f0")]);
    check_code(&output, 0);
    let [frame, end] = &records(&output)[..] else { panic!("{}", stdout(&output)) };
    assert_eq!(frame["type"], "frame");
    assert_eq!(frame["fault"]["field"], "length indicator");
    assert_eq!(frame["fault"]["offset"], 18);
    assert_eq!(frame["layers"].as_array().unwrap().len(), 3);
    assert_eq!((&end["type"], &end["complete"]), (&"end".into(), &true.into()));
}

#[test]
fn frames_of_a_capture_are_numbered_and_timed_from_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let octets =
        capture(&[(5_000_000_000, data(0)), (5_250_000_000, data(1)), (6_000_000_000, data(2))]);
    fs::write(folder.path().join("a.pcap"), &octets).unwrap();
    let output = run_in(folder.path(), &["dissect", "-r", "a.pcap", "-n", "2"]);
    check_code(&output, 0);
    let text = stdout(&output);
    let heads: Vec<&str> = text.lines().filter(|line| !line.starts_with(' ')).collect();
    assert_eq!(heads, ["1: 0.000000000 s, 128 octets", "2: 0.250000000 s, 128 octets"]);

    let cut = octets.len() - 1;
    fs::write(folder.path().join("cut.pcap"), &octets[..cut]).unwrap();
    let output = run_in(folder.path(), &["dissect", "-r", "cut.pcap", "--json"]);
    check_code(&output, 1);
    let records = records(&output);
    assert_eq!(records.len(), 3, "two whole frames and the end");
    assert_eq!(records[1]["at_ns"], 5_250_000_000_u64);
    assert_eq!((&records[2]["type"], &records[2]["complete"]), (&"end".into(), &false.into()));
}

#[test]
fn a_truncated_frame_shows_the_layers_that_were_captured() {
    let folder = tempfile::tempdir().unwrap();
    let frame = data(0);
    let mut writer = Writer::new(Vec::new(), Link::Ethernet).unwrap();
    for captured in [22, 60] {
        writer.write(Instant::from_nanos(1), &frame[..captured], frame.len()).unwrap();
    }
    fs::write(folder.path().join("a.pcap"), writer.into_inner()).unwrap();
    let output = run_in(folder.path(), &["dissect", "-r", "a.pcap"]);
    check_code(&output, 0);
    let layers = "    MAC 02:00:00:00:00:01>02:00:00:00:00:02 length=114\n    \
                  LLC fe>fe UI";
    assert_eq!(
        stdout(&output),
        format!(
            "1: 0.000000000 s, 22 of 128 octets\n{layers} 5 octets\n    CLNP inactive\n    \
             DT header, only the first octets: 4\n    \
             106 octets not captured, from octet 22 on\n\
             2: 0.000000000 s, 60 of 128 octets\n{layers} 43 octets\n    CLNP inactive\n    \
             TP DT 0x0202 nr=0 eot ?55=010203 32 octets\n    \
             68 octets not captured, from octet 60 on\n"
        )
    );
    let told = records(&run_in(folder.path(), &["dissect", "-r", "a.pcap", "--json"]));
    assert!(told.iter().all(|record| record["fault"].is_null()), "{told:?}");
}

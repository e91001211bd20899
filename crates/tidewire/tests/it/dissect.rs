//! `dissect` prints each layer of each frame.

use crate::watch::{capture, data};
use crate::{check_code, records, run, run_in, stderr, stdout};
use std::fs;
use wire::ber::Writer;
use wire::dissect::Link;
use wire::mms;
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
fn a_path_that_is_not_there_is_no_octets() {
    let folder = tempfile::tempdir().unwrap();
    for (word, said) in [
        ("/nonexistent/x", "no such file, and no octets in hexadecimal: \"/nonexistent/x\""),
        ("ab.cd", "no such file"),
        ("plant", "no such file"),
        ("02f", "the last octet has one digit"),
        (".", ". is a folder"),
    ] {
        let output = run_in(folder.path(), &["dissect", word]);
        check_code(&output, 2);
        assert!(stderr(&output).contains(said), "{word}: {}", stderr(&output));
    }
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
    let output = run_in(folder.path(), &["dissect", "-r", "a.pcap", "-c", "2"]);
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
    let mut writer = wire::pcap::Writer::new(Vec::new(), Link::Ethernet).unwrap();
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

/// TSDU of MMS with the response to an identify request, as long as its vendor's name.
fn identified(octets: usize) -> Vec<u8> {
    let vendor = "v".repeat(octets);
    let (vendor, model, revision) = (vendor.as_bytes(), &b"m"[..], &b"r"[..]);
    let it = mms::Identification { vendor, model, revision, syntaxes: None };
    let service = mms::Response::Identify(it);
    let response = mms::ConfirmedResponse { invoke: 7, service, detail: &[] };
    let mut out = Writer::new();
    mms::Pdu::ConfirmedResponse(response).encode(&mut out);
    wire::presentation::wrap(3, 0, &mut out);
    out.put(&wire::session::DATA);
    out.octets().to_vec()
}

/// TPKT with a DT of class 0.
fn tpkt(data: &[u8], ends: bool) -> Vec<u8> {
    let [high, low] = (data.len() as u16 + 7).to_be_bytes();
    [&[3, 0, high, low, 2, 0xF0, if ends { 0x80 } else { 0 }][..], data].concat()
}

#[test]
fn a_tsdu_of_several_dts_or_segments_is_printed_where_it_ends() {
    let long = identified(3_000);
    let mut stream = tpkt(&identified(9), true);
    // In a TPKT over three segments, and in two DTs.
    let first = stream.len();
    stream.extend(tpkt(&long, true));
    let second = stream.len();
    stream.extend(tpkt(&long[..1_000], false));
    stream.extend(tpkt(&long[1_000..], true));
    let segments = [0..first, first..first + 1_400, first + 1_400..first + 2_800];
    let segments = segments.into_iter().chain([first + 2_800..second, second..second + 1_007]);
    let segments = segments.chain(core::iter::once(second + 1_007..stream.len()));
    let mut capture = wire::pcap::Writer::new(Vec::new(), Link::Ethernet).unwrap();
    for (number, range) in segments.enumerate() {
        let frame = crate::long_segments::frame(range.start as u32, 0x18, &stream[range]);
        capture.write(Instant::from_nanos(number as u64), &frame, frame.len()).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.pcap"), capture.into_inner()).unwrap();
    let output = run_in(folder.path(), &["dissect", "-r", "a.pcap", "--json"]);
    check_code(&output, 0);
    let records = records(&output);
    let found: Vec<_> = records.iter().filter(|record| record["type"] == "frame").collect();
    let of_frame = |frame: usize| found[frame]["tsdus"].as_array().cloned().unwrap_or_default();
    let counts: Vec<_> = (0..found.len()).map(|frame| of_frame(frame).len()).collect();
    assert_eq!(counts, [0, 0, 0, 1, 0, 1], "{records:?}");
    for frame in [3, 5] {
        let tsdu = &of_frame(frame)[0];
        assert_eq!(tsdu["octets"], long.len());
        let layers = tsdu["layers"].as_array().unwrap();
        let last = layers.last().unwrap().as_str().unwrap();
        assert!(last.starts_with("MMS response invoke=7 identify"), "{last}");
    }
    let output = run_in(folder.path(), &["dissect", "-r", "a.pcap"]);
    let text = stdout(&output);
    let title =
        format!("    TSDU of {} octets, complete with this frame\n      session DT", long.len());
    assert_eq!(text.matches(&title).count(), 2, "{text}");
}

/// Counts of MMS PDUs by tshark, of a capture below `../shared/captures`.
fn by_tshark(name: &str) -> u64 {
    let counts = include_str!("../../../wire/tests/mms.txt").lines();
    let of_file = counts.filter_map(|line| line.strip_prefix(name));
    of_file.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}

#[test]
fn as_many_mms_pdus_are_printed_as_tshark_counts() {
    for name in ["mms2.pcap", "wamp.pcap", "dina_cotp.pcap", "robidev_iec61850.pcapng"] {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/captures/mms/");
        let path = format!("{path}{name}");
        if !std::path::Path::new(&path).exists() {
            println!("skipped: no ../shared/captures/mms/{name}");
            continue;
        }
        let output = run(&["dissect", "-r", &path]);
        check_code(&output, 0);
        let lines = stdout(&output);
        let found = lines.lines().filter(|line| line.trim_start().starts_with("MMS ")).count();
        let expected = by_tshark(&format!("mms/{name} "));
        assert!(expected > 0 && found as u64 == expected, "{name}: {found} of {expected}");
    }
}

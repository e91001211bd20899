//! Comparison with another program: tshark decodes our TPDUs. Skipped if tshark is missing.

use crate::seeds;
use std::io::Write;
use std::process::{Command, Stdio};
use wire::dissect::Link;
use wire::pcap;
use wire::time::Instant;
use wire::tp::Kind;

/// Number of the kind of TPDU in tshark: the high half of the code.
const fn number(kind: Kind) -> u8 {
    kind.code() >> 4
}

/// Checks every kind, alone and concatenated, in its formats. An ER with the rejected TPDU is not
/// included: tshark does not accept that parameter in an ER, and decodes no TPDU.
#[test]
fn tshark_reads_every_kind_of_tpdu() {
    let expected = [
        ("cr", &[Kind::Cr][..]),
        ("cc-extended", &[Kind::Cc]),
        ("dt", &[Kind::Dt]),
        ("dt-checksum", &[Kind::Dt]),
        ("dt-extended", &[Kind::Dt]),
        ("ak", &[Kind::Ak]),
        ("ak-confirming", &[Kind::Ak]),
        ("ak-extended", &[Kind::Ak]),
        ("ed", &[Kind::Ed]),
        ("ea", &[Kind::Ea]),
        ("dr", &[Kind::Dr]),
        ("dc", &[Kind::Dc]),
        ("rj", &[Kind::Rj]),
        ("er-alone", &[Kind::Er]),
        ("ak-ak-dt", &[Kind::Ak, Kind::Ak, Kind::Dt]),
    ];
    let mut writer = pcap::Writer::new(Vec::new(), Link::Ethernet).unwrap();
    for (place, (name, _)) in expected.iter().enumerate() {
        let frame = seeds::tpdu_frame(name);
        writer.write(Instant::from_nanos(place as u64 + 1), &frame, frame.len()).unwrap();
    }
    let mut tshark = Command::new("tshark");
    let fields = ["-T", "fields", "-e", "frame.number", "-e", "cotp.type", "-e", "_ws.malformed"];
    tshark.args(["--disable-protocol", "t125"]).args(fields).args(["-r", "-"]);
    tshark.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let Ok(mut tshark) = tshark.spawn() else {
        println!("skipped: no tshark to read TPDUs with");
        return;
    };
    // Dropping stdin at the end of the statement closes it, so that tshark reaches the end of the
    // file.
    tshark.stdin.take().unwrap().write_all(&writer.into_inner()).unwrap();
    let output = tshark.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines();
    for (name, kinds) in expected {
        let line = lines.next().unwrap_or_default();
        let mut fields = line.split('\t').skip(1);
        let found = fields.next().unwrap_or_default();
        let found: Vec<u8> = found
            .split(',')
            .filter_map(|kind| u8::from_str_radix(kind.strip_prefix("0x")?, 16).ok())
            .collect();
        let kinds: Vec<u8> = kinds.iter().map(|kind| number(*kind)).collect();
        assert_eq!(found, kinds, "{name}: {line}");
        assert_eq!(fields.next().unwrap_or_default(), "", "{name}: {line}");
    }
}

//! Protocols that end a frame: read, filtered, stripped of user data and anonymised by their rows.

use crate::captures;
use std::path::Path;
use std::process::Command;
use wire::addr::Names;
use wire::dissect::{Alone, Link, NoNsdu, dissect, levels, strip_user_data};
use wire::filter::Filter;
use wire::rewrite::rename;
use wire::{goose, mac, profinet, sampled_values};

const PDU: goose::Pdu<'_> = goose::Pdu {
    appid: 7,
    reserved: [0; 2],
    control_block: b"SECRET/LLN0$GO$gcb",
    time_allowed_to_live_ms: 2_000,
    data_set: b"SECRET/LLN0$trips",
    identifier: None,
    time: goose::UtcTime([0; 8]),
    state_number: 3,
    sequence_number: 0,
    is_simulated: false,
    configuration_revision: 1,
    needs_commissioning: false,
    entries: 1,
    data: &[0x83, 1, 1],
};

/// Frame with a VLAN tag.
fn frame() -> Vec<u8> {
    let head = [1, 0x0C, 0xCD, 1, 0, 7, 2, 0, 0, 0, 0, 9, 0x81, 0, 0x80, 5, 0x88, 0xB8];
    [&head[..], &PDU.encode()].concat()
}

const HEAD_OCTETS: usize = mac::HEADER_OCTETS + 4 + goose::HEADER_OCTETS;

#[derive(Debug)]
struct Zeroed;

impl Names for Zeroed {
    fn internet(&self, address: &mut [u8]) {
        address.fill(0);
    }

    fn station(&self, address: &mut [u8]) {
        address.fill(0);
    }

    fn network(&self, address: &mut [u8]) {
        address.fill(0);
    }

    fn selector(&self, selector: &mut [u8]) {
        selector.fill(0);
    }
}

#[test]
fn a_leaf_is_read_filtered_stripped_and_anonymised() {
    let mut frame = frame();
    let printed = dissect(Link::Ethernet, &frame).to_string();
    assert!(printed.ends_with("confRev=1 1 entries"), "{printed}");
    let found = levels(Link::Ethernet, &frame, frame.len()).nsdu;
    let Err(NoNsdu::Leaf(Alone { leaf, kind, octets, .. })) = found else { panic!("{found:?}") };
    assert_eq!((leaf, kind), (&goose::LEAF, "GOOSE"));
    assert_eq!(goose::Pdu::decode(octets), Ok(PDU));
    for (text, expected) in [("goose", true), ("GOOSE vlan 5", true), ("es-is", false)] {
        let filter: Filter = text.parse().unwrap();
        assert_eq!(filter.matches(Link::Ethernet, &frame, frame.len()), expected, "{text}");
    }
    let renamed = rename(&Zeroed, Link::Ethernet, &frame, frame.len());
    assert_eq!(renamed.kept.len(), HEAD_OCTETS);
    assert_eq!(&renamed.kept[..12], &[0; 12]);
    let all_octets = frame.len();
    assert_eq!(strip_user_data(Link::Ethernet, &mut frame, all_octets), HEAD_OCTETS);
}

#[test]
fn a_malformed_leaf_names_its_field_at_its_offset() {
    let mut frame = frame();
    frame[HEAD_OCTETS] = 0x62;
    let printed = dissect(Link::Ethernet, &frame).to_string();
    assert!(printed.ends_with("malformed goosePdu at octet 26"), "{printed}");
    frame.truncate(HEAD_OCTETS - 3);
    let cut = levels(Link::Ethernet, &frame, HEAD_OCTETS + 90).nsdu;
    assert_eq!(cut, Err(NoNsdu::Foreign(wire::dissect::CUT)));
}

/// Fields of each frame that matches, as another decoder reads them; `None` if it is missing.
fn by_tshark(path: &Path, wanted: &str, fields: &[&str]) -> Option<Vec<String>> {
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(path).args(["-Y", wanted, "-T", "fields"]);
    tshark.args(fields.iter().flat_map(|field| ["-e", field]));
    let Ok(output) = tshark.output() else {
        println!("skipped: no tshark to read cyclic data with");
        return None;
    };
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(str::to_owned).collect())
}

#[test]
fn goose_counters_equal_those_of_another_decoder() {
    for (name, least) in [
        ("GOOSE.pcap", 8),
        ("Sample_File_GOOSE.pcap", 451),
        ("goose_trace.pcap", 20),
        ("gooseind1_7.pcap", 40),
    ] {
        let Some(path) = captures::shared("cyclic/goose") else { return };
        let path = path.join(name);
        let mut found = Vec::new();
        captures::each_record(&path, |record| {
            let nsdu = levels(record.link, record.octets, record.original_octets).nsdu;
            let Err(NoNsdu::Leaf(alone)) = nsdu else { return };
            let Ok(pdu) = goose::Pdu::decode(alone.octets) else { return };
            let reference = String::from_utf8_lossy(pdu.control_block);
            let numbers = [
                pdu.state_number,
                pdu.sequence_number,
                pdu.time_allowed_to_live_ms,
                pdu.configuration_revision,
                pdu.entries,
            ];
            let numbers = numbers.map(|number| number.to_string()).join("\t");
            found.push(format!("{numbers}\t{reference}"));
        });
        assert!(found.len() >= least, "{name}: {}", found.len());
        let fields = [
            "goose.stNum",
            "goose.sqNum",
            "goose.timeAllowedtoLive",
            "goose.confRev",
            "goose.numDatSetEntries",
            "goose.gocbRef",
        ];
        let Some(expected) = by_tshark(&path, "goose && !udp", &fields) else { return };
        assert_eq!(found.len(), expected.len(), "{name}");
        for (place, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found, expected, "{name}, frame {place} of GOOSE");
        }
    }
}

#[test]
fn samples_and_cycles_equal_those_of_another_decoder() {
    let Some(folder) = captures::shared("cyclic") else { return };
    let samples = ["sv.smpCnt", "sv.confRev", "sv.smpSynch"];
    let cycles = ["pn_rt.frame_id", "pn_rt.cycle_counter", "pn_rt.ds", "pn_rt.transfer_status"];
    for (name, fields, least) in [
        ("sv/SV_Normal_Traffic.pcap", &samples[..], 10_000),
        ("sv/9-2-sv.pcap", &samples, 20),
        ("profinet/own-rt-cyclic.pcapng", &cycles, 4_500),
        ("profinet/plc4x-recording.pcapng", &cycles, 200),
    ] {
        let path = folder.join(name);
        let mut found = Vec::new();
        captures::each_record(&path, |record| {
            let nsdu = levels(record.link, record.octets, record.original_octets).nsdu;
            let Err(NoNsdu::Leaf(alone)) = nsdu else { return };
            if let Ok(pdu) = sampled_values::Pdu::decode(alone.octets) {
                let asdus: Vec<_> = pdu.asdus().map(Result::unwrap).collect();
                let list = |of: fn(&sampled_values::Asdu<'_>) -> String| {
                    asdus.iter().map(of).collect::<Vec<_>>().join(",")
                };
                let counts = list(|asdu| asdu.sample_count.to_string());
                let revisions = list(|asdu| asdu.configuration_revision.to_string());
                let clocks = list(|asdu| asdu.synchronisation.to_string());
                found.push(format!("{counts}\t{revisions}\t{clocks}"));
            } else if let Ok(pdu) = profinet::Pdu::decode(alone.octets)
                && let profinet::Kind::Cyclic(status) = pdu.kind
            {
                let profinet::Status { cycle_counter, data, transfer } = status;
                let frame_id = pdu.frame_id;
                found.push(format!("{frame_id}\t{cycle_counter}\t{data:#04x}\t{transfer}"));
            }
        });
        assert!(found.len() >= least, "{name}: {}", found.len());
        let wanted = if fields == samples { "sv" } else { "pn_rt.cycle_counter" };
        let Some(expected) = by_tshark(&path, wanted, fields) else { return };
        assert_eq!(found, expected, "{name}");
    }
}

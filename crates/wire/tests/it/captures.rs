//! Shared captures: each is read to its end, and its known contents are found.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use wire::capture::{Capture, Record};
use wire::dissect::{Layer, Link, dissect_cut, levels, strip_user_data};
use wire::tp;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/captures");

/// Returns the path of a capture in the folder; `None` if the folder is missing.
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    if Path::new(FOLDER).exists() {
        return Some(Path::new(FOLDER).join(path));
    }
    println!("skipped: no ../shared/captures");
    None
}

/// Passes every record to `see`; returns their number.
pub(crate) fn each_record(path: &Path, mut see: impl FnMut(&Record<'_>)) -> usize {
    let mut capture = Capture::open(File::open(path).unwrap()).unwrap();
    let mut records = 0;
    while let Some(record) = capture.next().unwrap_or_else(|e| panic!("{}: {e}", path.display())) {
        see(&record);
        records += 1;
    }
    records
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension != "md") {
            found.push(path);
        }
    }
}

/// Paths of all captures; `None` if the folder is missing.
pub(crate) fn all() -> Option<Vec<PathBuf>> {
    let folder = shared("")?;
    let mut found = Vec::new();
    files(&folder, &mut found);
    found.sort();
    Some(found)
}

#[test]
fn every_frame_of_every_capture_can_be_printed() {
    let Some(found) = all() else { return };
    for path in &found {
        each_record(path, |record| {
            let Record { link, octets, original_octets, .. } = *record;
            let dissection = dissect_cut(link, octets, original_octets);
            assert!(!dissection.to_string().is_empty());
            assert!(dissection.fault.is_none_or(|fault| fault.offset <= octets.len()));
        });
    }
    assert!(found.len() > 80, "the folder has lost files");
}

/// TPDUs of a frame, without their user data.
fn tpdus(link: Link, octets: &[u8], original_octets: usize) -> Vec<(tp::Kind, String)> {
    let layers = dissect_cut(link, octets, original_octets).layers;
    let tpdus = layers.iter().filter_map(|layer| match layer {
        Layer::Tp(pdu, _) => {
            let line = pdu.to_string();
            let without_data = line.rsplit_once(' ').filter(|(_, last)| *last == "octets");
            let line = without_data.and_then(|(line, _)| line.rsplit_once(' ')).map(|(l, _)| l);
            Some((pdu.kind(), line.map_or_else(|| pdu.to_string(), str::to_owned)))
        }
        _ => None,
    });
    tpdus.collect()
}

#[test]
fn a_stripped_frame_has_the_same_tpdus_and_strips_to_itself() {
    let Some(found) = all() else { return };
    let (mut frames, mut before, mut after) = (0_u64, 0_u64, 0_u64);
    for path in &found {
        each_record(path, |record| {
            let Record { link, octets, original_octets, .. } = *record;
            let mut stripped = octets.to_vec();
            let kept = strip_user_data(link, &mut stripped, original_octets);
            stripped.truncate(kept);
            let mut again = stripped.clone();
            let kept_again = strip_user_data(link, &mut again, original_octets);
            assert_eq!((kept_again, &again), (kept, &stripped), "{}", path.display());
            assert_eq!(
                tpdus(link, &stripped, original_octets),
                tpdus(link, octets, original_octets),
                "{}: {octets:02x?}",
                path.display()
            );
            frames += 1;
            before += octets.len() as u64;
            after += kept as u64;
        });
    }
    println!("seen: {after} of {before} octets are headers in {frames} frames");
    assert!(after * 2 < before, "{after} of {before}");
}

fn kinds(path: &Path) -> (usize, BTreeMap<tp::Kind, u64>) {
    let mut kinds = BTreeMap::new();
    let records = each_record(path, |record| {
        let nsdu = levels(record.link, record.octets, record.original_octets).nsdu.unwrap();
        for raw in tp::tpdus(nsdu.octets) {
            *kinds.entry(raw.unwrap().kind).or_default() += 1;
        }
    });
    (records, kinds)
}

#[test]
fn table_4_of_the_paper_is_in_its_trace() {
    let Some(path) = shared("ncc84-exact.pcap") else { return };
    // NBSIR 85-3104, table 4: the totals of its interval columns, one TPDU per frame.
    let expected = [
        (tp::Kind::Cr, 364),
        (tp::Kind::Cc, 225),
        (tp::Kind::Dr, 225),
        (tp::Kind::Dc, 225),
        (tp::Kind::Dt, 8_650),
        (tp::Kind::Ak, 13_447),
    ];
    let (records, kinds) = kinds(&path);
    assert_eq!(kinds, expected.into());
    assert_eq!(records, 364 + 225 + 225 + 225 + 8_650 + 13_447);
}

#[test]
fn the_synthetic_trace_has_the_tpdus_it_was_made_with() {
    let Some(path) = shared("tp4/synthetic_tp4_20k_inactive_and_full_clnp.pcap") else { return };
    // Counted by an independent dissector when the trace was made.
    let expected = [
        (tp::Kind::Cr, 1_000),
        (tp::Kind::Cc, 1_000),
        (tp::Kind::Dt, 12_981),
        (tp::Kind::Ak, 5_019),
    ];
    assert_eq!(kinds(&path), (20_000, expected.into()));
}

#[test]
fn no_checksum_of_the_traces_is_bad() {
    for path in ["ncc84-exact.pcap", "tp4/synthetic_tp4_20k_inactive_and_full_clnp.pcap"] {
        let Some(path) = shared(path) else { return };
        let mut good = 0;
        each_record(&path, |record| {
            let dissection = dissect_cut(record.link, record.octets, record.original_octets);
            assert_eq!(dissection.fault, None);
            for layer in &dissection.layers {
                let Layer::Tp(_, verdict) = layer else { continue };
                assert_ne!(*verdict, Some(tp::Checksum::Bad), "{dissection}");
                good += u64::from(*verdict == Some(tp::Checksum::Good));
            }
        });
        assert!(good > 5_000, "{good} checksums verified");
    }
}

/// Trace printed in a manual of 1990: CC, AK with and without confirmation, DT, AK and DT
/// concatenated, DR, all in the extended formats.
#[test]
fn the_trace_of_1990_reads_as_it_was_printed() {
    let Some(path) = shared("tp4/dec-ctf-1990-osi-transport-tp4.pcap") else { return };
    let mut lines = Vec::new();
    each_record(&path, |record| {
        let dissection = dissect_cut(record.link, record.octets, record.original_octets);
        let tpdus = dissection.layers.iter().filter(|layer| matches!(layer, Layer::Tp(..)));
        lines.push(tpdus.map(ToString::to_string).collect::<Vec<_>>().join(" + "));
    });
    assert_eq!(lines, TRACE_OF_1990);
}

/// Kinds, references, numbers and credits agree with an independent dissector. The sender adds a
/// parameter 01 with its name and version, which ISO 8073 does not define.
const TRACE_OF_1990: [&str; 6] = [
    "TP CC 0x0e02>0x5f11 class=4 credit=4 extended ?01=034445430658312e302e33 ack-time=1ms \
     tpdu-size=2048 options=03",
    "TP AK 0x0e02 nr=0 credit=3",
    "TP AK 0x5f11 nr=0 credit=4 confirms=0/0/3",
    "TP DT 0x0e02 nr=0 eot 26 octets",
    "TP AK 0x5f11 nr=1 credit=4 + TP DT 0x5f11 nr=0 eot 26 octets",
    "TP DR 0x0e02>0x5f11 reason=128",
];

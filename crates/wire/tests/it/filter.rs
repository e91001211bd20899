//! Checks that every frame dropped by the kernel program is also rejected by the full decoding: on
//! the shared captures, on mutated seeds, with random filters.

use crate::kernel::{self, judge};
use crate::{captures, seeds};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;
use wire::dissect::Link;
use wire::filter::{Filter, Instruction};

/// Filters that match contents of the captures.
const FILTERS: [&str; 29] = [
    "iso",
    "llc",
    "not llc",
    "tcp",
    "not tcp",
    "ip",
    "not ip",
    "port 102",
    "from port 102",
    "not port 102",
    "tpdu dt",
    "tpdu cr or tpdu cc",
    "not tpdu dt",
    "class 0",
    "class 4",
    "nsap 49*",
    "not nsap 49*",
    "vlan",
    "not vlan",
    "vlan 1 or vlan 2 or vlan 10",
    "host 192.168.0.10",
    "not host 02:00:00:00:00:01",
    "from 02:00:00:00:00:01 and not tpdu ak",
    "not (host 02:00:00:00:00:01 or tcp) or vlan 7 and port 102",
    "goose",
    "sv or profinet",
    "not goose",
    "es-is",
    "goose or is-is and not vlan",
];

#[test]
fn the_program_keeps_every_matching_frame_of_the_captures() {
    let Some(files) = captures::all() else { return };
    let filters: Vec<(Filter, Vec<Instruction>)> = FILTERS
        .iter()
        .map(|text| {
            let filter: Filter = text.parse().unwrap();
            let program = filter.program(256);
            (filter, program)
        })
        .collect();
    let mut counts: BTreeMap<&str, [u64; 3]> = BTreeMap::new();
    for path in &files {
        captures::each_record(path, |record| {
            if record.link != Link::Ethernet {
                return;
            }
            for (text, (filter, program)) in FILTERS.iter().zip(&filters) {
                let [wanted, kept] =
                    judge(text, filter, program, record.octets, record.original_octets);
                let [frames, all_wanted, all_kept] = counts.entry(text).or_default();
                *frames += 1;
                *all_wanted += u64::from(wanted);
                *all_kept += u64::from(kept);
            }
        });
    }
    for (text, [frames, wanted, kept]) in &counts {
        println!("seen: {text}: {wanted} of {frames} frames match, {kept} kept by the program");
    }
    // If a few octets decide, the program keeps hardly more than the matches.
    let [frames, wanted, kept] = counts["iso"];
    assert!(wanted > 10_000 && kept == wanted && kept < frames, "{frames} {wanted} {kept}");
    let [_, wanted, kept] = counts["goose"];
    assert!(wanted > 500 && kept < wanted + 1_000, "{wanted} {kept}");
    let [frames, wanted, kept] = counts["port 102"];
    assert!(wanted > 10_000 && kept < wanted + frames / 100, "{frames} {wanted} {kept}");
    assert!(counts["vlan"][1] > 0, "no tagged frame in any capture");
}

/// Condition that matches the seeds or their mutations.
fn condition() -> impl Strategy<Value = String> {
    let words = [
        "all",
        "host 02:00:00:00:00:01",
        "to 02:00:00:00:00:02",
        "host 10.0.0.1",
        "from 0.0.0.0",
        "to ::1",
        "host ::",
        "port 102",
        "to port 0",
        "nsap 49*",
        "class 4",
        "tpdu dt",
        "tpdu cr",
        "llc",
        "iso",
        "ip",
        "tcp",
        "vlan",
        "vlan 0",
        "vlan 5",
        "goose",
        "sv",
        "profinet",
        "is-is",
    ];
    prop::sample::select(words.to_vec()).prop_map(str::to_owned)
}

fn filter() -> impl Strategy<Value = String> {
    condition().prop_recursive(3, 8, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|a| format!("not ({a})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) and ({b})")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("({a}) or ({b})")),
        ]
    })
}

/// Octets in front of a frame's data: tags, then a type or length.
fn kind() -> impl Strategy<Value = Vec<u8>> {
    let tag = prop_oneof![
        Just(vec![0x81, 0x00, 0x20, 0x05]),
        Just(vec![0x88, 0xA8, 0x00, 0x00]),
        Just(vec![0x91, 0x00, 0x0F, 0xFF]),
    ];
    let types =
        [0x0800_u16, 0x86DD, 0x88B8, 0x8847, 0x8848, 0x8870, 0x0806, 0x8100, 3, 20, 60, 1_500];
    (vec(tag, 0..4), prop::sample::select(types.to_vec()))
        .prop_map(|(tags, kind)| [tags.concat(), kind.to_be_bytes().to_vec()].concat())
}

/// Data that begins like a known protocol.
fn data() -> impl Strategy<Value = Vec<u8>> {
    let starts: [&[u8]; 9] = [
        &[],
        &[0xFE, 0xFE, 3],
        &[0xFE, 0xFE, 3, 0, 4, 0xF0, 2, 2, 0x80],
        &[0xAA, 0xAA, 3, 0, 0, 0, 8, 0, 0x45],
        &[0xFF, 0xFF],
        &[0x45, 0, 0, 44, 0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 0, 0, 0, 0, 0, 102, 0, 0],
        &[0x47, 0, 0, 60, 0, 1, 0x20, 0, 64, 6],
        &[0x60, 0, 0, 0, 0, 30, 6, 64],
        &[0x60, 0, 0, 0, 0, 38, 0, 64],
    ];
    (prop::sample::select(starts.map(<[u8]>::to_vec).to_vec()), vec(any::<u8>(), 0..80))
        .prop_map(|(start, rest)| [start, rest].concat())
}

fn cases(least: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig { failure_persistence: None, cases: config.cases.max(least), ..config }
}

proptest! {
    #![proptest_config(cases(4_000))]

    #[test]
    fn the_program_keeps_every_made_up_frame_that_the_filter_wants(
        text in filter(),
        kind in kind(),
        data in data(),
        cut in 0_usize..40,
    ) {
        let mut octets = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
        octets.extend(kind);
        octets.extend(data);
        octets.truncate(if cut < 20 { octets.len() } else { octets.len().saturating_sub(cut) });
        let filter: Filter = text.parse().unwrap();
        judge(&text, &filter, &filter.program(256), &octets, octets.len());
    }

    #[test]
    fn the_program_keeps_every_changed_seed_that_the_filter_wants(
        text in filter(),
        seed in any::<prop::sample::Index>(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut seeds = seeds::all();
        seeds.retain(|seed| !seed.octets.is_empty());
        let mut octets = seed.get(&seeds).octets.clone();
        for (at, value) in changes {
            *at.get_mut(&mut octets) = value;
        }
        let filter: Filter = text.parse().unwrap();
        judge(&text, &filter, &filter.program(256), &octets, octets.len());
    }
}

#[test]
fn no_program_is_longer_than_the_kernel_takes_nor_jumps_back() {
    for text in FILTERS {
        kernel::check(&text.parse::<Filter>().unwrap().program(256));
    }
}

#[test]
fn long_filters_become_programs_that_the_kernel_takes() {
    let mut decide = 0;
    for conditions in [1, 10, 50, 100, 200, 340] {
        let text = vec!["port 102"; conditions].join(" or ");
        let program = text.parse::<Filter>().unwrap().program(256);
        kernel::check(&program);
        decide += usize::from(program.len() > 1);
    }
    assert!((2..6).contains(&decide), "{decide} of 6 decide anything");
}

#[test]
fn random_texts_parse_or_report_a_column() {
    // Words of the language mostly, so that some of the texts are filters.
    let mut state = 1_u32;
    let mut below = |bound: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as usize % bound
    };
    let words = ["host", "10.0.0.1", "(", ")", "not", "and", "or", "!", "port", "102", "from"];
    let more =
        ["to", "nsap", "49*", "class", "4", "tpdu", "dt", "vlan", "7", "llc", "\u{e9}\u{df}"];
    let (mut filters, mut others) = (0, 0);
    for _ in 0..20_000 {
        let mut script = seeds::all()[below(30)].octets.clone();
        let front: Vec<&str> =
            (0..below(9)).map(|_| *words.iter().chain(&more).nth(below(22)).unwrap()).collect();
        let text = front.join([" ", "", "  "][below(3)]);
        script.splice(0..0, text.bytes().chain([0]));
        match kernel::script(&script) {
            true => filters += 1,
            false => others += 1,
        }
    }
    assert!(filters > 1_000 && others > 1_000, "{filters} filters and {others} other texts");
    println!("seen: {filters} filters and {others} other random texts");
}

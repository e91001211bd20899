//! What the kernel's program drops, a whole reading of the frame drops too: on the shared captures,
//! on changed seeds, with filters put together at random. The program is run by an interpreter of
//! its own, after Linux's `filter.txt`.

use crate::{captures, seeds};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;
use wire::dissect::Link;
use wire::filter::{Filter, Instruction};

/// What stands beside a frame: the VLAN tag that was taken out.
type Taken = Option<u16>;

/// What a program returns for a frame; reading beyond it ends with 0, as in the kernel.
fn run(program: &[Instruction], frame: &[u8], taken: Taken) -> u32 {
    let (mut a, mut x, mut memory) = (0_u32, 0_u32, [0_u32; 16]);
    let mut at = 0;
    let load = |place: u32, octets: usize| {
        let place = place as usize;
        let octets = frame.get(place..place.checked_add(octets)?)?;
        Some(octets.iter().fold(0, |value, octet| value << 8 | u32::from(*octet)))
    };
    loop {
        let Instruction { code, jump_true, jump_false, operand: k } = program[at];
        at += 1;
        let mut jump = |holds: bool| at += usize::from(if holds { jump_true } else { jump_false });
        let loaded = match code {
            0x20 if k == 0xFFFF_F000 + 44 => Some(taken.map_or(0, u32::from)),
            0x20 if k == 0xFFFF_F000 + 48 => Some(u32::from(taken.is_some())),
            0x20 => load(k, 4),
            0x28 => load(k, 2),
            0x40 => load(x + k, 4),
            0x48 => load(x + k, 2),
            0x50 => load(x + k, 1),
            0x80 => Some(frame.len() as u32),
            0x60 => Some(memory[k as usize]),
            0x00 => Some(k),
            0x04 => Some(a.wrapping_add(k)),
            0x0C => Some(a.wrapping_add(x)),
            0x54 => Some(a & k),
            0x64 => Some(a << k),
            0x74 => Some(a >> k),
            _ => Some(a),
        };
        let Some(value) = loaded else { return 0 };
        a = value;
        match code {
            0x01 => x = k,
            0x61 => x = memory[k as usize],
            0x02 => memory[k as usize] = a,
            0x03 => memory[k as usize] = x,
            0x07 => x = a,
            0x05 => at += k as usize,
            0x15 => jump(a == k),
            0x35 => jump(a >= k),
            0x3D => jump(a >= x),
            0x06 => return k,
            0x20 | 0x28 | 0x40 | 0x48 | 0x50 | 0x80 | 0x60 | 0x00 | 0x04 | 0x0C | 0x54 | 0x64
            | 0x74 => {}
            _ => panic!("no instruction: {code:#x}"),
        }
    }
}

/// The frame as a kernel shows it that takes the outer tag out, and that tag.
fn taken_out(octets: &[u8]) -> Option<(Vec<u8>, u16)> {
    let (addresses, rest) = octets.split_at_checked(12)?;
    let ([high, low, tag @ ..], rest) = rest.split_first_chunk::<4>()?;
    let is_tag = [0x8100, 0x88A8].contains(&u16::from_be_bytes([*high, *low]));
    is_tag.then(|| ([addresses, rest].concat(), u16::from_be_bytes(*tag)))
}

/// Filters that are about what the captures hold.
const FILTERS: [&str; 24] = [
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
];

/// Whether the whole reading keeps a frame, and whether the program does; says so where it must not
/// be.
#[track_caller]
fn judge(
    text: &str,
    filter: &Filter,
    program: &[Instruction],
    octets: &[u8],
    original: usize,
) -> [bool; 2] {
    let wanted = filter.matches(Link::Ethernet, octets, original);
    let kept = run(program, octets, None) > 0;
    assert!(kept || !wanted, "{text}: dropped {octets:02x?}");
    if let Some((octets, tag)) = taken_out(octets) {
        let kept = run(program, &octets, Some(tag)) > 0;
        assert!(kept || !wanted, "{text}: dropped {octets:02x?} and its tag {tag:04x}");
    }
    [wanted, kept]
}

#[test]
fn the_program_keeps_every_frame_of_the_captures_that_the_filter_wants() {
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
        println!("seen: {text}: {wanted} of {frames} frames wanted, {kept} kept by the program");
    }
    // Where a few octets decide, the program keeps no more than a few.
    let [frames, wanted, kept] = counts["iso"];
    assert!(wanted > 10_000 && kept == wanted && kept < frames, "{frames} {wanted} {kept}");
    let [frames, wanted, kept] = counts["port 102"];
    assert!(wanted > 10_000 && kept < wanted + frames / 100, "{frames} {wanted} {kept}");
    assert!(counts["vlan"][1] > 0, "no tagged frame in any capture");
}

/// A condition about the seeds and about what changes make of them.
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

/// The octets in front of a frame's data: tags, then a type or length.
fn kind() -> impl Strategy<Value = Vec<u8>> {
    let tag = prop_oneof![
        Just(vec![0x81, 0x00, 0x20, 0x05]),
        Just(vec![0x88, 0xA8, 0x00, 0x00]),
        Just(vec![0x91, 0x00, 0x0F, 0xFF]),
    ];
    let types = [0x0800_u16, 0x86DD, 0x8847, 0x8848, 0x8870, 0x0806, 0x8100, 3, 20, 60, 1_500];
    (vec(tag, 0..4), prop::sample::select(types.to_vec()))
        .prop_map(|(tags, kind)| [tags.concat(), kind.to_be_bytes().to_vec()].concat())
}

/// Data that begins as something known does.
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
        let program = text.parse::<Filter>().unwrap().program(256);
        assert!(program.len() <= 4_096 && program.last().is_some_and(|last| last.code == 6));
        // Every jump is a count of instructions ahead, so within the program is all there is to ask.
        for (place, step) in program.iter().enumerate() {
            let far = if step.code == 5 { step.operand as usize } else { 0 };
            let near = usize::from(step.jump_true.max(step.jump_false));
            assert!(
                place + 1 + far.max(near) < program.len() + usize::from(step.code == 6),
                "{text}"
            );
        }
    }
}

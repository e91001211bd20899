use super::*;
use crate::capture::Capture;
use crate::capture::SNAP_OCTETS;
use crate::capture::tests::{Seen, check_cuts, hex, read};
use std::io;

/// Block in the given byte order, with computed lengths.
fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let length = (body.len() + 12) as u32;
    let word = |value: u32| match order {
        Order::Big => value.to_be_bytes(),
        Order::Little => value.to_le_bytes(),
    };
    [&word(kind), &word(length), body, &word(length)].concat()
}

fn big(kind: u32, body: &str) -> Vec<u8> {
    block(Order::Big, kind, &hex(body))
}

fn little(kind: u32, body: &str) -> Vec<u8> {
    block(Order::Little, kind, &hex(body))
}

const BIG_SECTION: &str = "1a 2b 3c 4d 00 01 00 00 ff ff ff ff ff ff ff ff";
const LITTLE_SECTION: &str = "4d 3c 2b 1a 01 00 00 00 ff ff ff ff ff ff ff ff";
/// Ethernet, snap length 0: no limit.
const ETHERNET: &str = "00 01 00 00 00 00 00 00";

/// Packet of one octet, 07, at 2^32 + 1 steps on interface 0.
const PACKET_07: &str = "00 00 00 00 00 00 00 01 00 00 00 01 00 00 00 01 00 00 00 01 07 00 00 00";

/// Time of [`PACKET_07`] in nanoseconds, on an interface with these options.
fn time_of(options: &str) -> u64 {
    let interface = format!("{ETHERNET} {options}");
    let file = [big(0x0A0D_0D0A, BIG_SECTION), big(1, &interface), big(6, PACKET_07)].concat();
    let (seen, error) = read(&file);
    assert_eq!((seen.len(), error), (1, None));
    seen[0].0
}

#[test]
fn a_file_of_either_order_written_out_whole_is_read() {
    // Every octet by hand: section header, interface, enhanced packet of 3 of 5 octets at 1 us.
    let big = "0a 0d 0d 0a 00 00 00 1c 1a 2b 3c 4d 00 01 00 00 ff ff ff ff ff ff ff ff 00 00 00 1c
        00 00 00 01 00 00 00 14 00 69 00 00 00 00 00 00 00 00 00 14
        00 00 00 06 00 00 00 24 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 03 00 00 00 05
        0a 0b 0c 00 00 00 00 24";
    let little =
        "0a 0d 0d 0a 1c 00 00 00 4d 3c 2b 1a 01 00 00 00 ff ff ff ff ff ff ff ff 1c 00 00 00
        01 00 00 00 14 00 00 00 69 00 00 00 00 00 00 00 14 00 00 00
        06 00 00 00 24 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 03 00 00 00 05 00 00 00
        0a 0b 0c 00 24 00 00 00";
    for file in [big, little] {
        let expected = (vec![(1_000, 105, vec![10, 11, 12], 5, 0)], None);
        assert_eq!(read(&hex(file)), expected);
        check_cuts(&hex(file), &[(0, 0), (28, 0), (48, 0), (84, 1)]);
    }
}

#[test]
fn a_section_has_its_own_order_and_interfaces() {
    let file = [
        big(0x0A0D_0D0A, BIG_SECTION),
        big(1, ETHERNET),
        big(1, "00 69 00 00 00 00 00 00"),
        big(6, "00 00 00 01 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 00"),
        little(0x0A0D_0D0A, LITTLE_SECTION),
        little(1, "0a 00 00 00 00 00 00 00"),
        little(6, "00 00 00 00 00 00 00 00 03 00 00 00 00 00 00 00 00 00 00 00"),
    ]
    .concat();
    // Interface 0 of the second section is the third of the file.
    let expected: Vec<Seen> = vec![(2_000, 105, vec![], 0, 1), (3_000, 10, vec![], 0, 2)];
    assert_eq!(read(&file), (expected, None));
}

#[test]
fn times_count_in_the_steps_of_their_interface() {
    let ticks = (1 << 32) + 1;
    assert_eq!(time_of(""), ticks * 1_000, "microseconds by default");
    assert_eq!(time_of("00 09 00 01 09 00 00 00"), ticks);
    assert_eq!(time_of("00 09 00 01 03 00 00 00 00 00 00 00"), ticks * 1_000_000);
    // 2^-32 s: one second and 0.23 ns.
    assert_eq!(time_of("00 09 00 01 a0 00 00 00"), 1_000_000_000);
    // Offsets of +3 s and of -4 s; the time itself is 4.294967297 s, then 0.
    let nanos = "00 09 00 01 09 00 00 00";
    assert_eq!(time_of(&format!("{nanos} 00 0e 00 08 00 00 00 00 00 00 00 03")), 7_294_967_297);
    assert_eq!(time_of(&format!("{nanos} 00 0e 00 08 ff ff ff ff ff ff ff fc")), 294_967_297);
    assert_eq!(time_of(&format!("{nanos} 00 0e 00 08 80 00 00 00 00 00 00 00")), 0);
}

#[test]
fn simple_and_obsolete_packets_are_read_and_others_skipped() {
    let file = [
        big(0x0A0D_0D0A, BIG_SECTION),
        // Snap length 2.
        big(1, "00 01 00 00 00 00 00 02"),
        // Obsolete: interface 0, 9 drops, 5 us, 1 of 4 octets.
        big(2, "00 00 00 09 00 00 00 00 00 00 00 05 00 00 00 01 00 00 00 04 aa 00 00 00"),
        // Name resolution, and an unknown kind.
        big(4, "00 00 00 00"),
        big(0x8000_BEEF, "01 02 03 04"),
        // Simple: 3 octets long, of which the snap length keeps 2.
        big(3, "00 00 00 03 bb cc 00 00"),
        big(3, "00 00 00 01 dd 00 00 00"),
    ]
    .concat();
    let expected = vec![
        (5_000, 1, vec![0xAA], 4, 0),
        (5_000, 1, vec![0xBB, 0xCC], 3, 0),
        (5_000, 1, vec![0xDD], 1, 0),
    ];
    assert_eq!(read(&file), (expected, None));
}

#[test]
fn the_fcs_length_is_that_of_the_packet_or_the_interface() {
    // 6 octets; flags bits 5 to 8: 2 octets of FCS, 2 << 5 = 0x40; 0 means the length of the
    // interface.
    let packet = "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 06 00 00 00 06 1 2 3 4 5 6 0 0";
    let flagged = format!("{packet} 00 02 00 04 00 00 00 40 00 00 00 00");
    let not_flagged = format!("{packet} 00 02 00 04 00 00 00 01 00 00 00 00");
    // FCS of 4 octets, counted in octets and in bits.
    for length in ["04", "20"] {
        let interface = format!("{ETHERNET} 00 0d 00 01 {length} 00 00 00 00 00 00 00");
        let file = [
            big(0x0A0D_0D0A, BIG_SECTION),
            big(1, &interface),
            big(6, packet),
            big(6, &not_flagged),
            big(6, &flagged),
        ]
        .concat();
        let (seen, error) = read(&file);
        assert_eq!(error, None);
        let octets: Vec<&[u8]> = seen.iter().map(|record| &record.2[..]).collect();
        assert_eq!(octets, [&[1, 2][..], &[1, 2], &[1, 2, 3, 4]]);
        assert_eq!(seen.iter().map(|record| record.3).collect::<Vec<_>>(), [2, 2, 4]);
    }
}

#[test]
fn wrong_fields_are_named_with_their_place() {
    #[track_caller]
    fn check(blocks: &[Vec<u8>], offset: u64, field: &'static str) {
        let file = [&[big(0x0A0D_0D0A, BIG_SECTION), big(1, ETHERNET)], blocks].concat().concat();
        // Section header and interface take 28 + 20 octets.
        let expected = CaptureError::Malformed { offset: 48 + offset, field };
        assert_eq!(read(&file), (vec![], Some(expected)));
    }
    let mut trailer = big(4, "00 00 00 00");
    trailer[15] = 0x14;
    check(&[trailer], 12, "block total length");
    check(&[hex("00 00 00 04 00 00 00 0d 00 00 00 00 00 00 00 0d")], 4, "block total length");
    check(&[hex("00 00 00 04 00 00 00 08 00 00 00 08 00 00 00 00")], 4, "block total length");
    check(&[big(6, &PACKET_07.replacen("00", "01", 1))], 8, "interface");
    // 9 octets captured, but the block has 4.
    let long = "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 09 00 00 00 09 07 00 00 00";
    check(&[big(6, long)], 8 + 20, "captured length");
    check(&[big(6, "00 00 00 00 00 00 00 00")], 8 + 8, "time");
    // An option of 5 octets, but 4 are left.
    check(&[big(6, &format!("{PACKET_07} 00 01 00 05 61 62 63 64"))], 8 + 24 + 4, "option");
    check(&[big(0x0A0D_0D0A, &BIG_SECTION.replace("1a 2b", "1b 2b"))], 8, "byte-order magic");
    check(&[big(0x0A0D_0D0A, &BIG_SECTION.replace("00 01", "00 02"))], 12, "version");
    // A new section has no interfaces yet.
    check(&[big(0x0A0D_0D0A, BIG_SECTION), big(3, "00 00 00 00")], 28 + 8, "interface");
}

#[test]
fn absurd_lengths_are_errors_with_their_place() {
    let absurd = hex("00 00 00 06 10 00 00 04 00 00 00 00");
    let file =
        [big(0x0A0D_0D0A, BIG_SECTION), big(1, ETHERNET), big(6, PACKET_07), absurd].concat();
    let (seen, error) = read(&file);
    // 28 + 20 + (12 + 24) octets of whole blocks come first.
    assert_eq!(error, Some(CaptureError::TooLong { offset: 84, octets: (256 << 20) + 4 }));
    assert_eq!(seen.len(), 1);
}

#[test]
fn too_many_interfaces_are_refused() {
    let interface = big(1, ETHERNET);
    let file = [big(0x0A0D_0D0A, BIG_SECTION), interface.repeat(MAX_INTERFACES + 1)].concat();
    let offset = (28 + 20 * MAX_INTERFACES + 8) as u64;
    assert_eq!(read(&file).1, Some(CaptureError::Malformed { offset, field: "interfaces" }));
}

#[test]
fn what_is_written_is_read_again() {
    let longest: Vec<u8> = (0..SNAP_OCTETS).map(|i| (i / 7) as u8).collect();
    let records: Vec<Seen> = vec![
        (0, 1, vec![], 0, 0),
        (1_700_000_000_123_456_789, 105, vec![1, 2, 3], 1_500, 1),
        (u64::MAX, 1, longest.clone(), SNAP_OCTETS, 0),
        (7, 105, longest[..65_537].to_vec(), 0xFFFF_FFFF, 1),
    ];
    let mut writer = Writer::new(Vec::new()).unwrap();
    assert_eq!(writer.interface(Link::Ethernet, "eth0").unwrap(), 0);
    assert_eq!(writer.interface(Link::Other(105), "").unwrap(), 1);
    for ((at, _, octets, original, interface), comment) in
        records.iter().zip(["", "a", "late: 3 ms", "four"])
    {
        let at = Instant::from_nanos(*at);
        writer.write(*interface, at, octets, *original, comment).unwrap();
    }
    let written = writer.into_inner();
    assert!(read(&written) == (records, None));
    let mut capture = Capture::open(std::io::Cursor::new(written)).unwrap();
    while capture.next().unwrap().is_some() {}
    let names: Vec<&str> = capture.interfaces().iter().map(|i| i.name.as_str()).collect();
    assert_eq!(names, ["eth0", ""]);
    assert_eq!(capture.interfaces()[1].resolution, Resolution::NANO);
}

#[test]
fn a_written_packet_has_the_octets_of_the_draft() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let interface = writer.interface(Link::Ethernet, "").unwrap();
    let before = {
        writer.write(interface, Instant::from_nanos((1 << 32) + 2), &[7], 9, "ok").unwrap();
        // Section header 28; interface 12 + 8, resolution 8, end of options 4.
        28 + 32
    };
    let expected = "06 00 00 00 30 00 00 00 00 00 00 00 01 00 00 00 02 00 00 00 01 00 00 00
        09 00 00 00 07 00 00 00 01 00 02 00 6f 6b 00 00 00 00 00 00 30 00 00 00";
    assert_eq!(writer.into_inner()[before..], hex(expected));
}

#[test]
fn interface_counters_round_trip_in_the_form_of_the_draft() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let interface = writer.interface_cut(Link::Ethernet, "", 96, "of ours").unwrap();
    let counted = Statistics {
        received: Some(0x0102),
        dropped_by_system: Some(3),
        delivered: Some(255),
        ring_full: Some(2),
        ..Statistics::default()
    };
    let at = Instant::from_nanos((1 << 32) + 2);
    let early = Statistics { received: Some(1), ..Statistics::default() };
    writer.statistics(interface, at, &early).unwrap();
    // Section header 28; interface 12 + 8, comment 4 + 8, resolution 8, end 4; counts 12 + 12 + 12 + 4.
    let before = 28 + 44 + 40;
    writer.statistics(interface, at, &counted).unwrap();
    let written = writer.into_inner();
    let expected = "05 00 00 00 58 00 00 00 00 00 00 00 01 00 00 00 02 00 00 00
        01 00 11 00 72 69 6e 67 20 66 75 6c 6c 20 32 20 74 69 6d 65 73 00 00 00
        04 00 08 00 02 01 00 00 00 00 00 00
        07 00 08 00 03 00 00 00 00 00 00 00 08 00 08 00 ff 00 00 00 00 00 00 00
        00 00 00 00 58 00 00 00";
    assert_eq!(written[before..], hex(expected));
    let mut capture = Capture::open(std::io::Cursor::new(written)).unwrap();
    assert_eq!(capture.descriptions(), 0);
    assert!(capture.next().unwrap().is_none());
    assert_eq!(capture.descriptions(), 3, "an interface, and its counters twice");
    let [interface] = capture.interfaces() else { panic!("one interface") };
    assert_eq!((interface.snap_octets, interface.statistics), (96, counted));
    assert_eq!(counted.dropped(), Some(3));
}

#[test]
fn malformed_counters_do_not_prevent_reading() {
    // For the missing interface 7, and with an option longer than the block.
    let foreign = "00 00 00 07 00 00 00 00 00 00 00 00";
    let torn = "00 00 00 00 00 00 00 00 00 00 00 00 00 04 00 40";
    let packet = big(6, PACKET_07);
    let head = [big(0x0A0D_0D0A, BIG_SECTION), big(1, ETHERNET)].concat();
    let (seen, error) = read(&[head, big(5, foreign), big(5, torn), packet].concat());
    assert_eq!((seen.len(), error), (1, None));
}

#[test]
fn the_writer_refuses_what_the_format_cannot_hold() {
    let text = |result: io::Result<()>| result.unwrap_err().to_string();
    let mut writer = Writer::new(Vec::new()).unwrap();
    let at = Instant::ZERO;
    assert_eq!(text(writer.write(0, at, &[], 0, "")), "interface not described");
    let other = Link::Other(65_536);
    assert_eq!(text(writer.interface(other, "").map(drop)), "link type above 65535");
    writer.interface(Link::Ethernet, "").unwrap();
    let comment = "x".repeat(65_536);
    assert_eq!(text(writer.write(0, at, &[], 0, &comment)), "option above 65535 octets");
    assert_eq!(text(writer.write(0, at, &[1, 2], 1, "")), "record longer than its frame");
    assert_eq!(writer.into_inner().len(), 28 + 32, "no refused block was written");
}

/// All records of a reader, and its error.
fn records(file: &[u8], is_plain: bool) -> (Vec<Seen>, Option<CaptureError>) {
    let mut source = Source::new(Box::new(io::Cursor::new(file.to_vec())));
    let (mut reader, mut seen) = (Reader::new(), Vec::new());
    loop {
        let next =
            if is_plain { reader.next(&mut source) } else { reader.next_packet(&mut source) };
        match next {
            Ok(Some(Record { at, link, octets, original_octets, interface })) => {
                seen.push((at.as_nanos(), link.dlt(), octets.to_vec(), original_octets, interface));
            }
            Ok(None) => return (seen, None),
            Err(error) => return (seen, Some(error)),
        }
    }
}

#[test]
fn the_fast_path_reads_the_same_records() {
    // Either order; steps of a microsecond and of 2^-10 s with an offset; an FCS; packets with and
    // without flags.
    let interface = "00 01 00 00 00 00 00 00 00 09 00 01 8a 00 00 00 00 0d 00 01 04 00 00 00
        00 0e 00 08 00 00 00 00 00 00 00 05";
    let flags =
        "00 00 00 00 00 00 00 02 00 00 00 09 00 00 00 06 00 00 00 08 01 02 03 04 05 06 00 00
        00 02 00 04 00 00 00 40";
    let ninth =
        "00 00 00 01 00 00 00 02 00 00 00 09 00 00 00 06 00 00 00 06 01 02 03 04 05 06 00 00";
    let little_packet = "00 00 00 00 01 00 00 00 02 00 00 00 03 00 00 00 05 00 00 00 0a 0b 0c 00";
    let sample = [
        big(0x0A0D_0D0A, BIG_SECTION),
        big(1, ETHERNET),
        big(1, interface),
        big(6, PACKET_07),
        big(6, ninth),
        big(6, flags),
        little(0x0A0D_0D0A, LITTLE_SECTION),
        little(1, "69 00 00 00 00 00 00 00"),
        little(6, little_packet),
        little(6, little_packet),
    ]
    .concat();
    assert_eq!(records(&sample, true).0.len(), 5);
    for place in 0..sample.len() {
        for change in [0x00, 0x01, 0x04, 0x40, 0x80, 0xFF] {
            let mut file = sample.clone();
            file[place] ^= change;
            assert_eq!(records(&file, true), records(&file, false), "{change:#x} at {place}");
        }
        let cut = &sample[..place];
        assert_eq!(records(cut, true), records(cut, false), "cut at {place}");
    }
}

#[test]
fn passing_records_stops_where_an_interface_is_described() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for interface in 0..3 {
        let interface = writer.interface(Link::Ethernet, &interface.to_string()).unwrap();
        for nth in 0..10 {
            writer.write(interface, Instant::from_nanos(nth), &[7; 20], 20, "").unwrap();
        }
    }
    let mut capture = Capture::open(std::io::Cursor::new(writer.into_inner())).unwrap();
    // The first record of an interface is the last that is passed, so that the caller can look.
    for (frames, has_more) in [(1, true), (10, true), (10, true), (9, false)] {
        let mut passed = 0;
        let more = capture.each(|_| {
            passed += 1;
            true
        });
        assert_eq!((passed, more), (frames, Ok(has_more)));
    }
}

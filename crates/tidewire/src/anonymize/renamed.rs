//! Frames and streams under names of a known key.

use super::Key;
use super::hostile::SECRET;
use wire::checksum::Fletcher;
use wire::dissect::{Link, dissect};
use wire::rewrite::{Renamed, Renamer, rename};
use wire::{clnp, tp};

fn renamed(link: Link, octets: &[u8]) -> Renamed {
    rename(&Key::new(SECRET), link, octets, octets.len())
}

fn layers(link: Link, octets: &[u8]) -> Vec<String> {
    dissect(link, octets).layers.iter().map(ToString::to_string).collect()
}

/// Returns the one's complement sum of a header and a pseudo header, zero if the checksum is
/// valid.
fn sum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let sum: u32 =
        words.map(|it| u32::from(it[0]) << 8 | u32::from(*it.get(1).unwrap_or(&0))).sum();
    !((sum & 0xFFFF) + (sum >> 16)) as u16
}

/// Returns a SYN from 128.11.68.132 to 129.118.74.4 with both checksums valid, and 4 octets of
/// data.
fn segment() -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 44, 0, 1, 0x40, 0, 64, 6, 0, 0];
    packet.extend([128, 11, 68, 132, 129, 118, 74, 4]);
    packet.extend([4, 0, 0, 102, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 0x20, 0, 0, 0, 0, 0]);
    packet.extend([1, 2, 3, 4]);
    let ip = sum(&[&packet[..20]]).to_be_bytes();
    packet[10..12].copy_from_slice(&ip);
    let tcp = sum(&[&packet[12..20], &[0, 6, 0, 24], &packet[20..]]).to_be_bytes();
    packet[36..38].copy_from_slice(&tcp);
    packet
}

#[test]
fn checksums_over_internet_addresses_stay_as_right_as_they_were() {
    let link = Link::Other(101);
    let renamed_segment = renamed(link, &segment());
    let new = &renamed_segment.octets;
    // As published for this key.
    assert_eq!(new[12..20], [135, 242, 180, 132, 134, 136, 186, 123]);
    assert_eq!(sum(&[&new[..20]]), 0);
    assert_eq!(sum(&[&new[12..20], &[0, 6, 0, 24], &new[20..]]), 0);
    // The data reaches the meter, and no capture.
    assert_eq!(new[40..], [1, 2, 3, 4]);
    assert_eq!(renamed_segment.kept, new[..40]);
    let mut wrong = segment();
    wrong[10] ^= 1;
    assert_ne!(sum(&[&renamed(link, &wrong).octets[..20]]), 0);
}

#[test]
fn an_address_in_a_tcp_option_goes_and_the_checksum_stays_right() {
    // ADD_ADDR of Multipath TCP (RFC 8684): 192.0.2.7.
    let mut packet = segment();
    packet[2..4].copy_from_slice(&52_u16.to_be_bytes());
    packet[32] = 0x70;
    packet.splice(40..40, [30, 8, 0x30, 1, 192, 0, 2, 7]);
    packet[36..38].fill(0);
    let tcp = sum(&[&packet[12..20], &[0, 6, 0, 32], &packet[20..]]).to_be_bytes();
    packet[36..38].copy_from_slice(&tcp);
    let Renamed { octets: new, kept, .. } = renamed(Link::Other(101), &packet);
    assert_eq!((kept.len(), &kept[40..]), (48, &[1; 8][..]));
    assert_eq!(sum(&[&new[12..20], &[0, 6, 0, 32], &new[20..]]), 0);
}

#[test]
fn a_cr_keeps_its_numbers_and_loses_selectors_and_data() {
    // CR of class 4 with two selectors, the size of TPDUs, a security parameter, and two octets of
    // data.
    let mut cr = vec![21, 0xE0, 0, 0, 0, 5, 0x40, 0xC1, 2, 0x41, 0x42, 0xC2, 2, 0x43, 0x44];
    cr.extend([0xC0, 1, 0x0A, 0xC5, 2, 0x53, 0x54, 0x61, 0x62]);
    let frame = on_a_lan(&cr);
    let Renamed { octets, kept, .. } = renamed(Link::Ethernet, &frame);
    assert_eq!(octets[14..], frame[14..], "the meter gets what stands above");
    assert_ne!(octets[..12], frame[..12]);
    assert_eq!(kept.len(), frame.len() - 2);
    let holds = |text: &[u8]| kept.windows(text.len()).any(|window| window == text);
    assert!(holds(&[0xC0, 1, 0x0A]) && holds(&[0xC5, 2, 0, 0]));
    for secret in [&[0x41, 0x42][..], &[0x43, 0x44], &[0x53, 0x54], &[0x61, 0x62]] {
        assert!(!holds(secret), "{secret:02x?}");
    }
}

/// Returns a frame from 2 to 1 with these TPDUs over LLC and the inactive network layer.
fn on_a_lan(tpdus: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0, tpdus.len() as u8 + 4];
    frame.extend([0xFE, 0xFE, 3, 0]);
    frame.extend(tpdus);
    frame
}

#[test]
fn the_checksum_of_a_cr_stays_valid_under_mapped_selectors() {
    // A CR with a selector, a security parameter and a checksum, which stands at octet 17.
    let mut cr = vec![18, 0xE0, 0, 0, 0, 5, 0x40, 0xC1, 2, 0x41, 0x42, 0xC5, 2, 0x53, 0x54];
    cr.extend([0xC3, 2, 0, 0]);
    tp::seal(&mut cr, 17, &[]);
    let kept = |cr: &[u8]| renamed(Link::Ethernet, &on_a_lan(cr)).kept.split_off(18);
    let right = kept(&cr);
    assert_eq!((right.len(), Fletcher::of(&right).is_good()), (19, true));
    assert_ne!(right[9..11], cr[9..11]);
    cr[17] ^= 1;
    assert!(!Fletcher::of(&kept(&cr)).is_good());
    // A checksum valid for the new octets is invalid for the old ones, and stays invalid.
    cr[17..19].copy_from_slice(&right[17..19]);
    assert!(!Fletcher::of(&cr).is_good() && !Fletcher::of(&kept(&cr)).is_good());
}

#[test]
fn an_invalid_clnp_checksum_stays_invalid_for_new_addresses() {
    let mut pdu = vec![0x81, 23, 1, 64, 0x1C, 0, 26, 0, 0];
    pdu.extend([6, 0x49, 0, 1, 2, 3, 1, 6, 0x49, 0, 1, 2, 4, 1]);
    pdu.extend([2, 0xF0, 0x80]);
    clnp::seal(&mut pdu[..23]);
    let verdict = |pdu: &[u8]| clnp::Pdu::decode(pdu).unwrap().verify(pdu);
    // Over PPP, which has no addresses: what follows is a PDU of OSI's network layer (RFC 1377).
    let new = |pdu: &[u8]| {
        let frame = [&[0, 0x23], pdu].concat();
        renamed(Link::Other(9), &frame).octets.split_off(2)
    };
    let right = new(&pdu);
    assert_eq!((verdict(&pdu), verdict(&right)), (clnp::Checksum::Good, clnp::Checksum::Good));
    pdu[7..9].copy_from_slice(&right[7..9]);
    assert_eq!((verdict(&pdu), verdict(&new(&pdu))), (clnp::Checksum::Bad, clnp::Checksum::Bad));
}

#[test]
fn addresses_in_tags_of_exported_pdus_are_mapped_and_none_kept() {
    // Wireshark's export format: protocol name (12), source and destination over IPv4 (20, 21)
    // and IPv6 (22, 23), a port (25), the end, and a DT of class 0.
    let mut exported = vec![0, 12, 0, 8];
    exported.extend(b"ositp\0\0\0");
    exported.extend([0, 20, 0, 4, 128, 11, 68, 132, 0, 21, 0, 4, 129, 118, 74, 4]);
    let (v4, v6) = (16..20, exported.len() + 4);
    exported.extend([0, 22, 0, 16, 0x20, 1, 0xD, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7]);
    exported.extend([0, 25, 0, 4, 0, 0, 0, 102, 0, 0, 0, 0, 2, 0xF0, 0x80, 0x41]);
    let Renamed { octets, kept, .. } = renamed(Link::Other(252), &exported);
    // The two IPv4 addresses map as published for this key, as in a packet.
    assert_eq!(octets[v4], [135, 242, 180, 132]);
    assert_eq!(octets[24..28], [134, 136, 186, 123]);
    assert_ne!(octets[v6..v6 + 16], exported[v6..v6 + 16]);
    let with_addresses_of = |octets: &[u8], from: &[u8]| {
        let mut octets = octets.to_vec();
        for range in [16..20, 24..28, v6..v6 + 16] {
            octets[range.clone()].copy_from_slice(&from[range]);
        }
        octets
    };
    assert_eq!(with_addresses_of(&octets, &exported), exported, "all else is as it was");
    assert!(kept.is_empty());
    let told = layers(Link::Other(252), &octets).join("\n");
    assert!(told.contains("TP DT") && !told.contains("128.11.68.132"), "{told}");
}

#[test]
fn truncated_or_overlong_tags_are_mapped_as_far_as_they_reach() {
    for exported in [
        &[0, 20, 0, 4, 128, 11][..],
        &[0, 20, 0xFF, 0xFF, 128, 11, 68, 132, 1],
        &[0, 22, 0, 4, 128, 11, 68, 132, 0],
        &[0, 20, 0],
    ] {
        let octets = renamed(Link::Other(252), exported).octets;
        assert_eq!(octets.len(), exported.len());
    }
}

#[test]
fn a_frame_of_another_protocol_keeps_its_link_header_alone() {
    let mut arp = vec![0xFF; 6];
    arp.extend([2, 0, 0, 0, 0, 1, 8, 6]);
    arp.extend([0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1]);
    let kept = renamed(Link::Ethernet, &arp).kept;
    assert_eq!((kept.len(), &kept[..6]), (14, &[0xFF; 6][..]));
}

#[test]
fn no_octets_make_it_panic_and_no_length_changes() {
    let mut frames = vec![segment()];
    let mut clnp = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0, 45, 0xFE, 0xFE, 3];
    clnp.extend([
        0x81, 24, 1, 64, 0x1C, 0, 42, 0, 0, 6, 0x49, 0, 1, 2, 3, 1, 6, 0x49, 0, 1, 2, 4, 1,
    ]);
    clnp.resize(60, 0xC5);
    frames.push(clnp);
    let mut state = 1_u32;
    for frame in frames {
        for cut in 0..=frame.len() {
            for number in [0, 1, 9, 10, 101, 104, 107, 113, 276] {
                let mut octets = frame[..cut].to_vec();
                for octet in &mut octets {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    *octet ^= if state >> 29 == 0 { (state >> 16) as u8 } else { 0 };
                }
                let new = renamed(Link::from_dlt(number), &octets);
                assert_eq!(new.octets.len(), octets.len());
                assert!(new.kept.len() <= octets.len());
            }
        }
    }
}

#[test]
fn layers_are_unchanged_except_for_addresses() {
    let link = Link::Other(101);
    let (before, after) = (segment(), renamed(link, &segment()).octets);
    let swap = |line: &String| {
        line.replace("135.242.180.132", "128.11.68.132").replace("134.136.186.123", "129.118.74.4")
    };
    assert_eq!(layers(link, &before), layers(link, &after).iter().map(swap).collect::<Vec<_>>());
}

/// Octets before the payload of a segment: MAC, IPv4 and TCP.
const BEFORE: usize = 54;
/// Octets that no capture may keep.
const SECRET_OCTET: u8 = 0xDD;

fn stream_segment(sequence: u32, data: &[u8]) -> Vec<u8> {
    let length = 40 + data.len() as u16;
    let mut octets = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0];
    octets.extend(length.to_be_bytes());
    octets.extend([0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 7, 10, 0, 0, 9, 0, 102, 0x9C, 0x40]);
    octets.extend(sequence.to_be_bytes());
    octets.extend([0, 0, 0, 1, 0x50, 0x18, 1, 0, 0, 0, 0, 0]);
    octets.extend(data);
    octets
}

fn packet(tpdu: &[u8]) -> Vec<u8> {
    let length = (4 + tpdu.len()) as u16;
    [&[3, 0][..], &length.to_be_bytes(), tpdu].concat()
}

/// Returns a CR of class 0 with two selectors and the TPDU size.
fn cr() -> Vec<u8> {
    packet(&[17, 0xE0, 0, 0, 0, 1, 0, 0xC1, 2, 0xDD, 0xDD, 0xC2, 2, 0xDD, 0xDD, 0xC0, 1, 10])
}

/// Returns the cookie of an RDP client.
fn cookie() -> Vec<u8> {
    let text = [&b"Cookie: mstshash="[..], &[SECRET_OCTET; 5], b"\r\n"].concat();
    packet(&[&[6 + text.len() as u8, 0xE0, 0, 0, 0, 1, 0], &text[..]].concat())
}

/// Returns an S7 acknowledgement with 2 octets of parameters and 6 of data.
fn answer(reference: u8) -> Vec<u8> {
    let header = [2, 0xF0, 0x80, 0x32, 3, 0, 0, 0, reference, 0, 2, 0, 6, 0, 0];
    packet(&[&header[..], &[SECRET_OCTET; 8]].concat())
}

fn renamer() -> Renamer<Key> {
    Renamer::new(Key::new(SECRET))
}

/// Returns the kept part of the payload of a segment.
fn kept(renamer: &mut Renamer<Key>, sequence: u32, data: &[u8]) -> Vec<u8> {
    let octets = stream_segment(sequence, data);
    renamer.rename(Link::Ethernet, &octets, octets.len()).kept.split_off(BEFORE)
}

#[test]
fn headers_of_s7_are_kept_behind_those_of_tpkt_and_dt() {
    let two = [answer(1), answer(2)].concat();
    let expected = [&answer(1)[..19], &[0; 8], &answer(2)[..19]].concat();
    assert_eq!(kept(&mut renamer(), 0, &two), expected);
}

#[test]
fn selectors_of_a_cr_over_tcp_are_mapped_and_sizes_kept() {
    let mut renamer = renamer();
    let new = kept(&mut renamer, 0, &cr());
    assert_eq!((new.len(), &new[..13]), (cr().len(), &cr()[..13]));
    assert_eq!(&new[19..], &cr()[19..]);
    assert_ne!(new[13..15], [SECRET_OCTET; 2]);
    // A selector maps to the same value everywhere, including in a retransmission.
    assert_eq!(new[13..15], new[17..19]);
    assert_eq!(kept(&mut renamer, 0, &cr()), new);
}

#[test]
fn segments_of_any_size_keep_no_selector_cookie_or_user_data() {
    let all = [cr(), answer(1), cookie(), answer(2), cr()].concat();
    for size in 1..all.len() {
        let mut renamer = renamer();
        let mut octets = 0;
        for (data, number) in all.chunks(size).zip(0_u32..) {
            for _ in 0..2 {
                let kept = kept(&mut renamer, 5 + number * size as u32, data);
                assert!(!kept.contains(&SECRET_OCTET), "segments of {size}: {kept:02x?}");
                octets += kept.len();
            }
        }
        assert!(octets > 0, "segments of {size}");
    }
}

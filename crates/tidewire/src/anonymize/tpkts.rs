//! Headers kept of TCP streams with TPKTs: those of TPKT, TPDUs and S7.
//!
//! A stream is followed across segments, so that headers are found wherever segments begin.
//! Selectors are mapped and parameters cleared as on a LAN if one segment holds the whole TPDU. Of
//! a CR, CC, DR or ER that continues in the next segment only length indicator and code are kept.

use super::Key;
use super::frame::{Renamed, headers, rename};
use wire::dissect::{Link, Stripper};
use wire::tp::Kind;
use wire::tpkt;

/// Octets of a TPKT header, a length indicator and a TPDU code.
const FRONT_OCTETS: usize = tpkt::HEADER_OCTETS + 2;
/// Length indicator of a DT of class 0.
const DT_INDICATOR: u8 = 2;

/// Pseudonymises successive frames.
pub(crate) struct Renamer {
    key: Key,
    stripper: Stripper,
}

impl Renamer {
    /// Creates a renamer with this key and no streams.
    pub(crate) fn new(key: Key) -> Self {
        Self { key, stripper: Stripper::without_parameters() }
    }

    /// Pseudonymises the next frame.
    pub(crate) fn rename(&mut self, link: Link, octets: &[u8], original_octets: usize) -> Renamed {
        let mut renamed = rename(&self.key, link, octets, original_octets);
        let Some(begins) = renamed.stream else { return renamed };
        let mut stripped = renamed.octets.clone();
        let end = self.stripper.strip(link, &mut stripped, original_octets);
        renamed.kept.extend(stripped.get(begins..end).unwrap_or_default());
        let stream = renamed.octets.get(begins..).unwrap_or_default();
        map_parameters(&self.key, stream, begins, &mut renamed.kept);
        renamed
    }
}

/// Replaces kept headers by mapped ones, for the TPKTs at the start of a segment.
fn map_parameters(key: &Key, stream: &[u8], begins: usize, kept: &mut Vec<u8>) {
    let mut place = begins;
    while let Some(rest) = stream.get(place - begins..)
        && tpkt::is_believable(rest)
        && let Ok(header) = tpkt::Header::decode(rest)
    {
        let octets = usize::from(header.packet_octets).min(rest.len());
        let front = kept.get(place..place + FRONT_OCTETS);
        // User data that resembles a TPKT is all zero.
        if octets < FRONT_OCTETS || !front.is_some_and(|front| rest.starts_with(front)) {
            return;
        }
        let tpdus = rest.get(tpkt::HEADER_OCTETS..octets).unwrap_or_default();
        if !is_dt_of_class_0(tpdus) {
            replace(kept, place + tpkt::HEADER_OCTETS, place + octets, |kept| {
                headers(key, tpdus, kept)
            });
        }
        place += octets;
    }
}

fn is_dt_of_class_0(tpdus: &[u8]) -> bool {
    matches!(tpdus, [DT_INDICATOR, code, ..] if Kind::of_code(*code) == Some(Kind::Dt))
}

/// Replaces `kept[from..to]` by the output of `write`, padded with zeros if more is kept after
/// `to`.
fn replace(kept: &mut Vec<u8>, from: usize, to: usize, write: impl FnOnce(&mut Vec<u8>)) {
    let behind = kept.split_off(to.min(kept.len()));
    kept.truncate(from);
    write(kept);
    if !behind.is_empty() {
        kept.resize(to, 0);
        kept.extend(behind);
    }
}

#[cfg(test)]
mod tests {
    use super::super::hostile::SECRET;
    use super::*;

    /// Octets before the payload of a segment: MAC, IPv4 and TCP.
    const BEFORE: usize = 54;
    /// Octets that no capture may keep.
    const SECRET_OCTET: u8 = 0xDD;

    fn segment(sequence: u32, data: &[u8]) -> Vec<u8> {
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

    fn renamer() -> Renamer {
        Renamer::new(Key::new(SECRET))
    }

    /// Returns the kept part of the payload of a segment.
    fn kept(renamer: &mut Renamer, sequence: u32, data: &[u8]) -> Vec<u8> {
        let octets = segment(sequence, data);
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
}

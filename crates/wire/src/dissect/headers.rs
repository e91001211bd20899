//! How much of a frame is headers: what a capture keeps that is to hold no user data.

use super::{Levels, Link, NoNsdu, Nsdu, Piece, levels};
use crate::{s7, tp, tpkt};
use core::ops::Range;
use smallvec::SmallVec;

/// What is kept of a frame that is not understood: Ethernet, IP and TCP headers without options.
const FOREIGN_OCTETS: usize = 54;
/// Length indicator and code, without which a TPDU is not told from others.
const LEAST_TPDU_OCTETS: usize = 2;

/// What has to be done to a frame.
pub(super) struct Plan {
    pub(super) kept_octets: usize,
    /// User data between headers.
    pub(super) blanks: SmallVec<[Range<usize>; 4]>,
}

impl Plan {
    pub(super) fn keep(kept_octets: usize) -> Self {
        Self { kept_octets, blanks: SmallVec::new() }
    }

    /// Makes zeros of user data between headers; how many octets to keep.
    pub(super) fn carry_out(self, octets: &mut [u8]) -> usize {
        for blank in self.blanks {
            octets.get_mut(blank).unwrap_or_default().fill(0);
        }
        self.kept_octets.min(octets.len())
    }
}

/// Takes the user data out of a frame that was `original_octets` long: gives how many octets to keep,
/// and makes zeros of user data with headers behind it.
///
/// Kept are all headers down to the last TPDU that begins in the frame. Of a TCP segment that does not
/// begin with a TPKT only the TCP header is kept, since what is header in it cannot be told without the
/// segments before: that takes a [`super::Stripper`]. Of CLNP segments but the first only the CLNP header is kept, and of other protocols
/// a few octets, but for the PDUs of ES-IS and IS-IS, which carry no user data.
#[must_use]
pub fn strip_user_data(link: Link, octets: &mut [u8], original_octets: usize) -> usize {
    let alone = |begins, piece: &Piece<'_>| stream(begins, piece.octets);
    plan(link, octets, original_octets, alone).carry_out(octets)
}

/// What is to be done to a frame; of a TCP segment whose octets begin at a place, `segment_of` says it.
pub(super) fn plan(
    link: Link,
    octets: &[u8],
    original_octets: usize,
    segment_of: impl FnOnce(usize, &Piece<'_>) -> Plan,
) -> Plan {
    let Levels { npdu_octets, llc, nsdu, .. } = levels(link, octets, original_octets);
    match nsdu {
        Ok(Nsdu { octets: nsdu, segment, missing_octets, .. }) => {
            let begins = place(octets, nsdu);
            match segment {
                Some(segment) if segment.offset > 0 => Plan::keep(begins),
                _ => Plan::keep(begins + tpdu_headers(nsdu, nsdu.len() + missing_octets)),
            }
        }
        Err(NoNsdu::Stream(piece)) => segment_of(place(octets, piece.octets), &piece),
        Err(NoNsdu::Foreign(_)) if llc.is_some() && npdu_octets.is_some() => {
            Plan::keep(octets.len())
        }
        Err(NoNsdu::Foreign(_)) => Plan::keep(FOREIGN_OCTETS),
        Err(NoNsdu::Malformed(complaint)) => {
            Plan::keep(FOREIGN_OCTETS.max(complaint.offset + LEAST_TPDU_OCTETS))
        }
    }
}

/// Where in a frame a part of it begins.
fn place(frame: &[u8], part: &[u8]) -> usize {
    // A part that is empty may stand anywhere, as far as its address tells.
    let at = (part.as_ptr() as usize).saturating_sub(frame.as_ptr() as usize);
    at.min(frame.len())
}

/// Octets up to the end of the last TPDU's header, of an NSDU that was `original_octets` long; no TPDU stands behind
/// user data. In front of user data an S7 header counts as header.
fn tpdu_headers(nsdu: &[u8], original_octets: usize) -> usize {
    let mut octets = 0;
    for tpdu in tp::tpdus(nsdu) {
        octets = match tpdu {
            Ok(raw) => {
                let headers = raw.offset + raw.header_octets;
                headers + user_header(&raw, original_octets.saturating_sub(headers))
            }
            Err(complaint) => octets.max(complaint.offset + LEAST_TPDU_OCTETS),
        };
    }
    octets
}

/// Octets of S7 header in the user data of a TPDU that had `data_octets` of them; none unless it is a DT with a
/// whole PDU.
fn user_header(raw: &tp::Raw<'_>, data_octets: usize) -> usize {
    if raw.kind != tp::Kind::Dt || raw.data().first() != Some(&s7::PROTOCOL) {
        return 0;
    }
    match tp::Pdu::decode(raw, None) {
        Ok(tp::Pdu::Dt(tp::Data { end_of_tsdu: true, data, .. })) => {
            s7::header_octets(data, data_octets).unwrap_or(0)
        }
        _ => 0,
    }
}

/// The TPKTs of a TCP segment that begins with one.
pub(super) fn stream(begins: usize, octets: &[u8]) -> Plan {
    let mut plan = Plan::keep(begins);
    let (mut at, mut rest) = (begins, octets);
    while !rest.is_empty() && tpkt::is_believable(rest) {
        if plan.kept_octets < at {
            plan.blanks.push(plan.kept_octets..at);
        }
        let Ok(header) = tpkt::Header::decode(rest) else {
            plan.kept_octets = at + rest.len();
            break;
        };
        let packet_octets = usize::from(header.packet_octets);
        let (packet, behind) = rest.split_at_checked(packet_octets).unwrap_or((rest, &[]));
        let tpdus = packet.get(tpkt::HEADER_OCTETS..).unwrap_or_default();
        plan.kept_octets =
            at + packet.len().min(tpkt::HEADER_OCTETS + tpdu_headers(tpdus, header.tpdu_octets()));
        at += packet.len();
        rest = behind;
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: [u8; 12] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    /// IPv4 with TCP from port 102; the total length, 16 and 17, is to be put in.
    const TCP: [u8; 42] = [
        0x08, 0, 0x45, 0, 0, 0, 0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 7, 10, 0, 0, 9, 0, 102, 0x9C,
        0x40, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 1, 0, 0, 0, 0, 0,
    ];

    fn segment(data: &[u8]) -> Vec<u8> {
        let mut octets = [&MAC[..], &TCP, data].concat();
        octets[17] = 40 + data.len() as u8;
        octets
    }

    #[test]
    fn a_dt_over_llc_ends_with_its_header() {
        // LLC 3, inactive 1, then an AK of 5 and a DT of 5 with user data, and padding.
        let data = [0, 19, 0xFE, 0xFE, 3, 0, 4, 0x60, 1, 1, 2, 4, 0xF0, 2, 2, 0x80, 9, 9, 9, 9, 9];
        let octets = [&MAC[..], &data, &[0; 20]].concat();
        check(&octets, &octets[..14 + 4 + 10]);
    }

    #[test]
    fn a_dt_over_llc_keeps_its_s7_header() {
        // LLC 3, inactive 1, a DT of 5, an S7 job of 10 with 4 octets of parameters.
        let job = [0x32, 1, 0, 0, 0, 9, 0, 4, 0, 0];
        let data = [&[0, 23, 0xFE, 0xFE, 3, 0, 4, 0xF0, 2, 2, 0x80][..], &job, &[9; 4]].concat();
        let octets = [&MAC[..], &data].concat();
        check(&octets, &octets[..14 + 4 + 5 + 10]);
    }

    #[test]
    fn between_tpkts_user_data_is_zeros_and_behind_the_last_it_is_gone() {
        let one = [3, 0, 0, 9, 2, 0xF0, 0x80, 7, 7];
        let octets = segment(&[one, one].concat());
        let expected = segment(&[3, 0, 0, 9, 2, 0xF0, 0x80, 0, 0, 3, 0, 0, 9, 2, 0xF0, 0x80]);
        let kept = check_length(&octets, 54 + 16);
        assert_eq!(kept[54..], expected[54..]);
        // The second one goes on in the next segment.
        let octets = segment(&[&one[..], &one[..8]].concat());
        assert_eq!(check_length(&octets, 54 + 16)[54..], expected[54..]);
    }

    #[test]
    fn a_segment_that_begins_in_the_middle_of_a_tpkt_has_no_header_but_its_own() {
        check_length(&segment(&[7, 7, 7, 3, 0, 0, 7, 2, 0xF0, 0x80]), 54);
        check_length(&segment(&[]), 54);
    }

    #[test]
    fn of_what_is_foreign_a_few_octets_stay() {
        let mut udp = segment(&[1; 40]);
        udp[23] = 17;
        check_length(&udp, FOREIGN_OCTETS);
        check_length(&MAC, 12);
    }

    #[track_caller]
    fn check_length(octets: &[u8], kept_octets: usize) -> Vec<u8> {
        let mut stripped = octets.to_vec();
        let kept = strip_user_data(Link::Ethernet, &mut stripped, octets.len());
        assert_eq!(kept, kept_octets);
        stripped.truncate(kept);
        stripped
    }

    #[track_caller]
    fn check(octets: &[u8], expected: &[u8]) {
        assert_eq!(check_length(octets, expected.len()), expected);
    }
}

//! Removal of user data: the part of a frame that is headers, for captures without user data.

use super::{Levels, Link, NoNsdu, Nsdu, Piece, levels};
use crate::{s7, tp, tpkt};
use core::ops::Range;
use smallvec::SmallVec;

/// Octets kept of a frame that is not decoded: Ethernet, IP and TCP headers without options.
const FOREIGN_OCTETS: usize = 54;
/// Length indicator and code, the minimum to recognise a TPDU.
const LEAST_TPDU_OCTETS: usize = 2;

/// Changes that remove the user data of a frame.
pub(super) struct Plan {
    pub(super) kept_octets: usize,
    /// Ranges of user data between headers.
    pub(super) blanks: SmallVec<[Range<usize>; 4]>,
}

impl Plan {
    pub(super) fn keep(kept_octets: usize) -> Self {
        Self { kept_octets, blanks: SmallVec::new() }
    }

    /// Zeroes the user data between headers and returns the number of octets to keep.
    pub(super) fn carry_out(self, octets: &mut [u8]) -> usize {
        for blank in self.blanks {
            octets.get_mut(blank).unwrap_or_default().fill(0);
        }
        self.kept_octets.min(octets.len())
    }
}

/// Removes the user data of a frame that was `original_octets` long. Returns the number of octets
/// to keep, and zeroes user data that has headers after it.
///
/// All headers down to the last TPDU that begins in the frame are kept. For a TCP segment that does
/// not begin with a TPKT, only the TCP header is kept, because the headers in it cannot be located
/// without the segments before; that requires a [`super::Stripper`]. For CLNP segments other than
/// the first, only the CLNP header is kept. For other protocols a few octets are kept, except for
/// the PDUs of ES-IS and IS-IS, which carry no user data and are kept whole.
#[must_use]
pub fn strip_user_data(link: Link, octets: &mut [u8], original_octets: usize) -> usize {
    let alone = |begins, piece: &Piece<'_>| stream(begins, piece.octets);
    plan(link, octets, original_octets, alone).carry_out(octets)
}

/// Plans the removal for a frame. `segment_of` plans it for a TCP segment, given the offset of its
/// octets in the frame.
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
        Err(NoNsdu::Leaf(alone)) => {
            Plan::keep(place(octets, alone.octets) + (alone.leaf.headers_octets)(alone.octets))
        }
        // CLNP that is not followed: an error report, or another version.
        Err(NoNsdu::Foreign(_)) if llc.is_some() && npdu_octets.is_some() => {
            Plan::keep(octets.len())
        }
        Err(NoNsdu::Foreign(_) | NoNsdu::Datagram(_)) => Plan::keep(FOREIGN_OCTETS),
        Err(NoNsdu::Malformed(complaint)) => {
            Plan::keep(FOREIGN_OCTETS.max(complaint.offset + LEAST_TPDU_OCTETS))
        }
    }
}

/// Offset of `part` in `frame`.
fn place(frame: &[u8], part: &[u8]) -> usize {
    // The address of an empty part may lie outside the frame.
    let at = (part.as_ptr() as usize).saturating_sub(frame.as_ptr() as usize);
    at.min(frame.len())
}

/// Octets up to the end of the last TPDU's header, in an NSDU that was `original_octets` long. No
/// TPDU follows user data. An S7 header in front of user data counts as header.
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

/// Octets of S7 header in the user data of a TPDU, which had `data_octets` octets of it. Zero
/// unless the TPDU is a DT with a whole PDU.
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

/// Plans the removal for the TPKTs of a TCP segment that begins with one.
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
    /// IPv4 with TCP from port 102; the total length, octets 16 and 17, is filled in by `segment`.
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
    fn user_data_is_zeroed_between_tpkts_and_cut_after_the_last() {
        let one = [3, 0, 0, 9, 2, 0xF0, 0x80, 7, 7];
        let octets = segment(&[one, one].concat());
        let expected = segment(&[3, 0, 0, 9, 2, 0xF0, 0x80, 0, 0, 3, 0, 0, 9, 2, 0xF0, 0x80]);
        let kept = check_length(&octets, 54 + 16);
        assert_eq!(kept[54..], expected[54..]);
        // The second TPKT continues in the next segment.
        let octets = segment(&[&one[..], &one[..8]].concat());
        assert_eq!(check_length(&octets, 54 + 16)[54..], expected[54..]);
    }

    #[test]
    fn a_segment_that_begins_inside_a_tpkt_keeps_its_tcp_header() {
        check_length(&segment(&[7, 7, 7, 3, 0, 0, 7, 2, 0xF0, 0x80]), 54);
        check_length(&segment(&[]), 54);
    }

    #[test]
    fn unknown_protocols_keep_a_few_octets() {
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

//! TPKT: the header of four octets with which RFC 1006 and RFC 2126 divide a TCP stream into
//! packets.
//!
//! ```text
//! octet  0        1         2              4
//!        version  reserved  length (all)   one TPDU
//! ```
//!
//! A stream that loses synchronisation cannot regain it: there is no marker, and octets of user
//! data may look like a header. So a [`Reassembler`] that met an invalid header returns that error
//! forever, and its caller closes the connection. Left out: security of any kind.

use crate::read::{Malformed, Reader};
use crate::tp::Kind;
use bytes::{Buf, Bytes, BytesMut};

/// Version of RFC 1006 and RFC 2126.
pub const VERSION: u8 = 3;
/// Length of the header.
pub const HEADER_OCTETS: usize = 4;
/// Shortest packet: a header, and a TPDU of length indicator, code and one more octet.
pub const SHORTEST: usize = 7;
/// Longest packet, header included.
pub const LONGEST: usize = 65_535;
/// Longest TPDU in a packet, which is also the default TPDU size over TCP.
pub const LONGEST_TPDU: usize = LONGEST - HEADER_OCTETS;
/// Assigned TCP port ("iso-tsap").
pub const PORT: u16 = 102;

/// Header of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Header {
    /// Reserved octet, as received; RFC 1006 does not define a receiver's reaction if it is set.
    pub reserved: u8,
    /// Length of the whole packet, header included: 7 to 65,535 octets.
    pub packet_octets: u16,
}

impl Header {
    /// Creates the header for a TPDU; `None` if that is too short or too long.
    #[must_use]
    pub fn of_tpdu(tpdu_octets: usize) -> Option<Self> {
        let packet_octets = u16::try_from(tpdu_octets.checked_add(HEADER_OCTETS)?).ok()?;
        let fits = usize::from(packet_octets) >= SHORTEST;
        fits.then_some(Self { reserved: 0, packet_octets })
    }

    /// Decodes a header.
    ///
    /// # Errors
    /// Names the field: missing, another version, or an invalid length.
    pub fn decode(octets: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        let start = reader.malformed("TPKT version");
        if reader.u8("TPKT version")? != VERSION {
            return Err(start);
        }
        let reserved = reader.u8("TPKT reserved octet")?;
        let length = reader.malformed("TPKT length");
        let packet_octets = reader.u16("TPKT length")?;
        if usize::from(packet_octets) < SHORTEST {
            return Err(length);
        }
        Ok(Self { reserved, packet_octets })
    }

    /// Encodes the header.
    #[must_use]
    pub const fn encode(self) -> [u8; HEADER_OCTETS] {
        let [high, low] = self.packet_octets.to_be_bytes();
        [VERSION, self.reserved, high, low]
    }

    /// Length of the TPDU after the header, in octets.
    #[must_use]
    pub fn tpdu_octets(self) -> usize {
        usize::from(self.packet_octets).saturating_sub(HEADER_OCTETS)
    }
}

/// Returns true if `octets` plausibly begin a packet with a TPDU: a header whose reserved octet is
/// zero, followed by a length indicator and a code that are consistent with each other and with the
/// length. Used for streams whose beginning was not captured. Octets after the front of the TPDU
/// are not checked.
#[must_use]
pub fn is_believable(octets: &[u8]) -> bool {
    let [VERSION, 0, high, low, indicator, code, rest @ ..] = octets else { return false };
    let packet_octets = usize::from(u16::from_be_bytes([*high, *low]));
    let indicator = usize::from(*indicator);
    let Some(kind) = Kind::of_code(*code) else { return false };
    let has_class = rest.get(4).is_none_or(|class| *class < 0x50);
    let fits = match (kind, rest) {
        // Class 0 numbers all its DTs zero (ISO 8073 13.7.1), but some stations do not.
        (Kind::Dt, [_, ..]) => indicator == 2 || indicator >= 4,
        (Kind::Dt, []) => false,
        // DST-REF is zero (13.3.2), and the class is 0 to 4, as far as the octets are there.
        (Kind::Cr, [0, 0, ..] | [0] | []) => indicator >= 6 && has_class,
        (Kind::Cr, _) => false,
        (Kind::Cc, _) => indicator >= 6 && has_class,
        (Kind::Dr, _) => indicator >= 6,
        (Kind::Dc, _) => indicator >= 5,
        (Kind::Ed | Kind::Ak | Kind::Ea | Kind::Rj | Kind::Er, _) => indicator >= 4,
    };
    // 255 is reserved (13.2.1).
    fits && indicator < 255 && HEADER_OCTETS + 1 + indicator <= packet_octets
}

/// Returns true if `octets` may begin a packet and are too few to identify its contents.
#[must_use]
pub fn is_front(octets: &[u8]) -> bool {
    octets.len() < SHORTEST
        && octets.iter().zip([VERSION, 0]).all(|(octet, expected)| *octet == expected)
}

/// Reassembles TPDUs from a TCP stream, independent of its segmentation.
///
/// It holds at most [`LONGEST`] octets and accepts no more, which exerts backpressure on the
/// sender's TCP.
#[derive(Clone, Debug, Default)]
pub struct Reassembler {
    held: BytesMut,
    broken: Option<Malformed>,
    /// Octets of the stream already returned.
    before: usize,
}

impl Reassembler {
    /// Creates a reassembler at the start of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of octets that it accepts now.
    #[must_use]
    pub fn room(&self) -> usize {
        if self.broken.is_some() { 0 } else { LONGEST.saturating_sub(self.held.len()) }
    }

    /// Appends the next octets of the stream and returns the number accepted: all of them up to
    /// [`Reassembler::room`].
    pub fn push(&mut self, octets: &[u8]) -> usize {
        let (taken, _) = octets.split_at(octets.len().min(self.room()));
        self.held.extend_from_slice(taken);
        taken.len()
    }

    /// Returns the next TPDU once it is complete.
    ///
    /// # Errors
    /// Names the invalid header field; offsets count from the start of the stream. Every later call
    /// returns the same error.
    pub fn take_tpdu(&mut self) -> Result<Option<Bytes>, Malformed> {
        if let Some(fault) = self.broken {
            return Err(fault);
        }
        let header = match Header::decode(&self.held) {
            Ok(header) => header,
            // A missing field has its offset at the end of the octets, an invalid one before it.
            Err(fault) if fault.offset >= self.held.len() || self.is_short(fault) => {
                return Ok(None);
            }
            Err(fault) => {
                let fault = fault.within(self.before);
                self.broken = Some(fault);
                self.held.clear();
                return Err(fault);
            }
        };
        let packet_octets = usize::from(header.packet_octets);
        if self.held.len() < packet_octets {
            return Ok(None);
        }
        let mut packet = self.held.split_to(packet_octets).freeze();
        packet.advance(HEADER_OCTETS);
        self.before += packet_octets;
        Ok(Some(packet))
    }

    /// Returns true if only the first octet of the length has arrived.
    fn is_short(&self, fault: Malformed) -> bool {
        fault.field == "TPKT length" && self.held.len() < HEADER_OCTETS
    }

    /// Octets of an incomplete packet. More than zero at the end of a stream means that the stream
    /// was truncated.
    #[must_use]
    pub fn held_octets(&self) -> usize {
        self.held.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The CR of an iec61850-rs client at the start of its session: 22 octets in all.
    const CR: [u8; 22] =
        [3, 0, 0, 22, 0x11, 0xE0, 0, 0, 0, 1, 0, 0xC0, 1, 0x0D, 0xC1, 2, 0, 1, 0xC2, 2, 0, 1];
    /// A DT that ends its TSDU, with one octet of user data.
    const DT: [u8; 8] = [3, 0, 0, 8, 2, 0xF0, 0x80, 0x55];

    fn stream() -> Vec<u8> {
        [&CR[..], &DT[..], &CR[..]].concat()
    }

    fn tpdus(reassembler: &mut Reassembler) -> Vec<Bytes> {
        core::iter::from_fn(|| reassembler.take_tpdu().unwrap()).collect()
    }

    #[test]
    fn a_stream_gives_the_same_tpdus_wherever_it_is_cut() {
        let stream = stream();
        for first in 0..=stream.len() {
            for second in first..=stream.len() {
                let mut reassembler = Reassembler::new();
                let mut found = Vec::new();
                for part in [&stream[..first], &stream[first..second], &stream[second..]] {
                    assert_eq!(reassembler.push(part), part.len());
                    found.extend(tpdus(&mut reassembler));
                }
                assert_eq!(found, [&CR[4..], &DT[4..], &CR[4..]], "cut at {first} and {second}");
                assert_eq!(reassembler.held_octets(), 0);
            }
        }
        let mut reassembler = Reassembler::new();
        let found: Vec<_> = stream
            .iter()
            .flat_map(|octet| {
                reassembler.push(&[*octet]);
                tpdus(&mut reassembler)
            })
            .collect();
        assert_eq!(found.len(), 3, "octet by octet");
    }

    #[test]
    fn a_truncated_stream_holds_an_incomplete_packet() {
        for length in 0..DT.len() {
            let mut reassembler = Reassembler::new();
            reassembler.push(&DT[..length]);
            assert_eq!(reassembler.take_tpdu(), Ok(None), "{length} octets");
            assert_eq!(reassembler.held_octets(), length);
        }
    }

    #[test]
    fn an_invalid_header_is_named_by_its_offset_and_ends_the_stream() {
        for (wrong, field, at) in [
            ([2, 0, 0, 8], "TPKT version", 0),
            ([3, 0, 0, 6], "TPKT length", 2),
            ([3, 0, 0, 0], "TPKT length", 2),
        ] {
            let mut reassembler = Reassembler::new();
            reassembler.push(&DT);
            reassembler.push(&wrong);
            reassembler.push(&DT);
            assert_eq!(reassembler.take_tpdu(), Ok(Some(Bytes::from_static(&DT[4..]))));
            let fault = Malformed { field, offset: DT.len() + at };
            assert_eq!(reassembler.take_tpdu(), Err(fault));
            assert_eq!(reassembler.push(&DT), 0, "a broken stream accepts no octets");
            assert_eq!(reassembler.take_tpdu(), Err(fault), "and stays broken");
        }
    }

    #[test]
    fn a_wrong_length_is_seen_at_its_last_octet_and_not_waited_for() {
        let mut reassembler = Reassembler::new();
        reassembler.push(&[3, 0, 0]);
        assert_eq!(reassembler.take_tpdu(), Ok(None));
        reassembler.push(&[6]);
        let fault = Malformed { field: "TPKT length", offset: 2 };
        assert_eq!(reassembler.take_tpdu(), Err(fault));
    }

    #[test]
    fn a_wrong_version_is_seen_at_its_octet_and_not_waited_for() {
        let mut reassembler = Reassembler::new();
        reassembler.push(b"G");
        let fault = Malformed { field: "TPKT version", offset: 0 };
        assert_eq!(reassembler.take_tpdu(), Err(fault));
    }

    #[test]
    fn no_more_than_one_longest_packet_is_held() {
        let mut reassembler = Reassembler::new();
        let mut packet = Header { reserved: 0, packet_octets: 0xFFFF }.encode().to_vec();
        packet.resize(LONGEST, 7);
        assert_eq!(reassembler.push(&packet[..LONGEST - 1]), LONGEST - 1);
        assert_eq!(reassembler.take_tpdu(), Ok(None));
        assert_eq!(reassembler.push(&[7, 7, 7]), 1);
        assert_eq!(reassembler.room(), 0);
        assert_eq!(reassembler.take_tpdu().unwrap().unwrap().len(), LONGEST_TPDU);
        assert_eq!(reassembler.room(), LONGEST);
    }

    #[test]
    fn a_header_counts_itself() {
        // RFC 1006: a DT of 3 octets makes the shortest packet, of 7.
        let shortest = Header::of_tpdu(3).unwrap();
        assert_eq!(shortest.encode(), [3, 0, 0, 7]);
        assert_eq!(Header::of_tpdu(LONGEST_TPDU).unwrap().encode(), [3, 0, 255, 255]);
        assert_eq!(Header::of_tpdu(2), None);
        assert_eq!(Header::of_tpdu(LONGEST_TPDU + 1), None);
        for length in SHORTEST..=LONGEST {
            let header = Header::of_tpdu(length - HEADER_OCTETS).unwrap();
            assert_eq!(Header::decode(&header.encode()), Ok(header));
            assert_eq!(header.tpdu_octets(), length - HEADER_OCTETS);
        }
    }

    #[test]
    fn a_header_is_believable_only_before_a_tpdu() {
        for believable in [&CR[..], &DT, &[3, 0, 0, 7, 2, 0xF0, 0], &[3, 0, 0, 11, 6, 0x80, 0, 1]] {
            assert!(is_believable(believable), "{believable:02x?}");
        }
        // Q.931 after TPKT (H.323): protocol discriminator 8, a call reference of two octets.
        let call = [3, 0, 0, 40, 8, 2, 0x12, 0x34, 5];
        // TLS of version 3.1 begins 16 03 01; HTTP with a letter.
        let (tls, http) = ([0x16, 3, 1, 0, 40, 1, 0], *b"GET / HTTP/1.1");
        // A DT with an octet too many for class 0 and too few for the others, a length too short
        // for its TPDU, a reserved octet that is set.
        let numbered = [3, 0, 0, 8, 3, 0xF0, 0x85, 0];
        let short = [3, 0, 0, 7, 6, 0x80, 0, 1];
        let reserved = [3, 1, 0, 7, 2, 0xF0, 0x80];
        for other in [&call[..], &tls, &http, &numbered, &short, &reserved, &[3, 0, 0, 7], &[]] {
            assert!(!is_believable(other), "{other:02x?}");
        }
    }

    #[test]
    fn a_length_indicator_goes_with_its_kind() {
        // ISO 8073 13.3 to 13.12: octets after the indicator, without parameters.
        for (code, fixed) in [
            (0xE0, 6),
            (0xD0, 6),
            (0x80, 6),
            (0xC0, 5),
            (0x10, 4),
            (0x60, 4),
            (0x20, 4),
            (0x50, 4),
            (0x70, 4),
        ] {
            for indicator in 2..255_u8 {
                let octets = [3, 0, 1, 4, indicator, code, 0, 0, 0, 1, 0x4F];
                assert_eq!(is_believable(&octets), indicator >= fixed, "{code:02x} {indicator}");
            }
            // A packet of 260 octets has room for 255, which is reserved.
            assert!(!is_believable(&[3, 0, 1, 4, 255, code, 0, 0, 0, 1, 0x4F]), "{code:02x}");
        }
        for (code, believable) in [(0xE0, false), (0xD0, false), (0x80, true)] {
            let octets = [3, 0, 0, 11, 6, code, 0, 0, 0, 1, 0x50];
            assert_eq!(is_believable(&octets), believable, "{code:02x}: class 5, or reason 80");
        }
        assert!(is_believable(&[3, 0, 0, 7, 2, 0xF0, 0x80]));
        assert!(!is_believable(&[3, 0, 0, 6, 2, 0xF0, 0x80]), "4 + 1 + 2 octets do not fit 6");
    }
}

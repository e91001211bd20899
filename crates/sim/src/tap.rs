//! Observer's tap: renders a passing frame as the octets that a capture of the wire would hold.
//!
//! The output equals that of a live port or a capture file: the time of the last bit, and the
//! octets from the destination address on, with the MAC's pad and without the FCS. Meters and file
//! writers take it unchanged.
//!
//! Not modelled: non-zero pad octets, and an error of the observer's clock, which reads true time.

use crate::medium::Passage;
use crate::medium::framing::Framing;
use stack::profile;
use wire::mac;
use wire::time::Instant;

/// Converts passages to octets, in a reused buffer.
#[derive(Clone, Debug)]
pub struct Tap {
    minimum_octets: usize,
    stations: profile::Framing,
    octets: Vec<u8>,
}

/// Captured frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Captured<'a> {
    /// Time at which the last bit passed.
    pub at: Instant,
    /// Octets from the destination address to the end of the data, or of the pad.
    pub octets: &'a [u8],
}

impl Tap {
    /// Creates a tap on a medium with `framing`, whose stations make IEEE 802.3 frames.
    #[must_use]
    pub fn new(framing: Framing) -> Self {
        Self::of_stations(framing, profile::Framing::Ieee8023)
    }

    /// Creates a tap that converts frames made for another medium to their 802.3 form.
    #[must_use]
    pub fn of_stations(framing: Framing, stations: profile::Framing) -> Self {
        Self { minimum_octets: framing.minimum_octets, stations, octets: Vec::new() }
    }

    /// Returns the captured form of a passing frame; `None` if an interface would not pass it on,
    /// because it was lost or its FCS is wrong.
    pub fn capture(&mut self, passage: &Passage) -> Option<Captured<'_>> {
        if !passage.fate.arrives() {
            return None;
        }
        self.octets.clear();
        self.octets.extend_from_slice(passage.frame.head());
        self.octets.extend_from_slice(passage.frame.payload());
        let has_no_length = matches!(
            self.stations,
            profile::Framing::Ieee8024
                | profile::Framing::Ieee8024Responding
                | profile::Framing::Ieee8025
        );
        if has_no_length
            && let Some(lpdu_octets) = self.octets.len().checked_sub(mac::HEADER_OCTETS)
            && let Some(behind) = self.octets.get_mut(12..mac::HEADER_OCTETS)
        {
            let value = profile::Framing::length_or_type(lpdu_octets);
            behind.copy_from_slice(&value.to_be_bytes());
        }
        if self.octets.len() < self.minimum_octets {
            self.octets.resize(self.minimum_octets, 0);
        }
        Some(Captured { at: passage.at, octets: &self.octets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use stack::fault::Fate;
    use stack::station::Frame;

    fn passage(octets: usize, fate: Fate) -> Passage {
        let mut frame = Frame::new(Bytes::from(vec![7; octets - 2]));
        frame.prepend(&[1, 2]);
        Passage { started: Instant::ZERO, at: Instant::from_nanos(9), source: 0, frame, fate }
    }

    #[test]
    fn short_frames_are_captured_with_their_pad() {
        let mut tap = Tap::new(Framing::IEEE_802_3);
        let captured = tap.capture(&passage(20, Fate::Whole)).unwrap();
        assert_eq!(captured.at, Instant::from_nanos(9));
        assert_eq!(captured.octets[..20], [[1, 2].as_slice(), &[7; 18]].concat());
        assert_eq!(captured.octets[20..], [0; 40]);
        let captured = tap.capture(&passage(61, Fate::Damaged)).unwrap();
        assert_eq!(captured.octets.len(), 61);
        let bare =
            Tap::new(Framing::BARE).capture(&passage(20, Fate::Whole)).map(|c| c.octets.len());
        assert_eq!(bare, Some(20));
    }

    #[test]
    fn frames_of_a_ring_are_shown_as_802_3_carries_them() {
        let mut tap = Tap::of_stations(Framing::IEEE_802_3, profile::Framing::Ieee8025);
        // 86 octets after the 14-octet header; then 2,000, beyond any length field (802.1AC).
        let captured = tap.capture(&passage(100, Fate::Whole)).unwrap();
        assert_eq!(captured.octets[12..14], [0, 86]);
        let captured = tap.capture(&passage(2_014, Fate::Whole)).unwrap();
        assert_eq!(captured.octets[12..14], [0x88, 0x70]);
        assert_eq!(captured.octets.len(), 2_014);
    }

    #[test]
    fn a_frame_that_no_interface_delivers_is_not_captured() {
        let mut tap = Tap::new(Framing::IEEE_802_3);
        assert_eq!(tap.capture(&passage(60, Fate::Lost)), None);
        assert_eq!(tap.capture(&passage(60, Fate::BadFcs)), None);
        assert!(tap.capture(&passage(60, Fate::Copied)).is_some());
    }
}

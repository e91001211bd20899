//! Framing overhead of a MAC, counted in bits.
//!
//! Not modelled: the octets themselves. A simulated frame carries neither preamble, pad nor FCS;
//! only their transmission time counts.

use wire::mac;

/// Octets of data in a frame of `frame_octets`: all but its addresses and the two octets after
/// them, which count as framing.
#[must_use]
pub const fn data_octets(frame_octets: usize) -> usize {
    frame_octets.saturating_sub(mac::HEADER_OCTETS)
}

/// Framing around a frame's octets (destination address to the end of its data).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Framing {
    /// Octets before the frame: preamble and start delimiter.
    pub preamble_octets: usize,
    /// Octets after the frame: the frame check sequence.
    pub fcs_octets: usize,
    /// Minimum length in octets, FCS not counted; shorter frames are padded.
    pub minimum_octets: usize,
    /// Maximum length in octets, FCS not counted; longer frames are refused.
    pub maximum_octets: usize,
    /// Gap between two frames of one sender, in bit times.
    pub gap_bits: u64,
}

impl Framing {
    /// IEEE 802.3: preamble and SFD of 7 + 1 octets, frames of 64 to 1518 octets with the FCS, a
    /// gap of 96 bit times.
    pub const IEEE_802_3: Self = Self {
        preamble_octets: 8,
        fcs_octets: 4,
        minimum_octets: 60,
        maximum_octets: 1_514,
        gap_bits: 96,
    };

    /// No framing, and no limit to the frame's length.
    pub const BARE: Self = Self {
        preamble_octets: 0,
        fcs_octets: 0,
        minimum_octets: 0,
        maximum_octets: usize::MAX,
        gap_bits: 0,
    };

    /// Bits on the wire of a frame of `frame_octets`, without the gap.
    #[must_use]
    pub const fn wire_bits(&self, frame_octets: usize) -> u64 {
        let padded =
            if frame_octets < self.minimum_octets { self.minimum_octets } else { frame_octets };
        (self.preamble_octets + padded + self.fcs_octets) as u64 * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_costs_its_octets_and_what_is_put_around_them() {
        // 8 (64 + 8) = 576 and 8 (1518 + 8) = 12,208 bits.
        assert_eq!(Framing::IEEE_802_3.wire_bits(14), 576);
        assert_eq!(Framing::IEEE_802_3.wire_bits(60), 576);
        assert_eq!(Framing::IEEE_802_3.wire_bits(1_514), 12_208);
        assert_eq!(Framing::BARE.wire_bits(3), 24);
    }
}

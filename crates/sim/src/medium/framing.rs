//! What a MAC puts around a frame, counted in bits.
//!
//! Not modelled: the octets themselves. A simulated frame carries neither preamble, pad nor FCS;
//! only the time they take is charged.

use wire::mac;

/// Octets of data in a frame of so many octets: all but its addresses and the two octets behind
/// them, which are counted among what is sent around the data.
#[must_use]
pub const fn data_octets(frame_octets: usize) -> usize {
    frame_octets.saturating_sub(mac::HEADER_OCTETS)
}

/// What is sent around a frame's octets (destination address to the end of its data).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Framing {
    /// Octets in front: preamble and start delimiter.
    pub preamble_octets: usize,
    /// Octets behind: the frame check sequence.
    pub fcs_octets: usize,
    /// Shorter frames are padded to this many octets, FCS not counted.
    pub minimum_octets: usize,
    /// Longer frames are refused, FCS not counted.
    pub maximum_octets: usize,
    /// Silence between two frames of one sender, in bit times.
    pub gap_bits: u64,
}

impl Framing {
    /// IEEE 802.3: 7 + 1 octets in front, 64 to 1518 octets with the FCS, 96 bit times between
    /// frames.
    pub const IEEE_802_3: Self = Self {
        preamble_octets: 8,
        fcs_octets: 4,
        minimum_octets: 60,
        maximum_octets: 1_514,
        gap_bits: 96,
    };

    /// Nothing around the frame, and no limit to its length.
    pub const BARE: Self = Self {
        preamble_octets: 0,
        fcs_octets: 0,
        minimum_octets: 0,
        maximum_octets: usize::MAX,
        gap_bits: 0,
    };

    /// Bits on the wire for a frame of so many octets, without the gap.
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

//! Damage that the FCS does not show: it happened in a bridge or an interface, behind the MAC's
//! check.
//!
//! Not modelled: octets lost or inserted; a damaged frame keeps its length.

use crate::station::Frame;
use bytes::BytesMut;
use smallvec::SmallVec;
use stats::rng::Stream;

/// Damage that the FCS does not show.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Corruption {
    /// How probable it is for a frame.
    pub probability: f64,
    /// Octets at the start of the frame that stay as they are: 14 for the header of the MAC.
    pub spared_octets: usize,
    /// What happens to the others.
    pub damage: Damage,
}

/// What happens to a damaged frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Damage {
    /// From one to so many different bits are inverted; each number is equally probable.
    BitFlips {
        /// The most bits.
        at_most: u8,
    },
    /// One octet takes another value, but never 00 for FF or FF for 00: Fletcher's checksum counts
    /// modulo 255 and sees every such change of one octet. Of two in one TPDU, which came in two
    /// segments, it may see neither.
    OneOctet,
    /// One octet grows by 1 to so many, modulo 255: Fletcher's checksum also sees that several have
    /// grown, as long as by less than 255 together.
    SmallStep {
        /// The most.
        at_most: u8,
    },
}

/// Chance for corruption.
#[derive(Clone, Debug)]
pub(super) struct Draws {
    whether: Stream,
    place: Stream,
}

impl Draws {
    pub(super) fn new(stream: impl Fn(&'static str) -> Stream) -> Self {
        Self { whether: stream("corruption"), place: stream("corruption place") }
    }

    /// The next frame as it arrives, if it is damaged. A frame of spared octets alone never is.
    pub(super) fn damage(&mut self, plan: Corruption, frame: &Frame) -> Option<Frame> {
        let chosen = self.whether.chance(plan.probability);
        let octets = frame.len().saturating_sub(plan.spared_octets) as u64;
        if !chosen || octets == 0 {
            return None;
        }
        let mut damaged = BytesMut::from(&frame.to_bytes()[..]);
        let data = damaged.get_mut(plan.spared_octets..).unwrap_or_default();
        match plan.damage {
            Damage::BitFlips { at_most } => {
                let flips = 1 + self.place.below(u64::from(at_most));
                self.flip_bits(data, flips.min(octets * 8) as usize);
            }
            Damage::OneOctet => self.step(data, 254),
            Damage::SmallStep { at_most } => self.step(data, at_most),
        }
        Some(Frame::new(damaged.freeze()))
    }

    /// A step of 1 to 254 modulo 255 leads from any value to another remainder.
    fn step(&mut self, data: &mut [u8], at_most: u8) {
        let place = self.place.below(data.len() as u64) as usize;
        if let Some(octet) = data.get_mut(place) {
            let step = 1 + self.place.below(u64::from(at_most.clamp(1, 254)));
            *octet = ((u64::from(*octet) + step) % 255) as u8;
        }
    }

    fn flip_bits(&mut self, data: &mut [u8], flips: usize) {
        let mut flipped: SmallVec<[u64; 8]> = SmallVec::new();
        while flipped.len() < flips {
            let bit = self.place.below(data.len() as u64 * 8);
            if flipped.contains(&bit) {
                continue;
            }
            flipped.push(bit);
            if let Some(octet) = data.get_mut((bit / 8) as usize) {
                *octet ^= 1 << (bit % 8);
            }
        }
    }
}

//! Corruption that the FCS does not detect, because it happened in a bridge or an interface after
//! the MAC's check.
//!
//! Not modelled: octets lost or inserted; a corrupt frame keeps its length.

use crate::station::Frame;
use bytes::BytesMut;
use smallvec::SmallVec;
use stats::rng::Stream;

/// Corruption that the FCS does not detect.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Corruption {
    /// Probability per frame.
    pub probability: f64,
    /// Octets at the start of the frame that stay intact: 14 for the MAC header.
    pub spared_octets: usize,
    /// Type of the damage to the other octets.
    pub damage: Damage,
}

/// Type of damage to a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Damage {
    /// From one to `at_most` different bits are inverted; each number is equally probable.
    BitFlips {
        /// Maximum number of bits.
        at_most: u8,
    },
    /// One octet takes another value, but never 00 for FF or FF for 00. Fletcher's checksum, modulo
    /// 255, detects every such change of one octet. Two of them in one TPDU, from two segments, may
    /// escape it.
    OneOctet,
    /// One octet grows by 1 to `at_most`, modulo 255. Fletcher's checksum also detects several such
    /// octets, as long as they grow by less than 255 together.
    SmallStep {
        /// Maximum growth.
        at_most: u8,
    },
}

/// Random streams of corruption.
#[derive(Clone, Debug)]
pub(super) struct Draws {
    whether: Stream,
    place: Stream,
}

impl Draws {
    pub(super) fn new(stream: impl Fn(&'static str) -> Stream) -> Self {
        Self { whether: stream("corruption"), place: stream("corruption place") }
    }

    /// Returns the next frame as it arrives, if it is damaged. A frame of spared octets alone is
    /// never damaged.
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

    /// A step of 1 to 254 modulo 255 always changes the remainder.
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

//! Files of one end.

use bytes::Bytes;
use std::collections::BTreeMap;
use wire::file_transfer::Status;

/// Longest generated file in octets: 1 TB.
const LONGEST_GENERATED: u64 = 1_000_000_000_000;

/// Files of one end of a file transfer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Store {
    /// Files whose octets follow from their names.
    Generated(Generated),
    /// Files in memory.
    Kept(Kept),
}

/// Files whose octets follow from their names, `NUMBER/LENGTH`: nothing is stored. A file that is
/// written is compared with the octets that its name stands for.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Generated {
    /// Length to which files shrink once they are open.
    pub shrinks_to: Option<u64>,
}

/// Files in memory.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Kept {
    /// Files that can be read, by name.
    pub files: BTreeMap<Bytes, Bytes>,
    /// Files that were written, as far as they have arrived.
    pub written: BTreeMap<Bytes, Vec<u8>>,
    /// Limit of the octets of all written files.
    pub most_octets: u64,
}

/// Octet of a generated file: SplitMix64 of the number and the word's place.
fn octet(number: u64, offset: u64) -> u8 {
    let mut word = number.wrapping_mul(0xD129_0A8E_2C13_7F4B).wrapping_add(offset / 8);
    word = word.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^= word >> 31;
    word.to_be_bytes()[(offset % 8) as usize]
}

impl Generated {
    /// Name of a generated file.
    #[must_use]
    pub fn name(number: u64, octets: u64) -> Bytes {
        Bytes::from(format!("{number}/{octets}"))
    }

    /// Number and length in a name.
    fn of(name: &[u8]) -> Option<(u64, u64)> {
        let (number, octets) = core::str::from_utf8(name).ok()?.split_once('/')?;
        let octets: u64 = octets.parse().ok()?;
        (octets <= LONGEST_GENERATED).then_some((number.parse().ok()?, octets))
    }

    /// Octets of a generated file from `offset` to `end`.
    #[must_use]
    pub fn octets(name: &[u8], offset: u64, end: u64) -> Bytes {
        let Some((number, octets)) = Self::of(name) else { return Bytes::new() };
        (offset..end.min(octets)).map(|place| octet(number, place)).collect()
    }
}

impl Store {
    /// Length of a file that can be read.
    #[must_use]
    pub fn length(&self, name: &[u8]) -> Option<u64> {
        match self {
            Self::Generated(_) => Generated::of(name).map(|(_, octets)| octets),
            Self::Kept(kept) => kept.files.get(name).map(|file| file.len() as u64),
        }
    }

    /// Up to `n` octets of a file from `offset`: none behind its end.
    #[must_use]
    pub fn read(&self, name: &[u8], offset: u64, n: usize) -> Bytes {
        let end = offset.saturating_add(n as u64);
        match self {
            Self::Generated(generated) => {
                let end = end.min(generated.shrinks_to.unwrap_or(u64::MAX));
                Generated::octets(name, offset, end)
            }
            Self::Kept(kept) => {
                let Some(file) = kept.files.get(name) else { return Bytes::new() };
                let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(file.len());
                file.slice(place(offset)..place(end))
            }
        }
    }

    /// Prepares to receive a file of this length.
    pub(super) fn create(&mut self, name: &Bytes, octets: u64) -> Status {
        match self {
            Self::Generated(_) => match Generated::of(name) {
                Some((_, expected)) if expected == octets => Status::Ok,
                Some(_) => Status::Differs,
                None => Status::NoSuchFile,
            },
            Self::Kept(kept) => {
                kept.written.remove(name);
                let held: usize = kept.written.values().map(Vec::len).sum();
                if octets > kept.most_octets.saturating_sub(held as u64) {
                    return Status::TooLong;
                }
                kept.written.insert(name.clone(), Vec::new());
                Status::Ok
            }
        }
    }

    /// Takes octets of a file that is received.
    pub(super) fn write(&mut self, name: &Bytes, offset: u64, data: &[u8]) -> Status {
        match self {
            Self::Generated(_) => {
                let expected = Generated::octets(name, offset, offset + data.len() as u64);
                if expected[..] == *data { Status::Ok } else { Status::Differs }
            }
            Self::Kept(kept) => {
                let held: usize = kept.written.values().map(Vec::len).sum();
                if data.len() as u64 > kept.most_octets.saturating_sub(held as u64) {
                    return Status::TooLong;
                }
                let Some(file) = kept.written.get_mut(name) else { return Status::NoSuchFile };
                file.extend_from_slice(data);
                Status::Ok
            }
        }
    }
}

//! Histograms in the form that the tools of HdrHistogram exchange: version 2, compressed, as base64.
//!
//! The payload is that of `V2DeflateSerializer` of the `hdrhistogram` crate: cookie, settings and counts as
//! ZigZag LEB128, compressed by zlib. Two significant digits give classes that are exact below 256, then 128
//! for each doubling.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use core::fmt;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};
use std::io::Read as _;

/// Significant digits of a value.
const DIGITS: u8 = 2;
/// Cookie of a compressed histogram of version 2. Behind it stands the length of the compressed octets.
const COMPRESSED: u32 = 0x1c84_9314;
/// Most octets of a histogram without compression: each of its classes, of which 2 digits have up to 7,424, takes
/// at most 9.
const MOST_OCTETS: u64 = 72 << 10;
/// Octets of a count that no histogram has: the one whose negation overflows.
const OVERFLOW: [u8; 9] = [0xFF; 9];

/// Returns the text of a histogram, from a value of each class and the count of the class.
#[must_use]
pub fn encode(classes: impl IntoIterator<Item = (u64, u64)>) -> String {
    let mut histogram = Histogram::<u64>::new(DIGITS).expect("two digits are accepted");
    for (value, times) in classes {
        histogram.record_n(value, times).expect("the histogram resizes itself");
    }
    let mut octets = Vec::new();
    V2DeflateSerializer::new()
        .serialize(&histogram, &mut octets)
        .expect("a vector takes all octets, and counters fit");
    STANDARD.encode(octets)
}

/// Reason why a text is no histogram that can be added, as the field that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Malformed {
    /// The text is not base64.
    Base64,
    /// The cookie is not that of a compressed histogram of version 2.
    Cookie,
    /// The octets cannot be decompressed, or are more than such a histogram has.
    Compression,
    /// The settings differ from those of [`encode`]: this one has this value, and not the one behind it.
    Setting(&'static str, u64, u64),
    /// The counts do not fit the settings.
    Counts,
    /// The sum of the counts exceeds 63 bits.
    TooMany,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Base64 => f.write_str("the text is not base64"),
            Self::Cookie => {
                f.write_str("the cookie is not that of a compressed histogram, version 2")
            }
            Self::Compression => f.write_str("the compressed octets cannot be read"),
            Self::Setting(name, found, needed) => {
                write!(f, "the field {name} is {found}, not {needed}")
            }
            Self::Counts => f.write_str("the counts do not fit the settings"),
            Self::TooMany => f.write_str("the sum of the counts exceeds 63 bits"),
        }
    }
}

impl core::error::Error for Malformed {}

/// Sum of histograms, in at most 60 kB.
#[derive(Clone, Debug)]
pub struct Sum {
    histogram: Histogram<u64>,
}

impl Default for Sum {
    fn default() -> Self {
        Self { histogram: Histogram::new(DIGITS).expect("two digits are accepted") }
    }
}

impl Sum {
    /// Adds a histogram in the form of [`encode`].
    ///
    /// # Errors
    /// Fails if the text is no such histogram, or if the sum of all counts exceeds 63 bits; nothing is added then.
    pub fn add(&mut self, text: &str) -> Result<(), Malformed> {
        let more = decode(text)?;
        let count = self.count().checked_add(more.len());
        if count.is_none_or(|count| count > u64::MAX >> 1) {
            return Err(Malformed::TooMany);
        }
        self.histogram.add(&more).map_err(|_| Malformed::Counts)
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Least value of the lowest class; none if there are no values.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        (self.count() > 0).then(|| self.histogram.min())
    }

    /// Greatest value of the highest class; none if there are no values.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        (self.count() > 0).then(|| self.histogram.max())
    }

    /// Value that this share of the values does not exceed (nearest rank), as the greatest value of its class; none if
    /// there are no values.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<u64> {
        (self.count() > 0).then(|| self.histogram.value_at_quantile(share))
    }

    /// Greatest value of each class that has values and its count, ascending.
    pub fn classes(&self) -> impl Iterator<Item = (u64, u64)> {
        let steps = self.histogram.iter_recorded();
        steps.map(|step| (step.value_iterated_to(), step.count_at_value()))
    }

    /// Text of the sum, in the form of [`encode`].
    #[must_use]
    pub fn encode(&self) -> String {
        encode(self.classes())
    }
}

/// Histogram of a text. Its octets and settings have bounds, so that a hostile text allocates no more than
/// a histogram of [`encode`].
fn decode(text: &str) -> Result<Histogram<u64>, Malformed> {
    let octets = STANDARD.decode(text).map_err(|_| Malformed::Base64)?;
    let compressed = octets.get(8..).ok_or(Malformed::Cookie)?;
    if number(&octets, 0, 4) != u64::from(COMPRESSED) {
        return Err(Malformed::Cookie);
    }
    if number(&octets, 4, 4) != compressed.len() as u64 {
        return Err(Malformed::Compression);
    }
    let mut plain = Vec::new();
    let mut from = ZlibDecoder::new(compressed).take(MOST_OCTETS + 1);
    from.read_to_end(&mut plain).map_err(|_| Malformed::Compression)?;
    // Cookie, length of the counts, offset, digits, least and greatest value, ratio: 40 octets.
    let counts = plain.get(40..).ok_or(Malformed::Compression)?;
    if plain.len() as u64 > MOST_OCTETS || number(&plain, 4, 4) > counts.len() as u64 {
        return Err(Malformed::Compression);
    }
    let settings =
        [("digits", number(&plain, 12, 4), DIGITS.into()), ("low", number(&plain, 16, 8), 1)];
    for (name, found, needed) in settings {
        if found != needed {
            return Err(Malformed::Setting(name, found, needed));
        }
    }
    if number(&plain, 24, 8) > u64::MAX >> 1 || counts.windows(9).any(|these| these == OVERFLOW) {
        return Err(Malformed::Counts);
    }
    Deserializer::new().deserialize(&mut &plain[..]).map_err(|_| Malformed::Counts)
}

/// Number in these octets, the first being the highest; zero beyond their end.
fn number(octets: &[u8], from: usize, length: usize) -> u64 {
    let these = octets.get(from..from + length).unwrap_or_default();
    these.iter().fold(0, |number, octet| number << 8 | u64::from(*octet))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::V2Serializer;

    fn sum(texts: &[&str]) -> Result<Sum, Malformed> {
        let mut sum = Sum::default();
        texts.iter().try_for_each(|text| sum.add(text))?;
        Ok(sum)
    }

    /// Greatest value of each class with its count, ascending.
    fn decode(text: &str) -> Vec<(u64, u64)> {
        sum(&[text]).unwrap().classes().collect()
    }

    /// A compressed histogram with these octets.
    fn packed(plain: &[u8]) -> String {
        let mut octets = Vec::new();
        let mut zlib = flate2::read::ZlibEncoder::new(plain, flate2::Compression::best());
        zlib.read_to_end(&mut octets).unwrap();
        let length = u32::try_from(octets.len()).unwrap();
        STANDARD.encode([&COMPRESSED.to_be_bytes(), &length.to_be_bytes()[..], &octets].concat())
    }

    /// Octets of a histogram with these digits and values, without compression.
    fn plain(digits: u8, values: &[u64]) -> Vec<u8> {
        let mut histogram = Histogram::<u64>::new(digits).unwrap();
        values.iter().for_each(|value| histogram.record(*value).unwrap());
        let mut octets = Vec::new();
        V2Serializer::new().serialize(&histogram, &mut octets).unwrap();
        octets
    }

    #[test]
    fn parts_add_up_to_the_histogram_of_the_whole() {
        let values: Vec<u64> =
            (1..=2_000_u64).map(|n| n.pow(3)).chain([0, u64::MAX >> 2]).collect();
        let (left, right) = values.split_at(700);
        let of = |values: &[u64]| encode(values.iter().map(|value| (*value, 1)));
        let merged = sum(&[&of(left), &of(&[]), &of(right)]).unwrap();
        assert_eq!(merged.encode(), of(&values));
        assert_eq!((merged.count(), merged.min()), (2_002, Some(0)));
        // The rank of the median is 1,001: value 1,000 cubed, in a class of at most 1/128.
        let median = merged.quantile(0.5).unwrap();
        assert!((1_000_000_000..=1_007_812_500).contains(&median), "{median}");
        assert_eq!(merged.max(), Some(u64::MAX >> 2));
        let none = sum(&[]).unwrap();
        assert_eq!(
            (none.count(), none.min(), none.max(), none.quantile(0.5)),
            (0, None, None, None)
        );
    }

    #[test]
    fn a_hostile_text_is_refused_by_its_field() {
        let good = plain(2, &[7, 1_000, 70_000]);
        assert_eq!(decode(&packed(&good)), [(7, 1), (1_003, 1), (70_143, 1)]);
        check("no base64!", Malformed::Base64);
        check("", Malformed::Cookie);
        check(&STANDARD.encode(&good), Malformed::Cookie);
        check(&packed(&good).replace("HIST", "HISU"), Malformed::Cookie);
        check(&packed(&good).replace("HISTFAAA", "HISTFAAB"), Malformed::Compression);
        check(&packed(&plain(3, &[7])), Malformed::Setting("digits", 3, 2));
        check(&packed(&good[..30]), Malformed::Compression);
        check(&packed(&good[..good.len() - 1]), Malformed::Compression);
        let zeros = vec![0; 64 << 20];
        check(&packed(&zeros), Malformed::Compression);
        let with = |at: usize, octets: &[u8]| {
            let mut changed = good.clone();
            changed[at..at + octets.len()].copy_from_slice(octets);
            packed(&changed)
        };
        // The length of the counts is four gigabytes, the greatest value has 64 bits.
        check(&with(4, &[0xFF; 4]), Malformed::Compression);
        check(&with(16, &4_u64.to_be_bytes()), Malformed::Setting("low", 4, 1));
        check(&with(24, &u64::MAX.to_be_bytes()), Malformed::Counts);
        check(&with(24, &0_u64.to_be_bytes()), Malformed::Counts);
        // Counts: a run of zeros of 2^63, values beyond the greatest class, 2^62 values twice.
        let counted = |counts: &[u8]| {
            let length = u32::try_from(counts.len()).unwrap();
            let mut changed = good[..40].to_vec();
            changed[4..8].copy_from_slice(&length.to_be_bytes());
            changed.extend_from_slice(counts);
            packed(&changed)
        };
        check(&counted(&OVERFLOW), Malformed::Counts);
        check(&counted(&[0xFD, 0xFF, 0xFF, 0x7F, 2]), Malformed::Counts);
        let many = counted(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80]);
        assert_eq!(decode(&many), [(0, 1 << 62)]);
        let twice = sum(&[&many, &many]).map(|sum| sum.count());
        assert_eq!(twice.unwrap_err(), Malformed::TooMany);
    }

    #[track_caller]
    fn check(text: &str, expected: Malformed) {
        assert_eq!(sum(&[text]).map(|sum| sum.count()), Err(expected));
    }

    #[test]
    fn a_histogram_is_read_as_it_was_written() {
        // 1,000 has eight leading bits and two more: its class is 1,000 to 1,003.
        let text = encode([(3, 2), (255, 1), (1_000, 5), (1 << 40, 7)]);
        let greatest = (1 << 40) + (1 << 33) - 1;
        assert_eq!(decode(&text), [(3, 2), (255, 1), (1_003, 5), (greatest, 7)]);
        assert_eq!(decode(&encode([])), []);
        // The cookie of a compressed histogram of version 2, 0x1c849314, begins every text of its tools.
        assert!(text.starts_with("HISTFAAA"), "{text}");
    }
}

//! Histograms in the form that the tools of HdrHistogram exchange: version 2, compressed, as base64.
//!
//! The payload is that of `V2DeflateSerializer` of the `hdrhistogram` crate: cookie, settings and counts as
//! ZigZag LEB128, compressed by zlib. Two significant digits give classes that are exact below 256, then 128
//! for each doubling.
//!
//! Not read: version 1, and uncompressed histograms.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use core::fmt;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};

/// Significant digits of a value.
const DIGITS: u8 = 2;
/// Most octets of a text that is read; a histogram of all 63-bit values has a tenth of it.
const MOST_OCTETS: usize = 1 << 20;

/// Error in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Malformed {
    /// It is longer than any histogram.
    Long,
    /// It is no base64.
    NoBase64,
    /// The octets are no compressed histogram of version 2.
    NoHistogram,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Long => "the text is longer than a histogram",
            Self::NoBase64 => "the text is not base64",
            Self::NoHistogram => "not a compressed histogram of HdrHistogram, version 2",
        })
    }
}

impl core::error::Error for Malformed {}

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

/// Returns the greatest value of each class with its count, ascending.
///
/// # Errors
/// A text that is not a compressed histogram of version 2.
pub fn decode(text: &str) -> Result<Vec<(u64, u64)>, Malformed> {
    if text.len() > MOST_OCTETS {
        return Err(Malformed::Long);
    }
    let octets = STANDARD.decode(text).map_err(|_| Malformed::NoBase64)?;
    let histogram: Histogram<u64> =
        Deserializer::new().deserialize(&mut &octets[..]).map_err(|_| Malformed::NoHistogram)?;
    let steps = histogram.iter_recorded();
    Ok(steps.map(|step| (step.value_iterated_to(), step.count_at_value())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_is_read_as_it_was_written() {
        // 1,000 has eight leading bits and two more: its class is 1,000 to 1,003.
        let text = encode([(3, 2), (255, 1), (1_000, 5), (1 << 40, 7)]);
        let greatest = (1 << 40) + (1 << 33) - 1;
        assert_eq!(decode(&text).unwrap(), [(3, 2), (255, 1), (1_003, 5), (greatest, 7)]);
        assert_eq!(decode(&encode([])).unwrap(), []);
        // The cookie of a compressed histogram of version 2, 0x1c849314, begins every text of its tools.
        assert!(text.starts_with("HISTFAAA"), "{text}");
    }

    #[test]
    fn a_text_that_is_no_histogram_is_refused() {
        assert_eq!(decode("HISTFAAA?"), Err(Malformed::NoBase64));
        assert_eq!(decode("aGVsbG8="), Err(Malformed::NoHistogram));
        let text = encode([(3, 2)]);
        assert_eq!(decode(&text[..text.len() / 8 * 4]), Err(Malformed::NoHistogram));
        assert_eq!(decode(&"A".repeat(MOST_OCTETS + 4)), Err(Malformed::Long));
    }
}

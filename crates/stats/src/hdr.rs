//! Histograms in the form that the tools of HdrHistogram exchange: version 2, compressed, as base64.
//!
//! The payload is that of `V2DeflateSerializer` of the `hdrhistogram` crate: cookie, settings and counts as
//! ZigZag LEB128, compressed by zlib. Two significant digits give classes that are exact below 256, then 128
//! for each doubling.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};

/// Significant digits of a value.
const DIGITS: u8 = 2;

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

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::Deserializer;

    /// Greatest value of each class with its count, ascending.
    fn decode(text: &str) -> Vec<(u64, u64)> {
        let octets = STANDARD.decode(text).unwrap();
        let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut &octets[..]).unwrap();
        let steps = histogram.iter_recorded();
        steps.map(|step| (step.value_iterated_to(), step.count_at_value())).collect()
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

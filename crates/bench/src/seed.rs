//! Seeds in JSON: decimal strings, because many readers keep only 53 bits of a number.

use core::fmt;
use serde::de::{Deserializer, Error, Unexpected, Visitor};
use serde::ser::Serializer;

/// Writes a seed as a string.
///
/// # Errors
/// Returns the errors of the serializer.
pub fn serialize<S: Serializer>(seed: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(seed)
}

/// Reads a seed from a string, or from a number as written by older versions.
///
/// # Errors
/// Returns the errors of the deserializer, and fails on a text that is not a seed.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    deserializer.deserialize_any(Either)
}

/// Visitor for both forms.
struct Either;

impl Visitor<'_> for Either {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a seed: a whole number, or a string of its digits")
    }

    fn visit_u64<E: Error>(self, seed: u64) -> Result<u64, E> {
        Ok(seed)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
        text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    struct Record {
        #[serde(with = "super")]
        seed: u64,
    }

    #[test]
    fn a_seed_of_64_bits_survives_a_reader_with_53() {
        let seed = u64::MAX - 1;
        let text = serde_json::to_string(&Record { seed }).unwrap();
        assert_eq!(text, "{\"seed\":\"18446744073709551614\"}");
        let read: Record = serde_json::from_str(&text).unwrap();
        assert_eq!(read.seed, seed);
    }

    #[test]
    fn a_number_of_an_older_version_is_read_but_no_words() {
        let seed = |text: &str| serde_json::from_str::<Record>(text).map(|read| read.seed);
        assert_eq!(seed("{\"seed\":7}").unwrap(), 7);
        assert!(seed("{\"seed\":\"seven\"}").is_err());
        assert!(seed("{\"seed\":-1}").is_err());
    }
}

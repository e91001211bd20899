//! Whose frames are shown: those from a station, those to a station, or all.

use core::fmt;
use wire::addr::{Mac, NotAnAddress};

/// What the first twelve octets of a frame must be. No station means that all match.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Filter {
    /// The station that sent the frame.
    pub(crate) source: Option<Mac>,
    /// The station or group it is for.
    pub(crate) destination: Option<Mac>,
}

impl Filter {
    /// Whether a frame passes. One that is too short to have addresses passes only where all do.
    pub(super) fn matches_frame(&self, octets: &[u8]) -> bool {
        let address =
            |range| octets.get(range).and_then(|octets| <[u8; 6]>::try_from(octets).ok()).map(Mac);
        (self.destination.is_none() || self.destination == address(0..6))
            && (self.source.is_none() || self.source == address(6..12))
    }

    /// Whether something between these two stations passes.
    pub(super) fn matches(&self, source: Mac, destination: Mac) -> bool {
        self.source.is_none_or(|wanted| wanted == source)
            && self.destination.is_none_or(|wanted| wanted == destination)
    }

    /// Reads `all`, `from MAC`, `to MAC`, or both of the latter.
    ///
    /// # Errors
    /// Says what is wrong with the text.
    pub(super) fn parse(text: &str) -> Result<Self, NotAFilter> {
        let mut filter = Self::default();
        let mut words = text.split_whitespace();
        while let Some(word) = words.next() {
            let place = match word {
                "all" => continue,
                "from" => &mut filter.source,
                "to" => &mut filter.destination,
                _ => return Err(NotAFilter::Word(word.to_owned())),
            };
            let address = words.next().unwrap_or_default();
            if place.replace(address.parse().map_err(NotAFilter::Address)?).is_some() {
                return Err(NotAFilter::Word(word.to_owned()));
            }
        }
        Ok(filter)
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.source, self.destination) {
            (None, None) => f.write_str("all"),
            (Some(source), None) => write!(f, "from {source}"),
            (None, Some(destination)) => write!(f, "to {destination}"),
            (Some(source), Some(destination)) => write!(f, "from {source} to {destination}"),
        }
    }
}

/// Text that is no filter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum NotAFilter {
    /// A word that has no place there.
    Word(String),
    /// No station behind `from` or `to`.
    Address(NotAnAddress),
}

impl fmt::Display for NotAFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => write!(f, "not expected: {word:?}"),
            Self::Address(error) => error.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_reads_as_it_prints() {
        for text in ["all", "from 02:00:00:00:00:01", "from 02:00:00:00:00:01 to ff:ff:ff:ff:ff:ff"]
        {
            assert_eq!(Filter::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Filter::parse("").unwrap(), Filter::default());
        for text in ["from", "to 02:00", "by 02:00:00:00:00:01", "to 1:1:1:1:1:1 to 1:1:1:1:1:1"] {
            assert!(Filter::parse(text).is_err(), "{text:?} was taken for a filter");
        }
    }

    #[test]
    fn a_frame_passes_by_its_addresses() {
        // Destination first on the wire.
        let frame = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0, 3];
        check("all", &frame, true);
        check("from 02:00:00:00:00:01", &frame, true);
        check("from 02:00:00:00:00:02", &frame, false);
        check("to 02:00:00:00:00:02", &frame, true);
        check("from 02:00:00:00:00:01 to 02:00:00:00:00:03", &frame, false);
        check("from 02:00:00:00:00:01", &frame[..8], false);
        check("all", &[], true);
    }

    #[track_caller]
    fn check(filter: &str, frame: &[u8], passes: bool) {
        let filter = Filter::parse(filter).unwrap();
        assert_eq!(filter.matches_frame(frame), passes, "{filter}");
        if let [_, _, _, _, _, to, _, _, _, _, _, from, ..] = frame {
            let mac = |octet: &u8| Mac([2, 0, 0, 0, 0, *octet]);
            assert_eq!(filter.matches(mac(from), mac(to)), passes, "{filter}");
        }
    }
}

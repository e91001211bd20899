//! Values of measures in a record: a JSON object in the order in which they were inserted or read.

use core::fmt;
use meter::observation::DelayKind;
use meter::registry::{Aggregation, Measure, Values};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Maximum number of measures stored from a record: a meter has about a hundred; size classes may
/// have any bounds.
const KEPT: usize = 4_096;

/// Names of `tidewire.measures/1` that have changed since.
const OLDER: [(&str, Measure); 1] = [("closed_window_ns", DelayKind::ClosedWindow.total())];

/// Values of measures. Unknown names in a record are skipped.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts(pub Values);

impl Counts {
    /// Creates counts from measures by name; none if a name is not that of a measure.
    #[must_use]
    pub fn named(values: &[(&str, u64)]) -> Option<Self> {
        let of = |(name, value): &(&str, u64)| Some((Measure::from_name(name)?, *value));
        values.iter().map(of).collect::<Option<Values>>().map(Self)
    }

    /// Returns the value of a measure, if there is one.
    pub fn get(&self, measure: Measure) -> Option<u64> {
        self.0.iter().find(|(known, _)| *known == measure).map(|(_, value)| *value)
    }

    /// Returns the value of a measure, zero if there is none.
    pub fn count(&self, measure: Measure) -> u64 {
        self.get(measure).unwrap_or(0)
    }

    /// Gives up the room in which more values could be listed: for values that are kept, of thousands of hosts and
    /// connections.
    pub fn shrink(&mut self) {
        self.0.shrink_to_fit();
    }

    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the values of a later time.
    pub fn add(&mut self, later: &Self) {
        if self.is_empty() {
            self.clone_from(later);
            return;
        }
        let is_kept = |rule| !matches!(rule, Aggregation::Latest | Aggregation::Quantile);
        self.0.retain(|(measure, _)| is_kept(measure.aggregation()));
        for (place, (measure, value)) in later.0.iter().enumerate() {
            let rule = measure.aggregation();
            if rule == Aggregation::Quantile {
                continue;
            }
            // Most lists have the same measures in the same places.
            let at = self.0.get(place).filter(|(known, _)| known == measure).map(|_| place);
            let at = at.or_else(|| self.0.iter().position(|(known, _)| known == measure));
            let has_room = self.0.len() < KEPT;
            match at.and_then(|at| self.0.get_mut(at)) {
                None if has_room => self.0.push((*measure, *value)),
                None => {}
                Some((_, known)) => *known = together(rule, *known, *value),
            }
        }
    }
}

/// Combines the values of two parts, the later one second.
fn together(rule: Aggregation, earlier: u64, later: u64) -> u64 {
    match rule {
        Aggregation::Sum => earlier.saturating_add(later),
        Aggregation::Maximum => earlier.max(later),
        // A part without values has no minimum; its record holds zero.
        Aggregation::Minimum if earlier == 0 || later == 0 => earlier.max(later),
        Aggregation::Minimum => earlier.min(later),
        Aggregation::Latest | Aggregation::Quantile => later,
    }
}

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        let mut buffer = String::new();
        for (measure, value) in &self.0 {
            if let Some(name) = measure.static_name() {
                map.serialize_entry(name, value)?;
                continue;
            }
            buffer.clear();
            measure.push_name(&mut buffer);
            map.serialize_entry(buffer.as_str(), value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Counts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names;
        impl<'de> Visitor<'de> for Names {
            type Value = Counts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("counts under their names")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Counts, A::Error> {
                let mut counts = Counts::default();
                while let Some(name) = map.next_key::<String>()? {
                    let older = OLDER.iter().find(|(older, _)| *older == name);
                    let older = older.map(|(_, measure)| *measure);
                    match older.or_else(|| Measure::from_name(&name)) {
                        Some(measure) if counts.0.len() < KEPT => {
                            counts.0.push((measure, map.next_value()?));
                        }
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(counts)
            }
        }
        deserializer.deserialize_map(Names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(values: &[(&str, u64)]) -> Counts {
        Counts::named(values).unwrap()
    }

    #[test]
    fn names_keep_their_order_and_unknown_names_are_passed_over() {
        let text = r#"{"tsdus":1,"news":{"a":[2]},"dt_tpdus":3,"tpdus_to_48_octets":4}"#;
        let counts: Counts = serde_json::from_str(text).unwrap();
        assert_eq!(counts, named(&[("tsdus", 1), ("dt_tpdus", 3), ("tpdus_to_48_octets", 4)]));
        assert_eq!((counts.get(Measure::DtTpdus), counts.count(Measure::Lpdus)), (Some(3), 0));
        let again = serde_json::to_string(&counts).unwrap();
        assert_eq!(again, r#"{"tsdus":1,"dt_tpdus":3,"tpdus_to_48_octets":4}"#);
        assert!(serde_json::from_str::<Counts>(r#"{"tsdus":-1}"#).is_err());
    }

    #[test]
    fn a_quantile_is_of_one_time_and_never_of_several() {
        let one = named(&[("ack_delay_p99_ns", 6), ("tpdus", 1)]);
        let mut sum = Counts::default();
        sum.add(&one);
        assert_eq!(sum, one);
        sum.add(&one);
        assert_eq!(sum, named(&[("tpdus", 2)]));
    }

    #[test]
    fn values_add_up_or_compare_as_the_registry_says() {
        let mut sum = named(&[("tpdus", 1), ("ack_delay_min_ns", 0), ("sent_number", 9)]);
        let one = [("tpdus", 2), ("ack_delay_min_ns", 5), ("ack_delay_max_ns", 7)];
        sum.add(&named(&one));
        let other = [("ack_delay_max_ns", 6), ("ack_delay_min_ns", 8), ("ack_delay_p99_ns", 6)];
        sum.add(&named(&other));
        let expected = [("tpdus", 3), ("ack_delay_min_ns", 5), ("ack_delay_max_ns", 7)];
        assert_eq!(sum, named(&expected), "a number without a later value is no longer known");
    }
}

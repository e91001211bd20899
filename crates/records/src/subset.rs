//! Selection of the measures that are reported; all are counted (NBSIR 85-3104, II.D).

use super::Counts;
use crate::text::matches;
use core::fmt;
use core::str::FromStr;
use meter::measure::Measures;
use meter::metric::METRICS;
use meter::registry::{of_host, of_network};

/// Measures by name; `*` matches any run of letters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Subset(Vec<String>);

/// Error: no measure has this name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoSuchMeasure(String);

impl fmt::Display for NoSuchMeasure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no measure {:?}: such as dt_*, ack_delay_*, tsdus; * stands for any letters",
            self.0
        )
    }
}

impl core::error::Error for NoSuchMeasure {}

impl FromStr for Subset {
    type Err = NoSuchMeasure;

    /// Parses names separated by commas, such as `dt_*,tsdus`.
    fn from_str(text: &str) -> Result<Self, NoSuchMeasure> {
        let mut known = of_network(&Measures::default());
        known.extend(of_host(&meter::Host::default()));
        let patterns: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
        for pattern in &patterns {
            // Names of size classes depend on bounds that are not known here.
            let is_size = pattern.contains("_to_") || pattern.contains("_beyond_");
            let is_metric = METRICS.iter().any(|metric| matches(pattern, metric.symbol));
            let mut names = known.iter().map(|(measure, _)| measure.to_string());
            let is_known = is_metric || names.any(|name| is_named(pattern, &name));
            if !is_size && !is_known {
                return Err(NoSuchMeasure(pattern.clone()));
            }
        }
        Ok(Self(patterns))
    }
}

impl Subset {
    /// Returns the requested patterns; none where everything is reported.
    pub fn patterns(&self) -> Option<&[String]> {
        (!self.0.is_empty()).then_some(&self.0)
    }

    /// Removes the values that were not requested.
    pub fn apply(&self, values: &mut Counts) {
        if !self.0.is_empty() {
            values.0.retain(|(measure, _)| self.has(&measure.to_string()));
        }
    }

    /// Returns true if a measure or metric is reported.
    pub fn has(&self, name: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|pattern| is_named(pattern, name))
    }
}

/// Returns true if a pattern matches a measure, whose unit may be left out: `response_max` for
/// `response_max_ns`.
fn is_named(pattern: &str, name: &str) -> bool {
    let bare = name.strip_suffix("_ns");
    matches(pattern, name) || bare.is_some_and(|bare| matches(pattern, bare))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_letters() {
        for (pattern, name, expected) in [
            ("dt_*", "dt_tpdus", true),
            ("dt_*", "dt", false),
            ("*", "tsdus", true),
            ("*_ns", "ack_delay_max_ns", true),
            ("a*delay*ns", "ack_delay_max_ns", true),
            ("tsdus", "tsdus", true),
            ("tsdu", "tsdus", false),
            ("dt_*dt_", "dt_", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_name_that_no_measure_has_is_refused() {
        let error = "dt_*, tsduz".parse::<Subset>().unwrap_err();
        assert!(error.to_string().starts_with("no measure \"tsduz\": such as"), "{error}");
        let subset: Subset = "dt_tpdus,tpdus_to_64_octets".parse().unwrap();
        let mut values = Counts::named(&[("dt_tpdus", 1), ("ak_tpdus", 2)]).unwrap();
        subset.apply(&mut values);
        assert_eq!(values, Counts::named(&[("dt_tpdus", 1)]).unwrap());
        let subset: Subset = "response_max,closed_window_total,R_RD".parse().unwrap();
        for (name, is_reported) in [
            ("response_max_ns", true),
            ("response_total_ns", false),
            ("closed_window_total_ns", true),
            ("R_RD", true),
            ("R_RA", false),
        ] {
            assert_eq!(subset.has(name), is_reported, "{name}");
        }
    }
}

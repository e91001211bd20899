//! Which measures are reported: all are counted, and those that were asked for are told
//! (NBSIR 85-3104, II.D).

use super::Named;
use core::fmt;
use core::str::FromStr;
use meter::measure::Measures;

/// Measures by name, with `*` for any run of letters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Subset(Vec<String>);

/// No measure has this name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NoSuchMeasure(String);

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

    /// Reads names with commas between them, such as `dt_*,tsdus`.
    fn from_str(text: &str) -> Result<Self, NoSuchMeasure> {
        let known = Measures::default().values();
        let patterns: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
        for pattern in &patterns {
            // Classes of sizes are called after bounds that are not known here.
            let is_size = pattern.contains("_to_") || pattern.contains("_beyond_");
            if !is_size && !known.iter().any(|(name, _)| matches(pattern, name)) {
                return Err(NoSuchMeasure(pattern.clone()));
            }
        }
        Ok(Self(patterns))
    }
}

impl Subset {
    /// The patterns that were asked for; none where everything is reported.
    pub(crate) fn patterns(&self) -> Option<&[String]> {
        (!self.0.is_empty()).then_some(&self.0)
    }

    /// Leaves what was asked for.
    pub(crate) fn apply(&self, values: &mut Named<u64>) {
        if !self.0.is_empty() {
            values.0.retain(|(name, _)| self.0.iter().any(|pattern| matches(pattern, name)));
        }
    }
}

/// Whether a name is what a pattern says: its parts in order, the first and the last at the ends.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        let Some(at) = name.find(part) else { return false };
        name = name.get(at + part.len()..).unwrap_or_default();
    }
    name.ends_with(last)
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
        let mut values = Named(vec![("dt_tpdus".into(), 1), ("ak_tpdus".into(), 2)]);
        subset.apply(&mut values);
        assert_eq!(values, Named(vec![("dt_tpdus".into(), 1)]));
    }
}

//! Conditions on the values of varied keys, which leave out the points that do not meet them.
//!
//! ```text
//!   constraint = "background.load <= 40 % and flow.status.size < 512 B"
//! ```

use crate::scenario::problem::{Problem, meant};
use crate::scenario::quantity::{Length, Rate, Share, Size, Span};
use core::cmp::Ordering;
use core::ops::Range;
use core::str::FromStr;
use std::collections::BTreeMap;

/// Key of the condition.
pub(super) const KEY: &str = "constraint";

/// Comparisons that all hold at each point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Constraint {
    text: String,
    place: Range<usize>,
    comparisons: Vec<Comparison>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Comparison {
    left: Operand,
    relation: Relation,
    right: Operand,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Operand {
    /// A varied key.
    Key(String),
    /// A value as written.
    Value(String),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Relation {
    Less,
    AtMost,
    Equal,
    Unequal,
    AtLeast,
    More,
}

/// Relations, those that begin with another one before it.
const RELATIONS: [(&str, Relation); 6] = [
    ("<=", Relation::AtMost),
    (">=", Relation::AtLeast),
    ("==", Relation::Equal),
    ("!=", Relation::Unequal),
    ("<", Relation::Less),
    (">", Relation::More),
];

impl Constraint {
    /// Reads a condition on these varied keys.
    ///
    /// # Errors
    /// No comparison, or one without a varied key.
    pub(super) fn read(text: &str, place: Range<usize>, keys: &[&str]) -> Result<Self, Problem> {
        let comparison = |part: &str| {
            Comparison::read(part, keys).map_err(|fault| {
                let help = match meant(part.split(' ').next().unwrap_or_default(), keys.to_vec()) {
                    Some(key) => format!("did you mean {key}?"),
                    None => "as in \"background.load <= 40 % and flow.status.size < 512 B\", with \
                             keys that vary"
                        .to_owned(),
                };
                Problem::error(place.clone(), format!("constraint \"{part}\": {fault}")).help(help)
            })
        };
        let comparisons: Result<_, _> =
            text.split(" and ").map(|part| comparison(part.trim())).collect();
        Ok(Self { text: text.to_owned(), place, comparisons: comparisons? })
    }

    /// Returns true if a point with these settings is part of the study.
    ///
    /// # Errors
    /// Two values without an order, such as a time and a size.
    pub(super) fn holds(&self, settings: &BTreeMap<String, String>) -> Result<bool, Problem> {
        let mut all = true;
        for comparison in &self.comparisons {
            let holds = comparison.holds(settings).map_err(|fault| {
                let message = format!("constraint \"{}\": {fault}", self.text);
                Problem::error(self.place.clone(), message)
            });
            all &= holds?;
        }
        Ok(all)
    }

    /// The problem of a condition that no point meets.
    pub(super) fn leaves_nothing(&self) -> Problem {
        Problem::error(self.place.clone(), "the constraint leaves no point of the study")
    }
}

impl Comparison {
    fn read(text: &str, keys: &[&str]) -> Result<Self, String> {
        let at = |(sign, relation): &(&'static str, Relation)| {
            Some((text.find(sign)?, sign.len(), *relation))
        };
        // The first place, and there the longest sign, which is earlier in the list.
        let found = RELATIONS.iter().filter_map(at).min_by_key(|(place, ..)| *place);
        let Some((place, octets, relation)) = found else {
            return Err("no relation: one of <, <=, ==, !=, >=, >".to_owned());
        };
        let operand = |text: &str| {
            let text = text.trim();
            let text = text.strip_prefix('\'').and_then(|it| it.strip_suffix('\'')).unwrap_or(text);
            match keys.contains(&text) {
                true => Operand::Key(text.to_owned()),
                false => Operand::Value(text.to_owned()),
            }
        };
        let (left, right) = (text.get(..place), text.get(place + octets..));
        let [left, right] = [left, right].map(|side| operand(side.unwrap_or_default()));
        if let (Operand::Value(_), Operand::Value(_)) = (&left, &right) {
            return Err("no key that varies".to_owned());
        }
        let is_empty = |side: &Operand| matches!(side, Operand::Value(text) if text.is_empty());
        if is_empty(&left) || is_empty(&right) {
            return Err("a value is missing".to_owned());
        }
        Ok(Self { left, relation, right })
    }

    fn holds(&self, settings: &BTreeMap<String, String>) -> Result<bool, String> {
        let value = |side: &Operand| match side {
            Operand::Key(key) => settings.get(key).cloned().unwrap_or_default(),
            Operand::Value(text) => text.clone(),
        };
        let (left, right) = (value(&self.left), value(&self.right));
        let order = order(&left, &right);
        let known = |order: Option<Ordering>| {
            order.ok_or_else(|| format!("\"{left}\" and \"{right}\" have no order"))
        };
        Ok(match self.relation {
            // Texts, such as the kinds of media, are equal or not.
            Relation::Equal => order.map_or(left == right, Ordering::is_eq),
            Relation::Unequal => order.map_or(left != right, Ordering::is_ne),
            Relation::Less => known(order)?.is_lt(),
            Relation::AtMost => known(order)?.is_le(),
            Relation::AtLeast => known(order)?.is_ge(),
            Relation::More => known(order)?.is_gt(),
        })
    }
}

/// Order of two quantities of one kind.
fn order(left: &str, right: &str) -> Option<Ordering> {
    ordered::<f64>(left, right)
        .or_else(|| ordered::<Span>(left, right))
        .or_else(|| ordered::<Rate>(left, right))
        .or_else(|| ordered::<Size>(left, right))
        .or_else(|| ordered::<Share>(left, right))
        .or_else(|| ordered::<Length>(left, right))
}

fn ordered<T: FromStr + PartialOrd>(left: &str, right: &str) -> Option<Ordering> {
    left.parse::<T>().ok()?.partial_cmp(&right.parse::<T>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, settings: &[(&str, &str)], expected: Result<bool, &str>) {
        let settings: BTreeMap<String, String> =
            settings.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        let keys: Vec<&str> = settings.keys().map(String::as_str).collect();
        let holds = Constraint::read(text, 0..1, &keys).and_then(|it| it.holds(&settings));
        match (holds, expected) {
            (Ok(holds), Ok(expected)) => assert_eq!(holds, expected, "{text}"),
            (Err(problem), Err(part)) => {
                assert!(problem.message.contains(part), "{text}: {}", problem.message);
            }
            (found, _) => panic!("{text}: {found:?}"),
        }
    }

    #[test]
    fn quantities_compare_by_their_size_whatever_their_units() {
        let settings = [("flow.a.size", "512 B"), ("medium.rate", "100 Mbit/s")];
        check("flow.a.size <= 0.5 KiB", &settings, Ok(true));
        check("flow.a.size < 512 B", &settings, Ok(false));
        check("medium.rate < 1 Gbit/s and flow.a.size >= 512 B", &settings, Ok(true));
        check("1 kbit/s > medium.rate", &settings, Ok(false));
        check("medium.rate == 0.1 Gbit/s", &settings, Ok(true));
    }

    #[test]
    fn keys_compare_with_keys_and_texts_are_equal_or_not() {
        let settings = [("a", "7"), ("b", "12"), ("kind", "csma-cd")];
        check("a < b", &settings, Ok(true));
        check("a != b and kind == 'csma-cd'", &settings, Ok(true));
        check("kind == token-bus", &settings, Ok(false));
        check("kind < 3", &settings, Err("have no order"));
        check("c < 3", &settings, Err("no key that varies"));
        check("a", &settings, Err("no relation"));
        check("a <", &settings, Err("a value is missing"));
    }
}

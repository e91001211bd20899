//! Values of varied keys: as in the document, computed, or from outside; and their spellings.

use crate::scenario::fields::Placed;
use crate::scenario::quantity::Decimal;
use core::ops::Range;
use std::borrow::Cow;
use toml::de::DeValue;

/// A value of a key.
pub(super) enum Value<'a> {
    /// As in the document.
    Placed(Placed<'a>),
    /// Computed, or from outside: its text and its place.
    Text(String, Range<usize>),
}

impl Value<'_> {
    /// The value and its place. A text is a number, true or false, or else a string.
    pub(super) fn placed(&self) -> Placed<'_> {
        let (text, place) = match self {
            Value::Placed(placed) => return placed.clone(),
            Value::Text(text, place) => (text, place.clone()),
        };
        let value = match DeValue::parse(text).map(toml::Spanned::into_inner) {
            Ok(DeValue::Array(_) | DeValue::Table(_) | DeValue::Datetime(_)) | Err(_) => {
                DeValue::String(Cow::Borrowed(text))
            }
            Ok(simple) => simple,
        };
        toml::Spanned::new(place, value)
    }
}

/// A value as text: strings without quotes, a table as its kind followed by its other keys:
/// `csma-cd (length 300 m, rate 10 Mbit/s)`.
pub(super) fn text_of(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => text.clone().into_owned(),
        DeValue::Integer(integer) => integer.to_string(),
        DeValue::Float(float) => float.to_string(),
        DeValue::Boolean(truth) => truth.to_string(),
        DeValue::Table(table) => {
            let kind = table.get("kind").map(|kind| text_of(kind.get_ref()));
            let others = table.iter().filter(|(key, _)| key.get_ref() != "kind");
            let others: Vec<String> = others
                .map(|(key, value)| {
                    let (key, text) = (key.get_ref(), spelled(&text_of(value.get_ref())));
                    let is_bare =
                        value.get_ref().as_table().is_some_and(|it| !it.contains_key("kind"));
                    if is_bare { format!("{key} ({text})") } else { format!("{key} {text}") }
                })
                .collect();
            match kind {
                Some(kind) if others.is_empty() => kind,
                Some(kind) => format!("{kind} ({})", others.join(", ")),
                None => others.join(", "),
            }
        }
        DeValue::Array(_) | DeValue::Datetime(_) => String::new(),
    }
}

/// True if a value may vary: a number, a text, a boolean, or a table of values that may.
pub(super) fn may_vary(value: &DeValue<'_>) -> bool {
    match value {
        DeValue::Array(_) | DeValue::Datetime(_) => false,
        DeValue::Table(table) => table.values().all(|value| may_vary(value.get_ref())),
        _ => true,
    }
}

/// A text in one spelling: numbers without redundant zeros, one space before the unit.
pub(super) fn spelled(text: &str) -> String {
    Decimal::read(text).map_or_else(|| text.to_owned(), |number| number.to_string())
}

/// A varying value in the form of the effective scenario.
pub(super) fn simple(value: &Value<'_>) -> Option<toml::Value> {
    simple_of(value.placed().get_ref())
}

fn simple_of(value: &DeValue<'_>) -> Option<toml::Value> {
    Some(match value {
        DeValue::String(text) => toml::Value::String(spelled(text)),
        DeValue::Integer(integer) => {
            toml::Value::Integer(i64::from_str_radix(integer.as_str(), integer.radix()).ok()?)
        }
        DeValue::Float(float) => toml::Value::Float(float.as_str().parse().ok()?),
        DeValue::Boolean(truth) => toml::Value::Boolean(*truth),
        DeValue::Table(table) => {
            let pairs = table.iter().filter_map(|(key, value)| {
                Some((key.get_ref().to_string(), simple_of(value.get_ref())?))
            });
            toml::Value::Table(pairs.collect())
        }
        DeValue::Datetime(_) | DeValue::Array(_) => return None,
    })
}

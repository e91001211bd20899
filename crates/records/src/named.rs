//! Values by name, in insertion order.

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// Maximum number of names stored from another process.
const NAMES: usize = 4_096;

/// Values by name: a JSON object in the order in which its names were inserted or read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named<T>(pub Vec<(Cow<'static, str>, T)>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy> Named<T> {
    /// Returns the value of this name, if there is one.
    pub fn get(&self, name: &str) -> Option<T> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// Returns each name with its value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, T)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), *value))
    }
}

/// Sum of the values. It saturates, because values from another process may overflow.
pub fn sum(values: impl IntoIterator<Item = u64>) -> u64 {
    values.into_iter().fold(0, u64::saturating_add)
}

impl Named<u64> {
    /// Adds the counts of a later time; names beyond the limit are dropped.
    pub fn add(&mut self, later: &Self) {
        for (name, value) in &later.0 {
            let has_room = self.0.len() < NAMES;
            match self.0.iter_mut().find(|(known, _)| known == name) {
                Some((_, known)) => *known = known.saturating_add(*value),
                None if has_room => self.0.push((name.clone(), *value)),
                None => {}
            }
        }
    }

    /// Returns the count of this name, zero if it is missing.
    pub fn count(&self, name: &str) -> u64 {
        self.get(name).unwrap_or(0)
    }
}

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Names<T> {
            type Value = Named<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("values under their names")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named<T>, A::Error> {
                let mut named = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, T>()? {
                    named.push((Cow::Owned(name), value));
                }
                Ok(Named(named))
            }
        }
        deserializer.deserialize_map(Names(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_order_there_and_back() {
        let text = r#"{"b":1,"a":2}"#;
        let named: Named<u64> = serde_json::from_str(text).unwrap();
        assert_eq!((named.get("a"), named.count("c")), (Some(2), 0));
        assert_eq!(serde_json::to_string(&named).unwrap(), text);
    }
}

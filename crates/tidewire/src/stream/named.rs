//! Values under their names, in an order of their own.

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// Values under their names. A JSON object in the order in which its names were put or read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Named<T>(pub(crate) Vec<(Cow<'static, str>, T)>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy> Named<T> {
    /// The value of this name, where there is one.
    pub(crate) fn get(&self, name: &str) -> Option<T> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// Each name with its value.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, T)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), *value))
    }
}

/// All of them together. What another process tells may be more than fits; then it is the most that does.
pub(crate) fn sum(values: impl IntoIterator<Item = u64>) -> u64 {
    values.into_iter().fold(0, u64::saturating_add)
}

impl Named<u64> {
    /// The count of this name; none of what is not there.
    pub(crate) fn count(&self, name: &str) -> u64 {
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

/// Whether a value of this name is the greatest of some, so that of two the greater is that of both: what took longest,
/// and what passed in the busiest second.
pub(crate) fn is_greatest(name: &str) -> bool {
    name.ends_with("_max_ns") || name.starts_with("peak_")
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

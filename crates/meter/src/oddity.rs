//! Anomalies that a meter meets, counted by name.
//!
//! A meter never stops at an anomaly. It counts it, so that a reader of the measures sees how much
//! they leave out. The names are constants of the program, so their number is bounded.

use core::ptr;

/// Class of an oddity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Class {
    /// Field with an impossible value; counted under the field's name.
    Malformed,
    /// Frames of other protocols; counted under the protocol's name.
    Foreign,
    /// Octets missing from the capture.
    Truncated,
    /// TPDUs that belong to no known connection, counted under their kind; octets of a stream with TPKTs
    /// that belong to none, by which data is missing for the layers above.
    Unassigned,
    /// Violations by transport entities, and signs that TPDUs were missed.
    Transport,
    /// Violations by application entities, and signs that their PDUs were missed.
    Association,
    /// State that the meter gave up to stay within its limits.
    Meter,
    /// Frame times out of range or out of order.
    Time,
}

impl Class {
    /// Name in output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Foreign => "foreign",
            Self::Truncated => "truncated",
            Self::Unassigned => "unassigned",
            Self::Transport => "transport",
            Self::Association => "association",
            Self::Meter => "meter",
            Self::Time => "time",
        }
    }
}

/// Count of each oddity, ordered by class and name. There are few.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Oddities(Vec<((Class, &'static str), u64)>);

impl Oddities {
    /// Counts one oddity.
    pub fn count(&mut self, class: Class, name: &'static str) {
        self.add(class, name, 1);
    }

    /// Counts `times` oddities; zero makes no entry.
    #[inline]
    pub fn add(&mut self, class: Class, name: &'static str, times: u64) {
        if times > 0 {
            self.add_some(class, name, times);
        }
    }

    #[cold]
    fn add_some(&mut self, class: Class, name: &'static str, times: u64) {
        // Most are counted again under the same literal.
        let is_same = |((known, under), _): &&mut ((Class, &str), u64)| {
            *known == class && ptr::eq(*under, name)
        };
        if let Some((_, sum)) = self.0.iter_mut().find(is_same) {
            *sum += times;
            return;
        }
        match self.place(class, name) {
            Ok(place) => self.0[place].1 += times,
            Err(place) => self.0.insert(place, ((class, name), times)),
        }
    }

    /// Place of an oddity; otherwise the place where it belongs.
    fn place(&self, class: Class, name: &'static str) -> Result<usize, usize> {
        self.0.binary_search_by_key(&(class, name), |(key, _)| *key)
    }

    /// Adds the counts of another.
    pub fn merge(&mut self, more: &Self) {
        more.iter().for_each(|(class, name, times)| self.add(class, name, times));
    }

    /// Counts since `before`, an earlier state of the same counts.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let mut since = Self::default();
        for (class, name, times) in self.iter() {
            since.add(class, name, times - before.get(class, name));
        }
        since
    }

    /// Count of one oddity.
    #[must_use]
    pub fn get(&self, class: Class, name: &'static str) -> u64 {
        self.place(class, name).map_or(0, |place| self.0[place].1)
    }

    /// Oddities with their counts, ordered by class and name.
    pub fn iter(&self) -> impl Iterator<Item = (Class, &'static str, u64)> {
        self.0.iter().map(|((class, name), times)| (*class, *name, *times))
    }

    /// True if no oddity was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oddities_add_up_by_class_and_name() {
        let mut oddities = Oddities::default();
        oddities.count(Class::Malformed, "TPDU-NR");
        oddities.add(Class::Transport, "unseen DT", 0);
        assert_eq!(oddities.iter().count(), 1);
        let mut total = oddities.clone();
        assert!(total.since(&oddities).is_empty());
        total.merge(&oddities);
        assert_eq!(total.since(&oddities), oddities);
        assert_eq!(total.get(Class::Malformed, "TPDU-NR"), 2);
        assert_eq!(total.get(Class::Foreign, "TPDU-NR"), 0);
        // The same text at another address, and an order other than that of counting.
        let name = String::from("TPDU-NR").leak();
        total.count(Class::Malformed, name);
        total.count(Class::Malformed, "A");
        let all: Vec<_> = total.iter().collect();
        assert_eq!(all, [(Class::Malformed, "A", 1), (Class::Malformed, "TPDU-NR", 3)]);
    }
}

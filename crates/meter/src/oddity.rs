//! What a meter meets that is not as it should be, counted by name.
//!
//! A meter never stops for what it sees. It counts it, so that whoever reads the measures can tell
//! how much they leave out. The names are part of the program, so there are only so many.

use std::collections::BTreeMap;

/// What kind of oddity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Class {
    /// A field that cannot be what stands there; counted under the field's name.
    Malformed,
    /// Frames of other protocols; counted under what they are.
    Foreign,
    /// Octets that the capture left out.
    Truncated,
    /// TPDUs that could not be assigned to a connection; counted under their kind.
    Unassigned,
    /// Things transport entities should not do, or that show that TPDUs were missed.
    Transport,
    /// What the meter itself gave up for want of room.
    Meter,
    /// Frame times that are not as they should be.
    Time,
}

impl Class {
    /// As it is printed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Foreign => "foreign",
            Self::Truncated => "truncated",
            Self::Unassigned => "unassigned",
            Self::Transport => "transport",
            Self::Meter => "meter",
            Self::Time => "time",
        }
    }
}

/// How often each oddity was met.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Oddities(BTreeMap<(Class, &'static str), u64>);

impl Oddities {
    /// Counts one.
    pub fn count(&mut self, class: Class, name: &'static str) {
        self.add(class, name, 1);
    }

    /// Counts some; none makes no entry.
    #[inline]
    pub fn add(&mut self, class: Class, name: &'static str, times: u64) {
        if times > 0 {
            self.add_some(class, name, times);
        }
    }

    #[cold]
    fn add_some(&mut self, class: Class, name: &'static str, times: u64) {
        *self.0.entry((class, name)).or_default() += times;
    }

    /// Counts all of these too.
    pub fn merge(&mut self, more: &Self) {
        more.iter().for_each(|(class, name, times)| self.add(class, name, times));
    }

    /// What was met since these, which must be a part of it.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let mut since = Self::default();
        for (class, name, times) in self.iter() {
            since.add(class, name, times - before.get(class, name));
        }
        since
    }

    /// How often this one was met.
    #[must_use]
    pub fn get(&self, class: Class, name: &'static str) -> u64 {
        self.0.get(&(class, name)).copied().unwrap_or(0)
    }

    /// Each that was met, in order of class and name.
    pub fn iter(&self) -> impl Iterator<Item = (Class, &'static str, u64)> {
        self.0.iter().map(|((class, name), times)| (*class, *name, *times))
    }

    /// Whether none was met.
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
    }
}

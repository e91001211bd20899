//! Directory of application titles: the service of MAP by which a title becomes an address
//! (TR-88-17, section 2).
//!
//! A [`Directory`] holds the entries at one station and answers queries. A [`Resolver`] at each other
//! station keeps answers, those that a title is unknown included, in a bounded cache. The PDUs are in
//! [`wire::directory`]; `host/services/titles.rs` carries them over CASE.

mod cache;

pub use cache::{Cache, CacheParams, Counts};

use core::fmt;
use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use wire::addr::Mac;
use wire::time::Instant;

/// Maximum number of aliases from a title to its station.
pub const MOST_ALIASES: usize = 8;

/// Meaning of a title.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Entry {
    /// Station on which the application is.
    Station(Mac),
    /// Another title for the same application.
    Alias(String),
}

/// Reason for which a title has no station.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoStation {
    /// No entry has the title, or an alias on the way.
    Unknown,
    /// Its aliases lead back to one of them, or there are more than [`MOST_ALIASES`].
    Loop,
}

impl fmt::Display for NoStation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "no entry has this title",
            Self::Loop => "its aliases lead to no station",
        })
    }
}

/// Entries by title.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Directory {
    entries: BTreeMap<String, Entry>,
}

impl Directory {
    /// Adds an entry, or replaces that of the title.
    pub fn insert(&mut self, title: String, entry: Entry) {
        self.entries.insert(title, entry);
    }

    /// Titles with their entries, in the order of titles.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(title, entry)| (title.as_str(), entry))
    }

    /// Station of a title.
    ///
    /// # Errors
    /// States why there is none.
    pub fn station(&self, title: &str) -> Result<Mac, NoStation> {
        let mut title = title;
        for _ in 0..=MOST_ALIASES {
            match self.entries.get(title) {
                None => return Err(NoStation::Unknown),
                Some(Entry::Station(station)) => return Ok(*station),
                Some(Entry::Alias(other)) => title = other,
            }
        }
        Err(NoStation::Loop)
    }
}

/// Parameters of a resolver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResolverParams {
    /// Station of the directory.
    pub directory: Mac,
    /// Limits of its cache.
    pub cache: CacheParams,
    /// Time after which a query without an answer has failed.
    pub patience: Duration,
    /// The only station that has agreed to load; `None` if every station takes it.
    pub only: Option<Mac>,
}

/// Resolver of a station: its cache, and where the directory is.
#[derive(Clone, Debug)]
pub struct Resolver {
    /// Parameters.
    pub params: ResolverParams,
    /// Answers of the directory.
    pub cache: Cache,
    /// Times at which the station restarts, the first one first.
    restarts: VecDeque<Instant>,
}

impl Resolver {
    /// Creates a resolver with an empty cache.
    #[must_use]
    pub const fn new(params: ResolverParams) -> Self {
        Self { params, cache: Cache::new(params.cache), restarts: VecDeque::new() }
    }

    /// Adds times, in order, at which the station restarts: its cache is empty from then on.
    #[must_use]
    pub fn restarting(mut self, restarts: impl IntoIterator<Item = Instant>) -> Self {
        self.restarts.extend(restarts);
        self
    }

    /// Known answer about a title: a station, or none if the title is unknown.
    pub fn known(&mut self, now: Instant, title: &str) -> Option<Option<Mac>> {
        while self.restarts.front().is_some_and(|at| *at <= now) {
            self.restarts.pop_front();
            self.cache.clear();
        }
        self.cache.get(now, title)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(entries: &[(&str, Entry)]) -> Directory {
        let mut directory = Directory::default();
        entries.iter().for_each(|(title, it)| directory.insert((*title).to_owned(), it.clone()));
        directory
    }

    #[test]
    fn aliases_lead_to_a_station_and_loops_are_found() {
        let alias = |title: &str| Entry::Alias(title.to_owned());
        let directory = directory(&[
            ("welder", Entry::Station(Mac::local(1))),
            ("cell4", alias("welder")),
            ("here", alias("there")),
            ("there", alias("here")),
            ("self", alias("self")),
            ("false", alias("nothing")),
        ]);
        assert_eq!(directory.station("cell4"), Ok(Mac::local(1)));
        for title in ["here", "there", "self"] {
            assert_eq!(directory.station(title), Err(NoStation::Loop), "{title}");
        }
        assert_eq!(directory.station("false"), Err(NoStation::Unknown));
        assert_eq!(directory.station("absent"), Err(NoStation::Unknown));
    }

    #[test]
    fn a_restart_empties_the_cache_once() {
        let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
        let params = ResolverParams {
            directory: Mac::local(9),
            cache: CacheParams::DEFAULT,
            patience: Duration::from_secs(1),
            only: None,
        };
        let mut resolver = Resolver::new(params).restarting([at(10), at(20)]);
        for (put, lost) in [(1, 10), (11, 20)] {
            resolver.cache.put(at(put), "welder", Some(Mac::local(1)));
            assert!(resolver.known(at(lost - 1), "welder").is_some());
            assert_eq!(resolver.known(at(lost), "welder"), None, "{lost} ms");
        }
        resolver.cache.put(at(21), "welder", None);
        assert_eq!(resolver.known(at(30), "welder"), Some(None));
    }

    #[test]
    fn a_chain_of_aliases_is_limited() {
        let mut directory = directory(&[("t0", Entry::Station(Mac::local(1)))]);
        for number in 1..=MOST_ALIASES + 1 {
            let before = Entry::Alias(format!("t{}", number - 1));
            directory.insert(format!("t{number}"), before);
        }
        assert_eq!(directory.station(&format!("t{MOST_ALIASES}")), Ok(Mac::local(1)));
        let beyond = format!("t{}", MOST_ALIASES + 1);
        assert_eq!(directory.station(&beyond), Err(NoStation::Loop));
    }
}

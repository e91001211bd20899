//! The `[directory]` table of a scenario: titles by which flows of CASE find their receivers.

use super::fields::{Fields, Placed, Read};
use super::problem::{Problem, meant};
use super::{Flow, Scenario, Service, Span};
use core::time::Duration;
use schemars::JsonSchema;
use serde::Serialize;
use stack::directory::{self, CacheParams, Entry, NoStation, ResolverParams};
use std::collections::BTreeMap;
use toml::de::DeValue;
use wire::addr::Mac;
use wire::directory::LONGEST_TITLE;

/// Time after which a query without an answer has failed.
const PATIENCE: Duration = Duration::from_secs(2);
/// Maximum number of titles in a cache.
const MOST_TITLES: u64 = 1_000_000;

/// A directory of application titles at one station, and the caches of the others.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub struct Directory {
    /// The station that answers queries.
    pub station: String,
    /// The most titles in the cache of a station; 1,024 if not given. The least recently used one
    /// is evicted.
    #[schemars(with = "Option<u64>")]
    pub titles: u64,
    /// The time for which a cache keeps a station; 60 s if not given.
    #[schemars(with = "Option<Span>")]
    pub known: Span,
    /// The time for which a cache keeps the answer that a title is unknown; 5 s if not given.
    #[schemars(with = "Option<Span>")]
    pub unknown: Span,
    /// The station of each title, or another title for the same station.
    pub entries: BTreeMap<String, String>,
}

impl Directory {
    /// Entries for the machine of its station; `address_of` gives the address of a station.
    #[must_use]
    pub fn machine(&self, address_of: impl Fn(&str) -> Option<Mac>) -> directory::Directory {
        let mut machine = directory::Directory::default();
        for (title, target) in &self.entries {
            let entry =
                address_of(target).map_or_else(|| Entry::Alias(target.clone()), Entry::Station);
            machine.insert(title.clone(), entry);
        }
        machine
    }

    /// Parameters of the resolver of a station.
    #[must_use]
    pub fn resolver(&self, directory: Mac) -> ResolverParams {
        let titles = usize::try_from(self.titles).unwrap_or(usize::MAX);
        let cache = CacheParams { titles, known: self.known.0, unknown: self.unknown.0 };
        ResolverParams { directory, cache, patience: PATIENCE }
    }
}

impl Read for Directory {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let mut fields = Fields::of(value, problems)?;
        let default = CacheParams::DEFAULT;
        let station = fields.required("station", problems);
        let titles = fields.optional("titles", problems).unwrap_or(default.titles as u64);
        let known = fields.optional("known", problems).unwrap_or(Span(default.known));
        let unknown = fields.optional("unknown", problems).unwrap_or(Span(default.unknown));
        let entries: Option<Entries> = fields.required("entries", problems);
        fields.finish(problems);
        Some(Self { station: station?, titles, known, unknown, entries: entries?.0 })
    }
}

/// Table of titles.
struct Entries(BTreeMap<String, String>);

impl Read for Entries {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let DeValue::Table(table) = value.get_ref() else {
            let problem = Problem::error(value.span(), "expected a table of titles");
            problems.push(problem.help("entries = { welder = \"station-2\" }"));
            return None;
        };
        let mut entries = BTreeMap::new();
        for (title, target) in table {
            entries.insert(title.get_ref().to_string(), String::read(target, problems)?);
        }
        Some(Self(entries))
    }
}

/// Reports a directory whose entries lead to no station, and flows that cannot be resolved by one.
pub(super) fn check(scenario: &Scenario, problems: &mut Vec<Problem<String>>) {
    for (index, flow) in scenario.flows.iter().enumerate() {
        let found = flow.title.as_deref().and_then(|title| wrong(scenario, flow, title));
        problems.extend(found.map(|it| it.moved(format!("flow.{index}.title"))));
    }
    let Some(directory) = &scenario.directory else { return };
    let stations = scenario.all_stations();
    let names = || stations.iter().map(|station| station.name.as_str());
    if !names().any(|name| name == directory.station) {
        let message = format!("unknown station \"{}\"", directory.station);
        let problem = Problem::error("directory.station", message);
        problems.push(match meant(&directory.station, names()) {
            Some(name) => problem.help(format!("did you mean \"{name}\"?")),
            None => problem,
        });
    }
    if directory.titles > MOST_TITLES {
        let message = format!("a cache has at most {MOST_TITLES} titles");
        problems.push(Problem::error("directory.titles", message));
    }
    let is_station = |name: &str| names().any(|it| it == name).then_some(Mac::local(1));
    let machine = directory.machine(is_station);
    for (title, target) in &directory.entries {
        let place = format!("directory.entries.{title}");
        if title.is_empty() || title.len() > LONGEST_TITLE {
            let message = format!("a title has 1 to {LONGEST_TITLE} octets");
            problems.push(Problem::error(place, message));
            continue;
        }
        let message = match machine.station(title) {
            Ok(_) => continue,
            Err(NoStation::Unknown) => format!("\"{target}\" is neither a station nor a title"),
            Err(NoStation::Loop) => format!("the titles from \"{title}\" on lead to no station"),
        };
        let problem = Problem::error(place, message);
        problems.push(match meant(target, names()) {
            Some(name) => problem.help(format!("did you mean \"{name}\"?")),
            None => problem,
        });
    }
}

/// Reason for which a flow cannot associate by its title.
fn wrong(scenario: &Scenario, flow: &Flow, title: &str) -> Option<Problem<String>> {
    let error = |message: String| Some(Problem::error(String::new(), message));
    if flow.service != Service::Case {
        return error("only flows of service \"case\" have `title`".to_owned());
    }
    if title.is_empty() || title.len() > LONGEST_TITLE {
        return error(format!("a title has 1 to {LONGEST_TITLE} octets"));
    }
    let Some(directory) = &scenario.directory else {
        let problem = error("there is no directory to resolve the title".to_owned())?;
        return Some(problem.help("add [directory] with `station` and `entries`"));
    };
    let is_own = directory.station == flow.from;
    is_own.then(|| error("the station of the directory does not associate by title".to_owned()))?
}

#[cfg(test)]
mod tests {
    use super::super::{load, to_toml};

    fn text(directory: &str, flow: &str) -> String {
        format!(
            "version = 1\ntitle = \"t\"\nstop = {{ after = \"1 s\" }}\n\
             medium = {{ kind = \"ideal\", rate = \"10 Mbit/s\" }}\n\
             stations = {{ count = 3, prefix = \"s\" }}\n{directory}\n\
             [[flow]]\nname = \"f\"\nfrom = \"s-1\"\nto = \"s-2\"\nservice = \"case\"\n\
             pattern = {{ kind = \"bulk\" }}\nsize = \"64 B\"\nmessages = 1\n{flow}\n"
        )
    }

    #[test]
    fn a_directory_is_written_as_it_is_read() {
        let entries = "[directory]\nstation = \"s-3\"\nknown = \"1 s\"\n\
                       entries = { welder = \"s-2\", cell = \"welder\" }";
        let study = load(&text(entries, "title = \"cell\""), "a.toml").unwrap();
        let directory = study.scenario().directory.as_ref().unwrap();
        assert_eq!((directory.titles, directory.entries.len()), (1_024, 2));
        let again = load(&to_toml(study.scenario()), "b.toml").unwrap();
        assert_eq!(again.scenario(), study.scenario());
    }

    #[track_caller]
    fn refused(directory: &str, flow: &str, message: &str, line: &str) {
        let error = load(&text(directory, flow), "a.toml").unwrap_err().to_string();
        let (_, behind) = error.split_once(message).unwrap_or_else(|| panic!("{error}"));
        assert!(behind.contains(line) && behind.contains('^'), "{error}");
    }

    #[test]
    fn false_entries_and_loops_are_refused_at_their_place() {
        let with = |entries: &str| {
            format!("[directory]\nstation = \"s-3\"\n[directory.entries]\n{entries}")
        };
        let titled = "title = \"a\"";
        refused(&with("a = \"s-9\""), titled, "neither a station nor a title", "a = \"s-9\"");
        let both = with("a = \"b\"\nb = \"a\"");
        refused(&both, titled, "from \"a\" on lead to no station", "a = \"b\"");
        let away = "[directory]\nstation = \"x\"\nentries = {}";
        refused(away, titled, "unknown station \"x\"", "station = \"x\"");
        refused("", titled, "there is no directory", titled);
        let own = with("a = \"s-2\"").replace("s-3", "s-1");
        refused(&own, titled, "does not associate by title", titled);
        let long = format!("title = \"{}\"", "x".repeat(65));
        refused(&with("a = \"s-2\""), &long, "1 to 64 octets", "title = \"xxx");
    }
}

//! The `[directory]` table of a scenario: titles by which flows of CASE find their receivers.

use super::fields::{Fields, Placed, Read, place_of};
use super::problem::{Problem, meant};
use super::{Flow, Scenario, Service, Span};
use crate::profile;
use crate::titles::{self, Entries, TitlesFile};
use core::time::Duration;
use schemars::JsonSchema;
use serde::Serialize;
use stack::directory::{self, CacheParams, Entry, NoStation, ResolverParams};
use std::collections::{BTreeMap, BTreeSet};
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
    /// The time of a restart of the stations whose flows have titles: their caches are empty from
    /// then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<Span>,
    /// A file with further titles, relative to the scenario's folder: a list, or the devices of an
    /// SCL file that are stations of the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The station of each title, or another title for the same station.
    #[schemars(with = "Option<BTreeMap<String, String>>")]
    pub entries: BTreeMap<String, String>,
    /// The titles of the file.
    #[serde(skip)]
    #[schemars(skip)]
    pub from_file: Entries,
}

impl Directory {
    /// Entries for the machine of its station; `address_of` gives the address of a station.
    #[must_use]
    pub fn machine(&self, address_of: impl Fn(&str) -> Option<Mac>) -> directory::Directory {
        let mut machine = directory::Directory::default();
        for (title, target) in self.targets() {
            let entry =
                address_of(target).map_or_else(|| Entry::Alias(target.to_owned()), Entry::Station);
            machine.insert(title.to_owned(), entry);
        }
        machine
    }

    /// The titles and their targets, those of the file first.
    fn targets(&self) -> impl Iterator<Item = (&str, &str)> {
        let of_file = self.from_file.by_title.iter();
        let of_file = of_file.map(|(title, entry)| (title.as_str(), entry.target.as_str()));
        of_file.chain(self.entries.iter().map(|(title, target)| (title.as_str(), target.as_str())))
    }

    /// Parameters of the resolver of a station.
    #[must_use]
    pub fn resolver(&self, directory: Mac) -> ResolverParams {
        let titles = usize::try_from(self.titles).unwrap_or(usize::MAX);
        let cache = CacheParams { titles, known: self.known.0, unknown: self.unknown.0 };
        ResolverParams { directory, cache, patience: PATIENCE, only: None }
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
        let restart = fields.optional("restart", problems);
        let file = fields.optional("file", problems);
        let entries: Option<Written> = match file {
            Some(_) => Some(fields.optional("entries", problems).unwrap_or_default()),
            None => fields.required("entries", problems),
        };
        fields.finish(problems);
        let (station, entries, from_file) = (station?, entries?.0, Entries::default());
        Some(Self { station, titles, known, unknown, restart, file, entries, from_file })
    }
}

/// Table of titles.
#[derive(Default)]
struct Written(BTreeMap<String, String>);

impl Read for Written {
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
    for (title, target) in directory.targets() {
        let of_file = directory.from_file.by_title.get(title);
        let is_written = directory.entries.contains_key(title);
        let (place, line) = match (of_file, &directory.file) {
            (Some(entry), Some(file)) => {
                ("directory.file".to_owned(), format!("{file}:{}: ", entry.line))
            }
            _ => (format!("directory.entries.{title}"), String::new()),
        };
        let message = match machine.station(title) {
            _ if title.is_empty() || title.len() > LONGEST_TITLE => {
                format!("{line}a title has 1 to {LONGEST_TITLE} octets")
            }
            _ if of_file.is_some() && is_written => {
                format!("{line}\"{title}\" has an entry in the scenario, too")
            }
            Ok(_) => continue,
            Err(NoStation::Unknown) => {
                format!("{line}\"{target}\" is neither a station nor a title")
            }
            Err(NoStation::Loop) => {
                format!("{line}the titles from \"{title}\" on lead to no station")
            }
        };
        let problem = Problem::error(place, message);
        problems.push(match meant(target, names()) {
            Some(name) => problem.help(format!("did you mean \"{name}\"?")),
            None => problem,
        });
    }
}

/// The files of titles that the points of a study name, each of which is read once.
pub(super) struct Files<'a> {
    files: &'a profile::Files,
    /// The files that were read, by their names.
    pub(super) found: BTreeMap<String, TitlesFile>,
}

impl<'a> Files<'a> {
    pub(super) const fn new(files: &'a profile::Files) -> Self {
        Self { files, found: BTreeMap::new() }
    }

    /// Reads the file of a scenario's directory, or adds the problem. Of SCL the devices remain that
    /// are stations of the scenario.
    pub(super) fn resolve(
        &mut self,
        scenario: &mut Scenario,
        document: &Placed<'_>,
        problems: &mut Vec<Problem>,
    ) {
        let names: BTreeSet<String> =
            scenario.all_stations().iter().map(|station| station.name.clone()).collect();
        let Some(directory) = &mut scenario.directory else { return };
        let Some(name) = &directory.file else { return };
        if !self.found.contains_key(name) {
            let place = place_of(document, "directory.file");
            let read = self.files.path(name).map_err(|error| error.to_string());
            match read.and_then(|path| titles::read(&path).map_err(|error| error.to_string())) {
                Ok(file) => {
                    self.found.insert(name.clone(), file);
                }
                Err(reason) => {
                    let problem =
                        Problem::error(place, format!("no titles in \"{name}\": {reason}"));
                    let help = "a list of titles with their stations, or an SCL file";
                    return problems.push(problem.help(help));
                }
            }
        }
        let entries = self.found.get(name).map(|file| file.entries.clone()).unwrap_or_default();
        let Entries { mut by_title, is_scl } = entries;
        by_title.retain(|_, entry| !is_scl || names.contains(&entry.target));
        directory.from_file = Entries { by_title, is_scl };
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
        return Some(problem.help("add [directory] with `station`, and `entries` or `file`"));
    };
    let is_own = directory.station == flow.from;
    is_own.then(|| error("the station of the directory does not associate by title".to_owned()))?
}

#[cfg(test)]
mod tests {
    use super::super::{Study, load, load_from, to_toml};
    use super::*;

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

    /// Loads a scenario whose directory has this file with this text.
    fn with_file(text_of_file: &str, directory: &str, flow: &str) -> Result<Study, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("names.txt"), text_of_file).unwrap();
        let directory =
            format!("[directory]\nstation = \"s-3\"\nfile = \"names.txt\"\n{directory}");
        let files = profile::Files::In(folder.path().to_owned());
        load_from(&text(&directory, flow), "a.toml", &files, &[]).map_err(|error| error.to_string())
    }

    #[test]
    fn titles_of_a_file_are_added_and_the_file_is_kept() {
        let titled = "title = \"cell\"";
        let study = with_file("cell welder\nwelder s-2\n", "restart = \"1 s\"", titled).unwrap();
        let directory = study.scenario().directory.as_ref().unwrap();
        assert_eq!(directory.targets().count(), 2);
        let station = directory.machine(|name| (name == "s-2").then_some(Mac::local(2)));
        assert_eq!(station.station("cell"), Ok(Mac::local(2)));
        assert_eq!(study.titles["names.txt"].text, "cell welder\nwelder s-2\n");
        let shown = to_toml(study.scenario());
        assert!(shown.contains("file = \"names.txt\"") && shown.contains("restart = \"1 s\""));
    }

    #[test]
    fn false_entries_and_loops_of_a_file_are_refused_at_their_line() {
        for (of_file, more, expected) in [
            ("a s-2\nb s-9\n", "", "names.txt:2: \"s-9\" is neither a station nor a title"),
            ("a b\nb a\n", "", "names.txt:1: the titles from \"a\" on lead to no station"),
            ("a\n", "", "names.txt:1: expected a title and a station"),
            ("a s-2\n", "entries = { a = \"s-1\" }", "\"a\" has an entry in the scenario, too"),
        ] {
            let error = with_file(of_file, more, "title = \"a\"").unwrap_err();
            assert!(error.contains(expected) && error.contains("file = \"names.txt\""), "{error}");
        }
        let away = "[directory]\nstation = \"s-3\"\nfile = \"away.txt\"";
        refused(away, "title = \"a\"", "no titles in \"away.txt\"", "file = \"away.txt\"");
    }

    #[test]
    fn devices_of_scl_are_found_where_they_are_stations() {
        let scl = include_str!("../../models/feeder.cid");
        let document = scl::Document::read(scl.as_bytes()).unwrap();
        let device = &document.ieds[0].name;
        let titled = format!("title = \"{device}\"");
        // No station has the name of the device: the directory has no entries, as for any unknown title.
        let study = with_file(scl, "", &titled).unwrap();
        assert_eq!(study.scenario().directory.as_ref().unwrap().targets().count(), 0);
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("plant.scd"), scl).unwrap();
        let directory = "[directory]\nstation = \"s-3\"\nfile = \"plant.scd\"";
        let stations = format!("[[station]]\nname = \"{device}\"\n{directory}");
        let text = text(&stations, &titled).replace("to = \"s-2\"", &format!("to = \"{device}\""));
        let files = profile::Files::In(folder.path().to_owned());
        let study = load_from(&text, "a.toml", &files, &[]).unwrap_or_else(|e| panic!("{e}"));
        let sample = crate::run::run(&study.points[0], "-", 0).unwrap();
        assert_eq!(sample.flows[0].delivered, 1, "{:?}", sample.flows[0]);
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

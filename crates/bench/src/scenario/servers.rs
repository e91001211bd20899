//! The MMS servers that a scenario's stations are: the objects of SCL files, and those of the program.
//!
//! ```text
//!   model = "plant.cid"    a file, read once, relative to the scenario's folder
//!   ied = "BAY1"           one of its devices
//! ```

use super::fields::{Placed, place_of};
use super::problem::{Problem, meant};
use super::{Scenario, Service};
use crate::mms::{BUILT_IN, Item, NoModel, model, model_of};
use crate::profile::{Files, Unreadable, octets_of};
use core::fmt;
use core::ops::Range;
use scl::Document;
use stack::mms::server::{Model, Node};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

/// Most names that a message lists.
const MOST_NAMED: usize = 8;

/// The device of a file whose objects a server has.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ServerName {
    /// The SCL file, as written in the scenario.
    pub file: String,
    /// The device; the first one with a server if `None`.
    pub ied: Option<String>,
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.ied {
            Some(ied) => write!(f, "{ied} of {}", self.file),
            None => f.write_str(&self.file),
        }
    }
}

/// An SCL file that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelFile {
    /// Its path.
    pub path: PathBuf,
    /// Its octets as they were read.
    pub octets: Vec<u8>,
}

/// Objects of a server that needs no file.
pub(super) fn built_in() -> Arc<Model> {
    Arc::new(model(BUILT_IN.as_bytes(), None).expect("a test reads the built-in model"))
}

impl Scenario {
    /// The server that each station is whose objects are those of a file, by the station's name.
    pub(super) fn server_names(&self) -> BTreeMap<String, ServerName> {
        let stations = self.all_stations().into_iter();
        let of = stations.filter_map(|station| {
            Some((station.name, ServerName { file: station.model?, ied: station.ied }))
        });
        of.collect()
    }

    /// The names of the stations' servers, and the keys of their tables.
    fn server_keys(&self) -> impl Iterator<Item = (ServerName, String)> {
        let name = |file: &Option<String>, ied: &Option<String>| {
            Some(ServerName { file: file.clone()?, ied: ied.clone() })
        };
        let named = self.named_stations.iter().enumerate().filter_map(move |(index, station)| {
            Some((name(&station.model, &station.ied)?, format!("station.{index}")))
        });
        let group = self.stations.as_ref().and_then(|group| name(&group.model, &group.ied));
        named.chain(group.map(|name| (name, "stations".to_owned())))
    }
}

/// The servers that the points of a study name. Each file is read once.
pub(super) struct Servers<'a> {
    files: &'a Files,
    documents: BTreeMap<String, Option<Document>>,
    read: BTreeMap<ServerName, Option<Arc<Model>>>,
    /// The files, by their names.
    pub(super) found: BTreeMap<String, ModelFile>,
}

impl<'a> Servers<'a> {
    pub(super) const fn new(files: &'a Files) -> Self {
        Self { files, documents: BTreeMap::new(), read: BTreeMap::new(), found: BTreeMap::new() }
    }

    /// Resolves the servers that a scenario names, or adds the problems.
    pub(super) fn resolve(
        &mut self,
        scenario: &mut Scenario,
        document: &Placed<'_>,
        problems: &mut Vec<Problem>,
    ) {
        let mut servers = BTreeMap::new();
        for (name, table) in scenario.server_keys() {
            if !self.read.contains_key(&name) {
                let found = self.find(&name, &table, document, problems);
                self.read.insert(name.clone(), found);
            }
            if let Some(Some(model)) = self.read.get(&name) {
                servers.insert(name, Arc::clone(model));
            }
        }
        scenario.servers = Arc::new(servers);
    }

    fn find(
        &mut self,
        name: &ServerName,
        table: &str,
        document: &Placed<'_>,
        problems: &mut Vec<Problem>,
    ) -> Option<Arc<Model>> {
        let place = place_of(document, &format!("{table}.model"));
        if !self.documents.contains_key(&name.file) {
            let found = match self.read(&name.file) {
                Ok(document) => Some(document),
                Err(error) => {
                    problems.push(unreadable(&name.file, error, place.clone()));
                    None
                }
            };
            self.documents.insert(name.file.clone(), found);
        }
        let document_of_file = self.documents.get(&name.file)?.as_ref()?;
        match model_of(document_of_file, name.ied.as_deref()) {
            Ok(model) => Some(Arc::new(model)),
            Err(NoModel::NoServer { name: Some(ied), devices }) => {
                let place = place_of(document, &format!("{table}.ied"));
                let message = format!("\"{}\" has no device \"{ied}\" with a server", name.file);
                problems.push(Problem::error(place, message).help(instead(&ied, &devices)));
                None
            }
            Err(error) => {
                problems.push(Problem::error(place, format!("\"{}\": {error}", name.file)));
                None
            }
        }
    }

    fn read(&mut self, name: &str) -> Result<Document, NoFile> {
        let path = self.files.path(name)?;
        let octets = octets_of(&path, scl::MOST_OCTETS as u64)?;
        let document =
            Document::read(&octets).map_err(|error| NoFile::NoScl { path: path.clone(), error })?;
        self.found.insert(name.to_owned(), ModelFile { path, octets });
        Ok(document)
    }
}

/// Reason for which a file has no devices.
enum NoFile {
    Unreadable(Unreadable),
    NoScl { path: PathBuf, error: scl::Error },
}

impl From<Unreadable> for NoFile {
    fn from(error: Unreadable) -> Self {
        Self::Unreadable(error)
    }
}

fn unreadable(name: &str, error: NoFile, place: Range<usize>) -> Problem {
    match error {
        NoFile::NoScl { path, error } => {
            let path = path.display();
            let reason = match error.place {
                Some(scl::Place { line, column }) => {
                    format!("{path}:{line}:{column}: {}", error.reason)
                }
                None => format!("{path}: {}", error.reason),
            };
            let problem = Problem::error(place, format!("\"{name}\" is no SCL file"));
            problem.label(reason).help("an ICD, CID or SCD file: tidewire help mms")
        }
        NoFile::Unreadable(error) => {
            let help = match error {
                Unreadable::Io { .. } => "the path is relative to the folder of the scenario",
                Unreadable::NoFolder => "without `model` a station has the built-in model",
                _ => "an ICD, CID or SCD file: tidewire help mms",
            };
            Problem::error(place, format!("no SCL file \"{name}\": {error}")).help(help)
        }
    }
}

/// Advice for a name that does not exist: the one that was probably meant, or the first of all.
fn instead(written: &str, names: &[String]) -> String {
    if let Some(name) = meant(written, names.iter().map(String::as_str)) {
        return format!("did you mean \"{name}\"?");
    }
    if names.is_empty() {
        return "there is none".to_owned();
    }
    let shown: Vec<&str> = names.iter().take(MOST_NAMED).map(String::as_str).collect();
    let more = if names.len() > MOST_NAMED { ", ..." } else { "" };
    format!("there are {}{more}", shown.join(", "))
}

/// Reports keys of servers that have no effect.
pub(super) fn check(scenario: &Scenario, problems: &mut Vec<Problem<String>>) {
    let named = scenario.named_stations.iter().enumerate();
    let named = named.map(|(index, it)| (format!("station.{index}"), &it.model, &it.ied));
    let group = scenario.stations.iter().map(|it| ("stations".to_owned(), &it.model, &it.ied));
    for (table, model, ied) in named.chain(group) {
        if ied.is_some() && model.is_none() {
            let message = "`ied` chooses a device of an SCL file, and there is none";
            let problem = Problem::error(format!("{table}.ied"), message);
            problems.push(problem.help("model = \"plant.cid\""));
        }
    }
    let called: BTreeSet<&str> = scenario
        .flows
        .iter()
        .filter(|flow| flow.service == Service::Mms)
        .map(|flow| flow.to.as_str())
        .collect();
    let unused = |station: &str| !called.contains(station);
    let mut warn = |path: String, station: &str| {
        let message =
            format!("no flow of service \"mms\" calls \"{station}\": its model is unused");
        problems.push(Problem::warning(path, message));
    };
    for (index, station) in scenario.named_stations.iter().enumerate() {
        if station.model.is_some() && unused(&station.name) {
            warn(format!("station.{index}.model"), &station.name);
        }
    }
    if let Some(group) = scenario.stations.as_ref().filter(|group| group.model.is_some()) {
        let names = (1..=group.count).map(|number| format!("{}-{number}", group.prefix));
        if names.into_iter().all(|name| unused(&name)) {
            warn("stations.model".to_owned(), &group.prefix);
        }
    }
}

/// Object of a call that a server does not have.
pub(super) struct Missing {
    /// Object, with its kind.
    pub(super) object: String,
    /// Names that exist in its place.
    pub(super) help: String,
}

/// The logical device, unless the model has it, with those that it has.
pub(super) fn missing_domain(model: &Model, domain: &str) -> Option<Missing> {
    let names: Vec<String> = model.domains.keys().cloned().collect();
    let help = instead(domain, &names);
    (!names.iter().any(|name| name == domain))
        .then(|| Missing { object: format!("logical device {domain}"), help })
}

/// The data set, unless the model has it, with those of its logical device.
pub(super) fn missing_list(model: &Model, list: &Item) -> Option<Missing> {
    if let Some(missing) = missing_domain(model, &list.domain) {
        return Some(missing);
    }
    let names: Vec<String> = model.domains.get(&list.domain)?.lists.keys().cloned().collect();
    let help = instead(&list.item, &names);
    (!names.contains(&list.item)).then(|| Missing { object: format!("data set {list}"), help })
}

/// The variable, unless the model has it, with the names that exist where its own ends.
pub(super) fn missing_variable(model: &Model, item: &Item) -> Option<Missing> {
    if let Some(missing) = missing_domain(model, &item.domain) {
        return Some(missing);
    }
    let variables = &model.domains.get(&item.domain)?.variables;
    let mut names: Vec<String> = variables.keys().cloned().collect();
    let mut known = String::new();
    for part in item.item.split('$') {
        if !names.iter().any(|name| name == part) {
            let help = match known.as_str() {
                "" => instead(part, &names),
                known => format!("in {known} {}", instead(part, &names)),
            };
            return Some(Missing { object: format!("variable {item}"), help });
        }
        if !known.is_empty() {
            known.push('$');
        }
        known.push_str(part);
        names = match model.node(&item.domain, &known) {
            Some(Node::Structure(members)) => members.iter().map(|it| it.name.clone()).collect(),
            Some(Node::Array(_) | Node::Leaf(_)) | None => Vec::new(),
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::{Study, load, load_from, to_toml};
    use crate::mms::BUILT_IN;
    use crate::profile::Files;
    use std::fs;

    fn text(station: &str, call: &str) -> String {
        format!(
            "version = 1\ntitle = \"t\"\nstop = {{ after = \"1 s\" }}\n\
             medium = {{ kind = \"switched\", rate = \"100 Mbit/s\", length = \"10 m\" }}\n\
             [[station]]\nname = \"client\"\n[[station]]\nname = \"ied-{{1..2}}\"\n{station}\n\
             [[flow]]\nname = \"poll\"\nfrom = \"client\"\nto = \"ied-*\"\nservice = \"mms\"\n\
             pattern = {{ kind = \"maximum-rate-request\" }}\n{call}\n"
        )
    }

    /// Two devices: FEED is that of the built-in file, and OTHER has the same types and one more node.
    fn two_devices() -> String {
        let (before, behind) = BUILT_IN.split_once("  <IED ").unwrap();
        let (own, templates) = behind.split_once("</IED>").unwrap();
        let node = "<LN prefix=\"\" lnClass=\"MMXU\" inst=\"1\" lnType=\"power\">";
        let other = own.replace("name=\"FEED\"", "name=\"OTHER\"");
        let other = other.replace(node, &node.replace("\"1\"", "\"7\""));
        let other = other.replace("lnInst=\"1\"", "lnInst=\"7\"");
        let client = "<IED name=\"HMI\"><AccessPoint name=\"P1\"/></IED>";
        format!("{before}{client}<IED {own}</IED><IED {other}</IED>{templates}")
    }

    fn study(station: &str, call: &str, file: &[u8]) -> Result<Study, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("plant.cid"), file).unwrap();
        let files = Files::In(folder.path().to_owned());
        let found = load_from(&text(station, call), "a.toml", &files, &[]);
        let place = format!("{}/", folder.path().display());
        found.map_err(|error| error.to_string().replace(&place, ""))
    }

    const OTHER: &str = "model = \"plant.cid\"\nied = \"OTHER\"";

    #[test]
    fn a_station_serves_the_device_of_its_file() {
        let two = two_devices();
        let read = "read = [\"OTHERLD0/MMXU7$MX$TotW$mag$f\"]";
        let study = study(OTHER, read, two.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        let scenario = study.scenario();
        assert_eq!(scenario.servers.len(), 1);
        let reply = |study: &Study| study.scenario().flows[0].pattern.reply().unwrap();
        assert!(reply(&study).0 > 10);
        assert_eq!(study.models["plant.cid"].octets, two.as_bytes());
        assert!(to_toml(scenario).contains(OTHER));
        // The whole measurement is longer than one value of it, in the octets of the encoder.
        let whole = self::study(OTHER, "read = [\"OTHERLD0/MMXU7$MX$TotW\"]", two.as_bytes());
        assert!(reply(&whole.unwrap()) > reply(&study));
    }

    #[test]
    fn a_directory_is_as_long_as_the_names_of_the_device() {
        let two = two_devices();
        let of = |call: &str| {
            let study =
                study(OTHER, call, two.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
            study.scenario().flows[0].pattern.reply().unwrap().0
        };
        let one = of("read = [\"OTHERLD0/MMXU7$MX$TotW$mag$f\"]");
        // Each name has two octets more than its letters.
        assert!(of("directory = \"OTHERLD0\"") > one + "MMXU7$MX$TotW$mag$f".len() as u64);
        assert!(of("data-set = \"OTHERLD0/LLN0$loads\"") > one);
    }

    #[track_caller]
    fn refused(station: &str, call: &str, file: &[u8], expected: &[&str]) {
        let error = study(station, call, file).unwrap_err();
        // Messages are wrapped.
        let words = error.split_whitespace().collect::<Vec<_>>().join(" ");
        for expected in expected {
            assert!(words.contains(expected), "{expected}\n{error}");
        }
    }

    #[test]
    fn an_object_that_the_model_lacks_is_named_with_those_there_are() {
        let two = two_devices();
        let check = |call: &str, expected: &[&str]| refused(OTHER, call, two.as_bytes(), expected);
        check(
            "read = [\"OTHERLD0/MMXU7$MX$TotW$mag\", \"OTHERLD0/MMXU7$MX$TotV\"]",
            &[
                "OTHER of plant.cid has no variable OTHERLD0/MMXU7$MX$TotV",
                "in MMXU7$MX did you mean \"TotW\"?",
                "a.toml:17:",
            ],
        );
        check(
            "read = [\"FEEDLD0/MMXU1$MX$TotW\"]",
            &["no logical device FEEDLD0", "there are OTHERLD0"],
        );
        check(
            "data-set = \"OTHERLD0/LLN0$load\"",
            &["no data set OTHERLD0/LLN0$load", "did you mean \"LLN0$loads\"?"],
        );
        check("directory = \"LD9\"", &["no logical device LD9"]);
    }

    #[test]
    fn an_unknown_device_is_answered_with_those_there_are() {
        let two = two_devices();
        let with = |ied: &str| format!("model = \"plant.cid\"\nied = \"{ied}\"");
        refused(
            &with("BAY1"),
            "",
            two.as_bytes(),
            &["\"plant.cid\" has no device \"BAY1\"", "there are FEED, OTHER", "a.toml:10:7"],
        );
        refused(&with("OTER"), "", two.as_bytes(), &["did you mean \"OTHER\"?"]);
        // A client is no server.
        refused(&with("HMI"), "", two.as_bytes(), &["no device \"HMI\" with a server"]);
        refused("ied = \"FEED\"", "", b"", &["`ied` chooses a device of an SCL file", "a.toml:9:"]);
    }

    #[test]
    fn a_file_that_is_no_scl_is_reported_in_both_files() {
        let broken = BUILT_IN.replacen("</LN0>", "</LN9>", 1);
        let model = "model = \"plant.cid\"";
        let is_none = ["\"plant.cid\" is no SCL file", "a.toml:9:9"];
        let check = |file: &str, more: &str| {
            refused(model, "", file.as_bytes(), &[&is_none[..], &[more]].concat());
        };
        check(&broken, "plant.cid:48:");
        check("<!DOCTYPE SCL [<!ENTITY a 'ha'>]>\n<SCL>&a;</SCL>", "plant.cid:1:1: document type");
        check("<SCL>\n<IED name='&a;'/></SCL>", "plant.cid:2:");
        check("<SCL>\n&a;</SCL>", "plant.cid:2:1: an entity other than");
        check("<a/>", "not the root of an SCL file");
        refused(model, "", b"<SCL/>", &["no device with a server", "a.toml:9:9"]);
        refused("model = \"none.cid\"", "", b"", &["no SCL file \"none.cid\": cannot read"]);
        let error = load(&text(model, ""), "a.toml").unwrap_err().to_string();
        assert!(error.contains("only a scenario file can name other files"), "{error}");
    }

    #[test]
    fn a_file_of_more_than_100_mb_is_refused_unread() {
        let folder = tempfile::tempdir().unwrap();
        let file = fs::File::create(folder.path().join("plant.cid")).unwrap();
        file.set_len(100_000_001).unwrap();
        let files = Files::In(folder.path().to_owned());
        let text = text("model = \"plant.cid\"", "");
        let error = load_from(&text, "a.toml", &files, &[]).unwrap_err().to_string();
        let words = error.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("has more than 100000000 octets"), "{error}");
    }

    #[test]
    fn a_model_that_no_flow_calls_is_warned_of() {
        let text = text("", "")
            .replace("name = \"client\"\n", "name = \"client\"\nmodel = \"plant.cid\"\n");
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("plant.cid"), BUILT_IN).unwrap();
        let files = Files::In(folder.path().to_owned());
        let study = load_from(&text, "a.toml", &files, &[]).unwrap();
        let messages: Vec<&str> = study.warnings.iter().map(|it| it.message.as_str()).collect();
        assert!(messages[0].contains("calls \"client\": its model is unused"), "{messages:?}");
    }
}

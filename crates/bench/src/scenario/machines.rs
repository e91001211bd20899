//! The machines that a scenario's stations are on: those that come with the program, and files.

use super::fields::{Placed, Read, pick, place_of};
use super::problem::Problem;
use super::{Scenario, Station};
use crate::profile::{self, Files, Profile, ProfileFile, Unreadable};
use core::fmt;
use core::ops::Range;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The machine of a station: `ideal`, `pc-pronet`, `at-pronet`, `intel-310`, `mvme372` or `nbs-1986`, which
/// come with the program, or the path of a profile file, relative to the scenario's folder.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ProfileName {
    /// A built-in profile.
    BuiltIn(#[schemars(with = "String")] &'static str),
    /// A profile file.
    File(String),
}

impl ProfileName {
    /// Returns the name as written in the scenario.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::BuiltIn(name) => name,
            Self::File(name) => name,
        }
    }
}

impl fmt::Display for ProfileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Read for ProfileName {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let written = String::read(value, problems)?;
        if profile::is_file_name(&written) {
            return Some(Self::File(written));
        }
        let names = profile::ALL.map(|built_in| (built_in.name, built_in.name));
        pick(&written, value.span(), "profile", &names, problems).map(Self::BuiltIn)
    }
}

impl Scenario {
    /// The machine of the station, if it takes any time.
    #[must_use]
    pub fn machine_of(&self, station: &Station) -> Option<&Profile> {
        let profile = self.machines.get(station.profile.as_ref()?)?;
        (!profile.is_ideal()).then_some(profile)
    }

    /// The names of the stations' machines and the keys that hold them.
    pub(super) fn profile_keys(&self) -> impl Iterator<Item = (&ProfileName, String)> {
        let named = self.named_stations.iter().enumerate().filter_map(|(index, station)| {
            Some((station.profile.as_ref()?, format!("station.{index}.profile")))
        });
        let group = self.stations.as_ref().and_then(|group| group.profile.as_ref());
        named.chain(group.map(|name| (name, "stations.profile".to_owned())))
    }
}

/// The profiles that the points of a study name, each of which is read once.
pub(super) struct Machines<'a> {
    files: &'a Files,
    read: BTreeMap<ProfileName, Option<Profile>>,
    /// The files among them, by their names.
    pub(super) found: BTreeMap<String, ProfileFile>,
}

impl<'a> Machines<'a> {
    pub(super) const fn new(files: &'a Files) -> Self {
        Self { files, read: BTreeMap::new(), found: BTreeMap::new() }
    }

    /// Resolves the machines that a scenario names, or adds the problems.
    pub(super) fn resolve(
        &mut self,
        scenario: &mut Scenario,
        document: &Placed<'_>,
        problems: &mut Vec<Problem>,
    ) {
        let mut machines = BTreeMap::new();
        for (name, key) in scenario.profile_keys() {
            if !self.read.contains_key(name) {
                let profile = self.find(name, place_of(document, &key), problems);
                self.read.insert(name.clone(), profile);
            }
            if let Some(Some(profile)) = self.read.get(name)
                && !machines.contains_key(name)
            {
                machines.insert(name.clone(), profile.clone());
            }
        }
        scenario.machines = Arc::new(machines);
    }

    fn find(
        &mut self,
        name: &ProfileName,
        place: Range<usize>,
        problems: &mut Vec<Problem>,
    ) -> Option<Profile> {
        let name = match name {
            ProfileName::BuiltIn(name) => return profile::built_in(name),
            ProfileName::File(name) => name,
        };
        match self.files.read(name) {
            Ok(file) => {
                let profile = file.profile.clone();
                self.found.insert(name.clone(), file);
                Some(profile)
            }
            Err(error) => {
                problems.push(problem(name, error, place));
                None
            }
        }
    }
}

/// Reports the problems of a profile file at the place where the scenario names it.
fn problem(name: &str, error: Unreadable, place: Range<usize>) -> Problem {
    let help = match error {
        Unreadable::Wrong(cause) => {
            let message = format!("\"{name}\" is not a profile");
            return Problem::error(place, message).cause(cause).help("tidewire help profiles");
        }
        Unreadable::NoFolder => "name a profile that comes with tidewire: tidewire profiles list",
        Unreadable::Io { .. } => "the path is relative to the folder of the scenario",
        Unreadable::NoCopy
        | Unreadable::NoFile { .. }
        | Unreadable::TooLong { .. }
        | Unreadable::NoText { .. } => "a profile is a small TOML file: tidewire help profiles",
    };
    Problem::error(place, format!("no profile \"{name}\": {error}")).help(help)
}

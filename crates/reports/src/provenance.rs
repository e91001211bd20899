//! Provenance of a folder of measures or of rows: its `run.json`.

use crate::document::Fact;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Provenance of the records of a folder.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Provenance {
    /// Title of the run.
    pub title: String,
    /// Command line, word by word.
    pub command: Vec<String>,
    /// Version of the program.
    pub program_version: String,
    /// Start time, as in the folder's name.
    pub started: String,
    /// Properties of the machine.
    pub host: BTreeMap<String, String>,
}

impl Provenance {
    /// Its facts.
    pub(crate) fn facts(&self) -> Vec<Fact> {
        let mut facts = vec![
            Fact::new("started", &self.started),
            Fact::new("program", format!("tidewire {}", self.program_version)),
        ];
        facts.extend(self.host.iter().map(|(name, value)| Fact::new(name, value)));
        facts
    }
}

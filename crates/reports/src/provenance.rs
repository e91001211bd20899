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
    /// Captures that were read, in that order; none of a port.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub captures: Vec<ReadCapture>,
}

/// Capture from which the records were made.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReadCapture {
    /// Name of the file as it was given, or `standard input`.
    pub file: String,
    /// Octets of the file as it is stored, compressed if it is; of a stream the octets that were read.
    pub octets: u64,
    /// SHA-256 of these octets in hexadecimal; `None` if an interrupt or an error ended the hashing.
    pub sha256: Option<String>,
}

impl ReadCapture {
    fn fact(&self) -> Fact {
        let sha256 = match &self.sha256 {
            Some(sha256) => format!("SHA-256 {sha256}"),
            None => "not hashed".to_owned(),
        };
        let octets = self.octets;
        Fact::new(format!("capture {}", self.file), format!("{octets} octets, {sha256}"))
    }
}

impl Provenance {
    /// Its facts.
    pub(crate) fn facts(&self) -> Vec<Fact> {
        let mut facts = vec![
            Fact::new("started", &self.started),
            Fact::new("program", format!("tidewire {}", self.program_version)),
        ];
        facts.extend(self.host.iter().map(|(name, value)| Fact::new(name, value)));
        facts.extend(self.captures.iter().map(ReadCapture::fact));
        facts
    }
}

//! The scenarios that come with the program.

/// A scenario that comes with the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BuiltIn {
    /// What commands call it.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
}

impl BuiltIn {
    /// The name of its file.
    #[must_use]
    pub fn file(&self) -> String {
        format!("{}.toml", self.name)
    }
}

/// All of them, in the order in which they are shown.
pub const ALL: [BuiltIn; 4] = [
    BuiltIn { name: "status-csma", text: include_str!("../../../scenarios/status-csma.toml") },
    BuiltIn { name: "status-short", text: include_str!("../../../scenarios/status-short.toml") },
    BuiltIn { name: "ring", text: include_str!("../../../scenarios/ring.toml") },
    BuiltIn { name: "bulk", text: include_str!("../../../scenarios/bulk.toml") },
];

/// The one of this name.
#[must_use]
pub fn get(name: &str) -> Option<BuiltIn> {
    ALL.into_iter().find(|scenario| scenario.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    #[test]
    fn every_built_in_scenario_loads_without_a_warning() {
        for built_in in ALL {
            let study = scenario::load(built_in.text, &built_in.file())
                .unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(study.warnings, []);
        }
        assert_eq!(get("bulk").map(|b| b.file()).as_deref(), Some("bulk.toml"));
        assert_eq!(get("no such"), None);
    }

    #[test]
    fn every_scenario_file_is_built_in() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".toml"))
            .collect();
        files.sort();
        let mut known: Vec<String> = ALL.iter().map(BuiltIn::file).collect();
        known.sort();
        assert_eq!(files, known);
    }
}

//! Built-in scenarios.

/// Built-in scenario.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BuiltIn {
    /// Name on the command line.
    pub name: &'static str,
    /// Text of its file.
    pub text: &'static str,
}

impl BuiltIn {
    /// Name of its file.
    #[must_use]
    pub fn file(&self) -> String {
        format!("{}.toml", self.name)
    }
}

/// Scenarios with the texts of their files.
macro_rules! built_in {
    ($($name:literal,)*) => {
        [$(BuiltIn {
            name: $name,
            text: include_str!(concat!("../../../scenarios/", $name, ".toml")),
        }),*]
    };
}

/// All of them, in display order.
pub const ALL: [BuiltIn; 28] = built_in![
    "status-csma",
    "status-short",
    "ring",
    "ship",
    "ship-prototype",
    "t1s-zone",
    "manufacturing-cell",
    "control-loop",
    "map-architectures",
    "file-transfer",
    "titles",
    "substation",
    "process-bus",
    "ieds",
    "polling",
    "plc-ring",
    "forty-stations",
    "bulk",
    "ncc84",
    "nbs-1986-status",
    "nbs-1986-constant-rate",
    "nbs-1986-maximum-rate",
    "tr-88-04-delay",
    "tr-88-04-throughput",
    "tr-88-08-messages",
    "tr-88-17-services",
    "tr-88-17-case",
    "tr-88-17-case-delay",
];

/// Returns the scenario of this name.
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

    /// The ship's message types, stations and load are those of TR-88-08.
    #[test]
    fn the_ship_has_32_stations_and_25_message_types_under_1_mbit_s() {
        let study = scenario::load(get("ship").unwrap().text, "ship.toml").unwrap();
        let media: Vec<_> = study.points.iter().map(|p| p.settings["medium"].as_str()).collect();
        assert_eq!(
            media,
            [
                "pronet-10 (length 592 m)",
                "token-ring (length 592 m, rate 4 Mbit/s)",
                "csma-cd (length 300 m, rate 10 Mbit/s)",
            ]
        );
        let ship = study.scenario();
        assert_eq!((ship.all_stations().len(), ship.flows.len()), (32, 25));
        for flow in &ship.flows {
            assert!(flow.deadline.is_some() && flow.service == scenario::Service::Message);
        }
        let of = |name: &str| ship.flows.iter().find(|flow| flow.name == name).unwrap();
        for name in ["heading", "autopilot-state"] {
            let period = "14 ms".parse().unwrap();
            assert_eq!(of(name).pattern, scenario::Pattern::Cyclic { period });
            assert_eq!(of(name).size.octets(), 100);
        }
        let period = "60 s".parse().unwrap();
        assert_eq!(of("position").pattern, scenario::Pattern::Cyclic { period });
        for point in &study.points {
            let medium = &point.scenario.medium;
            let bits = |flow| scenario::bits_due_per_second(flow, medium);
            let due: f64 = point.scenario.flows.iter().map(bits).sum();
            assert!((500e3..1e6).contains(&due), "{due} bit/s on {medium:?}");
        }
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

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

/// All of them, in display order.
pub const ALL: [BuiltIn; 28] = [
    BuiltIn { name: "status-csma", text: include_str!("../../../scenarios/status-csma.toml") },
    BuiltIn { name: "status-short", text: include_str!("../../../scenarios/status-short.toml") },
    BuiltIn { name: "ring", text: include_str!("../../../scenarios/ring.toml") },
    BuiltIn { name: "ship", text: include_str!("../../../scenarios/ship.toml") },
    BuiltIn {
        name: "ship-prototype",
        text: include_str!("../../../scenarios/ship-prototype.toml"),
    },
    BuiltIn { name: "t1s-zone", text: include_str!("../../../scenarios/t1s-zone.toml") },
    BuiltIn {
        name: "manufacturing-cell",
        text: include_str!("../../../scenarios/manufacturing-cell.toml"),
    },
    BuiltIn { name: "control-loop", text: include_str!("../../../scenarios/control-loop.toml") },
    BuiltIn {
        name: "map-architectures",
        text: include_str!("../../../scenarios/map-architectures.toml"),
    },
    BuiltIn { name: "file-transfer", text: include_str!("../../../scenarios/file-transfer.toml") },
    BuiltIn { name: "titles", text: include_str!("../../../scenarios/titles.toml") },
    BuiltIn { name: "substation", text: include_str!("../../../scenarios/substation.toml") },
    BuiltIn { name: "process-bus", text: include_str!("../../../scenarios/process-bus.toml") },
    BuiltIn { name: "ieds", text: include_str!("../../../scenarios/ieds.toml") },
    BuiltIn { name: "polling", text: include_str!("../../../scenarios/polling.toml") },
    BuiltIn { name: "plc-ring", text: include_str!("../../../scenarios/plc-ring.toml") },
    BuiltIn {
        name: "forty-stations",
        text: include_str!("../../../scenarios/forty-stations.toml"),
    },
    BuiltIn { name: "bulk", text: include_str!("../../../scenarios/bulk.toml") },
    BuiltIn { name: "ncc84", text: include_str!("../../../scenarios/ncc84.toml") },
    BuiltIn {
        name: "nbs-1986-status",
        text: include_str!("../../../scenarios/nbs-1986-status.toml"),
    },
    BuiltIn {
        name: "nbs-1986-constant-rate",
        text: include_str!("../../../scenarios/nbs-1986-constant-rate.toml"),
    },
    BuiltIn {
        name: "nbs-1986-maximum-rate",
        text: include_str!("../../../scenarios/nbs-1986-maximum-rate.toml"),
    },
    BuiltIn {
        name: "tr-88-04-delay",
        text: include_str!("../../../scenarios/tr-88-04-delay.toml"),
    },
    BuiltIn {
        name: "tr-88-04-throughput",
        text: include_str!("../../../scenarios/tr-88-04-throughput.toml"),
    },
    BuiltIn {
        name: "tr-88-08-messages",
        text: include_str!("../../../scenarios/tr-88-08-messages.toml"),
    },
    BuiltIn {
        name: "tr-88-17-services",
        text: include_str!("../../../scenarios/tr-88-17-services.toml"),
    },
    BuiltIn { name: "tr-88-17-case", text: include_str!("../../../scenarios/tr-88-17-case.toml") },
    BuiltIn {
        name: "tr-88-17-case-delay",
        text: include_str!("../../../scenarios/tr-88-17-case-delay.toml"),
    },
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

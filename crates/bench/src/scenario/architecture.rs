//! Architectures of MAP: the services that the users of a station have (TR-88-04, figure 1).
//!
//! A flow may name several services. It takes the first that both of its stations have, so one
//! scenario compares the architectures. A service that a station lacks is an error at the flow.

use super::problem::Problem;
use super::{Flow, Scenario, Service, Station};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Architecture of a MAP station. A station without one has every service.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Architecture {
    /// The seven layers alone: CASE and class 4.
    FullMap,
    /// The seven layers and the Enhanced Performance Architecture (EPA), side by side.
    MapEpa,
    /// EPA alone, the application on LLC: datagrams (type 1) and messages (types 1 and 3).
    MiniMap,
}

impl Architecture {
    /// All of them, by their names in scenarios.
    pub(super) const WORDS: [(&'static str, Self); 3] =
        [("full-map", Self::FullMap), ("map-epa", Self::MapEpa), ("mini-map", Self::MiniMap)];

    /// Name in scenarios.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FullMap => "full-map",
            Self::MapEpa => "map-epa",
            Self::MiniMap => "mini-map",
        }
    }

    /// True if the users of a station of this architecture have the service.
    #[must_use]
    pub const fn has(self, service: Service) -> bool {
        match self {
            Self::FullMap => service.is_connected(),
            Self::MapEpa => !service.is_published(),
            Self::MiniMap => !service.is_connected() && !service.is_published(),
        }
    }

    /// The services, in words.
    const fn services(self) -> &'static str {
        match self {
            Self::FullMap => "connections: \"case\", \"class-4\", \"mms\" and \"file\"",
            Self::MapEpa => "every service of MAP",
            Self::MiniMap => "LLC: \"datagram\" and \"message\"",
        }
    }
}

/// Services of a flow in the order of preference: at least one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Services {
    /// This one.
    One(Service),
    /// The first of these that both stations have.
    FirstOf(Vec<Service>),
}

impl Services {
    /// All of them, in the order of preference.
    #[must_use]
    pub fn all(&self) -> &[Service] {
        match self {
            Self::One(service) => core::slice::from_ref(service),
            Self::FirstOf(services) => services,
        }
    }
}

/// Architectures of the stations that have one, by the name of the station.
fn architectures(stations: &[Station]) -> BTreeMap<&str, Architecture> {
    stations.iter().filter_map(|it| Some((it.name.as_str(), it.architecture?))).collect()
}

/// The end of a flow whose architecture lacks the service, if there is one.
fn lacking<'f>(
    flow: &'f Flow,
    service: Service,
    of: &BTreeMap<&str, Architecture>,
) -> Option<(&'f str, Architecture)> {
    let ends = [flow.from.as_str(), flow.to.as_str()];
    ends.into_iter()
        .filter_map(|end| Some((end, *of.get(end)?)))
        .find(|(_, architecture)| !architecture.has(service))
}

/// Chooses the service of each flow. A flow of which no service fits keeps its first one, and
/// [`check`] reports it.
pub(super) fn choose(scenario: &mut Scenario) {
    let stations = scenario.all_stations();
    let of = architectures(&stations);
    for flow in &mut scenario.flows {
        let fits = |service: &&Service| lacking(flow, **service, &of).is_none();
        let chosen = flow.services.all().iter().find(fits).copied();
        if let Some(service) = chosen.or(flow.services.all().first().copied()) {
            flow.service = service;
        }
    }
}

/// Reports each flow whose service the architecture of one of its stations lacks.
pub(super) fn check(scenario: &Scenario, problems: &mut Vec<Problem<String>>) {
    let stations = scenario.all_stations();
    let of = architectures(&stations);
    for (index, flow) in scenario.flows.iter().enumerate() {
        let Some((station, architecture)) = lacking(flow, flow.service, &of) else { continue };
        let service = match flow.services.all() {
            [one] => format!("no service \"{}\"", one.name()),
            _ => "none of these services".to_owned(),
        };
        let message = format!("station \"{station}\" of {} has {service}", architecture.name());
        let problem = Problem::error(format!("flow.{index}.service"), message);
        let problem = problem.label(format!("it has {}", architecture.services()));
        let help = "name several, as in service = [\"case\", \"message\"]: the first that both \
                    stations have carries the flow";
        problems.push(problem.help(help));
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Service, load, to_toml};

    fn text(architectures: [&str; 2], service: &str) -> String {
        let [of_a, of_b] = architectures.map(|it| match it {
            "" => String::new(),
            name => format!("architecture = \"{name}\"\n"),
        });
        format!(
            "version = 1\ntitle = \"t\"\nstop = {{ after = \"1 s\" }}\n\
             medium = {{ kind = \"token-bus\", rate = \"5 Mbit/s\", length = \"100 m\" }}\n\
             [[station]]\nname = \"a\"\n{of_a}[[station]]\nname = \"b\"\n{of_b}\
             [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\nservice = {service}\n\
             pattern = {{ kind = \"cyclic\", period = \"10 ms\" }}\nsize = \"20 B\"\n"
        )
    }

    #[track_caller]
    fn check(architectures: [&str; 2], service: &str, expected: Service) {
        let study = load(&text(architectures, service), "a.toml");
        let study = study.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(study.scenario().flows[0].service, expected, "{architectures:?} {service}");
        let again = load(&to_toml(study.scenario()), "b.toml").unwrap();
        assert_eq!(again.scenario(), study.scenario(), "written and read again");
    }

    #[test]
    fn a_flow_takes_the_first_service_that_both_stations_have() {
        let either = "[\"datagram\", \"case\"]";
        check(["map-epa", "map-epa"], either, Service::Datagram);
        check(["full-map", "map-epa"], either, Service::Case);
        check(["map-epa", "full-map"], either, Service::Case);
        check(["mini-map", "map-epa"], "[\"case\", \"message\"]", Service::Message);
        check(["", "mini-map"], "[\"class-4\", \"datagram\"]", Service::Datagram);
        check(["", ""], "[\"case\", \"message\"]", Service::Case);
        check(["full-map", "full-map"], "\"class-4\"", Service::Class4);
    }

    #[track_caller]
    fn refused(architectures: [&str; 2], service: &str, message: &str) {
        let error = load(&text(architectures, service), "a.toml").unwrap_err().to_string();
        let place = format!("service = {service}\n");
        let (_, caret) = error.split_once(&place).unwrap_or_else(|| panic!("{error}"));
        assert!(caret.contains('^') && error.contains(message), "{error}");
    }

    #[test]
    fn a_service_that_a_station_lacks_is_refused_at_its_place() {
        let full = "station \"b\" of full-map has no service \"datagram\"";
        refused(["map-epa", "full-map"], "\"datagram\"", full);
        refused(["full-map", ""], "\"message\"", "station \"a\" of full-map");
        refused(["mini-map", "mini-map"], "\"class-4\"", "no service \"class-4\"");
        refused(["", "mini-map"], "[\"case\", \"class-4\"]", "none of these services");
        // Each station has one, but they have none in common.
        refused(["mini-map", "full-map"], "[\"case\", \"datagram\"]", "none of these services");
        refused(["map-epa", "map-epa"], "[]", "a flow needs a service");
        refused(
            ["map-epa", "map-epa"],
            "[\"case\", \"mms\"]",
            "\"mms\" has no service in its place",
        );
    }
}

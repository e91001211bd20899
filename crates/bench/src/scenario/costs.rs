//! Functions that take no time on a machine although other work of it does.
//!
//! A profile charges a function if one of its tasks names an input for it; an input of 0 is a
//! choice that its author states, with a source. A function without any input was left out, and
//! predictions are too good by its cost. So a flow that uses it causes a warning, unless the
//! scenario states the choice: `free = ["checksum"]`.

use super::problem::Problem;
use super::{Flow, Scenario, Service};
use crate::profile::Function;
use std::collections::{BTreeMap, BTreeSet};

impl Scenario {
    /// Functions of the machines at the ends of a flow.
    fn functions(&self, flow: &Flow) -> Vec<Function> {
        let checksum = self.transport.checksum.then_some(Function::Checksum);
        match flow.service {
            Service::Class4 => [Function::Class4].into_iter().chain(checksum).collect(),
            Service::Case | Service::File => {
                [Function::Case, Function::Class4].into_iter().chain(checksum).collect()
            }
            Service::Mms if flow.is_over_tcp() => vec![Function::Mms],
            Service::Mms => [Function::Mms, Function::Class4].into_iter().chain(checksum).collect(),
            Service::Datagram | Service::Goose | Service::SampledValues | Service::Cyclic => {
                vec![Function::Datagram]
            }
            Service::Message if flow.crc == Some(true) => vec![Function::Message, Function::Crc],
            Service::Message => vec![Function::Message],
        }
    }
}

/// Warns of each function that takes no time on a machine, at the place where the scenario names
/// the machine.
pub(super) fn check(scenario: &Scenario, problems: &mut Vec<Problem<String>>) {
    if scenario.machines.values().all(|profile| profile.is_ideal()) {
        return;
    }
    let stations = scenario.all_stations();
    let of_name: BTreeMap<&str, _> =
        stations.iter().map(|station| (station.name.as_str(), station)).collect();
    let mut uncharged = BTreeSet::new();
    for flow in &scenario.flows {
        let functions = scenario.functions(flow);
        for end in [&flow.from, &flow.to] {
            let Some(station) = of_name.get(end.as_str()) else { continue };
            let Some(profile) = scenario.machine_of(station) else { continue };
            let left_out = functions.iter().filter(|function| {
                !profile.charges(**function, scenario.medium.kind())
                    && !scenario.free.contains(function)
            });
            uncharged.extend(left_out.map(|function| (station.profile.as_ref(), *function)));
        }
    }
    for (name, function) in uncharged {
        let key = scenario.profile_keys().find(|(of_key, _)| Some(*of_key) == name);
        let Some((name, key)) = key else { continue };
        let (what, help) = words(function);
        let message = format!("{what} no time on \"{name}\", while other work does");
        let problem = Problem::warning(key, message).when_simulated();
        problems.push(problem.help(help));
    }
}

/// The function in a sentence, and the remedy if it takes no time.
const fn words(function: Function) -> (&'static str, &'static str) {
    match function {
        Function::Class4 => (
            "class 4 takes",
            "another profile, one of your own with tasks of layer \"transport\", or \
             free = [\"class-4\"] where this is meant",
        ),
        Function::Case => (
            "CASE takes",
            "another profile, one of your own with tasks at \"case\", or free = [\"case\"] where \
             this is meant",
        ),
        Function::Mms => (
            "MMS takes",
            "another profile, one of your own with tasks at \"mms\", or free = [\"mms\"] where this \
             is meant",
        ),
        Function::Checksum => (
            "the checksum of class 4 takes",
            "transport.checksum = false, a profile of your own with a \"checked-octet\" of layer \
             \"transport\", or free = [\"checksum\"] where this is meant",
        ),
        Function::Datagram => (
            "datagrams take",
            "another profile, one of your own with tasks of layer \"llc\", or free = [\"datagram\"] \
             where this is meant",
        ),
        Function::Message => (
            "messages take",
            "another profile, one of your own with tasks of layer \"llc\", or free = [\"message\"] \
             where this is meant",
        ),
        Function::Crc => (
            "the CRC of messages takes",
            "crc = false, a profile of your own with a \"checked-octet\" of layer \"llc\", or \
             free = [\"crc\"] where this is meant",
        ),
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::load;

    /// The warnings about a flow between two stations on a machine.
    #[track_caller]
    fn check(profile: &str, flow: &str, others: &str, expected: &[&str]) {
        let text = format!(
            "version = 1\ntitle = \"t\"\nstop = {{ after = \"1 s\" }}\n{others}\n\
             medium = {{ kind = \"ideal\", rate = \"10 Mbit/s\" }}\n\
             stations = {{ count = 2, prefix = \"s\", profile = \"{profile}\" }}\n[[flow]]\n\
             name = \"f\"\nfrom = \"s-1\"\nto = \"s-2\"\nservice = {flow}\n\
             pattern = {{ kind = \"cyclic\", period = \"50 ms\" }}\nsize = \"64 B\"\n"
        );
        let study = load(&text, "a.toml").unwrap_or_else(|error| panic!("{error}"));
        let found: Vec<&str> = study.warnings.iter().map(|it| it.message.as_str()).collect();
        assert_eq!(found, expected);
        for warning in &study.warnings {
            let shown = warning.render(&study.source.lines()).replace("\n    ", " ");
            assert!(shown.contains("a.toml:6:") && shown.contains("free = ["), "{shown}");
        }
    }

    #[test]
    fn a_function_without_a_cost_is_warned_of_unless_it_is_free() {
        let checksum =
            "the checksum of class 4 takes no time on \"nbs-1986\", while other work does";
        check("nbs-1986", "\"class-4\"", "", &[checksum]);
        check("nbs-1986", "\"class-4\"", "transport = { checksum = false }", &[]);
        check("nbs-1986", "\"class-4\"", "free = [\"checksum\"]", &[]);
        let datagrams = "datagrams take no time on \"nbs-1986\", while other work does";
        check("nbs-1986", "\"datagram\"", "", &[datagrams]);
        let class_4 = "class 4 takes no time on \"pc-pronet\", while other work does";
        check("pc-pronet", "\"class-4\"", "free = [\"checksum\"]", &[class_4]);
        check("pc-pronet", "\"datagram\"", "", &[]);
        check("pc-pronet", "\"message\"\ncrc = true", "", &[]);
        let crc = "the CRC of messages takes no time on \"intel-310\", while other work does";
        check("intel-310", "\"message\"\ncrc = true", "", &[crc]);
    }

    #[test]
    fn an_ideal_machine_takes_no_time_for_anything() {
        check("ideal", "\"class-4\"", "", &[]);
        check("ideal", "\"message\"\ncrc = true", "", &[]);
    }
}

//! Transport below a flow of MMS: class 4, or class 0 over TCP (RFC 1006).

use super::fields::{Placed, Read, pick};
use super::problem::Problem;
use super::{Flow, Medium, Scenario, Service};
use schemars::JsonSchema;
use serde::Serialize;
use stack::profile::Framing;
use stack::tcp;
use std::collections::{BTreeMap, BTreeSet};
use wire::addr::Mac;

/// Remark on each result over the simulated TCP.
const MINIMAL: &str = "a minimal TCP: MSS 1,460 B, no Nagle, window 64 KiB without congestion \
                       control, SACK or options; ACKs delayed up to 40 ms; RTO from 200 ms";

/// Transport of a flow of MMS.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Carriage {
    /// Class 4 over LLC.
    #[serde(rename = "class-4")]
    Class4,
    /// Class 0 of RFC 1006 on a minimal TCP.
    Tcp,
}

impl Read for Carriage {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let words = [("class-4", Self::Class4), ("tcp", Self::Tcp)];
        pick(&String::read(value, problems)?, value.span(), "transport", &words, problems)
    }
}

impl Flow {
    /// True if TCP carries it.
    #[must_use]
    pub fn is_over_tcp(&self) -> bool {
        self.service == Service::Mms && self.mms.transport == Some(Carriage::Tcp)
    }

    /// Remark that its results need: a protocol that no peer of its time has confirmed, or a model
    /// that is less than the protocol.
    #[must_use]
    pub fn standing(&self) -> Option<&'static str> {
        if self.is_over_tcp() { Some(MINIMAL) } else { self.service.standing() }
    }
}

/// TCP of a station.
pub(crate) fn tcp_of(address: Mac, first_sequence: u32) -> tcp::Params {
    tcp::Params { first_sequence, ..tcp::Params::lan(address) }
}

/// Names of the stations that use TCP.
pub(crate) fn stations_on_tcp(scenario: &Scenario) -> BTreeSet<&str> {
    let flows = scenario.flows.iter().filter(|flow| flow.is_over_tcp());
    flows.flat_map(|flow| [flow.from.as_str(), flow.to.as_str()]).collect()
}

/// Refuses TCP where there is no Ethernet, and stations that would need two transports.
pub(super) fn check(scenario: &Scenario, problems: &mut Vec<Problem<String>>) {
    let on_tcp = stations_on_tcp(scenario);
    if on_tcp.is_empty() {
        return;
    }
    let stations = scenario.all_stations();
    let has_architecture: BTreeMap<&str, bool> =
        stations.iter().map(|it| (it.name.as_str(), it.architecture.is_some())).collect();
    for (index, flow) in scenario.flows.iter().enumerate() {
        let path = |key: &str| format!("flow.{index}.{key}");
        let ends = [flow.from.as_str(), flow.to.as_str()];
        if !flow.is_over_tcp() {
            let shared = ends.into_iter().find(|end| on_tcp.contains(end));
            if let Some(station) = shared.filter(|_| flow.service.is_connected()) {
                let message =
                    format!("connections of \"{station}\" go over TCP, this one does not");
                let problem = Problem::error(path("service"), message);
                problems.push(problem.help("a station has one transport for all its connections"));
            }
            continue;
        }
        if !is_ethernet(&scenario.medium) {
            let message = "TCP needs Ethernet frames with a type, which this medium does not have";
            let problem = Problem::error(path("transport"), message);
            problems.push(problem.help("ideal, csma-cd, t1s and switched have them"));
        }
        if flow.priority.is_some_and(|priority| priority > 0) {
            let problem = Problem::error(path("priority"), "over TCP there are no priorities");
            problems.push(problem);
        }
        if let Some(station) =
            ends.into_iter().find(|end| has_architecture.get(end).is_some_and(|has| *has))
        {
            let message = format!("\"{station}\" is a station of MAP, which has no TCP");
            problems.push(Problem::error(path("transport"), message));
        }
    }
}

pub(super) fn is_ethernet(medium: &Medium) -> bool {
    matches!(medium.framing(), Framing::Ieee8023 | Framing::Ieee8021Q)
}

#[cfg(test)]
mod tests {
    use super::super::{load, to_toml};

    fn text(medium: &str, flow: &str, more: &str) -> String {
        format!(
            "version = 1\ntitle = \"t\"\nstop = {{ after = \"1 s\" }}\nmedium = {medium}\n\
             [[station]]\nname = \"a\"\n{more}\n[[station]]\nname = \"b\"\n[[flow]]\nname = \"poll\"\n\
             from = \"a\"\nto = \"b\"\nservice = \"mms\"\n\
             pattern = {{ kind = \"maximum-rate-request\" }}\n{flow}\n"
        )
    }

    const SWITCH: &str = "{ kind = \"switched\", rate = \"100 Mbit/s\", length = \"10 m\" }";
    const TCP: &str = "transport = \"tcp\"";

    #[track_caller]
    fn check(medium: &str, flow: &str, more: &str, expected: &str) {
        let error = load(&text(medium, flow, more), "a.toml").unwrap_err().to_string();
        let words = error.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(expected) && words.contains("--> a.toml:"), "{error}");
    }

    #[test]
    fn a_flow_over_tcp_is_written_as_it_is_read() {
        let study = load(&text(SWITCH, TCP, ""), "a.toml").unwrap();
        assert!(study.scenario().flows[0].is_over_tcp());
        let again = load(&to_toml(study.scenario()), "b.toml").unwrap();
        assert_eq!(again.scenario(), study.scenario());
    }

    #[test]
    fn tcp_is_refused_where_it_cannot_be() {
        let ring = "{ kind = \"token-ring\", rate = \"4 Mbit/s\", length = \"100 m\" }";
        check(ring, TCP, "", "TCP needs Ethernet frames");
        check(SWITCH, &format!("{TCP}\npriority = 3"), "", "over TCP there are no priorities");
        check(SWITCH, TCP, "architecture = \"full-map\"", "\"a\" is a station of MAP");
        check(SWITCH, "transport = \"udp\"", "", "unknown transport \"udp\"");
        let other = "[[flow]]\nname = \"bulk\"\nfrom = \"b\"\nto = \"a\"\nservice = \"class-4\"\n\
                     size = \"1 kB\"\npattern = { kind = \"bulk\" }";
        check(SWITCH, &format!("{TCP}\n{other}"), "", "connections of \"b\" go over TCP");
        let message = "[[flow]]\nname = \"trip\"\nfrom = \"b\"\nto = \"a\"\nservice = \"message\"\n\
                       size = \"100 B\"\npattern = { kind = \"cyclic\", period = \"10 ms\" }";
        assert!(load(&text(SWITCH, &format!("{TCP}\n{message}"), ""), "a.toml").is_ok());
        let class_4 = text(SWITCH, TCP, "").replace("\"mms\"", "\"class-4\"\nsize = \"64 B\"");
        let error = load(&class_4, "a.toml").unwrap_err().to_string();
        assert!(error.contains("only flows of service \"mms\" have `transport`"), "{error}");
    }
}

//! Stations in lockstep on CSMA/CD: those that take no time send at the same instant.
//!
//! A receiver that takes no time sends its AK at the end of a DT, at the instant at which the next
//! DT of a sender that takes no time is ready as well. Both wait for the gap between frames and
//! collide, at nearly each AK. Stations on machines do not: one of the two is later. So there is a
//! warning for a connection between stations that take no time if it has another DT to send when an
//! AK comes.
//!
//! A stated choice is not warned of: `profile = "ideal"` states that stations take no time. Nor are flows
//! that start together, because equal machines would start together too; nor datagrams and messages,
//! which collide as stations that all wait for one frame to end do, machines or not.

use super::problem::Problem;
use super::{Acknowledge, Credit, Flow, Scenario, Size};
use std::collections::BTreeMap;

/// Adds a warning for the first such flow.
pub(super) fn check(scenario: &Scenario, problems: &mut Vec<Problem<String>>) {
    if !scenario.medium.has_collisions()
        || scenario.flows.iter().all(|flow| !scenario.sends_at_acks(flow))
    {
        return;
    }
    let stations = scenario.all_stations();
    let of_name: BTreeMap<&str, _> =
        stations.iter().map(|station| (station.name.as_str(), station)).collect();
    let takes_time =
        |name: &str| of_name.get(name).is_none_or(|station| scenario.machine_of(station).is_some());
    let is_stated = |name: &str| of_name.get(name).is_some_and(|it| it.profile.is_some());
    let is_meant = |flow: &Flow| is_stated(&flow.from) && is_stated(&flow.to);
    let mut flows = scenario.flows.iter().enumerate();
    let first = flows.find(|(_, flow)| {
        scenario.sends_at_acks(flow)
            && !takes_time(&flow.from)
            && !takes_time(&flow.to)
            && !is_meant(flow)
    });
    let Some((index, _)) = first else { return };
    let message = "stations that take no time collide in lockstep: each AK with the next DT";
    let place = format!("flow.{index}.from");
    let help = "give stations a machine, as in profile = \"nbs-1986\" (tidewire profiles list), or \
                write profile = \"ideal\" where no time is meant";
    problems.push(Problem::warning(place, message).when_simulated().help(help));
}

impl Scenario {
    /// Returns true if a flow's connection has DTs to send when an AK of earlier ones comes.
    fn sends_at_acks(&self, flow: &Flow) -> bool {
        let transport = &self.transport;
        let acknowledged_at_once = match transport.acknowledge {
            Acknowledge::Each | Acknowledge::OnRequest => 1,
            Acknowledge::Withhold => transport.acknowledge_every,
            Acknowledge::Delay => return false,
        };
        if !flow.service.is_connected() || transport.credit == Credit::Taut {
            return false;
        }
        self.dts_in_a_row(flow).min(transport.window) > acknowledged_at_once
    }

    /// Minimum number of DTs that a user submits without waiting: those of a message, or of all.
    fn dts_in_a_row(&self, flow: &Flow) -> u64 {
        let dts = |size: Size| size.0.div_ceil(self.transport.tpdu.0.max(1));
        let of_message = dts(flow.size);
        if flow.pattern.is_bulk() {
            return self.messages_of(flow).unwrap_or(u64::MAX).saturating_mul(of_message);
        }
        flow.pattern.reply().map_or(of_message, |reply| of_message.max(dts(reply)))
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::load;

    const BUS: &str = "kind = \"csma-cd\", rate = \"10 Mbit/s\", length = \"100 m\"";
    const BULK: &str = "{ kind = \"bulk\", total = \"100 kB\" }";
    const EACH: &str = "window = 7, acknowledge = \"each\"";

    /// Returns true if a flow of class 4 between two stations is warned of.
    fn warns(medium: &str, profile: &str, transport: &str, flow: &str) -> bool {
        let text = format!(
            "version = 1\ntitle = \"t\"\nstop = {{ after = \"1 s\" }}\nmedium = {{ {medium} }}\n\
             free = [\"checksum\", \"class-4\"]\ntransport = {{ {transport} }}\n\
             stations = {{ count = 2, prefix = \"s\"{profile} }}\n[[flow]]\nname = \"f\"\n\
             from = \"s-1\"\nto = \"s-2\"\nservice = \"class-4\"\n{flow}\n"
        );
        let study = load(&text, "a.toml").unwrap_or_else(|error| panic!("{error}"));
        let shown: Vec<String> =
            study.warnings.iter().map(|warning| warning.render(&study.source.lines())).collect();
        let expected = "stations that take no time collide in lockstep";
        assert!(shown.iter().all(|shown| shown.contains(expected)), "{shown:?}");
        !shown.is_empty()
    }

    fn bulk(transport: &str) -> bool {
        warns(BUS, "", transport, &format!("pattern = {BULK}\nsize = \"1000 B\""))
    }

    #[test]
    fn a_window_with_dts_left_at_an_ak_is_in_lockstep() {
        assert!(bulk(EACH));
        assert!(bulk("window = 2, acknowledge = \"on-request\""));
        assert!(bulk("window = 7, acknowledge = \"withhold\""));
        assert!(!bulk("window = 1, acknowledge = \"each\""), "each DT waits for its AK");
        assert!(!bulk("window = 2, acknowledge = \"withhold\""), "both DTs wait for their AK");
        assert!(!bulk("window = 7, acknowledge = \"delay\""), "an AK comes after A_L");
        assert!(!bulk("window = 7, acknowledge = \"each\", credit = \"taut\""));
    }

    #[test]
    fn a_message_of_several_tpdus_is_in_lockstep_with_its_acks() {
        let of = |pattern: &str, size: &str| {
            let flow = format!("pattern = {{ {pattern} }}\nsize = \"{size} B\"");
            warns(BUS, "", EACH, &flow)
        };
        assert!(of("kind = \"cyclic\", period = \"20 ms\"", "5000"));
        assert!(!of("kind = \"cyclic\", period = \"20 ms\"", "200"));
        assert!(of("kind = \"maximum-rate-request\", reply = \"5000 B\"", "20"));
        assert!(!of("kind = \"maximum-rate-request\", reply = \"200 B\"", "20"));
    }

    #[test]
    fn machines_a_choice_or_another_medium_prevent_lockstep() {
        let of = |medium: &str, profile: &str| {
            warns(medium, profile, EACH, &format!("pattern = {BULK}\nsize = \"1000 B\""))
        };
        assert!(!of(BUS, ", profile = \"nbs-1986\""));
        assert!(!of(BUS, ", profile = \"ideal\""));
        let t1s = "kind = \"t1s\", length = \"15 m\", plca =";
        assert!(of(&format!("{t1s} false"), ""));
        assert!(!of(&format!("{t1s} true"), ""));
        assert!(!of("kind = \"ideal\", rate = \"10 Mbit/s\"", ""));
    }
}

//! Streams of cyclic data in a session: their rate, which limits must not hold back.

use super::SessionError;
use crate::layout::Place;
use crate::scenario::{Flow, Scenario};
use core::time::Duration;
use stack::load::FlowId;
use stack::load::publication::Publication;
use std::collections::BTreeMap;
use wire::control::Limits;

/// Octets of preamble, addresses, type, tag and FCS.
const FRAME_OCTETS: u64 = 8 + 14 + 4 + 4;
/// Time before the first frame of a stream: until the port of a busy peer takes its frames.
const RUN_UP: Duration = Duration::from_millis(300);

/// Returns true if streams are among the flows.
pub(super) fn among(scenario: &Scenario) -> bool {
    scenario.flows.iter().any(|flow| flow.service.is_published())
}

/// Streams of all places; to their groups, or to the peer alone.
pub(super) fn published(places: &[Place], to_groups: bool) -> BTreeMap<FlowId, Publication> {
    let all = places.iter().flat_map(|place| place.streams.published.clone());
    let sent = |it: Publication| Publication { group: it.group.filter(|_| to_groups), ..it };
    all.map(|(id, it)| (id, sent(it))).collect()
}

/// Time before the first frame of a run.
pub(super) fn run_up(scenario: &Scenario) -> Duration {
    if among(scenario) { RUN_UP } else { Duration::ZERO }
}

/// Refuses limits below the rate of flows with streams: their period would be that of the limits.
///
/// # Errors
/// [`SessionError::TooFast`].
pub(super) fn check(scenario: &Scenario, agreed: Limits) -> Result<(), SessionError> {
    let needed = rate_of(scenario);
    let is_enough = needed.frames_per_second <= agreed.frames_per_second
        && needed.bits_per_second <= agreed.bits_per_second;
    if is_enough || !among(scenario) {
        return Ok(());
    }
    Err(SessionError::TooFast { needed, agreed })
}

/// Rate of all flows with a mean interval: that of streams in their steady state.
fn rate_of(scenario: &Scenario) -> Limits {
    let of = |flow: &Flow| {
        let interval = flow.pattern.mean_interval()?.as_secs_f64();
        let bits = flow.size.0.saturating_add(FRAME_OCTETS).saturating_mul(8) as f64;
        (interval > 0.0).then(|| [1.0 / interval, bits / interval])
    };
    let mut sums = [0.0, 0.0];
    for rates in scenario.flows.iter().filter_map(of) {
        sums.iter_mut().zip(rates).for_each(|(sum, rate)| *sum += rate);
    }
    let [frames, bits] = sums.map(f64::ceil);
    Limits { frames_per_second: frames as u32, bits_per_second: bits as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::load;

    #[test]
    fn limits_below_the_rate_of_samples_are_refused() {
        let text = "version = 1\ntitle = \"t\"\nstop = { after = \"1 s\" }\n\
                    medium = { kind = \"ideal\", rate = \"1 Gbit/s\" }\n\
                    stations = { count = 2, prefix = \"s\" }\n[[flow]]\nname = \"f\"\n\
                    from = \"s-1\"\nto = \"s-2\"\nservice = \"sampled-values\"\nappid = 1\n\
                    pattern = { kind = \"cyclic\", period = \"250 us\" }\nsize = \"100 B\"\n";
        let study = load(text, "a.toml").unwrap_or_else(|error| panic!("{error}"));
        // 130 octets on the wire 4,000 times a second.
        let needed = Limits { frames_per_second: 4_000, bits_per_second: 4_160_000 };
        assert_eq!(rate_of(study.scenario()), needed);
        assert!(check(study.scenario(), needed).is_ok());
        for few in [
            Limits { frames_per_second: 3_999, ..needed },
            Limits { bits_per_second: 4_159_999, ..needed },
        ] {
            let error = check(study.scenario(), few).unwrap_err().to_string();
            assert!(error.contains("--max-frames"), "{error}");
        }
    }
}

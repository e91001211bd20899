//! Load that a scenario offers to its medium, and the size of what its runs write, for `--dry-run`.

use bench::scenario::{Flow, Medium, Scenario, bits_due_per_second};
use core::time::Duration;
use std::collections::BTreeMap;
use wire::printable::Printable;

/// Most classes of a histogram with three digits, from 1 ns to 24 hours.
const MOST_CLASSES: f64 = 40_000.0;
/// Octets of a class: its lower limit, its count, and the signs around them.
const OCTETS_OF_CLASS: f64 = 32.0;
/// Histograms of a flow: delay, delay from hand-over, response.
const HISTOGRAMS: f64 = 3.0;
/// Octets of a sample, a flow and a station beyond histograms, at most.
const OCTETS_OF_SAMPLE: f64 = 8_192.0;
const OCTETS_OF_FLOW: f64 = 4_096.0;
const OCTETS_OF_STATION: f64 = 512.0;

/// Load of the medium: a lower limit, as acknowledgements and headers above LLC do not count.
pub(super) struct Offered {
    pub(super) frames_per_second: f64,
    /// Share of the bit rate of the medium, or of its busiest link.
    pub(super) share: f64,
    /// That medium or link.
    pub(super) of: String,
}

/// Load of the flows with a fixed rate, and of the background.
pub(super) fn offered(scenario: &Scenario) -> Offered {
    let medium = &scenario.medium;
    let rate = medium.rate().0.bits_per_second() as f64;
    let background = scenario.background.as_ref();
    let of_background = background
        .and_then(|it| Some(it.stations as f64 / it.mean_interval(medium)?.as_secs_f64()));
    let frames: f64 = scenario.flows.iter().map(|flow| frames(flow, medium)).sum();
    let frames_per_second = frames + of_background.unwrap_or(0.0);
    if medium.is_shared() {
        let due: f64 = scenario.flows.iter().map(|it| bits_due_per_second(it, medium) / rate).sum();
        let share = due + background.map_or(0.0, |it| it.load.fraction());
        return Offered { frames_per_second, share, of: "the medium".to_owned() };
    }
    let mut links: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
    for flow in &scenario.flows {
        let share = bits_due_per_second(flow, medium) / rate;
        for (way, station) in [&flow.from, &flow.to].into_iter().enumerate() {
            links.entry(station).or_default()[way] += share;
        }
    }
    let busiest = links.iter().map(|(station, [out, back])| (station, out.max(*back)));
    let busiest = busiest.max_by(|one, other| one.1.total_cmp(&other.1));
    let (station, share) = busiest.map_or(("", 0.0), |(station, share)| (*station, share));
    let of = match links.len() {
        0..=2 => "the link between the two stations".to_owned(),
        _ => format!("the link of {}", Printable(station)),
    };
    Offered { frames_per_second, share, of }
}

/// Frames per second of a flow's messages and answers, if it has a fixed rate.
fn frames(flow: &Flow, medium: &Medium) -> f64 {
    let Some(interval) = flow.pattern.mean_interval().filter(|it| !it.is_zero()) else {
        return 0.0;
    };
    let most = medium.most_lsdu_octets().max(1);
    let of = |octets: u64| octets.div_ceil(most).max(1) as f64;
    let each = of(flow.size.0) + flow.pattern.reply().map_or(0.0, |reply| of(reply.0));
    each / interval.as_secs_f64()
}

/// Upper limit of the octets that a run's sample takes in the run folder.
pub(super) fn most_octets(scenario: &Scenario) -> f64 {
    let flows = scenario.flows.iter().map(|flow| {
        let messages = messages(scenario, flow);
        OCTETS_OF_FLOW + HISTOGRAMS * OCTETS_OF_CLASS * messages.min(MOST_CLASSES)
    });
    let stations = scenario.all_stations().len() as f64;
    OCTETS_OF_SAMPLE + OCTETS_OF_STATION * stations + flows.sum::<f64>()
}

/// Upper limit of a flow's messages in a run; no limit if it has no fixed rate and no number.
fn messages(scenario: &Scenario, flow: &Flow) -> f64 {
    if let Some(messages) = scenario.messages_of(flow) {
        return messages as f64;
    }
    let after: Duration = scenario.stop.after.0;
    match flow.pattern.mean_interval().filter(|it| !it.is_zero()) {
        // Messages at random may come at three times their mean rate for long, but not for a whole run.
        Some(interval) => 3.0 * after.as_secs_f64() / interval.as_secs_f64() + 100.0,
        None => f64::INFINITY,
    }
}

//! `--dry-run` of predict and measure: what would run, how long at most, at which rate, and what would be
//! written. Nothing is sent or written for it, and no port is opened.

use super::offered::{self, Offered, offered};
use crate::exit::Exit;
use crate::output::Output;
use crate::quantity::{counted, significant, span, value};
use crate::scenario_choice::Chosen;
use bench::analysis::Unit;
use bench::layout::patience;
use bench::medium::Medium;
use bench::paragraph::wrapped;
use bench::sample::{End, Line};
use bench::scenario::{Flow, Point};
use core::time::Duration;
use serde::Serialize;
use std::path::{Path, PathBuf};
use wire::printable::Printable;
use wire::time::nanos;
use wire::units::BitRate;

/// Groups of flows that are listed as lines.
const MOST_FLOWS: usize = 12;

/// Runs that would be made.
pub(super) struct Planned<'a> {
    pub(super) verb: &'static str,
    pub(super) chosen: &'a Chosen,
    /// Number of runs.
    pub(super) runs: u64,
    /// Greatest number of runs, if more are made until they are enough.
    pub(super) at_most: Option<u64>,
    /// True if runs take as long as they last.
    pub(super) is_real_time: bool,
    /// Link that takes the place of the scenario's medium; none where the medium counts.
    pub(super) link: Option<Link>,
    /// Limit of the frames that are sent, in words; none if none are.
    pub(super) limit: Option<String>,
    /// Files and folders that would be written.
    pub(super) writes: Vec<PathBuf>,
}

/// Link that is sent on.
pub(super) struct Link {
    /// Its name and its rate, if the rate is known.
    pub(super) port: Option<(String, BitRate)>,
    /// True if the rate of the medium is none of a scenario.
    pub(super) is_assumed: bool,
}

impl Link {
    /// Returns the load of this link instead of that of the medium, or names the rate that is assumed.
    fn of(&self, offered: Offered, medium: &Medium) -> Offered {
        let assumed = medium.rate().0;
        match &self.port {
            Some((name, rate)) => {
                let factor = assumed.bits_per_second() as f64 / rate.bits_per_second() as f64;
                let of = format!("the link of {}, {rate}", Printable(name));
                Offered { share: offered.share * factor, of, ..offered }
            }
            None if self.is_assumed => {
                let of = format!("{}, assumed to have {assumed}", offered.of);
                Offered { of, ..offered }
            }
            None => offered,
        }
    }
}

/// NDJSON record of a plan.
#[derive(Serialize)]
#[serde(tag = "type", rename = "plan")]
struct Record<'a> {
    verb: &'a str,
    title: &'a str,
    points: usize,
    runs: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_most_runs: Option<u64>,
    seed: String,
    /// Longest time that a run lasts, simulated or real.
    longest_run_ns: u64,
    /// All runs, one after the other.
    longest_ns: u64,
    is_real_time: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<&'a str>,
    flows: Vec<Load<'a>>,
    /// Lower limit of the frames per second at the first point.
    frames_per_second: f64,
    /// Lower limit of the share that they take of the bit rate.
    share: f64,
    /// The medium, or the link, that the share is of.
    share_of: &'a str,
    writes: &'a [PathBuf],
    /// Upper limit of the octets of the samples.
    most_octets: Option<u64>,
}

/// Offered load of a flow, or of all flows of a group, at the first point.
#[derive(Clone, PartialEq, Debug, Serialize)]
struct Load<'a> {
    name: &'a str,
    flows: u64,
    octets: u64,
    /// Messages and answers a second of all of them; none if a message waits for the one before.
    messages_per_second: Option<f64>,
    bits_per_second: Option<f64>,
}

/// Folder of the runs with this name, as far as it is known before they begin.
pub(super) fn folder(root: &Path, name: &str) -> PathBuf {
    root.join(format!("TIME-{}", bench::folder::plain(name)))
}

/// Prints a plan.
pub(super) fn print(planned: &Planned<'_>, output: &Output) -> anyhow::Result<Exit> {
    let study = &planned.chosen.study;
    let scenario = study.scenario();
    let longest = study.points.iter().map(longest).max().unwrap_or_default();
    let runs = u32::try_from(planned.at_most.unwrap_or(planned.runs)).unwrap_or(u32::MAX);
    let all = longest.saturating_mul(runs);
    let flows = loads(study.points.first().map(|point| &*point.scenario.flows).unwrap_or_default());
    let mut offered = offered(scenario);
    if let Some(link) = &planned.link {
        offered = link.of(offered, &scenario.medium);
    }
    let most_octets = most_octets(planned, runs);
    output.record(&Record {
        verb: planned.verb,
        title: &scenario.title,
        points: study.points.len(),
        runs: planned.runs,
        at_most_runs: planned.at_most,
        seed: scenario.seed.to_string(),
        longest_run_ns: nanos(longest),
        longest_ns: nanos(all),
        is_real_time: planned.is_real_time,
        limit: planned.limit.as_deref(),
        flows: flows.clone(),
        frames_per_second: offered.frames_per_second,
        share: offered.share,
        share_of: &offered.of,
        writes: &planned.writes,
        most_octets,
    })?;
    output.record(&Line::End(End { complete: true, error: None }))?;
    if !output.json {
        let plan =
            Plan { longest: Longest { run: longest, all }, loads: flows, offered, most_octets };
        for line in lines(planned, &plan) {
            output.line(line)?;
        }
    }
    Ok(Exit::Ok)
}

/// Upper limit of the octets of the samples in the run folder, which is the first thing written; none if nothing is.
fn most_octets(planned: &Planned<'_>, runs: u32) -> Option<u64> {
    let points = &planned.chosen.study.points;
    let most = points.iter().map(|point| offered::most_octets(&point.scenario));
    let most = most.fold(0.0, f64::max) * f64::from(runs);
    (!planned.writes.is_empty()).then_some(most as u64)
}

/// A plan in numbers.
struct Plan<'a> {
    longest: Longest,
    loads: Vec<Load<'a>>,
    offered: Offered,
    most_octets: Option<u64>,
}

/// Longest times.
struct Longest {
    run: Duration,
    all: Duration,
}

/// Longest time that a run of a point lasts: to its end, and until the last deadline or giving up.
fn longest(point: &Point) -> Duration {
    point.scenario.stop.after.0.saturating_add(patience(&point.scenario))
}

/// Loads of flows, those of a group together, in the order of the scenario.
fn loads(flows: &[Flow]) -> Vec<Load<'_>> {
    let mut loads: Vec<Load<'_>> = Vec::new();
    for flow in flows {
        let name = flow.group.as_deref().unwrap_or(&flow.name);
        let each = flow.pattern.mean_interval().filter(|interval| !interval.is_zero());
        let reply = flow.pattern.reply().map(|reply| reply.0);
        let messages =
            each.map(|each| (1.0 + f64::from(u8::from(reply.is_some()))) / each.as_secs_f64());
        let octets = flow.size.0 + reply.unwrap_or(0);
        let bits = each.map(|each| octets as f64 * 8.0 / each.as_secs_f64());
        let add = |sum: &mut Option<f64>, more: Option<f64>| {
            *sum = sum.zip(more).map(|(sum, more)| sum + more);
        };
        match loads.iter_mut().find(|load| flow.group.is_some() && load.name == name) {
            Some(load) => {
                load.flows += 1;
                add(&mut load.messages_per_second, messages);
                add(&mut load.bits_per_second, bits);
            }
            None => loads.push(Load {
                name,
                flows: 1,
                octets: flow.size.0,
                messages_per_second: messages,
                bits_per_second: bits,
            }),
        }
    }
    loads
}

/// The plan for people.
fn lines(planned: &Planned<'_>, plan: &Plan<'_>) -> Vec<String> {
    let Plan { longest, loads, offered, most_octets } = plan;
    let study = &planned.chosen.study;
    let line = |name: &str, text: &str| wrapped(&format!("  {name:9} "), text);
    let mut lines = vec![wrapped("", &Printable(&study.scenario().title).to_string())];
    let points = counted(study.points.len() as u64, "point");
    let more = planned.at_most.map_or_else(String::new, |most| format!(", at most {most} in all"));
    let seed = study.scenario().seed;
    lines.push(line("runs", &format!("{} of {points}{more}; seed {seed}", planned.runs)));
    let [run, all] = [longest.run, longest.all].map(|it| span(nanos(it)));
    lines.push(match planned.is_real_time {
        true => line("takes", &format!("at most {run} a run, {all} in all")),
        false => line(
            "simulates",
            &format!("at most {run} a run, {all} in all; time of the host differs"),
        ),
    });
    for load in loads.iter().take(MOST_FLOWS) {
        lines.push(line("load", &of_flow(load)));
    }
    if loads.len() > MOST_FLOWS {
        lines.push(line("load", &format!("and of {} more flows", loads.len() - MOST_FLOWS)));
    }
    lines.push(line("sum", &sum(loads)));
    lines.push(line("frames", &of_medium(offered)));
    lines.extend(planned.limit.as_deref().map(|limit| line("limit", limit)));
    for path in &planned.writes {
        // Not wrapped: a path is copied.
        lines.push(format!("  {:9} {}", "writes", Printable(&path.display().to_string())));
    }
    match most_octets {
        Some(octets) => {
            let text = format!("at most {} of samples", trimmed_megabytes(*octets));
            lines.push(line("size", &text));
        }
        None => lines.push(line("writes", "nothing")),
    }
    lines.push("dry run: no run was made, and nothing was sent or written".to_owned());
    lines
}

/// Load of the medium in words.
fn of_medium(offered: &Offered) -> String {
    let Offered { frames_per_second, share, of } = offered;
    let [frames, percent] = [*frames_per_second, share * 100.0].map(|it| significant(it, 3));
    format!("at least {frames} frames/s, {percent} % of {of}; acknowledgements are not counted")
}

/// A number of octets in megabytes, rounded up.
fn trimmed_megabytes(octets: u64) -> String {
    format!("{:.1} MB", (octets as f64 / 1e5).ceil() / 10.0)
}

/// Load of a flow in words.
fn of_flow(load: &Load<'_>) -> String {
    let name = Printable(load.name);
    let flows = if load.flows > 1 { format!(" ({} flows)", load.flows) } else { String::new() };
    let octets = if load.octets > 0 { format!("{} B, ", load.octets) } else { String::new() };
    match (load.messages_per_second, load.bits_per_second) {
        (Some(messages), Some(bits)) => format!("{name}{flows}: {octets}{}", rate(messages, bits)),
        _ => format!("{name}{flows}: {octets}as fast as the service and the peer allow"),
    }
}

/// Load of all flows in words.
fn sum(loads: &[Load<'_>]) -> String {
    let all = |of: fn(&Load<'_>) -> Option<f64>| {
        loads.iter().filter_map(of).fold(0.0, |sum, it| sum + it)
    };
    let messages = all(|load| load.messages_per_second);
    let bits = all(|load| load.bits_per_second);
    let open = loads.iter().filter(|load| load.messages_per_second.is_none()).count();
    if open == loads.len() {
        return "no fixed rate".to_owned();
    }
    let and = if open > 0 { format!(", and {open} without a fixed rate") } else { String::new() };
    format!("{} of user data at the first point, with answers{and}", rate(messages, bits))
}

fn rate(messages: f64, bits: f64) -> String {
    format!("{} messages/s, {}", significant(messages, 3), value(Unit::BitsPerSecond, bits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench::scenario;

    #[test]
    fn a_share_is_that_of_the_link_of_a_port() {
        let medium = Medium::Ideal(bench::medium::Ideal {
            rate: bench::scenario::Rate(BitRate::mbps(1_000)),
            delay: bench::scenario::Span(Duration::ZERO),
        });
        let offered = || Offered {
            frames_per_second: 100.0,
            share: 0.001,
            of: "the link between the two stations".to_owned(),
        };
        let of = |link: Link| {
            let found = link.of(offered(), &medium);
            (found.share, found.of)
        };
        let port = Some(("eth1".to_owned(), BitRate::mbps(100)));
        let known = of(Link { port: port.clone(), is_assumed: true });
        assert_eq!(known, (0.01, "the link of eth1, 100 Mbit/s".to_owned()));
        assert_eq!(of(Link { port, is_assumed: false }), known);
        let unknown = of(Link { port: None, is_assumed: true });
        let said = "the link between the two stations, assumed to have 1 Gbit/s";
        assert_eq!(unknown, (0.001, said.to_owned()));
        let scenario = of(Link { port: None, is_assumed: false });
        assert_eq!(scenario, (0.001, offered().of));
    }

    #[test]
    fn a_load_counts_answers_and_sums_a_group() {
        let text = "version = 1\ntitle = \"t\"\nstop = { after = \"1 s\" }\n\
             medium = { kind = \"ideal\", rate = \"10 Mbit/s\" }\n\
             stations = { count = 3, prefix = \"s\" }\n\
             [[flow]]\nname = \"poll\"\nfrom = \"s-1\"\nto = \"s-2\"\nservice = \"class-4\"\nsize = \"100 B\"\n\
             pattern = { kind = \"constant-rate-request\", period = \"20 ms\", reply = \"50 B\" }\n\
             [[flow]]\nname = \"trip\"\nfrom = \"s-*\"\nto = \"s-1\"\nservice = \"datagram\"\nsize = \"64 B\"\n\
             pattern = { kind = \"cyclic\", period = \"10 ms\" }\n\
             [[flow]]\nname = \"file\"\nfrom = \"s-1\"\nto = \"s-3\"\nservice = \"class-4\"\nsize = \"1000 B\"\n\
             pattern = { kind = \"bulk\", total = \"1 MB\" }\n";
        let study = scenario::load(text, "a.toml").unwrap_or_else(|error| panic!("{error}"));
        let loads = loads(&study.points[0].scenario.flows);
        // 50 requests and 50 answers a second; two flows of 100 messages a second.
        let found: Vec<_> = loads
            .iter()
            .map(|it| (it.name, it.flows, it.messages_per_second, it.bits_per_second))
            .collect();
        let expected = [
            ("poll", 1, Some(100.0), Some(150.0 * 8.0 * 50.0)),
            ("trip", 2, Some(200.0), Some(64.0 * 8.0 * 200.0)),
            ("file", 1, None, None),
        ];
        assert_eq!(found, expected);
        assert_eq!(
            sum(&loads),
            "300 messages/s, 162 kbit/s of user data at the first point, with answers, and 1 without a fixed rate"
        );
    }
}

//! TR-88-04: W. T. Strayer and A. C. Weaver, "Performance Measurement of Data Transfer Services in MAP",
//! University of Virginia, 1988.
//!
//! Its machines are the station profile `intel-310` on a simulated token bus. The profile was calibrated
//! on the delays of one message; throughput, retransmission timer, window and circuits are predicted by
//! every split of these delays between host, bus and front end that fits. At a second tier
//! the rate of datagrams is an input as well: the delays do not show all of a host's work. Rows and
//! figures are those of the first tier. Not modelled: see the profile,
//! the host model and the bus.

mod answers;
mod context;
#[cfg(test)]
mod tests;

use crate::published::value::Value;
use crate::published::{
    AtTier, Event, Options, Paper, Report, ReproduceError, Reproduction, Unavailable, judge, plot,
    row,
};
use crate::transfer::curves::{self, IsModel};
use crate::transfer::{
    FIRST_T1, INFORMATION, LARGE, LEAST, MOST_DATAGRAM, Question, Service, Setup, TPDU, Trial,
};
use answers as a;
use bench::profile;
use bench::scenario::Medium;
use context::{Context, PROFILE, VOLUME_OCTETS};
use core::time::Duration;
use std::collections::BTreeSet;

/// The paper.
pub const PAPER: Paper = Paper {
    name: "tr-88-04",
    title: "Strayer and Weaver, Performance Measurement of Data Transfer Services in MAP, 1988",
    repetitions: 50,
    run,
};

/// Its rows.
const ROWS: &str = include_str!("../../reproduce/tr-88-04.toml");

/// Retransmission times, from the paper's first downwards.
const T1S: [Duration; 12] = [
    FIRST_T1,
    Duration::from_millis(90),
    Duration::from_millis(80),
    Duration::from_millis(70),
    Duration::from_millis(65),
    Duration::from_millis(60),
    Duration::from_millis(55),
    Duration::from_millis(50),
    Duration::from_millis(40),
    Duration::from_millis(30),
    Duration::from_millis(20),
    Duration::from_millis(10),
];

/// Function that obtains one of our figures.
type Source = fn(&mut Context) -> Result<Value, Unavailable>;

/// Source of each of our figures, by the name in the rows.
const SOURCES: [(&str, Source); 42] = [
    ("bus-rate", |_| bus(|medium| medium.rate().0.bits_per_second() as f64 / 1e6)),
    ("bus-length", |_| bus(|medium| medium.length().map_or(f64::NAN, |(l, _)| l.metres()))),
    ("stations", |_| a::was(2)),
    ("load", |l| l.over_models(a::load)),
    ("datalink-intercept", |l| l.over_models(a::datalink_intercept)),
    ("datalink-octets-per-ms", |l| l.over_models(a::datalink_octets_per_ms)),
    ("datalink-slope", |l| l.over_models(a::datalink_slope)),
    ("host-submit", |l| l.over_models(a::host_submit)),
    ("transport-least", |l| l.over_models(a::transport_least)),
    ("straightness", |l| l.over_models(a::straightness)),
    ("tpdu", |_| a::was(TPDU as u64)),
    ("information", |_| a::was(INFORMATION as u64)),
    ("reserved", |_| a::reserved()),
    ("period", |_| a::was(INFORMATION as u64)),
    ("first-step", |l| l.over_models(a::first_step)),
    ("further-step", |l| l.over_models(a::further_step)),
    ("short-ratio", |l| l.over_models(a::short_ratio)),
    ("datagram-most", |_| a::was(MOST_DATAGRAM as u64)),
    ("volume", |_| Ok(Value::exact(VOLUME_OCTETS as f64 / 1e6))),
    ("datalink-rate-longest", |l| l.over_models(|l, m| a::datagrams(l, m, MOST_DATAGRAM))),
    ("datalink-rate-short", |l| l.over_models(|l, m| a::datagrams(l, m, LEAST))),
    ("datalink-most", |l| l.over_models(a::datalink_most)),
    ("drop", |l| l.over_models(a::drop)),
    ("asymptote", |l| l.over_models(a::asymptote)),
    ("first-t1", |_| Ok(Value::exact(FIRST_T1.as_secs_f64() * 1e3))),
    ("above-knee", |l| l.over_models(|l, m| a::over_first_t1(l, m, 60))),
    ("below-knee", |l| l.over_models(|l, m| a::over_first_t1(l, m, 40))),
    ("knee", |l| l.over_models(a::knee)),
    ("largest-unsegmented", |l| l.over_models(a::largest_unsegmented)),
    ("ak-delay", |l| l.over_models(a::ak_delay)),
    ("fewest-circuits", |_| a::was(1)),
    ("most-circuits", |_| a::was(16)),
    ("one-circuit", |l| l.over_models(a::asymptote)),
    ("many-circuits", |l| l.over_models(a::many_circuits)),
    ("window-least", |_| a::was(1)),
    ("window-most", |_| a::window_most()),
    ("window-default", |_| a::window_most()),
    ("window-ratio", |l| l.over_models(a::window_ratio)),
    ("window-step-least", |l| l.over_models(a::least_window_step)),
    ("first-window-step", |l| l.over_models(a::first_window_step)),
    ("delay-ratio-most", |l| l.over_models(a::delay_ratio)),
    ("rate-ratio-least", |l| l.over_models(a::rate_ratio)),
];

/// Property of the bus as simulated.
fn bus(figure: fn(&Medium) -> f64) -> Result<Value, Unavailable> {
    let trial = Trial::new(Service::Datalink, Question::Delay, LEAST);
    let point = Setup::simulated(1, 1, 1).point(&trial)?;
    Ok(Value::exact(figure(&point.scenario.medium)))
}

fn run(options: &Options, report: &mut Report<'_>) -> Result<Reproduction, ReproduceError> {
    let profile = profile::built_in(PROFILE).ok_or(ReproduceError::NoProfile(PROFILE))?;
    let mut trials = curves::trials(&T1S);
    trials.extend(a::windows());
    trials.sort_unstable();
    trials.dedup();
    let mut tiers = Vec::new();
    let mut shown = None;
    for tier in &profile.tiers {
        let Some(here) = profile.at_tier(&tier.name) else { continue };
        let mut context = Context::new(&here, options.clone(), VOLUME_OCTETS);
        context.prepare(&trials);
        let inputs = context.inputs();
        let rows = row::parse(ROWS)?;
        let outcomes = judge(rows, &inputs, |source, _| obtain(&mut context, source));
        let (name, title) = (tier.name.clone(), tier.title.clone());
        tiers.push(AtTier { name, title, models: context.count(), outcomes: outcomes.clone() });
        if shown.is_none() {
            report(Event::Rows(&outcomes))?;
            shown = Some((context, inputs, outcomes));
        }
    }
    let (mut context, inputs, outcomes) = shown.ok_or(ReproduceError::NoProfile(PROFILE))?;
    let mut plots =
        curves::plots(&T1S, IsModel::Yes, &plot::means_at_each_point(options.messages), |trial| {
            context.over_models(|context, model| context.of(model, *trial))
        })?;
    let remarks = remarks(&mut context, &inputs)?;
    plot::add_published(&mut plots, &outcomes);
    let (time_diagrams, matrices) = (Vec::new(), Vec::new());
    Ok(Reproduction { outcomes, plots, time_diagrams, matrices, tiers, remarks })
}

/// Obtains the result of a source.
fn obtain(context: &mut Context, name: &str) -> Result<Value, Unavailable> {
    let source = SOURCES.iter().find(|(known, _)| *known == name);
    let (_, source) = source.ok_or_else(|| Unavailable(format!("no source is called {name}")))?;
    source(context)
}

fn remarks(context: &mut Context, inputs: &BTreeSet<String>) -> Result<Vec<String>, Unavailable> {
    let Options { seed, messages, .. } = context.options;
    let names: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let models = context.count();
    let large = Trial::new(Service::Transport, Question::Throughput, LARGE);
    let work = |of: fn((f64, f64)) -> f64| {
        move |context: &mut Context, model: usize| {
            Ok(Value::exact(of(context.outcome(model, large)?.processor_ms)))
        }
    };
    let hosts = context.over_models(work(|(host, _)| host))?;
    let all = context.over_models(work(|(_, all)| all))?;
    let saved = context.over_models(work(|(host, all)| (1.0 - host / all) * 100.0))?;
    Ok(vec![
        format!(
            "Two stations on a simulated token bus of 3 m at 10 Mbit/s, n = {messages} messages for \
             each delay, {VOLUME_OCTETS} octets but at most 500 messages for each throughput, seed {seed}."
        ),
        format!(
            "Each interval spans {models} models that fit the delays: {} splits of them between \
             host, Multibus and front end, each with an acknowledgement for two TPDUs and for one; \
             its value is that of the first.",
            models / 2
        ),
        format!(
            "Processors of both stations work {:.1} ms ({:.1} to {:.1}) for a TSDU of {LARGE} octets, \
             the hosts {:.1} ms ({:.1} to {:.1}) of it: the front ends take {:.0} % ({:.0} to {:.0}) \
             from them.",
            all.value,
            all.low,
            all.high,
            hosts.value,
            hosts.low,
            hosts.high,
            saved.value,
            saved.low,
            saved.high
        ),
        format!(
            "Assumed, because the paper does not say: TSDUs of {LARGE} octets in Figures 8 and 9 and with several \
             circuits, and an AK for two TPDUs that waits for the second at most {} ms (A_L).",
            context.acknowledgement_delay().as_millis()
        ),
        format!("Calibrated on {}.", names.join(", ")),
    ])
}

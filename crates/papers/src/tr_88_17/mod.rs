//! TR-88-17: W. T. Strayer and A. C. Weaver, "Performance Measurements of Motorola's Implementation of
//! MAP", University of Virginia, 1988.
//!
//! Its machines are the station profile `mvme372` on a simulated token bus. The profile is calibrated
//! in tiers, each with more published figures than the one before. A figure is an input from its tier
//! on, and a prediction at the tiers before; successes are counted for each tier. Not modelled: see
//! the profile, the host model and the bus.

mod answers;
mod context;
mod figures;
mod ours;
#[cfg(test)]
mod recalibrated;
#[cfg(test)]
mod tests;

use crate::published::value::Value;
use crate::published::{
    AtTier, Event, Options, Paper, Report, ReproduceError, Reproduction, Unavailable, judge, plot,
    row,
};
use answers as a;
use bench::profile;
use bench::run::run;
use bench::scenario::Medium;
use context::{Carrier, Context, LEAST, LONG, MESSAGES, MOST, STATIONS, TPDU, Trial};

/// The paper.
pub const PAPER: Paper = Paper {
    name: "tr-88-17",
    title: "Strayer and Weaver, Performance Measurements of Motorola's Implementation of MAP, 1988",
    repetitions: 50,
    run: reproduce,
};

/// Its rows.
const ROWS: &str = include_str!("../../reproduce/tr-88-17.toml");
/// The profile.
const PROFILE: &str = "mvme372";
/// Tier whose rows, figures and remarks are shown.
const SHOWN: &str = "rates";

/// Function that obtains one of our figures.
type Source = fn(&mut Context) -> Result<Value, Unavailable>;

const CASE: Carrier = Carrier::CaseLast;
const TRANSPORT: Carrier = Carrier::Transport;
const DATALINK: Carrier = Carrier::Datalink;

/// Source of each of our figures, by the name in the rows.
const SOURCES: [(&str, Source); 48] = [
    ("gain-short", |l| l.over_models(|l, m| a::gain(l, m, LEAST))),
    ("delay-over-transmission", |l| l.over_models(a::delay_over_transmission)),
    ("stations", |_| a::was(STATIONS.len())),
    ("messages-per-round", |l| l.over_models(a::messages_per_round)),
    ("copies-down", |l| a::copies(l, "submit")),
    ("copies-up", |l| a::copies(l, "deliver")),
    ("size-least", |_| a::was(LEAST)),
    ("size-most", |_| a::was(MOST)),
    ("case-throughput", |l| l.over_models(|l, m| a::throughput(l, m, CASE, LONG))),
    ("case-drop", |l| l.over_models(|l, m| a::drop(l, m, CASE))),
    ("case-linearity", |l| l.over_models(|l, m| a::linearity(l, m, CASE))),
    ("case-flat-768", |l| l.over_models(|l, m| a::flatness(l, m, CASE, 768))),
    ("case-rate-short", |l| l.over_models(|l, m| a::rate(l, m, CASE, LEAST))),
    ("bus-rate", |_| bus_rate()),
    ("case-flat-512", |l| l.over_models(|l, m| a::flatness(l, m, CASE, 512))),
    ("case-rate-long", |l| l.over_models(|l, m| a::rate(l, m, CASE, LONG))),
    ("delay-intercept", |l| l.over_models(a::delay_intercept)),
    ("transport-drop", |l| l.over_models(|l, m| a::drop(l, m, TRANSPORT))),
    ("transport-rate-short", |l| l.over_models(|l, m| a::rate(l, m, TRANSPORT, LEAST))),
    ("transport-flat-512", |l| l.over_models(|l, m| a::flatness(l, m, TRANSPORT, 512))),
    ("transport-rate-long", |l| l.over_models(|l, m| a::rate(l, m, TRANSPORT, LONG))),
    ("datalink-throughput", |l| l.over_models(|l, m| a::throughput(l, m, DATALINK, LONG))),
    ("datalink-curvature", |l| l.over_models(a::datalink_curvature)),
    ("curvature-over-case", |l| l.over_models(a::curvature_over_case)),
    ("datalink-step-most", |l| l.over_models(a::datalink_step_most)),
    ("tasks-case", |_| a::layers()),
    ("tasks-datalink", |_| a::was(1)),
    ("tpdu", |_| a::was(TPDU)),
    ("datagrams-lost", a::datagrams_lost),
    ("delay-short", |l| l.over_models(|l, m| a::delay(l, m, LEAST))),
    ("delay-long", |l| l.over_models(|l, m| a::delay(l, m, LONG))),
    ("delay-slope", |l| l.over_models(a::delay_slope)),
    ("transmission", |l| l.over_models(a::transmission)),
    ("information", |_| a::was(a::information())),
    ("segments", |_| a::segments()),
    ("transport-megabits", |l| l.over_models(|l, m| a::transport_megabits(l, m, LONG))),
    ("transport-megabits-divided", |l| l.over_models(|l, m| a::transport_megabits(l, m, MOST))),
    ("transport-rate-divided", |l| l.over_models(|l, m| a::rate(l, m, TRANSPORT, MOST))),
    ("aks-per-dt", |l| l.over_models(a::aks_per_dt)),
    ("headers", |_| a::headers()),
    ("case-over-transport-short", |l| l.over_models(|l, m| a::case_over_transport(l, m, LEAST))),
    ("case-over-transport-long", |l| l.over_models(|l, m| a::case_over_transport(l, m, LONG))),
    ("transport-linearity", |l| l.over_models(|l, m| a::linearity(l, m, TRANSPORT))),
    ("share-step-least", |l| l.over_models(a::share_step_least)),
    ("stop-and-wait-rate", |l| l.over_models(|l, m| a::rate(l, m, Carrier::CaseEach, LEAST))),
    ("stop-and-wait-throughput", |l| {
        l.over_models(|l, m| a::throughput(l, m, Carrier::CaseEach, LONG))
    }),
    ("datalink-rate-long", |l| l.over_models(|l, m| a::rate(l, m, DATALINK, LONG))),
    ("hop", |l| l.over_models(a::hop)),
];

/// Rate of the bus as simulated, in Mbit/s.
fn bus_rate() -> Result<Value, Unavailable> {
    let options = Options { seed: 1, messages: 1, monitor: None };
    let point = context::point(&Trial::rate(DATALINK, LEAST), &options)?;
    let rate = |medium: &Medium| medium.rate().0.bits_per_second() as f64 / 1e6;
    Ok(Value::exact(rate(&point.scenario.medium)))
}

fn reproduce(options: &Options, report: &mut Report<'_>) -> Result<Reproduction, ReproduceError> {
    let profile = profile::built_in(PROFILE).ok_or(ReproduceError::NoProfile(PROFILE))?;
    let mut context = Context::new(&profile, options.clone());
    let tiers = tiers(&mut context)?;
    let shown = tiers.iter().position(|tier| tier.name == SHOWN).unwrap_or_default();
    let outcomes = tiers.get(shown).map(|tier| tier.outcomes.clone()).unwrap_or_default();
    report(Event::Rows(&outcomes))?;
    context.tier = shown;
    let observed = format!(
        "n = {MESSAGES} messages for each rate, {} for each delay; intervals: all models that fit.",
        options.messages * 2
    );
    let mut plots = figures::all(&mut context, &observed, true)?;
    plot::add_published(&mut plots, &outcomes);
    plot::state_inputs(&mut plots, &outcomes);
    plots.extend(ours::all(options.seed)?);
    let remarks = remarks(&mut context)?;
    let (time_diagrams, matrices) = (Vec::new(), Vec::new());
    Ok(Reproduction { outcomes, plots, time_diagrams, matrices, tiers, remarks })
}

/// Judges the rows at each tier.
fn tiers(context: &mut Context) -> Result<Vec<AtTier>, ReproduceError> {
    let mut tiers = Vec::new();
    for tier in 0..context.tiers.len() {
        context.tier = tier;
        context.prepare(&figures::trials());
        let inputs = context.inputs();
        let outcomes = judge(row::parse(ROWS)?, &inputs, |source, _| obtain(context, source));
        let Some(models) = context.tiers.get(tier) else { continue };
        let (name, title) = (models.tier.name.clone(), models.tier.title.clone());
        tiers.push(AtTier { name, title, models: context.members().len(), outcomes });
    }
    Ok(tiers)
}

/// Obtains the result of a source.
fn obtain(context: &mut Context, name: &str) -> Result<Value, Unavailable> {
    let source = SOURCES.iter().find(|(known, _)| *known == name);
    let (_, source) = source.ok_or_else(|| Unavailable(format!("no source is called {name}")))?;
    source(context)
}

fn remarks(context: &mut Context) -> Result<Vec<String>, Unavailable> {
    let Options { seed, messages, .. } = context.options;
    let inputs = context.inputs();
    let names: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let mut remarks = vec![
        format!(
            "Two stations on a simulated token bus of 3 m at 10 Mbit/s; n = {MESSAGES} messages for each rate, from \
             the first arrival to the last, and {messages} rounds for each delay, which is half of a round; seed {seed}."
        ),
        format!(
            "Rows, figures and intervals are those of tier \"{SHOWN}\": its {} models fit the figures up to this \
             tier; the value is that of the first.",
            context.members().len()
        ),
        format!(
            "Assumed, because the paper does not say: sizes between 16, 512, 1,000 and 1,024 octets; T1 of 1 s; a window \
             of {} TPDUs; a header of {} octets for a message of CASE, whose octets of 1985 were not found. The \
             acknowledgement that EOT waits for is class 4's AK.",
            context::WINDOW,
            wire::case::HEADER_OCTETS
        ),
        reading_of_130(context),
        format!("Calibrated on {}.", names.join(", ")),
    ];
    remarks.extend(ours_alone(context)?);
    Ok(remarks)
}

/// The second reading of 130 kbyte/s, which the models do not use.
fn reading_of_130(context: &Context) -> String {
    let model = context.members().first().copied().unwrap_or_default();
    let octets = |name: &str| {
        let profile = context.profile(model).ok();
        profile.and_then(|profile| profile.input(name)).map_or(f64::NAN, |input| input.value)
    };
    let names = ["kernel-octet-down", "bus-octet-down", "kernel-octet-up", "bus-octet-up"];
    let all: f64 = names.into_iter().map(octets).sum();
    let asymptote = 1e3 / 130.0;
    format!(
        "130 kbyte/s is read as the throughput at 1,000 octets. Read as an asymptote (S002-027), it is {asymptote:.2} us \
         for an octet at the sender, and leaves the receiver {:.2} us of the {all:.2} us that the slope of the delay \
         (S002-040) has for both.",
        all - asymptote
    )
}

/// Results that the paper does not have.
fn ours_alone(context: &mut Context) -> Result<Vec<String>, Unavailable> {
    let mut remarks = Vec::new();
    let model = context.members().first().copied().unwrap_or_default();
    for (name, carrier, octets) in [
        ("CASE, 16 octets", CASE, LEAST),
        ("CASE, 1,000 octets", CASE, LONG),
        ("transport, 1,000 octets", TRANSPORT, LONG),
        ("datalink, 1,000 octets", DATALINK, LONG),
    ] {
        let busy = context.outcome(model, Trial::rate(carrier, octets))?.busy;
        let shares = figures::RESOURCES.iter().zip(busy);
        let shares: Vec<String> =
            shares.map(|(name, share)| format!("{name} {:.0} %", share * 100.0)).collect();
        let narrow =
            figures::RESOURCES.iter().zip(busy).max_by(|one, other| one.1.total_cmp(&other.1));
        let narrow = narrow.map_or("none", |(name, _)| name);
        let shares = shares.join(", ");
        remarks
            .push(format!("Ours alone: busy at {name}: {shares}; the bottleneck is the {narrow}."));
    }
    let window = |window| Trial { window, ..Trial::rate(CASE, LEAST) };
    let each = context.of(model, Trial::rate(Carrier::CaseEach, LEAST))?.value;
    let [one, two] = [window(1), window(2)].map(|trial| context.of(model, trial));
    let (one, two) = (one?.value, two?.value);
    let equal = if each.to_bits() == one.to_bits() { "equal to the digit" } else { "not equal" };
    remarks.push(format!(
        "Ours alone: EOT on each message and a window of one TPDU are {equal}: {each:.4} and {one:.4} messages/s of 16 \
         octets. A window of two gives {two:.1}."
    ));
    remarks.push(format!(
        "Ours alone: an association takes {:.2} ms on stations that take no time, of which the paper has no figure.",
        association_ms(&context.options)?
    ));
    remarks.push(format!(
        "Ours alone: one TPDU holds {} octets of a message of CASE; with a presentation layer as in MAP 3.0, in place of the \
         header of CASE, it holds {}, and fewer with a checksum or the extended format.",
        a::information(),
        a::information_with_presentation()
    ));
    Ok(remarks)
}

/// Milliseconds that an association takes on stations that take no time.
fn association_ms(options: &Options) -> Result<f64, Unavailable> {
    let point = context::point(&Trial::rate(CASE, LEAST), options)?;
    let sample = run(&point, "", 0).map_err(|error| Unavailable(error.to_string()))?;
    let setup = sample.flows.first().and_then(|flow| flow.setup_ns);
    setup.map(|nanos| nanos as f64 / 1e6).ok_or_else(|| Unavailable("no association".to_owned()))
}

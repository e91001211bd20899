//! TR-88-08: A. C. Weaver and M. A. Colvin, A Real-time Messaging System for Token Ring Networks,
//! University of Virginia, 1988.
//!
//! Its machines are the station profiles `pc-pronet` and `at-pronet` on a simulated ProNET-10. The
//! profiles say which rows they were calibrated on; these are inputs and all others predictions.
//! Not modelled: see the profiles, the host model and the ring.

mod configuration;
mod context;
mod curves;
mod display;
mod figures;
mod services;
mod ship;
#[cfg(test)]
mod tests;

use crate::published::value::Value;
use crate::published::{
    Event, Options, Paper, Report, ReproduceError, Reproduction, Unavailable, judge, plot, row,
};
use configuration as was;
use context::{Context, LEAST, LONGEST_FRAME, LONGEST_MESSAGE, Machine, SHORT};
use std::collections::BTreeSet;

/// The paper.
pub const PAPER: Paper = Paper {
    name: "tr-88-08",
    title: "Weaver and Colvin, A Real-time Messaging System for Token Ring Networks, 1988",
    repetitions: 50,
    run,
};

/// Its rows.
const ROWS: &str = include_str!("../../reproduce/tr-88-08.toml");

/// Function that obtains one of our figures.
type Source = fn(&mut Context) -> Result<Value, Unavailable>;

/// Source of each of our figures, by the name in the rows.
const SOURCES: [(&str, Source); 53] = [
    ("pc-rate", |l| l.over_models(Machine::Pc, curves::rate)),
    ("at-rate", |l| l.over_models(Machine::At, curves::rate)),
    ("ship-stations", |_| ship::stations()),
    ("ship-types", |_| ship::types()),
    ("ship-position-period", |_| ship::position_period()),
    ("ship-heading-period", |_| ship::heading_period()),
    ("ship-heading-size", |_| ship::heading_size()),
    ("ship-load", |_| ship::load_megabits()),
    ("prototype-stations", |_| ship::prototype_stations()),
    ("ship-lobe", |_| ship::lobe_metres()),
    ("ship-trunk", |_| ship::trunk_metres()),
    ("primitives", |_| Ok(was::primitives())),
    ("monitor-match-all", |_| Ok(was::match_all())),
    ("llc-sum", |l| l.over_models(Machine::Pc, curves::llc_sum)),
    ("ring-rate", |_| Ok(was::ring_rate())),
    ("ring-longest", |_| Ok(was::ring_longest())),
    ("address-octets", |_| Ok(was::address_octets())),
    ("address-bits", |_| Ok(was::address_bits())),
    ("socket-lowest", |_| Ok(was::socket_lowest())),
    ("socket-highest", |_| Ok(was::socket_highest())),
    ("socket-count", |_| Ok(was::socket_count())),
    ("priority-lowest", |_| Ok(was::priority_lowest())),
    ("priority-highest", |_| Ok(was::priority_highest())),
    ("priority-levels", |_| Ok(was::priority_levels())),
    ("crc-bits", |_| Ok(was::crc_bits())),
    ("interface-buffer", |l| l.over_models(Machine::Pc, curves::interface_buffer)),
    ("phy-slope", |l| l.over_models(Machine::Pc, curves::phy_slope)),
    ("phy-longest", |l| l.over_models(Machine::Pc, curves::phy_longest)),
    ("mac-sum", |l| l.over_models(Machine::Pc, curves::mac_sum)),
    ("pc-mac-least", |l| l.over_models(Machine::Pc, curves::mac_least)),
    ("pc-mac-knee", |l| l.over_models(Machine::Pc, curves::mac_knee)),
    ("pc-mac-100", |l| l.over_models(Machine::Pc, curves::mac_short)),
    ("pc-mac-longest", |l| l.over_models(Machine::Pc, curves::mac_longest)),
    ("pc-mac-slope", |l| l.over_models(Machine::Pc, curves::mac_slope)),
    ("pc-llc-least", |l| l.over_models(Machine::Pc, curves::llc_least)),
    ("pc-llc-longest", |l| l.over_models(Machine::Pc, curves::llc_longest)),
    ("pc-llc-above-least", |l| l.over_models(Machine::Pc, curves::llc_above_least)),
    ("pc-llc-above-longest", |l| l.over_models(Machine::Pc, curves::llc_above_longest)),
    ("pc-llc-end-to-end", |l| l.over_models(Machine::Pc, curves::llc_end_to_end)),
    ("pc-both-100", |l| l.over_models(Machine::Pc, curves::both_short)),
    ("ack-ratio-100", |l| l.over_models(Machine::Pc, curves::ack_ratio_short)),
    ("ack-ratio-longest", |l| l.over_models(Machine::Pc, curves::ack_ratio_longest)),
    ("crc-straightness", |l| l.over_models(Machine::Pc, curves::crc_straightness)),
    ("crc-share", |l| l.over_models(Machine::Pc, curves::crc_share)),
    ("crc-count", |l| l.over_models(Machine::Pc, curves::crc_count)),
    ("mac-crossover", curves::mac_crossover),
    ("llc-crossover", curves::llc_crossover),
    ("monitor-packets", |l| was::monitor(l.monitor(), |m| m.full_scale_packets_per_second)),
    ("monitor-bits", |l| was::monitor(l.monitor(), |m| m.full_scale_bits_per_second / 1e6)),
    ("monitor-default", |l| was::monitor(l.monitor(), |m| m.default_interval_ms)),
    ("monitor-shortest", |l| was::monitor(l.monitor(), |m| m.shortest_interval_ms)),
    // Minutes at half a second each, and seconds at 10 ms each.
    ("monitor-history-default", |l| was::monitor(l.monitor(), |m| m.samples * 0.5 / 60.0)),
    ("monitor-history-shortest", |l| was::monitor(l.monitor(), |m| m.samples * 0.01)),
];

fn run(options: &Options, report: &mut Report<'_>) -> Result<Reproduction, ReproduceError> {
    let mut context = Context::of_built_in(options.clone())?;
    let inputs = context.inputs();
    let outcomes = judge(row::parse(ROWS)?, &inputs, |source, _| obtain(&mut context, source));
    report(Event::Rows(&outcomes))?;
    let mut plots = figures::all(&mut context, &inputs)?;
    plots.extend(display::plots(options.seed)?);
    plot::add_published(&mut plots, &outcomes);
    let mut remarks = remarks(&context, &inputs);
    remarks.push(growths(&mut context)?);
    let time_diagrams = services::diagrams(&context, &inputs)?.into();
    Ok(Reproduction {
        outcomes,
        plots,
        time_diagrams,
        matrices: Vec::new(),
        tiers: Vec::new(),
        remarks,
    })
}

/// Obtains the result of a source.
fn obtain(context: &mut Context, name: &str) -> Result<Value, Unavailable> {
    let source = SOURCES.iter().find(|(known, _)| *known == name);
    let (_, source) = source.ok_or_else(|| Unavailable(format!("no source is called {name}")))?;
    source(context)
}

/// Growth of the PC's MAC transmit up to 100 octets, which the paper calls flat, in each model.
fn growths(context: &mut Context) -> Result<String, Unavailable> {
    let mut growths = Vec::new();
    for place in 0..context.count(Machine::Pc) {
        let which = (Machine::Pc, place);
        let (least, short) =
            (curves::mac_least(context, which)?, curves::mac_short(context, which)?);
        let percent = (short.value / least.value - 1.0) * 100.0;
        let read = match context.reading(which) {
            Some(reading) => format!("read as \"{reading}\""),
            None => "in the first model".to_owned(),
        };
        growths.push(format!("{percent:.1} % {read}"));
    }
    Ok(format!(
        "From {LEAST} to {SHORT} octets MAC transmit of the PC grows by {}. The ring's 0.8 us for each octet is \
         part of it.",
        growths.join(", ")
    ))
}

fn remarks(context: &Context, inputs: &BTreeSet<String>) -> Vec<String> {
    let Options { seed, messages, .. } = context.options;
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let models = [Machine::Pc, Machine::At].map(|machine| context.count(machine));
    vec![
        format!(
            "Two stations on a simulated ProNET-10, n = {messages} of each operation and size, seed \
             {seed}; ours is the mean, with its 95 % interval where it has a width."
        ),
        format!(
            "The longest frame has {LONGEST_FRAME} octets of data, the longest message \
             {LONGEST_MESSAGE}: as much as that leaves for LLC and CRC."
        ),
        format!(
            "An interval also spans {} models of the PC and {} of the AT that fit the inputs, since \
             these do not fix every cost; its value is that of the first.",
            models[0], models[1]
        ),
        format!("Calibrated on {}.", inputs.join(", ")),
    ]
}

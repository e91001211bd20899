//! NBSIR 85-3104: K. L. Mills, J. W. Gura and C. M. Chernick, Performance Measurement of OSI Class
//! 4 Transport Implementations, National Bureau of Standards, 1985.
//!
//! Its measured traffic is not available; its Table 4 has the volumes. A [`trace`] is made with
//! these volumes to the octet, and the meter reads it: Tables 5 to 7 then show whether the meter
//! counts as the paper defines, and which cells of the paper no trace can have. None of this counts
//! as a success. The behaviour of class 4 stations with the same files is simulated in `stations`.
//!
//! Not modelled: see the trace, its plan, and the scenario `ncc84`.

mod answers;
mod displays;
mod plan;
mod readings;
mod stations;
#[cfg(test)]
mod tests;
mod trace;
mod volumes;

pub use readings::origin;
pub use trace::{Passage, trace};

use crate::published::value::Value;
use crate::published::{
    Event, Options, Paper, Report, ReproduceError, Reproduction, Unavailable, judge, row,
};
use answers::SOURCES;
use meter::registry::Measure;
use plan::Host;
use readings::Readings;
use stations::{LOSSY, PROMPT, Stations, TAUT};
use std::collections::BTreeSet;

/// The paper.
pub const PAPER: Paper = Paper {
    name: "nbsir-85-3104",
    title: "Mills, Gura and Chernick, Performance Measurement of OSI Class 4 Transport \
            Implementations, 1985",
    repetitions: 10,
    run,
};

/// Its rows.
const ROWS: &str = include_str!("../../reproduce/nbsir-85-3104.toml");
/// Intervals of 15 minutes.
const INTERVALS: usize = volumes::VOLUMES.len();
/// Index of the total after the intervals.
const TOTAL: usize = INTERVALS;
/// Least number of runs for an interval.
const FEWEST: u64 = 2;

/// State from which rows are answered.
struct Context {
    trace: Vec<Passage>,
    readings: Readings,
    stations: Stations,
}

fn run(options: &Options, report: &mut Report<'_>) -> Result<Reproduction, ReproduceError> {
    if options.messages < FEWEST {
        return Err(ReproduceError::TooFew { asked: options.messages, fewest: FEWEST });
    }
    let trace = trace(origin());
    let readings = Readings::take(&trace);
    let stations = Stations::new(options.seed, options.messages)?;
    let mut context = Context { trace, readings, stations };
    let rows = row::parse(ROWS)?;
    let outcomes = judge(rows, &BTreeSet::new(), |source, _| obtain(&mut context, source));
    report(Event::Rows(&outcomes))?;
    let plots = displays::all(&context);
    let remarks = remarks(&mut context, options)?;
    let matrices = vec![displays::connectivity(&context.readings)];
    Ok(Reproduction {
        outcomes,
        plots,
        time_diagrams: Vec::new(),
        matrices,
        tiers: Vec::new(),
        remarks,
    })
}

/// Obtains the result of a source: one of the list, a ratio's formula, or a cell of a table.
fn obtain(context: &mut Context, name: &str) -> Result<Value, Unavailable> {
    if let Some((_, source)) = SOURCES.iter().find(|(known, _)| *known == name) {
        return source(context);
    }
    if let Some(found) = answers::ratio(context, name) {
        return found;
    }
    let words: Vec<&str> = name.split(' ').collect();
    let cell = cell(&context.readings, &words);
    cell.map(Value::exact).ok_or_else(|| Unavailable(format!("no source is called {name}")))
}

/// Cell of Table 4 (`measure NAME INTERVAL`), 5 (`metric SYMBOL INTERVAL`), 6 or 7 (`host LETTER
/// SYMBOL INTERVAL`).
fn cell(readings: &Readings, words: &[&str]) -> Option<f64> {
    let place = |word: &str| if word == "total" { Some(TOTAL) } else { word.parse().ok() };
    match words {
        ["measure", name, interval] => {
            readings.measure(Measure::from_name(name)?, place(interval)?)
        }
        ["metric", symbol, interval] => readings.metric(symbol, place(interval)?),
        ["host", letter, symbol, interval] => {
            let ratios = readings.host(Host(letter.chars().next()?), place(interval)?)?;
            match *symbol {
                "R_OM" => Some(ratios.r_om),
                "R_OA" => Some(ratios.r_oa),
                "R_RA" => Some(ratios.r_ra),
                _ => None,
            }
        }
        _ => None,
    }
}

fn remarks(context: &mut Context, options: &Options) -> Result<Vec<String>, Unavailable> {
    let stations = &mut context.stations;
    let mut counted = Vec::new();
    for (what, behaviour) in [
        ("an AK for each DT", PROMPT),
        ("the same with 2 % of frames lost before the tap", LOSSY),
        ("taut flow control", TAUT),
    ] {
        let mut mean = |name| stations.measure(behaviour, name).map(|found| found.value);
        let (dts, again) = (mean(Measure::DtTpdus)?, mean(Measure::DtRetransmissions)?);
        let (aks, old) = (mean(Measure::AkTpdus)?, mean(Measure::AkRetransmissions)?);
        counted
            .push(format!("{what}: {dts:.0} DTs, {again:.0} again; {aks:.0} AKs, {old:.0} again"));
    }
    let Options { seed, messages, .. } = options;
    Ok(vec![
        "Tables 4 to 7 are read by the meter in a trace that is made to have the volumes of Table 4, \
         and hosts with the ratios of Tables 6 and 7: they show that the meter counts as the paper \
         defines, not how the hosts of 1984 behaved. Ours differs only where the paper contradicts \
         itself or did not follow its formulas."
            .to_owned(),
        format!(
            "Class 4 stations that carry the files of interval 2 by themselves (scenario ncc84, \
             seed {seed}, means of n = {messages} runs) count otherwise than Table 4, with its 1,560 \
             DTs, 77 again, and 2,461 AKs, 145 again; {}. Their called side sends no DTs.",
            counted.join("; ")
        ),
        "A host's R_OA and R_RA are of what it sent, its R_OM of what it sent and received: host F \
         could not have an R_OM of .33 with an R_OA of .03 otherwise."
            .to_owned(),
    ])
}

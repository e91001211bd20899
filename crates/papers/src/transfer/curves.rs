//! Figures of TR-88-04 as lists of trials: delay and throughput of both services against size, and
//! throughput of transport against its timer, window and number of circuits.
//!
//! Left out: Figures 1 to 3, which show no measurements.

use super::{INFORMATION, LARGE, LEAST, MOST_DATAGRAM, MOST_WINDOW, Question, Service, Trial};
use crate::published::Unavailable;
use crate::published::plot::{Curve, Plot, Point, Style};
use crate::published::value::Value;
use core::time::Duration;

/// Sizes of datagrams.
const DATALINK: [usize; 6] = [LEAST, 200, 400, 600, 800, MOST_DATAGRAM];
/// Sizes of TSDUs: denser where one more TPDU is needed.
const TRANSPORT: [usize; 12] = [
    LEAST,
    400,
    800,
    INFORMATION,
    INFORMATION + 1,
    1_400,
    2 * INFORMATION,
    2 * INFORMATION + 1,
    3 * INFORMATION,
    3 * INFORMATION + 1,
    4 * INFORMATION,
    LARGE,
];
/// Windows.
const WINDOWS: [u64; 8] = [1, 2, 3, 4, 6, 8, 12, MOST_WINDOW];
/// Numbers of circuits.
const CIRCUITS: [u64; 6] = [1, 2, 4, 8, 12, 16];

/// Curve: its name, whether the model was calibrated on it, and a trial for each point.
type Wanted = (&'static str, bool, Vec<(f64, Trial)>);

fn against_size(service: Service, question: Question) -> Vec<(f64, Trial)> {
    let sizes: &[usize] = match service {
        Service::Datalink => &DATALINK,
        Service::Transport | Service::CaseEach | Service::CaseLast => &TRANSPORT,
    };
    sizes.iter().map(|octets| (*octets as f64, Trial::new(service, question, *octets))).collect()
}

fn throughput(octets: usize) -> Trial {
    Trial::new(Service::Transport, Question::Throughput, octets)
}

/// Figure: number, title, horizontal and vertical quantity, curves.
type Sheet =
    (&'static str, &'static str, (&'static str, &'static str), (&'static str, &'static str));

/// All figures with their trials; `t1s` are the retransmission times to try.
fn figures(t1s: &[Duration]) -> Vec<(Sheet, Vec<Wanted>)> {
    let (size, delay, rate) = (("size", "octets"), ("delay", "ms"), ("throughput", "kbyte/s"));
    let delay_of = |service, name| (name, true, against_size(service, Question::Delay));
    let rate_of = |service, name| (name, false, against_size(service, Question::Throughput));
    let timers =
        t1s.iter().map(|t1| (t1.as_secs_f64() * 1e3, Trial { t1: *t1, ..throughput(LARGE) }));
    let windows =
        WINDOWS.map(|window| (window as f64, Trial { window, ..throughput(LARGE) })).to_vec();
    let circuits = CIRCUITS
        .map(|circuits| (circuits as f64, Trial { circuits, ..throughput(LARGE) }))
        .to_vec();
    let (datalink, transport) = (Service::Datalink, Service::Transport);
    let both_delays = vec![delay_of(datalink, "datalink"), delay_of(transport, "transport")];
    let both_rates = vec![rate_of(datalink, "datalink"), rate_of(transport, "transport")];
    vec![
        (("4", "One-way datalink delay", size, delay), vec![delay_of(datalink, "datalink")]),
        (("5", "One-way transport delay", size, delay), vec![delay_of(transport, "transport")]),
        (("6", "Datalink throughput", size, rate), vec![rate_of(datalink, "datalink")]),
        (("7", "Transport throughput", size, rate), vec![rate_of(transport, "transport")]),
        (
            ("8", "Transport throughput and T1", ("retransmission time", "ms"), rate),
            vec![("transport", false, timers.collect())],
        ),
        (
            ("9", "Transport throughput and window", ("window", "TPDUs"), rate),
            vec![("transport", false, windows)],
        ),
        (("10", "Delay of both services", size, delay), both_delays),
        (("11", "Throughput of both services", size, rate), both_rates),
        (
            ("4.4", "Throughput and virtual circuits", ("virtual circuits", "1"), rate),
            vec![("transport", false, circuits)],
        ),
    ]
}

/// Every trial of the figures, once.
#[must_use]
pub fn trials(t1s: &[Duration]) -> Vec<Trial> {
    let figures = figures(t1s);
    let curves = figures.iter().flat_map(|(_, curves)| curves);
    let mut trials: Vec<Trial> =
        curves.flat_map(|(_, _, points)| points).map(|(_, trial)| *trial).collect();
    trials.sort_unstable();
    trials.dedup();
    trials
}

/// Trials of a figure, curve by curve, in the order of its points.
#[must_use]
pub fn trials_of(t1s: &[Duration], number: &str) -> Vec<Vec<Trial>> {
    let figure = figures(t1s).into_iter().find(|((known, ..), _)| *known == number);
    let curves = figure.map(|(_, curves)| curves).unwrap_or_default();
    let trials = |(_, _, points): Wanted| points.into_iter().map(|(_, trial)| trial).collect();
    curves.into_iter().map(trials).collect()
}

/// Draws all figures from the results that `answer` returns for each trial; `observed` describes
/// values and intervals, and `is_model` says whether delays are inputs of a model.
///
/// # Errors
/// Returns the error of the first trial without a result.
pub fn plots(
    t1s: &[Duration],
    is_model: IsModel,
    observed: &str,
    mut answer: impl FnMut(&Trial) -> Result<Value, Unavailable>,
) -> Result<Vec<Plot>, Unavailable> {
    let mut plots = Vec::new();
    for ((number, title, horizontal, vertical), wanted) in figures(t1s) {
        let mut curves = Vec::with_capacity(wanted.len());
        for (name, is_delay, trials) in wanted {
            let mut points = Vec::with_capacity(trials.len());
            for (x, trial) in trials {
                let Value { value: y, low, high, observations } = answer(&trial)?;
                points.push(Point { x, y, low, high, observations });
            }
            let is_input = is_delay && is_model == IsModel::Yes;
            let name = name.to_owned();
            curves.push(Curve { name, is_input, style: Style::Points, points });
        }
        let observed = observed.to_owned();
        let published = Vec::new();
        // A figure with the number of a section has no figure in the paper.
        let place = if number.contains('.') { "section" } else { "Figure" };
        let place = format!("{place} {number}");
        plots.push(Plot {
            number,
            place,
            title,
            horizontal,
            vertical,
            observed,
            curves,
            published,
        });
    }
    Ok(plots)
}

/// Origin of the curves: a model calibrated on delays, or a measurement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IsModel {
    /// A model.
    Yes,
    /// A measurement.
    No,
}

//! Figures of TR-88-17 as lists of trials: throughput and rate of CASE, transport and datalink against
//! size, and the delay of CASE. A tenth, without a published figure, has the gain of pipelining.
//!
//! Left out: Figure 1, a picture.

use super::rounds::Rounds;
use super::{Question, Service, Trial};
use crate::published::Unavailable;
use crate::published::plot::{Curve, Plot, Point, Style};
use crate::published::value::Value;
use core::time::Duration;
use stats::interval::Interval;

/// Sizes: the text names 16, 512, 1,000 and 1,024; the others are an assumption.
pub const SIZES: [usize; 9] = [16, 32, 64, 128, 256, 512, 768, 1_000, 1_024];
/// T1: longer than any wait without a loss.
const T1: Duration = Duration::from_secs(1);

/// Quantity of a curve, from the results of its trials.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quantity {
    /// The result itself: thousands of octets per second, or milliseconds.
    Result,
    /// Messages per second.
    Rate,
    /// Ratio to the result of stop-and-wait.
    Gain,
}

/// Curve: name, service and question.
type Wanted = (&'static str, Service, Question);

/// Figure: number, title, vertical quantity and unit, quantity, and curves.
struct Sheet {
    number: &'static str,
    title: &'static str,
    vertical: (&'static str, &'static str),
    quantity: Quantity,
    curves: &'static [Wanted],
}

const THROUGHPUT: (&str, &str) = ("throughput", "kbyte/s");
const RATE: (&str, &str) = ("messages", "1/s");
const PIPELINING: Wanted = ("pipelining", Service::CaseLast, Question::Throughput);
const WAITING: Wanted = ("stop-and-wait", Service::CaseEach, Question::Throughput);
const TRANSPORT: Wanted = ("transport", Service::Transport, Question::Throughput);
const DATALINK: Wanted = ("datalink", Service::Datalink, Question::Throughput);

const fn sheet(
    number: &'static str,
    title: &'static str,
    quantity: Quantity,
    curves: &'static [Wanted],
) -> Sheet {
    let vertical = match quantity {
        Quantity::Result => THROUGHPUT,
        Quantity::Rate => RATE,
        Quantity::Gain => ("gain", "1"),
    };
    Sheet { number, title, vertical, quantity, curves }
}

const SHEETS: [Sheet; 9] = [
    sheet("2", "CASE throughput", Quantity::Result, &[PIPELINING, WAITING]),
    sheet("3", "CASE message rate", Quantity::Rate, &[PIPELINING, WAITING]),
    Sheet {
        vertical: ("delay", "ms"),
        ..sheet(
            "4",
            "CASE end-to-end delay",
            Quantity::Result,
            &[("CASE", Service::CaseLast, Question::Delay)],
        )
    },
    sheet("5", "Transport throughput", Quantity::Result, &[TRANSPORT]),
    sheet("6", "Transport message rate", Quantity::Rate, &[TRANSPORT]),
    sheet("7", "Datalink throughput", Quantity::Result, &[DATALINK]),
    sheet("8", "Datalink message rate", Quantity::Rate, &[DATALINK]),
    sheet(
        "9",
        "Throughput of three services",
        Quantity::Result,
        &[DATALINK, TRANSPORT, PIPELINING],
    ),
    sheet("10", "Gain of pipelining over stop-and-wait", Quantity::Gain, &[PIPELINING]),
];

fn trial(wanted: &Wanted, octets: usize) -> Trial {
    let (_, service, question) = *wanted;
    Trial { t1: T1, ..Trial::new(service, question, octets) }
}

/// Every trial of the figures, once.
#[must_use]
pub fn trials() -> Vec<Trial> {
    let curves = SHEETS.iter().flat_map(|sheet| sheet.curves).chain([&WAITING]);
    let mut trials: Vec<Trial> =
        curves.flat_map(|wanted| SIZES.map(|octets| trial(wanted, octets))).collect();
    trials.sort_unstable();
    trials.dedup();
    trials
}

/// Trials of a figure, curve by curve, in the order of its points.
#[must_use]
pub fn trials_of(number: &str) -> Vec<Vec<Trial>> {
    let curves = SHEETS.iter().find(|sheet| sheet.number == number).map(|sheet| sheet.curves);
    let trials = |wanted: &Wanted| SIZES.iter().map(|octets| trial(wanted, *octets)).collect();
    curves.unwrap_or_default().iter().map(trials).collect()
}

/// Intervals in which the points of a figure are expected in a repeat, curve by curve: see
/// [`Rounds::repeat`].
#[must_use]
pub fn repeats(rounds: &Rounds, number: &str) -> Vec<Vec<Option<Interval>>> {
    let Some(sheet) = SHEETS.iter().find(|sheet| sheet.number == number) else { return Vec::new() };
    let repeat = |wanted: &Wanted, octets: usize| {
        let of = trial(wanted, octets);
        match sheet.quantity {
            Quantity::Result => rounds.repeat(&of),
            Quantity::Rate => rounds.repeat(&of).map(|Interval { low, high }| {
                let rate = |end: f64| end * 1e3 / octets as f64;
                Interval { low: rate(low), high: rate(high) }
            }),
            Quantity::Gain => rounds.repeat_of_ratio(&of, &trial(&WAITING, octets)),
        }
    };
    let curve = |wanted| SIZES.iter().map(|octets| repeat(wanted, *octets)).collect();
    sheet.curves.iter().map(curve).collect()
}

/// Draws all figures; `observed` describes values and intervals.
///
/// # Errors
/// Returns the error of the first trial without a result.
pub fn plots(rounds: &Rounds, observed: &str) -> Result<Vec<Plot>, Unavailable> {
    let curve = |quantity, wanted: &Wanted| {
        let point = |octets: usize| {
            let of = trial(wanted, octets);
            let found = match quantity {
                Quantity::Result => rounds.found(&of)?,
                Quantity::Rate => rounds.found(&of)?.scaled(1e3 / octets as f64),
                Quantity::Gain => rounds.ratio(&of, &trial(&WAITING, octets))?,
            };
            let Value { value: y, low, high, observations } = found;
            Ok(Point { x: octets as f64, y, low, high, observations })
        };
        let points = SIZES.into_iter().map(point).collect::<Result<_, Unavailable>>()?;
        Ok(Curve { name: wanted.0.to_owned(), is_input: false, style: Style::Points, points })
    };
    let plot = |Sheet { number, title, vertical, quantity, curves }| {
        let curves = curves.iter().map(|wanted| curve(quantity, wanted));
        let place = match quantity {
            Quantity::Gain => "ours alone, without a published figure".to_owned(),
            Quantity::Result | Quantity::Rate => format!("Figure {number}"),
        };
        Ok(Plot {
            number,
            place,
            title,
            horizontal: ("message size", "octets"),
            vertical,
            observed: observed.to_owned(),
            curves: curves.collect::<Result<_, Unavailable>>()?,
            published: Vec::new(),
        })
    };
    SHEETS.into_iter().map(plot).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Setup;
    use super::super::rounds::Plan;
    use super::*;
    use bench::run::run;
    use core::convert::Infallible;

    #[test]
    fn nine_figures_come_from_45_trials_with_eot_obeyed() {
        // CASE with EOT on each, on the last, transport and datalink, and the delay; nine sizes each.
        assert_eq!(trials().len(), 5 * 9);
        let plan = Plan { rounds: 2, messages: 20, volume_octets: None, seed: 1 };
        let setup = Setup::live(plan.messages, false, plan.seed).of_map();
        let mut rounds = Rounds::with(plan, setup, trials());
        for round in 0..2 {
            let mut simulate =
                |point: &bench::scenario::Point| Ok::<_, Infallible>(run(point, "", 0).unwrap());
            rounds.carry_out(round, &mut simulate).unwrap();
        }
        let plots = plots(&rounds, "").unwrap();
        let numbers: Vec<_> = plots.iter().map(|plot| plot.number).collect();
        assert_eq!(numbers, ["2", "3", "4", "5", "6", "7", "8", "9", "10"]);
        for plot in &plots {
            assert!(plot.curves.iter().all(|curve| curve.points.len() == 9), "{}", plot.number);
            assert_eq!(trials_of(plot.number).len(), plot.curves.len());
        }
        // Each round is the same, so a repeat is expected where the points lie.
        for plot in &plots {
            let curves = plot.curves.iter().flat_map(|curve| &curve.points);
            for (point, repeat) in curves.zip(repeats(&rounds, plot.number).iter().flatten()) {
                let Interval { low, high } = repeat.unwrap();
                assert!((low / point.y - 1.0).abs() < 1e-9 && high / low < 1.0 + 1e-9, "{point:?}");
            }
        }
        // Without delay, stop-and-wait waits for one AK more: 64 octets next to 1,045 of the longest DT.
        let gain = &plots[8].curves[0].points;
        assert!(gain.iter().all(|point| point.y > 1.04), "{gain:?}");
        // Figure 3 is Figure 2 in messages: 1,000 octets each.
        let [octets, messages] = [0, 1].map(|place| plots[place].curves[0].points[7].y);
        assert!((octets - messages).abs() < 1e-6 * octets, "{octets} {messages}");
    }
}

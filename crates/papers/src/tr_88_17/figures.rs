//! Figures 2 to 9 of TR-88-17, and the utilisation of each resource, which the paper does not have.
//!
//! Left out: Figure 1, a picture of the system.

use super::context::{Carrier, Context, SIZES, Trial};
use crate::published::Unavailable;
use crate::published::plot::{Curve, Plot, Point, Style};
use crate::published::value::Value;

/// Quantity against size.
type Quantity = fn(&mut Context, usize, usize) -> Result<Value, Unavailable>;

/// Figure: number, title, vertical quantity, and curves by name.
struct Sheet {
    number: &'static str,
    title: &'static str,
    vertical: (&'static str, &'static str),
    curves: &'static [(&'static str, Quantity)],
}

fn rate(l: &mut Context, model: usize, of: Carrier, octets: usize) -> Result<Value, Unavailable> {
    l.of(model, Trial::rate(of, octets))
}

fn octets(l: &mut Context, model: usize, of: Carrier, size: usize) -> Result<Value, Unavailable> {
    Ok(rate(l, model, of, size)?.scaled(size as f64 / 1e3))
}

const THROUGHPUT: (&str, &str) = ("throughput", "kbyte/s");
const RATE: (&str, &str) = ("messages", "1/s");

const FIGURES: [Sheet; 8] = [
    Sheet {
        number: "2",
        title: "CASE throughput",
        vertical: THROUGHPUT,
        curves: &[
            ("pipelining", |l, m, s| octets(l, m, Carrier::CaseLast, s)),
            ("stop-and-wait", |l, m, s| octets(l, m, Carrier::CaseEach, s)),
        ],
    },
    Sheet {
        number: "3",
        title: "CASE message rate",
        vertical: RATE,
        curves: &[
            ("pipelining", |l, m, s| rate(l, m, Carrier::CaseLast, s)),
            ("stop-and-wait", |l, m, s| rate(l, m, Carrier::CaseEach, s)),
        ],
    },
    Sheet {
        number: "4",
        title: "CASE end-to-end delay",
        vertical: ("delay", "ms"),
        curves: &[("CASE", |l, m, s| l.of(m, Trial::delay(s)))],
    },
    Sheet {
        number: "5",
        title: "Transport throughput",
        vertical: THROUGHPUT,
        curves: &[("transport", |l, m, s| octets(l, m, Carrier::Transport, s))],
    },
    Sheet {
        number: "6",
        title: "Transport message rate",
        vertical: RATE,
        curves: &[("transport", |l, m, s| rate(l, m, Carrier::Transport, s))],
    },
    Sheet {
        number: "7",
        title: "Datalink throughput",
        vertical: THROUGHPUT,
        curves: &[("datalink", |l, m, s| octets(l, m, Carrier::Datalink, s))],
    },
    Sheet {
        number: "8",
        title: "Datalink message rate",
        vertical: RATE,
        curves: &[("datalink", |l, m, s| rate(l, m, Carrier::Datalink, s))],
    },
    Sheet {
        number: "9",
        title: "Throughput of three services",
        vertical: THROUGHPUT,
        curves: &[
            ("datalink", |l, m, s| octets(l, m, Carrier::Datalink, s)),
            ("transport", |l, m, s| octets(l, m, Carrier::Transport, s)),
            ("CASE, pipelining", |l, m, s| octets(l, m, Carrier::CaseLast, s)),
        ],
    },
];

/// Names of the resources whose utilisation a run reports.
pub(super) const RESOURCES: [&str; 5] =
    ["sender's host", "sender's front end", "bus", "receiver's front end", "receiver's host"];

/// Every trial of the figures.
pub(super) fn trials() -> Vec<Trial> {
    let carriers = [Carrier::CaseEach, Carrier::CaseLast, Carrier::Transport, Carrier::Datalink];
    let of = |octets| {
        let rates = carriers.map(|carrier| Trial::rate(carrier, octets));
        rates.into_iter().chain([Trial::delay(octets)])
    };
    SIZES.into_iter().flat_map(of).collect()
}

/// Draws all figures; `observed` describes values and intervals, and `delay_is_input` says whether
/// the models were calibrated on the delays.
pub(super) fn all(
    l: &mut Context,
    observed: &str,
    delay_is_input: bool,
) -> Result<Vec<Plot>, Unavailable> {
    let mut plots = Vec::new();
    for sheet in FIGURES {
        let is_input = sheet.number == "4" && delay_is_input;
        let mut curves = Vec::new();
        for (name, quantity) in sheet.curves {
            curves.push(curve(l, name, is_input, *quantity)?);
        }
        let place = format!("Figure {}", sheet.number);
        plots.push(plot(sheet.number, place, sheet.title, sheet.vertical, observed, curves));
    }
    plots.push(utilisation(l, observed)?);
    Ok(plots)
}

/// Share of the time in which each resource is busy under pipelining at CASE.
fn utilisation(l: &mut Context, observed: &str) -> Result<Plot, Unavailable> {
    let mut curves = Vec::new();
    for (place, name) in RESOURCES.into_iter().enumerate() {
        let mut points = Vec::new();
        for octets in SIZES {
            let found = l.over_models(|l, model| {
                let busy = l.outcome(model, Trial::rate(Carrier::CaseLast, octets))?.busy;
                let share = busy.get(place).copied().unwrap_or(f64::NAN);
                Ok(Value::exact(share * 100.0))
            })?;
            points.push(point(octets, found));
        }
        let (name, style) = (name.to_owned(), Style::Points);
        curves.push(Curve { name, is_input: false, style, points });
    }
    let (title, place) =
        ("Utilisation, pipelining at CASE", "ours alone, without a published figure");
    let vertical = ("busy", "%");
    Ok(plot("10", place.to_owned(), title, vertical, observed, curves))
}

fn curve(
    l: &mut Context,
    name: &str,
    is_input: bool,
    quantity: Quantity,
) -> Result<Curve, Unavailable> {
    let mut points = Vec::new();
    for octets in SIZES {
        points.push(point(octets, l.over_models(|l, model| quantity(l, model, octets))?));
    }
    Ok(Curve { name: name.to_owned(), is_input, style: Style::Points, points })
}

fn point(octets: usize, found: Value) -> Point {
    let Value { value, low, high, observations } = found;
    Point { x: octets as f64, y: value, low, high, observations }
}

fn plot(
    number: &'static str,
    place: String,
    title: &'static str,
    vertical: (&'static str, &'static str),
    observed: &str,
    curves: Vec<Curve>,
) -> Plot {
    let horizontal = ("message size", "octets");
    let (observed, published) = (observed.to_owned(), Vec::new());
    Plot { number, place, title, horizontal, vertical, observed, curves, published }
}

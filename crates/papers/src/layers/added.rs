//! Cost of each layer: the time from user to user through it, less that through the layer below.
//!
//! The differences are those of the medians of a round, paired, and their interval is that of the mean
//! over rounds (Student's t). A layer whose interval contains zero has no cost that this number of
//! rounds shows.

use super::fit::{Curve, Fit, LEVEL};
use super::{Operation, Service};
use stats::interval::{self, Estimate};

/// Layers from below, each with the operation that passes it, and the operations of the layers below it,
/// nearest first. MMS has its own session below it: CASE is no part of its path.
const LAYERS: [(&str, Operation, &[Operation]); 6] = [
    ("MAC", Operation::MacEndToEnd, &[]),
    ("LLC", Operation::LlcEndToEnd, &[Operation::MacEndToEnd]),
    ("transport", Operation::TransportEndToEnd, &[Operation::LlcEndToEnd, Operation::MacEndToEnd]),
    ("session", Operation::SessionEndToEnd, &[Operation::TransportEndToEnd]),
    ("CASE", Operation::CaseEndToEnd, &[Operation::SessionEndToEnd, Operation::TransportEndToEnd]),
    ("MMS", Operation::MmsEndToEnd, &[Operation::SessionEndToEnd, Operation::TransportEndToEnd]),
];

/// Cost of a layer.
#[derive(Clone, PartialEq, Debug)]
pub struct Added {
    /// Name of the layer.
    pub layer: &'static str,
    /// Name of the layer below; `None` if the whole time is its cost.
    pub over: Option<&'static str>,
    /// Cost at each size, in rising order.
    pub sizes: Vec<AtSize>,
    /// Line through the cost; none for fewer than two sizes.
    pub fit: Option<Fit>,
}

/// Cost of a layer at one size.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AtSize {
    /// Octets of the message.
    pub octets: usize,
    /// Nanoseconds from user to user, this layer included: mean over rounds of the median.
    pub end_to_end_nanos: Estimate,
    /// Nanoseconds that the layer adds.
    pub nanos: Estimate,
}

/// Cost of each layer that was measured, from below. Curves of fewer than two rounds have none.
#[must_use]
pub fn added(curves: &[Curve]) -> Vec<Added> {
    let of = |operation: Operation| {
        let is_it =
            |curve: &&Curve| curve.operation == operation && curve.service == Service::default();
        curves.iter().find(is_it)
    };
    let name =
        |operation| LAYERS.iter().find(|(_, it, _)| *it == operation).map(|(name, ..)| *name);
    let layer = |(layer, operation, below): &(&'static str, Operation, &[Operation])| {
        let curve = of(*operation)?;
        let below = below.iter().find_map(|operation| of(*operation));
        let over = below.and_then(|below| name(below.operation));
        let sizes = curve.measurements.iter().enumerate();
        let sizes = sizes.filter_map(|(place, one)| at_size(curve, below, place, one.octets));
        Some(Added { layer, over, sizes: sizes.collect(), fit: fit(curve, below) })
    };
    LAYERS.iter().filter_map(layer).collect()
}

/// Line through the differences of each round; none if the layers were not measured at the same sizes.
fn fit(curve: &Curve, below: Option<&Curve>) -> Option<Fit> {
    let sizes =
        |curve: &Curve| -> Vec<usize> { curve.measurements.iter().map(|one| one.octets).collect() };
    let Some(below) = below else { return curve.fit };
    if sizes(below) != sizes(curve) {
        return None;
    }
    let rounds = curve.medians.iter().zip(&below.medians);
    let rounds: Vec<Vec<f64>> = rounds
        .map(|(own, below)| own.iter().zip(below).map(|(own, below)| own - below).collect())
        .collect();
    Fit::of(&sizes(curve), &rounds)
}

fn at_size(curve: &Curve, below: Option<&Curve>, place: usize, octets: usize) -> Option<AtSize> {
    let whole = |curve: &Curve| -> Vec<f64> {
        curve.medians.iter().filter_map(|round| round.get(place).copied()).collect()
    };
    let own = whole(curve);
    let below = match below {
        Some(below) if below.measurements.get(place)?.octets == octets => whole(below),
        Some(_) => return None,
        None => vec![0.0; own.len()],
    };
    let nanos = own.iter().zip(&below).map(|(own, below)| own - below).collect();
    Some(AtSize {
        octets,
        end_to_end_nanos: interval::mean(&own.iter().copied().collect(), LEVEL)?,
        nanos: interval::mean(&nanos, LEVEL)?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::Measurement;
    use super::*;
    use stats::histogram::Histogram;

    /// Curve of one time in each round, at 100 and 200 octets.
    fn curve(operation: Operation, rounds: &[[u64; 2]]) -> Curve {
        let round = |times: &[u64; 2]| {
            let one = |(octets, nanos): (usize, u64)| {
                let mut times = Histogram::new();
                times.record_nanos(nanos, 1);
                let (service, processor) = (Service::default(), None);
                Measurement { operation, service, octets, times, processor }
            };
            [100, 200].into_iter().zip(*times).map(one).collect()
        };
        Curve::of_rounds(rounds.iter().map(round).collect()).unwrap()
    }

    #[test]
    fn a_layer_costs_its_difference_to_the_layer_below() {
        let curves = [
            curve(Operation::TransportEndToEnd, &[[500, 600], [502, 610]]),
            curve(Operation::SessionEndToEnd, &[[530, 640], [540, 650]]),
            curve(Operation::MmsEndToEnd, &[[730, 840], [740, 850]]),
        ];
        let layers = added(&curves);
        let names: Vec<_> = layers.iter().map(|added| (added.layer, added.over)).collect();
        let session = Some("session");
        assert_eq!(names, [("transport", None), ("session", Some("transport")), ("MMS", session)]);
        // 30 and 38 at 100 octets: mean 34; t(1) = 12.7062 times sqrt(32) over sqrt(2) is 50.82.
        let AtSize { octets, end_to_end_nanos, nanos } = layers[1].sizes[0];
        assert_eq!((octets, nanos.mean, nanos.n, end_to_end_nanos.mean), (100, 34.0, 2, 535.0));
        assert!((nanos.half_width - 50.82).abs() < 0.01, "{nanos:?}");
        assert_eq!(layers[2].sizes[1].nanos.mean, 200.0);
        // The session adds 30 and 40, then 38 and 40: lines of 20 + 0.1 x and 36 + 0.02 x.
        let fit = layers[1].fit.unwrap();
        assert!((fit.intercept.mean - 28.0).abs() < 1e-9, "{fit:?}");
        assert!((fit.slope.mean - 0.06).abs() < 1e-9, "{fit:?}");
        assert_eq!(layers[0].fit, curves[0].fit);
        assert_eq!(layers[2].sizes[1].nanos.half_width, 0.0);
    }

    #[test]
    fn a_single_round_has_no_differences() {
        let curves = [curve(Operation::TransportEndToEnd, &[[500, 600]])];
        assert_eq!(added(&curves)[0].sizes, []);
    }
}

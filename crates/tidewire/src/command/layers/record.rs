//! The records of `measure layers`.

use papers::layers::Measurement;
use papers::layers::added::{Added, AtSize};
use papers::layers::fit::{Basis, Curve, Fit, LEVEL};
use papers::layers::live::{Findings, Pair, Plan};
use reports::layers::{CostAtSize, LayerCost, Mean};
use serde::Serialize;
use serde_json::{Value, json};
use stats::interval::Estimate;
use wire::time::nanos;

/// Settings of the experiment, common to every curve.
pub(super) fn experiment(title: &str, pair: &Pair, plan: &Plan, found: &Findings) -> Value {
    json!({
        "type": "layers",
        "title": title,
        "over": pair.name(),
        "link_bits_per_second": pair.link_rate().map(|rate| rate.bits_per_second()),
        "sizes_octets": plan.sizes,
        "messages": plan.messages,
        "rounds": plan.rounds,
        "seed": plan.seed.to_string(),
        "clock_reading_ns": nanos(found.clock_reading),
        "frames": found.frames,
        "lost": found.lost,
    })
}

/// A curve with its line and every size.
pub(super) fn curve(curve: &Curve, source: &str) -> Value {
    json!({
        "type": "curve",
        "operation": curve.operation.to_string(),
        "acknowledgement": curve.service.acknowledgement,
        "crc": curve.service.crc,
        "source": source,
        "fit": curve.fit.as_ref().map(fit),
        "sizes": curve.measurements.iter().map(size).collect::<Vec<_>>(),
    })
}

/// NDJSON record of a layer.
#[derive(Serialize)]
#[serde(tag = "type", rename = "layer")]
pub(super) struct Layer {
    #[serde(flatten)]
    pub(super) cost: LayerCost,
}

/// Cost of a layer at every size.
pub(super) fn cost(added: &Added) -> LayerCost {
    let Added { layer, over, sizes, fit } = added;
    let size = |one: &AtSize| CostAtSize {
        octets: one.octets as u64,
        adds_ns: mean(one.nanos),
        end_to_end_ns: mean(one.end_to_end_nanos),
    };
    let line = |fit: Fit| reports::layers::Line {
        intercept_ns: mean(fit.intercept),
        slope_ns_per_octet: mean(fit.slope),
        is_line: fit.is_doubtful().map(|is_doubtful| !is_doubtful),
    };
    LayerCost {
        layer: (*layer).to_owned(),
        adds_to: over.map(str::to_owned),
        fit: fit.map(line),
        sizes: sizes.iter().map(size).collect(),
    }
}

fn mean(estimate: Estimate) -> Mean {
    let Estimate { mean, half_width, level, n } = estimate;
    Mean { mean, half_width: Some(half_width).filter(|it| it.is_finite()), level, n }
}

fn fit(fit: &Fit) -> Value {
    let basis = match fit.basis {
        Basis::Rounds(_) => "rounds",
        Basis::Sizes(_) => "sizes",
    };
    json!({
        "intercept_ns": estimate(fit.intercept),
        "slope_ns_per_octet": estimate(fit.slope),
        "basis": basis,
        "is_line": fit.is_doubtful().map(|is_doubtful| !is_doubtful),
        "lack_of_fit": fit.lack.map(|lack| json!({ "f": lack.f, "probability": lack.probability })),
        "worst": {
            "octets": fit.worst.octets,
            "off_ns": fit.worst.nanos,
            "off_share": fit.worst.share,
        },
    })
}

fn estimate(estimate: Estimate) -> Value {
    let Estimate { mean, half_width, level, n } = estimate;
    json!({ "mean": mean, "half_width": half_width, "level": level, "n": n })
}

fn size(measurement: &Measurement) -> Value {
    let Measurement { octets, times, processor, .. } = measurement;
    let at = |share| times.quantile(share).map(nanos);
    let median = times.quantile_interval(0.5, LEVEL);
    json!({
        "octets": octets,
        "count": times.count(),
        "mean_ns": times.mean_nanos(),
        "standard_deviation_ns": times.standard_deviation_nanos(),
        "min_ns": times.min().map(nanos),
        "p50_ns": at(0.5),
        "p50_interval_ns": median.map(|(low, high)| [nanos(low), nanos(high)]),
        "p99_ns": at(0.99),
        "max_ns": times.max().map(nanos),
        "processor_ns": processor.map(nanos),
    })
}

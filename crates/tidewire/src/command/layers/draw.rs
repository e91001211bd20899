//! The figure of `measure layers`: transmit times against size, layer by layer and service by service.

use super::Study;
use super::print::names;
use crate::figure::{Axis, Figure, Mark, Point, Series};
use crate::quantity::{self, Scale};
use bench::analysis::Unit;
use papers::layers::Operation;
use papers::layers::fit::{Curve, LEVEL, median_nanos};

/// PHY, MAC and LLC transmit times: Figures 6 and 7 of the paper in one.
pub(super) fn transmit(study: &Study) -> Figure {
    let shown = [Operation::BufferTransmit, Operation::MacTransmit, Operation::LlcTransmit];
    let curves: Vec<&Curve> =
        study.curves.iter().filter(|curve| shown.contains(&curve.operation)).collect();
    let medians = curves.iter().flat_map(|curve| &curve.measurements);
    let most = medians.map(|one| median_nanos(&one.times)).fold(0.0, f64::max);
    let scale = quantity::scale(Unit::Nanoseconds, most);
    Figure {
        title: format!("transmit times, {}", study.title),
        caption: format!(
            "Points: medians with their {} intervals (order statistics). Straight lines: fits; where \
             the points are joined instead, no straight line fits (F test, 1 %). {}; {}.",
            quantity::level(LEVEL),
            study.extent,
            study.lines
        ),
        reference: Some("TR-88-08, Figures 6 and 7".to_owned()),
        x: Axis { name: "message size".to_owned(), unit: "octets".to_owned() },
        y: Axis { name: "time".to_owned(), unit: scale.unit.to_owned() },
        scale: None,
        series: curves
            .iter()
            .enumerate()
            .flat_map(|(style_group, curve)| series(curve, style_group, scale))
            .collect(),
    }
}

/// The points of a curve, and the line through them where it is one.
fn series(curve: &Curve, style_group: usize, scale: Scale) -> Vec<Series> {
    let name = names(curve).join(" ").trim_end().to_owned();
    let nanos = |span: core::time::Duration| span.as_secs_f64() * 1e9 / scale.each;
    let point = |one: &papers::layers::Measurement| Point {
        x: one.octets as f64,
        y: median_nanos(&one.times) / scale.each,
        interval: one.times.quantile_interval(0.5, LEVEL).map(|(l, h)| (nanos(l), nanos(h))),
        count: Some(one.times.count()),
    };
    let points: Vec<Point> = curve.measurements.iter().map(point).collect();
    let Some(fit) = curve.fit.filter(|fit| fit.is_doubtful() != Some(true)) else {
        return vec![Series { name, style_group, mark: Mark::PointsOnLine, points }];
    };
    let ends = [curve.measurements.first(), curve.measurements.last()];
    let on_line = |octets: usize| Point::exact(octets as f64, fit.at(octets) / scale.each);
    let line = ends.into_iter().flatten().map(|one| on_line(one.octets)).collect();
    vec![
        Series { name: format!("{name}, fit"), style_group, mark: Mark::Line, points: line },
        Series { name, style_group, mark: Mark::Points, points },
    ]
}

//! Layout of a figure, decided before anything is drawn: ranges, ticks, colours and marks.
//!
//! It prints as text, so that a change of a figure is a difference that a person reads.

use super::{Axis, Figure, Mark, Point, Scale};
use core::fmt;

/// Most points of a series that are drawn; of longer ones every so-manyth is, and the last.
const MOST_POINTS: usize = 200;
/// Most ticks on an axis.
const MOST_TICKS: f64 = 9.0;
/// Ratio of the highest series to the lowest from which on the axis is logarithmic: on a linear axis the
/// lowest would lie flat.
const FLAT: f64 = 20.0;

/// A figure with everything chosen.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Scene {
    pub(super) title: String,
    /// The caption and the reference.
    pub(super) caption: String,
    pub(super) x: Range,
    pub(super) y: Range,
    pub(super) layers: Vec<Layer>,
}

/// An axis with its ends and its ticks.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Range {
    /// `size (octets)`.
    pub(super) label: String,
    pub(super) low: f64,
    pub(super) high: f64,
    /// From tick to tick; on a logarithmic axis from one power of ten to the next.
    pub(super) step: f64,
    pub(super) scale: Scale,
}

/// A series with its looks.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Layer {
    pub(super) name: String,
    pub(super) mark: Mark,
    pub(super) looks: Looks,
    pub(super) points: Vec<Point>,
    /// Points of its line, if that is not straight between its points.
    pub(super) line: Vec<Point>,
}

/// Style that distinguishes kins: never colour alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Looks {
    pub(super) colour: &'static str,
    pub(super) marker: Marker,
    /// Lengths drawn and left out, in turn; none for a line without gaps.
    pub(super) dash: Option<&'static str>,
}

/// The shape of a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Marker {
    Circle,
    Triangle,
    Square,
    Diamond,
    Plus,
    Cross,
}

/// From the palette of Okabe and Ito (2008), those that can be seen on white.
pub(super) const COLOURS: [&str; 6] =
    ["#0072B2", "#D55E00", "#009E73", "#000000", "#AA4499", "#56B4E9"];
const MARKERS: [Marker; 6] = [
    Marker::Circle,
    Marker::Triangle,
    Marker::Square,
    Marker::Diamond,
    Marker::Plus,
    Marker::Cross,
];
const DASHES: [Option<&str>; 6] =
    [None, Some("9 3"), Some("3 3"), Some("9 3 2 3"), Some("14 4"), Some("2 5")];
/// Kins that can be distinguished.
#[cfg(test)]
const KINS: usize = COLOURS.len() * MARKERS.len();
/// Part of an axis within which two curves are one to the eye.
const ONE_CURVE: f64 = 0.004;
/// Pieces of a straight line on a logarithmic axis, on which it is a curve.
const PIECES: u32 = 16;

impl Looks {
    /// Those of a style group. When the colours run out, they begin anew with another marker and dash each.
    fn of(style_group: usize) -> Self {
        let (colour, round) = (style_group % COLOURS.len(), style_group / COLOURS.len());
        let shape = (colour + round) % MARKERS.len();
        Self { colour: COLOURS[colour], marker: MARKERS[shape], dash: DASHES[shape] }
    }
}

impl Scene {
    /// Chooses everything that the figure leaves open.
    pub(super) fn of(figure: &Figure) -> Self {
        let points = || figure.series.iter().flat_map(|series| &series.points);
        let is_logarithmic = is_logarithmic(figure);
        let least = points().map(|point| point.y).fold(f64::INFINITY, f64::min);
        let ends = |point: &Point| {
            let (low, high) = point.interval.unwrap_or((point.y, point.y));
            [low.min(point.y), high.max(point.y)]
        };
        let y = if is_logarithmic {
            // An interval reaches down by one power of ten at the most.
            let ends = points().flat_map(ends).filter(|end| *end >= least / 10.0);
            Range::of_powers(&figure.y, ends)
        } else {
            // An interval does not take the axis below zero where no point lies there: what is drawn is then no less
            // than zero.
            let floor = if least < 0.0 { f64::NEG_INFINITY } else { 0.0 };
            Range::over(&figure.y, points().flat_map(ends).map(|end| end.max(floor)))
        };
        let reference = figure.reference.iter().map(|reference| format!(" Compare: {reference}."));
        Self {
            title: figure.title.clone(),
            caption: figure.caption.clone() + &reference.collect::<String>(),
            x: Range::over(&figure.x, points().map(|point| point.x)),
            layers: layers(figure, &y),
            y,
        }
    }
}

/// The series as they are drawn; one that lies under another is marked.
fn layers(figure: &Figure, y: &Range) -> Vec<Layer> {
    let all = &figure.series;
    let layer = |(place, series): (usize, &super::Series)| {
        let mut layer = Layer::of(series, y);
        let above = all.get(place + 1..).unwrap_or_default();
        if let Some(over) = above.iter().find(|over| lies_under(series, over, y)) {
            layer.name = format!("{}, under {}", series.name, over.name);
        }
        layer
    };
    all.iter().enumerate().map(layer).collect()
}

/// Returns true if every point of a series has one of another over it.
fn lies_under(one: &super::Series, over: &super::Series, y: &Range) -> bool {
    let near = |value: f64, other: f64| match y.scale {
        Scale::Linear => (value - other).abs() <= (y.high - y.low) * ONE_CURVE,
        Scale::Logarithmic => (value / other).log10().abs() <= (y.high / y.low).log10() * ONE_CURVE,
    };
    let is_covered = |point: &Point| {
        over.points
            .iter()
            .any(|other| (other.x - point.x).abs() < f64::EPSILON && near(point.y, other.y))
    };
    one.style_group != over.style_group && one.points.len() > 1 && one.points.iter().all(is_covered)
}

/// True if the figure wants a logarithmic axis upwards, or leaves it open and one series would lie flat beneath another.
pub(super) fn is_logarithmic(figure: &Figure) -> bool {
    figure.scale.map_or_else(|| would_lie_flat(figure), |scale| scale == Scale::Logarithmic)
}

/// True if no value is zero or below, and one series would lie flat beneath another.
fn would_lie_flat(figure: &Figure) -> bool {
    let finite = |series: &super::Series| -> Vec<f64> {
        series.points.iter().map(|point| point.y).filter(|y| y.is_finite()).collect()
    };
    let all: Vec<Vec<f64>> = figure.series.iter().map(finite).filter(|ys| !ys.is_empty()).collect();
    let tops = || all.iter().map(|ys| ys.iter().copied().fold(f64::MIN, f64::max));
    let (lowest, highest) = (tops().fold(f64::MAX, f64::min), tops().fold(f64::MIN, f64::max));
    all.iter().flatten().all(|y| *y > 0.0) && !all.is_empty() && highest >= lowest * FLAT
}

/// Label of an axis; numbers without a unit need none.
pub(super) fn label(axis: &Axis) -> String {
    if axis.unit == "1" { axis.name.clone() } else { format!("{} ({})", axis.name, axis.unit) }
}

impl Range {
    /// From the power of ten that no value falls below to the one that none exceeds.
    fn of_powers(axis: &Axis, values: impl Iterator<Item = f64>) -> Self {
        let finite = values.filter(|value| value.is_finite());
        let (low, high) =
            finite.fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
        let label = label(axis);
        let [low, high] =
            [low.log10().floor(), high.log10().ceil()].map(|power| 10_f64.powf(power));
        Self { label, low, high, step: 10.0, scale: Scale::Logarithmic }
    }

    /// From zero, unless there is something below it, to the tick that no value exceeds.
    fn over(axis: &Axis, values: impl Iterator<Item = f64>) -> Self {
        let mut all_whole = true;
        let finite = values.filter(|value| value.is_finite());
        let (low, high) = finite.fold((0.0_f64, 0.0_f64), |(low, high), value| {
            all_whole &= value.fract().abs() < f64::EPSILON;
            (low.min(value), high.max(value))
        });
        // Whole numbers have no ticks between them.
        let least = if all_whole { 1.0 } else { 0.0 };
        let step = step(high - low).max(least);
        let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
        let label = label(axis);
        let high = if high > low { high } else { low + step };
        Self { label, low, high, step, scale: Scale::Linear }
    }
}

/// The least 1, 2 or 5 times a power of ten that gives no more ticks than fit.
pub(super) fn step(width: f64) -> f64 {
    if width <= 0.0 {
        return 1.0;
    }
    let least = width / MOST_TICKS;
    let power = 10_f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0].map(|digit| digit * power);
    steps.into_iter().find(|step| *step >= least).unwrap_or(10.0 * power)
}

impl Layer {
    fn of(series: &super::Series, y: &Range) -> Self {
        let finite = series
            .points
            .iter()
            .copied()
            .filter(|point| point.x.is_finite() && point.y.is_finite());
        let points = thinned(finite.collect());
        let line = match (series.mark, y.scale) {
            (Mark::Across, _) => upright(&points, y),
            (Mark::Bars, _) => bars(&points, y),
            (Mark::Points | Mark::Crosses, _) | (_, Scale::Linear) => Vec::new(),
            (
                Mark::Line | Mark::LineInBand | Mark::ThinLine | Mark::PointsOnLine,
                Scale::Logarithmic,
            ) => curved(&points),
        };
        Self {
            name: series.name.clone(),
            mark: series.mark,
            looks: Looks::of(series.style_group),
            points,
            line,
        }
    }
}

/// The points and, between them, those of the straight lines that join them.
fn curved(points: &[Point]) -> Vec<Point> {
    let between = points.windows(2).flat_map(|pair| {
        let (one, other) = (pair[0], pair[1]);
        // A line along or across the axis is straight on each scale.
        let is_step = one.x.total_cmp(&other.x).is_eq() || one.y.total_cmp(&other.y).is_eq();
        let pieces = if is_step { 1 } else { PIECES };
        (0..pieces).map(move |piece| {
            let part = f64::from(piece) / f64::from(PIECES);
            let on_way = |from: f64, to: f64| from + (to - from) * part;
            Point::exact(on_way(one.x, other.x), on_way(one.y, other.y))
        })
    });
    between.chain(points.last().copied()).collect()
}

/// From the bottom of the axes to their top.
fn upright(points: &[Point], y: &Range) -> Vec<Point> {
    let at = |x, y| Point::exact(x, y);
    points.first().map_or_else(Vec::new, |point| vec![at(point.x, y.low), at(point.x, y.high)])
}

/// Up to each point and down again, along zero or the bottom of the axes.
fn bars(points: &[Point], y: &Range) -> Vec<Point> {
    let foot = y.low.max(0.0);
    let bar = |point: &Point| [foot, point.y, foot].map(|y| Point::exact(point.x, y));
    points.iter().flat_map(bar).collect()
}

fn thinned(points: Vec<Point>) -> Vec<Point> {
    if points.len() <= MOST_POINTS {
        return points;
    }
    let each = points.len().div_ceil(MOST_POINTS - 1).max(1);
    let last = points.last().copied().filter(|_| points.len() % each != 1 && each > 1);
    points.into_iter().step_by(each).chain(last).collect()
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { label, low, high, step, scale } = self;
        let by = if *scale == Scale::Linear { "by" } else { "times" };
        write!(f, "{label} from {low} to {high} {by} {step}")
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, mark, looks: Looks { colour, marker, dash }, points, line: _ } = self;
        let dash = dash.unwrap_or("none");
        write!(f, "{name}: {mark:?}, {colour}, {marker:?}, dash {dash}")?;
        for Point { x, y, interval, .. } in points {
            write!(f, "\n  {x} {y:.4}")?;
            if let Some((low, high)) = interval {
                write!(f, " [{low:.4} {high:.4}]")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Scene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { title, caption, x, y, layers } = self;
        write!(f, "{title}\n{caption}\nacross: {x}\nupwards: {y}")?;
        layers.iter().try_for_each(|layer| write!(f, "\n{layer}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Series;
    use crate::figure::tests::example;

    #[test]
    fn a_scene_shows_what_will_be_drawn() {
        insta::assert_snapshot!("scene", Scene::of(&example()));
    }

    #[test]
    fn ticks_are_one_two_or_five_and_never_too_many() {
        // 1500 / 9 = 166.7, so 200; 4.3 / 9 = 0.478, so 0.5; 9 / 9 = 1; 91 / 9 = 10.1, so 20.
        let steps = [1_500.0, 4.3, 9.0, 91.0].map(step);
        assert_eq!(steps, [200.0, 0.5, 1.0, 20.0]);
        assert_eq!(step(0.0), 1.0);
    }

    #[test]
    fn an_axis_begins_at_zero_unless_something_lies_below() {
        let axis = Axis { name: "difference".to_owned(), unit: "us".to_owned() };
        let range = Range::over(&axis, [-3.0, 7.5, f64::NAN].into_iter());
        assert_eq!(range.to_string(), "difference (us) from -4 to 8 by 2");
        let range = Range::over(&axis, [40.0].into_iter());
        assert_eq!(range.to_string(), "difference (us) from 0 to 40 by 5");
        // Whole numbers, such as those of points, have no ticks between them.
        let range = Range::over(&axis, [1.0, 2.0, 4.0].into_iter());
        assert_eq!(range.to_string(), "difference (us) from 0 to 4 by 1");
    }

    #[test]
    fn an_axis_is_logarithmic_if_a_series_would_lie_flat() {
        let series = |ys: &[f64]| Series {
            points: ys.iter().map(|y| Point::exact(1.0, *y)).collect(),
            ..example().series[0].clone()
        };
        let range = |one: &[f64], other: &[f64]| {
            let figure = Figure { series: vec![series(one), series(other)], ..example() };
            Scene::of(&figure).y.to_string()
        };
        assert_eq!(range(&[6.0, 8.0], &[5.9, 160.0]), "time (ms) from 1 to 1000 times 10");
        assert_eq!(range(&[6.0, 8.0], &[5.9, 159.0]), "time (ms) from 0 to 160 by 20");
        assert_eq!(range(&[0.0, 8.0], &[5.9, 160.0]), "time (ms) from 0 to 160 by 20");
    }

    #[test]
    fn an_interval_takes_no_axis_below_what_points_can_be() {
        let range = |points: &[(f64, f64, f64)]| {
            let point = |&(y, low, high): &(f64, f64, f64)| Point {
                interval: Some((low, high)),
                ..Point::exact(1.0, y)
            };
            let series = points
                .iter()
                .map(|one| Series { points: vec![point(one)], ..example().series[0].clone() });
            Scene::of(&Figure { series: series.collect(), ..example() }).y.to_string()
        };
        assert_eq!(range(&[(8.0, -40.0, 60.0)]), "time (ms) from 0 to 60 by 10");
        assert_eq!(range(&[(-8.0, -40.0, 10.0)]), "time (ms) from -40 to 10 by 10");
        // 1 is the least point, so that ends from 0.1 on count.
        let both = |low| [(1.0, low, 2.0), (500.0, 400.0, 600.0)];
        assert_eq!(range(&both(0.002)), "time (ms) from 1 to 1000 times 10");
        assert_eq!(range(&both(0.2)), "time (ms) from 0.1 to 1000 times 10");
    }

    #[test]
    fn bars_begin_at_zero_and_a_line_across_fills_the_axes() {
        let series = |mark, points: &[(f64, f64)]| Series {
            mark,
            points: points.iter().map(|(x, y)| Point::exact(*x, *y)).collect(),
            ..example().series[0].clone()
        };
        let bars = series(Mark::Bars, &[(1.0, 4.0), (2.0, 10.0)]);
        let across = series(Mark::Across, &[(1.5, 4.0), (1.5, 5.0)]);
        let scene = Scene::of(&Figure { series: vec![bars, across], ..example() });
        let line = |place: usize| -> Vec<(f64, f64)> {
            scene.layers[place].line.iter().map(|point| (point.x, point.y)).collect()
        };
        assert_eq!(
            line(0),
            [(1.0, 0.0), (1.0, 4.0), (1.0, 0.0), (2.0, 0.0), (2.0, 10.0), (2.0, 0.0)]
        );
        assert_eq!(line(1), [(1.5, 0.0), (1.5, 10.0)]);
    }

    #[test]
    fn a_series_that_lies_under_another_says_so() {
        let figure = example();
        let mut over = figure.series[2].clone();
        over.name = "copy".to_owned();
        over.style_group = 2;
        let names = |series: Vec<Series>| -> Vec<String> {
            let scene = Scene::of(&Figure { series, ..figure.clone() });
            scene.layers.into_iter().map(|layer| layer.name).collect()
        };
        let phy = figure.series[2].clone();
        assert_eq!(names(vec![phy.clone(), over.clone()]), ["PHY, under copy", "copy"]);
        over.points[1].y *= 1.1;
        assert_eq!(names(vec![phy, over]), ["PHY", "copy"]);
    }

    #[test]
    fn a_straight_line_is_a_curve_on_a_logarithmic_axis() {
        let line = |from: f64, to: f64| Series {
            points: vec![Point::exact(0.0, from), Point::exact(100.0, to)],
            mark: Mark::Line,
            ..example().series[0].clone()
        };
        let figure = Figure { series: vec![line(1.0, 101.0), line(1.0, 2.0)], ..example() };
        let scene = Scene::of(&figure);
        assert_eq!(scene.y.scale, Scale::Logarithmic);
        // Half of the way from 1 to 101 is 51, where a straight line on the paper has 10.
        let middle = scene.layers[0].line.iter().find(|point| point.x == 50.0);
        assert_eq!(middle.map(|point| point.y), Some(51.0));
    }

    #[test]
    fn a_long_series_is_thinned_and_keeps_its_ends() {
        for count in [1, 199, 200, 201, 398, 399, 5_000] {
            let points = (0..count).map(|x| Point::exact(f64::from(x), 1.0)).collect();
            let series = Series { name: String::new(), style_group: 7, mark: Mark::Line, points };
            let axis = Axis { name: String::new(), unit: String::new() };
            let range = Range::over(&axis, [1.0].into_iter());
            let drawn = Layer::of(&series, &range).points;
            let expected = if count <= 200 { count as usize..=200 } else { 2..=MOST_POINTS };
            assert!(expected.contains(&drawn.len()), "{count} gave {}", drawn.len());
            assert_eq!(drawn.first().unwrap().x, 0.0);
            assert_eq!(drawn.last().unwrap().x, f64::from(count - 1));
            assert!(drawn.windows(2).all(|pair| pair[0].x < pair[1].x));
        }
    }

    #[test]
    fn no_two_of_36_kins_look_alike() {
        let all: Vec<Looks> = (0..KINS).map(Looks::of).collect();
        for (place, one) in all.iter().enumerate() {
            for other in &all[place + 1..] {
                let is_shaped = one.marker != other.marker && one.dash != other.dash;
                assert!(one.colour != other.colour || is_shaped, "{one:?} {other:?}");
            }
        }
        // Within six of each other nothing is shared.
        for (one, other) in (0..6).flat_map(|one| (0..one).map(move |other| (one, other))) {
            let (one, other) = (all[one], all[other]);
            assert!(one.colour != other.colour && one.marker != other.marker);
            assert!(one.dash != other.dash);
        }
    }
}

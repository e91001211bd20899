//! Figure of a paper, redrawn: curves against a size, each marked as an input or a prediction.

use super::Outcome;
use super::row::Drawn;
use super::verdict::Role;

/// Figure.
#[derive(Clone, PartialEq, Debug)]
pub struct Plot {
    /// Number in the paper: `4`, `8a`; also the name of its files.
    pub number: &'static str,
    /// Place in the paper: `Figure 4`, `section 4.4`.
    pub place: String,
    /// Title.
    pub title: &'static str,
    /// Horizontal quantity, and its unit.
    pub horizontal: (&'static str, &'static str),
    /// Vertical quantity, and its unit.
    pub vertical: (&'static str, &'static str),
    /// Number and kind of observations, and meaning of the intervals.
    pub observed: String,
    /// Curves.
    pub curves: Vec<Curve>,
    /// Published values in it.
    pub published: Vec<Published>,
}

/// Published value in a figure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Published {
    /// Point with its reading error.
    Point(Point),
    /// Vertical line at this horizontal position, such as a cross-over.
    Across(f64),
}

/// Adds the published values to each figure, in the order of the rows.
pub fn add_published(plots: &mut [Plot], outcomes: &[Outcome]) {
    let claims = outcomes.iter().flat_map(|outcome| &outcome.row.claims);
    for (claim, drawn) in claims.flat_map(|claim| claim.drawn.iter().map(move |at| (claim, at))) {
        let Drawn { figure, at, scale } = drawn;
        let (least, most) = claim.published();
        let value = least.midpoint(most) * scale;
        let [low, high] = [least - claim.error, most + claim.error].map(|end| end * scale);
        let published = match at {
            Some(x) => Published::Point(Point { x: *x, y: value, low, high, observations: 0 }),
            None => Published::Across(value),
        };
        let of_figure = plots.iter_mut().filter(|plot| plot.number == figure);
        of_figure.filter(|plot| !plot.published.contains(&published)).for_each(|plot| {
            plot.published.push(published);
        });
    }
}

/// States in each figure with curves of predictions which of its points the models were calibrated
/// on.
pub fn state_inputs(plots: &mut [Plot], outcomes: &[Outcome]) {
    let inputs = outcomes.iter().filter(|outcome| outcome.role == Role::CalibrationInput);
    let drawn: Vec<&Drawn> =
        inputs.flat_map(|it| &it.row.claims).flat_map(|claim| &claim.drawn).collect();
    for plot in plots.iter_mut().filter(|plot| plot.curves.iter().any(|curve| !curve.is_input)) {
        let here = drawn.iter().filter(|drawn| drawn.figure == plot.number);
        let mut places: Vec<f64> = here.filter_map(|drawn| drawn.at).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        if !places.is_empty() {
            let places: Vec<String> = places.iter().map(f64::to_string).collect();
            let (places, unit) = (places.join(" and "), plot.horizontal.1);
            plot.observed += &format!(" Points at {places} {unit} were calibrated on.");
        }
    }
}

/// Curve of a figure.
#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    /// Name.
    pub name: String,
    /// True if the model was calibrated on it.
    pub is_input: bool,
    /// Style of drawing.
    pub style: Style,
    /// Points, from left to right.
    pub points: Vec<Point>,
}

/// Style of drawing of a curve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// Points with their intervals, on a line.
    Points,
    /// Points with their intervals, each by itself: cases without an order.
    Cases,
    /// Line without points: an edge of a band around the preceding curve of points.
    Edge,
    /// Bars from zero, for data that are neither an input nor a prediction.
    Bars,
}

/// Point of a curve, with its interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// Horizontal position.
    pub x: f64,
    /// Vertical position.
    pub y: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Observations behind it.
    pub observations: u64,
}

/// Caption of means of n messages at each point.
#[must_use]
pub fn means_at_each_point(messages: u64) -> String {
    format!(
        "Means of n = {messages} at each point; intervals: 95 % of the mean, over all models that fit."
    )
}

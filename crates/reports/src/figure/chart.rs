//! A chart of events: bars in lanes over a window of time, as a sequence chart of a network.
//!
//! ```text
//!   A         ▕  DT  ▏///▕..          ▏ hold   ///  fragment   ..  backoff
//!   B                      ▕ AK ▏
//!             100   101   102   103   time (ms)
//! ```
//!
//! Each style has a pattern, an outline, a height or a letter of its own in addition to its colour.

use super::scene;
use super::sheet::{Anchor, Shape, Sheet, TEXT, WIDTH, width};
use super::ticks;

/// A chart of events.
#[derive(Clone, PartialEq, Debug)]
pub struct EventChart {
    /// Title in one line.
    pub title: String,
    /// Caption.
    pub caption: String,
    /// Names of the lanes from the top.
    pub lanes: Vec<String>,
    /// Start of the window.
    pub from: f64,
    /// End of the window.
    pub until: f64,
    /// Unit of all times.
    pub unit: String,
    /// Bars, in the order in which they begin.
    pub bars: Vec<EventBar>,
    /// Lines of its CSV, the heading first.
    pub table: Vec<Vec<String>>,
}

/// Bar of a chart of events.
#[derive(Clone, PartialEq, Debug)]
pub struct EventBar {
    /// Index of its lane.
    pub lane: usize,
    /// Start.
    pub begin: f64,
    /// End; the start if it takes no time.
    pub end: f64,
    /// Style.
    pub style: EventStyle,
    /// Text in the bar, if there is room for it.
    pub label: String,
}

/// Style of a bar.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum EventStyle {
    /// Outline around the frames that a station sends while it holds the token.
    Hold,
    /// Outline around the frames that a node sends in its transmit opportunity.
    Opportunity,
    /// Low bar: an opportunity that was not used.
    Unused,
    /// Low black bar.
    Beacon,
    /// Filled bar with its label.
    Frame,
    /// Filled bar with stripes upwards.
    Again,
    /// Low filled bar.
    Token,
    /// Bar with stripes to the right.
    Fragment,
    /// Low outline with stripes to the left.
    Backoff,
    /// Line with its label above.
    Moment,
}

const TOP: f64 = 48.0;
const LANE: f64 = 42.0;
/// Heights of outlines, bars and low bars, and the room below them.
const TURN: f64 = 24.0;
const BAR: f64 = 16.0;
const LOW: f64 = 7.0;
const BELOW: f64 = 2.0;
/// Distance of the stripes of a pattern.
const STRIPE: f64 = 4.0;
const KEY_LINE: f64 = 22.0;
const GREY: &str = "#BBBBBB";
const BLACK: &str = "#000000";

/// Horizontal places: pixels of a time.
struct Across {
    left: f64,
    right: f64,
    from: f64,
    until: f64,
}

impl Across {
    fn x(&self, time: f64) -> f64 {
        let share = (time - self.from) / (self.until - self.from);
        self.left + (self.right - self.left) * share.clamp(0.0, 1.0)
    }
}

/// Rectangle on the sheet.
#[derive(Clone, Copy)]
struct Place {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

/// The chart with everything at its place.
pub(super) fn sheet(chart: &EventChart) -> Sheet {
    let widest = chart.lanes.iter().map(|name| width(name)).fold(0.0, f64::max);
    let left = 20.0 + widest;
    let across =
        Across { left, right: WIDTH - 30.0, from: chart.from, until: chart.until.max(chart.from) };
    let bottom = TOP + LANE * chart.lanes.len().max(1) as f64;
    let mut shapes = frame(chart, &across, bottom);
    let is_turn = |bar: &&EventBar| matches!(bar.style, EventStyle::Hold | EventStyle::Opportunity);
    let turns = chart.bars.iter().filter(is_turn);
    // End of the last label above the bars of each lane.
    let mut ends = vec![0.0_f64; chart.lanes.len()];
    for bar in turns.chain(chart.bars.iter().filter(|bar| !is_turn(bar))) {
        draw(bar, &across, &mut ends, &mut shapes);
    }
    let below = key(chart, bottom + 3.5 * TEXT, &mut shapes);
    Sheet { title: chart.title.clone(), caption: chart.caption.clone(), height: below, shapes }
}

/// Lanes with their names, and the axis with its ticks.
fn frame(chart: &EventChart, across: &Across, bottom: f64) -> Vec<Shape> {
    let mut shapes = Vec::new();
    let step = scene::step(chart.until - chart.from);
    let first = (chart.from / step - 1e-9).ceil();
    let last = (chart.until / step + 1e-9).floor();
    for tick in 0..=(last - first).max(0.0) as u32 {
        let time = (first + f64::from(tick)) * step;
        let x = across.x(time);
        shapes.push(Shape::line((x, TOP), (x, bottom + 4.0), GREY));
        shapes.push(Shape::text(x, bottom + TEXT, Anchor::Middle, ticks::label(time)));
    }
    for (place, name) in chart.lanes.iter().enumerate() {
        let y = TOP + LANE * (place as f64 + 1.0);
        shapes.push(Shape::line((across.left, y), (across.right, y), GREY));
        shapes.push(Shape::text(across.left - 8.0, y - LANE / 2.0, Anchor::End, name));
    }
    shapes.push(Shape::line((across.left, bottom), (across.right, bottom), BLACK));
    let middle = f64::midpoint(across.left, across.right);
    let axis = format!("time ({})", chart.unit);
    shapes.push(Shape::text(middle, bottom + 2.3 * TEXT, Anchor::Middle, axis));
    shapes
}

/// Height of the bars of a style, and the room below them.
const fn height(style: EventStyle) -> (f64, f64) {
    match style {
        EventStyle::Hold | EventStyle::Opportunity => (TURN, BELOW),
        EventStyle::Frame | EventStyle::Again | EventStyle::Fragment => (BAR, BELOW + 4.0),
        EventStyle::Unused | EventStyle::Beacon | EventStyle::Token => (LOW, BELOW),
        EventStyle::Backoff => (BAR - 4.0, BELOW + 4.0),
        EventStyle::Moment => (TURN, 0.0),
    }
}

fn draw(bar: &EventBar, across: &Across, ends: &mut [f64], shapes: &mut Vec<Shape>) {
    let bottom = TOP + LANE * (bar.lane as f64 + 1.0);
    let (x, end) = (across.x(bar.begin), across.x(bar.end));
    if bar.style == EventStyle::Moment {
        shapes.push(Shape::line((x, bottom - BAR), (x, bottom), BLACK));
        // The letter of a moment is read on any bar.
        let y = bottom - BAR - TEXT / 2.0;
        let (width, height) = (width(&bar.label) + 2.0, TEXT);
        let (x_of_box, y_of_box) = (x - width / 2.0, y - height / 2.0);
        let (fill, opacity) = ("#ffffff", 0.85);
        shapes.push(Shape::Rectangle { x: x_of_box, y: y_of_box, width, height, fill, opacity });
        return shapes.push(Shape::text(x, y, Anchor::Middle, &bar.label));
    }
    let (height, below) = height(bar.style);
    let place = Place { x, y: bottom - below - height, width: (end - x).max(1.0), height };
    fill(bar.style, place, shapes);
    let needed = width(&bar.label);
    let middle = x + place.width / 2.0;
    if bar.label.is_empty() || height < TEXT - 1.0 {
        return;
    }
    if needed <= place.width - 2.0 {
        if bar.style != EventStyle::Frame {
            // Stripes end around the text.
            let (x, y, height) = (middle - needed / 2.0, place.y + 1.0, height - 2.0);
            let (width, fill, opacity) = (needed, "#ffffff", 0.8);
            shapes.push(Shape::Rectangle { x, y, width, height, fill, opacity });
        }
        let y = place.y + height / 2.0;
        return shapes.push(Shape::text(middle, y, Anchor::Middle, &bar.label));
    }
    // The bar is narrower than its label, which stands above it if it is clear of the one before; at the
    // edges of the window next to its middle.
    let is_frame = matches!(bar.style, EventStyle::Frame | EventStyle::Again);
    let middle = middle.min(across.right - needed / 2.0).max(across.left + needed / 2.0);
    let (left, right) = (middle - needed / 2.0, middle + needed / 2.0);
    let end = ends.get_mut(bar.lane).filter(|end| is_frame && left >= **end);
    if let Some(end) = end.filter(|_| right <= across.right) {
        *end = right;
        let y = bottom - BELOW - TURN - TEXT / 2.0 - 1.0;
        shapes.push(Shape::text(middle, y, Anchor::Middle, &bar.label));
    }
}

/// The bar of a style.
fn fill(style: EventStyle, place: Place, shapes: &mut Vec<Shape>) {
    let mut rectangle = |fill: &'static str, opacity: f64| {
        let Place { x, y, width, height } = place;
        shapes.push(Shape::Rectangle { x, y, width, height, fill, opacity });
    };
    match style {
        EventStyle::Hold | EventStyle::Opportunity => outline(place, shapes),
        EventStyle::Unused => rectangle("#AAAAAA", 1.0),
        EventStyle::Beacon => rectangle(BLACK, 1.0),
        EventStyle::Token => rectangle("#999999", 1.0),
        EventStyle::Frame => {
            rectangle("#56B4E9", 1.0);
            sides(place, shapes);
        }
        EventStyle::Again => {
            rectangle("#E69F00", 1.0);
            stripes(place, 0.0, shapes);
            outline(place, shapes);
        }
        EventStyle::Fragment => {
            rectangle("#D55E00", 0.35);
            stripes(place, 1.0, shapes);
            outline(place, shapes);
        }
        EventStyle::Backoff => {
            stripes(place, -0.5, shapes);
            outline(place, shapes);
        }
        EventStyle::Moment => {}
    }
}

/// Left and right side, which part bars that follow each other.
fn sides(place: Place, shapes: &mut Vec<Shape>) {
    for x in [place.x, place.x + place.width] {
        shapes.push(Shape::line((x, place.y), (x, place.y + place.height), BLACK));
    }
}

fn outline(place: Place, shapes: &mut Vec<Shape>) {
    sides(place, shapes);
    for y in [place.y, place.y + place.height] {
        shapes.push(Shape::line((place.x, y), (place.x + place.width, y), BLACK));
    }
}

/// Stripes within a bar, from its lower to its upper side; `slope` is their way to the right as a share of the height.
fn stripes(place: Place, slope: f64, shapes: &mut Vec<Shape>) {
    let shift = slope * place.height;
    let (low, high) = (place.x.min(place.x - shift), place.x + place.width - shift.min(0.0));
    let distance = if slope < 0.0 { 2.0 * STRIPE } else { STRIPE };
    let n = ((high - low) / distance).floor() as u32;
    for stripe in 1..=n {
        let x = low + f64::from(stripe) * distance;
        if let Some((from, to)) = within(place, x, shift) {
            shapes.push(Shape::line(from, to, BLACK));
        }
    }
}

/// The part within a bar of a line from `x` at its lower side to `x + shift` at its upper side.
fn within(place: Place, x: f64, shift: f64) -> Option<((f64, f64), (f64, f64))> {
    let (left, right) = (place.x, place.x + place.width);
    let share = |at: f64| ((at - x) / shift).clamp(0.0, 1.0);
    let (begin, end) = if shift == 0.0 {
        if x <= left || x >= right {
            return None;
        }
        (0.0, 1.0)
    } else {
        let (one, other) = (share(left), share(right));
        (one.min(other), one.max(other))
    };
    let point = |share: f64| (x + share * shift, place.y + place.height * (1.0 - share));
    (end - begin > 0.05).then(|| (point(begin), point(end)))
}

/// Meaning of a style; that of a moment is its label.
const fn meaning(style: EventStyle) -> &'static str {
    match style {
        EventStyle::Hold => "token hold",
        EventStyle::Opportunity => "transmit opportunity",
        EventStyle::Unused => "unused opportunity",
        EventStyle::Beacon => "beacon",
        EventStyle::Frame => "transmission",
        EventStyle::Again => "retransmission",
        EventStyle::Token => "token",
        EventStyle::Fragment => "collided transmission and jam",
        EventStyle::Backoff => "backoff",
        EventStyle::Moment => "",
    }
}

/// Adds the key of the styles in the chart, and returns its lower end.
fn key(chart: &EventChart, top: f64, shapes: &mut Vec<Shape>) -> f64 {
    let mut styles: Vec<EventStyle> = chart.bars.iter().map(|bar| bar.style).collect();
    styles.sort_unstable();
    styles.dedup();
    let (mut x, mut y) = (20.0, top);
    for style in styles.into_iter().filter(|style| *style != EventStyle::Moment) {
        let text = meaning(style);
        let needed = 36.0 + width(text) + 16.0;
        if x + needed > WIDTH {
            (x, y) = (20.0, y + KEY_LINE);
        }
        let height = height(style).0.min(BAR);
        fill(style, Place { x, y: y + BAR - height, width: 28.0, height }, shapes);
        shapes.push(Shape::text(x + 34.0, y + BAR / 2.0, Anchor::Start, text));
        x += needed;
    }
    y + KEY_LINE
}

/// Name of a style in data.
pub(super) const fn name(style: EventStyle) -> &'static str {
    match style {
        EventStyle::Moment => "moment",
        EventStyle::Fragment => "fragment",
        EventStyle::Hold
        | EventStyle::Opportunity
        | EventStyle::Frame
        | EventStyle::Again
        | EventStyle::Token
        | EventStyle::Unused
        | EventStyle::Beacon
        | EventStyle::Backoff => meaning(style),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn bar(lane: usize, style: EventStyle, begin: f64, end: f64) -> EventBar {
        EventBar { lane, begin, end, style, label: "DT".to_owned() }
    }

    pub(in crate::figure) fn example() -> EventChart {
        EventChart {
            title: "Timeline".to_owned(),
            caption: "Seed 1.".to_owned(),
            lanes: ["A", "B"].map(str::to_owned).to_vec(),
            from: 100.0,
            until: 105.0,
            unit: "ms".to_owned(),
            bars: vec![
                bar(0, EventStyle::Hold, 99.0, 102.0),
                bar(0, EventStyle::Frame, 100.5, 101.0),
                bar(1, EventStyle::Fragment, 102.0, 102.5),
                bar(1, EventStyle::Backoff, 102.5, 103.5),
                bar(1, EventStyle::Again, 103.5, 104.0),
                bar(1, EventStyle::Moment, 104.0, 104.0),
            ],
            table: vec![vec!["start_ns".to_owned()], vec!["100500000".to_owned()]],
        }
    }

    #[test]
    fn bars_are_as_long_as_their_times_within_the_window() {
        let chart = example();
        let only = |place: usize| {
            let bars = chart.bars[place..=place].to_vec();
            sheet(&EventChart { bars, ..chart.clone() })
        };
        let wide = |sheet: &Sheet| {
            let fills = sheet.shapes.iter().filter_map(|shape| match shape {
                Shape::Rectangle { width, .. } => Some(*width),
                _ => None,
            });
            fills.fold(0.0, f64::max)
        };
        // Half a millisecond of five, on 860 less the margins of 50 and the name of a lane.
        let area = WIDTH - 50.0 - width("A");
        assert!((wide(&only(1)) - area / 10.0).abs() < 1e-9);
        for shape in sheet(&chart).shapes {
            let (Shape::Line { from, to, .. }, left) = (shape, 20.0) else { continue };
            assert!(from.0 >= left && to.0 <= WIDTH - 30.0 + 1e-9, "{from:?} {to:?}");
        }
    }

    #[test]
    fn a_narrow_bar_at_the_edge_of_the_window_has_its_label() {
        for (begin, end) in [(100.0, 100.01), (104.99, 105.0)] {
            let bars = vec![bar(0, EventStyle::Frame, begin, end)];
            let sheet = sheet(&EventChart { bars, ..example() });
            let labels = sheet
                .shapes
                .iter()
                .filter(|shape| matches!(shape, Shape::Text { content, .. } if content == "DT"));
            assert_eq!(labels.count(), 1, "{begin}");
        }
    }

    #[test]
    fn stripes_stay_within_their_bar() {
        for (slope, width) in [(1.0, 3.0), (1.0, 30.0), (-0.5, 30.0), (0.0, 30.0), (0.0, 2.0)] {
            let place = Place { x: 100.0, y: 50.0, width, height: 16.0 };
            let mut shapes = Vec::new();
            stripes(place, slope, &mut shapes);
            assert!(width < 5.0 || shapes.len() > 2, "{slope}");
            for shape in shapes {
                let Shape::Line { from, to, .. } = shape else { continue };
                for (x, y) in [from, to] {
                    assert!((99.999..=100.001 + width).contains(&x), "{x}");
                    assert!((49.999..=66.001).contains(&y), "{y}");
                }
            }
        }
    }
}

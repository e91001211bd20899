//! A time diagram: what is done when, in lanes, with the times from event to event.
//!
//! ```text
//!   sender, user  ▸request           ▸confirm
//!   sender, host  [ a  ][ b ]  [  c  ]
//!   ring                   [d]
//!                 0    1    2    3    4   time (ms)
//!                 |← request to confirm →|
//! ```
//!
//! Each kind of work has a letter, which stands in or above its bar and in the key on the right.

use super::scene;
use super::sheet::{Anchor, Shape, Sheet, TEXT, WIDTH, width};
use super::ticks;

/// A time diagram; times are in milliseconds.
#[derive(Clone, PartialEq, Debug)]
pub struct TimeDiagram {
    /// Title in one line.
    pub title: String,
    /// Caption.
    pub caption: String,
    /// The published figure to compare it with.
    pub reference: String,
    /// Names of the lanes from the top.
    pub lanes: Vec<String>,
    /// Work, in the order in which it begins.
    pub spans: Vec<Span>,
    /// Events: their lane, name and time.
    pub moments: Vec<Span>,
    /// Times from one event to another, drawn below the axis.
    pub intervals: Vec<Span>,
}

/// Something with a beginning and an end, which are the same for an event.
#[derive(Clone, PartialEq, Debug)]
pub struct Span {
    /// Place of its lane; that of an interval is 0.
    pub lane: usize,
    /// Name.
    pub name: String,
    /// Begin.
    pub begin: f64,
    /// End.
    pub end: f64,
}

const TOP: f64 = 48.0;
const LANE: f64 = 42.0;
const BAR: f64 = 16.0;
const INTERVAL: f64 = 24.0;
const GREY: &str = "#BBBBBB";
const BLACK: &str = "#000000";
/// Fills on which black can be read, from the palette of Okabe and Ito (2008); letters distinguish kinds as well.
const FILLS: [&str; 10] = [
    "#56B4E9", "#E69F00", "#009E73", "#F0E442", "#CC79A7", "#D55E00", "#999999", "#DDDDDD",
    "#B3D4A5", "#C9B6E4",
];

/// Horizontal places: pixels of a time.
struct Across {
    left: f64,
    width: f64,
    high: f64,
    step: f64,
}

impl Across {
    fn x(&self, time: f64) -> f64 {
        self.left + self.width * time / self.high
    }
}

/// The diagram with everything at its place.
pub(super) fn sheet(diagram: &TimeDiagram) -> Sheet {
    let kinds = kinds(diagram);
    let widest = |names: &mut dyn Iterator<Item = &String>| {
        names.map(|name| width(name)).fold(0.0, f64::max)
    };
    let left = 20.0 + widest(&mut diagram.lanes.iter());
    let right = WIDTH - 50.0 - widest(&mut kinds.iter());
    let all = diagram.spans.iter().chain(&diagram.moments).chain(&diagram.intervals);
    let last = all.map(|span| span.end).fold(0.0, f64::max);
    let step = scene::step(last);
    let high = ((last / step).ceil() * step).max(step);
    let across = Across { left, width: right - left, high, step };
    let bottom = TOP + LANE * diagram.lanes.len() as f64;
    let mut shapes = frame(diagram, &across, bottom);
    shapes.extend(bars(diagram, &kinds, &across));
    shapes.extend(events(diagram, &across));
    shapes.extend(intervals(diagram, &across, bottom + 3.5 * TEXT));
    shapes.extend(key(&kinds, right + 22.0));
    Sheet {
        title: diagram.title.clone(),
        caption: format!("{} Compare: {}.", diagram.caption, diagram.reference),
        height: bottom + 4.0 * TEXT + INTERVAL * diagram.intervals.len() as f64,
        shapes,
    }
}

/// Names of the kinds of work, in the order in which they first appear.
fn kinds(diagram: &TimeDiagram) -> Vec<String> {
    let mut kinds: Vec<String> = Vec::new();
    for span in &diagram.spans {
        if !kinds.contains(&span.name) {
            kinds.push(span.name.clone());
        }
    }
    kinds
}

fn letter(kind: usize) -> String {
    char::from(b'a' + u8::try_from(kind % 26).unwrap_or_default()).to_string()
}

/// Lanes with their names, and the axis with its ticks.
fn frame(diagram: &TimeDiagram, across: &Across, bottom: f64) -> Vec<Shape> {
    let ends = [across.x(0.0), across.x(across.high)];
    let mut shapes = Vec::new();
    let ticks = (across.high / across.step).round() as u32;
    for tick in 0..=ticks {
        let time = f64::from(tick) * across.step;
        let x = across.x(time);
        shapes.push(Shape::line((x, TOP), (x, bottom + 4.0), GREY));
        shapes.push(Shape::text(x, bottom + TEXT, Anchor::Middle, ticks::label(time)));
    }
    for (place, name) in diagram.lanes.iter().enumerate() {
        let y = TOP + LANE * (place as f64 + 1.0);
        shapes.push(Shape::line((ends[0], y), (ends[1], y), GREY));
        shapes.push(Shape::text(across.left - 8.0, y - BAR / 2.0 - 2.0, Anchor::End, name));
    }
    shapes.push(Shape::line((ends[0], bottom), (ends[1], bottom), BLACK));
    shapes.push(Shape::text(ends[1] + 18.0, bottom + TEXT, Anchor::Start, "time (ms)"));
    shapes
}

/// Work as bars, with the letter of its kind.
fn bars(diagram: &TimeDiagram, kinds: &[String], across: &Across) -> Vec<Shape> {
    let mut shapes = Vec::new();
    // End of the last letter above each lane.
    let mut ends = vec![0.0_f64; diagram.lanes.len()];
    for span in &diagram.spans {
        let kind = kinds.iter().position(|kind| *kind == span.name).unwrap_or_default();
        let (x, end) = (across.x(span.begin), across.x(span.end));
        let y = TOP + LANE * (span.lane as f64 + 1.0) - BAR - 2.0;
        let (fill, opacity) = (FILLS[kind % FILLS.len()], 1.0);
        let length = (end - x).max(1.0);
        shapes.push(Shape::Rectangle { x, y, width: length, height: BAR, fill, opacity });
        for x in [x, x + length] {
            shapes.push(Shape::line((x, y), (x, y + BAR), BLACK));
        }
        let (middle, room) = (x + length / 2.0, width("m"));
        let end = ends.get_mut(span.lane).filter(|_| length <= room);
        let (x, y) = match end {
            None => (middle, y + BAR / 2.0),
            // The bar is narrower than its letter, which stands above it and right of the one before.
            Some(end) => {
                let x = middle.max(*end + room);
                *end = x;
                (x, y - TEXT / 2.0 - 1.0)
            }
        };
        shapes.push(Shape::text(x, y, Anchor::Middle, letter(kind)));
    }
    shapes
}

/// Events as arrows with their names and times.
fn events(diagram: &TimeDiagram, across: &Across) -> Vec<Shape> {
    let mut shapes = Vec::new();
    for event in &diagram.moments {
        let (x, bottom) = (across.x(event.begin), TOP + LANE * (event.lane as f64 + 1.0));
        let name = format!("{} {}", event.name, time(event.begin));
        let fits = x + 8.0 + width(&name) <= across.x(across.high);
        let (x_of_name, anchor) =
            if fits { (x + 8.0, Anchor::Start) } else { (x - 8.0, Anchor::End) };
        let top = bottom - BAR - 10.0;
        shapes.push(Shape::line((x, top), (x, bottom), BLACK));
        let inwards = if fits { 6.0 } else { -6.0 };
        shapes.push(Shape::Arrow { x, y: top + 4.0, width: inwards, colour: BLACK });
        shapes.push(Shape::text(x_of_name, bottom - BAR / 2.0 - 2.0, anchor, name));
    }
    shapes
}

/// Times from event to event as lines with arrows, below the axis.
fn intervals(diagram: &TimeDiagram, across: &Across, top: f64) -> Vec<Shape> {
    let mut shapes = Vec::new();
    for (place, Span { name, begin, end, .. }) in diagram.intervals.iter().enumerate() {
        let y = top + INTERVAL * place as f64;
        let (from, to) = (across.x(*begin), across.x(*end));
        let text = format!("{name}: {}", time(end - begin));
        shapes.push(Shape::line((from, y), (to, y), BLACK));
        for (x, width) in [(from, -6.0), (to, 6.0)] {
            shapes.push(Shape::line((x, y - 5.0), (x, y + 5.0), BLACK));
            shapes.push(Shape::Arrow { x: x - width, y, width, colour: BLACK });
        }
        let within = to - from > width(&text);
        let (x, y) = if within { ((from + to) / 2.0, y - TEXT * 0.8) } else { (to + 8.0, y) };
        let anchor = if within { Anchor::Middle } else { Anchor::Start };
        shapes.push(Shape::text(x, y, anchor, text));
    }
    shapes
}

/// Letters, colours and names of the kinds.
fn key(kinds: &[String], x: f64) -> Vec<Shape> {
    let mut shapes = Vec::new();
    for (kind, name) in kinds.iter().enumerate() {
        let y = TOP + (BAR + 6.0) * kind as f64;
        let (fill, opacity) = (FILLS[kind % FILLS.len()], 1.0);
        shapes.push(Shape::Rectangle { x, y, width: BAR, height: BAR, fill, opacity });
        let middle = y + BAR / 2.0;
        shapes.push(Shape::text(x + BAR / 2.0, middle, Anchor::Middle, letter(kind)));
        shapes.push(Shape::text(x + BAR + 6.0, middle, Anchor::Start, name));
    }
    shapes
}

fn time(millis: f64) -> String {
    format!("{millis:.2} ms")
}

/// Lines of its CSV: a heading, then work, events and intervals.
pub(super) fn table(diagram: &TimeDiagram) -> Vec<Vec<String>> {
    let heading = ["kind", "lane", "name", "begin (ms)", "end (ms)"].map(str::to_owned);
    let lane = |span: &Span| diagram.lanes.get(span.lane).cloned().unwrap_or_default();
    let line = |kind: &str, lane: String, span: &Span| {
        let Span { name, begin, end, .. } = span;
        vec![kind.to_owned(), lane, name.clone(), begin.to_string(), end.to_string()]
    };
    let spans = diagram.spans.iter().map(|span| line("task", lane(span), span));
    let moments = diagram.moments.iter().map(|span| line("event", lane(span), span));
    let intervals = diagram.intervals.iter().map(|span| line("interval", String::new(), span));
    core::iter::once(heading.to_vec()).chain(spans).chain(moments).chain(intervals).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(lane: usize, name: &str, begin: f64, end: f64) -> Span {
        Span { lane, name: name.to_owned(), begin, end }
    }

    fn example() -> TimeDiagram {
        TimeDiagram {
            title: "A message".to_owned(),
            caption: "Seed 1.".to_owned(),
            reference: "Figure 3".to_owned(),
            lanes: ["sender", "ring"].map(str::to_owned).to_vec(),
            spans: vec![
                span(0, "frame", 0.0, 1.5),
                span(1, "on the ring", 1.5, 1.6),
                span(0, "frame", 2.0, 3.5),
            ],
            moments: vec![span(0, "request", 0.0, 0.0), span(0, "confirm", 3.5, 3.5)],
            intervals: vec![span(0, "request to confirm", 0.0, 3.5)],
        }
    }

    #[test]
    fn bars_are_as_long_as_their_times_and_one_kind_has_one_letter() {
        let sheet = sheet(&example());
        let bars: Vec<(f64, f64, &str)> = sheet
            .shapes
            .iter()
            .filter_map(|shape| match shape {
                Shape::Rectangle { x, width, fill, .. } => Some((*x, *width, *fill)),
                _ => None,
            })
            .collect();
        // Three bars, then two entries of the key.
        let [one, ring, other, _, _] = bars.as_slice() else { panic!("{bars:?}") };
        assert!((one.1 - other.1).abs() < 1e-9 && (one.1 / ring.1 - 15.0).abs() < 1e-9);
        assert!(one.2 == other.2 && one.2 != ring.2);
        assert!((ring.0 - (one.0 + one.1)).abs() < 1e-9, "one begins where the other ends");
        let letters = sheet
            .shapes
            .iter()
            .filter(|shape| matches!(shape, Shape::Text { content, .. } if content == "a"));
        assert_eq!(letters.count(), 3);
    }

    #[test]
    fn text_stays_within_the_sheet() {
        for shape in sheet(&example()).shapes {
            let Shape::Text { x, content, anchor, .. } = shape else { continue };
            let (before, behind) = match anchor {
                Anchor::Start => (0.0, width(&content)),
                Anchor::Middle => (width(&content) / 2.0, width(&content) / 2.0),
                Anchor::End => (width(&content), 0.0),
                Anchor::Upwards => (TEXT, TEXT),
            };
            assert!(x - before >= 0.0 && x + behind <= WIDTH, "{content} at {x}");
        }
    }

    #[test]
    fn the_table_has_tasks_events_and_intervals() {
        let lines: Vec<String> = table(&example()).iter().map(|line| line.join(";")).collect();
        assert_eq!(lines[2], "task;ring;on the ring;1.5;1.6");
        assert_eq!(lines[5], "event;sender;confirm;3.5;3.5");
        assert_eq!(lines[6], "interval;;request to confirm;0;3.5");
    }
}

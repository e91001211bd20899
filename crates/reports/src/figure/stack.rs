//! Stacked bars: parts of a sum, such as the time that each layer of a station adds at each size of a message.

use super::scene::{COLOURS, step};
use super::sheet::{Anchor, Shape, Sheet, TEXT, WIDTH, width};
use super::ticks;

/// A figure of stacked bars.
#[derive(Clone, PartialEq, Debug)]
pub struct Stack {
    /// Title in one line.
    pub title: String,
    /// Caption.
    pub caption: String,
    /// Published figure to compare it with.
    pub reference: Option<String>,
    /// Name of the axis below the bars, with its unit.
    pub across: String,
    /// Name of the axis upwards.
    pub upwards: String,
    /// Unit of the axis upwards and of all parts.
    pub unit: String,
    /// Layers from below, with their notes in the legend.
    pub layers: Vec<Layer>,
    /// Bars from the left.
    pub bars: Vec<Bar>,
}

/// A layer of a stack.
#[derive(Clone, PartialEq, Debug)]
pub struct Layer {
    /// Name.
    pub name: String,
    /// Lines below its name in the legend, such as a fit.
    pub notes: Vec<String>,
    /// Lines of the table that belong to the layer and to no bar: a name and an estimate.
    pub estimates: Vec<(String, Part)>,
}

/// A bar.
#[derive(Clone, PartialEq, Debug)]
pub struct Bar {
    /// Name below it.
    pub name: String,
    /// Second line of its name; empty if there is none.
    pub of: String,
    /// Layers by their place in [`Stack::layers`], from below, each with its part.
    pub parts: Vec<(usize, Part)>,
}

/// A part of a bar.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Part {
    /// Value.
    pub value: f64,
    /// Half-width of its interval, if it has one.
    pub half_width: Option<f64>,
}

const TOP: f64 = 48.0;
const BOTTOM: f64 = 440.0;
const HEIGHT: f64 = 500.0;
const LINE: f64 = 17.0;
const TICK: f64 = 5.0;
const GREY: &str = "#cccccc";
const BLACK: &str = "#000000";
/// Opacity of a part, on which black can be read.
const SHADE: f64 = 0.45;
/// Share of the way from bar to bar that is filled.
const FILLED: f64 = 0.72;

/// The figure with everything at its place.
pub(super) fn sheet(stack: &Stack) -> Sheet {
    let texts = stack.layers.iter().flat_map(|it| it.notes.iter().chain([&it.name]));
    let legend = texts.map(|text| width(text)).fold(0.0, f64::max) + 2.5 * TEXT;
    let tops = stack.bars.iter().flat_map(|bar| spans(bar).map(|(_, _, high)| high));
    let most = tops.fold(0.0, f64::max);
    let each = step(most);
    let high = (most / each).ceil().max(1.0) * each;
    let labels: Vec<f64> =
        (0..=(high / each).round() as u32).map(|n| f64::from(n) * each).collect();
    let widest = labels.iter().map(|it| width(&ticks::label(*it))).fold(0.0, f64::max);
    let area = Area { left: 2.5 * TEXT + widest + TICK, right: WIDTH - legend - TEXT, high };
    let mut shapes = Vec::new();
    for label in labels {
        let y = area.upwards(label);
        shapes.push(Shape::line((area.left - TICK, y), (area.right, y), GREY));
        shapes.push(Shape::text(area.left - TICK - 3.0, y, Anchor::End, ticks::label(label)));
    }
    let pitch = (area.right - area.left) / stack.bars.len().max(1) as f64;
    for (place, bar) in stack.bars.iter().enumerate() {
        let middle = area.left + pitch * (place as f64 + 0.5);
        shapes.extend(area.bar(bar, middle, pitch * FILLED));
    }
    for (from, to) in
        [((area.left, TOP), (area.left, BOTTOM)), ((area.left, BOTTOM), (area.right, BOTTOM))]
    {
        shapes.push(Shape::line(from, to, BLACK));
    }
    let centre = f64::midpoint(area.left, area.right);
    shapes.push(Shape::text(centre, HEIGHT - TEXT, Anchor::Middle, &stack.across));
    let upwards = format!("{} ({})", stack.upwards, stack.unit);
    shapes.push(Shape::text(1.2 * TEXT, f64::midpoint(TOP, BOTTOM), Anchor::Upwards, upwards));
    let below = area.legend(&stack.layers, &mut shapes);
    let reference = stack.reference.iter().map(|reference| format!(" Compare: {reference}."));
    Sheet {
        title: stack.title.clone(),
        caption: stack.caption.clone() + &reference.collect::<String>(),
        height: below.max(HEIGHT),
        shapes,
    }
}

/// The part of the sheet within its axes.
struct Area {
    left: f64,
    right: f64,
    high: f64,
}

impl Area {
    fn upwards(&self, value: f64) -> f64 {
        BOTTOM - value / self.high * (BOTTOM - TOP)
    }

    /// Shapes of a bar, with the value of each part that has room for it.
    fn bar(&self, bar: &Bar, middle: f64, filled: f64) -> Vec<Shape> {
        let mut shapes = Vec::new();
        let x = middle - filled / 2.0;
        for (layer, low, high) in spans(bar) {
            let (y, height) = (self.upwards(high), self.upwards(low) - self.upwards(high));
            let fill = COLOURS[layer % COLOURS.len()];
            shapes.push(Shape::Rectangle { x, y, width: filled, height, fill, opacity: SHADE });
            shapes.push(Shape::line((x, y), (x + filled, y), BLACK));
            let text = ticks::label(rounded(high - low));
            if height > 1.2 * TEXT && width(&text) < filled {
                shapes.push(Shape::text(middle, y + height / 2.0, Anchor::Middle, text));
            }
        }
        for (line, text) in [&bar.name, &bar.of].into_iter().enumerate() {
            let y = BOTTOM + TEXT + LINE * line as f64;
            shapes.push(Shape::text(middle, y, Anchor::Middle, text));
        }
        shapes
    }

    /// Adds the legend, the uppermost layer first, and returns its lower end.
    fn legend(&self, layers: &[Layer], shapes: &mut Vec<Shape>) -> f64 {
        let (x, mut y) = (self.right + TEXT, TOP + TEXT);
        for (place, layer) in layers.iter().enumerate().rev() {
            let fill = COLOURS[place % COLOURS.len()];
            let (side, corner) = (TEXT, y - TEXT / 2.0);
            shapes.push(Shape::Rectangle {
                x,
                y: corner,
                width: side,
                height: side,
                fill,
                opacity: SHADE,
            });
            for text in [&layer.name].into_iter().chain(&layer.notes) {
                shapes.push(Shape::text(x + 1.5 * TEXT, y, Anchor::Start, text));
                y += LINE;
            }
            y += LINE / 2.0;
        }
        y
    }
}

/// Layers of a bar with the ends of their parts, from below. A part below zero is not drawn: the next one begins at the
/// lower sum.
fn spans(bar: &Bar) -> impl Iterator<Item = (usize, f64, f64)> {
    let sums = bar.parts.iter().scan(0.0, |sum, (layer, part)| {
        let low = *sum;
        *sum += part.value;
        Some((*layer, low, *sum))
    });
    sums.filter(|(_, low, high)| high > low)
}

/// The value to three digits.
fn rounded(value: f64) -> f64 {
    let digits = 10_f64.powf(2.0 - value.abs().max(f64::MIN_POSITIVE).log10().floor());
    (value * digits).round() / digits
}

/// Lines of its CSV: a heading, each part of each bar, and the estimates of each layer.
pub(super) fn table(stack: &Stack) -> Vec<Vec<String>> {
    let upwards = format!("{} ({})", stack.upwards, stack.unit);
    let heading = ["layer", &stack.across, "bar of", &upwards, "low", "high"];
    let mut lines = vec![heading.map(str::to_owned).to_vec()];
    let line = |names: [&str; 3], part: &Part| {
        let ends = part.half_width.map(|half| [part.value - half, part.value + half]);
        let ends = ends.map_or_else(Default::default, |ends| ends.map(|end| end.to_string()));
        let names = names.map(str::to_owned).into_iter();
        names.chain([part.value.to_string()]).chain(ends).collect::<Vec<String>>()
    };
    for bar in &stack.bars {
        for (layer, part) in &bar.parts {
            let name = stack.layers.get(*layer).map_or("", |layer| &layer.name);
            lines.push(line([name, &bar.name, &bar.of], part));
        }
    }
    for layer in &stack.layers {
        for (name, part) in &layer.estimates {
            lines.push(line([&layer.name, name, ""], part));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Stack {
        let part = |value| Part { value, half_width: Some(0.5) };
        let layer = |name: &str| Layer {
            name: name.to_owned(),
            notes: vec!["1 us + 2 ns/octet".to_owned()],
            estimates: vec![("at 0 octets".to_owned(), Part { value: 1.0, half_width: None })],
        };
        let bar = |name: &str, parts: [f64; 2]| Bar {
            name: name.to_owned(),
            of: String::new(),
            parts: parts.into_iter().map(part).enumerate().collect(),
        };
        Stack {
            title: "Cost of layers".to_owned(),
            caption: "Of two.".to_owned(),
            reference: None,
            across: "size (octets)".to_owned(),
            upwards: "time".to_owned(),
            unit: "us".to_owned(),
            layers: vec![layer("MAC"), layer("LLC")],
            bars: vec![bar("64", [4.0, 6.0]), bar("512", [10.0, -2.0])],
        }
    }

    /// Top and height of each part that is drawn; the last two rectangles are the legend's.
    fn parts(sheet: &Sheet) -> Vec<(f64, f64)> {
        let all = sheet.shapes.iter().filter_map(|shape| match shape {
            Shape::Rectangle { y, height, .. } => Some((*y, *height)),
            _ => None,
        });
        let all: Vec<(f64, f64)> = all.collect();
        all[..all.len() - 2].to_vec()
    }

    #[test]
    fn parts_stand_upon_each_other_and_one_below_zero_is_not_drawn() {
        // The axis ends at 10, so that 1 us has a tenth of its height.
        let tenth = (BOTTOM - TOP) / 10.0;
        let expected =
            [(BOTTOM - 4.0 * tenth, 4.0 * tenth), (TOP, 6.0 * tenth), (TOP, 10.0 * tenth)];
        let found = parts(&sheet(&example()));
        assert_eq!(found.len(), 3);
        for ((y, height), (top, length)) in found.iter().zip(expected) {
            assert!((y - top).abs() < 1e-9 && (height - length).abs() < 1e-9, "{found:?}");
        }
    }

    #[test]
    fn the_table_has_each_part_and_the_estimates_of_each_layer() {
        let lines: Vec<String> = table(&example()).iter().map(|line| line.join("|")).collect();
        assert_eq!(
            lines,
            [
                "layer|size (octets)|bar of|time (us)|low|high",
                "MAC|64||4|3.5|4.5",
                "LLC|64||6|5.5|6.5",
                "MAC|512||10|9.5|10.5",
                "LLC|512||-2|-2.5|-1.5",
                "MAC|at 0 octets||1||",
                "LLC|at 0 octets||1||",
            ]
        );
    }
}

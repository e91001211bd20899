//! Scenes and sheets as SVG documents.

use super::canvas::{CHARACTER, Canvas, Font, Stroke, Texts};
use super::scene::{Layer, Looks, Marker, Range, Scene};
use super::sheet::{self, Anchor, Shape, Sheet};
use super::ticks;
use super::{Mark, Place, Scale};

const WIDTH: f64 = sheet::WIDTH;
const TITLE_SIZE: f64 = 16.0;
const LEAST_TITLE_SIZE: f64 = 9.0;
const LABEL_SIZE: f64 = 14.0;
const TEXT_SIZE: f64 = sheet::TEXT;
/// Places of the axes: below the title, and above the ticks and the name of the axis across.
const TOP: f64 = 44.0;
const BOTTOM: f64 = 469.0;
const HEIGHT: f64 = 520.0;
const MARGIN: f64 = 20.0;
const TICK: f64 = 5.0;
const GRID: Stroke<'static> = Stroke::solid("#cccccc", 1.0);
const AXIS: Stroke<'static> = Stroke::solid("#000000", 1.0);
/// Half of the size of a marker, and of a cross over others.
const MARKER: f64 = 4.0;
const CROSS: f64 = 8.0;
/// Width of the sample in the legend, and of the gap behind it.
const SAMPLE: f64 = 20.0;
const GAP: f64 = 10.0;
const LINE: f64 = 17.0;
/// Opacity of a band, through which others are seen.
const BAND: f64 = 0.2;
/// Most characters of a line of the legend.
const LEGEND_CHARACTERS: usize = 34;
/// Characters of a line of the caption.
const CAPTION_CHARACTERS: usize = 120;

/// The scene as an SVG document.
pub(super) fn draw(scene: &Scene, place: Place<'_>) -> String {
    let mut canvas = Canvas::new(WIDTH, HEIGHT);
    let entries: Vec<Vec<String>> =
        scene.layers.iter().map(|layer| lines(&layer.name, LEGEND_CHARACTERS)).collect();
    let longest = entries.iter().flatten().map(|line| line.chars().count()).max();
    let legend = text_width(longest.unwrap_or_default()) + SAMPLE + GAP;
    let labels = ticks_of(&scene.y).iter().map(|tick| ticks::label(*tick).chars().count()).max();
    let left = MARGIN + LABEL_SIZE / 2.0 + text_width(labels.unwrap_or_default()) + 2.0 * TICK;
    let area = Area { left, right: WIDTH - MARGIN - legend - GAP, x: &scene.x, y: &scene.y };
    title(&scene.title, (area.left + area.right) / 2.0, &mut canvas);
    area.draw(&mut canvas);
    for layer in &scene.layers {
        area.layer(layer, &mut canvas);
    }
    let mut y = TOP + TEXT_SIZE / 2.0;
    for (layer, entry) in scene.layers.iter().zip(&entries) {
        sample(layer, (area.right + GAP + SAMPLE / 2.0, y), &mut canvas);
        for line in entry {
            let at = (area.right + SAMPLE + 2.0 * GAP, y + TEXT_SIZE / 3.0);
            canvas.text(at, line, Font::black(TEXT_SIZE, Anchor::Start));
            y += LINE;
        }
    }
    finish(canvas, &scene.title, &scene.caption, place)
}

/// The sheet as an SVG document.
pub(super) fn draw_sheet(sheet: &Sheet, place: Place<'_>) -> String {
    let mut canvas = Canvas::new(WIDTH, sheet.height);
    title(&sheet.title, WIDTH / 2.0, &mut canvas);
    for shape in &sheet.shapes {
        draw_shape(shape, &mut canvas);
    }
    finish(canvas, &sheet.title, &sheet.caption, place)
}

fn draw_shape(shape: &Shape, canvas: &mut Canvas) {
    match shape {
        Shape::Rectangle { x, y, width, height, fill, opacity } => {
            canvas.rectangle((*x, *y), (*width, *height), fill, *opacity);
        }
        Shape::Line { from, to, colour } => canvas.line(*from, *to, Stroke::solid(colour, 1.0)),
        Shape::Text { x, y, content, anchor, colour } => {
            // The base line lies a third of the size below the middle.
            let font = Font { size: sheet::TEXT, anchor: *anchor, colour };
            canvas.text((*x, y + sheet::TEXT / 3.0), content, font);
        }
        Shape::Arrow { x, y, width, colour } => {
            canvas.polygon(&[(*x, y - MARKER), (x + width, *y), (*x, y + MARKER)], colour);
        }
    }
}

/// The part of a figure within its axes.
struct Area<'a> {
    left: f64,
    right: f64,
    x: &'a Range,
    y: &'a Range,
}

impl Area<'_> {
    fn across(&self, x: f64) -> f64 {
        self.left + part(self.x, x) * (self.right - self.left)
    }

    fn upwards(&self, y: f64) -> f64 {
        BOTTOM - part(self.y, y) * (BOTTOM - TOP)
    }

    /// The grid, the axes, their ticks and their names.
    fn draw(&self, canvas: &mut Canvas) {
        for tick in ticks_of(self.x) {
            let x = self.across(tick);
            canvas.line((x, TOP), (x, BOTTOM), GRID);
            canvas.line((x, BOTTOM), (x, BOTTOM + TICK), AXIS);
            let font = Font::black(TEXT_SIZE, Anchor::Middle);
            canvas.text((x, BOTTOM + TICK + TEXT_SIZE), &ticks::label(tick), font);
        }
        for tick in ticks_of(self.y) {
            let y = self.upwards(tick);
            canvas.line((self.left, y), (self.right, y), GRID);
            canvas.line((self.left - TICK, y), (self.left, y), AXIS);
            let place = (self.left - TICK - 3.0, y + TEXT_SIZE / 3.0);
            canvas.text(place, &ticks::label(tick), Font::black(TEXT_SIZE, Anchor::End));
        }
        canvas.line((self.left, TOP), (self.left, BOTTOM), AXIS);
        canvas.line((self.left, BOTTOM), (self.right, BOTTOM), AXIS);
        let below = ((self.left + self.right) / 2.0, HEIGHT - TICK - 3.0);
        canvas.text(below, &self.x.label, Font::black(LABEL_SIZE, Anchor::Middle));
        let beginning = (MARGIN - TICK, f64::midpoint(TOP, BOTTOM));
        canvas.text(beginning, &self.y.label, Font::black(LABEL_SIZE, Anchor::Upwards));
    }

    fn layer(&self, layer: &Layer, canvas: &mut Canvas) {
        let Looks { colour, marker, .. } = layer.looks;
        let place = |x: f64, y: f64| (self.across(x), self.upwards(y));
        if layer.mark == Mark::LineInBand {
            canvas.band(&self.band(layer), colour, BAND);
        }
        if let Some(stroke) = stroke(layer) {
            let through = if layer.line.is_empty() { &layer.points } else { &layer.line };
            let points: Vec<(f64, f64)> = through.iter().map(|it| place(it.x, it.y)).collect();
            canvas.polyline(&points, stroke);
        }
        let (size, marker) = match layer.mark {
            Mark::Points | Mark::PointsOnLine => (MARKER, marker),
            Mark::Crosses => (CROSS, Marker::Cross),
            Mark::Line | Mark::LineInBand | Mark::ThinLine | Mark::Across | Mark::Bars => return,
        };
        for point in &layer.points {
            if let Some((low, high)) = point.interval {
                // An interval that goes on below the axes ends at their bottom.
                let ends = [low.min(point.y).max(self.y.low), high.max(point.y)];
                self.interval(point.x, ends, colour, canvas);
            }
            draw_marker(marker, place(point.x, point.y), size, colour, canvas);
        }
    }

    /// Outline of the intervals of a layer: along their upper ends, and back along their lower ends.
    fn band(&self, layer: &Layer) -> Vec<(f64, f64)> {
        let all = || layer.points.iter().filter_map(|it| Some((it.x, it.interval?)));
        // An interval that goes on below the axes ends at their bottom.
        let at = |x: f64, y: f64| (self.across(x), self.upwards(y.max(self.y.low)));
        let upper = all().map(|(x, (_, high))| at(x, high));
        upper.chain(all().rev().map(|(x, (low, _))| at(x, low))).collect()
    }

    fn interval(&self, x: f64, [low, high]: [f64; 2], colour: &str, canvas: &mut Canvas) {
        let (x, low, high) = (self.across(x), self.upwards(low), self.upwards(high));
        let stroke = Stroke::solid(colour, 1.0);
        canvas.line((x, low), (x, high), stroke);
        for end in [low, high] {
            canvas.line((x - TICK, end), (x + TICK, end), stroke);
        }
    }
}

/// The place of a value between the ends of its axis, from 0 to 1.
fn part(range: &Range, value: f64) -> f64 {
    match range.scale {
        Scale::Linear => (value - range.low) / (range.high - range.low),
        Scale::Logarithmic => {
            (value.max(range.low) / range.low).log10() / (range.high / range.low).log10()
        }
    }
}

/// The values with a tick.
fn ticks_of(range: &Range) -> Vec<f64> {
    let (low, high, step) = (range.low, range.high, range.step);
    match range.scale {
        Scale::Linear => {
            let first = (low / step - 1e-9).ceil() as i64;
            let last = (high / step + 1e-9).floor() as i64;
            (first..=last).map(|tick| tick as f64 * step).collect()
        }
        Scale::Logarithmic => {
            let (first, last) = (low.log10().round() as i32, high.log10().round() as i32);
            (first..=last).map(|power| 10_f64.powi(power)).collect()
        }
    }
}

/// The line of a layer, if it has one.
const fn stroke(layer: &Layer) -> Option<Stroke<'static>> {
    let Looks { colour, dash, .. } = layer.looks;
    let width = match layer.mark {
        Mark::Points | Mark::Crosses => return None,
        Mark::ThinLine => 0.7,
        Mark::Line | Mark::LineInBand | Mark::PointsOnLine | Mark::Across | Mark::Bars => 1.6,
    };
    Some(Stroke { colour, width, dash })
}

fn draw_marker(marker: Marker, place: (f64, f64), size: f64, colour: &str, canvas: &mut Canvas) {
    let at = |across: f64, down: f64| (place.0 + across * size, place.1 + down * size);
    let stroke = Stroke::solid(colour, 1.6);
    match marker {
        Marker::Circle => canvas.circle(place, size, colour),
        Marker::Triangle => {
            canvas.polygon(&[at(0.0, -1.1), at(1.0, 0.8), at(-1.0, 0.8)], colour);
        }
        Marker::Square => canvas.rectangle(at(-0.9, -0.9), (1.8 * size, 1.8 * size), colour, 1.0),
        Marker::Diamond => {
            canvas.polygon(&[at(0.0, -1.2), at(1.2, 0.0), at(0.0, 1.2), at(-1.2, 0.0)], colour);
        }
        Marker::Plus => {
            canvas.line(at(-1.0, 0.0), at(1.0, 0.0), stroke);
            canvas.line(at(0.0, -1.0), at(0.0, 1.0), stroke);
        }
        Marker::Cross => {
            canvas.line(at(-0.9, -0.9), at(0.9, 0.9), stroke);
            canvas.line(at(-0.9, 0.9), at(0.9, -0.9), stroke);
        }
    }
}

/// The looks of a layer in the legend.
fn sample(layer: &Layer, (x, y): (f64, f64), canvas: &mut Canvas) {
    let Looks { colour, marker, .. } = layer.looks;
    if let Some(stroke) = stroke(layer) {
        canvas.line((x - SAMPLE / 2.0, y), (x + SAMPLE / 2.0, y), stroke);
    }
    match layer.mark {
        Mark::Points | Mark::PointsOnLine => draw_marker(marker, (x, y), MARKER, colour, canvas),
        Mark::Crosses => draw_marker(Marker::Cross, (x, y), MARKER, colour, canvas),
        Mark::LineInBand => {
            let (left, right, up, down) = (x - SAMPLE / 2.0, x + SAMPLE / 2.0, y - 4.0, y + 4.0);
            canvas.band(&[(left, up), (right, up), (right, down), (left, down)], colour, BAND);
        }
        Mark::Line | Mark::ThinLine | Mark::Across | Mark::Bars => {}
    }
}

/// Writes a title, smaller if it is long, so that it fits.
fn title(title: &str, middle: f64, canvas: &mut Canvas) {
    let fits = (WIDTH / (CHARACTER * title.chars().count().max(1) as f64)).floor();
    let size = fits.clamp(LEAST_TITLE_SIZE, TITLE_SIZE);
    let half = size * CHARACTER * title.chars().count() as f64 / 2.0;
    // A title that is longer than the axes are wide stays on the sheet.
    let x = if half < WIDTH / 2.0 { middle.clamp(half, WIDTH - half) } else { WIDTH / 2.0 };
    canvas.text((x, TITLE_SIZE * 1.7), title, Font::black(size, Anchor::Middle));
}

/// Writes the caption below what is drawn, except on a page, which has it, and names the document.
fn finish(mut canvas: Canvas, title: &str, caption: &str, place: Place<'_>) -> String {
    let id = match place {
        Place::Page(id) => {
            canvas.compact();
            id
        }
        Place::File(_) => {
            canvas.grow(LINE / 2.0);
            for line in lines(caption, CAPTION_CHARACTERS) {
                canvas.grow(LINE);
                let place = (MARGIN, canvas.height() - LINE / 2.0);
                canvas.text(place, &line, Font::black(TEXT_SIZE, Anchor::Start));
            }
            "figure"
        }
    };
    canvas.grow(LINE / 2.0);
    let source = if let Place::File(source) = place { source } else { "" };
    canvas.finish(&Texts { title, description: caption, source }, id)
}

fn text_width(characters: usize) -> f64 {
    characters as f64 * TEXT_SIZE * CHARACTER
}

/// The text in lines of at most this many characters, longer words apart.
fn lines(text: &str, characters: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < characters => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::tests::example;
    use crate::figure::{Figure, Point, Series};

    #[test]
    fn the_document_is_named_and_described_and_says_every_series() {
        let svg = draw(&Scene::of(&example()), Place::File("tidewire"));
        let head: String = svg.lines().take(3).collect();
        assert!(head.contains("role=\"img\""), "{head}");
        assert!(head.contains(">MAC transmit &lt;of&gt; this &amp; that</title>"), "{head}");
        assert!(head.contains("Compare: TR-88-08, Figure 6.</desc>"), "{head}");
        for text in ["PHY<", "fit, $1 + x/500<", "size (octets)<", "time (ms)<"] {
            assert!(svg.contains(text), "{text} is missing");
        }
    }

    #[test]
    fn ticks_of_a_logarithmic_axis_are_plain_decimals() {
        let mut figure = example();
        figure.series[1].points[1].y = 9_000.0;
        let svg = draw(&Scene::of(&figure), Place::File("tidewire"));
        for label in ["0.1", "1", "10", "100", "1,000", "10,000"] {
            assert!(svg.contains(&format!(">{label}</text>")), "{label} is no tick");
        }
        assert!(!svg.contains(">1e-1<"));
    }

    #[test]
    fn a_long_title_is_written_smaller() {
        let size = |title: String| {
            let svg = draw(
                &Scene::of(&Figure { title: title.clone(), ..example() }),
                Place::File("tidewire"),
            );
            let before = svg.find(&format!(">{title}</text>")).expect("the title is drawn");
            let tag = &svg[svg[..before].rfind("<text").unwrap()..before];
            let digits = tag.split("font-size=\"").nth(1).unwrap();
            digits.split('"').next().unwrap().parse::<u32>().unwrap()
        };
        // 860 / (0.56 x 100) = 15.4, and with 120 characters 12.8.
        assert_eq!([20, 100, 120].map(|count| size("m".repeat(count))), [16, 15, 12]);
    }

    /// The number in each attribute of this name.
    fn numbers(svg: &str, element: &str, name: &str) -> Vec<f64> {
        let begin = format!("<{element} ");
        let tags = svg.split(&begin).skip(1);
        let value = |tag: &str| {
            let value = tag.split(&format!("{name}=\"")).nth(1).unwrap();
            value.split('"').next().unwrap().parse().unwrap()
        };
        tags.map(value).collect()
    }

    #[test]
    fn points_stand_where_the_axes_say() {
        let points = vec![Point::exact(0.0, 0.0), Point::exact(5.0, 10.0), Point::exact(10.0, 5.0)];
        let series = Series { points, ..example().series[1].clone() };
        let svg = draw(
            &Scene::of(&Figure { series: vec![series], ..example() }),
            Place::File("tidewire"),
        );
        let (x, y) = (numbers(&svg, "circle", "cx"), numbers(&svg, "circle", "cy"));
        // Three points, and the sample in the legend. The ticks across are from 0 to 10 by 2.
        assert_eq!(x.len(), 4);
        let ticks: Vec<f64> = svg
            .lines()
            .filter(|line| line.contains("text-anchor=\"middle\"") && line.contains("y=\"486\""))
            .flat_map(|line| numbers(line, "text", "x"))
            .collect();
        assert_eq!(ticks.len(), 6);
        for (point, at) in [(0, ticks[0]), (1, f64::midpoint(ticks[2], ticks[3])), (2, ticks[5])] {
            assert!((x[point] - at).abs() < 0.011, "{x:?} {ticks:?}");
        }
        assert_eq!(y[..3], [BOTTOM, TOP, f64::midpoint(TOP, BOTTOM)]);
        assert!(x.iter().all(|x| (MARKER..WIDTH - MARKER).contains(x)), "drawn whole: {x:?}");
    }

    #[test]
    fn a_decade_has_the_same_height_everywhere() {
        let points = [1.0, 10.0, 100.0].map(|y| Point::exact(y, y)).to_vec();
        let series = Series { points, ..example().series[1].clone() };
        let series =
            vec![series.clone(), Series { points: vec![Point::exact(1.0, 1.0)], ..series }];
        let svg = draw(&Scene::of(&Figure { series, ..example() }), Place::File("tidewire"));
        let y = numbers(&svg, "circle", "cy");
        assert!(((y[0] - y[1]) - (y[1] - y[2])).abs() < 0.011 && y[0] > y[1], "{y:?}");
    }

    #[test]
    fn an_interval_ends_within_the_axes() {
        let point = Point { interval: Some((-5.0, 3.0)), ..Point::exact(1.0, 2.0) };
        let series = Series { points: vec![point], ..example().series[1].clone() };
        let svg = draw(
            &Scene::of(&Figure { series: vec![series], ..example() }),
            Place::File("tidewire"),
        );
        assert!(numbers(&svg, "line", "y1").iter().all(|y| *y <= BOTTOM), "{svg}");
    }

    #[test]
    fn a_long_name_takes_several_lines_of_the_legend() {
        let name = "a name of a series that is much longer than a legend is wide".to_owned();
        let series = Series { name: name.clone(), ..example().series[0].clone() };
        let svg = draw(
            &Scene::of(&Figure { series: vec![series], ..example() }),
            Place::File("tidewire"),
        );
        assert!(!svg.contains(&format!(">{name}<")));
        for line in [">a name of a series that is much<", ">longer than a legend is wide<"] {
            assert!(svg.contains(line), "{line} in {svg}");
        }
    }

    #[test]
    fn two_series_of_one_kin_are_drawn_in_one_colour() {
        let svg = draw(&Scene::of(&example()), Place::File("tidewire"));
        // The fit, two points with three lines of their intervals each, and two entries of the legend.
        assert_eq!(svg.matches("#0072B2").count(), 11);
        assert!(svg.matches("#D55E00").count() > 3);
        assert!(svg.contains("stroke-dasharray=\"9 3\""));
    }
}

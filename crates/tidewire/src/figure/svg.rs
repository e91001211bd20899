//! Scene as SVG, drawn by `kuva`. No other module uses that library.

use super::scene::Scene;
use super::sheet::Sheet;

/// True if this build can draw.
pub(super) const IS_BUILT_IN: bool = cfg!(feature = "figures");

/// The scene as an SVG document.
#[cfg(not(feature = "figures"))]
pub(super) fn draw(_scene: &Scene) -> String {
    String::new()
}

/// The sheet as an SVG document.
#[cfg(not(feature = "figures"))]
pub(super) fn draw_sheet(_sheet: &Sheet) -> String {
    String::new()
}

#[cfg(feature = "figures")]
pub(super) use drawing::{draw, draw_sheet};

#[cfg(feature = "figures")]
mod drawing {
    use super::super::Mark;
    use super::super::scene::{Layer, Looks, Marker, Range, Scale};
    use super::super::sheet::{self, Anchor, Shape};
    use super::super::ticks;
    use super::{Scene, Sheet};
    use kuva::backend::svg::SvgBackend;
    use kuva::plot::legend::{LegendEntry, LegendPosition, LegendShape};
    use kuva::plot::scatter::MarkerShape;
    use kuva::plot::{LinePlot, LineStyle, ScatterPlot};
    use kuva::render::layout::{Layout, TickFormat};
    use kuva::render::plots::Plot;
    use kuva::render::render::{PathData, Primitive, Scene as Canvas, TextAnchor, render_multiple};
    use std::sync::Arc;

    const WIDTH: f64 = sheet::WIDTH;
    const HEIGHT: f64 = 520.0;
    const FONT: &str = "DejaVu Sans, Verdana, sans-serif";
    const TITLE_SIZE: u32 = 16;
    const LEAST_TITLE_SIZE: u32 = 9;
    /// Size of a cross and width of a thin line.
    const CROSS_SIZE: f64 = 8.0;
    const THIN: f64 = 0.7;
    /// Extent of a point and its interval around their place.
    const ROOM: f64 = 8.0;
    const CAPTION_SIZE: u32 = 12;
    const CAPTION_LINE: f64 = 17.0;
    const MARGIN: f64 = 20.0;
    /// Width of a digit of a tick, and of what else stands left of an axis: its name and gaps.
    const TICK_CHARACTER: f64 = 7.7;
    const TICK_ROOM: f64 = 38.0;
    /// Prefix of the library's names of clip paths.
    const CLIP: &str = "kuva-clip-";
    /// Characters of a line of the caption, at about 0.56 of its size each.
    const CAPTION_CHARACTERS: usize = 120;

    /// The scene as an SVG document.
    pub(in super::super) fn draw(scene: &Scene) -> String {
        let plots: Vec<Plot> =
            scene.layers.iter().flat_map(|layer| plots(layer, &scene.y)).collect();
        let Range { low, high, step, label, .. } = &scene.x;
        let layout = Layout::auto_from_plots(&plots)
            .with_width(WIDTH)
            .with_height(HEIGHT)
            .with_font_family(FONT)
            .with_title(literal(&scene.title))
            .with_title_size(title_size(&scene.title))
            .with_x_label(literal(label))
            .with_x_axis_min(*low)
            .with_x_axis_max(*high)
            .with_x_tick_step(*step)
            .with_y_label(literal(&scene.y.label))
            .with_y_axis_min(scene.y.low)
            .with_y_axis_max(scene.y.high)
            .with_tick_format(TickFormat::Custom(Arc::new(ticks::label)))
            .with_legend_entries(scene.layers.iter().map(entry).collect())
            .with_legend_position(LegendPosition::OutsideRightTop)
            .with_legend_box(false);
        let layout = match scene.y.scale {
            Scale::Linear => layout.with_y_tick_step(scene.y.step),
            Scale::Logarithmic => with_room_for_ticks(layout.with_log_y(), &scene.y),
        };
        let mut drawn = render_multiple(plots, layout);
        for primitive in &drawn.elements {
            make_room(primitive, &mut drawn.defs);
        }
        finish(drawn, &scene.title, &scene.caption)
    }

    /// The sheet as an SVG document.
    pub(in super::super) fn draw_sheet(sheet: &Sheet) -> String {
        let mut drawn = Canvas::new(WIDTH, sheet.height);
        drawn.font_family = Some(FONT.to_owned());
        let (x, y) = (WIDTH / 2.0, f64::from(TITLE_SIZE) * 1.5);
        drawn.add(text(&sheet.title, (x, y), title_size(&sheet.title), TextAnchor::Middle));
        for shape in &sheet.shapes {
            drawn.add(primitive(shape));
        }
        finish(drawn, &sheet.title, &sheet.caption)
    }

    /// Writes the caption below what is drawn, and names the document.
    fn finish(mut drawn: Canvas, title: &str, caption: &str) -> String {
        drawn.height += CAPTION_LINE / 2.0;
        for line in lines(caption) {
            drawn.height += CAPTION_LINE;
            let place = (MARGIN, drawn.height - CAPTION_LINE / 2.0);
            drawn.add(text(&line, place, CAPTION_SIZE, TextAnchor::Start));
        }
        drawn.height += CAPTION_LINE / 2.0;
        accessible(title, caption, &SvgBackend::new().with_pretty(true).render_scene(&drawn))
    }

    fn text(content: &str, (x, y): (f64, f64), size: u32, anchor: TextAnchor) -> Primitive {
        let content = content.to_owned();
        Primitive::Text { x, y, content, size, anchor, rotate: None, bold: false, color: None }
    }

    /// A shape of a sheet as the library has it.
    fn primitive(shape: &Shape) -> Primitive {
        match shape {
            Shape::Rectangle { x, y, width, height, fill, opacity } => Primitive::Rect {
                x: *x,
                y: *y,
                width: *width,
                height: *height,
                fill: (*fill).into(),
                stroke: None,
                stroke_width: None,
                opacity: Some(*opacity),
            },
            Shape::Line { from, to, colour } => Primitive::Line {
                x1: from.0,
                y1: from.1,
                x2: to.0,
                y2: to.1,
                stroke: (*colour).into(),
                stroke_width: 1.0,
                stroke_dasharray: None,
            },
            Shape::Text { x, y, content, anchor, colour } => {
                let (side, rotate) = match anchor {
                    Anchor::Start => (TextAnchor::Start, None),
                    Anchor::Middle => (TextAnchor::Middle, None),
                    Anchor::End => (TextAnchor::End, None),
                    Anchor::Upwards => (TextAnchor::Middle, Some(-90.0)),
                };
                Primitive::Text {
                    x: *x,
                    // The base line lies a third of the size below the middle.
                    y: y + sheet::TEXT / 3.0,
                    content: content.clone(),
                    size: sheet::TEXT as u32,
                    anchor: side,
                    rotate,
                    bold: false,
                    color: Some((*colour).into()),
                }
            }
            Shape::Arrow { x, y, width, colour } => Primitive::Path(Box::new(PathData {
                d: format!("M{x},{} L{},{y} L{x},{} Z", y - 4.0, x + width, y + 4.0),
                fill: Some((*colour).into()),
                stroke: (*colour).into(),
                stroke_width: 0.5,
                opacity: None,
                stroke_dasharray: None,
            })),
        }
    }

    /// Widens the left margin to the labels of a logarithmic axis, which the library takes for its own.
    fn with_room_for_ticks(mut layout: Layout, upwards: &Range) -> Layout {
        let longest = [upwards.low, upwards.high].map(|end| ticks::label(end).chars().count());
        let longest = longest.into_iter().max().unwrap_or_default();
        layout.force_margin_left = Some(TICK_CHARACTER * longest as f64 + TICK_ROOM);
        layout
    }

    /// Widens the clip region, so that points on the axes are drawn whole. The region stands
    /// in the definitions of the document.
    fn make_room(primitive: &Primitive, definitions: &mut [String]) {
        let Primitive::ClipStart { id, x, y, width, height } = primitive else { return };
        let begins = format!("<clipPath id=\"{id}\">");
        let ours = definitions.iter_mut().filter(|definition| definition.starts_with(&begins));
        for definition in ours {
            *definition = format!(
                "{begins}<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>",
                x - ROOM,
                y - ROOM,
                width + 2.0 * ROOM,
                height + 2.0 * ROOM
            );
        }
    }

    /// Size of a title of `n` characters that fits, at about 0.56 of it each.
    fn title_size(title: &str) -> u32 {
        let fits = WIDTH / (0.56 * title.chars().count().max(1) as f64);
        (fits as u32).clamp(LEAST_TITLE_SIZE, TITLE_SIZE)
    }

    fn plots(layer: &Layer, upwards: &Range) -> Vec<Plot> {
        let points = || layer.points.iter().map(|point| (point.x, point.y));
        let Looks { colour, marker, dash } = layer.looks;
        let style = dash.map_or(LineStyle::Solid, |dash| LineStyle::Custom(dash.to_owned()));
        let through = if layer.line.is_empty() { &layer.points } else { &layer.line };
        let through = through.iter().map(|point| (point.x, point.y));
        let line = LinePlot::new().with_data(through).with_color(colour).with_line_style(style);
        // An observation without an interval has bars of no height, which do not show.
        let below_and_above = layer.points.iter().map(|point| match point.interval {
            Some((low, high)) => {
                // An interval that goes on below the axes ends at their bottom.
                let low = low.max(upwards.low);
                ((point.y - low).max(0.0), (high - point.y).max(0.0))
            }
            None => (0.0, 0.0),
        });
        let has_intervals = layer.points.iter().any(|point| point.interval.is_some());
        let mut scatter = ScatterPlot::new()
            .with_data(points())
            .with_color(colour)
            .with_size(4.0)
            .with_marker(shape(marker));
        if has_intervals {
            scatter = scatter.with_y_err_asymmetric(below_and_above);
        }
        match layer.mark {
            Mark::Points => vec![scatter.into()],
            Mark::Crosses => {
                vec![scatter.with_size(CROSS_SIZE).with_marker(MarkerShape::Cross).into()]
            }
            Mark::Line | Mark::Across | Mark::Bars => vec![line.with_stroke_width(1.6).into()],
            Mark::ThinLine => vec![line.with_stroke_width(THIN).into()],
            Mark::PointsOnLine => vec![line.with_stroke_width(1.6).into(), scatter.into()],
        }
    }

    fn entry(layer: &Layer) -> LegendEntry {
        let (shape, dash) = match layer.mark {
            Mark::Line | Mark::ThinLine | Mark::Across | Mark::Bars => {
                (LegendShape::Line, layer.looks.dash)
            }
            Mark::Crosses => (LegendShape::Marker(MarkerShape::Cross), None),
            Mark::Points | Mark::PointsOnLine => {
                (LegendShape::Marker(shape(layer.looks.marker)), None)
            }
        };
        LegendEntry {
            label: literal(&layer.name),
            color: layer.looks.colour.to_owned(),
            shape,
            dasharray: dash.map(str::to_owned),
        }
    }

    const fn shape(marker: Marker) -> MarkerShape {
        match marker {
            Marker::Circle => MarkerShape::Circle,
            Marker::Triangle => MarkerShape::Triangle,
            Marker::Square => MarkerShape::Square,
            Marker::Diamond => MarkerShape::Diamond,
            Marker::Plus => MarkerShape::Plus,
            Marker::Cross => MarkerShape::Cross,
        }
    }

    /// Text in which the library sees no formula: it takes what stands between dollars for one.
    fn literal(text: &str) -> String {
        text.replace('$', "\\$")
    }

    /// The text in lines that fit.
    fn lines(text: &str) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in text.split_whitespace() {
            match lines.last_mut() {
                Some(line) if line.chars().count() + word.len() < CAPTION_CHARACTERS => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(word.to_owned()),
            }
        }
        lines
    }

    /// Names the document for those to whom it is read aloud.
    fn accessible(title: &str, caption: &str, svg: &str) -> String {
        let (title, caption) = (escaped(title), escaped(caption));
        let named = "<svg role=\"img\" aria-labelledby=\"figure-title figure-description\" ";
        let words = format!(
            ">\n  <title id=\"figure-title\">{title}</title>\n  \
             <desc id=\"figure-description\">{caption}</desc>"
        );
        renumbered(&svg.replacen("<svg ", named, 1).replacen('>', &words, 1))
    }

    /// The library counts its clip paths through all documents of a process; here they count anew.
    fn renumbered(svg: &str) -> String {
        let mut parts = svg.split(CLIP);
        let mut text = parts.next().unwrap_or_default().to_owned();
        let mut numbers: Vec<&str> = Vec::new();
        for part in parts {
            let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            let (number, rest) = part.split_at(digits);
            let place = numbers.iter().position(|known| *known == number).unwrap_or_else(|| {
                numbers.push(number);
                numbers.len() - 1
            });
            text += &format!("{CLIP}{place}{rest}");
        }
        text
    }

    fn escaped(text: &str) -> String {
        text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
    }
}

#[cfg(all(test, feature = "figures"))]
mod tests {
    use super::*;
    use crate::figure::tests::example;
    use crate::figure::{Figure, Point, Series};

    #[test]
    fn the_document_is_named_and_described_and_says_every_series() {
        let svg = draw(&Scene::of(&example()));
        let head: String = svg.lines().take(3).collect();
        assert!(head.contains("role=\"img\""), "{head}");
        assert!(head.contains(">MAC transmit &lt;of&gt; this &amp; that</title>"), "{head}");
        assert!(head.contains("Compare: TR-88-08, Figure 6.</desc>"), "{head}");
        for text in ["PHY<", "fit, $1 + x/500<", "size (octets)<", "time (ms)<"] {
            assert!(svg.contains(text), "{text} is missing");
        }
        assert!(svg.contains("<g clip-path=\"url(#kuva-clip-0)\">"));
    }

    #[test]
    fn ticks_of_a_logarithmic_axis_are_plain_decimals() {
        let mut figure = example();
        figure.series[1].points[1].y = 9_000.0;
        let svg = draw(&Scene::of(&figure));
        for label in ["0.1", "1", "10", "100", "1,000", "10,000"] {
            assert!(svg.contains(&format!(">{label}</text>")), "{label} is no tick");
        }
        assert!(!svg.contains(">1e-1<"));
    }

    #[test]
    fn a_long_title_is_written_smaller() {
        let size = |title: String| {
            let svg = draw(&Scene::of(&Figure { title: title.clone(), ..example() }));
            let before = svg.find(&format!(">{title}</text>")).expect("the title is drawn");
            let tag = &svg[svg[..before].rfind("<text").unwrap()..before];
            let digits = tag.split("font-size=\"").nth(1).unwrap();
            digits.split('"').next().unwrap().parse::<u32>().unwrap()
        };
        // 860 / (0.56 x 100) = 15.4, and with 120 characters 12.8.
        assert_eq!([20, 100, 120].map(|count| size("m".repeat(count))), [16, 15, 12]);
    }

    #[test]
    fn points_on_an_axis_are_drawn_whole() {
        let points = vec![Point::exact(0.0, 0.0), Point::exact(10.0, 10.0)];
        let series = Series { points, ..example().series[1].clone() };
        let svg = draw(&Scene::of(&Figure { series: vec![series], ..example() }));
        let number = |tag: &str, name: &str| {
            let value = tag.split(&format!(" {name}=\"")).nth(1).unwrap();
            value.split('"').next().unwrap().parse::<f64>().unwrap()
        };
        let clip = svg.split("<clipPath").nth(1).unwrap();
        let (x, width) = (number(clip, "x"), number(clip, "width"));
        let within = svg.split("<g clip-path").nth(1).unwrap().split("</g>").next().unwrap();
        let centres: Vec<f64> =
            within.split("<circle").skip(1).map(|tag| number(tag, "cx")).collect();
        // Both have a radius of 4, and lie on the ends of the axis.
        assert_eq!(centres.len(), 2);
        assert!((x..=x + width).contains(&(centres[0] - 4.0)), "{x} {centres:?}");
        assert!((x..=x + width).contains(&(centres[1] + 4.0)), "{x} {width} {centres:?}");
    }

    #[test]
    fn two_series_of_one_kin_are_drawn_in_one_colour() {
        let svg = draw(&Scene::of(&example()));
        // The fit, two points with three lines of their bars each, and two entries of the legend.
        assert_eq!(svg.matches("#0072b2").count(), 11);
        assert!(svg.matches("#d55e00").count() > 3);
        assert!(svg.contains("stroke-dasharray=\"9 3\""));
    }
}

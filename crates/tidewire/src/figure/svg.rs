//! A scene as SVG, drawn by `kuva`. Nothing else knows of that library.

use super::scene::Scene;

/// Whether this build can draw.
pub(super) const IS_BUILT_IN: bool = cfg!(feature = "figures");

/// The scene as an SVG document.
#[cfg(not(feature = "figures"))]
pub(super) fn draw(_scene: &Scene) -> String {
    String::new()
}

#[cfg(feature = "figures")]
pub(super) use drawing::draw;

#[cfg(feature = "figures")]
mod drawing {
    use super::super::Mark;
    use super::super::scene::{Layer, Looks, Marker, Range, Scale};
    use super::Scene;
    use kuva::backend::svg::SvgBackend;
    use kuva::plot::legend::{LegendEntry, LegendPosition, LegendShape};
    use kuva::plot::scatter::MarkerShape;
    use kuva::plot::{LinePlot, LineStyle, ScatterPlot};
    use kuva::render::layout::Layout;
    use kuva::render::plots::Plot;
    use kuva::render::render::{Primitive, TextAnchor, render_multiple};

    const WIDTH: f64 = 860.0;
    const HEIGHT: f64 = 520.0;
    const FONT: &str = "DejaVu Sans, Verdana, sans-serif";
    const TITLE_SIZE: u32 = 16;
    const LEAST_TITLE_SIZE: u32 = 9;
    /// How far a point and its interval reach beyond their place.
    const ROOM: f64 = 8.0;
    const CAPTION_SIZE: u32 = 12;
    const CAPTION_LINE: f64 = 17.0;
    const MARGIN: f64 = 20.0;
    /// How the library's names of clip paths begin.
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
            .with_legend_entries(scene.layers.iter().map(entry).collect())
            .with_legend_position(LegendPosition::OutsideRightTop)
            .with_legend_box(false);
        let layout = match scene.y.scale {
            Scale::Linear => layout.with_y_tick_step(scene.y.step),
            Scale::Logarithmic => layout.with_log_y(),
        };
        let mut drawn = render_multiple(plots, layout);
        for primitive in &drawn.elements {
            make_room(primitive, &mut drawn.defs);
        }
        drawn.height += CAPTION_LINE / 2.0;
        for line in lines(&scene.caption) {
            drawn.height += CAPTION_LINE;
            drawn.add(Primitive::Text {
                x: MARGIN,
                y: drawn.height - CAPTION_LINE / 2.0,
                content: line,
                size: CAPTION_SIZE,
                anchor: TextAnchor::Start,
                rotate: None,
                bold: false,
                color: None,
            });
        }
        drawn.height += CAPTION_LINE / 2.0;
        accessible(scene, &SvgBackend::new().with_pretty(true).render_scene(&drawn))
    }

    /// Where drawing is cut off at the axes, points that lie on them are still drawn whole. The region stands
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

    /// The size of a title of so many characters, at about 0.56 of it each, that fits.
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
                // On a logarithmic axis there is no way down to zero.
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
            Mark::Line => vec![line.with_stroke_width(1.6).into()],
            Mark::PointsOnLine => vec![line.with_stroke_width(1.6).into(), scatter.into()],
        }
    }

    fn entry(layer: &Layer) -> LegendEntry {
        let (shape, dash) = match layer.mark {
            Mark::Line => (LegendShape::Line, layer.looks.dash),
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
    fn accessible(scene: &Scene, svg: &str) -> String {
        let (title, caption) = (escaped(&scene.title), escaped(&scene.caption));
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

//! SVG document that is being written: lines, shapes and text, in user units of a screen's pixel.

use super::sheet::Anchor;
use core::fmt::Write as _;

const FONT: &str = "DejaVu Sans, Verdana, sans-serif";
/// Width of a character, as a share of its size.
pub(super) const CHARACTER: f64 = 0.56;

/// A document of a given width that grows downwards.
pub(super) struct Canvas {
    body: String,
    width: f64,
    height: f64,
}

/// The style of a line.
#[derive(Clone, Copy)]
pub(super) struct Stroke<'a> {
    pub(super) colour: &'a str,
    pub(super) width: f64,
    /// Lengths drawn and left out, in turn.
    pub(super) dash: Option<&'a str>,
}

impl<'a> Stroke<'a> {
    /// A line without gaps.
    pub(super) const fn solid(colour: &'a str, width: f64) -> Self {
        Self { colour, width, dash: None }
    }

    fn attributes(self) -> String {
        let dash = self.dash.map(|dash| format!(" stroke-dasharray=\"{dash}\""));
        let Self { colour, width, .. } = self;
        format!("stroke=\"{colour}\" stroke-width=\"{width}\"{}", dash.unwrap_or_default())
    }
}

/// Size and side of a text.
#[derive(Clone, Copy)]
pub(super) struct Font<'a> {
    pub(super) size: f64,
    pub(super) anchor: Anchor,
    pub(super) colour: &'a str,
}

impl Font<'static> {
    /// Black text.
    pub(super) const fn black(size: f64, anchor: Anchor) -> Self {
        Self { size, anchor, colour: "#000000" }
    }
}

impl Canvas {
    pub(super) const fn new(width: f64, height: f64) -> Self {
        Self { body: String::new(), width, height }
    }

    pub(super) const fn height(&self) -> f64 {
        self.height
    }

    /// Adds room at the bottom.
    pub(super) const fn grow(&mut self, height: f64) {
        self.height += height;
    }

    /// Leaves out the attributes that have the values of the document or of SVG. A quote in a text is escaped, so that
    /// only attributes match.
    pub(super) fn compact(&mut self) {
        let with_defaults = [
            (" stroke-width=\"1\"", ""),
            (" fill-opacity=\"1\"", ""),
            (" fill=\"#000000\"", ""),
            (" font-size=\"12\"", ""),
            (" text-anchor=\"start\"", ""),
            ("=\"#cccccc\"", "=\"#ccc\""),
            ("=\"#000000\"", "=\"#000\""),
            ("\n  <", "\n<"),
        ];
        for (long, short) in with_defaults {
            self.body = self.body.replace(long, short);
        }
    }

    fn element(&mut self, element: &str) {
        self.body.push_str("  <");
        self.body.push_str(element);
        self.body.push_str("/>\n");
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: Stroke<'_>) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(number);
        let style = stroke.attributes();
        self.element(&format!("line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" {style}"));
    }

    /// Straight lines from point to point.
    pub(super) fn polyline(&mut self, points: &[(f64, f64)], stroke: Stroke<'_>) {
        let style = stroke.attributes();
        let points = joined(points);
        self.element(&format!("polyline points=\"{points}\" fill=\"none\" {style}"));
    }

    /// A filled area within straight lines.
    pub(super) fn polygon(&mut self, points: &[(f64, f64)], fill: &str) {
        self.element(&format!("polygon points=\"{}\" fill=\"{fill}\"", joined(points)));
    }

    /// A filled area through which what is beneath it is seen; `opacity` as of [`Canvas::rectangle`].
    pub(super) fn band(&mut self, points: &[(f64, f64)], fill: &str, opacity: f64) {
        let (points, opacity) = (joined(points), number(opacity));
        self.element(&format!(
            "polygon points=\"{points}\" fill=\"{fill}\" fill-opacity=\"{opacity}\""
        ));
    }

    pub(super) fn circle(&mut self, (x, y): (f64, f64), radius: f64, fill: &str) {
        let [cx, cy] = [x, y].map(number);
        self.element(&format!("circle cx=\"{cx}\" cy=\"{cy}\" r=\"{radius}\" fill=\"{fill}\""));
    }

    /// A filled rectangle; `opacity` from 0, not to be seen, to 1.
    pub(super) fn rectangle(
        &mut self,
        corner: (f64, f64),
        size: (f64, f64),
        fill: &str,
        opacity: f64,
    ) {
        let [x, y, width, height] = [corner.0, corner.1, size.0, size.1].map(number);
        let opacity = number(opacity);
        self.element(&format!(
            "rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\" \
             fill-opacity=\"{opacity}\""
        ));
    }

    /// A text whose base line begins, is centred or ends at a place.
    pub(super) fn text(&mut self, (x, y): (f64, f64), text: &str, font: Font<'_>) {
        let [x, y] = [x, y].map(number);
        let (anchor, turn) = match font.anchor {
            Anchor::Start => ("start", String::new()),
            Anchor::Middle => ("middle", String::new()),
            Anchor::End => ("end", String::new()),
            Anchor::Upwards => ("middle", format!(" transform=\"rotate(-90 {x} {y})\"")),
        };
        let (Font { size, colour, .. }, text) = (font, escaped(text));
        let _ = writeln!(
            self.body,
            "  <text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" text-anchor=\"{anchor}\" \
             fill=\"{colour}\"{turn}>{text}</text>"
        );
    }

    /// The document, with a title and a description for screen readers; their identifiers begin with `id`.
    pub(super) fn finish(self, texts: &Texts<'_>, id: &str) -> String {
        let [width, height] = [self.width, self.height].map(number);
        let (title, description) = (escaped(texts.title), escaped(texts.description));
        let source = match texts.source {
            "" => String::new(),
            source => format!("  <metadata>{}</metadata>\n", escaped(source)),
        };
        format!(
            "<svg role=\"img\" aria-labelledby=\"{id}-title {id}-description\" \
             xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"{FONT}\" font-size=\"12\">\n  \
             <title id=\"{id}-title\">{title}</title>\n  \
             <desc id=\"{id}-description\">{description}</desc>\n{source}  \
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{}</svg>\n",
            self.body
        )
    }
}

/// Texts of a document that are not drawn.
pub(super) struct Texts<'a> {
    /// Title.
    pub(super) title: &'a str,
    /// Description.
    pub(super) description: &'a str,
    /// Program and input that the figure was made from; empty if another part of the page has them.
    pub(super) source: &'a str,
}

/// A coordinate to a hundredth.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" { "0".to_owned() } else { short.to_owned() }
}

fn joined(points: &[(f64, f64)]) -> String {
    let points = points.iter().map(|(x, y)| format!("{},{}", number(*x), number(*y)));
    points.collect::<Vec<_>>().join(" ")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

//! A figure without curves: rectangles, lines and text at their places, chosen before anything is drawn.

/// Width of every sheet.
pub(super) const WIDTH: f64 = 860.0;
/// Size of text.
pub(super) const TEXT: f64 = 12.0;
/// Width of a character, as a share of its size.
const CHARACTER: f64 = 0.62;

/// A sheet; the title stands above its shapes and the caption below them.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Sheet {
    pub(super) title: String,
    /// The caption and the reference.
    pub(super) caption: String,
    /// Height of what the shapes need, the title included.
    pub(super) height: f64,
    pub(super) shapes: Vec<Shape>,
}

/// A shape, with the first beneath the others.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Shape {
    Rectangle {
        x: f64,
        y: f64,
        width: f64,
        height: f64,
        fill: &'static str,
        /// From 0, not to be seen, to 1.
        opacity: f64,
    },
    Line {
        from: (f64, f64),
        to: (f64, f64),
        colour: &'static str,
    },
    Text {
        x: f64,
        /// Middle of its height.
        y: f64,
        content: String,
        anchor: Anchor,
        colour: &'static str,
    },
    /// A triangle that points to the right or, for a negative width, to the left.
    Arrow {
        x: f64,
        y: f64,
        width: f64,
        colour: &'static str,
    },
}

/// End of a text that stands at its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
    /// In the middle, read from below.
    Upwards,
}

/// Estimated width of a text.
pub(super) fn width(text: &str) -> f64 {
    text.chars().count() as f64 * TEXT * CHARACTER
}

impl Shape {
    /// Black text.
    pub(super) fn text(x: f64, y: f64, anchor: Anchor, content: impl Into<String>) -> Self {
        Self::Text { x, y, content: content.into(), anchor, colour: "#000000" }
    }

    /// A thin line.
    pub(super) const fn line(from: (f64, f64), to: (f64, f64), colour: &'static str) -> Self {
        Self::Line { from, to, colour }
    }
}

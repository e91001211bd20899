//! A figure in plain characters, for a terminal: 80 columns, a letter for each series.
//!
//! ```text
//! 268.2 us |                                                            a
//!          |                              a                             |
//!   0.0 us +-----------------------------------------------------------
//!           100                        flow.one.size (B)             300
//! ```
//!
//! A letter stands at the mean, `|` where the interval reaches, `*` where series meet. Left out: lines
//! between points, colours, and logarithmic axes.

use crate::figure::Figure;
use crate::quantity::significant;

/// Columns of the whole.
const WIDTH: usize = 80;
/// Rows of the field.
const ROWS: usize = 16;

/// Draws a figure.
pub(crate) fn draw(figure: &Figure) -> String {
    let points = || figure.series.iter().flat_map(|series| &series.points);
    let ends = points().flat_map(|it| [it.y, it.interval.map_or(it.y, |(_, high)| high)]);
    let most = ends.filter(|y| y.is_finite()).fold(0.0, f64::max);
    let top = if most > 0.0 { most } else { 1.0 };
    let labels = [top, top / 2.0, 0.0].map(|y| significant(y, 3));
    let margin = labels.iter().map(|label| label.len()).max().unwrap_or(0) + 2;
    let columns = WIDTH - margin;
    let left = points().map(|point| point.x).fold(f64::INFINITY, f64::min);
    let right = points().map(|point| point.x).fold(f64::NEG_INFINITY, f64::max);
    let mut field = vec![vec![' '; columns]; ROWS];
    let place = |share: f64, cells: usize| (share.clamp(0.0, 1.0) * (cells - 1) as f64).round();
    let column = |x: f64| {
        let share = if right > left { (x - left) / (right - left) } else { 0.5 };
        place(share, columns) as usize
    };
    let row = |y: f64| ROWS - 1 - place(y / top, ROWS) as usize;
    for point in points() {
        let Some((low, high)) = point.interval else { continue };
        let (from, rows) = (row(high), row(low.max(0.0)) - row(high) + 1);
        for row in field.iter_mut().skip(from).take(rows) {
            row[column(point.x)] = '|';
        }
    }
    for (letter, series) in ('a'..='z').cycle().zip(&figure.series) {
        for point in &series.points {
            let cell = &mut field[row(point.y)][column(point.x)];
            let is_free = matches!(*cell, ' ' | '|') || *cell == letter;
            *cell = if is_free { letter } else { '*' };
        }
    }
    let mut lines =
        vec![cut(&figure.title), cut(&format!("{} ({})", figure.y.name, figure.y.unit))];
    let row_of_middle = row(top / 2.0);
    for (number, row) in field.iter().enumerate() {
        let label = match number {
            0 => labels[0].as_str(),
            it if it == row_of_middle => &labels[1],
            it if it == ROWS - 1 => &labels[2],
            _ => "",
        };
        let text: String = row.iter().collect();
        lines.push(format!("{label:>width$} |{}", text.trim_end(), width = margin - 2));
    }
    lines.push(format!("{:margin$}{}", "", "-".repeat(columns)));
    let (first, last) = (format!("{left}"), format!("{right}"));
    let name = format!("{} ({})", figure.x.name, figure.x.unit);
    let middle = columns.saturating_sub(first.len() + last.len());
    lines.push(format!("{:margin$}{first}{name:^middle$}{last}", ""));
    for (letter, series) in ('a'..='z').cycle().zip(&figure.series) {
        lines.push(cut(&format!("  {letter}  {}", series.name)));
    }
    lines.join("\n")
}

/// No line is wider than the terminal.
fn cut(text: &str) -> String {
    text.chars().take(WIDTH).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Axis, Mark, Point, Series};

    fn series(name: &str, points: &[(f64, f64)]) -> Series {
        let point = |(x, y): &(f64, f64)| Point {
            x: *x,
            y: *y,
            interval: Some((y - 1.0, y + 2.0)),
            count: Some(10),
        };
        let points = points.iter().map(point).collect();
        Series { name: name.to_owned(), style_group: 0, mark: Mark::PointsOnLine, points }
    }

    #[test]
    fn letters_mark_values_and_bars_mark_intervals() {
        let figure = Figure {
            title: "sizes".to_owned(),
            caption: String::new(),
            reference: None,
            x: Axis { name: "size".to_owned(), unit: "B".to_owned() },
            y: Axis { name: "delay".to_owned(), unit: "us".to_owned() },
            scale: None,
            series: vec![
                series("one", &[(100.0, 4.0), (300.0, 13.0)]),
                series("two", &[(100.0, 4.0), (200.0, 8.0)]),
            ],
        };
        let text = draw(&figure);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
        // The highest interval ends at 15.0, the top; 15 steps of 1.0 make 16 rows.
        assert_eq!(lines[..2], ["sizes", "delay (us)"]);
        assert_eq!(lines[2], format!("15.0 |{}|", " ".repeat(73)));
        assert_eq!(lines[4], format!("     |{}a", " ".repeat(73)));
        // 200 B is the middle of 74 columns: place 36.5, rounded up.
        assert_eq!(lines[9], format!("7.50 |{}b", " ".repeat(37)));
        assert_eq!(lines[13], "     |*");
        assert!(lines[14].starts_with("     ||"), "{text}");
        assert!(lines[17].starts_with("   0 |"), "{text}");
        assert!(lines[19].ends_with("300") && lines[19].contains("size (B)"));
        assert_eq!(lines[20..], ["  a  one", "  b  two"]);
    }

    #[test]
    fn a_figure_of_nothing_but_zeros_is_drawn_at_the_bottom() {
        let mut zero = series("none", &[(1.0, 0.0)]);
        zero.points[0].interval = None;
        let figure = Figure {
            title: String::new(),
            caption: String::new(),
            reference: None,
            x: Axis { name: "x".to_owned(), unit: "1".to_owned() },
            y: Axis { name: "y".to_owned(), unit: "1".to_owned() },
            scale: None,
            series: vec![zero],
        };
        let text = draw(&figure);
        assert!(text.lines().nth(17).unwrap().contains('a'), "{text}");
    }
}

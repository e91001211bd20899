//! A matrix: the number of each pair of names, darker the greater it is.

use super::sheet::{Anchor, Shape, Sheet, TEXT, WIDTH, width};
use super::ticks;

/// A matrix of counts.
#[derive(Clone, PartialEq, Debug)]
pub struct Matrix {
    /// Title in one line.
    pub title: String,
    /// Caption.
    pub caption: String,
    /// The published figure to compare it with.
    pub reference: String,
    /// Meaning of a row.
    pub row: String,
    /// Meaning of a column.
    pub column: String,
    /// Quantity of the cells.
    pub counted: String,
    /// Names of the rows from the top, and of the columns from the left.
    pub names: Vec<String>,
    /// Counts, row by row.
    pub counts: Vec<Vec<u64>>,
}

/// Top of the cells: below the title, the name of the columns and their names.
const TOP: f64 = 96.0;
/// Side of a cell at the most, and the height of all of them.
const MOST_SIDE: f64 = 44.0;
const MOST_HEIGHT: f64 = 480.0;
const GREY: &str = "#BBBBBB";
const BLUE: &str = "#0072B2";
/// Opacity of the greatest count, on which black can be read.
const DARKEST: f64 = 0.6;

/// The matrix with everything at its place.
pub(super) fn sheet(matrix: &Matrix) -> Sheet {
    let Matrix { title, caption, reference, row, column, counted: _, names, counts } = matrix;
    let side = (MOST_HEIGHT / names.len().max(1) as f64).min(MOST_SIDE);
    let length = side * names.len() as f64;
    let left = (WIDTH - length) / 2.0;
    let middle = |place: usize| side * (place as f64 + 0.5);
    let mut shapes = cells(counts, left, side);
    for place in 0..=names.len() {
        let at = side * place as f64;
        shapes.push(Shape::line((left, TOP + at), (left + length, TOP + at), GREY));
        shapes.push(Shape::line((left + at, TOP), (left + at, TOP + length), GREY));
    }
    let widest = names.iter().map(|name| width(name)).fold(0.0, f64::max);
    for (place, name) in names.iter().enumerate() {
        let (x, y) = (left + middle(place), TOP + middle(place));
        shapes.push(Shape::text(x, TOP - TEXT, Anchor::Middle, name));
        shapes.push(Shape::text(left - TEXT, y, Anchor::End, name));
    }
    let centre = length / 2.0;
    shapes.push(Shape::text(left + centre, TOP - 3.0 * TEXT, Anchor::Middle, column));
    let aside = left - 2.5 * TEXT - widest;
    shapes.push(Shape::text(aside, TOP + centre, Anchor::Upwards, row));
    Sheet {
        title: title.clone(),
        caption: format!("{caption} Compare: {reference}."),
        height: TOP + length + TEXT,
        shapes,
    }
}

/// Shades and numbers of the cells; one with no count stays empty.
fn cells(counts: &[Vec<u64>], left: f64, side: f64) -> Vec<Shape> {
    let most = counts.iter().flatten().copied().max().unwrap_or(0);
    let mut shapes = Vec::new();
    for (row, counts) in counts.iter().enumerate() {
        for (column, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let (x, y) = (left + side * column as f64, TOP + side * row as f64);
            let opacity = DARKEST * *count as f64 / most as f64;
            let (width, height) = (side, side);
            shapes.push(Shape::Rectangle { x, y, width, height, fill: BLUE, opacity });
            let (x, y) = (x + side / 2.0, y + side / 2.0);
            shapes.push(Shape::text(x, y, Anchor::Middle, ticks::label(*count as f64)));
        }
    }
    shapes
}

/// Lines of its CSV: a heading, then each cell.
pub(super) fn table(matrix: &Matrix) -> Vec<Vec<String>> {
    let Matrix { row, column, counted, names, counts, .. } = matrix;
    let mut lines = vec![vec![row.clone(), column.clone(), counted.clone()]];
    for (from, counts) in names.iter().zip(counts) {
        for (to, count) in names.iter().zip(counts) {
            lines.push(vec![from.clone(), to.clone(), count.to_string()]);
        }
    }
    lines
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::figure) fn example() -> Matrix {
        Matrix {
            title: "Connections from host to host".to_owned(),
            caption: "Of 1 s.".to_owned(),
            reference: "section IV".to_owned(),
            row: "calling host".to_owned(),
            column: "called host".to_owned(),
            counted: "connections".to_owned(),
            names: ["A", "B"].map(str::to_owned).to_vec(),
            counts: vec![vec![0, 12], vec![3, 0]],
        }
    }

    #[test]
    fn each_pair_has_its_count_in_its_row_and_column() {
        let sheet = sheet(&example());
        let at = |wanted: &str| {
            let found = sheet.shapes.iter().find_map(|shape| match shape {
                Shape::Text { x, y, content, .. } if content == wanted => Some((*x, *y)),
                _ => None,
            });
            found.unwrap_or_else(|| panic!("{wanted} is not drawn"))
        };
        // A is called from B in the second row of the first column.
        assert!(at("12").0 > at("3").0 && at("12").1 < at("3").1);
        let shades = sheet.shapes.iter().filter_map(|shape| match shape {
            Shape::Rectangle { opacity, .. } => Some(*opacity),
            _ => None,
        });
        assert_eq!(shades.collect::<Vec<_>>(), [DARKEST, DARKEST * 0.25], "empty cells stay empty");
    }

    #[test]
    fn the_table_of_a_matrix_has_a_line_for_each_pair() {
        let lines: Vec<String> = table(&example()).iter().map(|line| line.join(" ")).collect();
        let expected =
            ["calling host called host connections", "A A 0", "A B 12", "B A 3", "B B 0"];
        assert_eq!(lines, expected);
    }
}

//! Tables and cells.

use crate::document::{Grade, Table};
use crate::text::Text;
use maud::{Markup, html};
use records::quantity::trimmed;

/// Digits of the numbers of a figure.
const DIGITS: usize = 5;

/// A table under its caption.
pub(super) fn table(table: &Table) -> Markup {
    let is_numeric = |place: usize| {
        let mut cells = table.rows.iter().filter_map(|row| row.get(place));
        cells.all(|cell| is_number(cell.as_str()))
    };
    let numeric: Vec<bool> = (0..table.heads.len()).map(is_numeric).collect();
    html! {
        div.scroll tabindex="0" role="group" aria-label=(table.caption) {
            table {
                caption { (table.caption) }
                thead { tr { @for (head, is_numeric) in table.heads.iter().zip(&numeric) {
                    th.number[*is_numeric] scope="col" { (head) }
                } } }
                tbody {
                    @for row in &table.rows {
                        tr {
                            @for (place, cell) in row.iter().enumerate() {
                                @if place == 0 { th.long[is_long(cell)] scope="row" { (cell) } }
                                @else { (self::cell(cell, numeric.get(place) == Some(&true))) }
                            }
                        }
                    }
                }
            }
        }
        @if table.left_out > 0 { p { (table.left_out) " more rows are left out." } }
        @for note in &table.notes { p.soft { "Note: " (note) } }
    }
}

/// A section with a table under its heading.
pub(super) fn section(id: &str, title: &str, heads: &[&str], rows: &Markup) -> Markup {
    html! {
        section aria-labelledby=(id) {
            h2 id=(id) { (title) }
            div.scroll tabindex="0" role="group" aria-labelledby=(id) {
                table {
                    thead { tr { @for head in heads { th scope="col" { (head) } } } }
                    tbody { (rows) }
                }
            }
        }
    }
}

/// A cell: numbers to the right, long text in lines.
pub(super) fn cell(cell: &Text, is_numeric: bool) -> Markup {
    html! {
        @if is_numeric { td.number { (cell) } }
        @else { td.long[is_long(cell)] { (cell) } }
    }
}

/// Characters of a text from which it has several lines.
const LONG: usize = 28;

/// Returns true for a text that takes several lines.
pub(super) fn is_long(text: &Text) -> bool {
    text.as_str().chars().count() > LONG
}

/// Returns true for a short text that begins with a digit or a sign.
fn is_number(text: &str) -> bool {
    let is_count = |text: &str| text.starts_with(|c: char| c.is_ascii_digit() || "-+".contains(c));
    text.chars().count() <= LONG
        && !text.contains(':')
        && (is_count(text) || text.is_empty() || text == "n/a")
}

/// A cell of the numbers of a figure, a number with five digits.
pub(super) fn number_cell(text: &str) -> Markup {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => html! { td { (trimmed(number, DIGITS)) } },
        _ => html! { td { (Text::from(text)) } },
    }
}

/// Grade of a finding.
pub(crate) const fn word(grade: Grade) -> &'static str {
    match grade {
        Grade::Fail => "wrong",
        Grade::Open => "look",
        Grade::Note | Grade::Pass => "note",
    }
}

/// Grade of a check.
pub(crate) const fn validity(grade: Grade) -> &'static str {
    match grade {
        Grade::Pass => "valid",
        Grade::Note => "note",
        Grade::Open => "limited",
        Grade::Fail => "NOT VALID",
    }
}

//! The state as tables in HTML, for browsers without JavaScript.

use crate::document::document;
use crate::panel::Panel;
use crate::snapshot::Snapshot;
use maud::{Markup, html};

/// Seconds until a browser asks again.
pub(crate) const AGAIN: u32 = 5;

/// Page with all tables.
pub(crate) fn page(snapshot: &Snapshot) -> String {
    let is_live = snapshot.state == "under way";
    let head = html! { @if is_live { meta http-equiv="refresh" content=(AGAIN); } };
    let body = html! {
        header { h1 { "tidewire " span.source { (snapshot.source) } } }
        main {
            (answer(snapshot))
            @for panel in &snapshot.panels { (table(panel)) }
        }
    };
    document(&snapshot.source, &head, &body)
}

/// The answer, its findings, and the totals.
fn answer(snapshot: &Snapshot) -> Markup {
    html! {
        section.answer {
            h2 data-grade=[snapshot.grade] { (sign(snapshot.grade)) " " (snapshot.headline) }
            p {
                (snapshot.state) ", " (snapshot.length) ", " (snapshot.frames) " frames"
                @if let Some(error) = &snapshot.error { ": " (error) }
            }
            @for loss in &snapshot.losses { p.loss[snapshot.is_lossy] { (loss) } }
            ul.findings {
                @for finding in &snapshot.findings {
                    li data-grade=(finding.grade) {
                        span.sign { (sign(Some(finding.grade))) } " " (finding.text)
                        @if let Some(detail) = &finding.detail { br; small { (detail) } }
                    }
                }
            }
            p.totals {
                @for (name, count) in &snapshot.totals { span { (count) " " (name) } " " }
            }
        }
    }
}

/// Sign of a severity, as on a terminal: colour never stands alone.
pub(crate) fn sign(grade: Option<&str>) -> &'static str {
    match grade {
        Some("bad") => "!!",
        Some("look") => "!",
        _ => "",
    }
}

fn table(panel: &Panel) -> Markup {
    html! {
        section {
            h2 { (panel.title) }
            p { (panel.about) }
            div.wide tabindex="0" role="region" aria-label=(panel.title) {
                table {
                    thead {
                        tr {
                            th scope="col" class="sign" { span.hidden { "severity" } }
                            @for column in &panel.columns {
                                th scope="col" title=(column.help) { (column.title) }
                            }
                        }
                    }
                    tbody {
                        @for row in &panel.rows {
                            tr data-grade=[row.grade] {
                                td.sign { (sign(row.grade)) }
                                @for (cell, column) in row.cells.iter().zip(&panel.columns) {
                                    td.number[column.is_number] { (cell.1) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

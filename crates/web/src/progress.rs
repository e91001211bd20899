//! Page of runs under way: their number, the time, and tables of what is finished.
//!
//! The page is whole without scripts, and is then loaded again every few seconds. With scripts a
//! stream of events replaces the parts that changed. When the runs end, the last event says where
//! their results are, and the page is served no longer.

use crate::answer::{STYLE, of_kind};
use crate::document::document;
use crate::feed::Feed;
use crate::guard::{Guard, OF_DOCUMENT, protected};
use crate::listener::Bounded;
use crate::panel::shown;
use crate::tables::{AGAIN, sign};
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use maud::{Markup, html};
use records::quantity;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use tokio::sync::watch;

const SCRIPT: &str = include_str!("progress.js");
const HTML: &str = "text/html; charset=utf-8";
/// Rows of a table that are shown.
const MOST_ROWS: usize = 500;

/// Most octets of a cell that stays in one line.
const SHORT: usize = 40;

/// Runs under way.
pub trait Ongoing: Send + Sync + 'static {
    /// State of the runs now.
    fn progress(&self) -> Progress;
    /// Report of the finished runs, as an HTML document without scripts.
    ///
    /// # Errors
    /// The reason why there is none.
    fn report(&self) -> Result<String, String>;
}

/// End of runs, or none so far.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Runs are being made.
    UnderWay,
    /// All are made.
    Complete,
    /// They ended early, for this reason.
    CutShort(String),
}

/// State of runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Progress {
    /// Title of the scenario or paper.
    pub title: String,
    /// The verb that makes them.
    pub verb: &'static str,
    /// Their end.
    pub stage: Stage,
    /// Number of finished runs.
    pub done: u64,
    /// Number of planned runs.
    pub of: u64,
    /// True if more runs may be planned.
    pub may_grow: bool,
    /// Noun for one of them: `run`, `round`.
    pub unit: &'static str,
    /// Time since the first began, in nanoseconds.
    pub elapsed_ns: u64,
    /// Estimate of the remaining time, if one is possible.
    pub remaining_ns: Option<u64>,
    /// Severity of the result so far, and the result in a few words.
    pub result: Option<(Option<&'static str>, String)>,
    /// Sentences on the run under way.
    pub notes: Vec<String>,
    /// Sentences on where the results are once the page is no longer served.
    pub afterwards: Vec<String>,
    /// True if there is a report of the finished runs.
    pub has_report: bool,
    /// Tables of what is finished.
    pub sheets: Vec<Sheet>,
}

/// Table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sheet {
    /// Name of its place on the page.
    pub id: &'static str,
    /// Heading.
    pub title: String,
    /// Content in a sentence.
    pub about: String,
    /// Headings of the columns.
    pub heads: Vec<String>,
    /// Rows.
    pub rows: Vec<Line>,
}

/// Row of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// Severity: `bad`, `look`, `good`, or none.
    pub grade: Option<&'static str>,
    /// Cells, in the order of the columns.
    pub cells: Vec<String>,
}

/// Serves the page until the end.
pub(crate) async fn serve(
    listener: TcpListener,
    guard: Guard,
    of: Arc<dyn Ongoing>,
    mut ended: watch::Receiver<bool>,
) -> io::Result<()> {
    let listener = Bounded::new(tokio::net::TcpListener::from_std(listener)?);
    let made = Arc::clone(&of);
    let feed = Arc::new(Feed::new(move || {
        let parts = parts(&made.progress()).into_string();
        serde_json::to_string(&parts).expect("a text is JSON")
    }));
    let (events, reported) = (Arc::clone(&feed), Arc::clone(&of));
    let routes =
        Router::new()
            .route(
                "/",
                get(|State(of): State<Arc<dyn Ongoing>>| async move {
                    of_kind(HTML, page(&of.progress()))
                }),
            )
            .route("/report", get(|| report(reported)))
            .route("/app.css", get(|| async { of_kind("text/css; charset=utf-8", STYLE) }))
            .route(
                "/progress.js",
                get(|| async { of_kind("text/javascript; charset=utf-8", SCRIPT) }),
            )
            .route("/api/v1/stream", get(|| async move { events.stream() }))
            .layer(middleware::from_fn_with_state(Arc::new(guard), protected))
            .with_state(of);
    tokio::spawn(feed.keep(ended.clone()));
    let end = async move {
        let _ = ended.wait_for(|ended| *ended).await;
    };
    axum::serve(listener, routes).with_graceful_shutdown(end).await
}

async fn report(of: Arc<dyn Ongoing>) -> Response {
    match tokio::task::spawn_blocking(move || of.report()).await {
        Ok(Ok(document)) => ([OF_DOCUMENT], of_kind(HTML, document)).into_response(),
        Ok(Err(why)) => (StatusCode::NOT_FOUND, why + "\n").into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// The whole page.
fn page(progress: &Progress) -> String {
    let is_live = progress.stage == Stage::UnderWay;
    let title = shown(&progress.title);
    let head = html! {
        @if is_live {
            noscript { meta http-equiv="refresh" content=(AGAIN); }
            script type="module" src="/progress.js" {}
        }
    };
    let body = html! {
        header {
            h1 { "tidewire " (progress.verb) " " span.source { (title) } }
            p id="link" role="status" {}
        }
        main { (parts(progress)) }
    };
    document(&title, &head, &body)
}

/// The parts of the page that change, each with a name.
fn parts(progress: &Progress) -> Markup {
    html! {
        (answer(progress))
        @for sheet in &progress.sheets { (table(sheet)) }
    }
}

/// Runs done, time, result, and where to find more.
fn answer(progress: &Progress) -> Markup {
    let Progress { stage, done, of, unit, result, .. } = progress;
    let grade = result.as_ref().and_then(|(grade, _)| *grade);
    html! {
        section.answer id="answer" {
            h2 data-grade=[grade] {
                (sign(grade)) " " (done) " of " (of) " " (unit) "s"
                @if progress.may_grow { ", perhaps more" }
                @match stage {
                    Stage::UnderWay => " are finished",
                    Stage::Complete => ": complete",
                    Stage::CutShort(why) => { ": cut short, " (shown(why)) },
                }
            }
            p { progress max=(of.max(&1)) value=(done) aria-label=(format!("finished {unit}s")) {} }
            p.totals { (times(progress)) }
            @if let Some((_, words)) = result { p { (shown(words)) } }
            @for note in &progress.notes { p { (shown(note)) } }
            @if *stage == Stage::UnderWay && progress.has_report {
                p { a href="/report" { "Report of the finished " (unit) "s" } ", with figures" }
            }
            @for sentence in &progress.afterwards { p { (shown(sentence)) } }
        }
    }
}

/// Time so far and to come.
fn times(progress: &Progress) -> Markup {
    let is_live = progress.stage == Stage::UnderWay;
    html! {
        span { "elapsed " (quantity::span(progress.elapsed_ns)) } " "
        @match progress.remaining_ns.filter(|_| is_live) {
            Some(nanos) => span { "about " (quantity::span(nanos)) " to go" },
            None => @if is_live { span { "no " (progress.unit) " is finished yet" } },
        }
    }
}

fn table(sheet: &Sheet) -> Markup {
    let numbers: Vec<bool> =
        (0..sheet.heads.len()).map(|column| is_number(sheet, column)).collect();
    let class = |column: usize| numbers.get(column).copied().unwrap_or(false);
    let more = sheet.rows.len().saturating_sub(MOST_ROWS);
    html! {
        section id=(sheet.id) {
            h2 { (shown(&sheet.title)) }
            p {
                (shown(&sheet.about))
                @if more > 0 { " The first " (MOST_ROWS) " rows; " (more) " more are not shown." }
            }
            div.wide tabindex="0" role="region" aria-label=(shown(&sheet.title)) {
                table {
                    thead { tr {
                        th scope="col" class="sign" { span.hidden { "severity" } }
                        @for (column, head) in sheet.heads.iter().enumerate() {
                            th.number[class(column)] scope="col" { (shown(head)) }
                        }
                    } }
                    tbody {
                        @for line in sheet.rows.iter().take(MOST_ROWS) {
                            tr data-grade=[line.grade] {
                                td.sign { (sign(line.grade)) }
                                @for (column, cell) in line.cells.iter().enumerate() {
                                    td.number[class(column)].short[cell.len() <= SHORT].long[cell.len() > SHORT] { (shown(cell)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// True of a column, except the first, whose cells are numbers, with or without units.
fn is_number(sheet: &Sheet, column: usize) -> bool {
    let mut cells = sheet.rows.iter().filter_map(|line| line.cells.get(column));
    let begins = |cell: &String| {
        cell.is_empty()
            || ["-", "n/a"].contains(&cell.as_str())
            || cell.starts_with(|first: char| first.is_ascii_digit())
    };
    column > 0 && cells.all(begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(stage: Stage) -> Progress {
        let evil = "<script>alert(1)</script>\u{202e}".to_owned();
        Progress {
            title: evil.clone(),
            verb: "predict",
            stage,
            done: 3,
            of: 40,
            may_grow: false,
            unit: "run",
            elapsed_ns: 1_500_000_000,
            remaining_ns: Some(18_500_000_000),
            result: Some((Some("bad"), "FAIL".to_owned())),
            notes: vec![evil.clone()],
            afterwards: vec!["Then: tidewire web runs".to_owned()],
            has_report: true,
            sheets: vec![Sheet {
                id: "points",
                title: evil.clone(),
                about: String::new(),
                heads: vec!["point".to_owned(), "runs".to_owned()],
                rows: vec![Line { grade: Some("bad"), cells: vec![evil, "3".to_owned()] }],
            }],
        }
    }

    #[test]
    fn runs_under_way_are_told_without_scripts_too() {
        let page = page(&progress(Stage::UnderWay));
        let told = ["3 of 40 runs", "elapsed 1.50 s", "about 18.5 s to go", "href=\"/report\""];
        for told in told {
            assert!(page.contains(told), "{told}: {page}");
        }
        let again = "<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>";
        assert!(page.contains(again), "{page}");
        assert!(!page.contains("<script>alert") && !page.contains('\u{202e}'), "{page}");
        assert!(page.contains("td class=\"number short\">3<"), "{page}");
    }

    #[test]
    fn the_end_offers_nothing_that_is_served_no_longer() {
        for stage in [Stage::Complete, Stage::CutShort("interrupted".to_owned())] {
            let page = page(&progress(stage));
            assert!(!page.contains("href=\"/report\"") && !page.contains("to go"), "{page}");
            assert!(!page.contains("refresh") && !page.contains("progress.js"), "{page}");
            assert!(page.contains("tidewire web runs"), "{page}");
        }
    }
}

//! Pages of stored runs: their list, the report of one, and the comparison of two. None of them has a script.

use crate::answer::{STYLE, of_kind};
use crate::document::document;
use crate::guard::{Guard, OF_DOCUMENT, protected};
use crate::listener::Bounded;
use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use maud::{Markup, html};
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use tokio::sync::watch;

const HTML: &str = "text/html; charset=utf-8";

/// Stored runs, as the operator named them.
pub trait Shelf: Send + Sync + 'static {
    /// Name of the place.
    fn place(&self) -> String;
    /// All runs that are there now, the newest first.
    fn runs(&self) -> Vec<StoredRun>;
    /// Report of a run, compared with a baseline if there is one, as an HTML document without scripts.
    ///
    /// # Errors
    /// The reason why there is none.
    fn report(&self, run: &str, baseline: Option<&str>) -> Result<String, String>;
}

/// A stored run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredRun {
    /// Name of its folder, by which it is asked for.
    pub name: String,
    /// Title of its scenario, or its source.
    pub title: String,
    /// The verb that made it.
    pub verb: String,
    /// Time at which it began.
    pub started: String,
    /// Seed, if it has one.
    pub seed: String,
}

/// Serves the pages until the end.
pub(crate) async fn serve(
    listener: TcpListener,
    guard: Guard,
    shelf: Box<dyn Shelf>,
    mut ended: watch::Receiver<bool>,
) -> io::Result<()> {
    let listener = Bounded::new(tokio::net::TcpListener::from_std(listener)?);
    let shelf: Arc<dyn Shelf> = shelf.into();
    let routes = Router::new()
        .route("/", get(|State(shelf): State<Arc<dyn Shelf>>| list(shelf, None)))
        .route(
            "/with/{name}",
            get(|State(shelf): State<Arc<dyn Shelf>>, Path(name): Path<String>| {
                list(shelf, Some(name))
            }),
        )
        .route(
            "/run/{name}",
            get(|State(shelf): State<Arc<dyn Shelf>>, Path(name): Path<String>| {
                report(shelf, name, None)
            }),
        )
        .route(
            "/compare/{baseline}/{name}",
            get(
                |State(shelf): State<Arc<dyn Shelf>>,
                 Path((baseline, name)): Path<(String, String)>| {
                    report(shelf, name, Some(baseline))
                },
            ),
        )
        .route("/app.css", get(|| async { of_kind("text/css; charset=utf-8", STYLE) }))
        .layer(middleware::from_fn_with_state(Arc::new(guard), protected))
        .with_state(shelf);
    let end = async move {
        let _ = ended.wait_for(|ended| *ended).await;
    };
    axum::serve(listener, routes).with_graceful_shutdown(end).await
}

/// Does work that reads files on a thread that may wait.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}

async fn report(shelf: Arc<dyn Shelf>, name: String, baseline: Option<String>) -> Response {
    let made = apart(move || shelf.report(&name, baseline.as_deref())).await;
    match made {
        Some(Ok(document)) => ([OF_DOCUMENT], of_kind(HTML, document)).into_response(),
        Some(Err(why)) => (StatusCode::NOT_FOUND, why + "\n").into_response(),
        None => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn list(shelf: Arc<dyn Shelf>, baseline: Option<String>) -> Response {
    let made = apart(move || {
        let (place, runs) = (shelf.place(), shelf.runs());
        let known = |name: &String| runs.iter().any(|run| run.name == *name);
        match baseline.as_ref().is_some_and(|name| !known(name)) {
            true => None,
            false => Some(page(&place, &runs, baseline.as_deref())),
        }
    });
    match made.await.flatten() {
        Some(page) => of_kind(HTML, page),
        None => (StatusCode::NOT_FOUND, "there is no such run\n").into_response(),
    }
}

/// The list of runs; with a baseline, each other run is compared with it.
fn page(place: &str, runs: &[StoredRun], baseline: Option<&str>) -> String {
    let body = html! {
        header { h1 { "tidewire " span.source { (place) } } }
        main {
            section {
                h2 {
                    @match (runs.is_empty(), baseline) {
                        (true, _) => "No run is stored here",
                        (false, None) => "Runs, the newest first",
                        (false, Some(name)) => { "Compare with " (name) },
                    }
                }
                p {
                    @if baseline.is_some() { a href="/" { "all runs" } }
                    @else { "The report of a run opens from its name." }
                }
                @if !runs.is_empty() { (table(runs, baseline)) }
            }
        }
    };
    document(place, &html! {}, &body)
}

fn table(runs: &[StoredRun], baseline: Option<&str>) -> Markup {
    let link = |of: &str, names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| encoded(name)).collect();
        format!("/{of}/{}", names.join("/"))
    };
    html! {
        div.wide tabindex="0" role="region" aria-label="runs" {
            table {
                thead { tr {
                    @for title in ["run", "title", "made by", "began", "seed", "compare"] {
                        th scope="col" { (title) }
                    }
                } }
                tbody {
                    @for run in runs {
                        tr {
                            td { a href=(link("run", &[&run.name])) { (run.name) } }
                            td { (run.title) }
                            td { (run.verb) }
                            td { (run.started) }
                            td { (run.seed) }
                            td {
                                @match baseline {
                                    None => a href=(link("with", &[&run.name])) { "with another" },
                                    Some(name) if name == run.name => "the baseline",
                                    Some(name) => {
                                        a href=(link("compare", &[name, &run.name])) { "compare" }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A name as a segment of a path (RFC 3986, 2.1).
fn encoded(name: &str) -> String {
    let mut encoded = String::new();
    for octet in name.bytes() {
        match octet {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(octet.into());
            }
            _ => encoded += &format!("%{octet:02X}"),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_text_and_links_stay_on_the_page() {
        let run = |name: &str| StoredRun {
            name: name.to_owned(),
            title: "<script>alert(1)</script>".to_owned(),
            verb: "predict".to_owned(),
            started: "2026-01-01T00-00-00".to_owned(),
            seed: "1".to_owned(),
        };
        let name = "../a b\"<i>\u{202e}?x#y";
        let page = page("runs", &[run(name), run("other")], Some("other"));
        assert!(!page.contains("<script>") && !page.contains("<i>"), "{page}");
        assert!(page.contains("href=\"/run/..%2Fa%20b%22%3Ci%3E%E2%80%AE%3Fx%23y\""), "{page}");
        assert!(page.contains("/compare/other/..%2F") && page.contains("the baseline"), "{page}");
    }
}

//! HTTP: the page, its snapshots as server-sent events, one connection in depth, and tables in HTML.
//!
//! One thread serves all browsers. A browser that reads slowly holds its own task only: when it is
//! ready it gets the newest snapshot, never a queue of old ones.

use crate::answer::{STYLE, of_kind};
use crate::connection::Detail;
use crate::feed::Feed;
use crate::guard::{self, Guard, protected};
use crate::listener::Bounded;
use crate::progress::{self, Ongoing};
use crate::shelf::{self, Shelf};
use crate::snapshot::Snapshot;
use crate::tables;
use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use core::time::Duration;
use records::state::Model;
use serde::Serialize;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError, mpsc as std_mpsc};
use tokio::sync::watch;

const PAGE: &str = include_str!("../page/index.html");
const SCRIPT: &str = include_str!("../dist/app.js");

/// Machines that may open the page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// This machine.
    Loopback,
    /// Any machine that can reach the address and knows the token.
    Anywhere,
}

/// A page that is being served.
pub struct Server {
    url: String,
    ended: watch::Sender<bool>,
    over: std_mpsc::Receiver<()>,
}

impl Server {
    /// Serves the state at an address, on a thread of its own; port 0 selects a free port.
    ///
    /// # Errors
    /// The address cannot be used, or is not of this machine where `reach` requires it.
    pub fn start(at: SocketAddr, reach: Reach, model: Arc<Mutex<Model>>) -> io::Result<Self> {
        Self::serving(at, reach, |listener, guard, ended| serve(listener, guard, model, ended))
    }

    /// Serves stored runs in the same way.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn of_runs(at: SocketAddr, reach: Reach, shelf: Box<dyn Shelf>) -> io::Result<Self> {
        Self::serving(at, reach, |listener, guard, ended| {
            shelf::serve(listener, guard, shelf, ended)
        })
    }

    /// Serves the progress of runs in the same way.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn of_progress(at: SocketAddr, reach: Reach, of: Arc<dyn Ongoing>) -> io::Result<Self> {
        Self::serving(at, reach, |listener, guard, ended| {
            progress::serve(listener, guard, of, ended)
        })
    }

    fn serving<F: Future<Output = io::Result<()>>>(
        at: SocketAddr,
        reach: Reach,
        serve: impl FnOnce(TcpListener, Guard, watch::Receiver<bool>) -> F + Send + 'static,
    ) -> io::Result<Self> {
        if reach == Reach::Loopback && !at.ip().is_loopback() {
            let why = "not an address of the loopback interface";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let listener = TcpListener::bind(at)?;
        listener.set_nonblocking(true)?;
        let at = listener.local_addr()?;
        let guard = Guard::new(guard::token()?, at.port(), reach == Reach::Anywhere);
        let url = format!("http://{at}/?{}", guard.parameter());
        let (ended, of_end) = watch::channel(false);
        let (done, over) = std_mpsc::channel();
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        std::thread::Builder::new().name("web".to_owned()).spawn(move || {
            // An error of the listener ends the page, not the measurement.
            let _ = runtime.block_on(serve(listener, guard, of_end));
            let _ = done.send(());
        })?;
        Ok(Self { url, ended, over })
    }

    /// URL with the token.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Sends the last snapshot to every browser that watches and stops serving; waits for slow
    /// browsers no longer than `patience`.
    pub fn finish(self, patience: Duration) {
        self.ended.send_replace(true);
        let _ = self.over.recv_timeout(patience);
    }
}

/// The state that the live page shows, and its snapshots.
struct Live {
    model: Arc<Mutex<Model>>,
    feed: Arc<Feed>,
}

impl Live {
    /// A part of the state, which is held only while the part is copied.
    fn see<T>(&self, of: impl FnOnce(&Model) -> T) -> T {
        see(&self.model, of)
    }
}

fn see<T>(model: &Mutex<Model>, of: impl FnOnce(&Model) -> T) -> T {
    of(&model.lock().unwrap_or_else(PoisonError::into_inner))
}

fn json(part: &impl Serialize) -> String {
    serde_json::to_string(part).expect("numbers and texts are JSON")
}

async fn serve(
    listener: TcpListener,
    guard: Guard,
    model: Arc<Mutex<Model>>,
    mut ended: watch::Receiver<bool>,
) -> io::Result<()> {
    let listener = Bounded::new(tokio::net::TcpListener::from_std(listener)?);
    let of = Arc::clone(&model);
    let feed = Arc::new(Feed::new(move || json(&see(&of, Snapshot::of))));
    let live = Arc::new(Live { model, feed: Arc::clone(&feed) });
    let routes = Router::new()
        .route("/", get(|| async { of_kind("text/html; charset=utf-8", PAGE) }))
        .route("/app.js", get(|| async { of_kind("text/javascript; charset=utf-8", SCRIPT) }))
        .route("/app.css", get(|| async { of_kind("text/css; charset=utf-8", STYLE) }))
        .route("/tables", get(as_tables))
        .route("/api/v1/snapshot", get(snapshot))
        .route("/api/v1/stream", get(stream))
        .route("/api/v1/connection/{id}", get(connection))
        .layer(middleware::from_fn_with_state(Arc::new(guard), protected))
        .with_state(live);
    tokio::spawn(feed.keep(ended.clone()));
    let end = async move {
        let _ = ended.wait_for(|ended| *ended).await;
    };
    axum::serve(listener, routes).with_graceful_shutdown(end).await
}

async fn as_tables(State(live): State<Arc<Live>>) -> Response {
    of_kind("text/html; charset=utf-8", tables::page(&live.see(Snapshot::of)))
}

async fn snapshot(State(live): State<Arc<Live>>) -> Response {
    of_kind("application/json", live.feed.newest())
}

async fn connection(State(live): State<Arc<Live>>, Path(id): Path<u32>) -> Response {
    match live.see(|model| Detail::of(model, id)) {
        Some(detail) => of_kind("application/json", json(&detail)),
        None => (StatusCode::NOT_FOUND, "no such connection\n").into_response(),
    }
}

async fn stream(State(live): State<Arc<Live>>) -> Response {
    live.feed.stream()
}

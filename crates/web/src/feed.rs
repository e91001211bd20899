//! Snapshots for all browsers that watch: one is made for all, and none while no browser watches.

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use core::convert::Infallible;
use core::time::Duration;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;

/// Time between snapshots while a browser watches.
const TICK: Duration = Duration::from_millis(500);
/// Time after which a silent stream sends a comment, so that a proxy keeps it open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Snapshot as JSON, as browsers get it.
#[derive(Clone)]
struct Told {
    json: Arc<str>,
    is_last: bool,
}

/// Snapshots for all browsers.
pub(crate) struct Feed {
    make: Box<dyn Fn() -> String + Send + Sync>,
    latest: watch::Sender<Told>,
    /// True if the latest snapshot was made in this tick.
    is_fresh: AtomicBool,
}

impl Feed {
    /// Feed of what this function makes, as JSON.
    pub(crate) fn new(make: impl Fn() -> String + Send + Sync + 'static) -> Self {
        let (latest, _) = watch::channel(Told { json: "".into(), is_last: false });
        Self { make: Box::new(make), latest, is_fresh: AtomicBool::new(false) }
    }

    /// Makes a snapshot, unless one was made in this tick.
    fn refresh(&self, is_last: bool) {
        if self.is_fresh.swap(true, Ordering::Relaxed) && !is_last {
            return;
        }
        let json = (self.make)();
        self.latest.send_if_modified(|told| {
            let is_news = *told.json != *json || told.is_last != is_last;
            if is_news {
                *told = Told { json: json.into(), is_last };
            }
            is_news
        });
    }

    /// The newest snapshot.
    pub(crate) fn newest(&self) -> String {
        let is_last = self.latest.borrow().is_last;
        self.refresh(is_last);
        let json = Arc::clone(&self.latest.borrow().json);
        json.to_string()
    }

    /// Makes snapshots as long as a browser watches, and the last one at the end.
    pub(crate) async fn keep(self: Arc<Self>, mut ended: watch::Receiver<bool>) {
        let mut ticks = tokio::time::interval(TICK);
        loop {
            tokio::select! {
                _ = ticks.tick() => {
                    self.is_fresh.store(false, Ordering::Relaxed);
                    if self.latest.receiver_count() > 0 {
                        self.refresh(false);
                    }
                }
                _ = ended.changed() => return self.refresh(true),
            }
        }
    }

    /// Snapshots as server-sent events, `snapshot` and at last `end`.
    pub(crate) fn stream(&self) -> Response {
        let mut latest = self.latest.subscribe();
        let is_last = self.latest.borrow().is_last;
        self.refresh(is_last);
        latest.mark_changed();
        let (events, received) = mpsc::channel::<Result<Event, Infallible>>(1);
        tokio::spawn(async move {
            while latest.changed().await.is_ok() {
                let Told { json, is_last } = latest.borrow_and_update().clone();
                let event = Event::default().event("snapshot").data(&*json);
                // A browser that left needs no more.
                if events.send(Ok(event)).await.is_err() {
                    return;
                }
                if is_last {
                    let _ = events.send(Ok(Event::default().event("end").data("{}"))).await;
                    return;
                }
            }
        });
        let alive = KeepAlive::new().interval(KEEP_ALIVE);
        Sse::new(ReceiverStream::new(received)).keep_alive(alive).into_response()
    }
}

//! A small HTTP server: GET /metrics, one request per connection, each on a thread of its own.
//!
//! A silent client delays no other: above [`CLIENTS`] connections the oldest is closed.
//!
//! Written by hand: for one path and one method a crate would need more lines of settings, and here
//! a request has limits: 8 KiB and two seconds. Left out: TLS, authentication, and persistent
//! connections.

use core::time::Duration;
use live::clock;
use records::families::{self, Format, Snapshot};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Time to wait for the meter before the last published snapshot is served.
const PATIENCE: Duration = Duration::from_millis(500);
const REQUEST_TIME: Duration = Duration::from_secs(2);
const REQUEST_OCTETS: usize = 8 << 10;
/// Maximum number of simultaneous clients.
const CLIENTS: usize = 32;
/// Pause after a connection could not be accepted.
const BACK_OFF: Duration = Duration::from_millis(100);

/// State shared by the meter and the server.
pub(super) struct Shared {
    is_asked: AtomicBool,
    published: Mutex<(u64, Arc<Snapshot>)>,
    news: Condvar,
}

impl Shared {
    /// Returns true if a client waits for the meter.
    pub(super) fn is_asked(&self) -> bool {
        self.is_asked.load(Ordering::Relaxed)
    }

    /// Publishes a snapshot for waiting and later clients.
    pub(super) fn publish(&self, snapshot: Snapshot) {
        self.is_asked.store(false, Ordering::Relaxed);
        let mut published = self.published.lock().unwrap_or_else(PoisonError::into_inner);
        *published = (published.0 + 1, Arc::new(snapshot));
        self.news.notify_all();
    }

    fn ask(&self) -> Arc<Snapshot> {
        let published = self.published.lock().unwrap_or_else(PoisonError::into_inner);
        let before = published.0;
        self.is_asked.store(true, Ordering::Relaxed);
        let waited = self.news.wait_timeout_while(published, PATIENCE, |now| now.0 == before);
        Arc::clone(&waited.unwrap_or_else(PoisonError::into_inner).0.1)
    }
}

/// Starts the server on its own thread, which ends with the process.
pub(super) fn start(at: SocketAddr) -> io::Result<(Arc<Shared>, SocketAddr)> {
    let listener = TcpListener::bind(at)?;
    let at = listener.local_addr()?;
    let shared = Arc::new(Shared {
        is_asked: AtomicBool::new(false),
        published: Mutex::default(),
        news: Condvar::new(),
    });
    let ours = Arc::clone(&shared);
    std::thread::Builder::new().name("metrics".to_owned()).spawn(move || {
        let clients = Arc::new(Clients::default());
        for stream in listener.incoming() {
            let taken = stream.and_then(|stream| clients.take(stream, &ours));
            // No descriptor or thread is left. The connection stays ready, so retrying at once
            // would be a busy loop.
            if taken.is_err() {
                clock::sleep_until(clock::now() + BACK_OFF);
            }
        }
    })?;
    Ok((shared, at))
}

/// Clients being served, oldest first.
#[derive(Default)]
struct Clients(Mutex<(u64, VecDeque<(u64, TcpStream)>)>);

impl Clients {
    /// Answers a client on its own thread.
    fn take(self: &Arc<Self>, stream: TcpStream, shared: &Arc<Shared>) -> io::Result<()> {
        let number = self.enter(stream.try_clone()?);
        let (clients, shared) = (Arc::clone(self), Arc::clone(shared));
        let thread = std::thread::Builder::new().name("scrape".to_owned());
        let started = thread.spawn(move || {
            // A client that has disconnected needs no report.
            let _ = answer(stream, &shared);
            clients.leave(number);
        });
        started.map(drop).inspect_err(|_| self.leave(number))
    }

    /// Registers a client, and closes the oldest if there are too many.
    fn enter(&self, stream: TcpStream) -> u64 {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (next, clients) = &mut *guard;
        *next += 1;
        clients.push_back((*next, stream));
        if clients.len() > CLIENTS
            && let Some((_, oldest)) = clients.pop_front()
        {
            // Its thread then reads end of file and exits.
            let _ = oldest.shutdown(Shutdown::Both);
        }
        *next
    }

    fn leave(&self, number: u64) {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        guard.1.retain(|(of, _)| *of != number);
    }
}

fn answer(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_write_timeout(Some(REQUEST_TIME))?;
    let request = request(&mut stream)?;
    let mut words = request.lines().next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split('?').next().unwrap_or_default();
    let plain = Format::Prometheus.content_type();
    let (status, kind, body) = match (method, path) {
        ("GET" | "HEAD", "/metrics") => {
            let format = format(&request);
            ("200 OK", format.content_type(), families::text(&shared.ask(), format))
        }
        ("GET" | "HEAD", _) => ("404 Not Found", plain, "see /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed\r\nAllow: GET, HEAD", plain, "GET only\n".to_owned()),
    };
    let octets = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {octets}\r\n\
         Connection: close\r\n\r\n"
    )?;
    if method != "HEAD" {
        stream.write_all(body.as_bytes())?;
    }
    stream.flush()
}

/// Reads the head of a request.
fn request(stream: &mut TcpStream) -> io::Result<String> {
    let end = clock::now() + REQUEST_TIME;
    let mut octets = Vec::new();
    let mut room = [0; 1024];
    while !octets.windows(4).any(|four| four == b"\r\n\r\n") {
        let left = end.since(clock::now());
        if left.is_zero() || octets.len() >= REQUEST_OCTETS {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut room)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => octets.extend(room.iter().take(count)),
        }
    }
    Ok(String::from_utf8_lossy(&octets).into_owned())
}

/// Returns OpenMetrics if the client accepts it by name.
fn format(request: &str) -> Format {
    let accepts = request.lines().any(|line| {
        let line = line.to_ascii_lowercase();
        line.starts_with("accept:") && line.contains("application/openmetrics-text")
    });
    if accepts { Format::OpenMetrics } else { Format::Prometheus }
}

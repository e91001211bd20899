//! A listener with a limit on its connections: further clients wait in the queue of the kernel.
//!
//! A client holds its place only while it is answered: one that asks nothing, or too slowly, is let go,
//! as is one that reads nothing for a minute.

use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};

/// Most simultaneous connections.
const CONNECTIONS: usize = 64;
/// Time from a connection to its first answer.
const FIRST_ANSWER: Duration = Duration::from_secs(5);
/// Time from answer to answer; a stream of snapshots sends at least every 15 s.
const NEXT_ANSWER: Duration = Duration::from_secs(60);

/// A listener with a limit.
pub(crate) struct Bounded {
    listener: TcpListener,
    room: Arc<Semaphore>,
}

impl Bounded {
    pub(crate) fn new(listener: TcpListener) -> Self {
        Self { listener, room: Arc::new(Semaphore::new(CONNECTIONS)) }
    }
}

impl axum::serve::Listener for Bounded {
    type Io = Taken;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Taken, SocketAddr) {
        let permit = Arc::clone(&self.room).acquire_owned().await.ok();
        // As axum does it: errors of one client are skipped, others waited for.
        let (stream, peer) = axum::serve::Listener::accept(&mut self.listener).await;
        (Taken { stream, left: Box::pin(sleep(FIRST_ANSWER)), _permit: permit }, peer)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection, which takes one place until it is closed.
pub(crate) struct Taken {
    stream: TcpStream,
    /// Ends when the connection is let go.
    left: Pin<Box<Sleep>>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl AsyncRead for Taken {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(cx, room);
        if read.is_pending() && self.left.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        read
    }
}

impl AsyncWrite for Taken {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, octets);
        if written.is_ready() {
            self.left = Box::pin(sleep(NEXT_ANSWER));
            return written;
        }
        if self.left.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

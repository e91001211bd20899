//! TCP connection with TPKT on it, and the bounded queues at both of its ends.

use bytes::Bytes;
use stack::station::Frame;
use std::collections::VecDeque;
use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use wire::read::Malformed;
use wire::time::Instant;
use wire::tpkt::{HEADER_OCTETS, Header, Reassembler};

/// Maximum number of packets handed to the kernel in one call.
const GATHERED: usize = 16;

/// State of a TCP connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Being established.
    Connecting,
    /// Open in both directions.
    Open,
    /// Closing: waiting packets are sent, our end is closed, and the peer's end is awaited.
    Closing {
        /// End of the wait.
        until: Instant,
        /// True once our end is closed.
        is_shut: bool,
    },
}

/// Packet to be sent.
#[derive(Debug)]
struct Waiting {
    header: [u8; HEADER_OCTETS],
    tpdu: Frame,
    /// Octets of it that the kernel has, header included.
    written: usize,
}

impl Waiting {
    fn octets(&self) -> usize {
        HEADER_OCTETS + self.tpdu.len()
    }

    /// Parts still to be written.
    fn parts(&self) -> [&[u8]; 3] {
        let mut skip = self.written;
        [&self.header[..], self.tpdu.head(), self.tpdu.payload()].map(|part| {
            let (_, rest) = part.split_at(skip.min(part.len()));
            skip -= part.len() - rest.len();
            rest
        })
    }
}

/// Result of reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Came {
    /// Number of octets read; 0 if none are available.
    Octets(usize),
    /// The peer has closed its end.
    End,
    /// The connection broke, for example by a reset.
    Broke,
}

/// TCP connection.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) socket: TcpStream,
    pub(super) phase: Phase,
    /// Set once the peer has closed its end: time until which waiting packets are still written.
    pub(super) ended: Option<Instant>,
    /// True while complete TPDUs have not been passed on yet.
    pub(super) is_behind: bool,
    reassembler: Reassembler,
    waiting: VecDeque<Waiting>,
}

impl Stream {
    pub(super) fn new(socket: TcpStream, phase: Phase) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        // Each TPDU is sent when it is handed over; otherwise delays by TCP would be measured.
        socket.set_nodelay(true)?;
        let reassembler = Reassembler::new();
        let waiting = VecDeque::new();
        Ok(Self { socket, phase, ended: None, is_behind: false, reassembler, waiting })
    }

    /// Queues a TPDU; returns `false` if it is too long for a packet.
    pub(super) fn push(&mut self, tpdu: Frame) -> bool {
        let Some(header) = Header::of_tpdu(tpdu.len()) else { return false };
        self.waiting.push_back(Waiting { header: header.encode(), tpdu, written: 0 });
        true
    }

    /// Time at which the connection is dropped, whatever is still waiting.
    pub(super) fn expires(&self) -> Instant {
        let closing = match self.phase {
            Phase::Closing { until, .. } => until,
            Phase::Connecting | Phase::Open => Instant::MAX,
        };
        self.ended.map_or(closing, |until| until.min(closing))
    }

    /// Returns whether packets wait to be written.
    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Octets of the next packet, if none of it is written yet.
    pub(super) fn next_packet(&self) -> Option<usize> {
        self.waiting.front().filter(|front| front.written == 0).map(Waiting::octets)
    }

    /// Writes up to `most` packets; returns the lengths of the TPDUs that the kernel now has
    /// completely.
    pub(super) fn write(&mut self, most: usize) -> io::Result<Vec<usize>> {
        let mut parts = Vec::with_capacity(3 * GATHERED);
        for waiting in self.waiting.iter().take(most.min(GATHERED)) {
            parts.extend(waiting.parts().into_iter().filter(|part| !part.is_empty()));
        }
        let slices: Vec<_> = parts.iter().map(|part| IoSlice::new(part)).collect();
        let mut written = match (&self.socket).write_vectored(&slices) {
            Ok(written) => written,
            Err(error) if is_transient(&error) => 0,
            Err(error) => return Err(error),
        };
        let mut taken = Vec::new();
        while let Some(front) = self.waiting.front_mut() {
            let part = written.min(front.octets() - front.written);
            front.written += part;
            written -= part;
            if front.written < front.octets() {
                break;
            }
            taken.push(front.tpdu.len());
            self.waiting.pop_front();
        }
        Ok(taken)
    }

    /// Returns whether there is room for more octets from the peer.
    pub(super) fn has_room(&self) -> bool {
        self.reassembler.room() > 0
    }

    /// Reads the available octets, as far as there is room.
    pub(super) fn read(&mut self, scratch: &mut [u8]) -> Came {
        let room = self.reassembler.room().min(scratch.len());
        let (scratch, _) = scratch.split_at_mut(room);
        match (&self.socket).read(scratch) {
            Ok(0) if room > 0 => Came::End,
            Ok(octets) => {
                self.reassembler.push(scratch.get(..octets).unwrap_or_default());
                Came::Octets(octets)
            }
            Err(error) if is_transient(&error) => Came::Octets(0),
            Err(_) => Came::Broke,
        }
    }

    /// Reads and discards the available octets.
    pub(super) fn discard(&mut self, scratch: &mut [u8]) -> Came {
        match (&self.socket).read(scratch) {
            Ok(0) => Came::End,
            Ok(octets) => Came::Octets(octets),
            Err(error) if is_transient(&error) => Came::Octets(0),
            Err(_) => Came::Broke,
        }
    }

    /// Takes the next complete TPDU.
    pub(super) fn take_tpdu(&mut self) -> Result<Option<Bytes>, Malformed> {
        self.reassembler.take_tpdu()
    }

    /// Returns whether the stream ended within a packet.
    pub(super) fn is_cut(&self) -> bool {
        self.reassembler.held_octets() > 0
    }

    /// Closes our end of the connection.
    pub(super) fn shut(&self) {
        // On failure the connection is already gone, which reading reports.
        let _ = self.socket.shutdown(Shutdown::Write);
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

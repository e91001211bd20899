//! Network connections of a host on a LAN: RFC 1006 over its own TCP, as [`crate::tcp`] models it.
//!
//! ```text
//!   transport class 0 ── N-CONNECT, N-DATA, N-DISCONNECT on a line
//!   lines ── one TPKT for each TPDU, one TCP connection for each line
//!   tcp ── segments;  link ── frames of EtherType 0800
//! ```
//!
//! On a machine that takes time, each TPDU waits for the work of transport and network on it; TCP
//! itself takes none. A release waits until the TPDUs before it have reached TCP.

use super::super::Host;
use super::super::work::Cargo;
use crate::machine::{Deadline, Machine as _, Output};
use crate::network::{Network, NetworkConnectionId};
use crate::tcp::{self, Datagram, Indication, Request, Socket};
use crate::tp0;
use crate::transport::Transport;
use bytes::{Bytes, BytesMut};
use std::collections::{BTreeMap, VecDeque};
use wire::packet::Packet;
use wire::time::Instant;
use wire::tpkt::{HEADER_OCTETS, Header, Reassembler};

/// Lines of a host, and the TCP below them.
#[derive(Clone, Debug)]
pub(in crate::host) struct Lines {
    pub(in crate::host) tcp: tcp::Entity,
    lines: BTreeMap<NetworkConnectionId, Line>,
    of_socket: BTreeMap<Socket, NetworkConnectionId>,
}

/// Line: a network connection on a TCP connection.
#[derive(Clone, Debug)]
struct Line {
    socket: Socket,
    reassembler: Reassembler,
    /// Lengths of the TPDUs that TCP has, oldest first, and the octets of the first packet that are
    /// acknowledged.
    sent: VecDeque<usize>,
    acknowledged: usize,
    /// Number of TPDUs on their way down to TCP, and up to the transport.
    descending: usize,
    ascending: usize,
    /// True once the transport has released the line.
    is_released: bool,
    /// True once the peer has closed the connection, or it is lost.
    is_ended: bool,
}

impl Line {
    fn new(socket: Socket) -> Self {
        Self {
            socket,
            reassembler: Reassembler::new(),
            sent: VecDeque::new(),
            acknowledged: 0,
            descending: 0,
            ascending: 0,
            is_released: false,
            is_ended: false,
        }
    }
}

impl Lines {
    pub(in crate::host) const fn new(params: tcp::Params) -> Self {
        Self { tcp: tcp::Entity::new(params), lines: BTreeMap::new(), of_socket: BTreeMap::new() }
    }

    fn open(&mut self, line: NetworkConnectionId, socket: Socket) {
        self.lines.insert(line, Line::new(socket));
        self.of_socket.insert(socket, line);
    }

    fn close(&mut self, line: NetworkConnectionId) -> Option<Line> {
        let closed = self.lines.remove(&line)?;
        self.of_socket.remove(&closed.socket);
        Some(closed)
    }
}

impl Host {
    /// Puts the host's transport connections on TCP: class 0 of RFC 1006 in place of class 4.
    #[must_use]
    pub fn over_tcp(mut self, params: tcp::Params) -> Self {
        let connections = params.connections;
        let entity = tp0::Entity::new(tp0::Params { connections, ..tp0::Params::class0() });
        self.transport = Transport::Network(entity);
        self.lines = Some(Box::new(Lines::new(params)));
        self
    }

    /// Event counters of its TCP, if it has one.
    #[must_use]
    pub fn tcp(&self) -> Option<tcp::Counters> {
        self.lines.as_deref().map(|lines| lines.tcp.counters())
    }

    pub(in crate::host) fn lines_deadline(&self) -> Option<Deadline> {
        self.lines.as_deref().and_then(|lines| lines.tcp.deadline())
    }

    pub(in crate::host) fn expire_lines(&mut self, now: Instant) {
        if let Some(lines) = &mut self.lines {
            lines.tcp.expire(now);
        }
    }

    pub(in crate::host) fn receive_datagram(&mut self, now: Instant, datagram: Datagram) {
        if let Some(lines) = &mut self.lines {
            lines.tcp.receive(now, datagram);
        }
    }

    // ---- down -----------------------------------------------------------------------------------

    /// Carries out an action of the transport on a line.
    pub(in crate::host) fn act_on_line(
        &mut self,
        now: Instant,
        line: NetworkConnectionId,
        action: Network,
    ) {
        match action {
            Network::Connect => self.connect_line(now, line),
            Network::Data(tpdu) => {
                if let Some(found) = self.line(line) {
                    found.descending += 1;
                    self.submit(now, Cargo::Descending { line, tpdu });
                }
            }
            Network::Disconnect => {
                let is_second = self
                    .line(line)
                    .is_some_and(|found| core::mem::replace(&mut found.is_released, true));
                if is_second {
                    return self.lose_line(now, line);
                }
                self.release_line(now, line);
            }
            // A confirmation by the network; the transport never sends it.
            Network::Taken { .. } => {}
        }
    }

    fn line(&mut self, line: NetworkConnectionId) -> Option<&mut Line> {
        self.lines.as_deref_mut()?.lines.get_mut(&line)
    }

    fn connect_line(&mut self, now: Instant, line: NetworkConnectionId) {
        let place = self.sender_of(line.into());
        let peer = place.map(|place| self.users.flow(place).peer);
        match (&mut self.lines, peer) {
            (Some(lines), Some(peer)) => {
                let socket = lines.tcp.socket();
                lines.open(line, socket);
                lines.tcp.request(now, Request::Connect { socket, peer });
            }
            _ => self.tell_transport(now, line, Network::Disconnect),
        }
    }

    /// Passes a TPDU to TCP, in a packet of RFC 1006.
    pub(in crate::host) fn descend(
        &mut self,
        now: Instant,
        line: NetworkConnectionId,
        tpdu: &Packet,
    ) {
        let Some(lines) = self.lines.as_deref_mut() else { return };
        let Some(found) = lines.lines.get_mut(&line) else { return };
        found.descending -= 1;
        let Some(header) = Header::of_tpdu(tpdu.len()) else { return };
        let mut octets = BytesMut::with_capacity(HEADER_OCTETS + tpdu.len());
        octets.extend_from_slice(&header.encode());
        octets.extend_from_slice(tpdu.head());
        octets.extend_from_slice(tpdu.payload());
        found.sent.push_back(tpdu.len());
        let (socket, octets) = (found.socket, octets.freeze());
        lines.tcp.request(now, Request::Data { socket, octets });
        self.release_line(now, line);
    }

    /// Closes a line that the transport has released, once its TPDUs have reached TCP.
    fn release_line(&mut self, now: Instant, line: NetworkConnectionId) {
        let Some(lines) = self.lines.as_deref_mut() else { return };
        let Some(found) = lines.lines.get(&line) else { return };
        if found.is_released && found.descending == 0 {
            let socket = found.socket;
            lines.tcp.request(now, Request::Release { socket });
            if lines.tcp.state(socket).is_none() {
                self.lose_line(now, line);
            }
        }
    }

    /// Resets a line, and reports its end to the transport.
    fn lose_line(&mut self, now: Instant, line: NetworkConnectionId) {
        let Some(lines) = self.lines.as_deref_mut() else { return };
        if let Some(Line { socket, .. }) = lines.close(line) {
            lines.tcp.request(now, Request::Abort { socket });
            self.tell_transport(now, line, Network::Disconnect);
        }
    }

    fn tell_transport(&mut self, now: Instant, line: NetworkConnectionId, event: Network) {
        if let Transport::Network(entity) = &mut self.transport {
            entity.receive(now, (line, event));
        }
    }

    // ---- up -------------------------------------------------------------------------------------

    /// Forwards the next output of TCP, if any.
    pub(in crate::host) fn poll_lines(&mut self, now: Instant) -> bool {
        let Some(output) = self.lines.as_deref_mut().and_then(|lines| lines.tcp.poll()) else {
            return false;
        };
        match output {
            Output::Send(Datagram { station, packet }) => {
                if let Some(link) = &mut self.link {
                    link.send_datagram(station, packet);
                }
            }
            Output::Deliver(indication) => self.indicate_line(now, indication),
            Output::Note(_) => {}
        }
        true
    }

    fn indicate_line(&mut self, now: Instant, indication: Indication) {
        let Some(lines) = self.lines.as_deref_mut() else { return };
        let line_of = |socket: &Socket| lines.of_socket.get(socket).copied();
        match indication {
            Indication::Accepted { socket, .. } => {
                let Transport::Network(entity) = &mut self.transport else { return };
                match entity.incoming(now) {
                    Some(line) => lines.open(line, socket),
                    None => lines.tcp.request(now, Request::Abort { socket }),
                }
            }
            Indication::Opened { socket } => {
                if let Some(line) = line_of(&socket) {
                    self.tell_transport(now, line, Network::Connect);
                }
            }
            Indication::Data { socket, octets } => {
                if let Some(line) = line_of(&socket) {
                    self.octets_of_line(now, line, octets);
                }
            }
            Indication::Taken { socket, octets } => {
                if let Some(line) = line_of(&socket) {
                    self.taken_of_line(now, line, octets);
                }
            }
            Indication::Ended { socket, .. } => {
                if let Some(line) = line_of(&socket)
                    && let Some(found) = lines.lines.get_mut(&line)
                {
                    found.is_ended = true;
                    self.end_line(now, line);
                }
            }
        }
    }

    /// Cuts a stream into its packets.
    fn octets_of_line(&mut self, now: Instant, line: NetworkConnectionId, mut octets: Bytes) {
        loop {
            let Some(found) = self.line(line) else { return };
            let pushed = found.reassembler.push(&octets);
            let _ = octets.split_to(pushed);
            match found.reassembler.take_tpdu() {
                Ok(Some(tpdu)) => {
                    found.ascending += 1;
                    let tpdu = Packet::new(tpdu);
                    self.submit(now, Cargo::Ascending { line, tpdu });
                }
                Ok(None) if octets.is_empty() || pushed == 0 => return,
                Ok(None) => {}
                Err(_) => return self.lose_line(now, line),
            }
        }
    }

    /// Passes a TPDU to the transport.
    pub(in crate::host) fn ascend(
        &mut self,
        now: Instant,
        line: NetworkConnectionId,
        tpdu: Packet,
    ) {
        let Some(found) = self.line(line) else { return };
        found.ascending -= 1;
        self.tell_transport(now, line, Network::Data(tpdu));
        self.end_line(now, line);
    }

    /// Reports the TPDUs that the peer has acknowledged.
    fn taken_of_line(&mut self, now: Instant, line: NetworkConnectionId, octets: usize) {
        let Some(found) = self.line(line) else { return };
        found.acknowledged += octets;
        let mut taken = Vec::new();
        while let Some(tpdu_octets) = found.sent.front().copied()
            && found.acknowledged >= HEADER_OCTETS + tpdu_octets
        {
            found.acknowledged -= HEADER_OCTETS + tpdu_octets;
            found.sent.pop_front();
            taken.push(tpdu_octets);
        }
        for octets in taken {
            self.tell_transport(now, line, Network::Taken { octets });
        }
    }

    /// Reports the end of a line to the transport, once it has the TPDUs before it; a peer that has
    /// closed its direction gets what TCP still has.
    fn end_line(&mut self, now: Instant, line: NetworkConnectionId) {
        let Some(lines) = self.lines.as_deref_mut() else { return };
        let is_over = |found: &Line| found.is_ended && found.ascending == 0;
        if lines.lines.get(&line).is_some_and(is_over)
            && let Some(Line { socket, .. }) = lines.close(line)
        {
            lines.tcp.request(now, Request::Release { socket });
            self.tell_transport(now, line, Network::Disconnect);
        }
    }
}

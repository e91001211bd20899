//! Network connections over TCP: RFC 1006 and RFC 2126, as client and server.
//!
//! ```text
//!   N-CONNECT      connect, accept          port 102, or any
//!   N-DATA         one TPKT each
//!   N-DISCONNECT   what waits is written, FIN; then the peer's FIN is awaited, two seconds at most
//! ```
//!
//! A thread drives one station over all of its connections. Queues are bounded in both directions.
//! TPDUs that the kernel does not accept stay in the machine, which is notified of those accepted.
//! Octets that the station has no room for are not read, and TCP holds up the peer. A peer that has
//! closed its end still receives the waiting TPDUs. Not modelled: faults (TCP would repair them
//! unseen), and transmission time.

mod stream;

use crate::clock;
use crate::port::{Bucket, PortError};
use crate::runner::{Control, STOP_LATENCY, Stopped, stood_still};
use crate::socket::{self, Interest};
use bytes::Bytes;
use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use stack::network::{Network, NetworkConnectionId, NetworkStation};
use stack::station::Frame;
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::fd::AsFd;
use stream::{Came, Phase, Stream};
use wire::control::Limits;
use wire::time::Instant;

/// Time for which the peer's FIN is awaited after ours, and waiting TPDUs are written to a peer
/// that sent its own.
const LINGER: Duration = Duration::from_secs(2);
/// Maximum number of connections accepted, and of packets passed on from one connection, at one
/// wake-up.
const BATCH: usize = 64;
/// A bucket holds the tokens of this fraction of a second.
const BURSTS_PER_SECOND: u64 = 10;
/// Delay after a connection could not be accepted.
const BACK_OFF: Duration = Duration::from_millis(100);

/// Parameters of network connections.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IsoTcpParams {
    /// Address on which connections are accepted; port 0 lets the system choose. `None` to accept
    /// none.
    pub listen: Option<SocketAddr>,
    /// Destination of the station's own connections.
    pub remote: Option<SocketAddr>,
}

/// Counters so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Packets sent.
    pub sent: u64,
    /// Packets received.
    pub received: u64,
    /// Incoming connections that were not accepted.
    pub refused: u64,
    /// Connections closed because the received octets were no TPKT.
    pub malformed: u64,
    /// Connections that broke, including resets by the peer.
    pub broken: u64,
    /// Connections that the peer closed within a packet.
    pub cut: u64,
}

/// Agreed rate limits: packets and bits per second.
#[derive(Clone, Debug)]
struct Pace {
    packets: Bucket,
    bits: Bucket,
}

impl Pace {
    fn new(now: Instant, limits: Limits) -> Self {
        let packets = u64::from(limits.frames_per_second);
        let bits = limits.bits_per_second;
        Self {
            packets: Bucket::new(now, packets, packets / BURSTS_PER_SECOND),
            bits: Bucket::new(now, bits, bits / BURSTS_PER_SECOND),
        }
    }

    fn ready(&mut self, now: Instant, octets: usize) -> Instant {
        let packets = self.packets.ready(now, 1).unwrap_or(Instant::MAX);
        packets.max(self.bits.ready(now, octets as u64 * 8).unwrap_or(Instant::MAX))
    }

    fn charge(&mut self, octets: usize) {
        self.packets.take(1);
        self.bits.take(octets as u64 * 8);
    }
}

/// Drives one station over TCP.
#[derive(Debug)]
pub struct IsoTcp {
    params: IsoTcpParams,
    listener: Option<TcpListener>,
    address: Option<SocketAddr>,
    streams: BTreeMap<NetworkConnectionId, Stream>,
    pace: Option<Pace>,
    /// Time until which no connection is accepted, because the last attempt failed.
    accepts_from: Instant,
    scratch: Vec<u8>,
    counts: Counts,
}

impl IsoTcp {
    /// Starts to listen, if `params` name an address.
    ///
    /// # Errors
    /// The system's error.
    pub fn open(params: IsoTcpParams) -> Result<Self, PortError> {
        let listener = match params.listen {
            Some(address) => {
                let listener =
                    TcpListener::bind(address).map_err(PortError::system("bind a socket"))?;
                listener.set_nonblocking(true).map_err(PortError::system("set a socket up"))?;
                Some(listener)
            }
            None => None,
        };
        let address = listener.as_ref().map(TcpListener::local_addr).transpose();
        Ok(Self {
            params,
            address: address.map_err(PortError::system("ask a socket's address"))?,
            listener,
            streams: BTreeMap::new(),
            pace: None,
            accepts_from: Instant::ZERO,
            scratch: vec![0; 65_536],
            counts: Counts::default(),
        })
    }

    /// Address on which connections are accepted, with the port that the system chose.
    #[must_use]
    pub const fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Counters so far.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns whether both ends are on this host.
    #[must_use]
    pub fn is_within_host(&self) -> bool {
        let mut ends = self.address.iter().chain(&self.params.remote);
        ends.all(|address| address.ip().is_loopback())
    }

    /// Limits the sending rate of all connections but those of the control session; `None` for no
    /// limit.
    pub fn limit(&mut self, limits: Option<Limits>) {
        self.pace = limits.map(|limits| Pace::new(clock::now(), limits));
    }

    /// Drives `user` until `until`, until `stop` is set, or until `on_wake` returns
    /// [`Control::Stop`].
    ///
    /// `on_wake` is called once at the start and after each wake-up. May be called again to
    /// continue.
    ///
    /// # Errors
    /// System errors in waiting or listening. Failures of a connection are reported to its station.
    pub fn run<U: NetworkStation>(
        &mut self,
        user: &mut U,
        until: Instant,
        stop: &AtomicBool,
        mut on_wake: impl FnMut(&mut U, Instant) -> Control,
    ) -> Result<Stopped, PortError> {
        clock::be_punctual();
        let mut before = clock::now();
        loop {
            let now = clock::now();
            if let Some(time) = stood_still(before, now) {
                user.stood_still(time);
            }
            before = now;
            if user.deadline().is_some_and(|deadline| deadline.at <= now) {
                user.expire(now);
            }
            self.serve(user);
            let control = on_wake(user, now);
            let due = self.serve(user);
            if control == Control::Stop {
                return Ok(Stopped::Satisfied);
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(Stopped::Flagged);
            }
            if now >= until {
                return Ok(Stopped::Ended);
            }
            let due = user.deadline().map_or(due, |deadline| deadline.at.min(due));
            self.wait(user, due.min(until).min(now + STOP_LATENCY))?;
            self.accept(user)?;
            self.read_all(user);
        }
    }

    // ---- out ------------------------------------------------------------------------------------

    /// Carries out the station's requests and writes as much as allowed; returns the time at which
    /// more may be written.
    fn serve<U: NetworkStation>(&mut self, user: &mut U) -> Instant {
        let mut due = Instant::MAX;
        loop {
            self.take_orders(user);
            let lines: Vec<NetworkConnectionId> = self.streams.keys().copied().collect();
            let mut acted = false;
            for line in lines {
                let (did, next) = self.write(user, line);
                acted |= did;
                due = due.min(next);
            }
            if !acted {
                return due;
            }
        }
    }

    fn take_orders<U: NetworkStation>(&mut self, user: &mut U) {
        while let Some((line, network)) = user.poll() {
            match network {
                Network::Connect => self.connect(user, line),
                Network::Data(tpdu) => self.push(user, line, tpdu),
                Network::Disconnect => match self.streams.get_mut(&line) {
                    Some(stream) if stream.phase == Phase::Open => {
                        let until = clock::now() + LINGER;
                        stream.phase = Phase::Closing { until, is_shut: false };
                    }
                    Some(_) => self.lose(user, line),
                    None => {}
                },
                // A confirmation by the network; the user never sends it.
                Network::Taken { .. } => {}
            }
        }
    }

    fn connect<U: NetworkStation>(&mut self, user: &mut U, line: NetworkConnectionId) {
        let opened = self.params.remote.map(|remote| {
            socket::connect(remote).and_then(|socket| Stream::new(socket, Phase::Connecting))
        });
        match opened {
            Some(Ok(stream)) => {
                self.streams.insert(line, stream);
            }
            Some(Err(_)) | None => user.receive(clock::now(), line, Network::Disconnect),
        }
    }

    fn push<U: NetworkStation>(&mut self, user: &mut U, line: NetworkConnectionId, tpdu: Frame) {
        let pushed = self.streams.get_mut(&line).map(|stream| stream.push(tpdu));
        if pushed == Some(false) {
            self.lose(user, line);
        }
    }

    /// Removes a connection and reports its end to the station.
    fn lose<U: NetworkStation>(&mut self, user: &mut U, line: NetworkConnectionId) {
        if self.streams.remove(&line).is_some() {
            user.receive(clock::now(), line, Network::Disconnect);
        }
    }

    /// Writes as much as allowed on one connection; returns whether anything changed, and the time
    /// at which more may be written.
    fn write<U: NetworkStation>(
        &mut self,
        user: &mut U,
        line: NetworkConnectionId,
    ) -> (bool, Instant) {
        let Some(stream) = self.streams.get_mut(&line) else { return (false, Instant::MAX) };
        let (now, expires) = (clock::now(), stream.expires());
        if now >= expires {
            self.lose(user, line);
            return (true, Instant::MAX);
        }
        if stream.phase == Phase::Connecting || !stream.has_waiting() {
            return (self.close(user, line), expires);
        }
        let mut most = usize::MAX;
        if let Some(pace) = self.pace.as_mut().filter(|_| !user.is_control(line)) {
            most = 1;
            if let Some(octets) = stream.next_packet() {
                let ready = pace.ready(now, octets);
                if ready > now {
                    return (false, ready.min(expires));
                }
                pace.charge(octets);
            }
        }
        match stream.write(most) {
            Ok(taken) => {
                let acted = !taken.is_empty();
                self.counts.sent += taken.len() as u64;
                for octets in taken {
                    user.receive(clock::now(), line, Network::Taken { octets });
                }
                (acted, expires)
            }
            Err(_) => {
                self.counts.broken += 1;
                self.lose(user, line);
                (true, Instant::MAX)
            }
        }
    }

    /// If all is written, closes our end if the station or the peer has ended the connection.
    fn close<U: NetworkStation>(&mut self, user: &mut U, line: NetworkConnectionId) -> bool {
        let Some(stream) = self.streams.get_mut(&line) else { return false };
        let is_over = match stream.phase {
            Phase::Closing { until, is_shut } => {
                if !is_shut {
                    stream.shut();
                    stream.phase = Phase::Closing { until, is_shut: true };
                }
                stream.ended.is_some()
            }
            Phase::Open => stream.ended.is_some() && !stream.is_behind && user.is_idle(line),
            Phase::Connecting => false,
        };
        if is_over {
            self.lose(user, line);
        }
        is_over
    }

    // ---- in -------------------------------------------------------------------------------------

    fn wait<U: NetworkStation>(&mut self, user: &U, until: Instant) -> Result<(), PortError> {
        let is_behind = |(line, stream): (&NetworkConnectionId, &Stream)| {
            stream.is_behind && stream.phase == Phase::Open && user.takes_input(*line)
        };
        if self.streams.iter().any(is_behind) {
            return Ok(());
        }
        let mut interests = Vec::with_capacity(self.streams.len() + 1);
        // A pending connection that cannot be accepted keeps the listener ready: waiting on it
        // would busy-loop.
        let is_taking = self.accepts_from <= clock::now();
        let until = if is_taking { until } else { until.min(self.accepts_from) };
        if let Some(listener) = self.listener.as_ref().filter(|_| is_taking) {
            interests.push(Interest { socket: listener.as_fd(), read: true, write: false });
        }
        for (line, stream) in &self.streams {
            let is_held = self.pace.is_some() && !user.is_control(*line);
            // Packets held up by the limits are written when their time comes, not when the socket
            // has room.
            let write = stream.phase == Phase::Connecting
                || stream.has_waiting() && !(is_held && stream.next_packet().is_some());
            let read = match stream.phase {
                Phase::Connecting => false,
                Phase::Open => {
                    stream.ended.is_none() && stream.has_room() && user.takes_input(*line)
                }
                Phase::Closing { .. } => stream.ended.is_none(),
            };
            interests.push(Interest { socket: stream.socket.as_fd(), read, write });
        }
        socket::wait_for(&interests, until).map_err(PortError::system("wait for sockets"))
    }

    fn accept<U: NetworkStation>(&mut self, user: &mut U) -> Result<(), PortError> {
        let Some(listener) = &self.listener else { return Ok(()) };
        if clock::now() < self.accepts_from {
            return Ok(());
        }
        for _ in 0..BATCH {
            let socket = match listener.accept() {
                Ok((socket, _)) => socket,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                // The connection was aborted before it was accepted, or no descriptor is left: not
                // an error of ours.
                Err(_) => {
                    self.counts.refused += 1;
                    self.accepts_from = clock::now() + BACK_OFF;
                    break;
                }
            };
            let stream = Stream::new(socket, Phase::Open);
            let taken = stream.ok().and_then(|stream| Some((user.incoming(clock::now())?, stream)));
            match taken {
                Some((line, stream)) => {
                    self.streams.insert(line, stream);
                }
                None => self.counts.refused += 1,
            }
        }
        Ok(())
    }

    fn read_all<U: NetworkStation>(&mut self, user: &mut U) {
        let lines: Vec<NetworkConnectionId> = self.streams.keys().copied().collect();
        for line in lines {
            let Some(stream) = self.streams.get_mut(&line) else { continue };
            match stream.phase {
                Phase::Connecting => self.connected(user, line),
                Phase::Open => self.read(user, line),
                Phase::Closing { .. } => match stream.discard(&mut self.scratch) {
                    Came::Octets(_) => {}
                    Came::End => stream.ended = Some(stream.expires()),
                    Came::Broke => self.lose(user, line),
                },
            }
        }
    }

    fn connected<U: NetworkStation>(&mut self, user: &mut U, line: NetworkConnectionId) {
        let Some(stream) = self.streams.get_mut(&line) else { return };
        let failed = !matches!(stream.socket.take_error(), Ok(None));
        if failed {
            self.lose(user, line);
        } else if stream.socket.peer_addr().is_ok() {
            stream.phase = Phase::Open;
            user.receive(clock::now(), line, Network::Connect);
        }
    }

    fn read<U: NetworkStation>(&mut self, user: &mut U, line: NetworkConnectionId) {
        let Some(stream) = self.streams.get_mut(&line) else { return };
        let mut came = Came::Octets(0);
        if stream.ended.is_none() && stream.has_room() && user.takes_input(line) {
            came = stream.read(&mut self.scratch);
        }
        if came == Came::Broke {
            self.counts.broken += 1;
            return self.lose(user, line);
        }
        if came == Came::End {
            stream.ended = Some(clock::now() + LINGER);
        }
        stream.is_behind = true;
        for _ in 0..BATCH {
            let Some(stream) = self.streams.get_mut(&line) else { return };
            if stream.phase != Phase::Open || !user.takes_input(line) {
                return;
            }
            match stream.take_tpdu() {
                Ok(Some(tpdu)) => self.hand_on(user, line, tpdu),
                Ok(None) => {
                    stream.is_behind = false;
                    self.counts.cut += u64::from(came == Came::End && stream.is_cut());
                    return;
                }
                Err(_) => {
                    self.counts.malformed += 1;
                    return self.lose(user, line);
                }
            }
        }
    }

    fn hand_on<U: NetworkStation>(&mut self, user: &mut U, line: NetworkConnectionId, tpdu: Bytes) {
        self.counts.received += 1;
        user.receive(clock::now(), line, Network::Data(Frame::new(tpdu)));
        self.take_orders(user);
    }
}

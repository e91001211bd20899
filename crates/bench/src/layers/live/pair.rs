//! Two stations of this process, each on its own port, driven in turn by one thread.
//!
//! One thread, so that no wake-up and no change of threads is in the times: they are what the code
//! and the system calls cost. Not modelled: a receiver that has to be woken, two stations at work at
//! the same time.

use core::net::SocketAddr;
use core::time::Duration;
use live::clock;
use live::port::{
    AfPacket, AfPacketParams, Bucket, Hub, Port, PortError, Reach, Stamp, Udp, UdpParams, Wait,
    default_limits,
};
use stack::messaging::{Address, Options, Outcome, Params, Side, SideState};
use stack::profile::Messenger;
use stack::station::{Frame, Station as _, Transmission};
use stats::histogram::Histogram;
use wire::addr::Mac;
use wire::mac;
use wire::rendezvous::Limits;
use wire::time::Instant;
use wire::units::BitRate;

use super::super::Service;
use super::LayersError;

/// How long a message may be under way before it counts as lost.
const LOST_AFTER: Duration = Duration::from_secs(1);
/// Frames that may wait for a station of the in-process LAN.
const HUB_FRAMES: usize = 1_024;
/// Lost messages after which the experiment ends: its times would be those of a broken path.
const MOST_LOST: u64 = 8;
/// The first socket of both stations; each choice of services has its own.
const FIRST_SOCKET: u8 = 4;
/// Octets around the data of a frame, preamble included.
const AROUND: usize = mac::PREAMBLE_OCTETS + mac::FCS_OCTETS;

/// What joins the two stations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Over {
    /// A LAN within this process.
    InProcess,
    /// Two UDP sockets of this host.
    Udp {
        /// The sender's.
        here: SocketAddr,
        /// The receiver's.
        there: SocketAddr,
    },
    /// Two interfaces of this host, on one LAN.
    Interfaces {
        /// The sender's.
        here: String,
        /// The receiver's.
        there: String,
    },
}

/// Two stations that can reach each other.
pub struct Pair {
    here: Party,
    there: Party,
    is_within_host: bool,
    pace: Option<Pace>,
    lost: u64,
    frames: u64,
}

struct Party {
    station: Messenger,
    port: Box<dyn Port>,
}

/// What keeps the average on a wire that others depend on within limits.
struct Pace {
    frames: Bucket,
    bits: Bucket,
}

/// The times of one message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Lap {
    /// From the call of the sending user until its operation was over.
    pub(super) transmit: Duration,
    /// From when the frame was there and its station free to ask for it, to the message in the hands
    /// of the receiving user, its acknowledgement sent.
    pub(super) receive: Duration,
    /// From the call of the sending user to the message in the hands of the receiving user.
    pub(super) end_to_end: Duration,
}

impl Party {
    fn new(port: Box<dyn Port>) -> Result<Self, LayersError> {
        let mut station =
            Messenger::new(port.addr(), Params::lan()).expect("the parameters for a LAN can be");
        let now = clock::now();
        for service in Service::ALL {
            let options = Options {
                acknowledged: service.acknowledgement,
                crc: service.crc,
                transmissions: 8,
                ..Options::plain()
            };
            accepted(station.sockets.open(now, socket(service)))?;
            accepted(station.sockets.option(socket(service), options))?;
        }
        Ok(Self { station, port })
    }

    /// Sends what the station has to send; when the last frame was handed over, and how many were.
    fn push(&mut self) -> Result<(Instant, u64), PortError> {
        let (mut at, mut frames) = (None, 0);
        while let Some(frame) = self.station.poll() {
            let outcome = self.port.send(&frame)?;
            let now = clock::now();
            self.station.transmitted(now, 0, outcome);
            (at, frames) = (Some(now), frames + 1);
        }
        Ok((at.unwrap_or_else(clock::now), frames))
    }

    /// Takes a frame, if one comes until then; when it was there, and what was sent upon it.
    fn pull(&mut self, until: Instant) -> Result<Option<(Instant, u64)>, PortError> {
        let Some(arrival) = self.port.receive(until)? else { return Ok(None) };
        self.station.receive(clock::now(), arrival.frame);
        let (_, frames) = self.push()?;
        Ok(Some((arrival.at, frames)))
    }

    fn expire(&mut self) -> Result<u64, PortError> {
        let now = clock::now();
        if self.station.deadline().is_some_and(|deadline| deadline.at <= now) {
            self.station.expire(now);
        }
        Ok(self.push()?.1)
    }
}

impl Pair {
    /// Opens both ports. Frames go out at no more than `frames_per_second` on average. Without it the cap
    /// is 100 a second and 1 % of the link on a wire that others depend on, and none within this host.
    ///
    /// # Errors
    /// Where a port cannot be opened.
    pub fn open(over: &Over, frames_per_second: Option<u32>) -> Result<Self, LayersError> {
        let [here, there] = ports(over)?;
        let is_within_host = here.is_unbounded() && there.is_unbounded();
        let pace = (!is_within_host || frames_per_second.is_some()).then(|| {
            let mut limits = default_limits(here.link_rate());
            if let Some(frames_per_second) = frames_per_second {
                // Whoever sets frames per second means frames of full length as well.
                let bits_per_second = u64::from(frames_per_second) * 12_208;
                limits = Limits { frames_per_second, bits_per_second };
            }
            let now = clock::now();
            Pace {
                frames: Bucket::new(now, u64::from(limits.frames_per_second), 1),
                bits: Bucket::new(now, limits.bits_per_second, 1),
            }
        });
        let (here, there) = (Party::new(here)?, Party::new(there)?);
        Ok(Self { here, there, is_within_host, pace, lost: 0, frames: 0 })
    }

    /// What to call it.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} to {}", self.here.port.name(), self.there.port.name())
    }

    /// The rate of the medium between them, where there is one: a virtual wire claims a rate and
    /// has none.
    #[must_use]
    pub fn link_rate(&self) -> Option<BitRate> {
        if self.is_within_host() { None } else { self.here.port.link_rate() }
    }

    /// Whether no frame leaves this host, so that load harms nobody.
    #[must_use]
    pub const fn is_within_host(&self) -> bool {
        self.is_within_host
    }

    /// Messages and frames that were sent and never arrived.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// Frames that both have sent.
    #[must_use]
    pub const fn frames(&self) -> u64 {
        self.frames
    }

    /// Waits until so many frames of this size may go out together.
    pub(super) fn wait(&mut self, frames: u64, octets: usize) {
        let Some(Pace { frames: by_frame, bits: by_bit }) = &mut self.pace else { return };
        let octets = (octets + mac::HEADER_OCTETS).max(mac::MIN_OCTETS) + AROUND;
        let bits = frames * octets as u64 * 8;
        let now = clock::now();
        let ready = by_frame.ready(now, frames).zip(by_bit.ready(now, bits));
        if let Some((first, second)) = ready {
            clock::sleep_until(first.max(second));
        }
        by_frame.take(frames);
        by_bit.take(bits);
    }

    /// A frame with this much data for the other station, as the MAC gets it ready from above.
    pub(super) fn frame(&self, octets: usize) -> Frame {
        let length = u16::try_from(octets).unwrap_or(u16::MAX);
        let header = mac::header(self.there.port.addr(), self.here.port.addr(), length);
        // An LPDU of type 1 between SAPs that nobody has opened.
        let data = [0xFC, 0xFC, 0x03].into_iter().chain(core::iter::repeat(0)).take(octets);
        Frame::new(header.into_iter().chain(data).collect::<Vec<u8>>().into())
    }

    /// Sends so many copies of a frame as fast as the port takes them, and times from one to the
    /// next; what the thread's processor was busy for.
    pub(super) fn mac_burst(
        &mut self,
        frame: &Frame,
        count: u64,
        times: &mut Histogram,
    ) -> Result<Duration, LayersError> {
        let (mut sent, busy) = (0, clock::processor());
        let mut last = clock::now();
        for _ in 0..count {
            let outcome = self.here.port.send(frame)?;
            let now = clock::now();
            if outcome == Transmission::Sent {
                times.record(now - last);
                sent += 1;
            }
            last = now;
        }
        let busy = clock::processor() - busy;
        self.drain(sent)?;
        self.lost += count - sent;
        Ok(busy)
    }

    /// The same for messages, from one call of the service to the next.
    pub(super) fn llc_burst(
        &mut self,
        service: Service,
        data: &bytes::Bytes,
        count: u64,
        times: &mut Histogram,
    ) -> Result<Duration, LayersError> {
        let to = Address { station: self.there.port.addr(), socket: socket(service) };
        let (mut sent, busy) = (0, clock::processor());
        let mut last = clock::now();
        for _ in 0..count {
            let sockets = &mut self.here.station.sockets;
            accepted(sockets.transmit(last, socket(service), to, data.clone()))?;
            let (now, frames) = self.here.push()?;
            times.record(now - last);
            sent += frames;
            last = now;
        }
        let busy = clock::processor() - busy;
        self.drain(sent)?;
        Ok(busy)
    }

    /// Takes from the receiver's port what a burst has put there, and counts what is missing.
    fn drain(&mut self, sent: u64) -> Result<(), LayersError> {
        self.frames += sent;
        let until = clock::now() + LOST_AFTER;
        for taken in 0..sent {
            if self.there.port.receive(until)?.is_none() {
                return self.miss(sent - taken);
            }
        }
        Ok(())
    }

    fn miss(&mut self, count: u64) -> Result<(), LayersError> {
        self.lost += count;
        if self.lost < MOST_LOST {
            return Ok(());
        }
        let name = |party: &Party| party.port.name().to_owned();
        Err(LayersError::Lost { from: name(&self.here), to: name(&self.there), count: self.lost })
    }

    /// One frame from the sender's memory to the receiver's, below LLC.
    pub(super) fn mac_lap(&mut self, frame: &Frame) -> Result<Option<Duration>, LayersError> {
        let start = clock::now();
        let sent = self.here.port.send(frame)? == Transmission::Sent;
        self.frames += u64::from(sent);
        let arrival = self.there.port.receive(start + LOST_AFTER)?;
        let took = clock::now() - start;
        if arrival.is_none() {
            self.miss(1)?;
        }
        Ok(arrival.map(|_| took))
    }

    /// One message from user to user; `None` where it was lost.
    pub(super) fn llc_lap(
        &mut self,
        service: Service,
        data: &bytes::Bytes,
    ) -> Result<Option<Lap>, LayersError> {
        let number = socket(service);
        let to = Address { station: self.there.port.addr(), socket: number };
        self.frames += self.here.expire()? + self.there.expire()?;
        let sockets = &mut self.there.station.sockets;
        accepted(sockets.enable_reception(clock::now(), number, data.len()))?;
        let start = clock::now();
        accepted(self.here.station.sockets.transmit(start, number, to, data.clone()))?;
        let (asked, frames) = self.here.push()?;
        self.frames += frames;
        let Some((there, taken)) = self.arrival(number, start)? else {
            return self.give_up(number).map(|()| None);
        };
        if !self.is_over(number, start)? {
            return self.give_up(number).map(|()| None);
        }
        // An unacknowledged message is over for its sender once it is handed down.
        let over = if service.acknowledgement { clock::now() } else { asked };
        Ok(Some(Lap {
            transmit: over - start,
            receive: taken - asked.max(there),
            end_to_end: taken - start,
        }))
    }

    /// When the frame of a message was there, and when its user had the message.
    fn arrival(
        &mut self,
        socket: u8,
        start: Instant,
    ) -> Result<Option<(Instant, Instant)>, PortError> {
        while let Some((there, frames)) = self.there.pull(start + LOST_AFTER)? {
            self.frames += frames;
            if self.there.station.sockets.take(socket).is_some() {
                return Ok(Some((there, clock::now())));
            }
            // A first acknowledged message begins by synchronizing, and needs the answer to go on.
            if let Some((_, frames)) = self.here.pull(Instant::ZERO)? {
                self.frames += frames;
            }
        }
        Ok(None)
    }

    /// Waits until the sender's operation is over; whether it went well.
    fn is_over(&mut self, socket: u8, start: Instant) -> Result<bool, PortError> {
        let give_up = start + LOST_AFTER;
        loop {
            match self.here.station.sockets.status(socket, Side::Transmit) {
                Ok(SideState::Idle) => return Ok(true),
                Ok(SideState::Pending | SideState::InProgress) if clock::now() < give_up => {}
                _ => return Ok(false),
            }
            let due = self.here.station.deadline().map_or(give_up, |deadline| deadline.at);
            if let Some((_, frames)) = self.here.pull(due.min(give_up))? {
                self.frames += frames;
                continue;
            }
            // The frame or its acknowledgement was lost: it is sent again, and answered again.
            self.frames += self.here.expire()?;
            while let Some((_, frames)) = self.there.pull(Instant::ZERO)? {
                self.frames += frames;
            }
        }
    }

    /// Forgets a message that was lost.
    fn give_up(&mut self, socket: u8) -> Result<(), LayersError> {
        let now = clock::now();
        accepted(self.here.station.sockets.reset(now, socket, Side::Transmit))?;
        accepted(self.there.station.sockets.reset(now, socket, Side::Receive))?;
        while self.there.port.receive(Instant::ZERO)?.is_some() {}
        while self.there.station.sockets.take(socket).is_some() {}
        self.miss(1)
    }
}

/// The socket of both stations for this choice of services.
const fn socket(service: Service) -> u8 {
    FIRST_SOCKET + 2 * service.acknowledgement as u8 + 4 * service.crc as u8
}

fn accepted(outcome: Outcome) -> Result<(), LayersError> {
    if outcome.is_accepted() { Ok(()) } else { Err(LayersError::NotAccepted(outcome)) }
}

/// The sender's port and the receiver's.
fn ports(over: &Over) -> Result<[Box<dyn Port>; 2], PortError> {
    Ok(match over {
        Over::InProcess => {
            let hub = Hub::new(HUB_FRAMES);
            [Box::new(hub.port(Mac::local(1))), Box::new(hub.port(Mac::local(2)))]
        }
        Over::Udp { here, there } => {
            let there = udp(*there, Mac::local(2), Vec::new())?;
            let peers = vec![(Mac::local(2), there.address())];
            [Box::new(udp(*here, Mac::local(1), peers)?), Box::new(there)]
        }
        Over::Interfaces { here, there } => {
            [Box::new(interface(here)?), Box::new(interface(there)?)]
        }
    })
}

fn udp(address: SocketAddr, station: Mac, peers: Vec<(Mac, SocketAddr)>) -> Result<Udp, PortError> {
    let (learn, reach, wait) = (true, Reach::ThisHost, Wait::Spin);
    Udp::open(UdpParams { address, station, peers, learn, reach, wait })
}

fn interface(name: &str) -> Result<AfPacket, PortError> {
    AfPacket::open(&AfPacketParams {
        interface: name.to_owned(),
        namespace: None,
        station: None,
        groups: Vec::new(),
        wait: Wait::Spin,
        stamp: Stamp::Kernel,
    })
}

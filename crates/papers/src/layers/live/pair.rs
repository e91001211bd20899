//! Two stations of this process, each on its own port, driven in turn by one thread.
//!
//! With one thread, no wake-up and no thread switch is in the times: they are the cost of the code
//! and of the system calls. Not modelled: a receiver that has to be woken, and two stations that
//! work at the same time.

mod tower;

use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
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
use wire::control::Limits;
use wire::mac;
use wire::time::Instant;
use wire::units::BitRate;

use super::super::Service;
use super::LayersError;

/// Longest time before a wait notices that the experiment is to end.
const LOOK_UP: Duration = Duration::from_millis(100);
/// Time after which a message counts as lost.
const LOST_AFTER: Duration = Duration::from_secs(1);
/// Limit of frames queued for a station of the in-process LAN.
const HUB_FRAMES: usize = 1_024;
/// Limit of lost messages, after which the experiment ends: its times would be those of a broken
/// path.
const MOST_LOST: u64 = 8;
/// First socket of both stations; each choice of services has its own.
const FIRST_SOCKET: u8 = 4;
/// Octets around the data of a frame, preamble included.
const AROUND: usize = mac::PREAMBLE_OCTETS + mac::FCS_OCTETS;

/// Medium between the two stations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Over {
    /// LAN within this process.
    InProcess,
    /// Two UDP sockets of this host.
    Udp {
        /// Sender's address.
        here: SocketAddr,
        /// Receiver's address.
        there: SocketAddr,
    },
    /// Two interfaces of this host, on one LAN.
    Interfaces {
        /// Sender's interface.
        here: String,
        /// Receiver's interface.
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
    /// References of transport given out to stations above LLC.
    references: u16,
    /// True once the experiment is to end.
    stop: Option<&'static AtomicBool>,
}

struct Party {
    station: Messenger,
    port: Box<dyn Port>,
}

/// Limit of the average load on a shared wire.
struct Pace {
    frames: Bucket,
    bits: Bucket,
}

/// Times of one message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Lap {
    /// From the call of the sending user to the end of its operation.
    pub(super) transmit: Duration,
    /// From the time at which the frame was available and its station ready, to the delivery of the
    /// message to the receiving user, its acknowledgement sent.
    pub(super) receive: Duration,
    /// From the call of the sending user to the delivery of the message to the receiving user.
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

    /// Sends the pending frames; returns the time at which the last was handed over, and their
    /// number.
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

    /// Receives a frame, if one arrives until `until`; returns its time of arrival, and the number
    /// of frames sent in response.
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
    /// Opens both ports. Frames are sent at no more than `frames_per_second` on average. Without it
    /// the limit is 100 per second and 1 % of the link on a shared wire, and none within this host.
    ///
    /// # Errors
    /// Returns an error if a port cannot be opened.
    pub fn open(over: &Over, frames_per_second: Option<u32>) -> Result<Self, LayersError> {
        let [here, there] = ports(over)?;
        let is_within_host = here.is_unbounded() && there.is_unbounded();
        let pace = (!is_within_host || frames_per_second.is_some()).then(|| {
            let mut limits = default_limits(here.link_rate());
            if let Some(frames_per_second) = frames_per_second {
                // A limit in frames per second applies to frames of full length.
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
        Ok(Self {
            here,
            there,
            is_within_host,
            pace,
            lost: 0,
            frames: 0,
            references: 0,
            stop: None,
        })
    }

    /// Name for output.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} to {}", self.here.port.name(), self.there.port.name())
    }

    /// Rate of the medium between them, if it has one: a virtual wire reports a rate without having
    /// one.
    #[must_use]
    pub fn link_rate(&self) -> Option<BitRate> {
        if self.is_within_host() { None } else { self.here.port.link_rate() }
    }

    /// True if no frame leaves this host, so that load has no effect on others.
    #[must_use]
    pub const fn is_within_host(&self) -> bool {
        self.is_within_host
    }

    /// Messages and frames that never arrived.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// Frames that both have sent.
    #[must_use]
    pub const fn frames(&self) -> u64 {
        self.frames
    }

    /// Ends waits as soon as `stop` is true.
    pub(super) const fn end_at(&mut self, stop: &'static AtomicBool) {
        self.stop = Some(stop);
    }

    /// Waits until this number of frames of this size may be sent together.
    ///
    /// # Errors
    /// Returns [`LayersError::Stopped`] if the experiment is to end.
    pub(super) fn wait(&mut self, frames: u64, octets: usize) -> Result<(), LayersError> {
        let stop = self.stop;
        let go_on = || match stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            true => Err(LayersError::Stopped),
            false => Ok(()),
        };
        let Some(Pace { frames: by_frame, bits: by_bit }) = &mut self.pace else { return go_on() };
        let octets = (octets + mac::HEADER_OCTETS).max(mac::MIN_OCTETS) + AROUND;
        let bits = frames * octets as u64 * 8;
        let now = clock::now();
        let ready = by_frame.ready(now, frames).zip(by_bit.ready(now, bits));
        let ready = ready.map_or(now, |(first, second)| first.max(second));
        while clock::now() < ready {
            go_on()?;
            clock::sleep_until(ready.min(clock::now() + LOOK_UP));
        }
        go_on()?;
        by_frame.take(frames);
        by_bit.take(bits);
        Ok(())
    }

    /// Frame with `octets` of data for the other station, as the MAC receives it from above.
    pub(super) fn frame(&self, octets: usize) -> Frame {
        let length = u16::try_from(octets).unwrap_or(u16::MAX);
        let header = mac::header(self.there.port.addr(), self.here.port.addr(), length);
        // LPDU of type 1 between SAPs that are not open.
        let data = [0xFC, 0xFC, 0x03].into_iter().chain(core::iter::repeat(0)).take(octets);
        Frame::new(header.into_iter().chain(data).collect::<Vec<u8>>().into())
    }

    /// Sends `count` copies of a frame as fast as the port accepts them, and times the intervals;
    /// returns the busy time of the thread's processor.
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

    /// Sends messages likewise, and times the intervals between calls of the service.
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

    /// Receives the frames of a burst at the receiver's port, and counts the missing ones.
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

    /// Sends one frame from the sender's memory to the receiver's, below LLC.
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

    /// Sends one message from user to user; `None` if it was lost.
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
        // An unacknowledged message is complete for its sender once it is handed down.
        let over = if service.acknowledgement { clock::now() } else { asked };
        Ok(Some(Lap {
            transmit: over - start,
            receive: taken - asked.max(there),
            end_to_end: taken - start,
        }))
    }

    /// Times at which the frame of a message arrived, and at which its user received the message.
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
            // A first acknowledged message starts with synchronisation, and needs the response to
            // continue.
            if let Some((_, frames)) = self.here.pull(Instant::ZERO)? {
                self.frames += frames;
            }
        }
        Ok(None)
    }

    /// Waits until the sender's operation is complete; returns true if it succeeded.
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
            // The frame or its acknowledgement was lost: it is retransmitted, and acknowledged once
            // more.
            self.frames += self.here.expire()?;
            while let Some((_, frames)) = self.there.pull(Instant::ZERO)? {
                self.frames += frames;
            }
        }
    }

    /// Gives up a message that was lost.
    fn give_up(&mut self, socket: u8) -> Result<(), LayersError> {
        let now = clock::now();
        accepted(self.here.station.sockets.reset(now, socket, Side::Transmit))?;
        accepted(self.there.station.sockets.reset(now, socket, Side::Receive))?;
        while self.there.port.receive(Instant::ZERO)?.is_some() {}
        while self.there.station.sockets.take(socket).is_some() {}
        self.miss(1)
    }
}

/// Socket of both stations for this choice of services.
const fn socket(service: Service) -> u8 {
    FIRST_SOCKET + 2 * service.acknowledgement as u8 + 4 * service.crc as u8
}

fn accepted(outcome: Outcome) -> Result<(), LayersError> {
    if outcome.is_accepted() { Ok(()) } else { Err(LayersError::NotAccepted(outcome)) }
}

/// Sender's port and receiver's port.
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

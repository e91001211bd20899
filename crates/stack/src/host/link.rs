//! Link of a host on a LAN: CLNP, LLC type 1, framing, and the order of its frames.
//!
//! If a MAC has one queue and the host has sockets, or if [`Host::above`] requires it, the link
//! passes one frame at a time. So the most urgent frame waits for at most one frame of its own
//! station. The order is by priority, and messages go first among equals. A MAC with queues by
//! priority gets every frame at once ([`MacQueues`]). Frames of the further SAPs are few and keep
//! sessions alive: they go first, and do not wait for that one frame.
//!
//! A peer is identified by its station, and addressed by the NSAP of that station. So every NSDU
//! from a station belongs to one peer, in whichever form of CLNP it arrived.

use super::frames::{Frames, Outgoing};
use super::services::sockets::Sockets;
use super::work::Cargo;
use super::{FRAMES_AHEAD, Host, HostParams, MESSAGE_SAP, To, Unitdata};
use crate::clnp::{Indication, Network, Npdu, Request};
use crate::llc::type1::{self, Lpdu, Type1};
use crate::llc::type3;
use crate::machine::{Deadline, Machine, Output};
use crate::messaging::Priority;
use crate::profile::Framing;
use crate::station::{Frame, MacQueues, PRIORITIES, Station, Transmission, Work};
use crate::tcp::{self, Datagram};
use crate::tp4::{Nsdu, Receiving, TransmitHandle};
use crate::transport::{Address, Transport};
use std::collections::VecDeque;
use wire::addr::{Mac, Nsap, Sap};
use wire::packet::Packet;
use wire::time::Instant;

/// Sender of a frame that was passed to the medium.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ahead {
    /// Sockets.
    Socket,
    /// Any other user, with the timer that waits for the transmission.
    Other(Option<TransmitHandle>),
}

/// Link of a host on a LAN.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) params: HostParams,
    llc: Type1,
    pub(super) network: Network,
    /// LSDUs that arrived through the queue of LLC.
    received: VecDeque<Unitdata>,
    /// Responses that are sent at once and not reported (802.4).
    answers: VecDeque<Frame>,
    /// Frames of the further SAPs, if there are sockets.
    urgent: VecDeque<Frame>,
    frames: Frames,
    /// Queues of the MAC below; `None` if no priorities are in use, so order does not matter.
    pub(super) queues: Option<MacQueues>,
    /// Priority of the LPDUs that the link sends, and priority of the last frame received.
    sending: Priority,
    pub(super) heard: Priority,
    /// Frames passed to the medium and not reported back yet, by MAC queue, oldest first.
    ahead: [VecDeque<Ahead>; PRIORITIES],
    /// Number of them that are not from the sockets.
    others_ahead: [usize; PRIORITIES],
}

impl Link {
    pub(super) fn new(params: HostParams) -> Self {
        let saps = [Sap::ISO_NETWORK, MESSAGE_SAP].into_iter().chain(params.saps.iter().copied());
        Self {
            llc: Type1::new(saps),
            network: Network::new(params.network.clone()),
            received: VecDeque::new(),
            answers: VecDeque::new(),
            urgent: VecDeque::new(),
            frames: Frames::default(),
            queues: params.messaging.map(|messaging| messaging.queues),
            sending: Priority::LOWEST,
            heard: Priority::LOWEST,
            ahead: Default::default(),
            others_ahead: Default::default(),
            params,
        }
    }

    /// Number of frames of bulk datagram flows of this priority that may still be passed on. Frames
    /// of the sockets count if they share the queue; waiting frames of lower priority do not.
    #[inline]
    pub(super) fn room_ahead(&self, priority: Priority) -> usize {
        let ahead = match self.queues {
            Some(MacQueues::ByPriority) => self.others_ahead[usize::from(priority.number())],
            Some(MacQueues::One) | None => self.ahead.iter().map(VecDeque::len).sum(),
        };
        FRAMES_AHEAD.saturating_sub(ahead + self.frames.as_urgent_as(priority))
    }

    // ---- sending --------------------------------------------------------------------------------

    /// Sends an NSDU. The timer of `handle` waits for its last frame; the handle is returned if
    /// the network layer did not accept the NSDU.
    #[inline]
    pub(super) fn send_nsdu(
        &mut self,
        now: Instant,
        Nsdu { peer, mut packet }: Nsdu,
        priority: Priority,
        handle: Option<TransmitHandle>,
    ) -> Option<TransmitHandle> {
        let Address::Station(station) = peer;
        // Fast path for nearly all NSDUs: bypasses the queues while they are empty.
        let before = if self.llc.is_silent() && self.network.send_inactive(station, &mut packet) {
            let (sap, before) = (Sap::ISO_NETWORK, self.frames.len());
            self.sending = priority;
            self.send_lpdu(Lpdu::ui(station, sap, sap, packet));
            before
        } else {
            self.flush();
            let destination = Nsap::of_station(station);
            self.network.request(now, Request { station, destination, data: packet });
            // A request delivers nothing.
            let delivered = self.poll_nsdu(now);
            debug_assert!(delivered.is_none(), "NSDUs are fetched when they arrive");
            let before = self.frames.len();
            self.sending = priority;
            self.flush();
            before
        };
        self.sending = Priority::LOWEST;
        if handle.is_none() || self.frames.len() == before {
            return handle;
        }
        self.frames.last_mut()?.handle = handle;
        None
    }

    /// Sends a datagram of IPv4.
    pub(super) fn send_datagram(&mut self, station: Mac, packet: Packet) {
        self.flush();
        let HostParams { framing, address, .. } = self.params;
        if let Some(frame) = framing.typed(address, station, tcp::ETHERTYPE, packet) {
            self.frames.push(frame, Priority::LOWEST);
        }
    }

    /// Sends a frame with an EtherType.
    pub(super) fn send_typed(&mut self, frame: Frame, priority: Priority) {
        self.flush();
        self.frames.push(frame, priority);
    }

    #[inline]
    pub(super) fn send_message(&mut self, To { station, priority }: To, data: Packet) {
        // Outputs of LLC came before it.
        self.flush();
        self.sending = priority;
        self.send_lpdu(Lpdu::ui(station, MESSAGE_SAP, MESSAGE_SAP, data));
        self.sending = Priority::LOWEST;
    }

    pub(super) fn send_unitdata(&mut self, now: Instant, lsdu: Unitdata) {
        let Unitdata { station, sap, data } = lsdu;
        let request = type1::Request::Unitdata { station, destination: sap, source: sap, data };
        self.llc.request(now, request);
    }

    /// Sends the outputs of LLC, and keeps the LSDUs that it delivers.
    fn flush(&mut self) {
        while let Some(output) = self.llc.poll() {
            match output {
                Output::Send(lpdu) => self.send_lpdu(lpdu),
                Output::Deliver(type1::Indication::Unitdata {
                    station,
                    destination: sap,
                    data,
                    ..
                }) => self.received.push_back(Unitdata { station, sap, data }),
                Output::Deliver(_) => {}
                Output::Note(never) => match never {},
            }
        }
    }

    fn send_lpdu(&mut self, Lpdu { station, packet }: Lpdu) {
        let sap = packet.first::<1>().map(|[destination]| Sap(destination));
        let is_urgent = self.params.messaging.is_some()
            && sap.is_some_and(|sap| self.params.saps.contains(&sap));
        let priority = if is_urgent { Priority::HIGHEST } else { self.sending };
        let number = priority.number();
        let lpdu = type3::Lpdu { station, priority: number, packet, handle: None };
        let frame = self.frame(lpdu);
        if is_urgent {
            self.urgent.push_back(frame);
        } else {
            self.frames.push(frame, priority);
        }
    }

    fn frame(&self, lpdu: type3::Lpdu) -> Frame {
        self.params.framing.frame(self.params.address, lpdu)
    }

    // ---- receiving ------------------------------------------------------------------------------

    /// Next LSDU that waits in LLC.
    #[inline]
    pub(super) fn poll_lsdu(&mut self) -> Option<Unitdata> {
        if !self.llc.is_silent() {
            self.flush();
        }
        self.received.pop_front()
    }

    /// Next NSDU that the network layer delivers. Its NPDUs go to LLC at once, so that their order
    /// is kept.
    pub(super) fn poll_nsdu(&mut self, now: Instant) -> Option<Nsdu> {
        while let Some(output) = self.network.poll() {
            match output {
                Output::Send(Npdu { station, packet }) => {
                    let (sap, data) = (Sap::ISO_NETWORK, packet);
                    self.send_unitdata(now, Unitdata { station, sap, data });
                }
                Output::Deliver(Indication::Unitdata { station, data, .. }) => {
                    return Some(Nsdu { peer: Address::Station(station), packet: data });
                }
                // The machine counts both; class 4 retransmits.
                Output::Deliver(Indication::Reported { .. } | Indication::TooLong { .. }) => {}
                Output::Note(never) => match never {},
            }
        }
        None
    }

    /// Receives an LPDU. On the fast path, returns the SAP of its LSDU, and leaves the LSDU in the
    /// packet; otherwise [`Link::poll_lsdu`] returns the LSDU, if any.
    #[inline]
    fn receive(&mut self, now: Instant, lpdu: &mut type3::Lpdu) -> Option<Sap> {
        let type3::Lpdu { station, priority, ref mut packet, .. } = *lpdu;
        self.heard = Priority::new(priority).unwrap_or_default();
        if let Some((sap, _)) = self.llc.read_ui(packet) {
            return Some(sap);
        }
        self.llc.receive(now, Lpdu { station, packet: packet.clone() });
        None
    }

    // ---- order of frames ------------------------------------------------------------------------

    #[inline]
    fn poll(&mut self, sockets: Option<&mut Sockets>) -> Option<Frame> {
        if let Some(answer) = self.answers.pop_front() {
            return Some(answer);
        }
        if let Some(frame) = self.urgent.pop_front() {
            self.hand_down(&frame, Ahead::Other(None));
            return Some(frame);
        }
        // A MAC with queues by priority chooses by itself.
        let is_ours_to_choose = self.queues == Some(MacQueues::One);
        if is_ours_to_choose && self.ahead.iter().any(|queue| !queue.is_empty()) {
            return None;
        }
        let highest = self.frames.highest().filter(|_| is_ours_to_choose);
        let sockets = sockets.filter(|it| highest <= it.most_urgent());
        if let Some(lpdu) = sockets.and_then(Sockets::next) {
            let frame = self.frame(lpdu);
            self.hand_down(&frame, Ahead::Socket);
            return Some(frame);
        }
        let next = if is_ours_to_choose { Frames::take_most_urgent } else { Frames::take_first };
        let Outgoing { frame, handle, .. } = next(&mut self.frames)?;
        self.hand_down(&frame, Ahead::Other(handle));
        Some(frame)
    }

    /// Records the sender of a frame that is passed to the medium.
    fn hand_down(&mut self, frame: &Frame, sender: Ahead) {
        let place = self.place_of(self.params.framing.priority_of(frame));
        self.others_ahead[place] += usize::from(matches!(sender, Ahead::Other(_)));
        self.ahead[place].push_back(sender);
    }

    /// Removes a frame that the medium has finished with; returns its sender.
    #[inline]
    fn transmitted(&mut self, queue: u8, outcome: Transmission) -> Option<Ahead> {
        let place = self.place_of(queue);
        let ahead = self.ahead.get_mut(place)?;
        let sender = match outcome {
            Transmission::NotTaken => ahead.pop_back(),
            Transmission::Sent | Transmission::GivenUp | Transmission::Refused => ahead.pop_front(),
        }?;
        self.others_ahead[place] -= usize::from(matches!(sender, Ahead::Other(_)));
        Some(sender)
    }

    /// Index of a MAC queue in `ahead`: a host that passes one frame at a time uses one queue,
    /// whatever the MAC has.
    fn place_of(&self, queue: u8) -> usize {
        match self.queues {
            Some(MacQueues::ByPriority) => usize::from(queue),
            Some(MacQueues::One) | None => 0,
        }
    }
}

impl Station for Host {
    fn addr(&self) -> Mac {
        self.link.as_ref().map_or(Mac::local(0), |link| link.params.address)
    }

    fn receive(&mut self, now: Instant, frame: Frame) {
        let Some(link) = &mut self.link else { return };
        let framing = link.params.framing;
        let asks = framing == Framing::Ieee8024Responding && Framing::asks(&frame);
        if self.lines.is_some()
            && let Some((station, packet)) = framing.typed_data(&frame, tcp::ETHERTYPE)
        {
            self.receive_datagram(now, Datagram { station, packet });
            return self.drain(now);
        }
        if self.published.is_some() && self.receive_published(now, &frame) {
            return self.drain(now);
        }
        let Some(link) = &mut self.link else { return };
        let Some(mut lpdu) = framing.lpdu(frame) else { return };
        match &mut self.sockets {
            Some(sockets) if sockets.is_for(&lpdu.packet) && asks => {
                let answer = sockets.asked(now, lpdu).map(|lpdu| link.frame(lpdu));
                link.answers.extend(answer);
            }
            Some(sockets) if sockets.is_for(&lpdu.packet) => sockets.receive(now, lpdu),
            _ => {
                if let Some(sap) = link.receive(now, &mut lpdu) {
                    self.receive_lsdu(now, lpdu.station, sap, lpdu.packet);
                }
            }
        }
        self.drain(now);
    }

    fn expire(&mut self, now: Instant) {
        if let Some(link) = &mut self.link {
            link.network.expire(now);
            self.receive_nsdus(now);
        }
        self.expire_lines(now);
        self.transport.expire(now);
        self.expire_associations(now);
        if let Some(sockets) = &mut self.sockets {
            sockets.expire(now);
        }
        self.drain(now);
    }

    fn deadline(&self) -> Option<Deadline> {
        let load = self.users.waiting.next_due().map(|at| Deadline { at, timer: "load" });
        let sockets = self.sockets.as_deref().and_then(Sockets::deadline);
        let network = self.link.as_ref().and_then(|link| link.network.deadline());
        let below = Deadline::earlier(Deadline::earlier(network, self.lines_deadline()), sockets);
        let above = Deadline::earlier(self.transport.deadline(), self.association_deadline());
        Deadline::earlier(Deadline::earlier(above, below), load)
    }

    fn poll(&mut self) -> Option<Frame> {
        self.link.as_mut()?.poll(self.sockets.as_deref_mut())
    }

    fn queue_of(&self, frame: &Frame) -> u8 {
        self.link.as_ref().map_or(0, |link| link.params.framing.priority_of(frame))
    }

    fn work(&mut self) -> Option<Work> {
        self.works.as_mut()?.next()
    }

    fn worked(&mut self, now: Instant, work: Work) {
        self.has_worked(now, work);
        self.drain(now);
    }

    fn transmitted(&mut self, now: Instant, queue: u8, outcome: Transmission) {
        match self.link.as_mut().and_then(|link| link.transmitted(queue, outcome)) {
            Some(Ahead::Socket) => {
                if let Some(sockets) = &mut self.sockets {
                    sockets.transmitted(now, queue, outcome);
                }
                return self.drain(now);
            }
            Some(Ahead::Other(Some(handle))) => self.has_left(now, handle),
            Some(Ahead::Other(None)) | None => {}
        }
        if self.users.waiting.is_for_frames() {
            self.drain(now);
        }
    }
}

/// Class 4 over the link: its NSDUs, and the timers that wait for its frames.
impl Host {
    /// Sets the parameters with which class 4 receives until the next [`Host::restart`]. Without
    /// effect while there are connections.
    pub fn receive_with(&mut self, receiving: Receiving) {
        if let Transport::Class4(entity) = &mut self.transport {
            entity.receive_with(receiving);
        }
    }

    #[inline]
    pub(super) fn send_nsdu(&mut self, now: Instant, nsdu: Nsdu) {
        let Transport::Class4(entity) = &mut self.transport else { return };
        let (handle, priority) = (entity.handle(), entity.priority());
        if self.works.is_some() {
            return self.submit(now, Cargo::Outgoing { nsdu, priority, handle });
        }
        self.pass_nsdu(now, nsdu, priority, handle);
    }

    /// Passes an NSDU to the network; starts the timer that waits for it, if no frame is to come.
    #[inline]
    pub(super) fn pass_nsdu(
        &mut self,
        now: Instant,
        nsdu: Nsdu,
        priority: Priority,
        handle: Option<TransmitHandle>,
    ) {
        let Transport::Class4(entity) = &mut self.transport else { return };
        let Some(link) = &mut self.link else { return };
        if let Some(handle) = link.send_nsdu(now, nsdu, priority, handle) {
            entity.transmitted(now, handle);
        }
    }

    /// Starts the timer that waited for a frame.
    pub(super) fn has_left(&mut self, now: Instant, handle: TransmitHandle) {
        if let Transport::Class4(entity) = &mut self.transport {
            entity.transmitted(now, handle);
        }
    }

    #[inline]
    pub(super) fn receive_npdu(&mut self, now: Instant, station: Mac, mut packet: Packet) {
        let Some(link) = &mut self.link else { return };
        if link.network.receive_inactive(station, &mut packet) {
            return self.receive_nsdu(now, Nsdu { peer: Address::Station(station), packet });
        }
        link.network.receive(now, Npdu { station, packet });
        self.receive_nsdus(now);
    }

    /// Passes on every NSDU that the network layer delivers.
    pub(super) fn receive_nsdus(&mut self, now: Instant) {
        while let Some(nsdu) = self.link.as_mut().and_then(|link| link.poll_nsdu(now)) {
            self.receive_nsdu(now, nsdu);
        }
    }

    #[inline]
    fn receive_nsdu(&mut self, now: Instant, nsdu: Nsdu) {
        if self.works.is_some() {
            return self.submit(now, Cargo::Incoming(nsdu));
        }
        self.take_nsdu(now, nsdu);
    }

    /// Passes an NSDU to transport.
    #[inline]
    pub(super) fn take_nsdu(&mut self, now: Instant, nsdu: Nsdu) {
        if let Transport::Class4(entity) = &mut self.transport {
            entity.receive(now, nsdu);
        }
    }
}

//! Class 4 over the link of a host: its NSDUs, and the timers that wait for its frames.

use super::super::Host;
use super::super::work::Cargo;
use crate::clnp::Npdu;
use crate::machine::Machine as _;
use crate::messaging::Priority;
use crate::tp4::{Nsdu, Receiving, TransmitHandle};
use crate::transport::{Address, Transport};
use wire::addr::Mac;
use wire::packet::Packet;
use wire::time::Instant;

impl Host {
    /// Sets the parameters with which class 4 receives until the next [`Host::restart`]. Without
    /// effect while there are connections.
    pub fn receive_with(&mut self, receiving: Receiving) {
        if let Transport::Class4(entity) = &mut self.transport {
            entity.receive_with(receiving);
        }
    }

    #[inline]
    pub(in crate::host) fn send_nsdu(&mut self, now: Instant, nsdu: Nsdu) {
        let Transport::Class4(entity) = &mut self.transport else { return };
        let (handle, priority) = (entity.handle(), entity.priority());
        if self.works.is_some() {
            return self.submit(now, Cargo::Outgoing { nsdu, priority, handle });
        }
        self.pass_nsdu(now, nsdu, priority, handle);
    }

    /// Passes an NSDU to the network; starts the timer that waits for it, if no frame is to come.
    #[inline]
    pub(in crate::host) fn pass_nsdu(
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
    pub(in crate::host) fn has_left(&mut self, now: Instant, handle: TransmitHandle) {
        if let Transport::Class4(entity) = &mut self.transport {
            entity.transmitted(now, handle);
        }
    }

    #[inline]
    pub(in crate::host) fn receive_npdu(&mut self, now: Instant, station: Mac, mut packet: Packet) {
        let Some(link) = &mut self.link else { return };
        if link.network.receive_inactive(station, &mut packet) {
            return self.receive_nsdu(now, Nsdu { peer: Address::Station(station), packet });
        }
        link.network.receive(now, Npdu { station, packet });
        self.receive_nsdus(now);
    }

    /// Passes on every NSDU that the network layer delivers.
    pub(in crate::host) fn receive_nsdus(&mut self, now: Instant) {
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
    pub(in crate::host) fn take_nsdu(&mut self, now: Instant, nsdu: Nsdu) {
        if let Transport::Class4(entity) = &mut self.transport {
            entity.receive(now, nsdu);
        }
    }
}

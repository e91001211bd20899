//! Station of a program that sends and receives messages: sockets over LLC over 802.3 or a ring.

use super::Framing;
use crate::machine::{Deadline, Machine};
use crate::messaging::{Indication, Messaging, Params, QueuedOutput};
use crate::station::{Frame, Station, Transmission};
use std::collections::VecDeque;
use wire::addr::Mac;
use wire::time::Instant;

/// Maximum number of indications kept until fetched; the oldest are dropped first.
const INDICATIONS: usize = 4_096;

/// Station with [`Messaging`].
#[derive(Clone, Debug)]
pub struct Messenger {
    /// Messaging service with its sockets.
    pub sockets: Messaging,
    address: Mac,
    framing: Framing,
    indications: VecDeque<Indication>,
    indications_dropped: u64,
    foreign: u64,
}

impl Messenger {
    /// Creates a station with this address on 802.3, without open sockets.
    ///
    /// # Errors
    /// The parameters of LLC are invalid.
    pub fn new(address: Mac, params: Params) -> Result<Self, crate::llc::type3::Invalid> {
        Self::framed(address, params, Framing::Ieee8023)
    }

    /// Creates a station with this address on a LAN with this framing, without open sockets.
    ///
    /// # Errors
    /// The parameters of LLC are invalid.
    pub fn framed(
        address: Mac,
        params: Params,
        framing: Framing,
    ) -> Result<Self, crate::llc::type3::Invalid> {
        Ok(Self {
            sockets: Messaging::new(params)?,
            address,
            framing,
            indications: VecDeque::new(),
            indications_dropped: 0,
            foreign: 0,
        })
    }

    /// Takes the oldest indication.
    pub fn indication(&mut self) -> Option<Indication> {
        self.indications.pop_front().or_else(|| self.sockets.indication())
    }

    /// Number of indications dropped because they were not fetched in time.
    #[must_use]
    pub const fn indications_dropped(&self) -> u64 {
        self.indications_dropped
    }

    /// Number of received frames without an LPDU.
    #[must_use]
    pub const fn foreign_frames(&self) -> u64 {
        self.foreign
    }

    /// Keeps an indication until it is fetched.
    fn keep(&mut self, indication: Indication) {
        if self.indications.len() >= INDICATIONS {
            self.indications.pop_front();
            self.indications_dropped += 1;
        }
        self.indications.push_back(indication);
    }
}

impl Station for Messenger {
    fn addr(&self) -> Mac {
        self.address
    }

    fn receive(&mut self, now: Instant, frame: Frame) {
        match self.framing.lpdu(frame) {
            Some(lpdu) => self.sockets.receive(now, lpdu),
            None => self.foreign += 1,
        }
    }

    fn expire(&mut self, now: Instant) {
        self.sockets.expire(now);
    }

    fn deadline(&self) -> Option<Deadline> {
        self.sockets.deadline()
    }

    fn poll(&mut self) -> Option<Frame> {
        loop {
            match self.sockets.say()? {
                QueuedOutput::Indication(indication) => self.keep(indication),
                QueuedOutput::Datagram(datagram) => {
                    return Some(self.framing.datagram(self.address, datagram));
                }
                QueuedOutput::Lpdu(lpdu) => return Some(self.framing.frame(self.address, *lpdu)),
            }
        }
    }

    fn queue_of(&self, frame: &Frame) -> u8 {
        self.framing.priority_of(frame)
    }

    fn transmitted(&mut self, now: Instant, queue: u8, outcome: Transmission) {
        self.sockets.transmitted(now, queue, outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messaging::Address;
    use bytes::Bytes;

    /// Type field and length received at socket 2 of station 2, for a message of `octets` octets
    /// from station 1.
    fn exchanged(framing: Framing, octets: usize) -> Option<(u16, usize)> {
        let now = Instant::ZERO;
        let mut params = Params::lan();
        params.link.information_octets = 2_043;
        let [mut one, mut two] =
            [1, 2].map(|n| Messenger::framed(Mac::local(n), params, framing).unwrap());
        for station in [&mut one, &mut two] {
            assert!(station.sockets.open(now, 2).is_accepted());
            assert!(station.sockets.enable_reception(now, 2, 2_043).is_accepted());
        }
        let to = Address { station: Mac::local(2), socket: 2 };
        assert!(one.sockets.transmit(now, 2, to, Bytes::from(vec![7; octets])).is_accepted());
        let frame = one.poll().unwrap();
        let header = frame.first::<14>().unwrap();
        two.receive(now, frame);
        let message = two.sockets.take(2)?;
        Some((u16::from_be_bytes([header[12], header[13]]), message.data.len()))
    }

    #[test]
    fn a_ring_carries_messages_beyond_an_802_3_length() {
        // UI: three octets of LLC header in front of the message.
        assert_eq!(exchanged(Framing::Ieee8023, 100), Some((103, 100)));
        assert_eq!(exchanged(Framing::WholeFrame, 100), Some((103, 100)));
        assert_eq!(exchanged(Framing::WholeFrame, 1_498), Some((0x8870, 1_498)));
        assert_eq!(exchanged(Framing::WholeFrame, 2_043), Some((0x8870, 2_043)));
        assert_eq!(exchanged(Framing::Ieee8023, 2_043), Some((0x8870, 2_043)));
        // 802.5: AC without priority, FC of a frame with an LPDU.
        assert_eq!(exchanged(Framing::Ieee8025, 2_043), Some((0x1040, 2_043)));
    }
}

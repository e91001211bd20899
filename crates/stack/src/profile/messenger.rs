//! A station whose program sends and receives messages: sockets over LLC over 802.3.

use crate::llc::type3::Lpdu;
use crate::machine::{Deadline, Machine, Output};
use crate::messaging::{Indication, Messaging, Params};
use crate::station::{Frame, Station, Transmission};
use std::collections::VecDeque;
use wire::addr::Mac;
use wire::mac;
use wire::time::Instant;

/// Indications that are kept for whoever fetches them; the oldest go first.
const INDICATIONS: usize = 4_096;

/// A station with [`Messaging`].
#[derive(Clone, Debug)]
pub struct Messenger {
    /// Its sockets.
    pub sockets: Messaging,
    address: Mac,
    indications: VecDeque<Indication>,
    indications_dropped: u64,
    foreign: u64,
}

impl Messenger {
    /// A station of this address without open sockets.
    ///
    /// # Errors
    /// Where LLC's parameters cannot be.
    pub fn new(address: Mac, params: Params) -> Result<Self, crate::llc::type3::Invalid> {
        Ok(Self {
            sockets: Messaging::new(params)?,
            address,
            indications: VecDeque::new(),
            indications_dropped: 0,
            foreign: 0,
        })
    }

    /// The oldest indication that was not fetched yet.
    pub fn indication(&mut self) -> Option<Indication> {
        self.indications.pop_front().or_else(|| self.sockets.indication())
    }

    /// Indications that nobody fetched in time.
    #[must_use]
    pub const fn indications_dropped(&self) -> u64 {
        self.indications_dropped
    }

    /// Frames that were not for this stack: no 802.3 length, or more of it than there is.
    #[must_use]
    pub const fn foreign_frames(&self) -> u64 {
        self.foreign
    }

    /// The LPDU in a frame.
    fn lpdu(mut frame: Frame) -> Option<Lpdu> {
        let [_, _, _, _, _, _, a, b, c, d, e, f, high, low] = frame.first()?;
        frame.strip(mac::HEADER_OCTETS)?;
        let value = u16::from_be_bytes([high, low]);
        let length = usize::from(value);
        if value >= mac::FIRST_TYPE || length > frame.len() {
            return None;
        }
        // What follows the LPDU is padding.
        frame.truncate(length);
        let station = Mac([a, b, c, d, e, f]);
        Some(Lpdu { station, priority: 0, packet: frame, ticket: None })
    }

    /// Keeps what the user is told; the next LPDU.
    fn next(&mut self) -> Option<Lpdu> {
        loop {
            match self.sockets.poll()? {
                Output::Send(lpdu) => return Some(lpdu),
                Output::Deliver(indication) => {
                    if self.indications.len() >= INDICATIONS {
                        self.indications.pop_front();
                        self.indications_dropped += 1;
                    }
                    self.indications.push_back(indication);
                }
                Output::Note(never) => match never {},
            }
        }
    }
}

impl Station for Messenger {
    fn addr(&self) -> Mac {
        self.address
    }

    fn receive(&mut self, now: Instant, frame: Frame) {
        match Self::lpdu(frame) {
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
        let Lpdu { station, mut packet, .. } = self.next()?;
        let length = packet.len().min(0xFFFF) as u16;
        packet.prepend(&mac::header(station, self.address, length));
        Some(packet)
    }

    fn transmitted(&mut self, now: Instant, outcome: Transmission) {
        self.sockets.transmitted(now, outcome);
    }
}

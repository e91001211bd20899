//! Packet buffers of a network interface: their holders and the frames that wait for them.

use super::{Interface, NoBuffer};
use std::collections::VecDeque;

/// Buffers of an interface.
#[derive(Clone, Debug)]
pub(super) struct Buffers {
    interface: Interface,
    no_buffer: NoBuffer,
    /// An outgoing frame holds its buffer.
    sends: bool,
    /// An incoming frame holds its buffer.
    receives: bool,
    /// Outgoing frames that wait for the buffer.
    awaiting: VecDeque<u64>,
    /// A frame admitted by the medium before the buffer was taken.
    late: Option<u64>,
}

/// Outcome of a frame's arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arrival {
    /// The frame has the buffer.
    Taken,
    /// The frame gets the buffer next.
    Late,
    /// The frame is lost.
    Lost,
}

impl Buffers {
    pub(super) const fn new(interface: Interface, no_buffer: NoBuffer) -> Self {
        Self {
            interface,
            no_buffer,
            sends: false,
            receives: false,
            awaiting: VecDeque::new(),
            late: None,
        }
    }

    /// Returns whether the next frame that arrives finds a buffer.
    pub(super) const fn has_receive_buffer(&self) -> bool {
        match self.interface {
            Interface::Unlimited => true,
            Interface::Separate => !self.receives && self.late.is_none(),
            Interface::Shared => !self.receives && !self.sends && self.late.is_none(),
        }
    }

    const fn has_send_buffer(&self) -> bool {
        match self.interface {
            Interface::Unlimited => true,
            Interface::Separate => !self.sends,
            Interface::Shared => !self.sends && !self.receives && self.late.is_none(),
        }
    }

    /// Requests the buffer for an outgoing frame; returns whether it may be written now. Otherwise
    /// the frame waits.
    pub(super) fn claim(&mut self, job: u64) -> bool {
        let has = self.has_send_buffer() && self.awaiting.is_empty();
        if has {
            self.sends = true;
        } else {
            self.awaiting.push_back(job);
        }
        has
    }

    /// Takes in a frame that arrives.
    pub(super) const fn arrive(&mut self, job: u64) -> Arrival {
        if self.has_receive_buffer() {
            self.receives = true;
            return Arrival::Taken;
        }
        match self.no_buffer {
            NoBuffer::Refused if self.late.is_none() => {
                self.late = Some(job);
                Arrival::Late
            }
            NoBuffer::Refused | NoBuffer::Lost => Arrival::Lost,
        }
    }

    /// Releases the buffer of the outgoing frame, which the medium is done with.
    pub(super) const fn sent(&mut self) {
        self.sends = false;
    }

    /// Releases the buffer of the incoming frame, which has been read.
    pub(super) const fn read(&mut self) {
        self.receives = false;
    }

    /// Gives the buffer to the late frame, if there is one and the buffer is free.
    pub(super) const fn admit(&mut self) -> Option<u64> {
        let Some(job) = self.late else { return None };
        let is_free = match self.interface {
            Interface::Unlimited => true,
            Interface::Separate => !self.receives,
            Interface::Shared => !self.receives && !self.sends,
        };
        if !is_free {
            return None;
        }
        self.late = None;
        self.receives = true;
        Some(job)
    }

    /// Gives the buffer to the oldest outgoing frame that waits, if the buffer is free.
    pub(super) fn grant(&mut self) -> Option<u64> {
        if !self.has_send_buffer() {
            return None;
        }
        let job = self.awaiting.pop_front()?;
        self.sends = true;
        Some(job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_buffer_serves_one_frame_at_a_time_whichever_way_it_goes() {
        let mut it = Buffers::new(Interface::Shared, NoBuffer::Refused);
        assert!(it.claim(1) && !it.claim(2));
        assert!(!it.has_receive_buffer());
        assert_eq!(
            it.arrive(3),
            Arrival::Late,
            "its transmission began before the buffer was taken"
        );
        assert_eq!(it.arrive(4), Arrival::Lost);
        assert_eq!((it.admit(), it.grant()), (None, None));
        it.sent();
        assert_eq!((it.admit(), it.grant()), (Some(3), None));
        it.read();
        assert!(it.has_receive_buffer());
        assert_eq!((it.admit(), it.grant()), (None, Some(2)));
        assert!(!it.has_receive_buffer());
    }

    #[test]
    fn two_buffers_serve_both_ways_at_once() {
        let mut it = Buffers::new(Interface::Separate, NoBuffer::Lost);
        assert!(it.claim(1) && !it.claim(2));
        assert_eq!((it.arrive(3), it.arrive(4)), (Arrival::Taken, Arrival::Lost));
        it.sent();
        assert_eq!(it.grant(), Some(2));
        it.read();
        assert_eq!(it.arrive(5), Arrival::Taken);
    }
}

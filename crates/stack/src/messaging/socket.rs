//! Socket: its options, and the operations on each of its sides.

use super::{Address, Completion, Message};
use bytes::Bytes;
use core::time::Duration;
use std::collections::VecDeque;
use wire::time::Instant;

/// Priority from 0 (lowest) to 7 (highest).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Priority(u8);

impl Priority {
    /// Lowest priority.
    pub const LOWEST: Self = Self(0);
    /// Highest priority.
    pub const HIGHEST: Self = Self(7);
    /// All priorities, the highest first.
    pub const ALL: [Self; 8] =
        [Self(7), Self(6), Self(5), Self(4), Self(3), Self(2), Self(1), Self(0)];

    /// Creates the priority of this number; `None` beyond 7.
    #[must_use]
    pub const fn new(number: u8) -> Option<Self> {
        if number <= Self::HIGHEST.0 { Some(Self(number)) } else { None }
    }

    /// Number from 0 to 7.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// Options of a socket's operations, effective from the next one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// The end of each transmission is indicated.
    pub transmit_indication: bool,
    /// The end of each reception is indicated.
    pub receive_indication: bool,
    /// Time limit of a transmission; unlimited if `None`.
    pub transmit_time: Option<Duration>,
    /// Time limit of a reception; unlimited if `None`.
    pub receive_time: Option<Duration>,
    /// Priority of transmissions.
    pub priority: Priority,
    /// Messages end with CRC-16/CCITT, at both ends.
    pub crc: bool,
    /// The receiver acknowledges each message.
    pub acknowledged: bool,
    /// Maximum number of transmissions of a message, if the MAC drops it, the receiver has no
    /// buffer, or no acknowledgement arrives. In the last case LLC's N4 limits it too.
    pub transmissions: u32,
    /// Maximum number of pending transmissions; 1 in the paper.
    pub pending_transmits: usize,
    /// Maximum number of receptions, pending or completed with their message not taken; 1 in the
    /// paper.
    pub pending_receives: usize,
}

impl Options {
    /// Cheapest service, the default of an opened socket: a datagram that is transmitted once.
    #[must_use]
    pub const fn plain() -> Self {
        Self {
            transmit_indication: false,
            receive_indication: false,
            transmit_time: None,
            receive_time: None,
            priority: Priority::LOWEST,
            crc: false,
            acknowledged: false,
            transmissions: 1,
            pending_transmits: 1,
            pending_receives: 1,
        }
    }
}

/// Identifier of an operation: its socket, and its number among all operations of the station.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct OperationId {
    pub(super) socket: u8,
    pub(super) number: u64,
}

impl OperationId {
    /// Request identifier for LLC type 3.
    pub(super) const fn request(self) -> u64 {
        self.number << 8 | self.socket as u64
    }

    pub(super) const fn of_request(request: u64) -> Self {
        Self { socket: request as u8, number: request >> 8 }
    }
}

/// Transmission in progress.
#[derive(Clone, Debug)]
pub(super) struct Transmit {
    pub(super) id: OperationId,
    pub(super) sequence: u64,
    pub(super) to: Address,
    /// LSDU, CRC included.
    pub(super) data: Bytes,
    pub(super) priority: Priority,
    pub(super) acknowledged: bool,
    pub(super) in_progress: bool,
    /// Remaining number of transmissions.
    pub(super) left: u32,
    pub(super) due: Option<Instant>,
    /// Time of the retransmission to a receiver that had no buffer.
    pub(super) again: Option<Instant>,
}

/// Reception in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Receive {
    pub(super) id: OperationId,
    /// Length of the longest LSDU that fits, CRC included.
    pub(super) octets: usize,
    pub(super) due: Option<Instant>,
}

#[derive(Clone, Debug)]
pub(super) struct Socket {
    pub(super) options: Options,
    /// Number of transmissions accepted so far.
    pub(super) accepted: u64,
    pub(super) transmits: VecDeque<Transmit>,
    pub(super) receives: VecDeque<Receive>,
    pub(super) received: VecDeque<Message>,
    /// Buffer last reported to LLC type 3.
    pub(super) known_buffer: Option<usize>,
    /// Result of the last operation of each side.
    pub(super) transmitted: Completion,
    pub(super) reception: Completion,
}

impl Socket {
    pub(super) const fn new() -> Self {
        Self {
            options: Options::plain(),
            accepted: 0,
            transmits: VecDeque::new(),
            receives: VecDeque::new(),
            received: VecDeque::new(),
            known_buffer: None,
            transmitted: Completion::Done,
            reception: Completion::Done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_eight_priorities() {
        let numbers = (0..=u8::MAX).filter_map(Priority::new).map(Priority::number);
        assert_eq!(numbers.collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn an_operation_has_one_request_identifier_for_llc() {
        let id = OperationId { socket: 254, number: 0x12_3456 };
        assert_eq!(OperationId::of_request(id.request()), id);
    }
}

//! A socket: its options, and the operations on each of its sides.

use super::{Address, Completion, Message};
use bytes::Bytes;
use core::time::Duration;
use std::collections::VecDeque;
use wire::time::Instant;

/// 0 (lowest) to 7 (highest).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Priority(u8);

impl Priority {
    /// The lowest.
    pub const LOWEST: Self = Self(0);
    /// The highest.
    pub const HIGHEST: Self = Self(7);
    /// All, the highest first.
    pub const ALL: [Self; 8] =
        [Self(7), Self(6), Self(5), Self(4), Self(3), Self(2), Self(1), Self(0)];

    /// The priority of this number; `None` beyond 7.
    #[must_use]
    pub const fn new(number: u8) -> Option<Self> {
        if number <= Self::HIGHEST.0 { Some(Self(number)) } else { None }
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// What a socket's operations are like, from the next one on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Whether the end of each transmission is indicated.
    pub transmit_indication: bool,
    /// Whether the end of each reception is indicated.
    pub receive_indication: bool,
    /// How long a transmission may take; for ever without.
    pub transmit_time: Option<Duration>,
    /// How long a reception may wait for a message; for ever without.
    pub receive_time: Option<Duration>,
    /// The priority of what is transmitted.
    pub priority: Priority,
    /// Whether messages end with CRC-16/CCITT, at both ends.
    pub crc: bool,
    /// Whether the receiver acknowledges each message.
    pub acknowledged: bool,
    /// How often a message is sent at the most where the MAC gives it up, the receiver has no
    /// buffer, or no acknowledgement comes; LLC's N4 is the limit of the last.
    pub transmissions: u32,
    /// Transmissions that may be pending at a time; 1 in the paper.
    pub pending_transmits: usize,
    /// Receptions that may be pending, or over with their message not taken; 1 in the paper.
    pub pending_receives: usize,
}

impl Options {
    /// The cheapest service, which a socket has when it is opened: a datagram that goes out once.
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

/// Which operation: its socket, and its place among all operations of the station.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct OperationId {
    pub(super) socket: u8,
    pub(super) number: u64,
}

impl OperationId {
    /// As LLC type 3 knows it.
    pub(super) const fn request(self) -> u64 {
        self.number << 8 | self.socket as u64
    }

    pub(super) const fn of_request(request: u64) -> Self {
        Self { socket: request as u8, number: request >> 8 }
    }
}

/// A transmission that is not over.
#[derive(Clone, Debug)]
pub(super) struct Transmit {
    pub(super) id: OperationId,
    pub(super) sequence: u64,
    pub(super) to: Address,
    /// The LSDU, CRC included.
    pub(super) data: Bytes,
    pub(super) priority: Priority,
    pub(super) acknowledged: bool,
    pub(super) in_progress: bool,
    /// How often it may yet be sent.
    pub(super) left: u32,
    pub(super) due: Option<Instant>,
    /// When it is sent again to a receiver that had no buffer.
    pub(super) again: Option<Instant>,
}

/// A reception that is not over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Receive {
    pub(super) id: OperationId,
    /// Octets of the longest LSDU that fits, CRC included.
    pub(super) octets: usize,
    pub(super) due: Option<Instant>,
}

#[derive(Clone, Debug)]
pub(super) struct Socket {
    pub(super) options: Options,
    /// Transmissions accepted so far.
    pub(super) accepted: u64,
    pub(super) transmits: VecDeque<Transmit>,
    pub(super) receives: VecDeque<Receive>,
    pub(super) received: VecDeque<Message>,
    /// The buffer that LLC type 3 knows of.
    pub(super) known_buffer: Option<usize>,
    /// How the last operation of each side ended.
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
    fn an_operation_is_known_to_llc_by_one_number() {
        let id = OperationId { socket: 254, number: 0x12_3456 };
        assert_eq!(OperationId::of_request(id.request()), id);
    }
}

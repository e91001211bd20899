//! Status octet of a type 3 response: status of the command and of the reply.

use core::fmt;

/// C: status of a command's LSDU, in the low half of the status octet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CommandStatus {
    /// OK: accepted.
    Accepted,
    /// RS: the service is not implemented there or not active.
    NoService,
    /// UE: the user's interface there is in error.
    UserInterface,
    /// PE: protocol error.
    Protocol,
    /// IP: permanent implementation-defined error; here, an LSDU longer than the buffer.
    Permanent,
    /// UN: resources are temporarily unavailable; here, no buffer.
    Unavailable,
    /// IT: temporary implementation-defined error.
    Temporary,
    /// A code that the standard does not define.
    Unknown(u8),
}

impl CommandStatus {
    /// Decodes the low half of a status octet.
    #[must_use]
    pub const fn of(octet: u8) -> Self {
        match octet & 0x0F {
            0x0 => Self::Accepted,
            0x1 => Self::NoService,
            0x5 => Self::UserInterface,
            0x6 => Self::Protocol,
            0x7 => Self::Permanent,
            0x9 => Self::Unavailable,
            0xF => Self::Temporary,
            other => Self::Unknown(other),
        }
    }

    /// Low half of the status octet.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Accepted => 0x0,
            Self::NoService => 0x1,
            Self::UserInterface => 0x5,
            Self::Protocol => 0x6,
            Self::Permanent => 0x7,
            Self::Unavailable => 0x9,
            Self::Temporary => 0xF,
            Self::Unknown(other) => other & 0x0F,
        }
    }

    /// Returns true if the same command may succeed later.
    #[must_use]
    pub const fn may_pass(self) -> bool {
        matches!(self, Self::Unavailable | Self::Temporary)
    }
}

impl fmt::Display for CommandStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Accepted => "accepted",
            Self::NoService => "no such service",
            Self::UserInterface => "error of the user's interface",
            Self::Protocol => "protocol error",
            Self::Permanent => "lasting error",
            Self::Unavailable => "resources temporarily unavailable",
            Self::Temporary => "passing error",
            Self::Unknown(code) => return write!(f, "unknown status {code:x}"),
        })
    }
}

/// R: status of the reply to a poll, in the high half of the status octet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ReplyStatus {
    /// OK: the reply's LSDU follows.
    Present,
    /// RS: the service is not implemented there or not active.
    NoService,
    /// NE: the user there never submitted a reply.
    NeverSubmitted,
    /// NR: no reply was requested.
    NotRequested,
    /// UE: the user's interface there is in error.
    UserInterface,
    /// IP: permanent implementation-defined error.
    Permanent,
    /// UN: resources are temporarily unavailable.
    Unavailable,
    /// IT: temporary implementation-defined error.
    Temporary,
    /// A code that the standard does not define.
    Unknown(u8),
}

impl ReplyStatus {
    /// Decodes the high half of a status octet.
    #[must_use]
    pub const fn of(octet: u8) -> Self {
        match octet >> 4 {
            0x0 => Self::Present,
            0x1 => Self::NoService,
            0x3 => Self::NeverSubmitted,
            0x4 => Self::NotRequested,
            0x5 => Self::UserInterface,
            0x7 => Self::Permanent,
            0x9 => Self::Unavailable,
            0xF => Self::Temporary,
            other => Self::Unknown(other),
        }
    }

    /// High half of the status octet, in its place.
    #[must_use]
    pub const fn code(self) -> u8 {
        let half = match self {
            Self::Present => 0x0,
            Self::NoService => 0x1,
            Self::NeverSubmitted => 0x3,
            Self::NotRequested => 0x4,
            Self::UserInterface => 0x5,
            Self::Permanent => 0x7,
            Self::Unavailable => 0x9,
            Self::Temporary => 0xF,
            Self::Unknown(other) => other & 0x0F,
        };
        half << 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_octet_reads_and_writes_back() {
        for octet in 0..=u8::MAX {
            let (command, reply) = (CommandStatus::of(octet), ReplyStatus::of(octet));
            assert_eq!(command.code() | reply.code(), octet);
        }
    }

    // 40: an acknowledged datagram; 49: its receiver had no buffer; 30: a poll, no reply there.
    #[test]
    fn the_usual_octets_mean_what_the_standard_says() {
        let read = |octet| (CommandStatus::of(octet), ReplyStatus::of(octet));
        assert_eq!(read(0x40), (CommandStatus::Accepted, ReplyStatus::NotRequested));
        assert_eq!(read(0x49), (CommandStatus::Unavailable, ReplyStatus::NotRequested));
        assert_eq!(read(0x30), (CommandStatus::Accepted, ReplyStatus::NeverSubmitted));
        assert_eq!(read(0x00), (CommandStatus::Accepted, ReplyStatus::Present));
    }
}

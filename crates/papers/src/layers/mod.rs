//! Cost of each layer of a station against the size of the message: the experiment of TR-88-08.
//!
//! An [`Operation`] is repeated at one size, and its times are a [`Measurement`]; a curve is the
//! measurements of one operation and [`Service`] at several sizes. The times come from a modelled
//! station or from this host; both are processed in the same way.
//!
//! | figure of the paper | operations |
//! |---|---|
//! | 4 | buffer write, buffer transmit, buffer read, and their sum |
//! | 5 | LLC transmit, LLC receive, LLC end to end |
//! | 6 | PHY, MAC transmit, LLC transmit |
//! | 7 | LLC transmit with each choice of [`Service`] |
//! | 8 | MAC and LLC transmit of two machines |

pub mod fit;
pub mod live;
pub mod simulated;

use core::fmt;
use stats::histogram::Histogram;
use std::time::Duration;

/// Timed operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Operation {
    /// Copy of a frame from the memory of the host into the buffer of its interface.
    BufferWrite,
    /// Transmission of a frame from the interface's buffer over the medium: PHY, its bits at the
    /// bit rate.
    BufferTransmit,
    /// Copy of a frame from the interface's buffer into the memory of the host.
    BufferRead,
    /// Write, transmit and read: memory to memory below LLC.
    MacEndToEnd,
    /// Time from one frame to the next if the MAC always has a frame to send.
    MacTransmit,
    /// Time from one message to the next if the service always has a message to send.
    LlcTransmit,
    /// Time from a frame's arrival in the interface's buffer to its message in the user's.
    LlcReceive,
    /// Time from the call of the sending user to the message in the receiving user's buffer.
    LlcEndToEnd,
}

impl Operation {
    /// All operations, in the order of output.
    pub const ALL: [Self; 8] = [
        Self::BufferWrite,
        Self::BufferTransmit,
        Self::BufferRead,
        Self::MacEndToEnd,
        Self::MacTransmit,
        Self::LlcTransmit,
        Self::LlcReceive,
        Self::LlcEndToEnd,
    ];
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BufferWrite => "buffer write",
            Self::BufferTransmit => "PHY transmit",
            Self::BufferRead => "buffer read",
            Self::MacEndToEnd => "MAC end to end",
            Self::MacTransmit => "MAC transmit",
            Self::LlcTransmit => "LLC transmit",
            Self::LlcReceive => "LLC receive",
            Self::LlcEndToEnd => "LLC end to end",
        })
    }
}

/// Options of the messaging service that have a cost.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Service {
    /// Each message is acknowledged before the next is sent.
    pub acknowledgement: bool,
    /// Each message ends with a CRC that software computes and checks.
    pub crc: bool,
}

impl Service {
    /// All choices: none, ACK, CRC, both.
    pub const ALL: [Self; 4] = [
        Self { acknowledgement: false, crc: false },
        Self { acknowledgement: true, crc: false },
        Self { acknowledgement: false, crc: true },
        Self { acknowledgement: true, crc: true },
    ];
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.acknowledgement, self.crc) {
            (false, false) => "plain",
            (true, false) => "ACK",
            (false, true) => "CRC",
            (true, true) => "ACK+CRC",
        })
    }
}

/// One operation repeated at one size.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// Operation.
    pub operation: Operation,
    /// Service options; without effect on operations below LLC.
    pub service: Service,
    /// Octets of the user's message; for operations below LLC, of the frame's data.
    pub octets: usize,
    /// Time of each repetition.
    pub times: Histogram,
    /// Busy time of processors per message, if known: the sender's for write and transmit, the
    /// receiver's for read and receive, both for end to end.
    pub processor: Option<Duration>,
}

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
//!
//! The layers above LLC are ours alone: transport, session, CASE and MMS, each with the message from
//! user to user. [`added`] takes the difference of each layer to the one below.

pub mod added;
pub mod fit;
pub mod live;
pub mod simulated;

use core::fmt;
use core::time::Duration;
use stack::profile::{Framing, LayeredParams, Top};
use stack::station::Charge;
use stack::tp4;
use stats::histogram::Histogram;
use std::collections::BTreeSet;
use wire::addr::Mac;

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
    /// The same through class 4 transport, without checksum.
    TransportEndToEnd,
    /// The same through session and transport.
    SessionEndToEnd,
    /// The same through CASE, session and transport.
    CaseEndToEnd,
    /// The same as an information report of MMS with one octet string, through presentation, session
    /// and transport.
    MmsEndToEnd,
}

impl Operation {
    /// All operations, in the order of output.
    pub const ALL: [Self; 12] = [
        Self::BufferWrite,
        Self::BufferTransmit,
        Self::BufferRead,
        Self::MacEndToEnd,
        Self::MacTransmit,
        Self::LlcTransmit,
        Self::LlcReceive,
        Self::LlcEndToEnd,
        Self::TransportEndToEnd,
        Self::SessionEndToEnd,
        Self::CaseEndToEnd,
        Self::MmsEndToEnd,
    ];

    /// Operations of the layers above LLC.
    pub const UPPER: [Self; 4] =
        [Self::TransportEndToEnd, Self::SessionEndToEnd, Self::CaseEndToEnd, Self::MmsEndToEnd];

    /// Highest layer that a message passes; `None` up to LLC.
    #[must_use]
    pub const fn top(self) -> Option<Top> {
        match self {
            Self::TransportEndToEnd => Some(Top::Transport),
            Self::SessionEndToEnd => Some(Top::Session),
            Self::CaseEndToEnd => Some(Top::Case),
            Self::MmsEndToEnd => Some(Top::Mms),
            Self::BufferWrite
            | Self::BufferTransmit
            | Self::BufferRead
            | Self::MacEndToEnd
            | Self::MacTransmit
            | Self::LlcTransmit
            | Self::LlcReceive
            | Self::LlcEndToEnd => None,
        }
    }
}

/// Stations of the two users above LLC.
pub(super) struct Users {
    /// Highest layer.
    pub(super) top: Top,
    /// Frame format.
    pub(super) framing: Framing,
    /// Largest TPDU.
    pub(super) tpdu_octets: usize,
    /// T1, longer than any wait without a loss.
    pub(super) t1: Duration,
    /// Reference of transport before the first.
    pub(super) last_reference: u16,
    /// Work that takes time on their machines.
    pub(super) charged: BTreeSet<Charge>,
}

impl Users {
    /// Parameters of the station at `address`. Each DT is acknowledged, so that no acknowledgement of
    /// one message falls into the time of another.
    pub(super) fn params(&self, address: Mac, peer: Mac) -> LayeredParams {
        let transport = tp4::Params {
            checksum: false,
            tpdu_octets: self.tpdu_octets,
            acknowledgement: tp4::Acknowledgement::Each,
            retransmission_time: self.t1,
            window_time: Duration::from_secs(3_600),
            inactivity_time: Duration::from_secs(36_000),
            ..tp4::Params::lan()
        };
        LayeredParams {
            address,
            peer,
            top: self.top,
            framing: self.framing,
            transport,
            last_reference: self.last_reference,
            charged: self.charged.clone(),
        }
    }
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
            Self::TransportEndToEnd => "transport end to end",
            Self::SessionEndToEnd => "session end to end",
            Self::CaseEndToEnd => "CASE end to end",
            Self::MmsEndToEnd => "MMS end to end",
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
    /// Service options; without effect on operations below LLC and above it.
    pub service: Service,
    /// Octets of the user's message; for operations below LLC, of the frame's data.
    pub octets: usize,
    /// Time of each repetition.
    pub times: Histogram,
    /// Busy time of processors per message, if known: the sender's for write and transmit, the
    /// receiver's for read and receive, both for end to end.
    pub processor: Option<Duration>,
}

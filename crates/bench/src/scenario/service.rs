//! Services of flows, and the messages of CASE with EOT.

use schemars::JsonSchema;
use serde::Serialize;

/// The service that carries the messages of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Service {
    /// A class 4 transport connection.
    #[serde(rename = "class-4")]
    Class4,
    /// CASE of MAP 2.1: an association on a class 4 transport connection. Assumed, because its octets
    /// of 1985 were not found: a header of 4 octets in front of each message.
    Case,
    /// MMS: each message a call of one confirmed service, over an association on a transport
    /// connection of class 4, or of class 0 over TCP. The receiver serves its model, that of an SCL file or the built-in one.
    Mms,
    /// FTAM-like file transfer over CASE, not FTAM: each message is a file. Its octets are an assumption.
    File,
    /// LLC type 1: each message one UI frame, unacknowledged.
    Datagram,
    /// The messaging service: each message one LSDU, by priority, acknowledged or not.
    Message,
    /// GOOSE: states of a publisher and their retransmissions, in frames to a group (IEC 61850-8-1).
    Goose,
    /// Sampled Values: samples of a merging unit, in frames to a group (IEC 61850-9-2).
    SampledValues,
    /// Cyclic data behind an EtherType: PROFINET RT, or another.
    Cyclic,
}

impl Service {
    /// All of them, by their names in scenarios.
    pub(super) const WORDS: [(&'static str, Self); 9] = [
        ("class-4", Self::Class4),
        ("case", Self::Case),
        ("mms", Self::Mms),
        ("file", Self::File),
        ("datagram", Self::Datagram),
        ("message", Self::Message),
        ("goose", Self::Goose),
        ("sampled-values", Self::SampledValues),
        ("cyclic", Self::Cyclic),
    ];

    /// Name in scenarios.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::WORDS.into_iter().find(|(_, it)| *it == self).map_or("", |(name, _)| name)
    }

    /// Standing of a protocol that no peer of its time has confirmed.
    #[must_use]
    pub const fn standing(self) -> Option<&'static str> {
        match self {
            Self::File => Some("FTAM-like, not FTAM"),
            Self::Class4
            | Self::Case
            | Self::Mms
            | Self::Datagram
            | Self::Message
            | Self::Goose
            | Self::SampledValues
            | Self::Cyclic => None,
        }
    }

    /// True if its messages go over a transport connection.
    #[must_use]
    pub const fn is_connected(self) -> bool {
        matches!(self, Self::Class4 | Self::Case | Self::Mms | Self::File)
    }

    /// True if its messages are frames of a stream with an EtherType.
    #[must_use]
    pub const fn is_published(self) -> bool {
        matches!(self, Self::Goose | Self::SampledValues | Self::Cyclic)
    }
}

/// Messages that have CASE's EOT (End Of Transmission): the next one waits until such a message is
/// acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Eot {
    /// Each: stop-and-wait.
    Each,
    /// The last of a flow alone: pipelining up to the window.
    Last,
}

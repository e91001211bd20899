//! A flow: who sends what to whom, how often, by which service.

use super::{Pattern, Service, Size, Span, Start};
use schemars::JsonSchema;
use serde::Serialize;
use stack::load;
use stack::messaging::Priority;

/// What one station sends to another.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub struct Flow {
    /// What results call it. Each flow of a group adds to that the stations for which `*` stands.
    pub name: String,
    /// The flows with which results sum it up; those for which one table stands have its name here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The station that sends, or asks. `*` stands for any characters: a flow from each station.
    pub from: String,
    /// The station that receives, or answers. `*` stands for any characters: a flow to each station.
    pub to: String,
    /// What carries the messages.
    pub service: Service,
    /// When they are due.
    pub pattern: Pattern,
    /// Octets of each message as its user hands it over (TSDU or LSDU): at least 16.
    pub size: Size,
    /// How many; for as long as the run lasts if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// How old a message (or, of requests, the answer) may be on arrival, counted from when it had
    /// been due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Span>,
    /// When the first is due, or its connection is opened. If not given, a cyclic flow starts at random
    /// within its period, and any other flow at once.
    #[schemars(with = "Option<String>")]
    pub start: Start,
    /// How much later than the one before each flow of a group starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stagger: Option<Span>,
    /// 0 (lowest) to 7, that of its frames; a station sends the most urgent first. 0 if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u64>,
    /// Of messages: whether the receiver acknowledges each (LLC type 3); not if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acknowledged: Option<bool>,
    /// Of messages: whether each ends with CRC-16/CCITT from end to end; not if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crc: Option<bool>,
    /// Of messages: how often one is sent again at the most, where the MAC gives it up or no
    /// acknowledgement comes; 3 if acknowledged, else 0, if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u64>,
    /// Of messages: how long after it was handed over one is taken back; never if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
}

impl Flow {
    /// Whether the messaging service carries it.
    #[must_use]
    pub fn is_message(&self) -> bool {
        self.service == Service::Message
    }

    /// The priority of its frames. A number beyond the range saturates; a checked scenario has none.
    #[must_use]
    pub fn priority(&self) -> Priority {
        let number = u8::try_from(self.priority.unwrap_or(0)).ok();
        number.and_then(Priority::new).unwrap_or(Priority::HIGHEST)
    }

    /// Whether its priority counts at its stations: that of messages always does.
    #[must_use]
    pub fn has_priority(&self) -> bool {
        self.is_message() || self.priority() > Priority::LOWEST
    }

    /// What carries its messages, as stations take it. Numbers beyond their range saturate; a
    /// checked scenario has none.
    #[must_use]
    pub fn carrier(&self) -> load::Service {
        let small = |number: Option<u64>| u8::try_from(number.unwrap_or(0)).unwrap_or(u8::MAX);
        match self.service {
            Service::Class4 => load::Service::Class4,
            Service::Datagram => load::Service::Datagram,
            Service::Message => load::Service::Message(load::MessageOptions {
                crc: self.crc.unwrap_or(false),
                acknowledged: self.acknowledged.unwrap_or(false),
                transmissions: u32::from(small(self.retries)) + 1,
                timeout: self.timeout.map(|span| span.0),
            }),
        }
    }
}

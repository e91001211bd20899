//! A flow: its sender, receiver, service and rate.

use super::file::FileTransfer;
use super::jitter::{self, JitterQuantile};
use super::mms::MmsCall;
use super::pattern::{is_unknown, unknown};
use super::published::Published;
use super::{Eot, Pattern, Service, Services, Size, Span, Start};
use schemars::JsonSchema;
use serde::Serialize;
use stack::load;
use stack::load::jitter::Jitter;
use stack::messaging::Priority;

/// The messages that one station sends to another.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub struct Flow {
    /// Its name in results. Each flow of a group appends the stations for which `*` stands.
    pub name: String,
    /// Name of the group whose results sum up this flow; set if a table stands for several flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The station that sends, or requests. `*` stands for any characters: a flow from each
    /// station.
    pub from: String,
    /// The station that receives, or answers. `*` stands for any characters: a flow to each station.
    pub to: String,
    /// The service that carries the messages, or several in the order of preference: the first that
    /// the architectures of both stations have.
    #[serde(rename = "service")]
    pub services: Services,
    /// The one of them that carries the messages.
    #[serde(skip)]
    #[schemars(skip)]
    pub service: Service,
    /// The times at which messages are due.
    pub pattern: Pattern,
    /// Octets of each message as its user submits it (TSDU or LSDU): at least 16. Flows of MMS have
    /// no such key: their encoder gives each request its length.
    #[serde(skip_serializing_if = "is_unknown")]
    #[schemars(default = "unknown")]
    pub size: Size,
    /// The number of messages; unlimited for the length of the run if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// The greatest age of a message (or, for requests, of the answer) on arrival, counted from the
    /// time at which the message was due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Span>,
    /// The time at which the first message is due, or its connection is opened. If not given, a
    /// cyclic flow starts at random within its period, and any other flow at once.
    #[schemars(with = "Option<String>")]
    pub start: Start,
    /// For patterns with a period: quantiles of the deviation of each interval from it, with their
    /// shares, as in ["0 % -12 us", "50 % 0 ns", "100 % 20 us"]; none if not given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub jitter: Vec<JitterQuantile>,
    /// The delay of each flow of a group after the start of the one before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stagger: Option<Span>,
    /// Priority of its frames, 0 (lowest) to 7; a station sends the most urgent first. 0 if not
    /// given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u64>,
    /// For CASE, and for the F-DATA of files: the messages after which the sender waits for the
    /// acknowledgement; `last` if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eot: Option<Eot>,
    /// For MMS: the call that each message makes.
    #[serde(flatten)]
    pub mms: MmsCall,
    /// For files: their transfer.
    #[serde(flatten)]
    pub file: FileTransfer,
    /// For GOOSE, Sampled Values and cyclic data: the identity of the stream.
    #[serde(flatten)]
    pub stream: Published,
    /// For CASE: the title by which the directory finds the receiver; the address of `to` if not
    /// given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// For messages: true if the receiver acknowledges each (LLC type 3); false if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acknowledged: Option<bool>,
    /// For messages: true if each ends with an end-to-end CRC-16/CCITT; false if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crc: Option<bool>,
    /// For messages: maximum number of retransmissions after the MAC gives a message up or no
    /// acknowledgement comes; if not given, 3 if acknowledged, else 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u64>,
    /// For messages: the time after submission at which one is withdrawn; never if not given. For
    /// MMS: the time-out of each call; 10 s if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
}

impl Flow {
    /// A flow between the stations `from` and `to` with these keys alone, and the defaults of all
    /// others.
    #[must_use]
    pub fn new(
        name: String,
        [from, to]: [String; 2],
        service: Service,
        pattern: Pattern,
        size: Size,
    ) -> Self {
        Self::with(name, [from, to], Services::One(service), pattern, size)
    }

    /// A flow whose service depends on the architectures of its stations.
    pub(super) fn with(
        name: String,
        [from, to]: [String; 2],
        services: Services,
        pattern: Pattern,
        size: Size,
    ) -> Self {
        let may_be = |service| services.all().contains(&service);
        let of_messages = may_be(Service::Message);
        let of_case = may_be(Service::Case) || may_be(Service::File);
        let service = services.all().first().copied().unwrap_or(Service::Datagram);
        Self {
            name,
            group: None,
            from,
            to,
            services,
            service,
            pattern,
            size,
            messages: None,
            deadline: None,
            start: pattern.default_start(),
            jitter: Vec::new(),
            stagger: None,
            priority: of_messages.then_some(0),
            eot: of_case.then_some(Eot::Last),
            mms: MmsCall::default(),
            file: FileTransfer::default(),
            stream: Published::default(),
            title: None,
            acknowledged: of_messages.then_some(false),
            crc: of_messages.then_some(false),
            retries: of_messages.then_some(0),
            timeout: None,
        }
    }

    /// True if the messaging service carries it.
    #[must_use]
    pub fn is_message(&self) -> bool {
        self.service == Service::Message
    }

    /// Deviations of its intervals from the period; none if it keeps it.
    #[must_use]
    pub fn deviations(&self) -> Option<Jitter> {
        jitter::table(&self.jitter)
    }

    /// The priority of its frames. A number beyond the range saturates; a checked scenario has none.
    #[must_use]
    pub fn priority(&self) -> Priority {
        let number = u8::try_from(self.priority.unwrap_or(0)).ok();
        number.and_then(Priority::new).unwrap_or(Priority::HIGHEST)
    }

    /// True if its priority counts at its stations: that of messages always does.
    #[must_use]
    pub fn has_priority(&self) -> bool {
        self.is_message() || self.priority() > Priority::LOWEST
    }

    /// The carrier of its messages in the form that stations use. Numbers out of range saturate; a
    /// checked scenario has none.
    #[must_use]
    pub fn carrier(&self) -> load::Service {
        let small = |number: Option<u64>| u8::try_from(number.unwrap_or(0)).unwrap_or(u8::MAX);
        match self.service {
            Service::Class4 => load::Service::Class4,
            Service::Case => load::Service::Case {
                eot: match self.eot {
                    Some(Eot::Each) => load::Eot::Each,
                    Some(Eot::Last) | None => load::Eot::Last,
                },
            },
            Service::Mms => load::Service::Mms { outstanding: self.outstanding() },
            Service::File => load::Service::File(self.file_options()),
            Service::Datagram => load::Service::Datagram,
            Service::Goose | Service::SampledValues | Service::Cyclic => load::Service::Published,
            Service::Message => load::Service::Message(load::MessageOptions {
                crc: self.crc.unwrap_or(false),
                acknowledged: self.acknowledged.unwrap_or(false),
                transmissions: u32::from(small(self.retries)) + 1,
                timeout: self.timeout.map(|span| span.0),
            }),
        }
    }
}

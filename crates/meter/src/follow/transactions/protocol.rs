//! Protocols of requests and replies: one row for each.
//!
//! | | port | identifier of a request | unit | function |
//! |---|---|---|---|---|
//! | Modbus/TCP | 502 | transaction | unit | function code |
//!
//! A row finds the end of a PDU from its front, and reads a PDU as a [`Message`]. To add one: its
//! file in `wire`, a variant, and a row of [`Protocol::row`].

use wire::modbus;

/// Protocol whose requests are paired with their replies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Protocol {
    /// Modbus over TCP.
    Modbus,
}

/// Side of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sender {
    Client,
    Server,
}

/// PDU as pairing needs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Message<'a> {
    pub(super) role: Role,
    /// Value that the client chooses to tell its requests apart, and that the reply repeats.
    pub(super) identifier: u32,
    pub(super) unit: u32,
    pub(super) function: u16,
    pub(super) is_exception: bool,
    /// Octets that say which data a request is about: equal octets are the same poll.
    pub(super) subject: &'a [u8],
}

/// Part that a PDU has in a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Request,
    Reply,
}

/// Front of octets, where a PDU should begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Front {
    /// PDU of this many octets.
    Pdu(usize),
    /// Octets that may begin a PDU, too few to know its length.
    Short,
    /// No PDU of the protocol.
    Foreign,
}

/// Definition of a protocol.
pub(super) struct Row {
    /// Name in output.
    name: &'static str,
    /// Word of requirements.
    word: &'static str,
    /// Port of servers.
    port: u16,
    /// Name under which octets that are no PDU are counted.
    pub(super) foreign: &'static str,
    /// Finds the end of the PDU at the front of these octets.
    pub(super) front: fn(&[u8]) -> Front,
    /// Reads a PDU, of which the end may be missing; none if it takes no part in transactions.
    pub(super) read: for<'a> fn(&'a [u8], Sender) -> Option<Message<'a>>,
}

impl Protocol {
    /// All protocols.
    pub const ALL: [Self; 1] = [Self::Modbus];

    pub(super) const fn row(self) -> Row {
        match self {
            Self::Modbus => Row {
                name: "Modbus/TCP",
                word: "modbus",
                port: modbus::PORT,
                foreign: "no Modbus/TCP on its port",
                front: front_of_modbus,
                read: read_modbus,
            },
        }
    }

    /// Name in output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Word that stands for the protocol in requirements.
    #[must_use]
    pub const fn word(self) -> &'static str {
        self.row().word
    }

    /// Name of a function code of the protocol, if it has one.
    #[must_use]
    pub fn function_name(self, function: u16) -> Option<&'static str> {
        match self {
            Self::Modbus => modbus::function_name(u8::try_from(function).ok()?),
        }
    }

    /// Protocol of the server on one of two ports, and the place of that port; none if neither has
    /// one, or both, because nothing then tells which of them answers.
    pub(crate) fn of_ports(ports: [u16; 2]) -> Option<(Self, usize)> {
        Self::ALL.into_iter().find_map(|protocol| {
            match ports.map(|port| port == protocol.row().port) {
                [true, false] => Some((protocol, 0)),
                [false, true] => Some((protocol, 1)),
                _ => None,
            }
        })
    }
}

fn front_of_modbus(octets: &[u8]) -> Front {
    // Fields that are not there yet are valid ones: those of the shortest PDU.
    let mut head = [0, 0, 0, 0, 0, 2, 0];
    head.iter_mut().zip(octets).for_each(|(field, octet)| *field = *octet);
    match modbus::Header::decode(&head) {
        Ok(header) if octets.len() >= head.len() => Front::Pdu(header.adu_octets),
        Ok(_) => Front::Short,
        Err(_) => Front::Foreign,
    }
}

fn read_modbus(octets: &[u8], sender: Sender) -> Option<Message<'_>> {
    let pdu = modbus::Pdu::decode(octets).ok()?;
    Some(Message {
        role: if sender == Sender::Client { Role::Request } else { Role::Reply },
        identifier: pdu.transaction.into(),
        unit: pdu.unit.into(),
        function: pdu.function.into(),
        is_exception: pdu.is_exception,
        subject: pdu.subject(),
    })
}

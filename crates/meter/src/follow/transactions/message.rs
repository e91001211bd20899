//! PDUs as pairing needs them, of any protocol.

/// First code of functions that are none of the protocol's own: U formats and commands of the
/// encapsulation.
pub(super) const OTHER: u16 = 0x100;
/// Code of I formats that await their acknowledgement: of the client, and one more of the server.
pub(super) const NUMBERED: u16 = 0x200;

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
    /// Part of it that a reply repeats.
    pub(super) pair_unit: u32,
    /// Part of the function of its request that a reply repeats.
    pub(super) pair: u16,
    pub(super) function: u16,
    pub(super) is_exception: bool,
    /// Octets that say which data a request is about: equal octets are the same poll. None of a
    /// request that is no poll.
    pub(super) subject: Option<&'a [u8]>,
    /// Octets that are equal where a request is sent again.
    pub(super) content: &'a [u8],
}

impl Message<'_> {
    /// More octets of the message before, which say nothing else.
    pub(super) const CONTINUATION: Self = Self {
        role: Role::Continuation,
        identifier: 0,
        unit: 0,
        pair_unit: 0,
        pair: 0,
        function: 0,
        is_exception: false,
        subject: None,
        content: &[],
    };
}

/// Part that a PDU has in a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Request,
    Reply,
    /// Reply to all requests of its pair with lower identifiers, of 15 bits.
    Acknowledgement,
    /// More octets of the message before.
    Continuation,
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
